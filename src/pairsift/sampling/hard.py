"""Hard sampling: the unchosen terms with the lowest closeness |m| or correctness -[1 - m]_+, without chance.

Ties go to the lowest row of the positive, then to the lowest row of the negative. Of a round's terms, round(gamma b)
are pairs and the rest points. A term drawn by rule and not by chance has no probability to correct for, so p = 1.
"""

from __future__ import annotations

import numpy as np

from pairsift import _core
from pairsift._typing import FloatArray, IntArray
from pairsift.all_pairs import argsort
from pairsift.pairs import NONE
from pairsift.sampling.protocol import Draw
from pairsift.sampling.unchosen import Unchosen


class HardSampler:
    """Draw the terms with the lowest measure: ``"closeness"`` or ``"correctness"``."""

    def __init__(self, measure: str) -> None:
        self.measure = measure

    def values(self, margins: FloatArray) -> FloatArray:
        """Return the measure of each margin."""
        return np.abs(margins) if self.measure == "closeness" else -np.maximum(1 - margins, 0)

    def draw(self, unchosen: Unchosen, count: int, rng: np.random.Generator) -> Draw:
        """Draw the `count` unchosen terms with the lowest measure."""
        n_pairs = min(_round_half_up(unchosen.gamma * count), unchosen.n_pairs)
        n_points = min(count - n_pairs, unchosen.n_points)
        n_pairs = min(count - n_points, unchosen.n_pairs)
        pairs, points = self._pairs(unchosen, n_pairs), self._points(unchosen, n_points)
        i, j = np.concatenate([pairs[0], points[0]]), np.concatenate([pairs[1], points[1]])
        return Draw(i, j, np.ones(len(i)), 0.0)

    def _pairs(self, unchosen: Unchosen, count: int) -> tuple[IntArray, IntArray]:
        i, j = np.empty(count, dtype=np.int64), np.empty(count, dtype=np.int64)
        if count == 0:
            return i, j
        positive, negative = unchosen.score_all()
        order = argsort(negative)
        found = _core.hard_pairs(
            self.measure == "closeness", positive, negative[order], order, unchosen.pool.chosen, i, j
        )
        return i[:found], j[:found]

    def _points(self, unchosen: Unchosen, count: int) -> tuple[IntArray, IntArray]:
        i, j = unchosen.free_points()
        if count == 0:
            return i[:0], j[:0]
        unchosen.score_all()
        problem = unchosen.problem
        row = np.where(i == NONE, problem.negatives[np.maximum(j, 0)], problem.positives[np.maximum(i, 0)])
        lowest = np.lexsort((row, self.values(unchosen.margins(i, j))))[:count]
        return i[lowest], j[lowest]


def _round_half_up(value: float) -> int:
    return int(np.floor(value + 0.5))
