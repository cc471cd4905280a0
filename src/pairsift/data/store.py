"""The row store: rows in a file, read by place, so that learning needs no more memory than the rows it draws.

A store is an Arrow IPC file that any Arrow tool reads (`store_header` says what is in it): positives first, then
negatives, the order within a class kept, each row in one piece and with its original number. Scores come from the same
kernels as those of rows in memory, and are the same bits.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Self

import numpy as np

from pairsift._typing import AnyArray, BoolArray, FloatArray, IntArray
from pairsift.data.arrow_file import StoreError, StoreFormatError
from pairsift.data.problem import Problem, RowRange, check_sample_weight, make_problem
from pairsift.data.rows import MemoryRows
from pairsift.data.store_file import StoreChangedError, StoreFile

__all__ = ["RowStore", "StoreChangedError", "StoreError", "StoreFormatError"]

SCAN_BYTES = 2**21  # of one step of a scan: few enough to stay in the processor's cache
SCAN_ROWS = 2**16
GATHER_BYTES = 2**24  # of random rows in memory while they are scored


class RowStore:
    """Rows of a store file; a `RowSource` that brings its labels.

    Row numbers are places in the file: 0 <= k < n_positive are the positives. Any number of threads may read at once.

    Parameters
    ----------
    path : str or path
        A file made by `pairsift convert`, `convert` or `make_ranking`.

    Raises
    ------
    StoreFormatError
        The file is foreign, truncated, damaged or of a later version; a `ValueError`.
    StoreChangedError
        From every later read: the file was changed, replaced or removed meanwhile; a `ValueError`.
    """

    read_by_place = True

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._file = StoreFile(path)
        self.path, self.header = self._file.path, self._file.header

    def __reduce__(self) -> tuple[type[Self], tuple[str]]:
        return type(self), (self.path,)  # another process opens the file for itself

    def __repr__(self) -> str:
        kind = "dense" if self.header.index is None else "sparse"
        return (
            f"RowStore({self.path!r}): {self.n_positive} positive and {self.n_negative} negative rows x "
            f"{self.n_features} columns, {kind} {self.header.value}"
        )

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.header.n_rows

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self.header.n_features

    @property
    def n_positive(self) -> int:
        """N+; these rows come first."""
        return self.header.n_positive

    @property
    def n_negative(self) -> int:
        """N-."""
        return self.header.n_negative

    @property
    def row_bytes(self) -> float:
        """What a row takes, on average: its stored values and, where they are sparse, their column indices."""
        return self._file.row_bytes

    @property
    def has_weights(self) -> bool:
        """Whether the rows have sample weights."""
        return self.header.has_weights

    @property
    def labels(self) -> AnyArray:
        """The negative and the positive label."""
        return np.array(self.header.labels)

    def positive_between(self, start: int, stop: int) -> BoolArray:
        """Return whether each of the rows start <= k < stop is positive."""
        return np.arange(start, stop) < self.n_positive

    def labels_between(self, start: int, stop: int) -> AnyArray:
        """Return the labels of the rows start <= k < stop."""
        return self.labels[self.positive_between(start, stop).astype(np.int64)]

    def original_rows(self, rows: IntArray) -> IntArray:
        """Return the numbers that the given rows had in the data that the store was made from; -1 stays -1."""
        real = rows >= 0
        out = np.full(len(rows), -1, dtype=np.int64)
        out[real] = self._file.column_of(self.header.row_buffer, np.int64, rows[real])
        return out

    def original_between(self, start: int, stop: int) -> IntArray:
        """Return the original numbers of the rows start <= k < stop."""
        return self._file.column_between(self.header.row_buffer, np.int64, start, stop)

    def weights(self, rows: IntArray) -> FloatArray | None:
        """Return the sample weights of the given rows, or None when the store has none."""
        return self._file.column_of(self.header.weight_buffer, np.float64, rows) if self.has_weights else None

    def weights_between(self, start: int, stop: int) -> FloatArray | None:
        """Return the sample weights of the rows start <= k < stop, or None when the store has none."""
        if not self.has_weights:
            return None
        return self._file.column_between(self.header.weight_buffer, np.float64, start, stop)

    def problem(self) -> Problem:
        """Return the rows with their classes; without weights this costs no memory, with them 8 bytes a row."""
        positives, negatives = RowRange(0, self.n_positive), RowRange(self.n_positive, self.n_rows)
        stored = self.weights_between(0, self.n_rows)
        if stored is None:
            return Problem(self, positives, negatives)
        weights = check_sample_weight(stored, self.n_rows)
        if np.any(weights == 0):
            return make_problem(self, self.positive_between(0, self.n_rows), weights)
        return Problem(self, positives, negatives, weights[: self.n_positive], weights[self.n_positive :])

    def scores(self, w: FloatArray, rows: IntArray) -> FloatArray:
        """Return ``w . x_k`` for each row number k in `rows`."""
        out = np.empty(len(rows))
        step = max(1, GATHER_BYTES // max(16, self._file.row_bytes))
        for start in range(0, len(rows), step):
            taken = self.take(rows[start : start + step])
            taken.kernel.score_range(0, taken.n_rows, w, out[start : start + step])
        return out

    def scores_between(self, w: FloatArray, start: int, stop: int) -> FloatArray:
        """Return ``w . x_k`` for start <= k < stop."""
        out = np.empty(max(0, stop - start))
        for first, last, rows in self.scan(start, stop):
            rows.kernel.score_range(0, last - first, w, out[first - start : last - start])
        return out

    def add_between(self, a: FloatArray, start: int, stop: int, w: FloatArray) -> None:
        """Add ``sum_k a[k - start] x_k`` over start <= k < stop to `w`, in the order of the rows."""
        for first, last, rows in self.scan(start, stop):
            rows.kernel.add_combination(a[first - start : last - start], w)

    def scan(self, start: int, stop: int, step_bytes: int = SCAN_BYTES) -> Iterator[tuple[int, int, MemoryRows]]:
        """Yield the rows start <= k < stop in order, as (first, last + 1, rows) with about `step_bytes` at a time."""
        step = min(SCAN_ROWS, max(1, step_bytes // max(1, self._file.row_bytes)))
        for first in range(start, stop, step):
            last = min(first + step, stop)
            yield first, last, self.between(first, last)

    def between(self, start: int, stop: int) -> MemoryRows:
        """Return the rows start <= k < stop in memory."""
        return self._file.between(start, stop)

    def take(self, rows: IntArray) -> MemoryRows:
        """Return the given rows, in the given order, in memory."""
        return self._file.take(rows)
