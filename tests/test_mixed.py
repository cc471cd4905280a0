"""Pairs and points over drawn rows: the draw, the objective, the solver and its certificate."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime, check_grad
from scipy.sparse import csr_array
from scipy.stats import chisquare
from sklearn.linear_model import LogisticRegression

from pairsift import RankSVM, make_ranking
from pairsift.data.drawn_rows import Drawing, compacted, permute
from pairsift.data.problem import make_problem
from pairsift.data.rows import as_rows
from pairsift.losses import sum_points
from pairsift.solvers import mixed
from pairsift.solvers.mixed import solve_mixed
from pairsift.solvers.mixed_objective import Mix, MixedObjective

MIXES = [("logistic", 0.0), ("logistic", 0.4), ("squared_hinge", 0.0), ("squared_hinge", 0.7), ("squared_hinge", 1.0)]


def problem_of(n_rows=400, n_features=5, sparse=False, weights=None, seed=0):
    X, y = make_ranking(n_rows, n_features, positive_rate=0.3, random_state=seed)
    return make_problem(as_rows(csr_array(X) if sparse else X), y > 0, weights)


def pieces_of(problem, *sizes):
    drawing = Drawing(problem, np.random.default_rng(0))
    drawn = [drawing.draw(size, size) for size in (*sizes, problem.n_points)]
    return [piece for piece in drawn if piece is not None]


def solve(problem, C, loss, gamma, tol=1e-9, **options):
    *_, last = solve_mixed(pieces_of(problem, 30, 90), C, Mix(loss, gamma), tol=tol, max_iter=200, **options)
    return last


@pytest.mark.parametrize("n", [1, 2, 3, 17, 64, 65, 1000])
def test_keyed_order_is_a_permutation(n):
    keys = np.random.default_rng(n).integers(2**64, size=4, dtype=np.uint64)
    assert sorted(permute(n, keys, np.arange(n)).tolist()) == list(range(n))


def test_first_places_of_the_order_are_uniform():
    rng = np.random.default_rng(0)
    n, counts = 30, np.zeros(30)
    pairs = np.zeros((30, 30))
    for _ in range(6000):
        first = permute(n, rng.integers(2**64, size=4, dtype=np.uint64), np.arange(2))
        counts[first] += 1
        pairs[first[0], first[1]] += 1
    assert chisquare(counts).pvalue > 1e-3
    assert chisquare(pairs[~np.eye(30, dtype=bool)]).pvalue > 1e-3


def test_draws_are_nested_distinct_and_complete():
    problem = problem_of()
    ids = make_problem(as_rows(np.arange(400.0)[:, np.newaxis]), np.isin(np.arange(400), problem.positives))
    small, large = Drawing(ids, np.random.default_rng(3)), Drawing(ids, np.random.default_rng(3))
    first = small.draw(20, 20)
    pieces = [large.draw(20, 20), large.draw(10**9, 10**9)]
    seen = np.concatenate([piece.rows.values[:, 0] for piece in pieces])
    assert np.array_equal(first.rows.values, pieces[0].rows.values)
    assert sorted(seen.tolist()) == list(range(400))
    assert large.share == 1
    assert large.draw(10**9, 10**9) is None
    positives = set(ids.positives.tolist())
    for piece in pieces:
        assert set(piece.rows.values[: piece.n_positive, 0].astype(int)) <= positives
        assert not set(piece.rows.values[piece.n_positive :, 0].astype(int)) & positives


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
def test_points_match_their_definition_and_derivatives(loss):
    rng = np.random.default_rng(0)
    p, q, u, v = rng.normal(size=7), rng.normal(size=9), rng.random(7), rng.random(9)
    u, v = u / u.sum(), v / v.sum()

    def of(m):
        return np.log1p(np.exp(-m)) if loss == "logistic" else np.maximum(0, 1 - m) ** 2

    sums = sum_points(p, q, u, v, loss)
    assert sums.value == pytest.approx(0.5 * (u @ of(p) + v @ of(-q)), rel=1e-12)
    slope = approx_fprime(p, lambda p: sum_points(p, q, u, v, loss).value)
    assert slope == pytest.approx(sums.positive, abs=1e-6)
    slope = approx_fprime(q, lambda q: sum_points(p, q, u, v, loss).value)
    assert slope == pytest.approx(sums.negative, abs=1e-6)
    h = 1e-6
    curvature = (sum_points(p + h, q + h, u, v, loss).positive - sums.positive) / h
    assert curvature == pytest.approx(sums.positive_curvature, abs=1e-4)


def test_logistic_loss_of_huge_margins_is_finite():
    sums = sum_points(np.array([-1e4, 1e4]), np.array([1e4]), 0.5, 1.0, "logistic")
    assert sums.value == pytest.approx(0.5 * (0.5 * 1e4 + 1e4))
    assert np.all(np.isfinite(sums.positive))
    assert np.all(np.isfinite(sums.positive_curvature))


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(("loss", "gamma"), MIXES)
def test_gradient_and_hessian_agree_with_numerical_ones(loss, gamma, sparse):
    weights = np.random.default_rng(1).random(120) + 0.5
    problem = problem_of(120, 4, sparse, weights)
    objective = MixedObjective(pieces_of(problem, 10), 30.0, Mix(loss, gamma))
    w = np.random.default_rng(2).normal(size=objective.n_variables)
    scale = np.linalg.norm(objective.gradient(objective.at(w)))
    error = check_grad(lambda w: objective.at(w).value, lambda w: objective.gradient(objective.at(w)), w)
    assert error < 1e-5 * scale
    product, h = objective.hessian_product(objective.at(w)), 1e-6
    for d in np.random.default_rng(3).normal(size=(3, objective.n_variables)):
        change = objective.gradient(objective.at(w + h * d)) - objective.gradient(objective.at(w - h * d))
        assert product(d) == pytest.approx(change / (2 * h), abs=2e-3 * scale)


@pytest.mark.parametrize(("loss", "gamma"), MIXES)
def test_value_is_that_of_all_pairs_and_points(loss, gamma):
    problem = problem_of(60, 3)
    objective = MixedObjective(pieces_of(problem, 7), 30.0, Mix(loss, gamma))
    v = np.random.default_rng(2).normal(size=objective.n_variables)
    w, theta = v[:3], v[3] if gamma < 1 else 0.0
    p = problem.rows.values[problem.positives] @ w - theta
    q = problem.rows.values[problem.negatives] @ w - theta
    pairs = np.mean(np.maximum(0, 1 - (p[:, None] - q)) ** 2)
    if loss == "logistic":
        points = 0.5 * (np.mean(np.log1p(np.exp(-p))) + np.mean(np.log1p(np.exp(q))))
    else:
        points = 0.5 * (np.mean(np.maximum(0, 1 - p) ** 2) + np.mean(np.maximum(0, 1 + q) ** 2))
    expected = 0.5 * w @ w + 30.0 * (gamma * pairs + (1 - gamma) * points)
    assert objective.at(v).value == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_logistic_points_over_all_rows_are_balanced_logistic_regression(weighted):
    weights = np.random.default_rng(5).integers(1, 4, 400).astype(float) if weighted else None
    problem, C = problem_of(weights=weights), 50.0
    found = solve(problem, C, "logistic", 0.0)
    s = np.ones(400) if weights is None else weights
    y = np.zeros(400)
    y[problem.positives] = 1
    balanced = np.where(y > 0, s / s[y > 0].sum(), s / s[y < 1].sum()) / 2
    peer = LogisticRegression(C=C, tol=1e-12, max_iter=10_000).fit(problem.rows.values, y, balanced)
    assert found.converged
    assert found.relative_gap <= 1e-9
    assert found.w == pytest.approx(peer.coef_[0], rel=1e-4)
    assert -found.theta == pytest.approx(peer.intercept_[0], rel=1e-4)


def test_squared_hinge_pairs_over_all_rows_are_the_exact_ranksvm():
    problem = problem_of()
    y = np.zeros(400)
    y[problem.positives] = 1
    exact = RankSVM(C=50.0, loss="squared_hinge", tol=1e-9).fit(problem.rows.values, y)
    found = solve(problem, 50.0, "squared_hinge", 1.0)
    assert found.w == pytest.approx(exact.coef_[0], rel=1e-6)
    assert found.primal == pytest.approx(exact.objective_, rel=1e-9)


@pytest.mark.parametrize(("loss", "gamma"), MIXES)
@pytest.mark.parametrize("cheap_work", [0.0, 1e9])  # the diagonal, and the written Hessian
def test_certificate_is_the_gradient(loss, gamma, cheap_work, monkeypatch):
    monkeypatch.setattr(mixed, "CHEAP_WORK", cheap_work)
    problem = problem_of(sparse=True)
    found = solve(problem, 800.0, loss, gamma, tol=1e-6)
    objective = MixedObjective(pieces_of(problem, 30, 90), 800.0, Mix(loss, gamma))
    variables = np.append(found.w, found.theta) if gamma < 1 else found.w
    at_zero = np.linalg.norm(objective.gradient(objective.at_zero()))
    gap = np.linalg.norm(objective.gradient(objective.at(variables))) / at_zero
    assert found.converged
    assert not found.settled
    assert found.done
    assert found.relative_gap == pytest.approx(gap, rel=1e-6, abs=1e-12)
    assert gap <= 1e-6


@pytest.mark.parametrize(("loss", "gamma"), MIXES)
def test_written_hessian_of_one_piece_is_the_hessian(loss, gamma):
    pieces = pieces_of(problem_of(80, 4))
    objective = MixedObjective(pieces, 20.0, Mix(loss, gamma))
    w = np.random.default_rng(0).normal(size=objective.n_variables)
    divide = mixed.Preconditioners(objective)(w, objective.mix)
    product = objective.hessian_product(objective.at(w))
    for d in np.eye(objective.n_variables):
        assert divide(product(d)) == pytest.approx(d, abs=1e-8)


def test_sampling_error_estimates_the_spread_of_gradients():
    """z^T M^-1 z is, on average, what the gradients of independent samples spread by, measured with M."""
    whole = problem_of(40_000, 4)
    C, mix, m = 100.0, Mix("logistic", 0.0), 300
    every = MixedObjective(pieces_of(whole), C, mix)
    *_, best = solve_mixed(every.pieces, C, mix, tol=1e-8, max_iter=50)
    at = np.append(best.w, best.theta)
    divide = mixed.Preconditioners(every)(at, mix)
    spread, estimates = [], []
    for seed in range(60):
        drawing = Drawing(whole, np.random.default_rng(seed))
        sample = MixedObjective([drawing.draw(m, m)], C, mix)
        point = sample.at(at)
        difference = sample.gradient(point) - every.gradient(every.at(at))
        spread.append(difference @ divide(difference))
        estimates.append(mixed._sampling_error(sample, point, divide, np.random.default_rng(seed)))
    assert np.mean(estimates) == pytest.approx(np.mean(spread), rel=0.4)


def test_a_sample_is_solved_only_as_far_as_it_can_tell():
    whole = problem_of(40_000, 10)
    drawing = Drawing(whole, np.random.default_rng(0))
    sample = [drawing.draw(1000, 1000)]
    options = {"tol": 1e-10, "max_iter": 100}
    *_, far = solve_mixed(sample, 800.0, Mix("logistic", 0.0), **options)
    signs = np.random.default_rng(1)
    *_, near = solve_mixed(sample, 800.0, Mix("logistic", 0.0), share_drawn=0.05, signs=signs, **options)
    *_, best = solve_mixed(pieces_of(whole), 800.0, Mix("logistic", 0.0), **options)
    assert near.settled
    assert near.n_passes < far.n_passes
    assert np.linalg.norm(near.w - far.w) < 0.2 * np.linalg.norm(far.w - best.w)


def test_hinge_has_the_duality_gap_as_certificate():
    problem = problem_of(sparse=True)
    found = solve(problem, 80.0, "hinge", 1.0, tol=1e-5)
    p, q = (problem.rows.scores(found.w, places) for places in (problem.positives, problem.negatives))
    primal = 0.5 * found.w @ found.w + 80.0 * np.mean(np.maximum(0, 1 - (p[:, None] - q)))
    y = np.zeros(400)
    y[problem.positives] = 1
    X = problem.rows
    matrix = csr_array((X.values, X.columns, X.starts), shape=(X.n_rows, X.n_features))
    exact = RankSVM(C=80.0, tol=1e-7).fit(matrix, y)
    assert found.relative_gap <= 1e-5
    assert found.primal == pytest.approx(primal, rel=1e-9)
    assert exact.lower_bound_ <= primal <= exact.lower_bound_ * (1 + 2e-5)


def test_compacted_rows_are_the_same_problem():
    rng = np.random.default_rng(0)
    X = csr_array((np.ones(300), (rng.integers(0, 60, 300), rng.integers(0, 5000, 300))), shape=(60, 5000))
    X.sum_duplicates()
    problem = make_problem(as_rows(X), np.arange(60) % 2 == 0)
    pieces = pieces_of(problem, 10)
    small, columns = compacted(pieces)
    assert columns.tolist() == np.unique(X.indices).tolist()
    *_, whole = solve_mixed(pieces, 10.0, Mix("logistic", 0.0), tol=1e-9, max_iter=100)
    *_, part = solve_mixed(small, 10.0, Mix("logistic", 0.0), tol=1e-9, max_iter=100)
    assert whole.w[columns] == pytest.approx(part.w, rel=1e-6, abs=1e-9)
    assert np.count_nonzero(np.delete(whole.w, columns)) == 0
    assert compacted(pieces_of(problem_of(sparse=True)))[1] is None


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_rows_are_gathered_as_scipy_does(kind):
    rng = np.random.default_rng(0)
    X = csr_array(rng.normal(size=(50, 20)).astype(kind) * (rng.random((50, 20)) < 0.2))
    rows = rng.integers(0, 50, 80)
    taken, expected = as_rows(X).take(rows), X[rows]
    for mine, theirs in zip(
        (taken.values, taken.columns, taken.starts), (expected.data, expected.indices, expected.indptr), strict=True
    ):
        assert np.array_equal(mine, theirs)


def test_a_class_that_is_exhausted_leaves_pieces_of_the_other():
    X, y = make_ranking(3000, 4, positive_rate=0.02, random_state=0)
    problem = make_problem(as_rows(X), y > 0)
    assert pieces_of(problem, 30, 90)[-1].n_positive == 0
    for loss, gamma in MIXES:
        assert solve(problem, 100.0, loss, gamma, tol=1e-6).converged
