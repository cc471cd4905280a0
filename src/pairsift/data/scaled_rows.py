"""Rows that stay where they are (in a row store) and are scaled when they are read."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pairsift._typing import FloatArray, IntArray
from pairsift.data.rows import MemoryRows
from pairsift.data.scaling import Scaling
from pairsift.data.store import RowStore

GATHER_ROWS = 2**14


class ScaledStore:
    """The rows of a store, scaled; a `RowSource`."""

    read_by_place = True

    def __init__(self, store: RowStore, scaling: Scaling) -> None:
        self.store, self.scaling = store, scaling
        self.n_rows, self.n_features = store.n_rows, store.n_features

    @property
    def row_bytes(self) -> float:
        """What a row of the store takes, on average."""
        return self.store.row_bytes

    def scores(self, w: FloatArray, rows: IntArray) -> FloatArray:
        """Return ``w . x_k`` for each row number k in `rows`."""
        out = np.empty(len(rows))
        for start in range(0, len(rows), GATHER_ROWS):
            taken = self.take(rows[start : start + GATHER_ROWS])
            taken.kernel.score_range(0, taken.n_rows, w, out[start : start + GATHER_ROWS])
        return out

    def scores_between(self, w: FloatArray, start: int, stop: int) -> FloatArray:
        """Return ``w . x_k`` for start <= k < stop."""
        out = np.empty(stop - start)
        for first, last, rows in self.scan(start, stop):
            rows.kernel.score_range(0, last - first, w, out[first - start : last - start])
        return out

    def add_between(self, a: FloatArray, start: int, stop: int, w: FloatArray) -> None:
        """Add ``sum_k a[k - start] x_k`` over start <= k < stop to `w`, in the order of the rows."""
        for first, last, rows in self.scan(start, stop):
            rows.kernel.add_combination(a[first - start : last - start], w)

    def scan(self, start: int, stop: int) -> Iterator[tuple[int, int, MemoryRows]]:
        """Yield the rows start <= k < stop in order, as (first, last + 1, rows)."""
        for first, last, rows in self.store.scan(start, stop):
            yield first, last, self.scaling.apply(rows)

    def take(self, rows: IntArray) -> MemoryRows:
        """Return the given rows, in the given order, in memory."""
        return self.scaling.apply(self.store.take(rows))

    def original_rows(self, rows: IntArray) -> IntArray:
        """Return the numbers that the given rows had in the data that the store was made from; -1 stays -1."""
        return self.store.original_rows(rows)
