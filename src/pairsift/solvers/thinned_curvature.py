r"""Products with the Hessian over the rows that bend the loss most, where points alone are trained on.

Conjugate gradients multiply by the Hessian many times a step, and need it only roughly: the gradient over all rows
says where the minimum is. The curvature c_k of a point is small wherever its score is clearly right, so a few rows
have most of it. Row k is kept with the chance min(1, c_k / tau), and then counts c_k / min(1, c_k / tau), so that the
sum is unbiased; tau is the mean curvature divided by `KEPT`, so that at most that share of the rows is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from pairsift._typing import FloatArray
from pairsift.data.drawn_rows import Piece
from pairsift.data.rows import MemoryRows
from pairsift.solvers.mixed_objective import Mix, MixedObjective, MixedPoint

KEPT = 0.25
# With fewer stored values a product takes less time than taking rows out.
LEAST_VALUES = 200_000


class ThinnedCurvature(MixedObjective):
    """F, with products of the Hessian over few rows, other ones at each step."""

    def __init__(self, pieces: Sequence[Piece], C: float, mix: Mix) -> None:
        super().__init__(pieces, C, mix)
        self._chance = np.random.default_rng(0)

    def hessian_product(self, point: MixedPoint) -> Callable[[FloatArray], FloatArray]:
        """Return d -> H d, about."""
        kept = None if point.points_curvature is None else self._curved_rows(*point.points_curvature)
        if kept is None:
            return super().hessian_product(point)
        n_features = self.n_features

        def product(d: FloatArray) -> FloatArray:
            out, coef = np.zeros(n_features + 1), np.ascontiguousarray(d[:n_features])
            for rows, curvature in kept:
                scores = np.empty(rows.n_rows)
                rows.kernel.score_range(0, rows.n_rows, coef, scores)
                scores -= d[-1]
                scores *= curvature
                rows.kernel.add_range(0, rows.n_rows, scores, out[:n_features])
                out[-1] -= np.sum(scores)
            out *= self.C
            out[:n_features] += coef
            return out

        return product

    def _curved_rows(self, positive: FloatArray, negative: FloatArray) -> list[tuple[MemoryRows, FloatArray]] | None:
        """Return the rows that are kept and what they count, piece by piece; None where nothing is curved."""
        tau = float(np.sum(positive) + np.sum(negative)) / (KEPT * (len(positive) + len(negative)))
        if not tau > 0:
            return None
        kept, i, j = [], 0, 0
        for piece in self.pieces:
            n, m = piece.n_positive, piece.n_negative
            curvature = np.concatenate([positive[i : i + n], negative[j : j + m]])
            i, j = i + n, j + m
            taken = np.flatnonzero(tau * self._chance.random(n + m) < curvature)
            kept.append((piece.rows.take(taken), np.maximum(curvature[taken], tau)))
        return kept


def can_be_thinned(objective: MixedObjective) -> bool:
    """Whether there are only points, and enough rows that some of them tell the curvature of all columns."""
    n_rows = objective.n_positive + objective.n_negative
    values = sum(piece.rows.n_stored for piece in objective.pieces)
    return objective.mix.gamma == 0 and values >= LEAST_VALUES and KEPT * n_rows >= objective.n_features
