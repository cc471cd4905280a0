"""Data that comes in blocks: anything that can be iterated more than once and yields `Block` each time.

A block source is an ordinary Python iterable. Its blocks, one after another, are the data; iterating again gives the
same blocks. Rows of all blocks are dense with the same number of columns, or all sparse (a later block may have more
columns, as text shows its width only as it is read). `data/block_rows.py` lets the solvers run over any of them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from pairsift._typing import AnyArray, FloatArray, IntArray
from pairsift.data.file_state import FileState
from pairsift.data.generate import GRAIN, RankingLaw
from pairsift.data.problem import check_sample_weight
from pairsift.data.rows import CsrRows, DenseRows, MemoryRows, as_rows
from pairsift.data.store import RowStore
from pairsift.data.svmlight import ZeroBased, iterate_svmlight, scan_svmlight

BLOCK_BYTES = 2**22


@dataclass(frozen=True)
class Block:
    """Some rows of the data, in order, with their labels as the data have them.

    `first_row` is the place of the first row among all rows of the source. `original` are the numbers that the rows had
    where they came from, when those are not first_row, first_row + 1, ...
    """

    rows: MemoryRows
    y: AnyArray
    weights: FloatArray | None
    first_row: int
    original: IntArray | None = None

    def __post_init__(self) -> None:
        n = self.rows.n_rows
        parts = {"y": self.y, "weights": self.weights, "original": self.original}
        for name, part in parts.items():
            if part is not None and part.shape != (n,):
                raise ValueError(f"A block of {n} rows needs {name} of shape ({n},); got {part.shape}.")

    @property
    def original_rows(self) -> IntArray:
        """The original number of each row."""
        if self.original is not None:
            return self.original
        return np.arange(self.first_row, self.first_row + self.rows.n_rows)


class BlockSource(Protocol):
    """An iterable of blocks; every iteration begins anew and gives the same."""

    def __iter__(self) -> Iterator[Block]: ...


class ArrayBlocks:
    """An array or a sparse matrix with its labels, cut into blocks of `block_rows` rows (by default of about 4 MB)."""

    def __init__(
        self, X: Any, y: AnyArray, sample_weight: AnyArray | None = None, *, block_rows: int | None = None
    ) -> None:
        self._rows, self._y = as_rows(X), np.asarray(y)
        if self._y.shape != (self._rows.n_rows,):
            raise ValueError(f"y must have one label for each of the {self._rows.n_rows} rows; got {self._y.shape}.")
        self._weights = None if sample_weight is None else check_sample_weight(sample_weight, self._rows.n_rows)
        self._step = _check_step(block_rows) or max(1, BLOCK_BYTES // _row_bytes(self._rows))

    def __iter__(self) -> Iterator[Block]:
        for start in range(0, self._rows.n_rows, self._step):
            part = slice(start, min(start + self._step, self._rows.n_rows))
            weights = None if self._weights is None else self._weights[part]
            yield Block(_slice(self._rows, part.start, part.stop), self._y[part], weights, start)
            self._rows.check_unchanged()  # after they were used: mapped rows are read when they are needed


class StoreBlocks:
    """A row store in the order of the file: the positives first. Each row knows its original number."""

    def __init__(self, store: RowStore, *, block_bytes: int = BLOCK_BYTES) -> None:
        self._store, self._block_bytes = store, block_bytes

    def __iter__(self) -> Iterator[Block]:
        store = self._store
        for start, stop, rows in store.scan(0, store.n_rows, self._block_bytes):
            weights, original = store.weights_between(start, stop), store.original_between(start, stop)
            yield Block(rows, store.labels_between(start, stop), weights, start, original)


class SvmlightBlocks:
    """A file of svmlight text, read in blocks of about `block_bytes` of text.

    The text is read once beforehand, to check it and because only its end tells whether it counts from zero and how
    many columns it has (see `pairsift.data.svmlight`).
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        n_features: int | None = None,
        zero_based: ZeroBased = "auto",
        dtype: npt.DTypeLike = np.float64,
        threads: int | None = None,
        block_bytes: int = BLOCK_BYTES,
    ) -> None:
        self._path, self._dtype, self._threads, self._block_bytes = path, dtype, threads, block_bytes
        self._state = FileState(path)
        self.summary = scan_svmlight(
            path, n_features=n_features, zero_based=zero_based, threads=threads, block_bytes=block_bytes
        )

    def __iter__(self) -> Iterator[Block]:
        first = 0
        for values, indices, starts, y, _ in iterate_svmlight(
            self._path, dtype=self._dtype, threads=self._threads, block_bytes=self._block_bytes
        ):
            self._state.check()  # every pass must see what the first one saw
            columns = indices if self.summary.zero_based else indices - indices.dtype.type(1)
            yield Block(CsrRows(values, columns, starts, self.summary.n_features), y, None, first)
            first += len(y)


class GeneratedBlocks:
    """The data of `make_ranking`, made anew in each iteration, `block_grains` grains of 4096 rows at a time."""

    def __init__(self, law: RankingLaw, *, block_grains: int = 4) -> None:
        self._law, self._step = law, _check_step(block_grains) or 1

    def __iter__(self) -> Iterator[Block]:
        n_grains = -(-self._law.n_rows // GRAIN)
        for first in range(0, n_grains, self._step):
            rows, positive = self._law.between(first, min(first + self._step, n_grains))
            yield Block(rows, positive.astype(np.int64), None, first * GRAIN)


def _slice(rows: MemoryRows, start: int, stop: int) -> MemoryRows:
    if isinstance(rows, DenseRows):
        return DenseRows(rows.values[start:stop])
    assert isinstance(rows, CsrRows)
    rows.check_rows(np.arange(start, stop))
    low, high = rows.starts[start], rows.starts[stop]
    starts = rows.starts[start : stop + 1] - low
    return CsrRows(rows.values[low:high], rows.columns[low:high], starts, rows.n_features)


def _row_bytes(rows: MemoryRows) -> int:
    if isinstance(rows, DenseRows):
        return max(1, rows.values.nbytes // max(1, rows.n_rows))
    assert isinstance(rows, CsrRows)
    return 1 + (rows.values.nbytes + rows.columns.nbytes) // max(1, rows.n_rows)


def _check_step(step: int | None) -> int | None:
    if step is not None and step < 1:
        raise ValueError(f"A block needs at least one row; got {step}.")
    return step
