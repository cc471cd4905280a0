"""Statistics of the top of the list: partial AUC, precision and recall at k."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from pairsift._typing import FloatArray
from pairsift.stats.curves import cut_counts
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
    counts = cut_counts(y, scores)
    fpr, tpr = counts.false_positive_rate, counts.recall
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


def recall_at_k(y: Any, scores: Any, k: int) -> float:
    """Return the share of all positives that are among the k highest scores, ties as in `precision_at_k`."""
    n_positive = int(np.count_nonzero(check_labels(y)))
    return precision_at_k(y, scores, k) * operator.index(k) / n_positive


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
