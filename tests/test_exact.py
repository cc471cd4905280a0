"""Exact RankSVM: its certificate, against LIBLINEAR and dual descent over explicit pairs, on every data set."""

import ctypes
import lzma
import os
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from liblinear.liblinearutil import parameter, problem, train
from sklearn.datasets import load_svmlight_file
from threadpoolctl import threadpool_limits

from pairsift.data.problem import Problem, RowRange, make_problem
from pairsift.data.rows import as_rows
from pairsift.data.store import RowStore
from pairsift.data.store_header import StoreHeader
from pairsift.data.store_writer import StoreWriter
from pairsift.solvers import exact, preconditioner
from pairsift.solvers.dual import descend
from pairsift.solvers.exact import fit_exact
from pairsift.solvers.explicit_pairs import write_pairs
from pairsift.solvers.full_objective import FullObjective
from pairsift.solvers.preconditioner import WrittenHessian
from pairsift.stats import auc

LOSSES = ["hinge", "squared_hinge"]
SETS = ["a9a", "ijcnn1", "letter", "bank", "shuttle", "mnist", "connect-4", "covtype", "MQ2008", "news20"]


def make_data(n=200, d=6, seed=0, share=0.3):
    """Rows of two overlapping classes; multiples of 1/64, so that float32 holds them exactly."""
    rng = np.random.default_rng(seed)
    y = rng.uniform(size=n) < share
    y[:2] = [True, False]
    X = rng.normal(size=(n, d)) + 0.7 * y[:, None] * rng.normal(size=d)
    return np.round(X * 64) / 64, y


def brute_objective(w, X, y, C, loss, weights=None):
    s = np.ones(len(y)) if weights is None else weights
    z = np.maximum(0, 1 - ((X[y] @ w)[:, None] - (X[~y] @ w)[None, :]))
    pair_weights = np.outer(s[y] / s[y].sum(), s[~y] / s[~y].sum())
    return 0.5 * w @ w + C * float(np.sum(pair_weights * (z if loss == "hinge" else z**2)))


def liblinear_objective(X, y, C, loss):
    """The minimum by LIBLINEAR's dual descent over explicit pairs."""
    differences = (X[y][:, None, :] - X[~y][None, :, :]).reshape(-1, X.shape[1])
    signs = np.where(np.arange(len(differences)) % 2 == 0, 1.0, -1.0)  # LIBLINEAR wants two classes
    solver = 3 if loss == "hinge" else 1
    # LIBLINEAR draws from rand() and may stop short of its tolerance: tests that ran before must not decide where.
    ctypes.CDLL(None).srand(1)
    model = train(
        problem(signs, signs[:, None] * differences), parameter(f"-s {solver} -c {C / len(differences)} -e 1e-7 -q")
    )
    w = np.array(model.get_decfun()[0])
    return brute_objective(w, X, y, C, loss)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(("n", "C"), [(150, 1.0), (150, 800.0), (40, 50.0)])
def test_equals_liblinear_over_explicit_pairs(loss, n, C):
    X, y = make_data(n)
    found = fit_exact(make_problem(as_rows(X), y), C, loss, tol=1e-6)
    assert found.converged
    assert found.primal == pytest.approx(brute_objective(found.w, X, y, C, loss), rel=1e-10)
    reference = liblinear_objective(X, y, C, loss)
    assert found.primal == pytest.approx(reference, rel=1e-5)
    assert found.dual <= reference * (1 + 1e-9)


def test_equals_dual_descent_over_explicit_pairs():
    X, y = make_data(180, d=9, seed=3)
    one = make_problem(as_rows(X), y)
    descent = descend(write_pairs(one, 800.0), np.zeros(one.n_pairs), tol=1e-7, max_passes=20_000, seed=0)
    assert descent.converged
    found = fit_exact(one, 800.0, tol=1e-6)
    assert found.primal == pytest.approx(descent.primal, rel=1e-5)
    assert found.dual <= descent.primal
    assert descent.primal - descent.gap <= found.primal


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("tol", [1e-2, 1e-4, 1e-7])
def test_the_certificate_holds(loss, tol):
    X, y = make_data(400)
    one, C = make_problem(as_rows(X), y), 800.0
    best = fit_exact(one, C, loss, tol=1e-9)
    found = fit_exact(one, C, loss, tol=tol)
    assert found.converged
    assert found.gap <= tol
    assert found.dual <= best.primal * (1 + 1e-12)
    assert best.primal <= found.primal * (1 + 1e-12)
    if loss == "hinge":
        assert found.gap == pytest.approx((found.primal - found.dual) / found.primal, abs=1e-12)
    else:
        start, end = (gradient_of_squared(X, y, w, C) for w in (np.zeros(6), found.w))
        assert found.gap == pytest.approx(np.linalg.norm(end) / np.linalg.norm(start), rel=1e-6)


def gradient_of_squared(X, y, w, C):
    z = np.maximum(0, 1 - ((X[y] @ w)[:, None] - (X[~y] @ w)[None, :]))
    return w - 2 * C * (z.sum(axis=1) @ X[y] - z.sum(axis=0) @ X[~y]) / z.size


@pytest.mark.parametrize("loss", LOSSES)
def test_problems_of_few_pairs_are_solved_to_rounding(loss):
    X, y = make_data(60)
    one = make_problem(as_rows(X), y)
    assert one.n_pairs < exact.SMALL_PAIRS
    found = fit_exact(one, 10.0, loss)
    assert found.converged
    assert found.gap <= 1e-12


@pytest.mark.parametrize("loss", LOSSES)
def test_sampled_start_reaches_the_same_minimum(loss, monkeypatch):
    X, y = make_data(4000, seed=5)
    one = make_problem(as_rows(X), y)
    direct = fit_exact(one, 800.0, loss, tol=1e-8)
    monkeypatch.setattr(exact, "SAMPLE_ROWS", 300)
    sampled = fit_exact(one, 800.0, loss, tol=1e-8)
    assert direct.converged
    assert sampled.converged
    assert sampled.primal == pytest.approx(direct.primal, rel=1e-7)


@pytest.mark.parametrize("loss", LOSSES)
def test_many_columns(loss, monkeypatch):
    monkeypatch.setattr(preconditioner, "CHEAP_WORK", 0)  # start with the diagonal
    X, y = make_data(120, d=300)
    found = fit_exact(make_problem(as_rows(sp.csr_array(X)), y), 5.0, loss, tol=1e-5)
    assert found.converged
    assert found.primal == pytest.approx(liblinear_objective(X, y, 5.0, loss), rel=2e-5)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(("d", "cheap"), [(6, 2e8), (100, 2e8), (100, 0)])
def test_ill_scaled_columns(loss, d, cheap, monkeypatch):
    monkeypatch.setattr(preconditioner, "CHEAP_WORK", cheap)
    X, y = make_data(400, d=d, seed=2)
    X = X * np.geomspace(1e-3, 1e3, d)
    found = fit_exact(make_problem(as_rows(X), y), 800.0, loss)
    assert found.converged


@pytest.mark.parametrize("loss", LOSSES)
def test_dense_sparse_and_float32_agree(loss):
    X, y = make_data(500)
    fits = [
        fit_exact(make_problem(as_rows(rows), y), 100.0, loss, tol=1e-8)
        for rows in (X, X.astype(np.float32), sp.csr_array(X), sp.csr_array(X.astype(np.float32)))
    ]
    assert all(fit.converged for fit in fits)
    np.testing.assert_array_equal(fits[0].w, fits[1].w)
    np.testing.assert_array_equal(fits[2].w, fits[3].w)
    np.testing.assert_allclose(fits[0].w, fits[2].w, rtol=1e-3, atol=1e-4)
    assert fits[0].primal == pytest.approx(fits[2].primal, rel=1e-7)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("n", [40, 200])
def test_weight_two_is_the_row_twice(loss, n):
    X, y = make_data(n)
    weights = np.random.default_rng(1).choice([0.0, 1.0, 2.0], n)
    weights[:2] = 1.0
    repeats = weights.astype(int)
    weighted = fit_exact(make_problem(as_rows(X), y, weights), 50.0, loss, tol=1e-8)
    repeated = fit_exact(
        make_problem(as_rows(np.repeat(X, repeats, axis=0)), np.repeat(y, repeats)), 50.0, loss, tol=1e-8
    )
    assert weighted.converged
    assert weighted.primal == pytest.approx(repeated.primal, rel=1e-7)
    assert weighted.primal == pytest.approx(brute_objective(weighted.w, X, y, 50.0, loss, weights), rel=1e-9)
    np.testing.assert_allclose(weighted.w, repeated.w, atol=1e-3)
    scaled = fit_exact(make_problem(as_rows(X), y, 7 * weights), 50.0, loss, tol=1e-8)
    assert scaled.primal == pytest.approx(weighted.primal, rel=1e-7)


@pytest.mark.parametrize("loss", LOSSES)
def test_the_same_seed_gives_the_same_bits_at_any_thread_count(loss, monkeypatch):
    monkeypatch.setattr(exact, "SAMPLE_ROWS", 500)
    X, y = make_data(20_000, d=40, seed=7)
    one = make_problem(as_rows(X), y)
    fits = []
    for threads in (1, 2, 4):
        with threadpool_limits(threads):
            fits.append(fit_exact(one, 800.0, loss, seed=3).w.tobytes())
    assert fits[0] == fits[1] == fits[2]
    assert fit_exact(one, 800.0, loss, seed=4).w.tobytes() != fits[0]


@pytest.mark.parametrize("loss", LOSSES)
def test_row_ranges_are_read_as_places(loss):
    X, y = make_data(300)
    order = np.argsort(~y, kind="stable")
    n = int(y.sum())
    ranges = Problem(as_rows(X[order]), RowRange(0, n), RowRange(n, len(y)))
    arrays = make_problem(as_rows(X[order]), y[order])
    np.testing.assert_array_equal(fit_exact(ranges, 10.0, loss).w, fit_exact(arrays, 10.0, loss).w)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("sample_rows", [50, 5000])
@pytest.mark.parametrize("sparse", [False, True])
def test_a_row_store_gives_the_same_bits_as_memory(loss, sample_rows, sparse, tmp_path, monkeypatch):
    pytest.importorskip("pyarrow")
    monkeypatch.setattr(exact, "SAMPLE_ROWS", sample_rows)
    X, y = make_data(600)
    order, n = np.argsort(~y, kind="stable"), int(y.sum())
    X, y = sp.csr_array(X[order]) if sparse else X[order], y[order]
    index = X.indices.dtype.name if sparse else None
    header = StoreHeader(n, len(y) - n, X.shape[1], "float64", index=index, has_weights=False, labels=(0, 1), extra={})
    with StoreWriter(tmp_path / "rows.arrow", header, 2**12) as writer:
        writer.write(as_rows(X), np.arange(len(y)), None)
    stored = fit_exact(RowStore(tmp_path / "rows.arrow").problem(), 100.0, loss)
    memory = fit_exact(make_problem(as_rows(X), y), 100.0, loss)
    assert stored.converged
    assert stored.w.tobytes() == memory.w.tobytes()


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("n_positive", [1, 2, 5])
def test_one_row_classes_and_equal_rows(loss, n_positive):
    y = np.arange(n_positive + 3000) < n_positive
    X = np.random.default_rng(0).normal(size=(len(y), 3))
    assert fit_exact(make_problem(as_rows(X), y), 800.0, loss).converged
    same = fit_exact(make_problem(as_rows(np.ones((len(y), 3))), y), 800.0, loss)
    assert same.converged
    np.testing.assert_allclose(same.w, 0, atol=1e-9)
    assert same.primal == pytest.approx(800.0)


def test_separable_and_strong():
    X, y = make_data(400)
    X = np.column_stack([X, 3.0 * y])
    for loss in LOSSES:
        found = fit_exact(make_problem(as_rows(X), y), 1e6, loss)
        assert found.converged
        assert auc(y, X @ found.w) == 1.0


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("kind", ["one binary column", "constant column", "very different scales", "heavy tails"])
def test_awkward_data(loss, kind):
    rng = np.random.default_rng(1)
    y = rng.uniform(size=1500) < 0.1
    X = rng.normal(size=(1500, 20)) + 0.5 * y[:, None]
    if kind == "one binary column":  # all margins are -w, 0 and w: the minimum sits in a kink
        X = np.where(X[:, :1] > 0.5, 1.0, 0.0)
    elif kind == "constant column":  # the gradient is rounding from the start
        X = np.full((1500, 1), 1e4 / 3)
    elif kind == "very different scales":
        X = X * np.geomspace(1e-4, 1e4, 20)
    else:
        X = rng.standard_cauchy(size=X.shape) + y[:, None]
    for C in (1e-2, 1e5):
        found = fit_exact(make_problem(as_rows(X), y), C, loss)
        assert found.converged
        assert found.n_iter < 300


def test_too_few_steps_are_reported():
    X, y = make_data(400)
    for loss in LOSSES:
        found = fit_exact(make_problem(as_rows(X), y), 800.0, loss, tol=1e-9, max_iter=1)
        assert not found.converged
        assert found.gap > 1e-9


@pytest.mark.parametrize("weighted", [False, True])
def test_written_hessian_equals_its_products(weighted):
    X, y = make_data(80, d=5)
    weights = np.random.default_rng(0).uniform(0.5, 2, 80) if weighted else None
    for rows in (X, sp.csr_array(X)):
        objective = FullObjective(make_problem(as_rows(rows), y, weights), 30.0)
        for loss in (exact.SQUARED_HINGE, exact.smoothed_hinge(0.7)):
            w = np.linspace(-0.3, 0.4, 5)
            lower = np.tril(WrittenHessian(objective, w, loss).factor)
            product = exact_products(objective, w, loss)
            np.testing.assert_allclose(lower @ lower.T, product, rtol=1e-10, atol=1e-10)


def exact_products(objective, w, loss):
    from pairsift.solvers.full_objective import HessianProduct

    product = HessianProduct(objective, objective.at(w, loss))
    return np.array([product(row) for row in np.eye(len(w))])


def test_bad_loss():
    X, y = make_data(20)
    with pytest.raises(ValueError, match='"hinge" or "squared_hinge"'):
        fit_exact(make_problem(as_rows(X), y), 1.0, "logistic")


def test_nan_beyond_the_size_of_the_full_check(monkeypatch):
    monkeypatch.setattr("pairsift.data.rows.FULL_CHECK_VALUES", 10)
    X, y = make_data(200)
    X[150, 2] = np.nan
    with pytest.raises(ValueError, match="Row 150 of X contains NaN in column 2"):
        fit_exact(make_problem(as_rows(X), y), 1.0)


def read(name, part="train", n_features=None):
    if "PAIRSIFT_DATA" not in os.environ:
        pytest.skip("PAIRSIFT_DATA is not set")
    path = Path(os.environ["PAIRSIFT_DATA"]) / name / f"{name}.{part}.svm.xz"
    if not path.exists():
        pytest.skip(f"{path.name} is not there")
    with lzma.open(path) as file:
        return load_svmlight_file(file, n_features=n_features)


@pytest.mark.slow
@pytest.mark.parametrize("name", SETS)
def test_tol_is_reached_on_every_set(name):
    X, y = read(name)
    one = make_problem(as_rows(X), y > 0)
    for loss in LOSSES:
        for C in (800.0, 1.0):
            found = fit_exact(one, C, loss)
            assert found.converged
            assert found.gap <= 1e-3


EXPECTED = {
    "a9a": {"hinge": 0.9027, "squared_hinge": 0.9023},
    "mnist": {"hinge": 0.9981, "squared_hinge": 0.9981},
    "shuttle": {"hinge": 0.9881, "squared_hinge": 0.9887},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", EXPECTED)
def test_auc_is_that_of_the_original_programs(name):
    X, y = read(name)
    X_test, y_test = read(name, "test", X.shape[1])
    one = make_problem(as_rows(X), y > 0)
    for loss, expected in EXPECTED[name].items():
        found = fit_exact(one, 800.0, loss)
        assert auc(y_test, X_test @ found.w) == pytest.approx(expected, abs=0.002)
