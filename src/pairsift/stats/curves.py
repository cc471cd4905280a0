"""What every cut of the list gives: the points of the ROC and the precision-recall curve, and numbers read from them.

A cut at the score c calls all rows with a score of at least c positive. Rows that tie are on one side of every cut, so
that there is one point for each distinct score, and a tie is a straight stretch of the ROC curve.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from pairsift._typing import AnyArray, FloatArray, IntArray
from pairsift.stats.inputs import check_labels, check_scores


@dataclass(frozen=True)
class CutCounts:
    """Positives (`hits`) and negatives (`false_alarms`) at or above each distinct score, from the highest down.

    Both begin with 0, the cut above all rows, and end with all rows of their class. `scores` are the cuts; the first
    is infinite.
    """

    scores: FloatArray
    hits: IntArray
    false_alarms: IntArray

    @property
    def false_positive_rate(self) -> FloatArray:
        """Share of the negatives at or above each cut."""
        return np.asarray(self.false_alarms / self.false_alarms[-1])

    @property
    def recall(self) -> FloatArray:
        """Share of the positives at or above each cut: the true-positive rate."""
        return np.asarray(self.hits / self.hits[-1])

    @property
    def precision(self) -> FloatArray:
        """Share of positives among the rows at or above each cut; for the empty list it is that of the first cut."""
        share = self.hits[1:] / (self.hits[1:] + self.false_alarms[1:])
        return np.append(share[0], share)


class Confusion(NamedTuple):
    """How many rows of each class score above a threshold."""

    true_positive: int
    false_positive: int
    false_negative: int
    true_negative: int


def cut_counts(y: Any, scores: Any) -> CutCounts:
    """Return how many rows of each class are at or above each distinct score, in O(N log N).

    Parameters
    ----------
    y : array of two values
        The larger one is positive.
    scores : array
        Finite numbers, the higher the more positive.
    """
    is_positive = check_labels(y)
    scores = check_scores(scores, len(is_positive))
    order = np.argsort(scores)[::-1]
    ordered: AnyArray = scores[order]
    last_of_tie = np.append(np.flatnonzero(ordered[1:] != ordered[:-1]), len(ordered) - 1)
    hits = np.cumsum(is_positive[order], dtype=np.int64)[last_of_tie]
    cuts = np.append(np.inf, ordered[last_of_tie].astype(np.float64))
    return CutCounts(cuts, np.append(0, hits), np.append(0, last_of_tie + 1 - hits))


def average_precision(y: Any, scores: Any) -> float:
    """Return the average precision: ``sum_n (R_n - R_{n-1}) P_n`` over the cuts, from the highest score down.

    R is recall and P precision. No line is drawn between the points, which would promise too much; scikit-learn's
    ``average_precision_score`` is the same. Scores that say nothing get the share of positives.
    """
    counts = cut_counts(y, scores)
    return float(np.sum(np.diff(counts.hits) * counts.precision[1:]) / counts.hits[-1])


def confusion(y: Any, scores: Any, threshold: float = 0.0) -> Confusion:
    """Return how many rows of each class score above the threshold (called positive) and not above it."""
    is_positive = check_labels(y)
    above = check_scores(scores, len(is_positive)) > threshold
    n_positive, n_above = int(np.count_nonzero(is_positive)), int(np.count_nonzero(above))
    hits = int(np.count_nonzero(above & is_positive))
    return Confusion(hits, n_above - hits, n_positive - hits, len(is_positive) - n_positive - n_above + hits)
