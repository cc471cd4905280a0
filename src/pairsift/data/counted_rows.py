"""Rows that count how often they are read, for budgets of bytes."""

from __future__ import annotations

from typing import Any

from pairsift._typing import FloatArray, IntArray
from pairsift.data.rows import MemoryRows, RowSource


class CountedRows:
    """The rows of another source, bit for bit; a `RowSource` that counts."""

    read_by_place = False  # a budget of bytes is kept round by round: nothing is read ahead

    def __init__(self, source: RowSource) -> None:
        self._source = source
        self.n_rows, self.n_features = source.n_rows, source.n_features
        self.rows_read = 0

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # also while it is made or copied, when there is no source yet
            raise AttributeError(name)
        return getattr(self._source, name)

    @property
    def bytes_read(self) -> float:
        """Rows read so far, each time that they were read, times the mean size of a row."""
        return self.rows_read * row_bytes(self._source)

    def scores(self, w: FloatArray, rows: IntArray) -> FloatArray:
        """Return ``w . x_k`` for each row number k in `rows`."""
        self.rows_read += len(rows)
        return self._source.scores(w, rows)

    def scores_between(self, w: FloatArray, start: int, stop: int) -> FloatArray:
        """Return ``w . x_k`` for start <= k < stop."""
        self.rows_read += stop - start
        return self._source.scores_between(w, start, stop)

    def add_between(self, a: FloatArray, start: int, stop: int, w: FloatArray) -> None:
        """Add ``sum_k a[k - start] x_k`` over start <= k < stop to `w`, in the order of the rows."""
        self.rows_read += stop - start
        self._source.add_between(a, start, stop, w)

    def take(self, rows: IntArray) -> MemoryRows:
        """Return the given rows, in the given order, in memory."""
        self.rows_read += len(rows)
        return self._source.take(rows)


def row_bytes(source: RowSource) -> float:
    """Return the mean size of a row; a source of the user's own that does not say it counts as dense float64."""
    size = getattr(source, "row_bytes", 8 * source.n_features)
    return max(float(size), 1.0)
