"""Where the buffers of an Arrow IPC file lie: the little of the format that reading rows by place needs.

Layout of the file: ``ARROW1``, two zero bytes, the schema message, the record batches one after another, the footer,
its length as int32, ``ARROW1``. The footer (a flatbuffer) holds the schema again and one `Block` (offset, header
length, body length) for each batch; the header of a batch holds the offset and length of each of its buffers.

Why not pyarrow: it is an optional dependency and costs 0.1 s to import, it must map the file before it knows that the
sizes in it are true, and it unpacks compressed buffers of any stated size. Here every offset is compared with the
length of the file before it is followed, and the memory used is bounded by the bytes that are really there. The tests
compare the outcome with pyarrow's.
"""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass
from typing import Any

import numpy as np

from pairsift import _core
from pairsift._typing import AnyArray, IntArray

_MAGIC = b"ARROW1"
_HEAD, _TAIL = 8, 10  # bytes before the first message; footer length and magic
_RECORD_BATCH = 3  # of the union MessageHeader


class StoreError(ValueError):
    """A row store that cannot be used."""


class StoreFormatError(StoreError):
    """Not a row store, a damaged one, or one of a later version."""


@dataclass(frozen=True)
class ArrowFile:
    """What was found: the schema's metadata, rows of each batch, offset and length of each of its buffers."""

    metadata: dict[str, str]
    batch_rows: IntArray
    offsets: IntArray  # (batches, buffers), in the file
    lengths: IntArray


def read_arrow_file(file: int, size: int, name: str) -> ArrowFile:
    """Read the footer and the header of each batch of an open file of `size` bytes.

    Raises
    ------
    StoreFormatError
        The file is foreign, truncated or damaged, or its sizes do not agree with its length.
    """
    try:
        return _read(file, size)
    except _DamagedError as error:
        raise StoreFormatError(
            f"{name} cannot be read as a row store: {error}. Make the file again with `pairsift convert`."
        ) from error


class _DamagedError(Exception):
    pass


def _read(file: int, size: int) -> ArrowFile:
    if size < _HEAD + _TAIL or os.pread(file, len(_MAGIC), 0) != _MAGIC:
        raise _DamagedError(f"it does not begin as an Arrow IPC file (it has {size} bytes)")
    tail = os.pread(file, _TAIL, size - _TAIL)
    if tail[4:] != _MAGIC:
        raise _DamagedError("it does not end as an Arrow IPC file; it was cut short or is still being written")
    (footer_length,) = struct.unpack("<i", tail[:4])
    footer_start = size - _TAIL - footer_length
    if footer_length <= 0 or footer_start < _HEAD:
        raise _DamagedError(f"its footer claims {footer_length} bytes, but the file has {size}")
    footer = _Table.root(os.pread(file, footer_length, footer_start))
    schema = footer.table(1)
    if schema is None:
        raise _DamagedError("its footer has no schema")
    if schema.number(0, "<h") != 0:
        raise _DamagedError("its numbers are big-endian")
    if len(footer.structs(2, 24)):
        raise _DamagedError("it has dictionaries, which a row store never has")
    blocks = footer.structs(3, 24)
    starts, headers, bodies = _block_sizes(blocks, footer_start)
    return _read_headers(file, _metadata(schema), starts, headers, bodies)


def _block_sizes(blocks: AnyArray, footer_start: int) -> tuple[IntArray, IntArray, IntArray]:
    words = blocks.view("<i8").reshape(-1, 3)
    starts, bodies = words[:, 0].astype(np.int64), words[:, 2].astype(np.int64)
    headers = blocks.view("<i4").reshape(-1, 6)[:, 2].astype(np.int64)
    last = _HEAD
    for start, header, body in zip(starts.tolist(), headers.tolist(), bodies.tolist(), strict=True):
        # In the order of the file and without overlap: so the headers together are no longer than the file.
        if start < last or header < 8 or body < 0 or start + header + body > footer_start:
            raise _DamagedError(f"a batch claims {header} + {body} bytes at {start}, which is not there")
        last = start + header + body
    return starts, headers, bodies


def _read_headers(
    file: int, metadata: dict[str, str], starts: IntArray, headers: IntArray, bodies: IntArray
) -> ArrowFile:
    places = np.cumsum(headers) - headers
    data = np.empty(int(headers.sum()), dtype=np.uint8)
    if _core.read_ranges(file, starts, headers, places, data)[0]:
        raise _DamagedError("the header of a batch could not be read")
    view = data.tobytes()
    rows: list[int] = []
    offsets: list[IntArray] = []
    lengths: list[IntArray] = []
    for start, header, body, place in zip(
        starts.tolist(), headers.tolist(), bodies.tolist(), places.tolist(), strict=True
    ):
        length, buffers = _batch(view[place : place + header], body)
        if offsets and len(buffers) != len(offsets[0]):
            raise _DamagedError("its batches differ in their number of buffers")
        rows.append(length)
        offsets.append(buffers[:, 0] + (start + header))
        lengths.append(buffers[:, 1])
    shape = (len(rows), -1) if rows else (0, 0)
    return ArrowFile(
        metadata, np.array(rows, dtype=np.int64), _int64(offsets).reshape(shape), _int64(lengths).reshape(shape)
    )


def _batch(header: bytes, body: int) -> tuple[int, IntArray]:
    prefix = 8 if header[:4] == b"\xff\xff\xff\xff" else 4
    message = _Table.root(header[prefix:])
    batch = message.table(2)
    if message.number(1, "<B") != _RECORD_BATCH or batch is None:
        raise _DamagedError("a message that should be a batch of rows is something else")
    if batch.table(3) is not None:
        raise _DamagedError("it is compressed; rows of a store are read in place")
    if np.any(batch.structs(1, 16).view("<i8").reshape(-1, 2)[:, 1] != 0):
        raise _DamagedError("it has missing values (nulls)")
    buffers = batch.structs(2, 16).view("<i8").reshape(-1, 2).astype(np.int64)
    if np.any(buffers < 0) or np.any(buffers > body) or np.any(buffers.sum(axis=1) > body):
        raise _DamagedError("a buffer claims bytes outside of its batch")
    length = batch.number(0, "<q")
    if not 0 < length <= 2**62:
        raise _DamagedError(f"a batch claims {length} rows")
    return length, buffers


def _metadata(schema: _Table) -> dict[str, str]:
    try:
        return {entry.text(0).decode(): entry.text(1).decode() for entry in schema.tables(2)}
    except UnicodeDecodeError as error:
        raise _DamagedError("its metadata is not text") from error


def _int64(parts: list[AnyArray]) -> IntArray:
    return np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)


class _Table:
    """A flatbuffer table: an int32 back to its vtable, which says where each field lies; every step is checked."""

    def __init__(self, data: bytes, at: int) -> None:
        self._data, self._at = data, at
        self._vtable = at - _unpack(data, at, "<i")
        self._vtable_size = _unpack(data, self._vtable, "<H")

    @classmethod
    def root(cls, data: bytes) -> _Table:
        return cls(data, _unpack(data, 0, "<I"))

    def _field(self, number: int) -> int | None:
        at = 4 + 2 * number
        if at + 2 > self._vtable_size:
            return None
        offset = _unpack(self._data, self._vtable + at, "<H")
        return self._at + offset if offset else None

    def _target(self, number: int) -> int | None:
        at = self._field(number)
        return None if at is None else at + _unpack(self._data, at, "<I")

    def number(self, number: int, form: str) -> int:
        at = self._field(number)
        return 0 if at is None else _unpack(self._data, at, form)

    def table(self, number: int) -> _Table | None:
        at = self._target(number)
        return None if at is None else _Table(self._data, at)

    def structs(self, number: int, size: int) -> AnyArray:
        """Return the bytes of a vector of structs of `size` bytes each."""
        return np.frombuffer(self._vector(number, size), dtype=np.uint8)

    def text(self, number: int) -> bytes:
        return self._vector(number, 1)

    def tables(self, number: int) -> list[_Table]:
        at = self._target(number)
        if at is None:
            return []
        count = len(self._vector(number, 4)) // 4
        places = [at + 4 + 4 * k for k in range(count)]
        return [_Table(self._data, place + _unpack(self._data, place, "<I")) for place in places]

    def _vector(self, number: int, size: int) -> bytes:
        at = self._target(number)
        if at is None:
            return b""
        stop = at + 4 + _unpack(self._data, at, "<I") * size
        if stop > len(self._data):
            raise _DamagedError("a list in its header is longer than the header")
        return self._data[at + 4 : stop]


def _unpack(data: bytes, at: int, form: str) -> Any:
    if at < 0 or at + struct.calcsize(form) > len(data):
        raise _DamagedError("an offset in its header points outside of it")
    return struct.unpack_from(form, data, at)[0]
