"""Rows drawn from a problem without replacement, in memory, batch after batch.

The places of a class are put into a random order by a keyed permutation, which needs no list of them: the k-th row of
the order is computed from k and the key. So one key draws nested sets of any size, the same from memory and from a row
store, and a set of a million rows of 10^9 costs a million steps. Within a batch rows are read in rising order.

Each batch stays a piece of its own, so that growing copies nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from pairsift._typing import AnyArray, BoolArray, FloatArray, IntArray
from pairsift.data.problem import Problem
from pairsift.data.rows import CsrRows, MemoryRows

_ROUNDS = 4
_MIX = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))


Order = Callable[[MemoryRows, IntArray], AnyArray]
"""Rows and their numbers -> a whole number for each: rows with the lowest are held out first, equal ones together."""


@dataclass(frozen=True)
class Piece:
    """Rows in memory, positives first, with their sample weights and, where rows are held out, their order for that."""

    rows: MemoryRows
    n_positive: int
    positive_weights: FloatArray | None
    negative_weights: FloatArray | None
    order: AnyArray | None = None

    @property
    def n_negative(self) -> int:
        """Rows of the negative class."""
        return self.rows.n_rows - self.n_positive

    @property
    def weight(self) -> tuple[float, float]:
        """The total weight of the positives and of the negatives; a row counts 1 where no weights were given."""
        s, t = self.positive_weights, self.negative_weights
        return (
            float(self.n_positive) if s is None else float(np.sum(s)),
            float(self.n_negative) if t is None else float(np.sum(t)),
        )

    def only(self, kept: BoolArray) -> Piece:
        """Return the rows of a mask."""
        if kept.all():
            return self
        n, s, t = self.n_positive, self.positive_weights, self.negative_weights
        return Piece(
            self.rows.take(np.flatnonzero(kept)),
            int(np.count_nonzero(kept[:n])),
            None if s is None else s[kept[:n]],
            None if t is None else t[kept[n:]],
            None if self.order is None else self.order[kept],
        )


class Drawing:
    """The rows of a problem in a random order within each class, read as they are asked for.

    A row store tells the system of the rows of a piece before it waits for the first of them. `population` is how many
    rows there are where those of the problem are themselves a sample. `order` is asked for each piece.
    """

    def __init__(
        self,
        problem: Problem,
        rng: np.random.Generator,
        population: int | None = None,
        order: Order | None = None,
    ) -> None:
        self.problem = problem
        self._order = order
        self._population = max(problem.n_points, population or 0)
        self._keys = [rng.integers(2**64, size=_ROUNDS, dtype=np.uint64) for _ in range(2)]
        self.n_positive = self.n_negative = 0

    @property
    def n_points(self) -> int:
        """Rows drawn so far."""
        return self.n_positive + self.n_negative

    @property
    def share(self) -> float:
        """Rows drawn so far, as a share of all."""
        return self.n_points / self._population

    def draw(self, n_positive: int, n_negative: int) -> Piece | None:
        """Read on until so many rows of each class are drawn, or all; None when they are drawn already."""
        problem = self.problem
        goal = min(n_positive, problem.n_positive), min(n_negative, problem.n_negative)
        goal = max(goal[0], self.n_positive), max(goal[1], self.n_negative)
        if goal == (self.n_positive, self.n_negative):
            return None
        positive = _places(problem.n_positive, self._keys[0], self.n_positive, goal[0])
        negative = _places(problem.n_negative, self._keys[1], self.n_negative, goal[1])
        numbers = [np.asarray(problem.positives[positive]), np.asarray(problem.negatives[negative])]
        s, t = problem.positive_weights, problem.negative_weights
        rows = problem.rows.take(np.concatenate(numbers))
        rows.check_norms()
        piece = Piece(
            rows,
            len(positive),
            None if s is None else s[positive],
            None if t is None else t[negative],
            None if self._order is None else self._order(rows, np.concatenate(numbers)),
        )
        self.n_positive, self.n_negative = goal
        return piece


def _places(n: int, keys: AnyArray, start: int, stop: int) -> IntArray:
    """Return the places that come start-th to stop-th in the order of the keys, rising."""
    start, stop = min(start, n), min(stop, n)
    if start == 0 and stop == n:
        return np.arange(n)
    return np.sort(permute(n, keys, np.arange(start, stop)))


def permute(n: int, keys: AnyArray, k: IntArray) -> IntArray:
    """Return where a keyed permutation of 0, ..., n - 1 puts each k.

    A Feistel network permutes 0, ..., 4^b - 1, the least such power that holds n; what falls beyond n is sent through
    again until it does not.
    """
    half = np.uint64(max(1, -(-(max(n - 1, 1)).bit_length() // 2)))
    mask = np.uint64((1 << int(half)) - 1)
    value: AnyArray = k.astype(np.uint64)
    todo = np.arange(len(value))
    while len(todo):
        left: AnyArray
        right: AnyArray
        left, right = value[todo] >> half, value[todo] & mask
        for key in keys:
            left, right = right, left ^ (mix_bits(right + key) & mask)
        value[todo] = (left << half) | right
        todo = todo[value[todo] >= n]
    return value.astype(np.int64)


def mix_bits(x: AnyArray) -> AnyArray:
    """Mix the bits of 64-bit numbers (the finisher of splitmix64)."""
    x = (x ^ (x >> np.uint64(30))) * _MIX[0]
    x = (x ^ (x >> np.uint64(27))) * _MIX[1]
    out: AnyArray = x ^ (x >> np.uint64(31))
    return out


def compacted(pieces: Sequence[Piece]) -> tuple[list[Piece], IntArray | None]:
    """Return sparse pieces with only the columns that occur in them, and which these are; None where nothing is saved.

    Few rows of very many columns leave most columns empty, and every vector as long as all of them.
    """
    every = [piece.rows for piece in pieces if isinstance(piece.rows, CsrRows)]
    n_features = pieces[0].rows.n_features
    if len(every) < len(pieces) or n_features < sum(rows.values.size for rows in every) / 2:
        return list(pieces), None
    occurs = np.zeros(n_features, dtype=bool)  # an eighth of what one w takes
    for rows in every:
        occurs[rows.columns] = True
    columns, places = np.flatnonzero(occurs), np.cumsum(occurs) - 1
    kept = [
        CsrRows(rows.values, places[rows.columns].astype(rows.columns.dtype), rows.starts, max(len(columns), 1))
        for rows in every
    ]
    return [replace(piece, rows=rows) for piece, rows in zip(pieces, kept, strict=True)], columns


def joined_weights(parts: Sequence[FloatArray | None]) -> FloatArray | None:
    """Return the weights of all parts in one array, None where there are none."""
    known = [part for part in parts if part is not None]
    return np.concatenate(known) if known else None
