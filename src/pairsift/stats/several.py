"""Which of several scorings of the same rows are better: DeLong's paired test for every pair, corrected after Holm.

With m pairs the p-values are sorted, p_(1) <= ... <= p_(m), and compared one after another with

    alpha / m,  alpha / (m - 1),  ...,  alpha          (alpha = 1 - level)

until the first that is larger; that pair and all later ones show no difference. So the chance of any wrong claim is at
most alpha, whatever the dependence between the pairs.

The interval of a pair has the confidence 1 - alpha / (m - k + 1) of its own step k, or of the step at which Holm's
method stopped, if that was earlier. So an interval leaves out zero exactly where the method finds a difference: the
words and the numbers never contradict each other. With one pair it is the ordinary interval at `level`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from pairsift._typing import FloatArray
from pairsift.stats.delong import normal_interval, paired_error
from pairsift.stats.inputs import check_fraction, check_labels, check_scores


class PairedDifference(NamedTuple):
    """``auc(a) - auc(b)`` of the scorings number `a` and `b`.

    `low` and `high` have the confidence `level`; `p_value` is that of one test, `p_holm` the one corrected for all;
    `differs` is the decision.
    """

    a: int
    b: int
    difference: float
    low: float
    high: float
    level: float
    p_value: float
    p_holm: float
    differs: bool


def compare_several(y: Any, scorings: Sequence[Any], level: float = 0.95) -> list[PairedDifference]:
    """Compare every pair of scorings of the same rows.

    Parameters
    ----------
    y : array of two values
        The larger one is positive.
    scorings : sequence of arrays
        Each has one finite score a row, the higher the more positive; their scales need not agree.
    level : float
        One minus the chance of any wrong claim, in (0, 1).

    Returns
    -------
    list of PairedDifference
        In the order (0, 1), (0, 2), ..., (1, 2), ...
    """
    level = check_fraction(level, "level", one_allowed=False)
    is_positive = check_labels(y)
    checked = [check_scores(scores, len(is_positive), f"scores number {k}") for k, scores in enumerate(scorings)]
    pairs = [(a, b) for a in range(len(checked)) for b in range(a + 1, len(checked))]
    moves = [paired_error(is_positive, checked[a], checked[b]) for a, b in pairs]
    p_values = np.array([normal_interval(*move, level)[2] for move in moves])
    adjusted = holm(p_values)
    levels = _levels(p_values, level)
    found = []
    for (a, b), (difference, error), own, p, p_holm in zip(
        pairs, moves, levels, p_values.tolist(), adjusted.tolist(), strict=True
    ):
        low, high, _ = normal_interval(difference, error, own)
        found.append(PairedDifference(a, b, difference, low, high, own, p, p_holm, bool(p <= 1 - own)))
    return found


def holm(p_values: FloatArray) -> FloatArray:
    """Return p-values corrected after Holm (1979): ``max over l <= k of (m - l + 1) p_(l)``, at most 1."""
    order = np.argsort(p_values, kind="stable")
    factors = np.arange(len(p_values), 0, -1)
    adjusted = np.empty(len(p_values))
    adjusted[order] = np.minimum(np.maximum.accumulate(p_values[order] * factors), 1.0)
    return adjusted


def _levels(p_values: FloatArray, level: float) -> list[float]:
    """Return the confidence of each pair's interval: that of its step, or of the step that stopped the method."""
    m, alpha = len(p_values), 1 - level
    order = np.argsort(p_values, kind="stable")
    levels = [level] * m
    step = 0
    for k, pair in enumerate(order.tolist()):
        stopped = k > step
        levels[pair] = 1 - alpha / (m - step)
        if not stopped and p_values[pair] <= 1 - levels[pair]:
            step = k + 1
    return levels
