r"""The objective over all pairs as a function of w.

.. math:: F(w) = \tfrac12 |w|^2 + C\, L(X_+ w, X_- w),

with L the mean loss over all pairs of `pairsift.all_pairs`. Gradient and Hessian products are one pass over the rows to
score them, O(N log N) or O(N) work on the scores, and one pass to add rows up:

    gradient = w + C (X+^T dL/dp + X-^T dL/dq),      H d = d + C X^T (d2L/ds2) X d.

Conventions
-----------
A `Point` is w with everything known there; it is made by `FullObjective.at`, or from scores that are known already
(scores are linear in w, so along a line only the sort is repeated). Sums run in the order of the rows, and inner
products are NumPy's own, not BLAS's, so that the bits do not depend on threads.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pairsift._typing import FloatArray, IntArray
from pairsift.all_pairs import AllPairs, Loss, PairSums
from pairsift.data.problem import Places, Problem, RowRange
from pairsift.data.rows import MemoryRows

# Below this share of rows with curvature, a Hessian product picks them out rather than read all rows.
SPARSE_CURVATURE = 0.7


def dot(a: FloatArray, b: FloatArray) -> float:
    """Return the inner product, in an order of summation that does not depend on the number of threads."""
    return float(np.einsum("i,i->", a, b))


@dataclass(frozen=True)
class Point:
    """w, the scores there, and what the loss says about them."""

    w: FloatArray
    p: FloatArray
    q: FloatArray
    pairs: AllPairs
    sums: PairSums
    loss: Loss
    value: float


class FullObjective:
    """1/2 |w|^2 + C * (mean loss over all pairs of a problem)."""

    def __init__(self, problem: Problem, C: float) -> None:
        self.problem, self.C = problem, C
        self.rows = problem.rows
        if isinstance(self.rows, MemoryRows):
            self.rows.check_all()

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self.rows.n_features

    def scores(self, w: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the scores of positives and of negatives, by place."""
        scores = self.rows.scores_between(w, 0, self.rows.n_rows)
        return _take(scores, self.problem.positives), _take(scores, self.problem.negatives)

    def combine(self, a_positive: FloatArray, a_negative: FloatArray) -> FloatArray:
        """Return ``X+^T a_positive + X-^T a_negative``."""
        out = np.zeros(self.n_features)
        self.rows.add_between(self.by_row(a_positive, a_negative), 0, self.rows.n_rows, out)
        return out

    def at(self, w: FloatArray, loss: Loss) -> Point:
        """Return everything about w that needs its scores."""
        return self.from_scores(w, *self.scores(w), loss)

    def at_zero(self, loss: Loss) -> Point:
        """Return the point w = 0; every score is zero."""
        problem = self.problem
        return self.from_scores(
            np.zeros(self.n_features), np.zeros(problem.n_positive), np.zeros(problem.n_negative), loss
        )

    def from_scores(self, w: FloatArray, p: FloatArray, q: FloatArray, loss: Loss) -> Point:
        """Return the point w whose scores are p and q."""
        pairs = AllPairs(p, q, self.problem.positive_weights, self.problem.negative_weights)
        return self._point(w, p, q, pairs, loss)

    def with_loss(self, point: Point, loss: Loss) -> Point:
        """Return the same w under another loss: no pass over the rows, no sort."""
        return self._point(point.w, point.p, point.q, point.pairs, loss)

    def gradient(self, point: Point) -> FloatArray:
        """Return the gradient of F."""
        gradient = self.combine(point.sums.positive, point.sums.negative)
        gradient *= self.C
        gradient += point.w
        return gradient

    def hessian_product(self, point: Point) -> HessianProduct:
        """Return d -> H d."""
        return HessianProduct(self, point)

    def slope(self, point: Point, d: FloatArray, dp: FloatArray, dq: FloatArray) -> float:
        """Return the derivative of F at the point along d, whose scores are dp and dq."""
        return dot(point.w, d) + self.C * (dot(point.sums.positive, dp) + dot(point.sums.negative, dq))

    def _point(self, w: FloatArray, p: FloatArray, q: FloatArray, pairs: AllPairs, loss: Loss) -> Point:
        sums = pairs.sums(loss)
        return Point(w, p, q, pairs, sums, loss, 0.5 * dot(w, w) + self.C * sums.value)

    def by_row(self, positive: FloatArray, negative: FloatArray) -> FloatArray:
        """Return numbers by place as numbers by row; rows that do not take part get zero."""
        by_row = np.zeros(self.rows.n_rows)
        _put(by_row, self.problem.positives, positive)
        _put(by_row, self.problem.negatives, negative)
        return by_row


class HessianProduct:
    """d -> H d at a point; rows without curvature are not read where that saves time."""

    def __init__(self, objective: FullObjective, point: Point) -> None:
        self.objective, self.point = objective, point
        self.curved: IntArray | None = None
        if isinstance(objective.rows, MemoryRows):
            by_row = objective.by_row(point.sums.positive_curvature, point.sums.negative_curvature)
            curved = np.flatnonzero(by_row)
            if len(curved) < SPARSE_CURVATURE * len(by_row):
                self.curved = curved

    def scores(self, d: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the scores of d, zero for rows that do not matter here."""
        if self.curved is None:
            return self.objective.scores(d)
        scores = np.zeros(self.objective.rows.n_rows)
        scores[self.curved] = self.objective.rows.scores(d, self.curved)
        problem = self.objective.problem
        return _take(scores, problem.positives), _take(scores, problem.negatives)

    def __call__(self, d: FloatArray) -> FloatArray:
        """Return H d."""
        product = self.objective.combine(*self.point.pairs.curvature_product(self.point.loss, *self.scores(d)))
        product *= self.objective.C
        product += d
        return product


def _take(by_row: FloatArray, places: Places) -> FloatArray:
    taken: FloatArray = (
        by_row[places.start : places.stop] if isinstance(places, RowRange) else by_row[np.asarray(places)]
    )
    return taken


def _put(by_row: FloatArray, places: Places, values: FloatArray) -> None:
    if isinstance(places, RowRange):
        by_row[places.start : places.stop] = values
    else:
        by_row[np.asarray(places)] = values
