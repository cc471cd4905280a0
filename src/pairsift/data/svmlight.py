"""svmlight / LIBSVM text: ``label [qid:n] index:value index:value ... [# comment]``, one row a line.

Rules
-----
- Indices are whole numbers, strictly ascending within a line. Labels and values are finite decimal numbers, read
  exactly (correctly rounded); too small a number becomes 0, too large a one is refused.
- Blank lines and lines with only a comment are no rows; a label alone is a row of zeros. LF or CRLF ends a line.
- ``zero_based="auto"``: the text counts from zero if the index 0 occurs anywhere in it, and from one otherwise, as
  LIBSVM's files do. Parts of one data set must be read with the same `n_features`, and with `zero_based` given if they
  count from zero, since a part may happen not to use index 0.
- Either all rows have a ``qid:`` or none has.
- A fault raises `SvmlightError` with the file, the line and column (from 1, in bytes), and the reason.

The text is read in blocks by a C++ parser (cpp/svmlight.hpp), block by block in several threads; the result does not
depend on their number. Memory: the result and a few blocks. Nothing here imports scipy, save `read_svmlight`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from pairsift import _core
from pairsift._typing import AnyArray, FloatArray, IntArray
from pairsift.data.compressed import is_damage, open_binary
from pairsift.data.file_state import FileState, name_file
from pairsift.data.rows import CsrRows

if TYPE_CHECKING:
    from scipy.sparse import csr_array

BLOCK_BYTES = 2**22
PIECE_BYTES = 2**18  # below this much text a thread is not worth its start
MAX_THREADS = 8
_INT64_MAX = 2**63 - 1

ZeroBased = bool | Literal["auto"]
Source = str | os.PathLike[str] | BinaryIO


class SvmlightError(ValueError):
    """A fault in svmlight text: `path`, `line` and `column` (from 1; None where the fault has no place), `reason`."""

    def __init__(self, path: str, line: int | None, column: int | None, reason: str) -> None:
        self.path, self.line, self.column, self.reason = path, line, column, reason
        place = "" if line is None else f", line {line}, column {column}"
        super().__init__(f"{path}{place}: {reason}")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.path, self.line, self.column, self.reason)


class SvmlightRows(NamedTuple):
    """What is in a file: rows, labels, and query ids where there are any."""

    rows: CsrRows
    y: FloatArray
    qid: IntArray | None


class SvmlightBlock(NamedTuple):
    """Some rows of a file, in order: compressed sparse, with the indices as they are written."""

    values: AnyArray
    indices: AnyArray
    starts: AnyArray
    y: FloatArray
    qid: IntArray | None


class SvmlightSummary(NamedTuple):
    """What one pass over a file tells; `zero_based` and `n_features` by the rule of this module."""

    n_rows: int
    n_stored: int
    n_features: int
    zero_based: bool
    has_qid: bool


def read_svmlight(
    path: Source,
    *,
    return_qid: bool = False,
    n_features: int | None = None,
    zero_based: ZeroBased = "auto",
    dtype: npt.DTypeLike = np.float64,
    threads: int | None = None,
) -> tuple[csr_array, FloatArray] | tuple[csr_array, FloatArray, IntArray | None]:
    """Read svmlight / LIBSVM text, compressed or not, into a sparse array and labels.

    Parameters
    ----------
    path
        A file (``.gz``, ``.bz2``, ``.xz`` and ``.zst`` are decompressed by their ending) or an open binary stream.
    return_qid
        Also return the query ids (int64, one a row), or None if the text has none.
    n_features
        Number of columns; by default the largest index decides. A larger index in the text is refused.
    zero_based
        Whether indices count from zero; ``"auto"``: if and only if the index 0 occurs.
    dtype
        float64 or float32, of the values. Labels are always float64.
    threads
        By default as many as this process may use, at most 8. The result does not depend on it.

    Returns
    -------
    X : scipy.sparse.csr_array of shape (n_rows, n_features), indices int32, or int64 where they need it
    y : float64 array of shape (n_rows,)
    qid : int64 array of shape (n_rows,) or None, only if `return_qid`
    """
    from scipy.sparse import csr_array

    rows, y, qid = read_svmlight_rows(path, n_features=n_features, zero_based=zero_based, dtype=dtype, threads=threads)
    shape = (rows.n_rows, rows.n_features)
    X = csr_array((rows.values, rows.columns, rows.starts), shape=shape, copy=False)
    return (X, y, qid) if return_qid else (X, y)


def read_svmlight_rows(
    path: Source,
    *,
    n_features: int | None = None,
    zero_based: ZeroBased = "auto",
    dtype: npt.DTypeLike = np.float64,
    threads: int | None = None,
) -> SvmlightRows:
    """Read like `read_svmlight`, into the rows that the kernels take, without importing scipy."""
    return read_svmlight_and_base(path, n_features=n_features, zero_based=zero_based, dtype=dtype, threads=threads)[0]


def read_svmlight_and_base(
    path: Source,
    *,
    n_features: int | None = None,
    zero_based: ZeroBased = "auto",
    dtype: npt.DTypeLike = np.float64,
    threads: int | None = None,
) -> tuple[SvmlightRows, bool]:
    """Read like `read_svmlight_rows`, and tell also whether the text counts from zero."""
    reader = _Reader(path, n_features, zero_based, dtype, threads, PIECE_BYTES)
    for _ in reader.fed_blocks(BLOCK_BYTES):
        pass
    base, width = reader.base_and_width()
    values, columns, starts, y, qid = reader.parser.take(0 if base == 0 else 1)
    rows = CsrRows(values, columns, starts, width)
    return SvmlightRows(rows, y, qid if reader.parser.has_qid else None), base == 0


def iterate_svmlight(
    path: Source, *, dtype: npt.DTypeLike = np.float64, threads: int | None = None, block_bytes: int = BLOCK_BYTES
) -> Iterator[SvmlightBlock]:
    """Yield the rows of a file block by block, in memory bounded by `block_bytes` (and the longest line).

    Indices are as written, since whether they count from zero is known only at the end: `scan_svmlight` tells.
    """
    reader = _Reader(path, None, "auto", dtype, threads, PIECE_BYTES)
    for _ in reader.fed_blocks(block_bytes):
        if reader.parser.n_rows:
            values, indices, starts, y, qid = reader.parser.take(0)
            yield SvmlightBlock(values, indices, starts, y, qid if reader.parser.has_qid else None)


def scan_svmlight(
    path: Source,
    *,
    n_features: int | None = None,
    zero_based: ZeroBased = "auto",
    threads: int | None = None,
    block_bytes: int = BLOCK_BYTES,
) -> SvmlightSummary:
    """Read a file once, in bounded memory, and return what is in it; faults raise as they do in reading."""
    reader = _Reader(path, n_features, zero_based, np.float64, threads, PIECE_BYTES)
    n_rows = n_stored = 0
    for _ in reader.fed_blocks(block_bytes):
        values, _, _, y, _ = reader.parser.take(0)
        n_rows, n_stored = n_rows + len(y), n_stored + len(values)
    base, width = reader.base_and_width()
    return SvmlightSummary(n_rows, n_stored, width, base == 0, reader.parser.has_qid)


class _Reader:
    """Feeds a stream to the parser and words its faults."""

    def __init__(
        self,
        source: Source,
        n_features: int | None,
        zero_based: ZeroBased,
        dtype: npt.DTypeLike,
        threads: int | None,
        piece_bytes: int,
    ) -> None:
        self.source, self.n_features, self.zero_based = source, _check_width(n_features), _check_base(zero_based)
        self.threads = _check_threads(threads)
        most = _INT64_MAX if n_features is None else n_features - (zero_based is True)
        kernel = _check_dtype(dtype)
        self.parser: _core._SvmlightParser = kernel(1 if zero_based is False else 0, most, piece_bytes)
        self._state: FileState | None = None

    @property
    def name(self) -> str:
        """What messages call the source."""
        if isinstance(self.source, str | os.PathLike):
            return os.fspath(self.source)
        return "standard input" if self.source is sys.stdin.buffer else str(getattr(self.source, "name", "stream"))

    def fed_blocks(self, block_bytes: int) -> Iterator[None]:
        """Feed all of the source, and yield after each block."""
        if not isinstance(self.source, str | os.PathLike):
            yield from self._feed(self.source, block_bytes)
            return
        with open_binary(Path(self.source)) as stream:
            self._state = FileState(self.source)
            yield from self._feed(stream, block_bytes)

    def _feed(self, stream: BinaryIO, block_bytes: int) -> Iterator[None]:
        buffer, filled, last = np.empty(max(block_bytes, 1), dtype=np.uint8), 0, False
        while not last:
            if filled == len(buffer):  # a line longer than the buffer
                buffer = np.concatenate([buffer, np.empty_like(buffer)])
            filled, last = self._fill(stream, buffer, filled)
            if self._state is not None:
                self._state.check()
            used = self.parser.feed(buffer[:filled], last, self.threads)
            self._refuse_fault()
            buffer[: filled - used] = buffer[used:filled].copy()
            filled -= used
            yield

    def _fill(self, stream: BinaryIO, buffer: AnyArray, filled: int) -> tuple[int, bool]:
        """Read until the buffer is full or the stream has ended."""
        view = memoryview(cast(Any, buffer))
        while filled < len(buffer):
            try:
                got = cast(Any, stream).readinto(view[filled:])
            except Exception as error:
                if not is_damage(error):
                    name_file(error, self.name)
                    raise
                reason = f"the compressed file is cut off or damaged ({error})"
                raise SvmlightError(self.name, None, None, reason) from None
            if not got:
                return filled, True
            filled += got
        return filled, False

    def _refuse_fault(self) -> None:
        if self.parser.fault is not None:
            line, column, reason, got = self.parser.fault
            if reason == "the index is beyond n_features":
                reason += f"={self.n_features}"
            raise SvmlightError(self.name, line, column, f"{reason}; got '{got}'" if got else reason)

    def base_and_width(self) -> tuple[int, int]:
        """Return the index of the first column as it is written (0 or 1), and the number of columns."""
        parser = self.parser
        if not parser.has_rows:
            raise SvmlightError(self.name, None, None, "the text holds no rows")
        zero_based = parser.min_index == 0 if self.zero_based == "auto" else self.zero_based
        base = 0 if zero_based else 1
        width = parser.max_index + 1 - base if parser.max_index >= 0 else 0
        if self.n_features is not None and width > self.n_features:
            raise SvmlightError(
                self.name,
                *parser.max_place,
                f"the index {parser.max_index} is beyond n_features={self.n_features}, since the text counts from zero "
                "(index 0 occurs)",
            )
        return base, width if self.n_features is None else self.n_features


def _check_width(n_features: int | None) -> int | None:
    if n_features is not None and not (isinstance(n_features, int | np.integer) and 1 <= n_features <= _INT64_MAX):
        raise ValueError(f"n_features must be a positive integer or None; got {n_features!r}.")
    return n_features


def _check_base(zero_based: ZeroBased) -> ZeroBased:
    if zero_based not in (True, False, "auto"):
        raise ValueError(f"zero_based must be True, False or 'auto'; got {zero_based!r}.")
    return zero_based


def _check_threads(threads: int | None) -> int:
    if threads is None:
        usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        return min(usable, MAX_THREADS)
    if not (isinstance(threads, int | np.integer) and 1 <= threads <= 1024):
        raise ValueError(f"threads must be an integer from 1 to 1024, or None; got {threads!r}.")
    return int(threads)


def _check_dtype(dtype: npt.DTypeLike) -> type[_core._SvmlightParser]:
    kernels = {np.dtype(np.float64): _core.SvmlightParserF64, np.dtype(np.float32): _core.SvmlightParserF32}
    wanted = np.dtype(dtype)
    if wanted not in kernels:
        raise ValueError(f"dtype must be float64 or float32; got {wanted}.")
    return kernels[wanted]
