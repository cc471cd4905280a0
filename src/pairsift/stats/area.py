"""The area under the ROC curve from rank sums.

    auc = P(s+ > s-) + 1/2 P(s+ = s-)

over a positive and a negative drawn at random. A tie counts one half, as everywhere in statistics; the paper's loss L_D
counts a tie as an error, so that 1 - L_D is smaller than `auc` by half the share of tied pairs.

Conventions
-----------
The *doubled placement* of a key among sorted values is 2 * (number below it) + (number equal to it): a whole number, so
that the sums over all N+ * N- pairs are exact, and their sum is a Python integer, which does not overflow.

Each class is sorted by itself: NumPy sorts plain numbers several times faster than it finds the order of the rows, and
a search for ascending keys walks through memory once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pairsift._typing import AnyArray, BoolArray, FloatArray, IntArray
from pairsift.data.problem import check_sample_weight
from pairsift.stats.inputs import check_labels, check_scores

# Rows whose placements are summed in 64 bits before they join a Python integer: safe for 2^42 rows of the other class.
_CHUNK = 2**20


def auc(y: Any, scores: Any, sample_weight: Any = None) -> float:
    """Return the area under the ROC curve; a tie counts one half (in the paper's L_D it is an error).

    Parameters
    ----------
    y : array of two values
        The larger one is positive.
    scores : array
        Finite numbers, the higher the more positive.
    sample_weight : array, optional
        Weights that are not negative. A pair weighs the product of its rows' weights; rows of weight zero do not count.

    Returns
    -------
    float
        In [0, 1]. Without weights it is the exact ratio of two whole numbers, rounded once.
    """
    is_positive = check_labels(y)
    scores = check_scores(scores, len(is_positive))
    if sample_weight is not None:
        return _weighted_auc(is_positive, scores, check_sample_weight(sample_weight, len(scores)))
    positives, negatives = np.sort(scores[is_positive]), np.sort(scores[~is_positive])
    # Fewer keys are cheaper; what the negatives win is what the positives lose.
    if len(positives) <= len(negatives):
        return area(doubled_placements(positives, negatives), len(negatives))
    pairs = len(positives) * len(negatives)
    return (2 * pairs - exact_sum(doubled_placements(negatives, positives))) / (2 * pairs)


def area(doubled: IntArray, n_others: int) -> float:
    """Return the mean placement; dividing Python integers rounds correctly at any size."""
    return exact_sum(doubled) / (2 * len(doubled) * n_others)


def doubled_placements(keys: AnyArray, sorted_values: AnyArray) -> IntArray:
    """Return 2 * (number of values below) + (number of values equal) for each key; ascending keys are fastest."""
    below: IntArray = np.searchsorted(sorted_values, keys, side="left")
    below += np.searchsorted(sorted_values, keys, side="right")
    return below


def exact_sum(counts: IntArray) -> int:
    """Sum whole numbers without overflow."""
    return sum(int(counts[start : start + _CHUNK].sum()) for start in range(0, len(counts), _CHUNK))


def _weighted_auc(is_positive: BoolArray, scores: AnyArray, weights: FloatArray) -> float:
    positives, positive_weights = _sorted_class(scores, weights, is_positive & (weights > 0))
    negatives, negative_weights = _sorted_class(scores, weights, ~is_positive & (weights > 0))
    if len(positives) == 0 or len(negatives) == 0:
        raise ValueError(
            "sample_weight must be above zero in some row of each class; got it above zero in "
            f"{len(positives)} positive and {len(negatives)} negative rows."
        )
    weight_below = np.concatenate([[0.0], np.cumsum(negative_weights)])
    left = np.searchsorted(negatives, positives, side="left")
    right = np.searchsorted(negatives, positives, side="right")
    doubled = np.sum(positive_weights * (weight_below[left] + weight_below[right]))
    return min(float(doubled / (2.0 * np.sum(positive_weights) * weight_below[-1])), 1.0)


def _sorted_class(scores: AnyArray, weights: FloatArray, chosen: BoolArray) -> tuple[AnyArray, FloatArray]:
    """Return a class in the order of its scores, its weights divided by the largest so that no sum overflows."""
    scores, weights = scores[chosen], weights[chosen]
    order = np.argsort(scores)
    return scores[order], weights[order] / np.max(weights, initial=0.0)
