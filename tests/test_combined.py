"""Combined ranking and regression: the kernel against plain NumPy, the law of its draws, and what it converges to."""

import lzma
import os
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.datasets import load_svmlight_file
from sklearn.svm import LinearSVC

from pairsift.data.generate import make_ranking
from pairsift.data.problem import Problem, make_problem
from pairsift.data.rows import as_rows
from pairsift.solvers import combined
from pairsift.solvers.combined import draw_terms, fit_combined
from pairsift.solvers.combined_reference import combined_steps
from pairsift.stats import auc
from test_cli import run, write_svmlight


def make_data(n=60, n_features=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_features)) * (rng.random((n, n_features)) < 0.7)
    y = X[:, 0] + 0.5 * rng.normal(size=n) > 0.3
    return X, y


class ElsewhereRows:
    """Rows that are not in memory: they can only be taken."""

    def __init__(self, rows):
        self.rows, self.n_rows, self.n_features, self.taken = rows, rows.n_rows, rows.n_features, 0

    def take(self, rows):
        self.taken += len(rows)
        return self.rows.take(rows)


# The kernel


@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("threshold", [False, True])
@pytest.mark.parametrize("C", [0.01, 1.0, 800.0])
@pytest.mark.parametrize("kind", [np.asarray, csr_array])
def test_kernel_equals_reference_step_for_step(squared, threshold, C, kind):
    X, y = make_data()
    problem = make_problem(as_rows(kind(X)), y)
    [(i, j)] = draw_terms(problem, 0.5, 300, np.random.default_rng(1))
    i = np.where(i < 0, -1, problem.positives[i])
    j = np.where(j < 0, -1, problem.negatives[j])
    u, u_constant = np.zeros(X.shape[1]), np.zeros(1)
    for t, expected in enumerate(combined_steps(X, zip(i, j, strict=True), C, squared, threshold), start=1):
        problem.rows.kernel.combined_sgd(i[t - 1 : t], j[t - 1 : t], t - 1, C, squared, threshold, u, u_constant)
        np.testing.assert_allclose(np.append(u, u_constant) * C / t, expected, rtol=1e-9, atol=1e-10 * C)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_same_bits_for_every_way_to_hold_the_rows(dtype, monkeypatch):
    monkeypatch.setattr(combined, "BLOCK", 150)
    X, y = make_data()
    X = X.astype(dtype)
    sparse = csr_array(X)
    wide = csr_array((sparse.data, sparse.indices.astype(np.int64), sparse.indptr.astype(np.int64)), shape=X.shape)
    for point_loss in ("hinge", "squared"):
        expected = fit_combined(make_problem(as_rows(sparse), y), point_loss=point_loss, n_steps=1000, seed=4)
        elsewhere = ElsewhereRows(as_rows(sparse))
        for rows in (as_rows(wide), elsewhere):
            result = fit_combined(make_problem(rows, y), point_loss=point_loss, n_steps=1000, seed=4)
            np.testing.assert_array_equal(result.w, expected.w)
            assert (result.theta, result.n_moved) == (expected.theta, expected.n_moved)
        assert 0 < elsewhere.taken <= 7 * len(y)
        dense = fit_combined(make_problem(as_rows(X), y), point_loss=point_loss, n_steps=1000, seed=4)
        np.testing.assert_allclose(dense.w, expected.w, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("density", [None, 0.3])
def test_same_bits_from_a_row_store(density, tmp_path):
    pytest.importorskip("pyarrow")
    data = {"n_rows": 3000, "n_features": 12, "density": density, "random_state": 5}
    X, y = make_ranking(**data)
    store = make_ranking(**data, path=tmp_path / "rows.arrow")
    for point_loss in ("hinge", "squared"):
        here = fit_combined(make_problem(as_rows(X), y == 1), point_loss=point_loss, n_steps=20_000, seed=6)
        there = fit_combined(store.problem(), point_loss=point_loss, n_steps=20_000, seed=6)
        np.testing.assert_array_equal(here.w, there.w)
        assert here.theta == there.theta


def test_the_seed_decides():
    problem = make_problem(as_rows(make_data()[0]), make_data()[1])
    first, again, other = (fit_combined(problem, n_steps=500, seed=s).w for s in (1, np.random.default_rng(1), 2))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_kernel_refuses_what_it_cannot_read():
    rows = as_rows(np.ones((3, 2)))
    one, u = np.zeros(1), np.zeros(2)
    for i, j in ([0, 3], [-1, -1], [-2, 0]):
        with pytest.raises(ValueError, match="out of range"):
            rows.kernel.combined_sgd(np.array([i]), np.array([j]), 0, 1.0, False, True, u, one)
    with pytest.raises(ValueError, match="shapes"):
        rows.kernel.combined_sgd(np.array([0]), np.array([1]), 0, 1.0, False, True, np.zeros(3), one)


# The draws


def test_law_of_the_draws():
    problem = make_problem(as_rows(np.ones((10, 1))), np.arange(10) < 3)
    n, q = 60_000, 0.3
    [(i, j)] = draw_terms(problem, q, n, np.random.default_rng(0))
    pair, positive_point, negative_point = (i >= 0) & (j >= 0), (i >= 0) & (j < 0), (i < 0) & (j >= 0)
    assert np.all(pair | positive_point | negative_point)
    assert np.mean(pair) == pytest.approx(q, abs=0.01)
    assert np.mean(positive_point) == pytest.approx((1 - q) * 0.3, abs=0.01)
    table = np.zeros((3, 7))
    np.add.at(table, (i[pair], j[pair]), 1 / pair.sum())
    np.testing.assert_allclose(table, 1 / 21, atol=0.006)


def test_rows_are_drawn_in_proportion_to_their_weights():
    weights = np.array([1.0, 3.0, 0.0, 2.0, 2.0, 4.0])
    problem = make_problem(as_rows(np.arange(6.0)[:, None]), np.arange(6) < 3, weights)
    [(i, j)] = draw_terms(problem, 0.5, 60_000, np.random.default_rng(0))
    i, j = np.where(i < 0, -1, problem.positives[i]), np.where(j < 0, -1, problem.negatives[j])
    pair = (i >= 0) & (j >= 0)
    np.testing.assert_allclose(np.bincount(i[pair], minlength=6) / pair.sum(), [1 / 4, 3 / 4, 0, 0, 0, 0], atol=0.01)
    np.testing.assert_allclose(
        np.bincount(j[pair], minlength=6) / pair.sum(), [0, 0, 0, 1 / 4, 1 / 4, 1 / 2], atol=0.01
    )
    point = np.maximum(i, j)[~pair]
    np.testing.assert_allclose(np.bincount(point, minlength=6) / len(point), weights / weights.sum(), atol=0.01)


@pytest.mark.parametrize(("probability", "kind"), [(0.0, "points"), (1.0, "pairs")])
def test_one_kind_only(probability, kind):
    problem = make_problem(as_rows(np.ones((9, 1))), np.arange(9) < 4)
    [(i, j)] = draw_terms(problem, probability, 5000, np.random.default_rng(0))
    assert np.all(((i >= 0) & (j >= 0)) == (kind == "pairs"))


# What it converges to


def test_squared_points_converge_to_ridge_regression():
    X, y = make_data(n=80)
    target, C = np.where(y, 1.0, -1.0), 5.0
    X1 = np.column_stack([X, np.ones(len(X))])
    expected = np.linalg.solve(np.eye(6) + C / len(X) * X1.T @ X1, C / len(X) * X1.T @ target)
    result = fit_combined(make_problem(as_rows(X), y), C, "squared", True, 0.0, 400_000, 0)
    np.testing.assert_allclose(np.append(result.w, -result.theta), expected, atol=0.02)


def test_pairs_converge_to_rank_svm():
    X, y = make_data(n=40)
    differences = (X[y][:, None, :] - X[~y][None, :, :]).reshape(-1, X.shape[1])

    def objective(w, C):
        return w @ w / 2 + C * np.mean(np.maximum(0, 1 - differences @ w))

    C = 3.0
    signs = np.where(np.arange(len(differences)) % 2, 1.0, -1.0)
    exact = LinearSVC(loss="hinge", C=C / len(differences), fit_intercept=False, max_iter=1_000_000, tol=1e-6)
    best = objective(exact.fit(differences * signs[:, None], signs).coef_[0], C)
    result = fit_combined(make_problem(as_rows(X), y), C, "hinge", True, 1.0, 400_000, 0)
    assert best * (1 - 1e-4) <= objective(result.w, C) <= best * 1.01
    assert result.theta == 0


@given(
    st.sampled_from(["hinge", "squared"]),
    st.booleans(),
    st.sampled_from([0.0, 0.5, 1.0]),
    st.floats(-12, 12),
    st.floats(-6, 6),
    st.integers(1, 2000),
)
def test_no_setting_ends_in_nan(point_loss, threshold, probability, log_C, log_size, n_steps):
    X, y = make_data(n=20)
    X[3] = 0
    X[5] *= 1e3
    problem = make_problem(as_rows(X * 10.0**log_size), y)
    result = fit_combined(problem, 10.0**log_C, point_loss, threshold, probability, n_steps, 0)
    assert np.all(np.isfinite(result.w))
    assert np.isfinite(result.theta)
    assert result.n_steps == n_steps
    assert 0 <= result.n_moved <= n_steps
    if not threshold:
        assert result.theta == 0


@pytest.mark.parametrize("point_loss", ["hinge", "squared"])
def test_squared_steps_do_not_blow_up(point_loss):
    """With the plain step size the weights pass 1e300 in the first hundred steps; cut, they stay of use."""
    X, y = make_data(n=400)
    problem = make_problem(as_rows(X), y)
    for C in (1.0, 800.0):
        assert auc(y, X @ fit_combined(problem, C, point_loss, seed=0).w) > 0.85
    assert np.linalg.norm(fit_combined(problem, 1e6, point_loss, pair_probability=0.0, seed=0).w) < 1e3


def test_overflow_is_an_error():
    X, y = make_data(n=20)
    with pytest.raises(ValueError, match="Scale the features"):
        fit_combined(make_problem(as_rows(X * 1e200), y), 1e150, n_steps=50)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"C": 0.0}, "C must be"),
        ({"C": np.inf}, "C must be"),
        ({"C": "1"}, "C must be"),
        ({"point_loss": "log"}, '"hinge" or "squared"'),
        ({"pair_probability": 1.5}, r"in \[0, 1\]"),
        ({"pair_probability": np.nan}, r"in \[0, 1\]"),
        ({"n_steps": 0}, "at least 1"),
        ({"n_steps": 1.5}, "whole number"),
    ],
)
def test_bad_parameters(parameters, message):
    X, y = make_data()
    with pytest.raises(ValueError, match=message):
        fit_combined(make_problem(as_rows(X), y), **parameters)


def test_bad_rows_are_found_when_they_are_read(monkeypatch):
    monkeypatch.setattr("pairsift.data.rows.FULL_CHECK_VALUES", 0)
    X, y = make_data()
    X[7, 2] = np.nan
    with pytest.raises(ValueError, match="Row 7 of X contains NaN in column 2"):
        fit_combined(make_problem(as_rows(X), y), n_steps=1000, seed=0)


def test_weights_are_those_of_the_problem():
    """A weight that leaves one row of each class decides the direction alone."""
    X = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    problem = Problem(as_rows(X), np.array([0, 1]), np.array([2]), np.array([1.0, 1e-12]), np.array([1.0]))
    w = fit_combined(problem, n_steps=2000, seed=0).w
    assert w[0] > 0
    assert abs(w[1]) < 1e-6


# The paper's data

# Mean test AUC of the original program at C = 800, run on the same files.
TARGETS = {"a9a": (123, 0.9000), "shuttle": (9, 0.9902), "mnist": (780, 0.9985)}


def read(path, n_features):
    with lzma.open(path) as file:
        return load_svmlight_file(file, n_features=n_features)


@pytest.mark.slow
@pytest.mark.skipif("PAIRSIFT_DATA" not in os.environ, reason="PAIRSIFT_DATA does not name the folder of data sets")
@pytest.mark.parametrize("name", TARGETS)
def test_paper_data(name):
    n_features, target = TARGETS[name]
    folder = Path(os.environ["PAIRSIFT_DATA"]) / name
    (X, y), (X_test, y_test) = (read(folder / f"{name}.{part}.svm.xz", n_features) for part in ("train", "test"))
    problem = make_problem(as_rows(X), y > 0)
    areas, seconds = [], []
    for seed in range(5):
        start = time.process_time()
        result = fit_combined(problem, C=800.0, seed=seed)
        seconds.append(time.process_time() - start)
        areas.append(auc(y_test, X_test @ result.w - result.theta))
    assert np.mean(areas) == pytest.approx(target, abs=0.003)
    assert min(seconds) < (0.1 if name != "mnist" else 0.5)


@pytest.mark.parametrize("point_loss", ["hinge", "squared"])
@pytest.mark.parametrize("pair_probability", [0.0, 0.5, 1.0])
def test_the_objective_at_the_end_is_that_of_its_definition(point_loss, pair_probability):
    """On 1000 terms of the same law: a mean of about the same."""
    X, y = make_ranking(2000, 4, random_state=2)
    found = fit_combined(make_problem(as_rows(X), y > 0), 5.0, point_loss, True, pair_probability, 5000, 0)
    scores, rng = X @ found.w - found.theta, np.random.default_rng(1)
    draws = [rng.choice(np.flatnonzero(y == label), 20_000) for label in (1, 0)]
    pairs = np.mean(np.maximum(0, 1 - scores[draws[0]] + scores[draws[1]]))
    margins = (2 * y - 1) * scores
    points = np.mean(np.maximum(0, 1 - margins) if point_loss == "hinge" else 0.5 * (1 - margins) ** 2)
    start = pair_probability + (1 - pair_probability) * (1.0 if point_loss == "hinge" else 0.5)
    expected = (found.w @ found.w / 10 + pair_probability * pairs + (1 - pair_probability) * points) / start
    assert found.objective_ratio == pytest.approx(expected, rel=0.1)
    assert found.settled


def test_the_command_says_that_steps_did_not_settle(tmp_path):
    X, y = make_ranking(400, 3, random_state=0)
    write_svmlight(tmp_path / "rows.svm", X * [1e-3, 1.0, 1e3], y)
    said = run("fit", tmp_path / "rows.svm", "-o", tmp_path / "m", "--method", "combined", "--random-state", 0)
    assert said.returncode == 0
    assert "did not settle" in said.stderr
    scaled = run("fit", tmp_path / "rows.svm", "-o", tmp_path / "m", "--method", "combined", "--scale", "standard")
    assert "settle" not in scaled.stderr
