"""Tables: CSV, Parquet and Arrow files, and frames in memory, as record batches of one size.

A table has a `name` for messages, a `schema`, and `batches(columns)`, which yields the given columns, every time anew,
in record batches whose number of rows depends on the number of columns alone. So the same table gives the same blocks
(and the same bits) whether it comes from CSV, Parquet, Arrow or a frame, in bounded memory.

Everything goes through pyarrow, which is imported when the first table is opened and not before. Data frames (pandas,
polars and whatever else has the Arrow interface, ``__arrow_c_stream__``) are read where they lie.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from pairsift.data.file_state import FileState, name_file

BATCH_BYTES = 2**23
BATCH_ROWS = 2**16


class TableError(ValueError):
    """A table that cannot be used: which one, what is wrong with it, what to do."""


class Table(Protocol):
    """What the encoding asks of a table."""

    name: str

    @property
    def schema(self) -> Any:
        """The pyarrow schema: names and types of all columns."""

    def batches(self, columns: Sequence[str]) -> Iterator[Any]:
        """Yield the given columns in record batches."""


def import_pyarrow() -> Any:
    """Import pyarrow, or say in one line how to get it."""
    try:
        import pyarrow
    except ImportError as error:
        raise ValueError('Reading tables needs pyarrow: pip install "pairsift[arrow]"') from error
    return pyarrow


def is_frame(X: Any) -> bool:
    """Tell whether an object is a table in memory."""
    return hasattr(X, "__arrow_c_stream__") or _is_pandas(X)


def columns_without_numbers(frame: Any) -> list[str]:
    """Return the names of the columns of a pandas, polars or Arrow table that NumPy cannot read as numbers."""
    import numpy as np

    found = []
    for name in _names_of(frame):
        try:
            np.asarray(frame[name], dtype=np.float64)
        except (ValueError, TypeError):
            found.append(str(name))
    return found


def column_values(frame: Any, name: str) -> Any:
    """Return a column of a pandas, polars or Arrow table as an array."""
    import numpy as np

    names = _names_of(frame)
    if names.count(name) > 1:
        raise ValueError(f"The column name {name!r} occurs more than once.")
    if name not in names:
        shown = ", ".join(map(repr, names[:20])) + (", ..." if len(names) > 20 else "")
        raise ValueError(f"There is no column {name!r}; the columns are {shown}.")
    column = frame[name]
    if hasattr(frame, "column_names"):
        return column.to_numpy(zero_copy_only=False)
    if hasattr(column, "cat") and hasattr(column, "iloc"):  # who made categories of numbers means words
        return column.astype(object).map(lambda value: value if value is None or value != value else str(value))
    if getattr(column.dtype, "tz", None) is not None:
        column = column.dt.tz_convert("UTC").dt.tz_localize(None)
    return np.asarray(column)


def without_column(frame: Any, name: str) -> Any:
    """Return a pandas, polars or Arrow table without a column, if it is there."""
    if name not in _names_of(frame):
        return frame
    if hasattr(frame, "column_names"):
        return frame.drop_columns([name])
    return frame.drop(columns=[name]) if hasattr(frame, "iloc") else frame.drop(name)


def _names_of(frame: Any) -> list[str]:
    return list(getattr(frame, "column_names", None) or frame.columns)


class FrameTable:
    """A pandas or polars frame, a pyarrow Table, or anything with ``__arrow_c_stream__``; a pandas index is no column.

    A stream that can be read only once is read into memory.
    """

    def __init__(self, frame: Any, name: str = "the table") -> None:
        pyarrow = import_pyarrow()
        self.name = name
        if _is_pandas(frame):
            self._table = _from_pandas(pyarrow, frame, name)
        elif hasattr(frame, "__arrow_c_stream__"):
            self._table = pyarrow.RecordBatchReader.from_stream(frame).read_all()
        else:
            raise TableError(f"A table has the Arrow interface (__arrow_c_stream__); got {type(frame).__name__}.")
        _check_names(self.schema.names, name)

    @property
    def schema(self) -> Any:
        """Names and types of the columns."""
        return self._table.schema

    def batches(self, columns: Sequence[str]) -> Iterator[Any]:
        """Yield the given columns in record batches."""
        yield from rebatched(self._table.select(list(columns)).to_batches(), len(columns))


class ParquetTable:
    """A Parquet file; only the columns that are asked for are read."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        import_pyarrow()
        from pyarrow import parquet

        self.name = os.fspath(path)
        with _naming(self.name, "Parquet"):
            self._state = FileState(path)
            self._file = parquet.ParquetFile(path)
            self.schema = self._file.schema_arrow
        _check_names(self.schema.names, self.name)

    def batches(self, columns: Sequence[str]) -> Iterator[Any]:
        """Yield the given columns in record batches."""
        with _naming(self.name, "Parquet"):
            wanted = list(columns)
            parts = self._file.iter_batches(batch_size=rows_for(len(wanted)), columns=wanted, use_threads=False)
            yield from rebatched((self._unchanged(part).select(wanted) for part in parts), len(wanted))

    def _unchanged(self, batch: Any) -> Any:
        self._state.check()
        return batch


class ArrowTable:
    """An Arrow IPC file or stream (.arrow, .feather, .ipc), memory-mapped."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.name, self._path = os.fspath(path), Path(path)
        self._state = FileState(path)
        with _naming(self.name, "Arrow"):
            self.schema = self._open().schema
        _check_names(self.schema.names, self.name)

    def batches(self, columns: Sequence[str]) -> Iterator[Any]:
        """Yield the given columns in record batches."""
        with _naming(self.name, "Arrow"):
            reader = self._open()
            parts: Iterable[Any] = reader
            if hasattr(reader, "num_record_batches"):
                parts = (reader.get_batch(k) for k in range(reader.num_record_batches))
            yield from rebatched((self._checked(part).select(list(columns)) for part in parts), len(columns))

    def _checked(self, batch: Any) -> Any:
        self._state.check()
        # The file may be damaged or worse, and a wrong offset would be followed out of the buffer.
        batch.validate(full=True)
        return batch

    def _open(self) -> Any:
        pyarrow = import_pyarrow()
        mapped = pyarrow.memory_map(str(self._path)) if self._path.stat().st_size else pyarrow.BufferReader(b"")
        if mapped.read(6) == b"ARROW1":
            mapped.seek(0)
            return pyarrow.ipc.open_file(mapped)
        mapped.seek(0)
        return pyarrow.ipc.open_stream(mapped)


def rows_for(n_columns: int) -> int:
    """Return the number of rows of a batch with so many columns."""
    return max(1, min(BATCH_ROWS, BATCH_BYTES // (8 * max(1, n_columns))))


def rebatched(batches: Iterable[Any], n_columns: int) -> Iterator[Any]:
    """Cut and join record batches to `rows_for` rows each; the last one may have fewer."""
    pyarrow = import_pyarrow()
    size = rows_for(n_columns)
    pending: list[Any] = []
    missing = size
    for batch in batches:
        start = 0
        while batch.num_rows - start >= missing:
            pending.append(batch.slice(start, missing))
            yield _joined(pyarrow, pending)
            start, missing, pending = start + missing, size, []
        if start < batch.num_rows:
            pending.append(batch.slice(start))
            missing -= batch.num_rows - start
    if pending:
        yield _joined(pyarrow, pending)


def index_columns(schema: Any) -> set[str]:
    """Return the columns of a file that pandas wrote there as the index of the frame: they are no features."""
    found: set[str] = {name for name in schema.names if name.startswith("__index_level_")}
    with suppress(ValueError, TypeError, KeyError, AttributeError):
        found.update(k for k in json.loads((schema.metadata or {})[b"pandas"])["index_columns"] if isinstance(k, str))
    return found


class _naming:
    """Turn what pyarrow raises into one line with the name of the file."""

    def __init__(self, name: str, kind: str) -> None:
        self._name, self._kind = name, kind

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if error is None or isinstance(error, TableError) or not isinstance(error, Exception):
            return
        if isinstance(error, OSError) and error.errno is not None:
            name_file(error, self._name)
            return
        # pyarrow's errors are ValueErrors, OSErrors without a number, KeyErrors and NotImplementedErrors.
        if type(error).__module__.startswith("pyarrow") or isinstance(error, OSError):
            reason = " ".join(str(error).split())
            raise TableError(f"{self._name}: cannot be read as {self._kind}, or is damaged ({reason}).") from error


def _joined(pyarrow: Any, pieces: list[Any]) -> Any:
    if len(pieces) == 1:
        return pieces[0]
    return pyarrow.Table.from_batches(pieces).combine_chunks().to_batches()[0]


def _is_pandas(X: Any) -> bool:
    return type(X).__module__.partition(".")[0] == "pandas" and hasattr(X, "iloc") and hasattr(X, "columns")


def _from_pandas(pyarrow: Any, frame: Any, name: str) -> Any:
    try:
        return pyarrow.Table.from_pandas(frame, preserve_index=False)
    except (pyarrow.ArrowException, ValueError, TypeError) as error:
        raise TableError(
            f"{name}: the frame cannot be read, or one of its columns has no single type "
            f"({'; '.join(str(part) for part in error.args)})."
        ) from error


def _check_names(names: Sequence[str], table: str) -> None:
    twice = sorted(name for name, count in Counter(names).items() if count > 1)
    if twice:
        raise TableError(f"{table}: the column names {', '.join(map(repr, twice[:5]))} occur more than once.")
