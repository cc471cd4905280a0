"""Partitions of a table: arrays, frames, and row groups of Parquet files, with the key of every row."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pairsift.data.tables import TableError, _naming, import_pyarrow

FEATURES, LABEL, WEIGHT = "features", "label", "weight"
ROW_ID, FILE, FILE_ROW = "__pairsift_id", "__pairsift_file", "__pairsift_row"
"""Columns that are added: the place of a row in an array, or its file and its place in there."""


class ArrayPartition:
    """Rows of an array or of a scipy sparse matrix, labels, weights, and ids or the place of the first row."""

    def __init__(self, X: Any, y: Any = None, weights: Any = None, ids: Any = None, start: int = 0) -> None:
        self._X, self._y, self._weights, self._ids, self._start = X, y, weights, ids, start

    def batches(self, columns: Sequence[str]) -> Iterator[Any]:
        """Yield the given columns as one record batch."""
        pyarrow = import_pyarrow()
        n = self._X.shape[0]
        for name, values in ((LABEL, self._y), (WEIGHT, self._weights), ("ids", self._ids)):
            if values is not None and len(values) != n:
                raise TableError(f"A partition of X has {n} rows, but {len(values)} of {name}; divide them alike.")
        made = {
            FEATURES: lambda: lists_of(self._X),
            LABEL: lambda: pyarrow.array(np.asarray(self._y)),
            WEIGHT: lambda: pyarrow.array(np.asarray(self._weights, dtype=np.float64)),
            ROW_ID: lambda: pyarrow.array(
                np.arange(self._start, self._start + n) if self._ids is None else np.asarray(self._ids)
            ),
        }
        yield pyarrow.record_batch({name: made[name]() for name in columns})


class FramePartition:
    """A pandas frame with the features, and labels, weights and ids as `ArrayPartition` has them."""

    def __init__(self, X: Any, y: Any = None, weights: Any = None, ids: Any = None, start: int = 0) -> None:
        self._X = X
        self._others = ArrayPartition(X, y, weights, ids, start)

    def batches(self, columns: Sequence[str]) -> Iterator[Any]:
        """Yield the given columns as one record batch."""
        pyarrow = import_pyarrow()
        own = [name for name in columns if name not in (LABEL, WEIGHT, ROW_ID)]
        (others,) = self._others.batches([name for name in columns if name not in own])
        frame = pyarrow.RecordBatch.from_pandas(self._X[own], preserve_index=False) if own else None
        yield pyarrow.record_batch(
            {name: (frame if frame is not None and name in own else others).column(name) for name in columns}
        )


class ParquetPartition:
    """A row group of a Parquet file; `name` is how the file is called in keys."""

    def __init__(self, path: str, name: str, row_group: int, first_row: int) -> None:
        self._path, self._name, self._row_group, self._first_row = path, name, row_group, first_row

    def batches(self, columns: Sequence[str]) -> Iterator[Any]:
        """Yield the given columns, and those of the key, in record batches."""
        pyarrow = import_pyarrow()
        from pyarrow import parquet

        own = [name for name in columns if name not in (FILE, FILE_ROW)]
        row = self._first_row
        with _naming(self._path, "Parquet"), parquet.ParquetFile(self._path) as file:
            for batch in file.iter_batches(row_groups=[self._row_group], columns=own, use_threads=False):
                made = {name: batch.column(name) for name in own}
                if FILE in columns:
                    made[FILE] = (
                        pyarrow.array([self._name])
                        .dictionary_encode()
                        .take(pyarrow.array(np.zeros(batch.num_rows, dtype=np.int32)))
                    )
                    made[FILE_ROW] = pyarrow.array(np.arange(row, row + batch.num_rows))
                row += batch.num_rows
                yield pyarrow.record_batch({name: made[name] for name in columns})


def parquet_partitions(path: str | os.PathLike[str]) -> tuple[list[ParquetPartition], Any]:
    """Return the row groups of a Parquet file, or of all in a folder, and the schema."""
    import_pyarrow()
    from pyarrow import parquet

    files = parquet_files(path)
    names = names_in_keys(files)
    partitions, schema = [], None
    for file_path, name in zip(files, names, strict=True):
        with _naming(file_path, "Parquet"), parquet.ParquetFile(file_path) as file:
            if schema is not None and not schema.equals(file.schema_arrow):
                raise TableError(f"{file_path}: its columns are not those of {files[0]}.")
            schema, first = file.schema_arrow, 0
            for group in range(file.num_row_groups):
                partitions.append(ParquetPartition(file_path, name, group, first))
                first += file.metadata.row_group(group).num_rows
    return partitions, schema


def parquet_files(path: str | os.PathLike[str]) -> list[str]:
    """Return the Parquet files of a path, sorted: itself, or all below it that are not hidden, as Spark has it."""
    root = Path(path)
    if not root.is_dir():
        return [os.fspath(path)]
    found = sorted(
        os.fspath(file)
        for file in root.rglob("*")
        if file.is_file() and not any(part.startswith(("_", ".")) for part in file.relative_to(root).parts)
    )
    if not found:
        raise TableError(f"{path}: the folder has no Parquet files.")
    return found


def names_in_keys(files: Sequence[str]) -> list[str]:
    """Return what the files are called in keys: their paths below the folder that is common to all of them."""
    root = os.path.dirname(files[0]) if len(files) == 1 else os.path.commonpath([os.path.dirname(f) for f in files])
    return [os.path.relpath(file, root) for file in files]


def lists_of(X: Any) -> Any:
    """Return the rows of an array as lists, those of a sparse matrix as vectors (`pairsift.engines.columns`)."""
    pyarrow = import_pyarrow()
    if not hasattr(X, "tocsr"):
        values = np.ascontiguousarray(X)
        if values.ndim != 2 or values.shape[1] == 0 or values.dtype.kind not in "biuf":
            raise TableError(f"X must hold numbers in rows and columns; got {values.dtype} of shape {values.shape}.")
        return pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(values.ravel()), values.shape[1])
    matrix = X.tocsr().copy()
    matrix.sum_duplicates()
    n, d = matrix.shape
    starts = pyarrow.array(matrix.indptr.astype(np.int64))
    indices = pyarrow.LargeListArray.from_arrays(starts, pyarrow.array(matrix.indices.astype(np.int64)))
    values = pyarrow.LargeListArray.from_arrays(starts, pyarrow.array(matrix.data.astype(np.float64)))
    kinds, sizes = pyarrow.array(np.zeros(n, dtype=np.int8)), pyarrow.array(np.full(n, d, dtype=np.int64))
    return pyarrow.StructArray.from_arrays([kinds, sizes, indices, values], ["type", "size", "indices", "values"])
