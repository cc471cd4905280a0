"""CSV text, compressed or not, streamed through pyarrow.

Types are guessed from the first block and corrected when a later value does not fit: nothing -> number -> text, number
-> text, true/false -> text. `TypeChangedError` asks whoever reads to begin again; with `types` given (from an encoding)
nothing is guessed, and a value that does not fit is an error. Empty fields, NA, N/A, NaN, NULL and the like are missing
values, in quotes or not.
"""

from __future__ import annotations

import csv
import io
import os
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import Any, BinaryIO, cast

from pairsift.data.compressed import ENDINGS, is_damage, open_binary
from pairsift.data.file_state import FileState, name_file
from pairsift.data.tables import TableError, _check_names, import_pyarrow, rebatched

BLOCK_BYTES = 2**20  # pyarrow reads up to some 30 of them ahead

_MISFIT = re.compile(r"In CSV column #(\d+):.*conversion error to (\S+): (.*)", re.DOTALL)
# The first type that pyarrow sees, and what a later value may turn it into.
_WIDER = {"null": "double"}
_KNOWN_TO_ARROW = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}


class TypeChangedError(Exception):
    """A later value changed the type of a column; read the table again from its beginning."""


class CsvTable:
    """A CSV file, or a stream that is read once.

    Parameters
    ----------
    source : path or binary stream
    delimiter : str
    types : mapping, optional
        Column names to ``"number"``, ``"bool"`` or ``"text"``; columns that are not in it are guessed.
    """

    def __init__(
        self,
        source: str | os.PathLike[str] | BinaryIO,
        *,
        delimiter: str = ",",
        types: Mapping[str, str] | None = None,
        name: str | None = None,
    ) -> None:
        pyarrow = import_pyarrow()
        if len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n\x00':
            raise ValueError(
                f"The delimiter is one character of ASCII that is no quote or line end; got {delimiter!r}."
            )
        self._source, self._delimiter = source, delimiter
        self.name = name or (os.fspath(source) if isinstance(source, str | os.PathLike) else "standard input")
        self._state = FileState(source) if isinstance(source, str | os.PathLike) else None
        self._header = self._read_header()
        known = {"number": pyarrow.float64(), "bool": pyarrow.bool_(), "text": pyarrow.string()}
        self._fixed = {column: known[kind] for column, kind in (types or {}).items()}
        # A stream cannot begin again, so that columns nobody asks for must not fail: they are bytes.
        unasked = {} if self._is_file() else dict.fromkeys(self._header, pyarrow.binary())
        self._types: dict[str, Any] = {**unasked, **self._fixed}
        self._first: Any = None
        self.schema = self._read_schema()

    def batches(self, columns: Sequence[str]) -> Iterator[Any]:
        """Yield the given columns in record batches.

        Raises
        ------
        TypeChangedError
            The schema was wrong and is corrected now; begin again.
        """
        try:
            with self._opened(columns) as reader:
                yield from rebatched((self._unchanged(batch).select(list(columns)) for batch in reader), len(columns))
        except Exception as error:
            self._widen(error)
            raise self._named(error) from error

    def _unchanged(self, batch: Any) -> Any:
        if self._state is not None:
            self._state.check()
        return batch

    def _is_file(self) -> bool:
        return isinstance(self._source, str | os.PathLike)

    def _read_header(self) -> list[str]:
        """Read the names of the columns; a stream is afterwards as if nothing had been read."""
        if isinstance(self._source, str | os.PathLike):
            with open_binary(os.fspath(self._source)) as file:
                line = self._first_line(file)
        else:
            line = self._first_line(self._source)
            self._source = cast(BinaryIO, io.BufferedReader(_Replayed(line, self._source)))
        try:
            names = next(csv.reader([line.decode("utf-8-sig", "replace")], delimiter=self._delimiter), [])
        except csv.Error as error:
            raise TableError(f"{self.name}: the line of column names cannot be read ({error}).") from error
        return [name.strip("\r\n") for name in names]

    def _first_line(self, file: BinaryIO) -> bytes:
        try:
            return file.readline()
        except Exception as error:
            raise self._named(error) from error

    def _read_schema(self) -> Any:
        try:
            if self._is_file():
                with self._opened(None) as reader:
                    schema = reader.schema
            else:
                self._first = self._open(self._source, None)
                schema = self._first.schema
        except Exception as error:
            raise self._named(error) from error
        _check_names(schema.names, self.name)
        # What is a whole number in one block may be a number in the next; as a feature it is a number anyway.
        whole, number = import_pyarrow().int64(), import_pyarrow().float64()
        for place, field in enumerate(schema):
            if field.type == whole:
                schema = schema.set(place, field.with_type(number))
        self._types = {field.name: field.type for field in schema}
        return schema

    @contextmanager
    def _opened(self, columns: Sequence[str] | None) -> Iterator[Any]:
        if not isinstance(self._source, str | os.PathLike):
            yield self._first
            return
        with closing(_open_for_arrow(os.fspath(self._source))) as file, closing(self._open(file, columns)) as reader:
            yield reader

    def _open(self, source: Any, columns: Sequence[str] | None) -> Any:
        from pyarrow import csv as reader

        return reader.open_csv(
            source,
            read_options=reader.ReadOptions(block_size=BLOCK_BYTES, use_threads=False),
            parse_options=reader.ParseOptions(delimiter=self._delimiter, newlines_in_values=True),
            convert_options=reader.ConvertOptions(
                column_types=self._types,
                include_columns=None if columns is None else list(columns),
                strings_can_be_null=True,
            ),
        )

    def _widen(self, error: Exception) -> None:
        """Correct the schema and raise `TypeChangedError`, if that is what the error asks for."""
        found = _MISFIT.match(str(error))
        if not found or not self._is_file():
            return
        place, pyarrow = int(found[1]), import_pyarrow()
        column = self.schema.field(place)
        wider = _WIDER.get(str(column.type), "string")
        if column.name in self._fixed or str(column.type) == "string" or "UTF8" in found[3]:
            return
        kind = pyarrow.float64() if wider == "double" else pyarrow.string()
        self.schema = self.schema.set(place, pyarrow.field(column.name, kind))
        self._types[column.name] = kind
        raise TypeChangedError(column.name)

    def _named(self, error: Exception) -> Exception:
        if is_damage(error) and self._is_file():
            return TableError(f"{self.name}: the compressed file is cut off or damaged ({error}).")
        if not type(error).__module__.startswith("pyarrow"):
            name_file(error, self.name)
            return error
        if "straddl" in str(error):
            return TableError(f"{self.name}: a row is longer than {BLOCK_BYTES} bytes; is a closing quote missing?")
        found = _MISFIT.match(str(error))
        if found:
            return TableError(f"{self.name}: column {self._column(int(found[1]))} {_misfit(found[2], found[3])}.")
        return TableError(f"{self.name}: {' '.join(str(error).split())}.")

    def _column(self, place: int) -> str:
        return repr(self._header[place]) if place < len(self._header) else f"number {place + 1}"


def _open_for_arrow(path: str) -> Any:
    """Open a file that a thread of pyarrow may still be reading when we are done with it.

    If Python ends while that thread waits for it, the C library ends the process with a signal. So files are read
    without Python where pyarrow can; of others, closing waits for the read that is under way.
    """
    pyarrow = import_pyarrow()
    ending = os.path.splitext(path)[1].lower()
    if ending in _KNOWN_TO_ARROW:
        return pyarrow.CompressedInputStream(pyarrow.OSFile(path, "rb"), _KNOWN_TO_ARROW[ending])
    return _Waiting(open_binary(path)) if ending in ENDINGS else pyarrow.OSFile(path, "rb")


class _Waiting(io.RawIOBase):
    """A stream whose `close` waits for a read in another thread."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream, self._reading = stream, threading.Lock()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        with self._reading:
            if self.closed:
                return 0
            part = self._stream.read(len(buffer))
        buffer[: len(part)] = part
        return len(part)

    def close(self) -> None:
        with self._reading:
            if not self.closed:
                self._stream.close()
                super().close()


class _Replayed(io.RawIOBase):
    """Some bytes, and then the rest of a stream."""

    def __init__(self, start: bytes, rest: BinaryIO) -> None:
        self._start, self._rest = start, rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        part = self._start[: len(buffer)] or self._rest.read(len(buffer))
        self._start = self._start[len(buffer) :]
        buffer[: len(part)] = part
        return len(part)


def _misfit(kind: str, reason: str) -> str:
    if "UTF8" in reason:
        return "is not UTF-8 text; convert the file to UTF-8"
    wanted = {"double": "numbers", "int64": "numbers", "bool": "true or false"}.get(kind, kind)
    return f"must hold {wanted}, as in the training table, but has an {reason}"
