"""Statistics of the top of the list: partial AUC and precision at k."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from pairsift._typing import AnyArray, BoolArray, FloatArray, IntArray
from pairsift.stats.inputs import check_fraction, check_labels, check_scores


def partial_auc(y: Any, scores: Any, max_fpr: float) -> float:
    """Return the AUC up to a false-positive rate, standardised after McClish (1989).

    With P the area under the ROC curve between the false-positive rates 0 and f = max_fpr (a tie is a straight stretch
    of the curve, which counts its pairs one half),

        1/2 (1 + (P - f^2 / 2) / (f - f^2 / 2))

    is 1/2 for scores that say nothing and 1 for perfect ones, whatever f is; for f = 1 it is the AUC. The worst scores
    get (1 - f) / (2 - f), not 0. The same as scikit-learn's ``roc_auc_score(max_fpr=f)``.

    Parameters
    ----------
    y : array of two values
        The larger one is positive.
    scores : array
        Finite numbers, the higher the more positive.
    max_fpr : float
        In (0, 1].
    """
    max_fpr = check_fraction(max_fpr, "max_fpr", one_allowed=True)
    is_positive = check_labels(y)
    scores = check_scores(scores, len(is_positive))
    hits, false_alarms = _roc_counts(is_positive, scores)
    fpr, tpr = false_alarms / false_alarms[-1], hits / hits[-1]
    inside = int(np.searchsorted(fpr, max_fpr, side="right"))
    at_cut = np.interp(max_fpr, fpr, tpr)
    area = _trapezoids(np.append(fpr[:inside], max_fpr), np.append(tpr[:inside], at_cut))
    chance = max_fpr**2 / 2
    return 0.5 * (1.0 + (area - chance) / (max_fpr - chance))


def precision_at_k(y: Any, scores: Any, k: int) -> float:
    """Return the share of positives among the k highest scores.

    Rows tied at the cut are taken at random, and the expectation over that draw is returned: of the rows that tie for
    the last places, each place counts the share of positives among them. So the order of the rows does not matter.

    Parameters
    ----------
    y : array of two values
        The larger one is positive.
    scores : array
        Finite numbers, the higher the more positive.
    k : int
        From 1 to the number of rows.
    """
    is_positive = check_labels(y)
    scores = check_scores(scores, len(is_positive))
    k = _check_k(k, len(scores))
    cut = np.partition(scores, len(scores) - k)[len(scores) - k]
    above, at_cut = scores > cut, scores == cut
    n_above, n_at_cut = int(np.count_nonzero(above)), int(np.count_nonzero(at_cut))
    hits_above, hits_at_cut = int(np.count_nonzero(above & is_positive)), int(np.count_nonzero(at_cut & is_positive))
    return (hits_above * n_at_cut + (k - n_above) * hits_at_cut) / (k * n_at_cut)


def _roc_counts(is_positive: BoolArray, scores: AnyArray) -> tuple[IntArray, IntArray]:
    """Return positives and negatives at or above each distinct score, from the highest down, with (0, 0) first."""
    order = np.argsort(scores)[::-1]
    ordered = scores[order]
    last_of_tie = np.append(np.flatnonzero(ordered[1:] != ordered[:-1]), len(ordered) - 1)
    hits = np.cumsum(is_positive[order], dtype=np.int64)[last_of_tie]
    return np.append(0, hits), np.append(0, last_of_tie + 1 - hits)


def _trapezoids(x: FloatArray, y: FloatArray) -> float:
    return float(np.sum(np.diff(x) * (y[1:] + y[:-1])) / 2)


def _check_k(k: Any, n_rows: int) -> int:
    try:
        number = operator.index(k)
    except TypeError:
        raise ValueError(f"k must be a whole number; got {k!r}.") from None
    if isinstance(k, bool | np.bool_) or not 1 <= number <= n_rows:
        raise ValueError(f"k must be from 1 to the number of rows, {n_rows}; got {k!r}.")
    return number
