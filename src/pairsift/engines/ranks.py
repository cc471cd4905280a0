"""The exact AUC and its interval from groups of scores, each ranked by itself.

Scores are cut into groups that follow one another; equal scores are in one group. A group counts its rows and, for
each class, the sum and the sum of squares of its rows' doubled placements among the group's rows of the other class
(`pairsift.stats.area`). The rows of earlier groups all lie below: with n of them a placement d becomes 2 n + d, so that

    sum (2 n + d) = 2 n k + sum d        sum (2 n + d)^2 = 4 n^2 k + 4 n sum d + sum d^2

All of these are whole numbers, of any size; so the area and DeLong's variances are those of all rows ranked together,
rounded once. An average of the areas of partitions would be another number.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from pairsift._typing import IntArray
from pairsift.data.tables import import_pyarrow
from pairsift.stats.area import doubled_placements, exact_sum
from pairsift.stats.delong import AucInterval, interval_of_spreads
from pairsift.stats.inputs import check_fraction

_HALF = 2**20  # sums of squares go through parts of 20 bits


def rank_group(table: Any) -> Any:
    """Return the counts of one group of (group, positive, score), as text, because they may pass 64 bits."""
    positive, scores = table["positive"].to_numpy(), table["score"].to_numpy()
    positives, negatives = np.sort(scores[positive]), np.sort(scores[~positive])
    sums = [*_moments(doubled_placements(positives, negatives)), *_moments(doubled_placements(negatives, positives))]
    counts = [int(table["group"][0].as_py()), len(positives), len(negatives), *sums]
    return import_pyarrow().table({"counts": [str(count) for count in counts]})


@dataclass
class Ranks:
    """Sums over all groups so far, in their order."""

    n_positive: int = 0
    n_negative: int = 0
    positive_sum: int = 0
    positive_squares: int = 0
    negative_sum: int = 0
    negative_squares: int = 0

    def add(self, n_positive: int, n_negative: int, ps: int, pq: int, ns: int, nq: int) -> None:
        """Add a group whose scores are all above those before."""
        below, over = self.n_negative, self.n_positive
        self.positive_sum += 2 * below * n_positive + ps
        self.positive_squares += 4 * below * below * n_positive + 4 * below * ps + pq
        self.negative_sum += 2 * over * n_negative + ns
        self.negative_squares += 4 * over * over * n_negative + 4 * over * ns + nq
        self.n_positive += n_positive
        self.n_negative += n_negative

    def interval(self, level: float = 0.95) -> AucInterval:
        """Return the AUC and its interval, as `pairsift.auc_interval` does."""
        level = check_fraction(level, "level", one_allowed=False)
        if not self.n_positive or not self.n_negative:
            raise ValueError(
                f"Rows of both classes are required; got {self.n_positive} positive and {self.n_negative} negative."
            )
        estimate = self.positive_sum / (2 * self.n_positive * self.n_negative)
        spreads = (
            _variance(self.n_positive, self.positive_sum, self.positive_squares, self.n_negative),
            _variance(self.n_negative, self.negative_sum, self.negative_squares, self.n_positive),
        )
        return interval_of_spreads(estimate, (self.n_positive, self.n_negative), spreads, level)


def merge_groups(tables: Iterable[Any]) -> Ranks:
    """Return the sums over groups, which may come in any order."""
    ranks = Ranks()
    for _, *counts in sorted([int(count) for count in table["counts"].to_pylist()] for table in tables):
        ranks.add(*counts)
    return ranks


def _variance(n: int, total: int, squares: int, n_others: int) -> float:
    """Return the sample variance of total / (2 n_others), from whole numbers."""
    if n < 2:
        return 0.0
    return (n * squares - total * total) / (n * (n - 1) * 4 * n_others * n_others)


def _moments(doubled: IntArray) -> tuple[int, int]:
    high, low = np.divmod(doubled, _HALF)
    squares = exact_sum(high * high) * _HALF**2 + 2 * exact_sum(high * low) * _HALF + exact_sum(low * low)
    return exact_sum(doubled), squares
