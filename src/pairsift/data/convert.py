"""From any block source to a row store, in bounded memory.

Positives come first in a store, but nobody knows how many there are, how wide the rows or what the labels are before
the last block. So blocks are read *once*, and the rows of each label go to a file of their own (nameless, beside the
output, so that no killed run leaves one); then those two files are written as the store. That takes the size of the
store twice on the disk for a while, and works for sources that can be read only once, such as standard input.

The output is either what was there before or complete: see `replacing`.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, Self

import numpy as np

from pairsift._typing import AnyArray, FloatArray, IntArray
from pairsift.data.blocks import BLOCK_BYTES, Block
from pairsift.data.labels import choose_labels
from pairsift.data.rows import CsrRows, DenseRows, MemoryRows
from pairsift.data.store import RowStore
from pairsift.data.store_header import StoreHeader
from pairsift.data.store_writer import BATCH_BYTES, StoreWriter, import_pyarrow
from pairsift.words import counted

DEFAULT_MEMORY = "256MB"
LEAST_MEMORY = 8_000_000  # 5 MB are taken by pyarrow's own buffers

_UNITS = {"": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "kib": 2**10, "mib": 2**20, "gib": 2**30}


def convert(
    source: Iterable[Block],
    path: str | os.PathLike[str],
    *,
    memory: int | str = DEFAULT_MEMORY,
    positive: Any = None,
    extra: dict[str, Any] | None = None,
    by_meaning: bool = False,
) -> RowStore:
    """Write the rows of a block source to the row store `path` and open it.

    Parameters
    ----------
    source : iterable of Block
        Read once. A block that takes more than a quarter of `memory` is refused.
    path : str or path
        The file to make; an older one is replaced when, and only when, the new one is complete.
    memory : int or str
        About how many bytes may be in use besides Python and its libraries, such as 256_000_000, "256MB" or "1GiB".
        At least 8 MB.
    positive : optional
        The label of the positives. By default the larger of the two labels, or what `by_meaning` says.
    extra : dict, optional
        Kept in the store's header (`RowStore.header.extra`); fit for JSON.
    by_meaning : bool
        Whether the affirmative or rarer label is positive, as the command line has it.
    """
    limit = parse_size(memory)
    if limit < LEAST_MEMORY:
        raise ValueError(f"memory must be at least 8 MB; got {memory!r}.")
    import_pyarrow()  # before the work, not after it
    folder = Path(path).absolute().parent
    with _Classes(folder, limit) as classes:
        for block in source:
            classes.add(block)
        negative, positive_label = classes.labels(positive, by_meaning=by_meaning)
        header = classes.header((negative, positive_label), extra or {})
        # Up to four copies of a batch are alive while it is joined and written.
        with StoreWriter(path, header, min(BATCH_BYTES, limit // 16)) as store:
            for label in (positive_label, negative):
                for rows, original, weights in classes.read(label):
                    store.write(rows, original, weights)
    return RowStore(path)


def parse_size(size: int | str) -> int:
    """Return a number of bytes: an integer, or text such as "256MB", "1.5 GiB"."""
    if isinstance(size, (int, np.integer)) and not isinstance(size, bool):
        return int(size)
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-zA-Z]*)\s*", str(size))
    if not found or found[2].lower() not in _UNITS:
        raise ValueError(f"A size is a number with kB, MB, GB, KiB, MiB, GiB or nothing, such as 256MB; got {size!r}.")
    return int(float(found[1]) * _UNITS[found[2].lower()])


def block_bytes_for(memory: int | str) -> int:
    """Return how large the blocks of a reader should be, in bytes of its input, so that `convert` keeps to `memory`."""
    return max(1, min(BLOCK_BYTES, parse_size(memory) // 32))


class _Classes:
    """The rows of each label in a file of its own, and what is known about all of them so far."""

    def __init__(self, folder: Path, memory: int) -> None:
        self._folder, self._memory = folder, memory
        self._files: dict[Any, BinaryIO] = {}
        self._counts: dict[Any, int] = {}
        self._n_features = 0
        self._value: Any = None
        self._index: Any = None
        self._has_weights: bool | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        for file in self._files.values():
            file.close()

    def add(self, block: Block) -> None:
        """Write the rows of a block to the files of their labels."""
        self._merge_kind(block)
        original = block.original_rows
        for label in _labels_of(block.y):
            places = np.flatnonzero(block.y == label)
            weights = None if block.weights is None else block.weights[places]
            rows = block.rows.take(places)
            rows.check_all()
            _write_piece(self._file(label), rows, original[places], weights)
            self._counts[label] += len(places)

    def labels(self, positive: Any, *, by_meaning: bool) -> tuple[Any, Any]:
        """Return the negative and the positive label."""
        return choose_labels(self._counts, positive, by_meaning=by_meaning)

    def header(self, labels: tuple[Any, Any], extra: dict[str, Any]) -> StoreHeader:
        """Return the header of the store."""
        return StoreHeader(
            n_positive=self._counts[labels[1]],
            n_negative=self._counts[labels[0]],
            n_features=self._n_features,
            value=np.dtype(self._value).name,
            index=None if self._index is None else np.dtype(self._index).name,
            has_weights=bool(self._has_weights),
            labels=labels,
            extra=extra,
        )

    def read(self, label: Any) -> Iterator[tuple[MemoryRows, IntArray, FloatArray | None]]:
        """Yield the rows of a label as they were written, with their original numbers and weights."""
        file = self._files[label]
        size = file.tell()
        file.seek(0)
        while file.tell() < size:
            yield _read_piece(file, self._n_features)

    def _file(self, label: Any) -> BinaryIO:
        if label not in self._files:
            if len(self._files) == 2:
                # With three labels the two files are lost work: stop at once, with both counts so far.
                seen = ", ".join(f"{known!r} ({counted(count, 'row')})" for known, count in self._counts.items())
                raise ValueError(
                    "Only binary classification is supported. The labels must have exactly two values; "
                    f"after {seen} came {label!r}."
                )
            self._files[label] = tempfile.TemporaryFile(dir=self._folder)  # noqa: SIM115 (closed by __exit__)
            self._counts[label] = 0
        return self._files[label]

    def _merge_kind(self, block: Block) -> None:
        rows = block.rows
        assert isinstance(rows, (CsrRows, DenseRows))
        size = _bytes(rows)
        if size > self._memory // 4:  # a copy of it by class, and what the reader holds
            raise ValueError(
                f"A block of {size} bytes is more than a quarter of memory={self._memory}; make the source's blocks "
                "smaller, or allow more memory."
            )
        index = rows.columns.dtype if isinstance(rows, CsrRows) else None
        value = rows.values.dtype
        if self._has_weights is None:
            self._value, self._index, self._has_weights = value, index, block.weights is not None
            self._n_features = rows.n_features
        if (index is None) != (self._index is None) or (index is None and rows.n_features != self._n_features):
            raise ValueError("All blocks must be dense with one number of columns, or all sparse.")
        if (block.weights is not None) != self._has_weights:
            raise ValueError("Either all blocks have weights or none has.")
        self._value = np.promote_types(self._value, value)
        self._index = None if index is None else np.promote_types(self._index, index)
        self._n_features = max(self._n_features, rows.n_features)


def _labels_of(y: AnyArray) -> list[Any]:
    if y.dtype.kind == "f" and not np.all(np.isfinite(y)):
        raise ValueError("A label is NaN or infinity; every row needs a label.")
    return [label.item() if isinstance(label, np.generic) else label for label in np.unique(y)]


def _bytes(rows: MemoryRows) -> int:
    if isinstance(rows, CsrRows):
        return int(rows.values.nbytes + rows.columns.nbytes + rows.starts.nbytes)
    assert isinstance(rows, DenseRows)
    return int(rows.values.nbytes)


def _write_piece(file: BinaryIO, rows: MemoryRows, original: IntArray, weights: FloatArray | None) -> None:
    arrays = [original, np.empty(0) if weights is None else weights]
    if isinstance(rows, CsrRows):
        arrays += [rows.values, rows.columns, rows.starts]
    else:
        assert isinstance(rows, DenseRows)
        arrays += [rows.values]
    np.lib.format.write_array(file, np.array([len(arrays), weights is not None]), allow_pickle=False)
    for array in arrays:
        np.lib.format.write_array(file, array, allow_pickle=False)


def _read_piece(file: BinaryIO, n_features: int) -> tuple[MemoryRows, IntArray, FloatArray | None]:
    n_arrays, has_weights = np.lib.format.read_array(file, allow_pickle=False).tolist()
    original, weights, *stored = (np.lib.format.read_array(file, allow_pickle=False) for _ in range(n_arrays))
    rows: MemoryRows = (
        DenseRows(stored[0]) if len(stored) == 1 else CsrRows(stored[0], stored[1], stored[2], n_features)
    )
    return rows, original, weights if has_weights else None
