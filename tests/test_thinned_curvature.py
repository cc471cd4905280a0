"""Products with the Hessian over the most curved rows: unbiased, fewer rows, and the same minimum."""

import numpy as np
import pytest
from scipy.sparse import random_array

from pairsift import make_ranking
from pairsift.data.drawn_rows import Drawing
from pairsift.data.problem import make_problem
from pairsift.data.rows import as_rows
from pairsift.solvers import mixed
from pairsift.solvers.mixed import solve_mixed
from pairsift.solvers.mixed_objective import Mix, MixedObjective
from pairsift.solvers.thinned_curvature import KEPT, ThinnedCurvature, can_be_thinned

POINTS = Mix("logistic", 0.0)


def pieces_of(X, y, weights=None):
    drawing = Drawing(make_problem(as_rows(X), y > 0, weights), np.random.default_rng(0))
    return [drawing.draw(200, 200), drawing.draw(len(y), len(y))]


@pytest.fixture(scope="module")
def separable_pieces():
    X, y = make_ranking(3000, 8, positive_rate=0.2, random_state=1)
    weights = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    return pieces_of(X * 3, y, weights)


def test_the_mean_of_thinned_products_is_the_product(separable_pieces):
    whole = MixedObjective(separable_pieces, 7.0, POINTS)
    rng = np.random.default_rng(2)
    point, d = whole.at(rng.normal(size=9)), rng.normal(size=9)
    thinned = ThinnedCurvature(separable_pieces, 7.0, POINTS)
    drawn = np.array([thinned.hessian_product(point)(d) for _ in range(2000)])
    error = drawn.std(axis=0, ddof=1) / np.sqrt(len(drawn))
    assert np.all(error > 0)  # rows are left out
    assert np.all(np.abs(drawn.mean(axis=0) - whole.hessian_product(point)(d)) < 4.5 * error)


def test_few_rows_are_kept_and_none_without_weight(separable_pieces):
    thinned = ThinnedCurvature(separable_pieces, 1.0, POINTS)
    point = thinned.at(np.ones(9))
    kept = thinned._curved_rows(*point.points_curvature)
    n_rows = sum(piece.rows.n_rows for piece in separable_pieces)
    assert 0 < sum(rows.n_rows for rows, _ in kept) < 1.1 * KEPT * n_rows
    no_curvature = np.zeros(thinned.n_positive), np.zeros(thinned.n_negative)
    assert thinned._curved_rows(*no_curvature) is None


def test_the_minimum_is_that_of_all_rows(monkeypatch):
    """900 sparse columns: the Hessian is not written out, and there are enough values to leave rows out."""
    rng = np.random.default_rng(0)
    X = random_array((8000, 900), density=0.04, format="csr", rng=rng)
    y = np.where(X @ rng.normal(size=900) + rng.logistic(size=8000) > 1, 1, -1)
    pieces = pieces_of(X, y)
    monkeypatch.setattr(mixed, "CHEAP_WORK", 0.0)
    assert can_be_thinned(MixedObjective(pieces, 1.0, POINTS))
    *_, found = solve_mixed(pieces, 3000.0, POINTS, tol=1e-8, max_iter=200)
    monkeypatch.setattr(mixed, "can_be_thinned", lambda objective: False)
    *_, whole = solve_mixed(pieces, 3000.0, POINTS, tol=1e-8, max_iter=200)
    assert found.converged
    assert whole.converged
    assert found.relative_gap <= 1e-8
    assert found.n_passes != whole.n_passes  # the steps were others
    np.testing.assert_allclose(found.w, whole.w, rtol=0, atol=1e-6 * np.abs(whole.w).max())


def test_pairs_and_wide_rows_are_not_thinned(separable_pieces):
    assert not can_be_thinned(MixedObjective(separable_pieces, 1.0, POINTS))  # few values
    wide = random_array((500, 10_000), density=0.1, format="csr", rng=np.random.default_rng(0))
    assert not can_be_thinned(MixedObjective(pieces_of(wide, np.arange(500) % 2 * 2 - 1), 1.0, POINTS))
