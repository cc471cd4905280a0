"""C="auto": the judge against `auc` and DeLong, warm paths against cold solves, the walk against planted curves."""

import json
import warnings

import numpy as np
import pytest
from click.testing import CliRunner
from sklearn.utils.estimator_checks import parametrize_with_checks

from pairsift import (
    ActiveRankSVM,
    CombinedRankingRegression,
    RankSVM,
    WeightedSVM,
    auc,
    compare_auc,
    load_model,
    make_ranking,
    save_model,
)
from pairsift.active import Settings, make_settings
from pairsift.all_pairs import smoothed_hinge
from pairsift.cli.fit import fit
from pairsift.data.blocks import ArrayBlocks
from pairsift.data.convert import convert
from pairsift.data.problem import make_problem
from pairsift.data.rows import as_rows
from pairsift.judge import Judge, Verdict
from pairsift.sampling import make_sampler
from pairsift.search.paths import DESCENT_GAP, NEWTON_GAP, ActivePath, ExactPath, PointwisePath
from pairsift.search.rule import LEAST_GAIN
from pairsift.search.strength import choose_exact
from pairsift.search.walk import Walk
from pairsift.solvers.dual import solve_dual
from pairsift.solvers.exact import FIRST_WIDTH
from pairsift.solvers.full_objective import FullObjective
from pairsift.solvers.newton import newton_iterates
from pairsift.solvers.pointwise import fit_pointwise
from pairsift.solvers.preconditioner import Preconditioners
from pairsift.solvers.terms import Terms

ESTIMATORS = [ActiveRankSVM, RankSVM, WeightedSVM, CombinedRankingRegression]
DEFAULTS = {ActiveRankSVM: 0.1, RankSVM: 800.0, WeightedSVM: 800.0, CombinedRankingRegression: 800.0}
STRENGTHS = (800.0, 80_000.0, 8.0, 8000.0)


def make(n=3000, columns=8, rate=0.3, seed=0, weighted=False):
    X, y = make_ranking(n, columns, positive_rate=rate, random_state=seed)
    weights = np.random.default_rng(1).integers(1, 4, n).astype(float) if weighted else None
    return X, y, make_problem(as_rows(X), y > 0, weights), weights


@pytest.mark.parametrize("weighted", [False, True])
def test_judge_gives_the_auc_with_ties_and_weights(weighted):
    X, y, _problem, weights = make(500, 2, weighted=weighted)
    w = np.array([1.0, -0.3])
    X = np.round(X, 1)
    judge = Judge(make_problem(as_rows(X), y > 0, weights))
    assert judge(w).auc == pytest.approx(auc(y, X @ w, weights), abs=1e-12)


def delong_error(y, scores):
    """Brute force: the sample variances of the two classes' placements."""
    wins = np.sign(scores[y > 0][:, np.newaxis] - scores[y <= 0]) / 2 + 0.5
    return np.sqrt(sum(np.var(wins.mean(axis=axis), ddof=1) / wins.shape[1 - axis] for axis in (0, 1)))


def test_errors_of_gains_are_delongs():
    X, y, problem, _ = make(800)
    judge = Judge(problem)
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((2, 8))
    gain, error = judge(a).gain_over(judge(b))
    expected = compare_auc(y, X @ a, X @ b)
    assert gain == pytest.approx(expected.difference, abs=1e-12)
    assert 2 * 1.959963984540054 * error == pytest.approx(expected.high - expected.low, rel=1e-9)
    assert judge(a).error == pytest.approx(delong_error(y, X @ a), rel=1e-9)


def test_weights_count_as_repeated_rows():
    X, y, problem, weights = make(300, weighted=True)
    repeated = np.repeat(np.arange(300), weights.astype(int))
    twice = Judge(make_problem(as_rows(X[repeated]), y[repeated] > 0))
    w = np.ones(8)
    assert Judge(problem)(w).auc == pytest.approx(twice(w).auc, abs=1e-12)


def test_exact_path_is_as_good_as_a_cold_solve_at_each_strength():
    _, _, problem, _ = make()
    path = ExactPath(problem, "hinge", np.random.default_rng(0))
    for C in STRENGTHS:
        objective = FullObjective(path.sample, C)
        loss = smoothed_hinge(FIRST_WIDTH)
        cold = objective.at_zero(loss)
        for at in newton_iterates(objective, cold, Preconditioners(objective), lambda at: 1e-3 * at.norm):
            cold = at.point
            if at.norm**2 < 1e-12 * at.point.value:
                break
        warm = objective.at(path(C), loss)
        assert cold.value <= warm.value * (1 + 1e-9)
        assert warm.value <= cold.value * (1 + 1.1 * NEWTON_GAP)


def test_active_path_is_as_good_as_a_cold_solve_at_each_strength():
    _, _, problem, _ = make()
    settings = Settings(make_sampler("soft-correct"), budget=2400)
    path = ActivePath(problem, settings, np.random.default_rng(0))
    assert len(path.pool) == 2400
    for C in (0.1, 1.0, 0.001, 0.03):
        w = path(C)
        upper, _ = path.pool.bounds(C * 2400)
        assert np.sum(upper) == pytest.approx(C * 2400)
        terms = Terms(path.pool.kernel, upper)
        cold = solve_dual(terms, np.zeros(2400), tol=1e-5, max_iter=1000, seed=1)
        warm = terms.certify(w, 0.0, path.pool.alpha)
        assert warm.primal <= cold.primal * (1 + 3 * DESCENT_GAP)


def test_active_path_on_all_terms_has_the_strength_of_the_budget():
    _, _, problem, _ = make(220, rate=0.3)  # 66 * 154 pairs
    settings = make_settings(problem, sampling="random", gamma=1.0, budget=20_000, C=0.1)
    path = ActivePath(problem, settings, np.random.default_rng(0))
    path(0.5)
    assert np.sum(path.pool.bounds(0.5 * path.total)[0]) == pytest.approx(0.5 * 20_000)


def test_pointwise_path_is_as_good_as_a_cold_solve():
    _, _, problem, _ = make(2500)
    path = PointwisePath(problem, False, np.random.default_rng(0))
    for C in (800.0, 80.0, 8000.0):
        w = path(C)
        cold = fit_pointwise(path.sample, C, threshold=False, tol=1e-4, max_iter=1000, seed=0)
        assert path.found.primal <= cold.primal * (1 + 3 * DESCENT_GAP)
        assert w is path.found.w


class Planted:
    """A judge of one number: log10 of C, of which the AUC is a given function."""

    def __init__(self, area, noise=0.0, linear_below=-np.inf, flat_from=np.inf):
        self.area, self.noise, self.linear_below, self.flat_from, self.asked = area, noise, linear_below, flat_from, []

    def solve(self, C):
        self.asked.append(C)
        x = np.log10(C)
        bend = max(self.linear_below, -10)
        logarithm = x if x < bend else bend + (x - bend) / 2
        return np.array([x, 10.0 ** (10 + min(logarithm, self.flat_from))])

    def __call__(self, w):
        value = self.area(w[0])
        spread = self.noise * np.sin(w[0] + np.arange(100))
        half = np.full(100, 0.01)
        return Verdict(value + spread - np.mean(spread), np.full(100, value), half, half, (1.0, 1.0))


@pytest.mark.parametrize("best", [-3, -2, -1, 0, 1, 2, 3])
def test_walk_finds_a_planted_optimum(best):
    judge = Planted(lambda x: 0.9 - 0.01 * abs(x - best))
    assert Walk([(judge.solve, judge)]).run(1.0) == pytest.approx(10.0**best)


def test_walk_steps_half_a_decade_back_where_that_is_free():
    judge = Planted(lambda x: 0.9 - 0.01 * max(1.4 - x, 0))
    assert Walk([(judge.solve, judge)]).run(1.0) == pytest.approx(10**1.5)


def test_walk_stays_at_the_default_where_auc_is_flat():
    judge = Planted(lambda x: 0.9 + 0.4 * LEAST_GAIN * x)
    assert Walk([(judge.solve, judge)]).run(1.0) == 1.0
    assert len(judge.asked) == 3


def test_walk_does_not_follow_noise():
    step = 0.001  # a decade; the standard error of a step's difference is far above it
    judge = Planted(lambda x: 0.9 + step * x, noise=0.2)
    assert Walk([(judge.solve, judge)]).run(1.0) == 1.0
    judge = Planted(lambda x: 0.9 + step * x, noise=0.0)
    assert Walk([(judge.solve, judge)]).run(1.0) > 100


def test_walk_passes_strengths_that_are_too_small_to_matter():
    judge = Planted(lambda x: 0.7 + 0.1 * max(x - 4, 0) if x < 5 else 0.8, linear_below=4.5)
    assert Walk([(judge.solve, judge)]).run(1.0) >= 10**4.5


def test_walk_does_not_take_a_worse_order_for_an_idle_step():
    # Fits that did not converge (columns of very different sizes): |w| grows with C, and AUC falls.
    judge = Planted(lambda x: 0.7 - 0.05 * abs(x), linear_below=9)
    assert Walk([(judge.solve, judge)]).run(1.0) == 1.0


def test_walk_passes_strengths_that_are_too_large_to_matter():
    judge = Planted(
        lambda x: 0.8 - 0.1 * min(max(x + 4, -1), 0.5), flat_from=-7
    )  # |w| grows as the root of C, up to 1e-4
    assert Walk([(judge.solve, judge)]).run(1.0) == pytest.approx(1e-5)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_auto_is_the_fit_at_the_chosen_strength_to_the_bit(estimator):
    X, y, _, weights = make(weighted=True)
    first = estimator(C="auto", random_state=3).fit(X, y, weights)
    again = estimator(C="auto", random_state=3).fit(X, y, weights)
    fixed = estimator(C=first.C_, random_state=3).fit(X, y, weights)
    assert first.coef_.tobytes() == again.coef_.tobytes() == fixed.coef_.tobytes()
    assert first.intercept_.tobytes() == fixed.intercept_.tobytes()
    assert first.C_path_ == again.C_path_
    assert fixed.C_ == first.C_
    assert fixed.C_path_ == []
    tried = [point.C for point in first.C_path_]
    assert tried == sorted(tried)
    assert first.C_ in tried
    assert DEFAULTS[estimator] in tried
    assert all(point.low <= point.auc <= point.high for point in first.C_path_)


def shared_noise(n, rng):
    """Two tiny columns whose difference ranks well, while what both share drowns the difference of the means."""
    y = np.where(rng.random(n) < 0.5, 1, -1)
    shared = 5 * rng.standard_normal(n)
    X = np.column_stack([0.5 * y + shared, shared]) + 0.5 * rng.standard_normal((n, 2))
    return 1e-3 * X, y


@pytest.mark.parametrize("estimator", [ActiveRankSVM, RankSVM, WeightedSVM])
def test_auto_finds_its_way_on_tiny_features(estimator):
    rng = np.random.default_rng(0)
    X, y = shared_noise(3000, rng)
    X_test, y_test = shared_noise(3000, rng)
    auto = estimator(C="auto", random_state=0).fit(X, y)
    assert 100 * DEFAULTS[estimator] < auto.C_
    assert estimator(random_state=0).fit(X, y).score(X_test, y_test) < 0.6
    # The best there is: 0.84, means 1 apart at a spread of 0.5 sqrt(2).
    assert auto.score(X_test, y_test) > 0.77


def test_auto_chooses_less_where_the_default_learns_noise():
    rng = np.random.default_rng(0)
    y = np.where(np.arange(1240) % 2 == 0, 1, -1)
    X = rng.standard_normal((1240, 60)) + 0.15 * y[:, np.newaxis]  # the difference of the means is the best there is
    train, test = slice(0, 240), slice(240, None)
    auto = RankSVM(C="auto", random_state=0).fit(X[train], y[train])
    default = RankSVM(random_state=0).fit(X[train], y[train])
    assert DEFAULTS[RankSVM] > auto.C_
    assert auto.score(X[test], y[test]) > default.score(X[test], y[test]) + 0.01


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("n_positive", [60, 24])
def test_few_rows_have_the_default(estimator, n_positive):
    n = 190 if n_positive == 60 else 1000  # 60 * 130 pairs, and 24 rows of a class
    X = np.random.default_rng(0).standard_normal((n, 3))
    y = np.arange(n) < n_positive
    X[y] += 0.5
    model = estimator(C="auto", random_state=0).fit(X, y)
    assert DEFAULTS[estimator] == model.C_
    assert model.C_path_ == []


def test_store_and_arrays_choose_alike(tmp_path):
    X, y, problem, _ = make()
    store = convert(ArrayBlocks(X, y, block_rows=500), tmp_path / "rows.arrow")
    chosen = [choose_exact(p, "squared_hinge", np.random.default_rng(1)) for p in (problem, store.problem())]
    assert chosen[0] == chosen[1]
    fitted = [
        ActiveRankSVM(sampling="soft-correct", C="auto", random_state=0).fit(*data) for data in ((X, y), (store,))
    ]
    assert fitted[0].coef_.tobytes() == fitted[1].coef_.tobytes()
    assert fitted[0].C_path_ == fitted[1].C_path_


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_other_words_are_refused(estimator):
    X, y, _, _ = make(100)
    with pytest.raises(ValueError, match=r"C must be a number above 0, or .auto. .* got 'best'"):
        estimator(C="best").fit(X, y)


def test_generators_of_any_kind_do():
    X, y, _, _ = make(1000)
    states = [np.random.RandomState(3), np.random.default_rng(3), np.random.Generator(np.random.MT19937(3))]
    unseeded = np.random.MT19937()
    unseeded.state = np.random.MT19937(3).state
    for state in (*states, np.random.Generator(unseeded)):
        assert RankSVM(C="auto", random_state=state).fit(X, y).C_ > 0


def test_model_file_keeps_the_path(tmp_path):
    X, y, _, _ = make(1000)
    model = RankSVM(C="auto", random_state=0).fit(X, y)
    save_model(model, tmp_path / "model.safetensors")
    training = load_model(tmp_path / "model.safetensors").details["training"]
    assert training["C"] == model.C_
    assert training["C_path"] == [list(tried) for tried in model.C_path_]


@pytest.mark.parametrize(
    ("method", "estimator"), list(zip(["active", "exact", "pointwise", "combined"], ESTIMATORS, strict=True))
)
def test_command_line(tmp_path, method, estimator):
    X, y, _, _ = make(1500)
    np.savez(tmp_path / "rows.npz", X=X, y=y)
    command = [str(tmp_path / "rows.npz"), "-o", str(tmp_path / "m.safetensors"), "--method", method]
    done = CliRunner().invoke(fit, [*command, "--C", "auto", "--random-state", "5", "--json"])
    assert done.exit_code == 0, done.output
    facts = json.loads(done.stdout)
    model = estimator(C="auto", random_state=5).fit(X, y)
    written = load_model(tmp_path / "m.safetensors")
    assert facts["C"] == model.C_ == written.details["training"]["C"]
    assert written.details["settings"]["C"] == "auto"
    assert [list(tried) for tried in model.C_path_] == facts["C_path"] == written.details["training"]["C_path"]
    assert written.coef_.tobytes() == model.coef_.tobytes()
    words = CliRunner().invoke(fit, [*command, "--C", "auto", "--random-state", "5"])
    assert f"C = {model.C_:g}, chosen from {len(model.C_path_)}" in words.output
    refused = CliRunner().invoke(fit, [*command, "--C", "best"])
    assert refused.exit_code == 2
    assert "got 'best'" in refused.output


@parametrize_with_checks([estimator(C="auto") for estimator in ESTIMATORS])
def test_scikit_learn_checks(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(estimator)
