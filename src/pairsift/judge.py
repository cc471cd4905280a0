"""How good a direction is on held-out rows, and whether one is better than another.

The placement V_i of a positive is the (weighted) share of negatives that it beats, that of a negative the share of
positives that beat it, ties one half. Both have the mean A, the AUC, and with normalised weights u of a class

    var(A) = sum over classes of  n / (n - 1) * sum_i u_i^2 (V_i - A)^2,

which is DeLong's variance where all weights are equal. The variance of a difference of two AUCs on the same rows is the
same with differences of placements: much smaller, because neighbouring strengths order most rows alike.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pairsift._typing import AnyArray, FloatArray
from pairsift.data.drawn_rows import Piece
from pairsift.data.problem import Problem
from pairsift.data.rows import MemoryRows

LEVEL_95 = 1.959963984540054


@dataclass(frozen=True)
class Verdict:
    """The placements of the held-out rows under one scoring, with the normalised weights of the rows.

    ``total`` is the weight of all positives and of all negatives.
    """

    positive: FloatArray
    negative: FloatArray
    positive_weights: FloatArray
    negative_weights: FloatArray
    total: tuple[float, float]

    @property
    def auc(self) -> float:
        """The weighted AUC."""
        return float(np.sum(self.positive_weights * self.positive))

    @property
    def error(self) -> float:
        """The standard error of the AUC, after DeLong."""
        return self._error(self.positive, self.negative)

    def gain_over(self, other: Verdict) -> tuple[float, float]:
        """Return by how much the AUC is above another one on the same rows, and the standard error of that."""
        error = self._error(self.positive - other.positive, self.negative - other.negative)
        return self.auc - other.auc, error

    def _error(self, positive: FloatArray, negative: FloatArray) -> float:
        return math.sqrt(_variance(positive, self.positive_weights) + _variance(negative, self.negative_weights))


class Judge:
    """Scores the rows of a validation part, which it keeps in memory."""

    def __init__(self, validation: Problem) -> None:
        places = [np.asarray(places[np.arange(len(places))]) for places in (validation.positives, validation.negatives)]
        rows = validation.rows.take(np.concatenate(places))
        self._keep(rows, validation.n_positive, validation.positive_weights, validation.negative_weights)

    @classmethod
    def of(cls, piece: Piece) -> Judge:
        """Return a judge of rows that are in memory already."""
        judge = cls.__new__(cls)
        judge._keep(piece.rows, piece.n_positive, piece.positive_weights, piece.negative_weights)
        return judge

    def _keep(self, rows: MemoryRows, n_positive: int, s: FloatArray | None, t: FloatArray | None) -> None:
        self.rows, self.n_positive = rows, n_positive
        self.positive_weights = _normalised(s, n_positive)
        self.negative_weights = _normalised(t, rows.n_rows - n_positive)
        self._total = (
            float(n_positive) if s is None else float(np.sum(s)),
            float(rows.n_rows - n_positive) if t is None else float(np.sum(t)),
        )

    def __call__(self, w: FloatArray) -> Verdict:
        """Return the verdict on the scores ``w . x``."""
        return self.verdict(self.scores(w))

    def scores(self, w: FloatArray) -> FloatArray:
        """Return ``w . x`` for each row, positives first."""
        return self.rows.scores_between(w, 0, self.rows.n_rows)

    def verdict(self, scores: FloatArray) -> Verdict:
        """Return the verdict on scores of the rows, positives first."""
        p, q = scores[: self.n_positive], scores[self.n_positive :]
        return Verdict(
            placements(p, q, self.negative_weights),
            1 - placements(q, p, self.positive_weights),
            self.positive_weights,
            self.negative_weights,
            self._total,
        )


def auc_of_parts(
    verdicts: Sequence[Verdict], level: float = 0.95, clusters: Sequence[AnyArray | None] = ()
) -> tuple[float, float, float]:
    """Return the AUC over parts that were scored by models of their own, and its confidence interval.

    It is the share of all pairs within parts that are ordered right; the variance is that of the placements around the
    AUC of their part, over all parts (LeDell, Petersen and van der Laan 2015). The interval is that of
    `pairsift.auc_interval`, which this equals for one part without weights. Weighted rows count as so many as (sum of
    weights)^2 / (sum of squares).

    `clusters` names for each part which of its rows belong together, positives first: copies of a row, visits of a
    customer. Where they make the AUC vary more than as many independent rows would (Obuchowski 1997), rows count as so
    many fewer.
    """
    from pairsift.stats.delong import interval_of_spreads  # brings scipy, which other fits do not wait for

    weights = np.array([verdict.total[0] * verdict.total[1] for verdict in verdicts])
    estimate = float(np.sum(weights * [verdict.auc for verdict in verdicts]) / np.sum(weights))
    sides = [
        [(v.positive - v.auc, v.positive_weights * v.total[0]) for v in verdicts],
        [(v.negative - v.auc, v.negative_weights * v.total[1]) for v in verdicts],
    ]
    (n_positive, spread_positive), (n_negative, spread_negative) = (_spread(side) for side in sides)
    alone = spread_positive / n_positive + spread_negative / n_negative
    more = max(1.0, _clustered(sides, clusters) / alone) if clusters and alone > 0 else 1.0
    counts = max(n_positive / more, 1.0), max(n_negative / more, 1.0)
    return interval_of_spreads(estimate, counts, (spread_positive, spread_negative), level)


def _clustered(sides: Sequence[Sequence[tuple[FloatArray, FloatArray]]], clusters: Sequence[AnyArray | None]) -> float:
    """Return the variance of the AUC where the rows of a cluster move together; 0 where no two rows are one."""
    moves: list[FloatArray] = []
    names: list[AnyArray] = []
    totals = [sum(float(np.sum(weight)) for _, weight in side) for side in sides]
    for part, order in enumerate(clusters):
        if order is None:
            return 0.0
        shares = [
            move * weight / total for (move, weight), total in zip([side[part] for side in sides], totals, strict=True)
        ]
        moves.append(np.concatenate(shares))
        names.append(order)
    different, which = np.unique(np.concatenate(names), return_inverse=True)
    if len(different) in (1, len(which)):
        return 0.0
    together = np.bincount(which, np.concatenate(moves))
    return float(np.sum(together**2)) * len(different) / (len(different) - 1)


def _spread(side: Sequence[tuple[FloatArray, FloatArray]]) -> tuple[float, float]:
    """Return how many rows of equal weight the rows of a class are worth, and the sample variance of their moves."""
    move, weight = (np.concatenate(column) for column in zip(*side, strict=True))
    weight = weight / np.max(weight)  # squares of tiny weights are zero
    n = float(np.sum(weight) ** 2 / np.sum(weight**2))
    variance = float(np.sum(weight * move**2) / np.sum(weight))
    return n, variance * n / (n - 1) if n > 1 + 1e-9 else 0.0


def placements(scores: FloatArray, others: FloatArray, weights: FloatArray) -> FloatArray:
    """Return for each score the weight of the other scores below it, and half of that of equal ones."""
    order = np.argsort(others, kind="stable")
    below = np.concatenate([[0.0], np.cumsum(weights[order])])
    # The last sum is 1 up to rounding; exact, so that a perfect order has an AUC of 1.
    below /= below[-1]
    ranked = others[order]
    left, right = np.searchsorted(ranked, scores, side="left"), np.searchsorted(ranked, scores, side="right")
    shares: FloatArray = (below[left] + below[right]) / 2
    return shares


def _normalised(weights: FloatArray | None, n: int) -> FloatArray:
    return np.full(n, 1 / n) if weights is None else weights / np.sum(weights)


def _variance(values: FloatArray, weights: FloatArray) -> float:
    n = len(values)
    if n < 2:
        return 0.0
    mean = np.sum(weights * values)
    return float(n / (n - 1) * np.sum((weights * (values - mean)) ** 2))
