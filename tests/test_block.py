"""sampling="block" from the estimator: what it equals, what it chooses, how it ends."""

from dataclasses import replace

import numpy as np
import pytest
from pairsift.block import choose, grow
from scipy.sparse import csr_array, random_array
from sklearn.linear_model import LogisticRegression

from in_process import run
from pairsift import ActiveRankSVM, RankSVM, RowStore, WeightedSVM, auc, load_model, make_ranking
from pairsift.data.problem import make_problem
from pairsift.data.rows import as_rows


@pytest.fixture(scope="module")
def data():
    return make_ranking(30_000, 10, positive_rate=0.2, random_state=0)


def fit(data, **options):
    return ActiveRankSVM(**{"sampling": "block", "random_state": 0, **options}).fit(*data)


def test_with_all_rows_it_is_the_exact_ranksvm(data):
    model = fit(data, loss="squared_hinge", gamma=1.0, C=0.05, tol=1e-7)
    exact = RankSVM(C=0.05 * 8000, loss="squared_hinge", tol=1e-7).fit(*data)
    assert model.stop_reason_ == "all rows used"
    assert model.coef_ == pytest.approx(exact.coef_, rel=1e-4)
    assert model.intercept_ == pytest.approx(exact.intercept_, abs=1e-3)


def test_with_all_rows_hinge_pairs_are_the_exact_ranksvm(data):
    model = fit(data, loss="hinge", gamma=1.0, C=0.05, tol=1e-5)
    exact = RankSVM(C=0.05 * 8000, tol=1e-5).fit(*data)
    assert model.gap_ <= 1e-5
    assert model.history_[-1].objective == pytest.approx(exact.objective_, rel=2e-5)
    assert model.coef_ == pytest.approx(exact.coef_, rel=0.02, abs=0.01)


def test_with_all_rows_logistic_points_are_logistic_regression(data):
    model = fit(data, loss="logistic", gamma=0.0, C=0.05, tol=1e-7)
    peer = LogisticRegression(C=0.05 * 8000 / 30_000, class_weight="balanced", tol=1e-10, max_iter=1000).fit(*data)
    assert model.coef_ == pytest.approx(peer.coef_, rel=1e-3, abs=1e-5)
    assert model.intercept_ == pytest.approx(peer.intercept_, rel=1e-3, abs=1e-4)


@pytest.mark.parametrize("weighted", [False, True])
def test_with_all_rows_hinge_points_are_the_weighted_svm(data, weighted):
    weights = np.random.default_rng(0).integers(0, 3, len(data[1])).astype(float) if weighted else None
    options = {"loss": "hinge", "gamma": 0.0, "C": 0.05, "tol": 1e-6, "sampling": "block", "random_state": 0}
    model = ActiveRankSVM(**options).fit(*data, sample_weight=weights)
    peer = WeightedSVM(C=0.05 * 8000, threshold=True, tol=1e-6).fit(*data, sample_weight=weights)
    assert model.gap_ <= 1e-6
    assert model.history_[-1].objective == pytest.approx(peer.objective_, rel=1e-5)
    assert model.coef_ == pytest.approx(peer.coef_, rel=0.01, abs=0.005)
    assert model.intercept_ == pytest.approx(peer.intercept_, rel=0.01, abs=0.01)


def test_rows_of_more_columns_than_rows_get_hinge_points():
    rng = np.random.default_rng(0)
    X = random_array((1500, 4000), density=0.02, format="csr", rng=rng)
    score = X @ np.where(np.arange(4000) < 2000, 1.0, -1.0)
    y = (score > np.median(score)).astype(int)
    model = ActiveRankSVM(C="auto", random_state=0).fit(X[:1000], y[:1000])
    assert (model.loss_, model.gamma_) == ("hinge", 0.0)
    assert model.gap_ <= 1e-3
    assert auc(y[1000:], model.decision_function(X[1000:])) > 0.65
    assert ActiveRankSVM(C="auto", loss="logistic", random_state=0).fit(X[:1000], y[:1000]).loss_ == "logistic"


def test_strength_does_not_depend_on_the_budget(data):
    small = fit(data, loss="logistic", gamma=0.0, C=0.001, budget=5000)
    large = fit(data, loss="logistic", gamma=0.0, C=0.001)
    assert np.linalg.norm(small.coef_) == pytest.approx(np.linalg.norm(large.coef_), rel=0.1)


def test_everything_is_chosen_and_named(data):
    model = fit(data, C="auto")
    assert (model.loss_, model.gamma_) in (("logistic", 0.0), ("hinge", 1.0))
    # The strength of the rows that were learned from first, times how many times as many all rows are.
    assert max(tried.C for tried in model.C_path_) * 10 > model.C_ >= min(tried.C for tried in model.C_path_)
    assert len(model.C_path_) >= 3
    assert not hasattr(model, "pairs_")
    X, y = make_ranking(20_000, 10, positive_rate=0.2, random_state=1)
    best = LogisticRegression(class_weight="balanced").fit(*data)
    assert model.score(X, y) > auc(y, best.decision_function(X)) - 0.002


@pytest.mark.parametrize(
    ("options", "allowed"),
    [
        ({"loss": "logistic"}, {("logistic", 0.0), ("logistic", 1.0)}),
        ({"gamma": 0.5}, {("logistic", 0.5), ("squared_hinge", 0.5)}),
        ({"gamma": 1.0}, {("hinge", 1.0), ("squared_hinge", 1.0)}),
        ({"loss": "hinge"}, {("hinge", 1.0)}),
        ({"gamma": 0.0, "loss": "squared_hinge"}, {("squared_hinge", 0.0)}),
    ],
)
def test_what_is_given_is_not_chosen(data, options, allowed):
    model = fit(data, C=0.02, **options)
    assert (model.loss_, model.gamma_) in allowed
    assert model.C_ == 0.02


@pytest.mark.parametrize(("least_gain", "loss"), [(-1.0, "hinge"), (1.0, "logistic")])
def test_another_loss_is_taken_only_where_it_is_shown_to_be_better(data, least_gain, loss, monkeypatch):
    monkeypatch.setattr(choose, "LEAST_GAIN", least_gain)
    monkeypatch.setattr(choose, "ERRORS_TO_CHANGE", -100.0)
    model = fit(data, C="auto")
    assert {(trial.loss, trial.gamma) for trial in model.trials_} == {("logistic", 0.0), ("hinge", 1.0)}
    assert model.loss_ == loss


def test_same_seed_same_bits_and_other_seed_other_rows(data):
    one, again, other = (fit(data, C="auto", budget=2000, random_state=seed) for seed in (1, 1, 2))
    assert np.array_equal(one.coef_, again.coef_)
    assert np.array_equal(one.intercept_, again.intercept_)
    assert not np.array_equal(one.coef_, other.coef_)


def test_dense_sparse_and_store_give_the_same_bits(data, tmp_path):
    path = tmp_path / "rows.arrow"
    X, y = make_ranking(30_000, 10, positive_rate=0.2, random_state=0)
    dense = fit((X, y), C="auto", budget=3000)
    sparse = fit((csr_array(X), y), C="auto", budget=3000)
    assert sparse.coef_ == pytest.approx(dense.coef_, rel=1e-9)
    np.savez(tmp_path / "rows.npz", X=X, y=y)
    assert run("convert", tmp_path / "rows.npz", "-o", path).returncode == 0
    stored = ActiveRankSVM(sampling="block", C="auto", budget=3000, random_state=0).fit(RowStore(path))
    assert np.array_equal(stored.coef_, dense.coef_)


def test_no_more_rows_than_the_budget_are_read(data):
    X, y = data
    read = set()
    rows = as_rows(X)
    take = rows.take
    rows.take = lambda numbers: read.update(numbers.tolist()) or take(numbers)
    problem = make_problem(rows, y > 0)
    settings = grow.make_block_settings(
        problem, C="auto", gamma="auto", loss="auto", budget=1500, tol=1e-3, max_iter=100
    )
    *_, last = grow.block_training(problem, settings, np.random.default_rng(0))
    assert last.history[-1].rows == 3000 == len(read)
    assert last.stop_reason == "budget reached"


def test_growth_ends_when_new_rows_show_nothing_to_gain(monkeypatch):
    X, y = make_ranking(200_000, 3, positive_rate=0.5, auc=0.9, random_state=0)
    model = fit((X, y), loss="logistic", gamma=0.0, C=1.0, budget=100_000)
    assert model.stop_reason_ == grow.ENOUGH_ROWS
    assert model.history_[-1].rows < 200_000
    monkeypatch.setattr(grow, "LEAST_LEFT", 0.0)
    longer = fit((X, y), loss="logistic", gamma=0.0, C=1.0, budget=100_000)
    assert longer.stop_reason_ == "all rows used"
    assert model.score(X, y) > longer.score(X, y) - grow.LEAST_LEFT - 1e-4


def test_weight_two_is_the_row_twice_and_weight_zero_is_no_row():
    X, y = make_ranking(4000, 4, positive_rate=0.3, random_state=0)
    times = np.random.default_rng(0).integers(0, 3, 4000)
    options = {"loss": "logistic", "gamma": 0.5, "C": 0.1, "tol": 1e-9}
    weighted = ActiveRankSVM(sampling="block", **options).fit(X, y, times)
    repeated = ActiveRankSVM(sampling="block", **options).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    assert weighted.coef_ == pytest.approx(repeated.coef_, rel=1e-6)
    assert weighted.intercept_ == pytest.approx(repeated.intercept_, rel=1e-6)


def test_few_pairs_are_all_used_with_the_hinge():
    X, y = make_ranking(150, 3, positive_rate=0.5, random_state=0)
    block = fit((X, y), C="auto")
    paper = ActiveRankSVM(sampling="soft-correct", random_state=0).fit(X, y)
    assert block.stop_reason_ == "all terms used"
    assert (block.loss_, block.gamma_, block.C_) == ("hinge", 1.0, 0.1)
    assert np.array_equal(block.coef_, paper.coef_)
    assert len(block.pairs_) == block.n_pairs_


def test_few_pairs_with_a_loss_that_is_given():
    X, y = make_ranking(150, 3, positive_rate=0.5, random_state=0)
    model = fit((X, y), loss="logistic")
    assert (model.loss_, model.gamma_) == ("logistic", 0.0)
    assert model.stop_reason_ == "all rows used"


def test_seconds_and_bytes_end_it(data):
    X, y = make_ranking(300_000, 20, positive_rate=0.3, random_state=0)
    quick = fit((X, y), budget="1ms")
    assert quick.stop_reason_ == "budget of seconds reached"
    assert quick.history_[-1].rows < 300_000
    row = 20 * 8
    few = fit((X, y), budget=f"{30_000 * row}B")
    assert few.stop_reason_ == "budget of bytes reached"
    assert quick.score(X, y) > 0.8
    assert few.score(X, y) > 0.8


def test_validation_curve_and_early_stopping():
    X, y = make_ranking(200_000, 5, positive_rate=0.5, random_state=0)
    model = fit((X, y), validation=0.2, early_stopping=True, loss="logistic", gamma=0.0, budget=80_000)
    assert len(model.validation_curve_) >= 2
    assert model.stop_reason_ in ("no more gain on the validation part", grow.ENOUGH_ROWS)
    pairs = [check.pairs for check in model.validation_curve_]
    assert pairs == sorted(set(pairs))


def test_interrupt_keeps_the_model(data):
    class Interrupting(ActiveRankSVM):
        def _report(self, state):
            if len(state.history) == 2:
                raise KeyboardInterrupt
            return super()._report(state)

    model = Interrupting(sampling="block", loss="logistic", gamma=0.0, random_state=0).fit(*data)
    assert model.stop_reason_ == "interrupted"
    assert model.score(*data) > 0.8


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"sampling": "block", "loss": "cubic"}, "loss must be one of"),
        ({"sampling": "block", "loss": "hinge", "gamma": 0.5}, "pairs alone"),
        ({"sampling": "soft-correct", "loss": "logistic"}, 'loss must be "hinge" or "auto"'),
        ({"sampling": "block", "gamma": 2.0}, "gamma must be"),
        ({"sampling": "block", "budget": "many"}, "budget must be"),
        ({"sampling": "block", "C": -1}, "C must be"),
    ],
)
def test_bad_parameters_are_refused(data, options, says):
    with pytest.raises(ValueError, match=says):
        ActiveRankSVM(**options).fit(*data)


def test_unconverged_fit_warns(data):
    from sklearn.exceptions import ConvergenceWarning

    with pytest.warns(ConvergenceWarning, match="relative gradient"):
        fit(data, loss="logistic", gamma=0.0, C=100.0, tol=1e-14, max_iter=1)


def test_command_gives_the_bits_of_the_estimator(data, tmp_path):
    X, y = data
    np.savez(tmp_path / "rows.npz", X=X, y=y)
    out = tmp_path / "model.safetensors"
    options = ["--sampling", "block", "--C", "auto", "--gamma", "auto", "--loss", "auto", "--budget", "3000"]
    done = run("fit", tmp_path / "rows.npz", "-o", out, *options, "--random-state", "0")
    assert done.returncode == 0
    assert "6,000 of 30,000 rows" in done.stdout
    model = fit(data, C="auto", budget=3000)
    kept = load_model(out)
    assert np.array_equal(kept.coef_, model.coef_)
    training = kept.details["training"]
    assert (training["loss"], training["gamma"], training["C"]) == (model.loss_, model.gamma_, model.C_)
    assert "on 6,000 rows" in run("inspect", out).stdout


def test_choice_of_parts():
    X, y = make_ranking(20_000, 3, positive_rate=0.02, random_state=0)
    from pairsift.data.drawn_rows import Drawing

    problem = make_problem(as_rows(X), y > 0)
    drawing = Drawing(problem, np.random.default_rng(0))
    parts = choose._parts(drawing, 40_000)
    assert len(parts) == choose.FOLDS
    for learning, judge in parts:
        assert len(learning) == choose.FOLDS - 1
        assert all(piece.rows is not judge.rows for piece in learning)
    assert drawing.n_positive == problem.n_positive


def test_rows_that_are_a_sample_are_solved_as_far_as_a_sample_can_tell(data):
    """The rows of an engine are all there are on its driver, and few of those there are."""
    from pairsift.block import block_training, make_block_settings

    X, y = data
    problem = make_problem(as_rows(X), y == 1)
    options = {"C": 0.1, "gamma": 1.0, "loss": "hinge", "budget": 10**6, "tol": 1e-3, "max_iter": 1000}
    settings = make_block_settings(problem, **options)
    *_, all_rows = block_training(problem, settings, np.random.default_rng(0))
    sampled = replace(settings, population=100 * problem.n_points)
    *_, sample = block_training(problem, sampled, np.random.default_rng(0))
    assert all_rows.solution.relative_gap <= 1e-3
    assert not all_rows.solution.settled
    assert sample.solution.settled
    assert sample.solution.n_passes < all_rows.solution.n_passes


@pytest.fixture
def states(data):
    """The states of a training that chooses everything."""
    from pairsift.block import block_training, make_block_settings

    X, y = data
    problem = make_problem(as_rows(X), y == 1)
    options = {"C": "auto", "gamma": "auto", "loss": "auto", "budget": 10**6, "tol": 1e-3, "max_iter": 1000}
    return block_training(problem, make_block_settings(problem, **options), np.random.default_rng(0))


def test_there_is_a_model_after_the_first_trial_and_it_is_the_best_so_far(data, states):
    X, y = data
    trials = []
    for state in states:
        if state.choice.trials == (trials[-1].choice.trials if trials else None):
            break
        trials.append(state)
    *_, last = states
    assert len(trials[0].choice.trials) == 1
    assert auc(y, X @ trials[0].solution.w) > 0.9 * auc(y, X @ last.solution.w)
    logistic = [state.choice for state in trials if state.choice.trials[-1].loss == "logistic"]
    for choice in logistic:
        best = max(choice.trials, key=lambda trial: trial.auc)
        assert (choice.mix.loss, choice.mix.gamma, choice.C) == best[:3]
    assert last.choice.trials[: len(logistic)] == logistic[-1].trials
    assert last.choice.C >= logistic[-1].C  # the C of all rows


@pytest.mark.parametrize("moment", [1, 3, 6])
def test_a_fit_that_is_interrupted_while_it_chooses_has_a_model(data, moment):
    X, y = data
    model, seen = ActiveRankSVM(C="auto", random_state=0), []

    def interrupt(state):
        seen.append(state)
        if len(seen) == moment:
            raise KeyboardInterrupt

    model._report = interrupt
    model.fit(X, y)
    assert model.stop_reason_ == "interrupted"
    assert np.array_equal(model.coef_[0], seen[-1].solution.w)
    assert model.C_ == seen[-1].choice.C
    assert model.score(X, y) > 0.7


def test_a_budget_of_hardly_any_time_is_enough_for_a_model(data):
    model = fit(data, C="auto", budget="1ms")
    assert model.stop_reason_ == "budget of seconds reached"
    assert len(model.trials_) == 1
    assert model.score(*data) > 0.7
