"""Reading rows of an open store file by place.

Random rows are read by `_core.read_ranges`, scans by long reads in order. Nothing is mapped: what is read is copied
into arrays of our own and checked there, so a file that changes can give an error but no fault.
"""

from __future__ import annotations

import os
import re
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from pairsift import _core
from pairsift._typing import AnyArray, IntArray
from pairsift.data.arrow_file import StoreError, StoreFormatError, read_arrow_file
from pairsift.data.file_state import naming
from pairsift.data.rows import CsrRows, DenseRows, MemoryRows
from pairsift.data.store_header import (
    DENSE_VALUES,
    METADATA_KEY,
    SPARSE_INDICES,
    SPARSE_STARTS,
    SPARSE_VALUES,
    StoreHeader,
)


class StoreChangedError(StoreError):
    """The file is not what it was when the store was opened."""


class StoreFile:
    """An open store: where its batches lie, and reads that are checked. Holds no memory that grows with the rows."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        # Two handles, because advice belongs to a handle: random rows must not trigger read-ahead, scans must.
        self._random, self._scan = self._open(), self._open()
        if hasattr(os, "posix_fadvise"):
            os.posix_fadvise(self._random, 0, 0, os.POSIX_FADV_RANDOM)
        self._state = _file_state(os.fstat(self._random))
        with naming(self.path):
            arrow = read_arrow_file(self._random, self._state[0], self.path)
        self.header = StoreHeader.from_json(arrow.metadata.get(METADATA_KEY), self.path)
        self._offsets, self._lengths = arrow.offsets, arrow.lengths
        self._check_sizes(arrow.batch_rows)
        self._first_rows = np.concatenate([[0], np.cumsum(arrow.batch_rows)])
        self.value = np.dtype(self.header.value)
        self.index = None if self.header.index is None else np.dtype(self.header.index)

    def _open(self) -> int:
        file = os.open(self.path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
        weakref.finalize(self, os.close, file)
        return file

    def _check_sizes(self, batch_rows: IntArray) -> None:
        header = self.header
        found = sum(batch_rows.tolist())
        if found != header.n_rows or self._offsets.shape[1] != header.n_buffers:
            raise StoreFormatError(
                f"{self.path} announces {header.n_rows} rows but holds {found}, or lacks columns. Make the file again."
            )
        for rows, lengths in zip(batch_rows.tolist(), self._lengths.tolist(), strict=True):
            for buffer, least in header.minimum_sizes(rows).items():
                if lengths[buffer] < least:
                    raise StoreFormatError(
                        f"{self.path} is damaged: {rows} rows need {least} bytes in one place, but it has "
                        f"{lengths[buffer]}. Make the file again."
                    )

    @property
    def row_bytes(self) -> int:
        """What a row takes in memory, on average and without its bounds."""
        if self.index is None:
            return self.header.n_features * self.value.itemsize
        stored = int(self._lengths[:, SPARSE_INDICES].sum() + self._lengths[:, SPARSE_VALUES].sum())
        return stored // self.header.n_rows

    def take(self, rows: IntArray) -> MemoryRows:
        """Return the given rows, in the given order."""
        self._check_unchanged()
        self._check_rows(rows)
        batch, place = self._locate(rows)
        if self.index is None:
            values = np.empty((len(rows), self.header.n_features), dtype=self.value)
            width = self.header.n_features * self.value.itemsize
            self._read(self._random, self._offsets[batch, DENSE_VALUES] + place * width, _same(width, rows), values)
            return self._checked(rows, lambda: DenseRows(values))
        bounds = np.empty((len(rows), 2), dtype=np.int64)
        self._read(self._random, self._offsets[batch, SPARSE_STARTS] + 8 * place, _same(16, rows), bounds)
        lengths = self._check_bounds(batch, bounds[:, 0], bounds[:, 1])
        return self._sparse(rows, self._random, lengths, batch, bounds[:, 0], lengths)

    def between(self, start: int, stop: int) -> MemoryRows:
        """Return the rows start <= k < stop, by one long read for each batch that they lie in."""
        self._check_unchanged()
        batch, place, count = self._runs(start, stop)
        rows = np.arange(start, stop)
        if self.index is None:
            values = np.empty((stop - start, self.header.n_features), dtype=self.value)
            width = self.header.n_features * self.value.itemsize
            self._read(self._scan, self._offsets[batch, DENSE_VALUES] + place * width, count * width, values)
            return self._checked(rows, lambda: DenseRows(values))
        # A run of n rows has n + 1 bounds.
        bounds = np.empty(int(count.sum()) + len(count), dtype=np.int64)
        self._read(self._scan, self._offsets[batch, SPARSE_STARTS] + 8 * place, 8 * (count + 1), bounds)
        ends = np.cumsum(count + 1)
        low, high = np.delete(bounds, ends - 1), np.delete(bounds, ends - count - 1)
        lengths = self._check_bounds(np.repeat(batch, count), low, high)
        first, last = bounds[ends - count - 1], bounds[ends - 1]
        return self._sparse(rows, self._scan, lengths, batch, first, last - first)

    def column_of(self, buffer: int, dtype: Any, rows: IntArray) -> AnyArray:
        """Return the values of a column of plain numbers at the given rows."""
        self._check_unchanged()
        self._check_rows(rows)
        batch, place = self._locate(rows)
        out = np.empty(len(rows), dtype=dtype)
        width = out.dtype.itemsize
        self._read(self._random, self._offsets[batch, buffer] + place * width, _same(width, rows), out)
        return out

    def column_between(self, buffer: int, dtype: Any, start: int, stop: int) -> AnyArray:
        """Return the values of a column of plain numbers at the rows start <= k < stop."""
        self._check_unchanged()
        batch, place, count = self._runs(start, stop)
        out = np.empty(stop - start, dtype=dtype)
        width = out.dtype.itemsize
        self._read(self._scan, self._offsets[batch, buffer] + place * width, count * width, out)
        return out

    def _sparse(
        self, rows: IntArray, file: int, row_lengths: IntArray, batch: IntArray, first: IntArray, lengths: IntArray
    ) -> MemoryRows:
        """Read runs of stored values (`first` and `lengths` within their `batch`) that together are the given rows."""
        assert self.index is not None
        total = int(row_lengths.sum())
        starts = np.zeros(len(rows) + 1, dtype=self.index if total < 2**31 else np.int64)
        np.cumsum(row_lengths, out=starts[1:])
        columns, values = np.empty(total, dtype=self.index), np.empty(total, dtype=self.value)
        for buffer, out in ((SPARSE_INDICES, columns), (SPARSE_VALUES, values)):
            width = out.dtype.itemsize
            self._read(file, self._offsets[batch, buffer] + first * width, lengths * width, out)
        columns = columns.astype(starts.dtype, copy=False)
        return self._checked(rows, lambda: CsrRows(values, columns, starts, self.header.n_features))

    def _check_bounds(self, batch: IntArray, low: IntArray, high: IntArray) -> IntArray:
        """Return how many values each row stores; its bounds must lie inside its batch."""
        assert self.index is not None
        room = np.minimum(
            self._lengths[batch, SPARSE_INDICES] // self.index.itemsize,
            self._lengths[batch, SPARSE_VALUES] // self.value.itemsize,
        )
        if np.any((low < 0) | (high < low) | (high > room)):
            raise StoreFormatError(f"{self.path} is damaged: the bounds of a row lie outside of its batch.")
        return high - low

    def _check_rows(self, rows: IntArray) -> None:
        n_rows = self.header.n_rows
        if len(rows) and (rows.min() < 0 or rows.max() >= n_rows):
            raise ValueError(f"Row numbers must be at least 0 and below {n_rows}; got {rows.min()} to {rows.max()}.")

    def _locate(self, rows: IntArray) -> tuple[IntArray, IntArray]:
        """Return the batch of each row, and its place in that batch."""
        batch = np.searchsorted(self._first_rows, rows, side="right") - 1
        return batch, rows - self._first_rows[batch]

    def _runs(self, start: int, stop: int) -> tuple[IntArray, IntArray, IntArray]:
        """Return the batches that hold start <= k < stop, the place of the first row in each, and the count."""
        if not 0 <= start <= stop <= self.header.n_rows:
            raise ValueError(f"Rows {start} to {stop} were asked for; the store has {self.header.n_rows} rows.")
        inner = self._first_rows[(self._first_rows > start) & (self._first_rows < stop)]
        edges = np.concatenate([[start], inner, [stop]])
        batch, place = self._locate(edges[:-1])
        return batch, place, np.diff(edges)

    def _read(self, file: int, offsets: IntArray, lengths: IntArray, out: AnyArray) -> None:
        places = np.cumsum(lengths) - lengths
        error, at = _core.read_ranges(file, offsets, lengths, places, out.reshape(-1).view(np.uint8))
        if error == -1:
            raise StoreChangedError(
                f"{self.path} ends before byte {at}, which it had when it was opened. Open it again."
            )
        if error:
            raise OSError(error, os.strerror(error), self.path)

    def _check_unchanged(self) -> None:
        try:
            state = _file_state(os.stat(self.path))
        except OSError as error:
            raise StoreChangedError(f"{self.path} is gone since it was opened ({error.strerror}).") from error
        if state != self._state:
            raise StoreChangedError(
                f"{self.path} was changed since it was opened, so its rows may not belong together. Open it again."
            )

    def _checked(self, rows: IntArray, build: Callable[[], MemoryRows]) -> MemoryRows:
        """Build rows, all of them checked; a fault names the row by its number in the store."""
        try:
            built = build()
            built.check_all()
        except ValueError as error:
            text = re.sub(r"^Row (\d+) of X", lambda found: f"Row {rows[int(found[1])]} of {self.path}", str(error))
            raise StoreFormatError(text) from error
        return built


def _same(width: int, rows: IntArray) -> IntArray:
    return np.full(len(rows), width, dtype=np.int64)


def _file_state(stat: os.stat_result) -> tuple[int, int, int, int]:
    return stat.st_size, stat.st_mtime_ns, stat.st_ino, stat.st_dev
