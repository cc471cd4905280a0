"""Bounds on p from which pairs can be drawn exactly, in O(N log N) once and O(log N) a pair.

An envelope is a function e(m) >= p(m) of the margin m = s_i - s_j with a sum over the negatives that prefix sums over
the sorted scores give for every positive at once. A positive is drawn in proportion to its sum, then a negative in
proportion to e by inverting the prefix sum. Neither needs a list of pairs.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from pairsift._typing import FloatArray, IntArray
from pairsift.all_pairs import argsort

_ROUNDING = 1e-12


class Envelope(Protocol):
    """A bound on p over all pairs, chosen ones included."""

    mass: float
    """Sum of the bound over all pairs."""
    n_pairs: int
    """Number of pairs whose bound is not zero."""

    def bound(self, margins: FloatArray) -> FloatArray:
        """Return e(m)."""

    def draw(self, count: int, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
        """Draw pairs in proportion to e, with repetition."""

    def pairs(self) -> tuple[IntArray, IntArray]:
        """Return all pairs whose bound is not zero; ask `n_pairs` first."""


class CorrectEnvelope:
    """e = min(1, h / 2) with the hinge h = [1 - m]_+; p = tanh(h / 2) is at least 0.76 e.

    For positive i let ``k0`` be the number of negatives with h > 0 and ``k2`` that with h >= 2; both are the top of
    the negatives in descending order. With ``h = h_top - (s_top - s_j)``, where h_top is the hinge with the highest
    negative, the sum over 0 < h < 2 needs only prefix sums of ``s_top - s_j``: sums of positive numbers from the top,
    which keep their relative precision where plain prefix sums of the scores would cancel.
    """

    def __init__(self, positive_scores: FloatArray, negative_scores: FloatArray) -> None:
        top = float(np.max(negative_scores))
        self._i = np.flatnonzero(positive_scores - top < 1)
        s = positive_scores[self._i]
        below = np.flatnonzero(float(np.min(positive_scores)) - negative_scores < 1)
        order = argsort(-negative_scores[below])
        self._j = below[order]
        depth = top - negative_scores[self._j]  # ascending
        self._prefix = np.concatenate([[0.0], np.cumsum(depth)])
        self._h_top = 1 - (s - top)
        self._k0 = np.searchsorted(depth, self._h_top, side="left")
        self._k2 = np.searchsorted(depth, self._h_top - 2, side="right")
        row_mass = self._k2 + self._partial(self._k0) / 2
        self._cumulative = np.cumsum(row_mass)
        self._row_mass = row_mass
        self.mass = float(self._cumulative[-1]) if len(row_mass) else 0.0
        self.n_pairs = int(np.sum(self._k0))

    def bound(self, margins: FloatArray) -> FloatArray:
        """Return min(1, h / 2)."""
        return np.clip((1 - margins) / 2, 0, 1)

    def draw(self, count: int, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
        """Draw pairs in proportion to e, with repetition."""
        row = _draw_rows(self._cumulative, count, rng)
        level = rng.random(count) * self._row_mass[row]
        k2 = self._k2[row]
        position = np.minimum(level.astype(np.int64), self._k0[row] - 1)  # right where level < k2: e = 1 there
        graded = level >= k2
        position[graded] = self._invert(row[graded], 2 * (level - k2)[graded])
        return self._i[row], self._j[position]

    def pairs(self) -> tuple[IntArray, IntArray]:
        """Return all pairs with h > 0."""
        row = np.repeat(np.arange(len(self._i)), self._k0)
        position = np.arange(len(row)) - np.repeat(np.cumsum(self._k0) - self._k0, self._k0)
        return self._i[row], self._j[position]

    def _partial(self, k: IntArray, row: IntArray | slice = slice(None)) -> FloatArray:
        """Sum of h over the negatives k2, ..., k - 1 of each row."""
        k2 = self._k2[row]
        partial: FloatArray = (k - k2) * self._h_top[row] - (self._prefix[k] - self._prefix[k2])
        return partial

    def _invert(self, row: IntArray, target: FloatArray) -> IntArray:
        """The negative at which the partial sum passes the target, by bisection."""
        low, high = self._k2[row], np.maximum(self._k0[row] - 1, self._k2[row])
        while np.any(low < high):
            middle = (low + high) // 2
            beyond = self._partial(middle + 1, row) > target
            high = np.where(beyond, middle, high)
            low = np.where(beyond, low, np.minimum(middle + 1, high))
        return np.minimum(low, len(self._j) - 1)


class LossEnvelope:
    """e = 1 where the hinge [1 - m]_+ is above zero, and 0 elsewhere.

    For each positive those are the first negatives in descending order. A pair within rounding of m = 1 may be
    proposed on either side of it; its p decides.
    """

    def __init__(self, positive_scores: FloatArray, negative_scores: FloatArray) -> None:
        self._j = argsort(-negative_scores)
        # A bit beyond the margin, so that no pair short of it is missed by rounding.
        reach = _ROUNDING * (1 + np.abs(positive_scores))
        self._k = np.searchsorted(-negative_scores[self._j], 1 - positive_scores + reach, side="left")
        self._cumulative = np.cumsum(self._k.astype(np.float64))
        self.n_pairs = int(np.sum(self._k))
        self.mass = float(self.n_pairs)

    def bound(self, margins: FloatArray) -> FloatArray:
        """Return 1 where m < 1, else 0."""
        return (margins < 1).astype(np.float64)

    def draw(self, count: int, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
        """Draw pairs in proportion to e, with repetition."""
        i = _draw_rows(self._cumulative, count, rng)
        return i, self._j[rng.integers(self._k[i])]

    def pairs(self) -> tuple[IntArray, IntArray]:
        """Return all pairs with e > 0."""
        i = np.repeat(np.arange(len(self._k)), self._k)
        return i, self._j[np.arange(len(i)) - np.repeat(np.cumsum(self._k) - self._k, self._k)]


class CloseEnvelope:
    """e = 2 exp(-|m|); p = e / (1 + exp(-|m|)) is at least e / 2.

    The sum over negatives below s_i is ``exp(-s_i) sum exp(s_j)`` and above it ``exp(s_i) sum exp(-s_j)``. The
    logarithms of the running sums are kept, so that scores of any size can be used.
    """

    def __init__(self, positive_scores: FloatArray, negative_scores: FloatArray) -> None:
        self._s = positive_scores
        self._j = argsort(negative_scores)
        ascending = negative_scores[self._j]
        self._log_below = np.logaddexp.accumulate(ascending)
        self._log_above = np.logaddexp.accumulate(-ascending[::-1])
        n = len(ascending)
        self._k = np.searchsorted(ascending, positive_scores, side="right")
        self._below = np.zeros(len(positive_scores))
        self._above = np.zeros(len(positive_scores))
        has_below, has_above = self._k > 0, self._k < n
        self._below[has_below] = np.exp(self._log_below[self._k[has_below] - 1] - positive_scores[has_below])
        self._above[has_above] = np.exp(self._log_above[n - 1 - self._k[has_above]] + positive_scores[has_above])
        self._cumulative = np.cumsum(self._below + self._above)
        self.mass = 2 * float(self._cumulative[-1])
        self.n_pairs = len(positive_scores) * n if self.mass > 0 else 0

    def bound(self, margins: FloatArray) -> FloatArray:
        """Return 2 exp(-|m|)."""
        return 2 * np.exp(-np.abs(margins))

    def draw(self, count: int, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
        """Draw pairs in proportion to e, with repetition."""
        i = _draw_rows(self._cumulative, count, rng)
        level = rng.random(count) * (self._below[i] + self._above[i])
        below = (level < self._below[i]) & (self._k[i] > 0)
        with np.errstate(divide="ignore"):  # a random number of exactly 0 means the first negative
            chance = np.log(rng.random(count))
        position = np.empty(count, dtype=np.int64)
        position[below] = self._invert_below(i[below], chance[below])
        position[~below] = self._invert_above(i[~below], chance[~below])
        return i, self._j[position]

    def pairs(self) -> tuple[IntArray, IntArray]:
        """Return all pairs."""
        n = len(self._j)
        return np.repeat(np.arange(len(self._s)), n), np.tile(self._j, len(self._s))

    def _invert_below(self, i: IntArray, log_chance: FloatArray) -> IntArray:
        last = self._k[i] - 1
        return np.minimum(np.searchsorted(self._log_below, log_chance + self._log_below[last]), last)

    def _invert_above(self, i: IntArray, log_chance: FloatArray) -> IntArray:
        n = len(self._j)
        last = np.clip(n - 1 - self._k[i], 0, n - 1)
        steps: IntArray = np.minimum(np.searchsorted(self._log_above, log_chance + self._log_above[last]), last)
        position: IntArray = n - 1 - steps
        return position


class FlatEnvelope:
    """e = 1: for any p, good for nothing but a list of all pairs."""

    def __init__(self, n_positive: int, n_negative: int) -> None:
        self._n_positive, self._n_negative = n_positive, n_negative
        self.n_pairs = n_positive * n_negative
        self.mass = float(self.n_pairs)

    def bound(self, margins: FloatArray) -> FloatArray:
        """Return 1."""
        return np.ones(len(margins))

    def draw(self, count: int, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
        """Draw pairs uniformly, with repetition."""
        return rng.integers(self._n_positive, size=count), rng.integers(self._n_negative, size=count)

    def pairs(self) -> tuple[IntArray, IntArray]:
        """Return all pairs."""
        return np.repeat(np.arange(self._n_positive), self._n_negative), np.tile(
            np.arange(self._n_negative), self._n_positive
        )


def _draw_rows(cumulative: FloatArray, count: int, rng: np.random.Generator) -> IntArray:
    """Draw places in proportion to the steps of a cumulative sum."""
    drawn = np.searchsorted(cumulative, rng.random(count) * cumulative[-1], side="right")
    last = int(np.searchsorted(cumulative, cumulative[-1], side="left"))  # the last place with a step of its own
    rows: IntArray = np.minimum(drawn, last)
    return rows
