"""How sure an AUC is, and whether two AUCs on the same rows differ (DeLong, DeLong and Clarke-Pearson 1988).

The placement V+_i of a positive is the share of negatives that it beats, V-_j of a negative the share of positives that
beat it, ties one half; both average to the AUC A. With S+ and S- their sample variances,

    var(A) = S+ / N+ + S- / N-

All placements come from sorted scores in O(N log N), as in Sun and Xu (2014).

The interval
------------
A +- z sqrt(var) leaves [0, 1] and covers too little when a class is small or A is near 0 or 1: there a sample with a
high A also has a low S. The interval here asks instead, as Wilson's and Newcombe's do, which true areas a do not
contradict A: all those with

    (A - a)^2 <= t^2 K H(a)        H(a) = a - 2 T(Phi^-1(a), 1 / sqrt(3)) - a^2        (T is Owen's function)

H(a) is the variance of a placement when both classes are normal with one spread; it goes to zero at 0 and 1, so the
interval stays inside, and it is the same for a and 1 - a, so exchanging the classes mirrors the interval. K scales it
to DeLong's estimate, class by class, with the prior guess S = H(A) counted like four more rows:

    K = r+ / N+ + r- / N-        r = ((N - 1) S / H(A) + 4) / (N + 3)

t is Student's quantile with the degrees of freedom of Welch and Satterthwaite for K. For many rows K H(A) is DeLong's
variance and t the normal quantile. Where the data say nothing of a spread (A is 0 or 1; a class has one row) r is 1,
the prior guess alone: the interval is always finite, contains A, and is wider than a point.

Rejected: A +- z sqrt(var) on the logit scale, which covers 91 % for 20 + 200 normal rows at A = .95 where this covers
94 % (92 % with Student's quantile), and needs special rules at 0 and 1. Where the smaller class spreads twice as much
as the other (20 + 200 rows, A = .9) both cover 91 %. `tools/measure_delong.py` prints the coverage.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri, owens_t, stdtrit

from pairsift._typing import AnyArray, BoolArray, FloatArray, IntArray
from pairsift.stats.area import area, doubled_placements
from pairsift.stats.inputs import check_fraction, check_labels, check_scores

PRIOR_ROWS = 4.0


class AucInterval(NamedTuple):
    """An area under the ROC curve and its confidence interval."""

    auc: float
    low: float
    high: float


class AucDifference(NamedTuple):
    """``auc(y, scores_a) - auc(y, scores_b)``, its confidence interval, and the p-value of "there is none"."""

    difference: float
    low: float
    high: float
    p_value: float


def auc_interval(y: Any, scores: Any, level: float = 0.95) -> AucInterval:
    """Return the AUC and a score-type confidence interval with DeLong's variance, in O(N log N).

    The interval holds all true areas that the sample does not contradict, as Wilson's does for a share. The variance at
    an area ``a`` is that of two normal classes with one spread, scaled to DeLong's estimate; the guess that needs no
    scaling counts like four more rows of each class, and Student's quantile takes the place of the normal one. For many
    rows that is ``AUC +- z sqrt(DeLong's variance)``. The formulas are at the top of this module.

    It lies inside [0, 1], contains the AUC and more than the AUC, and is never NaN: at an AUC of 0 or 1, or with one
    row in a class, it rests on the normal scores alone.

    Parameters
    ----------
    y : array of two values
        The larger one is positive.
    scores : array
        Finite numbers, the higher the more positive.
    level : float
        Confidence, in (0, 1).
    """
    level = check_fraction(level, "level", one_allowed=False)
    is_positive = check_labels(y)
    scores = check_scores(scores, len(is_positive))
    positives, negatives = np.sort(scores[is_positive]), np.sort(scores[~is_positive])
    beaten = doubled_placements(positives, negatives)
    estimate = area(beaten, len(negatives))
    spread_positive = _variance(beaten / (2.0 * len(negatives)))
    # Negatives beaten by a positive, instead of positives that beat them, have the same variance.
    spread_negative = _variance(doubled_placements(negatives, positives) / (2.0 * len(positives)))
    counts, spreads = (len(positives), len(negatives)), (spread_positive, spread_negative)
    return interval_of_spreads(estimate, counts, spreads, level)


def interval_of_spreads(
    estimate: float, counts: tuple[float, float], spreads: tuple[float, float], level: float
) -> AucInterval:
    """Return the interval of an AUC from (N+, N-) and the sample variances (S+, S-) of the placements."""
    low, high = _score_interval(estimate, counts, spreads, level)
    return AucInterval(estimate, low, high)


def compare_auc(y: Any, scores_a: Any, scores_b: Any, level: float = 0.95) -> AucDifference:
    """Compare two scorings of the same rows: DeLong's paired test.

    The difference is ``auc(y, scores_a) - auc(y, scores_b)``: above zero where a is better. Its variance is DeLong's
    with the differences of placements in the place of placements; the p-value is two-sided, from the normal
    distribution; the interval is ``difference +- z sqrt(variance)``, cut to [-1, 1].

    Scores that place every row alike give (0, 0, 0) and p = 1. Where the data say nothing of the spread (all placements
    of a class move by one amount other than zero, or a class has one row) a row is added in thought to that class on
    which the two scorings agree; so the p-value is above zero and the interval wider than a point.

    Parameters
    ----------
    y : array of two values
        The larger one is positive.
    scores_a, scores_b : array
        Finite numbers, the higher the more positive; their scales need not agree.
    level : float
        Confidence of the interval, in (0, 1).
    """
    level = check_fraction(level, "level", one_allowed=False)
    is_positive = check_labels(y)
    scores_a = check_scores(scores_a, len(is_positive), "scores_a")
    scores_b = check_scores(scores_b, len(is_positive), "scores_b")
    difference, error = paired_error(is_positive, scores_a, scores_b)
    return AucDifference(difference, *normal_interval(difference, error, level))


def paired_error(is_positive: BoolArray, scores_a: AnyArray, scores_b: AnyArray) -> tuple[float, float]:
    """Return the difference of two AUCs on the same rows and its standard error; (0, 0) if no placement moves."""
    beaten_a, beating_a = _placements_by_row(is_positive, scores_a)
    beaten_b, beating_b = _placements_by_row(is_positive, scores_b)
    n_positive, n_negative = len(beaten_a), len(beating_a)
    moved_positive, moved_negative = beaten_a - beaten_b, beating_a - beating_b
    if not np.any(moved_positive) and not np.any(moved_negative):
        return 0.0, 0.0
    variance = (
        _variance_of_move(moved_positive / (2.0 * n_negative)) / n_positive
        + _variance_of_move(moved_negative / (2.0 * n_positive)) / n_negative
    )
    return area(moved_positive, n_negative), math.sqrt(variance)


def normal_interval(difference: float, error: float, level: float) -> tuple[float, float, float]:
    """Return the ends of ``difference +- z error``, cut to [-1, 1], and the two-sided p-value of "there is none"."""
    if error == 0:
        return difference, difference, 1.0
    reach = float(ndtri(0.5 + level / 2)) * error
    p_value = float(2 * ndtr(-abs(difference) / error))
    return max(difference - reach, -1.0), min(difference + reach, 1.0), p_value


def placement_variance(area_: FloatArray | float) -> FloatArray:
    """Return H(a): the variance of a placement when both classes are normal with one spread and the AUC is a."""
    rare = np.minimum(area_, np.subtract(1.0, area_))
    variance: FloatArray = rare * (1.0 - rare) - 2.0 * owens_t(ndtri(rare), 1.0 / math.sqrt(3.0))
    return np.where(rare > 0, variance, 0.0)


def _score_interval(
    estimate: float, counts: tuple[float, float], spreads: tuple[float, float], level: float
) -> tuple[float, float]:
    expected = float(placement_variance(estimate))
    terms, degrees = [], []
    for n, spread in zip(counts, spreads, strict=True):
        ratio = spread / expected if expected > 0 else 1.0
        terms.append(((n - 1) * ratio + PRIOR_ROWS) / (n - 1 + PRIOR_ROWS) / n)
        degrees.append(n - 1 + PRIOR_ROWS)
    scale = sum(terms)
    freedom = scale**2 / sum(term**2 / d for term, d in zip(terms, degrees, strict=True))
    quantile = float(stdtrit(freedom, 0.5 + level / 2))
    return _invert(estimate, quantile**2 * scale)


def _invert(estimate: float, scale: float) -> tuple[float, float]:
    """Return the ends of {a: (estimate - a)^2 <= scale H(a)}, both by bisection between the estimate and 0 or 1."""
    inside, outside = np.array([estimate, estimate]), np.array([0.0, 1.0])
    for _ in range(54):
        middle = (inside + outside) / 2
        kept = (estimate - middle) ** 2 <= scale * placement_variance(middle)
        inside, outside = np.where(kept, middle, inside), np.where(kept, outside, middle)
    # Of the two candidates a last step apart the outer one is taken, so that the interval is never a point.
    return float(outside[0]), float(outside[1])


def _placements_by_row(is_positive: BoolArray, scores: AnyArray) -> tuple[IntArray, IntArray]:
    """Return the doubled placements of the positives and of the negatives, in the order of the rows."""
    positives, negatives = scores[is_positive], scores[~is_positive]
    order_positive, order_negative = np.argsort(positives), np.argsort(negatives)
    sorted_positives, sorted_negatives = positives[order_positive], negatives[order_negative]
    beaten, beating = np.empty(len(positives), dtype=np.int64), np.empty(len(negatives), dtype=np.int64)
    beaten[order_positive] = doubled_placements(sorted_positives, sorted_negatives)
    beating[order_negative] = 2 * len(positives) - doubled_placements(sorted_negatives, sorted_positives)
    return beaten, beating


def _variance(values: FloatArray) -> float:
    return float(np.var(values, ddof=1)) if len(values) > 1 else 0.0


def _variance_of_move(moves: FloatArray) -> float:
    """Return the sample variance, or that with one more row that does not move where there is none to see."""
    if len(moves) > 1 and np.any(moves != moves[0]):
        return _variance(moves)
    return _variance(np.append(moves, 0.0))
