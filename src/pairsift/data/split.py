"""One file of labelled rows as two, to train and to test on: each label in both by its share, each row as it was.

The labels are read first, one value a row; then the file is copied in its order, so that memory does not grow with the
width of the rows. Text stays what it was to the byte: a record of CSV is what Python's csv module takes for one (it may
have line ends in quotes), a row of svmlight text a line that is not empty or a comment. Readers must count the same
rows, or nothing is written.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from typing import Any, BinaryIO

import numpy as np

from pairsift._typing import AnyArray, BoolArray
from pairsift.data.compressed import ENDINGS, open_binary
from pairsift.data.formats import STANDARD_INPUT, check_file, data_format, is_row_store
from pairsift.data.labelled import LabelOptions, label_values
from pairsift.data.replacing import replacing
from pairsift.data.training import open_table

_COPIED = ("svmlight", "csv", "tsv", "parquet", "arrow")


def split_file(
    path: str, outputs: tuple[str, str], share: float, seed: int, options: LabelOptions | None = None
) -> list[dict[Any, int]]:
    """Write the rows to train on and those to test on, and return how many rows of each label each file has.

    Parameters
    ----------
    path : str
    outputs : two str
        For training and for testing; of the format of `path`, not compressed.
    share : float
        Of each label, how much is to test on; at least one row stays on either side where there are two.
    seed : int
    options : LabelOptions, optional
        `positive` is not looked at: all labels are alike here.
    """
    options = options or LabelOptions()
    kind = _checked_format(path, outputs, options)
    y = label_values(path, options)
    test = rows_to_test(y, share, np.random.default_rng(seed))
    with ExitStack() as stack:
        files = tuple(stack.enter_context(replacing(name)) for name in outputs)
        copy = _copy_table if kind in ("parquet", "arrow") else _copy_lines
        copied = copy(path, kind, options, test, files)
        if copied != len(y):
            raise ValueError(
                f"{path}: {copied:,} rows were copied, but {len(y):,} have labels; its lines cannot be told apart. "
                "Write it as plain CSV or as Parquet."
            )
    return [_counts(y[~test]), _counts(y[test])]


def rows_to_test(y: AnyArray, share: float, rng: np.random.Generator) -> BoolArray:
    """Return which rows are to test on: of each label the share, drawn at random."""
    test = np.zeros(len(y), dtype=bool)
    for label in np.unique(y):
        rows = np.flatnonzero(y == label)
        count = min(max(round(share * len(rows)), 1), len(rows) - 1)
        test[rng.permutation(rows)[:count]] = True
    return test


def _checked_format(path: str, outputs: tuple[str, str], options: LabelOptions) -> str:
    if path == STANDARD_INPUT:
        raise ValueError("The data are read twice, which standard input cannot be; give a file.")
    check_file(path)
    kind = data_format(path, options.format)
    if kind not in _COPIED or (kind == "arrow" and is_row_store(path)):
        raise ValueError(
            f"{path}: text, CSV, Parquet and Arrow tables can be split. Of NumPy arrays take scikit-learn's "
            "train_test_split(X, y, stratify=y); a row store make from the two parts of its data."
        )
    for name in outputs:
        if data_format(name, options.format) != kind or name.endswith(ENDINGS):
            raise ValueError(f"{name}: the parts of {path} are {kind}, not compressed; name them so.")
    if len({os.path.realpath(name) for name in (path, *outputs)}) < 3:
        raise ValueError("DATA, the rows to train on and those to test on are three files; give three names.")
    return kind


def _counts(y: AnyArray) -> dict[Any, int]:
    labels, counts = np.unique(y, return_counts=True)
    return dict(zip(labels.tolist(), counts.tolist(), strict=True))


def _copy_lines(path: str, kind: str, options: LabelOptions, test: BoolArray, files: tuple[BinaryIO, ...]) -> int:
    with open_binary(path) as source:
        if kind == "svmlight":
            records = _rows_of_text(source)
        else:
            records = _records(source, options.delimiter or ("\t" if kind == "tsv" else ","))
            names = next(records)
            for file in files:
                file.write(names)
        row = 0
        for row, record in enumerate(records, start=1):
            if row <= len(test):
                files[int(test[row - 1])].write(record if record.endswith(b"\n") else record + b"\n")
    return row


def _rows_of_text(lines: BinaryIO) -> Iterator[bytes]:
    return (line for line in lines if line.partition(b"#")[0].strip())


def _records(lines: BinaryIO, delimiter: str) -> Iterator[bytes]:
    """Yield the records of CSV text, each with all its lines."""
    taken: list[bytes] = []

    def taking() -> Iterator[str]:
        for line in lines:
            taken.append(line)
            yield line.decode("latin-1")  # quotes and delimiters are ASCII; the bytes are kept

    try:
        for fields in csv.reader(taking(), delimiter=delimiter):
            if fields:  # an empty line is no record
                yield b"".join(taken)
            taken.clear()
    except csv.Error as error:
        raise ValueError(f"{lines.name}: {error}.") from error


def _copy_table(path: str, kind: str, options: LabelOptions, test: BoolArray, files: tuple[BinaryIO, ...]) -> int:
    table = open_table(path, kind, None, {})
    first = 0
    with ExitStack() as stack:
        writers = [stack.enter_context(_writer(kind)(file, table.schema)) for file in files]
        for batch in table.batches(table.schema.names):
            part = test[first : first + batch.num_rows]
            for writer, rows in zip(writers, (~part, part), strict=True):
                writer.write_batch(batch.filter(rows))
            first += batch.num_rows
    return first


def _writer(kind: str) -> Callable[[BinaryIO, Any], AbstractContextManager[Any]]:
    if kind == "parquet":
        from pyarrow.parquet import ParquetWriter

        return ParquetWriter  # type: ignore[no-any-return]
    from pyarrow.ipc import RecordBatchFileWriter

    return RecordBatchFileWriter  # type: ignore[no-any-return]
