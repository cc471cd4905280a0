"""The certificate of a linear model: against brute force over all pairs and against the true minimum."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from pairsift.certificates import certificate, certify
from pairsift.data.problem import make_problem
from pairsift.data.rows import as_rows
from pairsift.solvers.exact import fit_exact

LOSSES = ["hinge", "squared_hinge"]


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    y = rng.uniform(size=400) < 0.3
    return rng.normal(size=(400, 5)) + 0.5 * y[:, None], np.where(y, 1, -1)


def objective(w, X, y, C, loss):
    z = np.maximum(0, 1 - ((X[y > 0] @ w)[:, None] - (X[y < 0] @ w)[None, :]))
    return 0.5 * w @ w + C * np.mean(z if loss == "hinge" else z**2)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("C", [0.5, 800.0])
def test_objective_bound_and_auc(data, loss, C):
    X, y = data
    w = np.array([0.5, -0.2, 1.0, 0.3, 0.1])
    found = certificate(w, X, y, C=C, loss=loss)
    best = fit_exact(make_problem(as_rows(X), y > 0), C, loss, tol=1e-8).primal
    assert found.objective == pytest.approx(objective(w, X, y, C, loss), rel=1e-11)
    assert found.lower_bound <= best * (1 + 1e-9)
    assert found.lower_bound >= best * (1 - 2e-3)
    assert found.relative_gap == pytest.approx((found.objective - found.lower_bound) / found.objective, rel=1e-9)
    assert found.auc == pytest.approx(roc_auc_score(y, X @ w), abs=1e-12)
    assert 0 <= found.auc_low < found.auc < found.auc_high <= 1


@pytest.mark.parametrize("loss", LOSSES)
def test_the_exact_solution_has_almost_no_gap(data, loss):
    X, y = data
    w = fit_exact(make_problem(as_rows(X), y > 0), 800.0, loss, tol=1e-6).w
    found = certificate(w, X, y, loss=loss)
    assert 0 <= found.relative_gap <= 1e-3
    assert found.scale == pytest.approx(1.0, abs=1e-2)


@pytest.mark.parametrize("loss", LOSSES)
def test_the_scale_is_the_best_multiple(data, loss):
    X, y = data
    w = fit_exact(make_problem(as_rows(X), y > 0), 800.0, loss, tol=1e-6).w
    found = certificate(w / 7, X, y, loss=loss)
    assert found.scale == pytest.approx(7.0, rel=1e-2)
    assert found.scaled_objective < found.objective
    grid = [objective(t * w, X, y, 800.0, loss) for t in np.linspace(0.5, 2, 200)]
    assert found.scaled_objective <= min(grid) * (1 + 1e-9)


def test_models_with_an_intercept_and_sparse_rows(data):
    X, y = data
    model = LogisticRegression().fit(X, y)
    dense, sparse = certificate(model, X, y), certificate(model, sp.csr_array(X), y)
    assert dense.auc == pytest.approx(roc_auc_score(y, model.decision_function(X)), abs=1e-12)
    assert sparse.objective == pytest.approx(dense.objective, rel=1e-12)
    assert 0 < dense.relative_gap < 1


@pytest.mark.parametrize("loss", LOSSES)
def test_w_zero_and_a_model_that_points_the_wrong_way(data, loss):
    X, y = data
    zero = certificate(np.zeros(5), X, y, loss=loss)
    assert zero.objective == pytest.approx(800.0)
    assert zero.auc == 0.5
    wrong = certificate(-np.ones(5), X, y, loss=loss)
    assert wrong.scale == 0
    assert wrong.auc < 0.5
    assert wrong.lower_bound < 800.0


def test_few_pairs():
    X, y = np.array([[1.0], [0.0], [0.5]]), np.array([1, 0, 0])
    found = certificate(np.array([2.0]), X, y, C=10.0)
    # margins 2 and 1: no loss, 1/2 |w|^2 = 2, and no smaller w has the margin 1 that C = 10 asks for
    assert found.objective == pytest.approx(2.0, rel=1e-12)
    assert found.lower_bound == pytest.approx(2.0, rel=1e-3)
    assert found.auc == 1.0


def test_bad_input(data):
    X, y = data
    with pytest.raises(ValueError, match="each of the 5 columns of X; got 4"):
        certificate(np.ones(4), X, y)
    with pytest.raises(ValueError, match="must be finite; got NaN"):
        certificate(np.full(5, np.nan), X, y)
    with pytest.raises(ValueError, match="C must be positive and finite; got 0"):
        certify(np.ones(5), make_problem(as_rows(X), y > 0), C=0)
    with pytest.raises(ValueError, match='"hinge" or "squared_hinge"'):
        certificate(np.ones(5), X, y, loss="log")
    with pytest.raises(ValueError, match=r"got LogisticRegression\. Fit it first"):
        certificate(LogisticRegression(), X, y)
    with pytest.raises(ValueError, match=r"got an array of shape \(2, 5\)"):
        certificate(np.ones((2, 5)), X, y)
    with pytest.raises(ValueError, match="got 400 rows and 399 labels"):
        certificate(np.ones(5), X, y[:-1])
    with pytest.raises(ValueError, match="y is required"):
        certificate(np.ones(5), X)
