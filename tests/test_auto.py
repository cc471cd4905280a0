"""`AutoRanker`: what it equals, what it chooses, how it ends."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array, random_array
from sklearn.linear_model import LogisticRegression

from in_process import run
from pairsift import AutoRanker, RankSVM, RowStore, WeightedSVM, auc, load_model, make_ranking
from pairsift.data.drawn_rows import Drawing
from pairsift.data.problem import make_problem
from pairsift.data.rows import as_rows
from pairsift.search import choosing, growing, walk
from pairsift.search import parts as row_parts
from pairsift.search.growing import auto_training
from pairsift.search.options import DEFAULTS, make_auto_settings
from pairsift.search.parts import LearningRows, RowOrder


@pytest.fixture(scope="module")
def data():
    return make_ranking(30_000, 10, positive_rate=0.2, random_state=0)


@pytest.fixture(scope="module")
def fewer():
    """Rows of which none is held out: the model learns from all."""
    return make_ranking(12_000, 10, positive_rate=0.2, random_state=0)


def fit(data, **options):
    return AutoRanker(**{"random_state": 0, **options}).fit(*data)


def states_of(data, **options):
    """Yield the states of a training."""
    X, y = data
    problem = make_problem(as_rows(X), y > 0)
    settings = make_auto_settings(problem, **{**DEFAULTS, "budget": 10**6, **options})
    return auto_training(problem, settings, np.random.default_rng(0))


def test_with_all_rows_it_is_the_exact_ranksvm(fewer):
    model = fit(fewer, loss="squared_hinge", terms="pairs", C=400.0, tol=1e-7)
    exact = RankSVM(C=400.0, loss="squared_hinge", tol=1e-7).fit(*fewer)
    assert model.stop_reason_ == "all rows used"
    assert model.coef_ == pytest.approx(exact.coef_, rel=1e-4)
    assert model.intercept_ == pytest.approx(exact.intercept_, abs=1e-3)


def test_with_all_rows_hinge_pairs_are_the_exact_ranksvm(fewer):
    model = fit(fewer, loss="hinge", terms="pairs", C=400.0, tol=1e-5)
    exact = RankSVM(C=400.0, tol=1e-5).fit(*fewer)
    assert model.gap_ <= 1e-5
    assert model.history_[-1].objective == pytest.approx(exact.objective_, rel=2e-5)
    assert model.coef_ == pytest.approx(exact.coef_, rel=0.02, abs=0.01)


def test_with_all_rows_logistic_points_are_logistic_regression(fewer):
    model = fit(fewer, loss="logistic", terms="points", C=400.0, tol=1e-7)
    peer = LogisticRegression(C=400.0 / 12_000, class_weight="balanced", tol=1e-10, max_iter=1000).fit(*fewer)
    assert model.coef_ == pytest.approx(peer.coef_, rel=1e-3, abs=1e-5)
    assert model.intercept_ == pytest.approx(peer.intercept_, rel=1e-3, abs=1e-4)


@pytest.mark.parametrize("weighted", [False, True])
def test_with_all_rows_hinge_points_are_the_weighted_svm(fewer, weighted):
    weights = np.random.default_rng(0).integers(0, 3, len(fewer[1])).astype(float) if weighted else None
    options = {"loss": "hinge", "terms": "points", "C": 400.0, "tol": 1e-6, "random_state": 0}
    model = AutoRanker(**options).fit(*fewer, sample_weight=weights)
    peer = WeightedSVM(C=400.0, threshold=True, tol=1e-6).fit(*fewer, sample_weight=weights)
    assert model.gap_ <= 1e-6
    assert model.history_[-1].objective == pytest.approx(peer.objective_, rel=1e-5)
    assert model.coef_ == pytest.approx(peer.coef_, rel=0.01, abs=0.005)
    assert model.intercept_ == pytest.approx(peer.intercept_, rel=0.01, abs=0.01)


def test_rows_of_more_columns_than_rows_get_hinge_points():
    rng = np.random.default_rng(0)
    X = random_array((1500, 4000), density=0.02, format="csr", rng=rng)
    score = X @ np.where(np.arange(4000) < 2000, 1.0, -1.0)
    y = (score > np.median(score)).astype(int)
    model = AutoRanker(random_state=0).fit(X[:1000], y[:1000])
    assert (model.loss_, model.terms_) == ("hinge", "points")
    assert model.gap_ <= 1e-3
    assert auc(y[1000:], model.decision_function(X[1000:])) > 0.65
    assert AutoRanker(loss="logistic", random_state=0).fit(X[:1000], y[:1000]).loss_ == "logistic"


def test_strength_does_not_depend_on_the_budget(data):
    small = fit(data, loss="logistic", terms="points", C=8.0, budget=5000)
    large = fit(data, loss="logistic", terms="points", C=8.0)
    assert np.linalg.norm(small.coef_) == pytest.approx(np.linalg.norm(large.coef_), rel=0.1)


def test_everything_is_chosen_and_named(data):
    model = fit(data)
    assert (model.loss_, model.terms_) in (("logistic", "points"), ("hinge", "pairs"))
    tried = [trial.C for trial in model.trials_ if (trial.terms, trial.loss) == (model.terms_, model.loss_)]
    # The strength of the rows that were learned from first, times how many times as many all rows are.
    assert max(tried) * 10 > model.C_ >= min(tried)
    assert len(tried) >= 3
    X, y = make_ranking(20_000, 10, positive_rate=0.2, random_state=1)
    best = LogisticRegression(class_weight="balanced").fit(*data)
    assert model.score(X, y) > auc(y, best.decision_function(X)) - 0.002


@pytest.mark.parametrize(
    ("options", "allowed"),
    [
        ({"loss": "logistic"}, {("logistic", "points")}),
        ({"terms": "points"}, {("logistic", "points"), ("squared_hinge", "points")}),
        ({"terms": "pairs"}, {("hinge", "pairs"), ("squared_hinge", "pairs")}),
        ({"loss": "hinge"}, {("hinge", "pairs"), ("hinge", "points")}),
        ({"loss": "squared_hinge"}, {("squared_hinge", "pairs"), ("squared_hinge", "points")}),
        ({"terms": "points", "loss": "squared_hinge"}, {("squared_hinge", "points")}),
    ],
)
def test_what_is_given_is_not_chosen(data, options, allowed):
    model = fit(data, C=160.0, **options)
    assert (model.loss_, model.terms_) in allowed
    assert {(trial.loss, trial.terms) for trial in model.trials_} == (allowed if len(allowed) > 1 else set())
    assert {trial.C for trial in model.trials_} <= {160.0}
    assert model.C_ == 160.0


@pytest.mark.parametrize(("shown", "loss"), [(True, "hinge"), (False, "logistic")])
def test_another_loss_is_taken_only_where_it_is_shown_to_be_better(data, shown, loss, monkeypatch):
    monkeypatch.setattr(choosing, "is_shown", lambda gain, error: shown)
    model = fit(data)
    assert {(trial.loss, trial.terms) for trial in model.trials_} == {("logistic", "points"), ("hinge", "pairs")}
    assert model.loss_ == loss


def test_same_seed_same_bits_and_other_seed_other_rows(data):
    one, again, other = (fit(data, budget=2000, random_state=seed) for seed in (1, 1, 2))
    assert np.array_equal(one.coef_, again.coef_)
    assert np.array_equal(one.intercept_, again.intercept_)
    assert not np.array_equal(one.coef_, other.coef_)


def test_dense_sparse_and_store_give_the_same_bits(data, tmp_path):
    path = tmp_path / "rows.arrow"
    X, y = make_ranking(30_000, 10, positive_rate=0.2, random_state=0)
    dense = fit((X, y), budget=3000)
    sparse = fit((csr_array(X), y), budget=3000)
    assert sparse.coef_ == pytest.approx(dense.coef_, rel=1e-9)
    np.savez(tmp_path / "rows.npz", X=X, y=y)
    assert run("convert", tmp_path / "rows.npz", "-o", path).returncode == 0
    stored = AutoRanker(budget=3000, random_state=0).fit(RowStore(path))
    assert np.array_equal(stored.coef_, dense.coef_)


@pytest.mark.parametrize("holds_out", [False, True])
def test_no_more_rows_than_the_budget_are_read(data, holds_out):
    X, y = data
    read = set()
    rows = as_rows(X)
    take = rows.take
    rows.take = lambda numbers: read.update(numbers.tolist()) or take(numbers)
    problem = make_problem(rows, y > 0)
    settings = make_auto_settings(problem, **{**DEFAULTS, "budget": 1500, "max_iter": 100})
    *_, last = auto_training(problem, replace(settings, holds_out=holds_out), np.random.default_rng(0))
    held_out = sum(piece.rows.n_rows for piece in last.held_out)
    assert last.history[-1].rows == sum(last.n_rows)
    assert last.history[-1].rows + held_out == len(read)
    if holds_out:  # one row in four, to judge by 500 of each class
        assert len(read) == 4000
        assert held_out == pytest.approx(1000, rel=0.1)
    else:
        assert len(read) == 3000
    assert last.stop_reason == "budget reached"


def test_growth_ends_when_new_rows_show_nothing_to_gain(monkeypatch):
    X, y = make_ranking(200_000, 3, positive_rate=0.5, auc=0.9, random_state=0)
    model = fit((X, y), loss="logistic", terms="points", C=8000.0, budget=100_000)
    assert model.stop_reason_ == growing.ENOUGH_ROWS
    assert model.history_[-1].rows < 200_000
    monkeypatch.setattr(growing, "LEAST_LEFT", 0.0)
    longer = fit((X, y), loss="logistic", terms="points", C=8000.0, budget=100_000)
    assert longer.stop_reason_ == "all rows used"
    assert model.score(X, y) > longer.score(X, y) - growing.LEAST_LEFT - 1e-4


@pytest.mark.parametrize(("terms", "loss"), [("points", "logistic"), ("pairs", "squared_hinge")])
def test_weight_two_is_the_row_twice_and_weight_zero_is_no_row(terms, loss):
    X, y = make_ranking(4000, 4, positive_rate=0.3, random_state=0)
    times = np.random.default_rng(0).integers(0, 3, 4000)
    options = {"loss": loss, "terms": terms, "C": 800.0, "tol": 1e-9, "random_state": 0}
    weighted = AutoRanker(**options).fit(X, y, times)
    repeated = AutoRanker(**options).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    assert weighted.coef_ == pytest.approx(repeated.coef_, rel=1e-6)
    assert weighted.intercept_ == pytest.approx(repeated.intercept_, rel=1e-6)


def test_few_rows_have_the_defaults():
    X, y = make_ranking(1000, 3, positive_rate=0.024, random_state=0)
    model = fit((X, y))
    assert np.sum(y == 1) == 24
    assert model.stop_reason_ == "all rows used"
    assert (model.loss_, model.terms_, model.C_) == ("logistic", "points", 800.0)
    assert model.trials_ == []
    assert model.n_rows_.tolist() == [976, 24]


def test_few_rows_with_a_loss_that_is_given():
    X, y = make_ranking(150, 3, positive_rate=0.5, random_state=0)
    model = fit((X, y), loss="logistic")
    assert (model.loss_, model.terms_) == ("logistic", "points")
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


def test_interrupt_keeps_the_model_where_that_is_wanted(data):
    class Interrupting(AutoRanker):
        def _report(self, state):
            if len(state.history) == 2:
                raise KeyboardInterrupt
            return super()._report(state)

    options = {"loss": "logistic", "terms": "points", "C": 800.0, "random_state": 0}
    model = Interrupting(**options, on_interrupt="keep").fit(*data)
    assert model.stop_reason_ == "interrupted"
    assert model.score(*data) > 0.8
    with pytest.raises(KeyboardInterrupt):
        Interrupting(**options).fit(*data)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"loss": "cubic"}, "loss must be one of"),
        ({"terms": "triples"}, "terms must be one of"),
        ({"loss": "logistic", "terms": "pairs"}, 'loss="logistic" is for points'),
        ({"budget": "many"}, "budget must be"),
        ({"C": -1}, "C must be"),
        ({"on_interrupt": "stop"}, "on_interrupt must be one of"),
        ({"holdout_by": 3}, "holdout_by must be"),
    ],
)
def test_bad_parameters_are_refused(data, options, says):
    with pytest.raises(ValueError, match=says):
        AutoRanker(**options).fit(*data)


def test_unconverged_fit_warns(data):
    from sklearn.exceptions import ConvergenceWarning

    with pytest.warns(ConvergenceWarning, match="relative gap"):
        fit(data, loss="logistic", terms="points", C=800_000.0, tol=1e-14, max_iter=1)


def test_command_gives_the_bits_of_the_estimator(data, tmp_path):
    X, y = data
    np.savez(tmp_path / "rows.npz", X=X, y=y)
    out = tmp_path / "model.safetensors"
    done = run("fit", tmp_path / "rows.npz", "-o", out, "--budget", "3000", "--random-state", "0")
    assert done.returncode == 0
    model = fit(data, budget=3000)
    assert f"{model.n_rows_.sum():,} of 30,000 rows" in done.stdout
    kept = load_model(out)
    assert np.array_equal(kept.coef_, model.coef_)
    training = kept.details["training"]
    assert (training["loss"], training["terms"], training["C"]) == (model.loss_, model.terms_, model.C_)
    assert training["rows_used"] == dict(zip(["negative", "positive"], model.n_rows_.tolist(), strict=True))
    assert training["holdout"] == model.holdout_._asdict()
    assert training["trials"] == [list(trial) for trial in model.trials_]
    assert f"on {model.n_rows_.sum():,} rows" in run("inspect", out).stdout


def test_choice_of_parts():
    X, y = make_ranking(20_000, 3, positive_rate=0.02, random_state=0)
    problem = make_problem(as_rows(X), y > 0)
    order = RowOrder(0)
    rows = LearningRows(Drawing(problem, np.random.default_rng(0), order=order), order)
    parts = rows.parts(40_000)
    assert len(parts) == row_parts.FOLDS
    for part in parts:
        assert len(part.learning) == row_parts.FOLDS - 1
        judging = set(part.judging.order.tolist())
        assert all(judging.isdisjoint(piece.order.tolist()) for piece in part.learning)
    assert rows.n_positive == problem.n_positive


def test_rows_that_are_a_sample_are_solved_as_far_as_a_sample_can_tell(data):
    """The rows of an engine are all there are on its driver, and few of those there are."""
    X, y = data
    problem = make_problem(as_rows(X), y == 1)
    options = {"C": 800.0, "terms": "pairs", "loss": "hinge", "budget": 10**6, "tol": 1e-3, "max_iter": 1000}
    settings = make_auto_settings(problem, **options)
    *_, all_rows = auto_training(problem, settings, np.random.default_rng(0))
    sampled = replace(settings, population=100 * problem.n_points)
    *_, sample = auto_training(problem, sampled, np.random.default_rng(0))
    assert all_rows.solution.relative_gap <= 1e-3
    assert not all_rows.solution.settled
    assert sample.solution.settled
    assert sample.solution.n_passes < all_rows.solution.n_passes


def test_there_is_a_model_after_the_first_trial_and_it_is_the_best_so_far(data, monkeypatch):
    # Otherwise the C nearest the default is taken of those that cannot be told from the best: test_strength.py.
    monkeypatch.setattr(walk, "is_shown", lambda gain, error: gain > 0)
    X, y = data
    states = states_of(data)
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
        best = max(choice.trials, key=lambda trial: trial.value)
        assert (choice.terms, choice.mix.loss, choice.C) == best[:3]
    assert last.choice.trials[: len(logistic)] == logistic[-1].trials
    assert last.choice.C >= logistic[-1].C  # the C of all rows


@pytest.mark.parametrize("moment", [1, 3, 6])
def test_a_fit_that_is_interrupted_while_it_chooses_has_a_model(data, moment):
    X, y = data
    model, seen = AutoRanker(on_interrupt="keep", random_state=0), []

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
    model = fit(data, budget="1ms")
    assert model.stop_reason_ == "budget of seconds reached"
    assert len(model.trials_) == 1
    assert model.score(*data) > 0.7
