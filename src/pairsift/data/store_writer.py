"""Writing a row store: rows come in pieces, positives first, and leave as record batches of even size."""

from __future__ import annotations

import os
from contextlib import ExitStack
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np

from pairsift._typing import AnyArray, BoolArray, FloatArray, IntArray
from pairsift.data.replacing import replacing
from pairsift.data.rows import CsrRows, DenseRows, MemoryRows
from pairsift.data.store_header import METADATA_KEY, StoreHeader

BATCH_BYTES = 2**23  # of one record batch


def import_pyarrow() -> Any:
    """Import pyarrow, or say in one line how to get it."""
    try:
        import pyarrow
    except ImportError as error:
        raise ValueError('Writing a row store needs pyarrow: pip install "pairsift[arrow]"') from error
    return pyarrow


class _Piece(NamedTuple):
    """Rows as arrays; `columns` and `starts` (which begin at 0) are None when dense."""

    values: AnyArray
    columns: AnyArray | None
    starts: AnyArray | None
    original: IntArray
    weights: FloatArray | None


class StoreWriter:
    """A context manager that makes the file `path` when, and only when, all rows that `header` promises were written.

    Rows go to a file beside `path`, which is renamed when it is complete (see `replacing`). Memory in use is a small
    multiple of `batch_bytes` and of the rows handed to one `write`.
    """

    def __init__(self, path: str | os.PathLike[str], header: StoreHeader, batch_bytes: int = BATCH_BYTES) -> None:
        self.header = header
        self.n_written = 0
        self._path = path
        self._batch_bytes = max(1, batch_bytes)
        self._pending: list[_Piece] = []
        self._pending_bytes = 0

    def __enter__(self) -> Self:
        pyarrow = import_pyarrow()
        self._schema = _arrow_schema(pyarrow, self.header)
        with ExitStack() as stack:
            file = stack.enter_context(replacing(self._path))
            # Complains when rows are missing, before the file takes its final name.
            stack.push(self._refuse_incomplete)
            self._sink = stack.enter_context(pyarrow.ipc.new_file(pyarrow.PythonFile(file, mode="w"), self._schema))
            stack.push(self._flush_rest)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> bool | None:
        return self._stack.__exit__(kind, error, trace)

    def write(self, rows: MemoryRows, original: IntArray, weights: FloatArray | None = None) -> None:
        """Append rows; all positives must have been appended before the first negative.

        The arrays are kept, not copied, until a batch is full: do not change them afterwards.
        """
        if len(original) != rows.n_rows or (weights is None) == self.header.has_weights:
            raise ValueError("Each row of a store needs its original number, and a weight when the store has weights.")
        rows.check_all()
        for piece in self._cut(self._as_piece(rows, original, weights)):
            self._pending.append(piece)
            self._pending_bytes += _bytes(piece)
            if self._pending_bytes >= self._batch_bytes:
                self._flush()

    def _as_piece(self, rows: MemoryRows, original: IntArray, weights: FloatArray | None) -> _Piece:
        header = self.header
        if isinstance(rows, DenseRows) and header.index is None and rows.n_features == header.n_features:
            return _Piece(rows.values.astype(header.value, copy=False), None, None, original, weights)
        if isinstance(rows, CsrRows) and header.index is not None and rows.n_features <= header.n_features:
            first, last = int(rows.starts[0]), int(rows.starts[-1])
            values = rows.values[first:last].astype(header.value, copy=False)
            columns = rows.columns[first:last].astype(header.index, copy=False)
            return _Piece(values, columns, rows.starts.astype(np.int64) - first, original, weights)
        raise ValueError(
            f"Rows of a store are all dense or all sparse, with {header.n_features} columns; "
            f"got {type(rows).__name__} with {rows.n_features}."
        )

    def _cut(self, piece: _Piece) -> list[_Piece]:
        """Cut rows into parts of about the size of a batch, so that no batch is much larger than that."""
        n = len(piece.original)
        parts = min(n, -(-_bytes(piece) // self._batch_bytes))
        if parts <= 1:
            return [piece] if n else []
        if piece.starts is None:
            cuts = np.linspace(0, n, parts + 1).astype(np.int64)
        else:
            wanted = np.linspace(0, int(piece.starts[-1]), parts + 1)
            cuts = np.unique(np.concatenate([[0], np.searchsorted(piece.starts, wanted[1:-1]), [n]]))
        return [_slice(piece, int(a), int(b)) for a, b in pairwise(cuts)]

    def _flush(self) -> None:
        if not self._pending:
            return
        piece = self._pending[0] if len(self._pending) == 1 else _join(self._pending)
        self._pending, self._pending_bytes = [], 0
        pyarrow = import_pyarrow()
        columns = _arrow_columns(pyarrow, self._schema, piece, self.n_written, self.header.n_positive)
        self._sink.write_batch(pyarrow.RecordBatch.from_arrays(columns, schema=self._schema))
        self.n_written += len(piece.original)

    def _flush_rest(self, kind: Any, error: Any, trace: Any) -> None:
        if kind is None:
            self._flush()

    def _refuse_incomplete(self, kind: Any, error: Any, trace: Any) -> None:
        if kind is None and self.n_written != self.header.n_rows:
            raise ValueError(f"{self.header.n_rows} rows were announced, but {self.n_written} were written.")


def _bytes(piece: _Piece) -> int:
    return sum(part.nbytes for part in piece if part is not None)


def _slice(piece: _Piece, start: int, stop: int) -> _Piece:
    original = piece.original[start:stop]
    weights = None if piece.weights is None else piece.weights[start:stop]
    if piece.starts is None or piece.columns is None:
        return _Piece(piece.values[start:stop], None, None, original, weights)
    stored = slice(int(piece.starts[start]), int(piece.starts[stop]))
    starts = piece.starts[start : stop + 1] - piece.starts[start]
    return _Piece(piece.values[stored], piece.columns[stored], starts, original, weights)


def _join(pieces: list[_Piece]) -> _Piece:
    values = np.concatenate([piece.values for piece in pieces])
    original = np.concatenate([piece.original for piece in pieces])
    weights = _concatenate([piece.weights for piece in pieces])
    columns = _concatenate([piece.columns for piece in pieces])
    if columns is None:
        return _Piece(values, None, None, original, weights)
    lengths = np.concatenate([np.diff(piece.starts) for piece in pieces if piece.starts is not None])
    starts = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=starts[1:])
    return _Piece(values, columns, starts, original, weights)


def _concatenate(parts: list[AnyArray | None]) -> AnyArray | None:
    present = [part for part in parts if part is not None]
    return np.concatenate(present) if present else None


def _arrow_schema(pyarrow: Any, header: StoreHeader) -> Any:
    value = pyarrow.field("value", pyarrow.type_for_alias(header.value), nullable=False)
    if header.index is None:
        features = pyarrow.list_(value, header.n_features)
    else:
        index = pyarrow.field("index", pyarrow.type_for_alias(header.index), nullable=False)
        features = pyarrow.large_list(pyarrow.field("item", pyarrow.struct([index, value]), nullable=False))
    columns = [("features", features), ("row", pyarrow.int64()), ("positive", pyarrow.bool_())]
    if header.has_weights:
        columns.append(("weight", pyarrow.float64()))
    fields = [pyarrow.field(name, kind, nullable=False) for name, kind in columns]
    return pyarrow.schema(fields, metadata={METADATA_KEY: header.to_json()})


def _arrow_columns(pyarrow: Any, schema: Any, piece: _Piece, first: int, n_positive: int) -> list[Any]:
    n = len(piece.original)
    kind = schema.field("features").type
    if piece.starts is None:
        stored = _flat(pyarrow, piece.values.reshape(-1))
        features = pyarrow.Array.from_buffers(kind, n, [None], children=[stored])
    else:
        pair = [_flat(pyarrow, piece.columns), _flat(pyarrow, piece.values)]
        stored = pyarrow.Array.from_buffers(kind.value_type, len(piece.values), [None], children=pair)
        features = pyarrow.Array.from_buffers(kind, n, [None, pyarrow.py_buffer(piece.starts)], children=[stored])
    columns = [features, _flat(pyarrow, piece.original), _bits(pyarrow, np.arange(first, first + n) < n_positive)]
    if piece.weights is not None:
        columns.append(_flat(pyarrow, piece.weights))
    return columns


def _bits(pyarrow: Any, flags: BoolArray) -> Any:
    # Not pyarrow.array, which imports pandas where it is installed: 25 MB and half a second.
    packed = np.packbits(flags, bitorder="little")
    return pyarrow.Array.from_buffers(pyarrow.bool_(), len(flags), [None, pyarrow.py_buffer(packed)])


def _flat(pyarrow: Any, values: AnyArray | None) -> Any:
    values = np.ascontiguousarray(values)
    return pyarrow.Array.from_buffers(
        pyarrow.from_numpy_dtype(values.dtype), len(values), [None, pyarrow.py_buffer(values)]
    )
