"""The dual solver: kernel against plain NumPy, certificate, LIBLINEAR, and what the issue asks of small problems."""

import ctypes

import numpy as np
import pytest
from liblinear.liblinearutil import parameter, problem, train
from scipy.sparse import csr_array, csr_matrix
from sklearn.svm import LinearSVC

from pairsift import _core, reference
from pairsift.data.rows import CsrRows, as_rows
from pairsift.solvers import dual, interior
from pairsift.solvers.dual import descend, solve_dual, steer
from pairsift.solvers.interior import can_use_interior, interior_point
from pairsift.solvers.terms import Terms

DTYPES = [np.float32, np.float64]


def make_terms(n=60, d=5, seed=0, *, kind="dense", dtype=np.float64, index=np.int32, constants=False, signs=False):
    """Return terms, and the matrix Z that the reference takes: signs and constant column included."""
    rng = np.random.default_rng(seed)
    X = (rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.7) + 0.2).astype(dtype)
    X[rng.random((n, d)) < 0.2] = 0
    upper = rng.uniform(0.05, 3, size=n)
    c = rng.choice([-1.0, 0.0, 1.0], size=n) if constants else None
    s = rng.choice([-1.0, 1.0], size=n) if signs else None
    Z = X.astype(np.float64) if s is None else s[:, np.newaxis] * X
    Z = Z if c is None else np.column_stack([Z, c])
    if kind == "dense":
        rows = as_rows(X)
    else:
        sparse = csr_array(X)
        rows = CsrRows(sparse.data, sparse.indices.astype(index), sparse.indptr.astype(index), d)
    return Terms(rows.kernel, upper, signs=s, constants=c), Z


def full_w(found, terms):
    return found.w if terms.constants is None else np.append(found.w, found.theta)


def assert_certified(found, terms, Z):
    """The gap that is returned is P(w) - D(a) of what is returned."""
    assert np.all(found.alpha >= 0)
    assert np.all(found.alpha <= terms.upper)
    w = full_w(found, terms)
    np.testing.assert_allclose(w, found.alpha @ Z, rtol=1e-6, atol=1e-7 * np.max(np.abs(w)))
    primal = reference.primal_value(Z, terms.upper, w)
    assert found.primal == pytest.approx(primal, rel=1e-11)
    assert found.gap == pytest.approx(primal - reference.dual_value(Z, found.alpha), abs=1e-11 * primal)


# The small kernels


def test_random_numbers_are_those_of_the_kernel():
    # published first outputs of splitmix64(0) and of xoshiro256** from the state 1, 2, 3, 4
    mine = reference.Random(0)
    assert mine._state[0] == 0xE220A8397B1DCDAF
    mine._state = [1, 2, 3, 4]
    assert [mine.next() for _ in range(4)] == [11520, 0, 1509978240, 1215971899390074240]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", [np.asarray, csr_array])
def test_scores_and_norms_equal_the_reference(dtype, kind):
    rng = np.random.default_rng(1)
    X = (rng.normal(size=(40, 13)) * (rng.random((40, 13)) < 0.5)).astype(dtype)
    w = rng.normal(size=13)
    rows = as_rows(kind(X))
    expected = reference.scores(X, w)
    np.testing.assert_allclose(rows.scores_between(w, 0, 40), expected, rtol=1e-13, atol=1e-14)
    some = np.array([3, 3, 0, 39])
    np.testing.assert_array_equal(rows.scores(w, some), rows.scores_between(w, 0, 40)[some])
    norms = np.empty(40)
    rows.kernel.squared_norms(0, 40, norms)
    np.testing.assert_allclose(norms, np.sum(X.astype(np.float64) ** 2, axis=1), rtol=1e-13)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_differences_equal_the_reference(dtype, index):
    rng = np.random.default_rng(2)
    X = rng.integers(-2, 3, size=(12, 6)).astype(dtype)  # many equal entries, which must vanish
    X[4] = 0
    i, j = rng.integers(-1, 12, size=200), rng.integers(-1, 12, size=200)
    expected = reference.differences(X, i, j)
    dense = np.full((200, 6), np.nan)
    as_rows(X).kernel.write_differences(i, j, dense)
    np.testing.assert_array_equal(dense, expected)
    sparse = csr_array(X)
    rows = CsrRows(sparse.data, sparse.indices.astype(index), sparse.indptr.astype(index), 6)
    room = int(np.sum(rows.count_stored(i) + rows.count_stored(j)))
    values, columns, starts = np.empty(room), np.empty(room, dtype=index), np.zeros(201, dtype=index)
    rows.kernel.write_differences(i, j, values, columns, starts)
    made = csr_array((values[: starts[-1]], columns[: starts[-1]], starts), shape=(200, 6))
    np.testing.assert_array_equal(made.toarray(), expected)
    assert made.nnz == np.count_nonzero(expected)


def test_pair_set_equals_a_set():
    rng = np.random.default_rng(3)
    kernel, plain = _core.PairSet(), set()
    for size in (1, 40, 500, 3000):
        i, j = rng.integers(-1, 60, size=size), rng.integers(-1, 60, size=size)
        i[::7] += 2**62  # a pair is two numbers, of any size
        fresh, found = np.empty(size, dtype=bool), np.empty(size, dtype=bool)
        kernel.contains(i, j, found)
        pairs = list(zip(i.tolist(), j.tolist(), strict=True))
        assert found.tolist() == [pair in plain for pair in pairs]
        kernel.insert(i, j, fresh)
        expected = []
        for pair in pairs:
            expected.append(pair not in plain)
            plain.add(pair)
        assert fresh.tolist() == expected
        assert len(kernel) == len(plain)


def test_cholesky_solves():
    rng = np.random.default_rng(4)
    half = rng.normal(size=(30, 20))
    matrix, b = half.T @ half + np.eye(20), rng.normal(size=20)
    factor, x = matrix.copy(), b.copy()
    assert _core.cholesky(factor)
    _core.cholesky_solve(factor, x)
    np.testing.assert_allclose(matrix @ x, b, atol=1e-11)
    assert not _core.cholesky(np.array([[1.0, 2.0], [2.0, 1.0]]))


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_weighted_gram(kind):
    terms, Z = make_terms(n=31, d=6, kind=kind)
    weights = np.random.default_rng(0).uniform(0, 2, size=31)
    weights[::5] = 0
    gram = np.zeros((6, 6))
    terms.kernel.add_weighted_gram(weights, gram)
    np.testing.assert_allclose(np.tril(gram), np.tril(Z.T @ (weights[:, np.newaxis] * Z)), atol=1e-12)


# Dual descent


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("constants", "signs"), [(False, False), (True, False), (True, True)])
def test_descent_equals_the_reference_pass_for_pass(kind, dtype, constants, signs):
    terms, Z = make_terms(kind=kind, dtype=dtype, constants=constants, signs=signs)
    start = np.random.default_rng(9).uniform(-1, 2, size=len(terms))  # outside the box: it is clipped
    careful = [(passes, 1e-15) for passes in (1, 2, 3, 5, 8, 13, 20)]
    hasty = [(passes, 1e-6) for passes in (1, 2, 3, 5, 8, 13)]
    for passes, tol in careful + hasty:
        found = descend(terms, start, tol=tol, max_passes=passes, seed=77)
        alpha, w = reference.dual_descent(Z, terms.upper, start, passes, seed=77, hasty=tol >= 1e-6)
        np.testing.assert_allclose(found.alpha, alpha, atol=1e-10)
        np.testing.assert_allclose(full_w(found, terms), w, atol=1e-10)
        assert found.n_passes == passes
        assert_certified(found, terms, Z)


@pytest.mark.parametrize("known", [0, 30, 60])
def test_steering_takes_w_along_and_visits_as_the_reference_does(known):
    terms, Z = make_terms(constants=True)
    before = descend(terms, np.zeros(len(terms)), tol=1e-15, max_passes=2, seed=1)
    for passes in (1, 2, 5):
        start = before.w.copy(), before.theta, before.squared_length
        assert before.squared_length == pytest.approx(np.sum(before.w**2) + before.theta**2, rel=1e-12)
        turns = {"known": known, "turn": passes}
        found = steer(terms, before.alpha, start, tol=1e-15, max_passes=passes, seed=5, **turns)
        alpha, w = reference.dual_descent(Z, terms.upper, before.alpha, passes, seed=5, **turns)
        assert found.squared_length == pytest.approx(np.sum(found.w**2) + found.theta**2, rel=1e-12)
        np.testing.assert_allclose(found.alpha, alpha, atol=1e-12)
        np.testing.assert_allclose(full_w(found, terms), w, atol=1e-12)
        np.testing.assert_allclose(full_w(found, terms), found.alpha @ Z, atol=1e-12)


def test_the_terms_whose_turn_it_is_stand_for_all_of_them_in_the_estimated_gap():
    """The terms are parallel to the axes, each alone on one, so that no visit changes the margin of another."""
    n = 6000
    rng = np.random.default_rng(0)
    Z = np.eye(n) * rng.uniform(0.5, 2, size=n)
    terms = Terms(as_rows(Z).kernel, rng.uniform(0.1, 1, size=n))
    alpha = np.where(np.arange(n) % 4 == 0, terms.upper / 2, np.where(np.arange(n) % 4 == 1, 0, terms.upper))
    gap = terms.certify(alpha @ Z, 0.0, alpha).gap
    w, turns = alpha @ Z, range(20)
    given = {"tol": 1e9, "max_passes": 1, "seed": 0, "known": 5000}
    found = [steer(terms, alpha, (w.copy(), 0.0, float(w @ w)), **given, turn=turn) for turn in turns]
    assert np.mean([one.gap for one in found]) == pytest.approx(gap, rel=1e-9)
    solved = np.clip(alpha + (1 - alpha * Z.diagonal() ** 2) / Z.diagonal() ** 2, 0, terms.upper)
    could, new = ~np.isclose(solved, alpha), np.arange(n) >= 5000
    visits = np.sum([one.alpha != alpha for one in found], axis=0)
    inside = (alpha > 0) & (alpha < terms.upper)
    for kind, wanted in ((new, 20), (~new & inside, 4), (~new & ~inside, 1)):
        assert np.count_nonzero(kind & could) > 100
        assert np.all(visits[kind & could] == wanted)
    for one in found:
        np.testing.assert_allclose(one.alpha[one.alpha != alpha], solved[one.alpha != alpha], rtol=1e-12)


@pytest.mark.parametrize("tol", [1e-2, 1e-3, 1e-6, 1e-10])
@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("constants", [False, True])
def test_the_gap_is_below_tol_and_is_the_gap(tol, kind, constants):
    terms, Z = make_terms(n=2500, d=8, kind=kind, constants=constants, seed=3)
    found = solve_dual(terms, np.zeros(len(terms)), tol=tol, max_iter=5000, seed=0)
    assert found.converged
    assert found.relative_gap <= tol
    assert_certified(found, terms, Z)


def test_not_converged_is_said():
    terms, Z = make_terms(n=3000, d=30, seed=3)
    found = descend(terms, np.zeros(len(terms)), tol=1e-12, max_passes=2, seed=0)
    assert not found.converged
    assert found.n_passes == 2
    assert found.relative_gap > 1e-12
    assert_certified(found, terms, Z)


def test_zero_passes_is_the_certificate_of_the_start():
    terms, Z = make_terms()
    found = descend(terms, terms.upper / 2, tol=1e-3, max_passes=0, seed=0)
    np.testing.assert_array_equal(found.alpha, terms.upper / 2)
    assert_certified(found, terms, Z)


def test_index_type_changes_no_bit():
    found = []
    for index in (np.int32, np.int64):
        terms, _ = make_terms(n=400, kind="sparse", index=index, constants=True)
        found.append(descend(terms, np.zeros(400), tol=1e-6, max_passes=500, seed=4))
    assert found[0].w.tobytes() == found[1].w.tobytes()
    assert found[0].alpha.tobytes() == found[1].alpha.tobytes()
    assert found[0].theta == found[1].theta


def test_same_seed_same_bits_and_other_seed_same_answer():
    terms, _ = make_terms(n=3000, d=6, seed=8)
    terms.upper[:] *= 0.02
    runs = [descend(terms, np.zeros(3000), tol=1e-6, max_passes=5000, seed=seed) for seed in (1, 1, 2)]
    assert runs[0].w.tobytes() == runs[1].w.tobytes()
    assert runs[0].w.tobytes() != runs[2].w.tobytes()
    np.testing.assert_allclose(runs[0].w, runs[2].w, atol=5e-3)


def test_dense_equals_sparse():
    runs = []
    for kind in ("dense", "sparse"):
        terms, _ = make_terms(n=300, kind=kind, constants=True, signs=True)
        runs.append(solve_dual(terms, np.zeros(300), tol=1e-3, max_iter=1000, seed=0))
    np.testing.assert_allclose(runs[0].w, runs[1].w, atol=1e-10)
    assert runs[0].theta == pytest.approx(runs[1].theta, abs=1e-10)


def test_float32_data_are_summed_in_float64():
    terms32, Z = make_terms(n=500, dtype=np.float32, seed=6)
    terms64 = Terms(as_rows(Z).kernel, terms32.upper)
    found32, found64 = (solve_dual(t, np.zeros(500), tol=1e-3, max_iter=1000, seed=0) for t in (terms32, terms64))
    assert found32.w.tobytes() == found64.w.tobytes()  # float32 values are exact in float64


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_read_only_memory_maps(tmp_path, kind):
    terms, X = make_terms(n=300, kind=kind)
    sparse = csr_array(X)
    parts = [X] if kind == "dense" else [sparse.data, sparse.indices, sparse.indptr]
    mapped = []
    for k, part in enumerate(parts):
        np.save(tmp_path / f"{k}.npy", part)
        mapped.append(np.load(tmp_path / f"{k}.npy", mmap_mode="r"))
    rows = as_rows(mapped[0]) if kind == "dense" else CsrRows(*mapped, X.shape[1])
    found = [
        descend(Terms(kernel, terms.upper), np.zeros(300), tol=1e-6, max_passes=100, seed=0)
        for kernel in (terms.kernel, rows.kernel)
    ]
    assert found[0].w.tobytes() == found[1].w.tobytes()


def test_terms_without_length_are_at_their_bound():
    terms, Z = make_terms(n=80, kind="sparse")
    Z[::4] = 0
    terms = Terms(as_rows(csr_array(Z)).kernel, terms.upper)
    found = solve_dual(terms, np.zeros(80), tol=1e-3, max_iter=1000, seed=0)
    np.testing.assert_array_equal(found.alpha[::4], terms.upper[::4])
    assert found.relative_gap <= 1e-12
    assert_certified(found, terms, Z)
    only = Terms(as_rows(np.zeros((3, 2))).kernel, np.array([1.0, 2.0, 3.0]))
    alone = solve_dual(only, np.zeros(3), tol=1e-3, max_iter=1000, seed=0)
    assert (alone.primal, alone.gap, alone.converged) == (6.0, 0.0, True)
    np.testing.assert_array_equal(alone.w, 0)


def test_terms_of_bound_zero_have_no_say():
    terms, Z = make_terms(n=200, seed=2)
    terms.upper[::3] = 0
    found = solve_dual(terms, np.zeros(200), tol=1e-3, max_iter=1000, seed=0)
    rest = np.arange(200) % 3 > 0
    other = Terms(as_rows(Z[rest]).kernel, terms.upper[rest])
    expected = solve_dual(other, np.zeros(len(other)), tol=1e-3, max_iter=1000, seed=0)
    assert found.primal == pytest.approx(expected.primal, rel=1e-10)
    np.testing.assert_allclose(found.w, expected.w, atol=1e-5)


def test_a_warm_start_is_worth_something_and_is_clipped():
    terms, Z = make_terms(n=3000, d=20, seed=5)
    terms.upper[:] *= 0.02
    cold = descend(terms, np.zeros(3000), tol=1e-6, max_passes=5000, seed=0)
    warm = descend(terms, cold.alpha, tol=1e-6, max_passes=5000, seed=1)
    assert cold.converged
    assert warm.converged
    assert warm.n_passes < cold.n_passes / 4
    tighter = Terms(terms.kernel, terms.upper * np.random.default_rng(0).uniform(0.2, 1.5, size=3000))
    clipped = descend(tighter, cold.alpha, tol=1e-6, max_passes=5000, seed=1)
    fresh = descend(tighter, np.zeros(3000), tol=1e-6, max_passes=5000, seed=1)
    assert clipped.primal == pytest.approx(fresh.primal, rel=2e-6)
    assert_certified(clipped, tighter, Z)


# Small problems: a relative gap of 1e-12, whatever tol says


@pytest.mark.parametrize("tol", [0.5, 1e-3])
@pytest.mark.parametrize("shape", [(1, 1), (2, 3), (50, 3), (400, 20), (1999, 10), (300, 700)])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_small_problems_are_solved_tightly(tol, shape, scale):
    rng = np.random.default_rng(sum(shape))
    Z = rng.normal(size=shape) * scale + 0.1 * scale
    upper = rng.uniform(0.1, 3, size=shape[0])
    found = solve_dual(Terms(as_rows(Z).kernel, upper), np.zeros(shape[0]), tol=tol, max_iter=1000, seed=0)
    assert found.converged
    assert found.relative_gap <= 1e-12


@pytest.mark.parametrize("n", [100, 1000])
@pytest.mark.parametrize("constants", [False, True])
@pytest.mark.parametrize("kind", [np.asarray, csr_array])
def test_small_problems_with_badly_scaled_features(n, constants, kind):
    rng = np.random.default_rng(n)
    Z = rng.normal(size=(n, 12)) * np.logspace(-3, 4, 12) + 0.05
    c = rng.choice([-1.0, 0.0, 1.0], size=n) if constants else None
    upper = rng.uniform(0.1, 30, size=n)
    terms = Terms(as_rows(kind(Z)).kernel, upper, constants=c)
    found = solve_dual(terms, np.zeros(n), tol=1e-3, max_iter=1000, seed=0)
    assert found.relative_gap <= 1e-12
    full = Z if c is None else np.column_stack([Z, c])
    primal = reference.primal_value(full, upper, full_w(found, terms))
    assert primal - reference.dual_value(full, found.alpha) <= 1e-9 * primal  # summed naively, so less tight


@pytest.mark.slow
def test_wide_small_problems_with_badly_scaled_features():
    rng = np.random.default_rng(0)
    for n, d in ((900, 1200), (1000, 990)):
        Z = rng.normal(size=(n, d)) * np.logspace(-2, 2, d)
        upper = rng.uniform(0.1, 3, size=n)
        found = solve_dual(Terms(as_rows(Z).kernel, upper), np.zeros(n), tol=1e-3, max_iter=1000, seed=0)
        assert found.relative_gap <= 1e-12


def test_problems_of_2000_terms_heed_tol():
    terms, _ = make_terms(n=2000, d=6, seed=1)
    assert solve_dual(terms, np.zeros(2000), tol=0.1, max_iter=1000, seed=0).relative_gap > 1e-9


@pytest.mark.parametrize(("n", "d"), [(200, 7), (60, 200)])  # in the space of w, and in that of the terms
@pytest.mark.parametrize("constants", [False, True])
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_interior_point_in_both_spaces(n, d, constants, kind):
    terms, Z = make_terms(n=n, d=d, kind=kind, constants=constants, seed=n)
    terms.upper[:5] = 0
    assert can_use_interior(terms)
    found = interior_point(terms)
    assert_certified(found, terms, Z)
    assert found.relative_gap <= 1e-12
    system = interior._System(terms, terms.upper > 0)
    assert (system._row_gram is None) == (d <= n)


@pytest.mark.parametrize(("n", "d"), [(40, 6), (12, 30)])
@pytest.mark.parametrize("constants", [False, True])
def test_interior_systems_are_solved(n, d, constants):
    terms, Z = make_terms(n=n, d=d, constants=constants, seed=1)
    used = np.arange(n) % 4 > 0
    diagonal, r = np.random.default_rng(0).uniform(0.5, 2, size=(2, int(used.sum())))
    solve = interior._System(terms, used).factor(diagonal)
    expected = np.linalg.solve(Z[used] @ Z[used].T + np.diag(diagonal), r)
    np.testing.assert_allclose(solve(r), expected, atol=1e-10)


def test_large_wide_problems_are_left_to_descent():
    terms, _ = make_terms(n=4000, d=3000, kind="sparse")
    assert not can_use_interior(terms)


def test_interior_takes_over_where_descent_crawls():
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(3000, 5)) * [1, 10, 100, 1e3, 1e4] + 0.1
    terms = Terms(as_rows(Z).kernel, np.full(3000, 5.0))
    assert not descend(terms, np.zeros(3000), tol=1e-3, max_passes=1000, seed=0).converged
    found = solve_dual(terms, np.zeros(3000), tol=1e-3, max_iter=1000, seed=0)
    assert found.converged
    assert_certified(found, terms, Z)


# LIBLINEAR


def liblinear_w(X, y, options):
    # LIBLINEAR draws from rand() and may stop short of its tolerance: tests that ran before must not decide where.
    ctypes.CDLL(None).srand(1)
    return np.array(train(problem(y, csr_matrix(X)), parameter(f"-s 3 -B -1 -q {options}")).get_decfun()[0])


def tight(terms):
    found = descend(terms, np.zeros(len(terms)), tol=1e-9, max_passes=100_000, seed=0)
    assert found.converged
    return found


@pytest.mark.parametrize("C", [0.001, 0.003, 0.01])  # LIBLINEAR ends after 300 passes, too few for a larger C
def test_equals_liblinear_on_points(C):
    rng = np.random.default_rng(11)
    X = rng.normal(size=(2500, 6))
    y = np.where(X[:, 0] + 0.5 * X[:, 1] + rng.normal(size=2500) > 0.2, 1, -1)
    y[0] = 1  # LIBLINEAR's first label is its positive one
    w = liblinear_w(X, y, f"-c {C} -w1 3 -w-1 0.5 -e 1e-8")
    upper = C * np.where(y > 0, 3.0, 0.5)
    found = tight(Terms(as_rows(X).kernel, upper, signs=y.astype(float)))
    theirs = reference.primal_value(y[:, np.newaxis] * X, upper, w)
    assert found.primal == pytest.approx(theirs, rel=1e-6)
    np.testing.assert_allclose(found.w, w, atol=2e-3)  # flat near the optimum


@pytest.mark.parametrize("kind", [np.asarray, csr_array])
def test_equals_liblinear_on_explicit_pair_differences(kind):
    rng = np.random.default_rng(12)
    positive, negative = rng.normal(size=(40, 5)) + 0.4, rng.normal(size=(60, 5))
    D = (positive[:, np.newaxis] - negative).reshape(-1, 5)
    flip = np.where(np.arange(len(D)) % 2, -1, 1)  # LIBLINEAR wants two classes; (z, +1) and (-z, -1) are one term
    w = liblinear_w(flip[:, np.newaxis] * D, flip, "-c 0.002 -e 1e-8")
    rows = as_rows(kind(np.vstack([positive, negative])))
    i, j = np.repeat(np.arange(40), 60), np.tile(np.arange(40, 100), 40)
    if kind is np.asarray:
        made = np.empty((len(D), 5))
        rows.kernel.write_differences(i, j, made)
        kernel = as_rows(made).kernel
    else:
        room = 10 * len(D)
        values, columns, starts = np.empty(room), np.empty(room, np.int32), np.zeros(len(D) + 1, np.int32)
        rows.kernel.write_differences(i, j, values, columns, starts)
        kernel = CsrRows(values[: starts[-1]], columns[: starts[-1]], starts, 5).kernel
    found = tight(Terms(kernel, np.full(len(D), 0.002)))
    assert found.primal == pytest.approx(reference.primal_value(D, np.full(len(D), 0.002), w), rel=1e-6)
    np.testing.assert_allclose(found.w, w, atol=1e-4)


@pytest.mark.parametrize("threshold", [False, True])
def test_equals_scikit_learns_liblinear_with_a_weight_for_each_term(threshold):
    rng = np.random.default_rng(13)
    X = rng.normal(size=(2200, 5)) + 0.3
    y = np.where(X[:, 0] + rng.normal(size=2200) > 0.3, 1, -1)
    upper = 0.05 * rng.exponential(size=2200)
    svc = LinearSVC(loss="hinge", dual=True, fit_intercept=threshold, tol=1e-8, max_iter=200_000, C=1.0)
    svc.fit(X, y, sample_weight=upper)
    found = tight(
        Terms(as_rows(X).kernel, upper, signs=y.astype(float), constants=-y.astype(float) if threshold else None)
    )
    w = np.append(svc.coef_[0], -svc.intercept_) if threshold else svc.coef_[0]
    Z = y[:, np.newaxis] * (np.column_stack([X, np.full(2200, -1.0)]) if threshold else X)
    assert found.primal == pytest.approx(reference.primal_value(Z, upper, w), rel=1e-6)
    np.testing.assert_allclose(found.w, svc.coef_[0], atol=1e-4)
    if threshold:
        assert -found.theta == pytest.approx(svc.intercept_[0], abs=1e-4)


def test_constants_of_the_module_are_those_of_the_issue():
    assert (dual.SMALL_PROBLEM, dual.SMALL_GAP) == (2000, 1e-12)
