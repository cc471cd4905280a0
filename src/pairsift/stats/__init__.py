"""AUC, its uncertainty, and what only the top of the list is worth.

One convention for all: `y` has two values, of which the larger is the positive one (0/1, -1/+1, booleans, or any two
labels that can be ordered); a higher score means more positive; a tie of a positive and a negative counts one half.
"""

from pairsift.stats.area import auc
from pairsift.stats.curves import Confusion, CutCounts, average_precision, confusion, cut_counts
from pairsift.stats.delong import AucDifference, AucInterval, auc_interval, compare_auc
from pairsift.stats.several import PairedDifference, compare_several
from pairsift.stats.top import partial_auc, precision_at_k, recall_at_k

__all__ = [
    "AucDifference",
    "AucInterval",
    "Confusion",
    "CutCounts",
    "PairedDifference",
    "auc",
    "auc_interval",
    "average_precision",
    "compare_auc",
    "compare_several",
    "confusion",
    "cut_counts",
    "partial_auc",
    "precision_at_k",
    "recall_at_k",
]
