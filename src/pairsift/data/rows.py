"""Rows in memory, dense or sparse, as the kernels take them.

Conventions
-----------
A row source has ``n_rows``, ``n_features`` and answers ``scores(w, rows)`` (``w . x_k`` for the given row numbers),
``scores_between(w, start, stop)`` and ``take(rows)`` (those rows, in that order, in memory). Scores are always
float64 and summed in an order that depends on nothing but the row, so that a row scores the same bits wherever it is
read from.

Kernels trust their rows, so every row is checked before they see it: all rows at once when they hold at most
`FULL_CHECK_VALUES` stored values, and beyond that size each row when it is read.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from pairsift import _core
from pairsift._typing import AnyArray, FloatArray, IntArray

FULL_CHECK_VALUES = 2**24

_DENSE_KERNELS: dict[Any, type[_core._Dense]] = {
    np.dtype(np.float32): _core.DenseF32,
    np.dtype(np.float64): _core.DenseF64,
}
_CSR_KERNELS: dict[Any, type[_core._Csr]] = {
    (np.dtype(np.float32), np.dtype(np.int32)): _core.CsrF32I32,
    (np.dtype(np.float32), np.dtype(np.int64)): _core.CsrF32I64,
    (np.dtype(np.float64), np.dtype(np.int32)): _core.CsrF64I32,
    (np.dtype(np.float64), np.dtype(np.int64)): _core.CsrF64I64,
}


class RowSource(Protocol):
    """What the algorithms ask of data, wherever it lives."""

    @property
    def n_rows(self) -> int:
        """Number of rows."""

    @property
    def n_features(self) -> int:
        """Number of columns."""

    def scores(self, w: FloatArray, rows: IntArray) -> FloatArray:
        """Return ``w . x_k`` for each row number k in `rows`."""

    def scores_between(self, w: FloatArray, start: int, stop: int) -> FloatArray:
        """Return ``w . x_k`` for start <= k < stop."""

    def add_between(self, a: FloatArray, start: int, stop: int, w: FloatArray) -> None:
        """Add ``sum_k a_{k - start} x_k`` over start <= k < stop to w, in the order of the rows."""

    def take(self, rows: IntArray) -> MemoryRows:
        """Return the given rows, in the given order, in memory."""


class MemoryRows:
    """Rows in memory, with how many values they store; use `DenseRows` or `CsrRows`."""

    kernel: _core._RowKernels

    def __init__(self, n_stored: int, *, checked: bool = False) -> None:
        self.n_stored = n_stored
        self._check_on_read = n_stored > FULL_CHECK_VALUES and not checked
        if not (self._check_on_read or checked):
            self._refuse(self.kernel.first_bad_in_range(0, self.n_rows))

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.kernel.n_rows

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self.kernel.n_columns

    @property
    def row_bytes(self) -> float:
        """What a row takes, on average: its stored values and, where they are sparse, their column indices."""
        raise NotImplementedError

    def scores(self, w: FloatArray, rows: IntArray) -> FloatArray:
        """Return ``w . x_k`` for each row number k in `rows`."""
        self.check_rows(rows)
        out = np.empty(len(rows))
        self.kernel.score_rows(rows, w, out)
        return out

    def scores_between(self, w: FloatArray, start: int, stop: int) -> FloatArray:
        """Return ``w . x_k`` for start <= k < stop."""
        if self._check_on_read:
            self._refuse(self.kernel.first_bad_in_range(start, stop))
        out = np.empty(stop - start)
        self.kernel.score_range(start, stop, w, out)
        return out

    def add_between(self, a: FloatArray, start: int, stop: int, w: FloatArray) -> None:
        """Add ``sum_k a_{k - start} x_k`` over start <= k < stop to w, in the order of the rows."""
        if self._check_on_read:
            self._refuse(self.kernel.first_bad_in_range(start, stop))
        self.kernel.add_range(start, stop, a, w)

    def take(self, rows: IntArray) -> MemoryRows:
        """Return the given rows, in the given order."""
        raise NotImplementedError

    def keys(self, seed: int) -> AnyArray:
        """Return 64 bits for each row that depend on its content and the seed alone.

        Equal rows have equal keys, be they dense or sparse, float32 or float64; different rows hardly ever.
        """
        self.check_all()
        out = np.empty(self.n_rows, dtype=np.uint64)
        self.kernel.keys(seed, out)
        return out

    def check_rows(self, rows: IntArray) -> None:
        """Raise `ValueError` unless the given rows are fit for the kernels; free when all rows were checked before."""
        if self._check_on_read:
            self._refuse(self.kernel.first_bad_row(rows))

    def check_all(self) -> None:
        """Raise `ValueError` unless all rows are fit for the kernels; free when they were checked before."""
        if self._check_on_read:
            self._refuse(self.kernel.first_bad_in_range(0, self.n_rows))
            self._check_on_read = False

    def check_unchanged(self) -> None:
        """Raise `ValueError` if the rows lie in a file that was changed meanwhile; those in memory never are."""

    def check_norms(self) -> None:
        """Raise `ValueError` when the square of a row's length overflows."""
        norms = np.empty(self.n_rows)
        self.kernel.squared_norms(0, self.n_rows, norms)
        refuse_overflow(norms)

    def _refuse(self, row: int) -> None:
        if row >= 0:
            raise ValueError(f"Row {row} of X {self._fault(row)}.")

    def _fault(self, row: int) -> str:
        raise NotImplementedError


class DenseRows(MemoryRows):
    """Rows of a C-contiguous float32 or float64 array; the array is used as it is, not copied."""

    def __init__(self, values: AnyArray, *, checked: bool = False) -> None:
        self.values = values
        self.kernel: _core._Dense = _DENSE_KERNELS[values.dtype](values)
        super().__init__(values.size, checked=checked)

    @property
    def row_bytes(self) -> float:
        """What a row takes."""
        return self.n_features * self.values.itemsize

    def take(self, rows: IntArray) -> DenseRows:
        """Return the given rows, in the given order."""
        self.check_rows(rows)
        return DenseRows(self.values[rows], checked=True)

    def _fault(self, row: int) -> str:
        bad = int(np.flatnonzero(~np.isfinite(self.values[row]))[0])
        return f"contains {_describe(self.values[row, bad])} in column {bad} {_WHAT_TO_DO}"


class CsrRows(MemoryRows):
    """Rows of a compressed sparse matrix; the three arrays are used as they are, not copied."""

    def __init__(
        self, values: AnyArray, columns: AnyArray, starts: AnyArray, n_features: int, *, checked: bool = False
    ) -> None:
        self.values, self.columns, self.starts = values, columns, starts
        kernel = _CSR_KERNELS[values.dtype, columns.dtype]
        self.kernel: _core._Csr = kernel(values, columns, starts, n_features)
        super().__init__(len(values), checked=checked)

    @property
    def row_bytes(self) -> float:
        """What a row takes, on average."""
        return len(self.values) * (self.values.itemsize + self.columns.itemsize) / max(self.n_rows, 1)

    def take(self, rows: IntArray) -> CsrRows:
        """Return the given rows, in the given order."""
        self.check_rows(rows)
        lengths = self.starts[rows + 1] - self.starts[rows]
        starts = np.zeros(len(rows) + 1, dtype=self.starts.dtype)
        np.cumsum(lengths, out=starts[1:])
        values = np.empty(int(starts[-1]), dtype=self.values.dtype)
        columns = np.empty(int(starts[-1]), dtype=self.columns.dtype)
        self.kernel.gather(np.ascontiguousarray(rows, dtype=np.int64), starts, values, columns)
        return CsrRows(values, columns, starts, self.n_features, checked=True)

    def count_stored(self, rows: IntArray) -> IntArray:
        """Return how many values each of the given rows stores; -1 stands for no row."""
        counts = np.zeros(len(rows), dtype=np.int64)
        real = rows >= 0
        counts[real] = self.starts[rows[real] + 1] - self.starts[rows[real]]
        return counts

    def _fault(self, row: int) -> str:
        start, stop = int(self.starts[row]), int(self.starts[row + 1])
        if not 0 <= start <= stop <= min(len(self.values), len(self.columns)):
            return f"has the bounds {start} and {stop} in indptr, but {len(self.values)} values are stored"
        columns, values = self.columns[start:stop], self.values[start:stop]
        if np.any(columns < 0) or np.any(columns >= self.n_features):
            wrong = columns[(columns < 0) | (columns >= self.n_features)][0]
            return f"has the column index {wrong}, but X has {self.n_features} columns"
        if np.any(np.diff(columns) <= 0):
            return "has unsorted or duplicate column indices; call X.sum_duplicates() first"
        bad = int(np.flatnonzero(~np.isfinite(values))[0])
        return f"contains {_describe(values[bad])} in column {columns[bad]} {_WHAT_TO_DO}"


def as_rows(X: Any) -> MemoryRows:
    """Wrap an array or a scipy sparse matrix; copy only what the kernels cannot read.

    Float32 and float64 are kept, other numbers become float64. A dense array that is not C-contiguous is copied, so are
    sparse matrices of other formats than CSR, or with unsorted indices.
    """
    if isinstance(X, MemoryRows):
        return X
    if hasattr(X, "tocsr"):
        return _sparse_rows(X.tocsr())
    values = np.asarray(X)
    if values.ndim != 2:
        raise ValueError(
            f"X must have two dimensions (rows, columns); got {values.ndim}. "
            "Reshape a single row with X.reshape(1, -1)."
        )
    return DenseRows(np.ascontiguousarray(_as_float(values)))


def refuse_overflow(squared_norms: FloatArray) -> None:
    """Raise `ValueError` when a row is too long for float64."""
    if not np.all(np.isfinite(squared_norms)):
        raise ValueError("Values of X are so large that their squares overflow; scale the features.")


def _sparse_rows(X: Any) -> CsrRows:
    values, columns, starts = _as_float(X.data), X.indices, X.indptr
    if len(values) <= FULL_CHECK_VALUES and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
        values, columns, starts = _as_float(X.data), X.indices, X.indptr
    if columns.dtype != starts.dtype:
        columns, starts = columns.astype(np.int64), starts.astype(np.int64)
    return CsrRows(values, columns, starts, X.shape[1])


def _as_float(values: AnyArray) -> AnyArray:
    if values.dtype in (np.float32, np.float64) and values.dtype.isnative:
        return values
    if values.dtype.kind == "c":
        raise ValueError("Complex data not supported: X must hold real numbers.")
    try:
        return values.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"X must hold numbers; got dtype {values.dtype} ({error}).") from error


_WHAT_TO_DO = "(both counted from 0); impute or drop such rows first"


def _describe(value: Any) -> str:
    return "NaN" if np.isnan(value) else "infinity"
