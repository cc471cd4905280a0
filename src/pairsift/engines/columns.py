"""The columns of a table on an engine, and record batches as rows.

Features are numeric columns; or one column of lists of numbers; or one column of vectors as Spark has them, structs of
(type, size, indices, values). Columns of numbers and lists are dense rows. Vectors are one or the other by the share
of numbers other than zero in the whole table, whatever each of them is by itself: so the bits of a score do not depend
on how the rows were stored or divided.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from pairsift._typing import AnyArray, FloatArray, IntArray
from pairsift.data.encoding import is_number, numbers_of
from pairsift.data.problem import check_weights
from pairsift.data.rows import CsrRows, DenseRows, MemoryRows
from pairsift.data.tables import import_pyarrow

TABLE = "the table"
_SPARSE_VECTOR = 0


@dataclass(frozen=True)
class Columns:
    """Which columns hold what.

    Attributes
    ----------
    features : tuple of str
        Columns of numbers; or one column of lists or of vectors.
    label : str
    weight : str or None
    key : tuple of str
        One column of ids, or a column of files' names and one of row numbers.
    """

    features: tuple[str, ...]
    label: str
    weight: str | None = None
    key: tuple[str, ...] = ()

    @property
    def small(self) -> list[str]:
        """The columns that counting needs: the features only where one column holds them all."""
        features = self.features if len(self.features) == 1 else ()
        return list(dict.fromkeys([*features, self.label, *([self.weight] if self.weight else [])]))

    @property
    def all(self) -> list[str]:
        """All columns, each once."""
        return list(dict.fromkeys([*self.features, *self.small, *self.key]))


class Stored(NamedTuple):
    """How many features there are, and how many numbers other than zero in vectors (-1: they are no vectors)."""

    n_features: int
    n_stored: int


def is_vector(kind: Any) -> bool:
    """Tell whether an Arrow type is a vector of Spark."""
    return bool(import_pyarrow().types.is_struct(kind)) and {f.name for f in kind} >= {"size", "indices", "values"}


def is_list(kind: Any) -> bool:
    """Tell whether an Arrow type is a list of numbers."""
    types = import_pyarrow().types
    lists = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
    return bool(lists) and is_number(kind.value_type)


def count_stored(batch: Any, columns: Columns) -> Stored:
    """Return the width of the features of a batch and, of vectors, how many numbers other than zero they hold."""
    first = columns.features[0]
    if len(columns.features) > 1:
        return Stored(len(columns.features), -1)
    kind = batch.schema.field(first).type
    if is_vector(kind):
        vectors = _Vectors(batch.column(first), first)
        return Stored(vectors.n_features, int(np.count_nonzero(vectors.values)))
    if is_list(kind):
        return Stored(kind.list_size if hasattr(kind, "list_size") else _lists(batch.column(first), first).shape[1], -1)
    return Stored(1, -1)


def rows_of(batch: Any, columns: Columns, *, sparse: bool) -> MemoryRows:
    """Return the features of a record batch as rows, all of them finite."""
    first = columns.features[0]
    kind = batch.schema.field(first).type
    if len(columns.features) == 1 and is_vector(kind):
        vectors = _Vectors(batch.column(first), first)
        return vectors.sparse() if sparse else vectors.dense()
    if len(columns.features) == 1 and is_list(kind):
        return DenseRows(_lists(batch.column(first), first))
    types = import_pyarrow().types
    single = all(types.is_float32(batch.schema.field(name).type) for name in columns.features)
    values = np.empty((batch.num_rows, len(columns.features)), dtype=np.float32 if single else np.float64)
    for place, name in enumerate(columns.features):
        values[:, place] = _numbers(batch.column(name), name)
    return DenseRows(values)


def weights_of(batch: Any, columns: Columns) -> FloatArray | None:
    """Return the weights of a record batch, or None without a column of them."""
    if columns.weight is None:
        return None
    numbers = numbers_of(batch.column(columns.weight), columns.weight, TABLE)
    return check_weights(numbers, f"The weight column {columns.weight!r}")


def _numbers(array: Any, name: str) -> AnyArray:
    if not is_number(array.type):
        raise ValueError(
            f"Column {name!r} is of type {array.type}; on an engine features are numbers. Turn it into numbers, or "
            "leave it out."
        )
    if array.null_count:
        raise ValueError(f"Column {name!r} has {array.null_count} missing values; fill them, or leave such rows out.")
    return numbers_of(array, name, TABLE)


def _lists(array: Any, name: str) -> AnyArray:
    if array.null_count:
        raise ValueError(f"Column {name!r} has {array.null_count} empty rows; every row needs its features.")
    flat = array.flatten()
    n = len(array)
    lengths = np.full(n, array.type.list_size) if hasattr(array.type, "list_size") else np.diff(_offsets(array))
    width = _one_width(lengths, name)
    values = _numbers(flat, name)
    if not import_pyarrow().types.is_float32(flat.type):
        return np.ascontiguousarray(values.reshape(n, width))
    return np.ascontiguousarray(values.astype(np.float32).reshape(n, width))


def _one_width(widths: AnyArray, name: str) -> int:
    if len(widths) and np.any(widths != widths[0]):
        raise ValueError(
            f"All rows must have one number of features; column {name!r} has rows of {np.min(widths)} and of "
            f"{np.max(widths)}."
        )
    return int(widths[0]) if len(widths) else 0


def _offsets(array: Any) -> IntArray:
    return np.asarray(array.offsets.to_numpy(zero_copy_only=False), dtype=np.int64)


class _Vectors:
    """Spark's vectors: a dense one has all values and no indices."""

    def __init__(self, array: Any, name: str) -> None:
        if array.null_count:
            raise ValueError(f"Column {name!r} has {array.null_count} empty rows; every row needs its features.")
        kinds, sizes, indices, values = (array.field(part) for part in ("type", "size", "indices", "values"))
        self._is_sparse = kinds.to_numpy(zero_copy_only=False) == _SPARSE_VECTOR
        self._lengths = values.value_lengths().to_numpy(zero_copy_only=False).astype(np.int64)
        self.values = _numbers(values.flatten(), name)
        width = sizes.fill_null(-1).to_numpy(zero_copy_only=False)
        self.n_features = _one_width(np.where(self._is_sparse, width, self._lengths), name)
        self._columns = np.empty(len(self.values), dtype=np.int64)
        stored_sparse = np.repeat(self._is_sparse, self._lengths)
        self._columns[stored_sparse] = indices.flatten().to_numpy(zero_copy_only=False)
        self._columns[~stored_sparse] = np.tile(np.arange(self.n_features), int(np.count_nonzero(~self._is_sparse)))

    def dense(self) -> DenseRows:
        out = np.zeros((len(self._lengths), self.n_features))
        out[np.repeat(np.arange(len(self._lengths)), self._lengths), self._columns] = self.values
        return DenseRows(out)

    def sparse(self) -> CsrRows:
        """Return the rows without their zeros."""
        kept = self.values != 0
        before = np.concatenate([[0], np.cumsum(kept)])
        ends = np.concatenate([[0], np.cumsum(self._lengths)])
        return CsrRows(self.values[kept], self._columns[kept], before[ends].astype(np.int64), self.n_features)
