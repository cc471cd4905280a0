r"""Pairs and points over drawn rows, as a function of w and the threshold.

.. math:: F(w, \theta) = \tfrac12 |w|^2 + C \bigl( \gamma\, L_{pairs} + (1 - \gamma)\, L_{points} \bigr)

L_pairs is the mean loss over all pairs of the rows (`pairsift.all_pairs`), L_points the mean of the two class means
(`pairsift.losses`). The threshold is the weight of a constant column of -1: it cancels in pairs, is not regularised,
and is there only where there are points. So the variable is (w, theta) in one array, and w alone when gamma = 1.

The rows are the pieces of a `Drawing`, each where it is: sums run over the pieces in their order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from pairsift._typing import FloatArray
from pairsift.all_pairs import SQUARED_HINGE, AllPairs, Loss, PairSums, smoothed_hinge
from pairsift.data.drawn_rows import Piece, joined_weights
from pairsift.losses import HINGE, LOGISTIC, SQUARED, sum_points
from pairsift.solvers.full_objective import dot

FIRST_WIDTH = 0.5


@dataclass(frozen=True)
class Mix:
    """The share gamma of pairs, and the loss. Logistic points go with squared-hinge pairs.

    The logistic loss over all pairs has no sum in O(N log N); the squared hinge is the nearest that has. The hinge is
    for pairs alone, smoothed by a parabola of the given width, or for points alone (`pairsift.solvers.hinge_points`).
    """

    loss: str
    gamma: float
    width: float = FIRST_WIDTH

    def __post_init__(self) -> None:
        if self.loss not in (HINGE, SQUARED, LOGISTIC):
            raise ValueError(f"There is no loss {self.loss!r} of a mix.")
        if self.loss == HINGE and self.gamma not in (0, 1):
            raise ValueError(f"The hinge is for pairs alone or points alone; got gamma={self.gamma}.")

    @property
    def pair_loss(self) -> Loss:
        """The loss of pairs."""
        return smoothed_hinge(self.width) if self.loss == HINGE else SQUARED_HINGE


@dataclass(frozen=True)
class MixedPoint:
    """(w, theta), the scores around theta, and what the losses say about them: derivatives by score, by place."""

    w: FloatArray
    p: FloatArray
    q: FloatArray
    loss: Mix
    value: float
    pairs: AllPairs | None
    sums: PairSums | None
    positive: FloatArray
    negative: FloatArray
    positive_curvature: FloatArray
    negative_curvature: FloatArray
    points_curvature: tuple[FloatArray, FloatArray] | None


class MixedObjective:
    """F over the rows of some pieces."""

    def __init__(self, pieces: Sequence[Piece], C: float, mix: Mix) -> None:
        self.pieces, self.C, self.mix = list(pieces), C, mix
        self.n_features = self.pieces[0].rows.n_features
        self.n_positive = sum(piece.n_positive for piece in self.pieces)
        self.n_negative = sum(piece.n_negative for piece in self.pieces)
        self._s = joined_weights([piece.positive_weights for piece in self.pieces])
        self._t = joined_weights([piece.negative_weights for piece in self.pieces])
        self._u: FloatArray | float = 1 / self.n_positive if self._s is None else self._s / np.sum(self._s)
        self._v: FloatArray | float = 1 / self.n_negative if self._t is None else self._t / np.sum(self._t)

    @property
    def has_threshold(self) -> bool:
        """Whether theta is a variable."""
        return self.mix.gamma < 1

    @property
    def n_variables(self) -> int:
        """Columns, and theta where it is one."""
        return self.n_features + self.has_threshold

    def scores(self, w: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the scores around the threshold, of positives and of negatives."""
        p, q = np.empty(self.n_positive), np.empty(self.n_negative)
        coef = np.ascontiguousarray(w[: self.n_features])
        i = j = 0
        for piece in self.pieces:
            n, m, kernel = piece.n_positive, piece.n_negative, piece.rows.kernel
            kernel.score_range(0, n, coef, p[i : i + n])
            kernel.score_range(n, n + m, coef, q[j : j + m])
            i, j = i + n, j + m
        if self.has_threshold:
            p -= w[-1]
            q -= w[-1]
        return p, q

    def combine(self, a: FloatArray, b: FloatArray) -> FloatArray:
        """Return ``X+^T a + X-^T b``, with minus the sum of both for theta."""
        out = np.zeros(self.n_features)
        i = j = 0
        for piece in self.pieces:
            n, m, kernel = piece.n_positive, piece.n_negative, piece.rows.kernel
            kernel.add_range(0, n, a[i : i + n], out)
            kernel.add_range(n, n + m, b[j : j + m], out)
            i, j = i + n, j + m
        return np.append(out, -(np.sum(a) + np.sum(b))) if self.has_threshold else out

    def at(self, w: FloatArray, loss: Mix | None = None) -> MixedPoint:
        """Return everything about (w, theta) that needs its scores."""
        return self.from_scores(w, *self.scores(w), loss or self.mix)

    def at_zero(self) -> MixedPoint:
        """Return the point where all scores are zero."""
        return self.from_scores(
            np.zeros(self.n_variables), np.zeros(self.n_positive), np.zeros(self.n_negative), self.mix
        )

    def from_scores(self, w: FloatArray, p: FloatArray, q: FloatArray, loss: Mix) -> MixedPoint:
        """Return the point with these scores."""
        value, slopes, curvatures = 0.0, [np.zeros(len(p)), np.zeros(len(q))], [np.zeros(len(p)), np.zeros(len(q))]
        pairs, sums, of_points = None, None, None
        if loss.gamma > 0:
            pairs = AllPairs(p, q, self._s, self._t)
            sums = pairs.sums(loss.pair_loss)
            value += loss.gamma * sums.value
            _add(slopes, loss.gamma, sums.positive, sums.negative)
            _add(curvatures, loss.gamma, sums.positive_curvature, sums.negative_curvature)
        if loss.gamma < 1:
            share = 1 - loss.gamma
            points = sum_points(p, q, self._u, self._v, loss.loss)
            value += share * points.value
            of_points = share * points.positive_curvature, share * points.negative_curvature
            _add(slopes, share, points.positive, points.negative)
            _add(curvatures, 1.0, *of_points)
        total = self._ridge(w, w) + self.C * value
        return MixedPoint(
            w, p, q, loss, total, pairs, sums, slopes[0], slopes[1], curvatures[0], curvatures[1], of_points
        )

    def gradient(self, point: MixedPoint) -> FloatArray:
        """Return the gradient of F."""
        gradient = self.combine(point.positive, point.negative)
        gradient *= self.C
        gradient[: self.n_features] += point.w[: self.n_features]
        return gradient

    def hessian_product(self, point: MixedPoint) -> Callable[[FloatArray], FloatArray]:
        """Return d -> H d."""

        def product(d: FloatArray) -> FloatArray:
            dp, dq = self.scores(d)
            hp, hq = np.zeros(len(dp)), np.zeros(len(dq))
            if point.pairs is not None:
                _add([hp, hq], self.mix.gamma, *point.pairs.curvature_product(point.loss.pair_loss, dp, dq))
            if point.points_curvature is not None:
                hp += point.points_curvature[0] * dp
                hq += point.points_curvature[1] * dq
            out = self.combine(hp, hq)
            out *= self.C
            out[: self.n_features] += d[: self.n_features]
            return out

        return product

    def slope(self, point: MixedPoint, d: FloatArray, dp: FloatArray, dq: FloatArray) -> float:
        """Return the derivative of F at the point along d, whose scores are dp and dq."""
        return 2 * self._ridge(point.w, d) + self.C * (dot(point.positive, dp) + dot(point.negative, dq))

    def _ridge(self, a: FloatArray, b: FloatArray) -> float:
        return 0.5 * dot(a[: self.n_features], b[: self.n_features])


def _add(to: Sequence[FloatArray], share: float, positive: FloatArray, negative: FloatArray) -> None:
    to[0][:] += share * positive
    to[1][:] += share * negative
