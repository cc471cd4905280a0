"""Data for training, from a file of any format: the one entry that the command line uses.

svmlight text, NumPy files and tables are read into memory; a row store is read by place while it is learned from.
Nothing here imports scipy, scikit-learn or, unless the file is a table, pyarrow.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pairsift._typing import AnyArray
from pairsift.data.file_state import FileState
from pairsift.data.formats import STANDARD_INPUT, check_file, data_format, is_row_store
from pairsift.data.held_by import HeldBy, held_by
from pairsift.data.labels import match_label, show
from pairsift.data.problem import Problem, make_problem, split_binary_labels
from pairsift.data.rows import DenseRows, MemoryRows
from pairsift.data.scaling import Scaling, check_kind, learn_scaling
from pairsift.data.svmlight import ZeroBased, read_svmlight_and_base

if TYPE_CHECKING:
    # Imported where they are used: each format brings its own, and a fit from text should not wait for the others.
    from pairsift.data.blocks import BlockSource
    from pairsift.data.encoding import Encoding, Impute
    from pairsift.data.store import RowStore
    from pairsift.data.table_blocks import TableBlocks

MAX_CATEGORIES = 1000
WIDEST = 2**27
"""Text with more features is refused unless the user says how many there are: a model has 8 bytes for each."""


@dataclass(frozen=True)
class DataOptions:
    """What the user says about the data; each format takes those that mean something to it and refuses the others.

    `format`, `delimiter`: how to read the file. `n_features`, `zero_based`: svmlight text. `label`: the column of a
    table, or a file or array of labels for NumPy files. `positive`: the positive label, for all formats. `holdout_by`:
    the column of a table to hold rows out by. The rest is for tables, see `TableOptions`.
    """

    label: str | None = None
    positive: Any = None
    weight: str | None = None
    holdout_by: str | None = None
    drop: Sequence[str] = ()
    categorical: Sequence[str] = ()
    impute: Impute | None = None
    max_categories: int = MAX_CATEGORIES
    format: str | None = None
    delimiter: str | None = None
    n_features: int | None = None
    zero_based: ZeroBased = "auto"


@dataclass(frozen=True)
class TrainingData:
    """Rows with two classes, scaled, and what a model must remember to score raw rows.

    Attributes
    ----------
    problem : Problem
    labels : array of the negative and the positive label
    feature_names : list of str, or None
    encoding : Encoding or None
        How a table became rows.
    scaling : Scaling
    zero_based : bool or None
        Whether svmlight text counted from zero; None for other formats.
    has_qid : bool
        Whether the text had query ids, which are not used.
    store : RowStore or None
    state : FileState or None
        What the file was when it was opened; None for standard input.
    row_numbers : tuple of str
        Columns of a table that only number its rows.
    held_by : HeldBy or None
        The column that rows are held out by, if the user named one.
    """

    problem: Problem
    labels: AnyArray
    feature_names: list[str] | None = None
    encoding: Encoding | None = None
    scaling: Scaling = field(default_factory=Scaling)
    zero_based: bool | None = None
    has_qid: bool = False
    store: RowStore | None = None
    state: FileState | None = None
    row_numbers: tuple[str, ...] = ()
    held_by: HeldBy | None = None

    def check_unchanged(self) -> None:
        """Raise `ValueError` if the file was changed since it was opened."""
        if self.state is not None:
            self.state.check()


@dataclass(frozen=True)
class ConvertSource:
    """Blocks for `convert`, with its arguments `positive` and `extra`."""

    blocks: BlockSource
    positive: Any
    extra: dict[str, Any]


def open_training_data(
    path: str | os.PathLike[str], options: DataOptions | None = None, *, scale: str = "none"
) -> TrainingData:
    """Read data of any format for training.

    Parameters
    ----------
    path : str or path
        ``-`` is standard input.
    options : DataOptions, optional
    scale : "none", "unit", "standard" or "max"
        See `pairsift.data.scaling`.

    Raises
    ------
    ValueError
        What is wrong with the file, and what to do.
    OSError
        The file cannot be opened.
    """
    options = options or DataOptions()
    check_kind(scale)
    kind = _checked_format(path, options)
    state = None if os.fspath(path) == STANDARD_INPUT else FileState(path)
    data = _read(path, kind, options)
    data = _scaled(data, scale) if data.store is None else _scaled_store(data, scale)
    return replace(data, state=state)


def _read(path: str | os.PathLike[str], kind: str, options: DataOptions) -> TrainingData:
    if kind == "svmlight":
        return _from_svmlight(path, options)
    if kind in ("npy", "npz"):
        return _from_numpy(path, options)
    if kind == "arrow" and is_row_store(path):
        return _from_store(path, options)
    with table_source(path, kind, options) as blocks:
        return _from_table(blocks, options.holdout_by)


@contextmanager
def open_convert_source(path: str | os.PathLike[str], options: DataOptions | None = None) -> Iterator[ConvertSource]:
    """Open data of any format as blocks, in bounded memory; what standard input gives is kept on disk meanwhile."""
    from pairsift.data.blocks import ArrayBlocks, StoreBlocks, SvmlightBlocks
    from pairsift.data.numpy_files import read_numpy

    options = options or DataOptions()
    kind = _checked_format(path, options)
    if kind == "svmlight":
        _refuse_table_options(path, options)
        with _spooled(path) as file:
            yield ConvertSource(
                SvmlightBlocks(file, n_features=options.n_features, zero_based=options.zero_based), options.positive, {}
            )
    elif kind in ("npy", "npz"):
        _refuse_table_options(path, options, label=True)
        rows, y, weights = read_numpy(path, options.label)
        yield ConvertSource(ArrayBlocks(rows, _required(path, y), weights), options.positive, {})
    elif kind == "arrow" and is_row_store(path):
        data = _from_store(path, options)
        assert data.store is not None
        yield ConvertSource(StoreBlocks(data.store), data.labels[1].item(), data.store.header.extra)
    else:
        with table_source(path, kind, options) as blocks:
            yield ConvertSource(blocks, blocks.labels[1], {"encoding": blocks.encoding.to_json()})


@contextmanager
def table_source(path: str | os.PathLike[str], kind: str, options: DataOptions) -> Iterator[TableBlocks]:
    """Open a table as `TableBlocks`; pyarrow is imported here and not before."""
    from pairsift.data.learn_encoding import TableOptions
    from pairsift.data.table_blocks import TableBlocks
    from pairsift.data.tables import TableError

    with _spooled(path) as file:
        named = "standard input" if os.fspath(path) == STANDARD_INPUT else None
        table = open_table(file, kind, options.delimiter, dict.fromkeys(options.categorical, "text"), named)
        if options.label is None:
            columns = table.schema.names
            names = ", ".join(map(repr, columns[:20])) + (
                f", ... ({len(columns)} columns)" if len(columns) > 20 else ""
            )
            raise TableError(f"{table.name}: say which column is the label with --label; the columns are {names}.")
        blocks = TableBlocks(
            table,
            TableOptions(
                label=options.label,
                positive=options.positive,
                weight=options.weight,
                holdout_by=options.holdout_by,
                drop=tuple(options.drop),
                categorical=tuple(options.categorical),
                impute=options.impute,
                max_categories=options.max_categories,
            ),
        )
        if kind == "csv" and options.delimiter is not None:  # files to be scored will have the same
            blocks.encoding = replace(blocks.encoding, delimiter=options.delimiter)
        yield blocks


def open_table(source: Any, kind: str, delimiter: str | None, types: dict[str, str], name: str | None = None) -> Any:
    """Open a table of a known format; `types` are for CSV text, which has none of its own."""
    from pairsift.data.csv_table import CsvTable
    from pairsift.data.tables import ArrowTable, ParquetTable

    if kind in ("csv", "tsv"):
        return CsvTable(source, delimiter=delimiter or ("\t" if kind == "tsv" else ","), types=types, name=name)
    return ParquetTable(source) if kind == "parquet" else ArrowTable(source)


def store_encoding(store: RowStore) -> Encoding | None:
    """Return how the table that a store was made from became rows, or None."""
    from pairsift.data.encoding import Encoding

    content = store.header.extra.get("encoding")
    if content is None:
        return None
    encoding = Encoding.from_json(content)
    if encoding.n_features != store.n_features:
        raise ValueError(f"{store.path}: its encoding has {encoding.n_features} features, its rows {store.n_features}.")
    return encoding


def _from_svmlight(path: str | os.PathLike[str], options: DataOptions) -> TrainingData:
    _refuse_table_options(path, options)
    source = sys.stdin.buffer if os.fspath(path) == STANDARD_INPUT else path
    (rows, y, qid), base = read_svmlight_and_base(source, n_features=options.n_features, zero_based=options.zero_based)
    if options.n_features is None and rows.n_features > WIDEST:
        raise ValueError(
            f"{path}: an index gives {rows.n_features} features, and a model of {rows.n_features * 8 / 1e9:.0f} GB. "
            "If that is meant, say so with --n-features; otherwise look for a damaged line."
        )
    labels, positive = _split_labels(path, y, options)
    return TrainingData(make_problem(rows, positive), labels, zero_based=base, has_qid=qid is not None)


def _split_labels(path: str | os.PathLike[str], y: AnyArray, options: DataOptions) -> tuple[AnyArray, AnyArray]:
    """Return what `split_binary_labels` does; its errors name the file."""
    try:
        return split_binary_labels(y, options.positive, by_meaning=True)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def _from_numpy(path: str | os.PathLike[str], options: DataOptions) -> TrainingData:
    from pairsift.data.numpy_files import read_numpy

    _refuse_table_options(path, options, label=True)
    rows, y, weights = read_numpy(path, options.label)
    labels, positive = _split_labels(path, _required(path, y), options)
    return TrainingData(make_problem(rows, positive, weights), labels)


def _from_store(path: str | os.PathLike[str], options: DataOptions) -> TrainingData:
    from pairsift.data.store import RowStore

    _refuse_table_options(path, options, what="this is a row store, which brings its labels and weights")
    store = RowStore(path)
    if options.positive is not None:
        chosen = match_label(store.labels, options.positive)
        if chosen is None or chosen != store.labels[1]:
            raise ValueError(
                f"{path}: the positive label of this row store is {show(store.labels[1])}; "
                f"to have {options.positive!r} positive, make it again with `pairsift convert --positive`."
            )
    encoding = store_encoding(store)
    names = None if encoding is None else encoding.feature_names
    return TrainingData(store.problem(), store.labels, names, encoding, store=store)


def _from_table(blocks: TableBlocks, holdout_by: str | None) -> TrainingData:
    from pairsift.data.block_rows import join_rows

    encoding = blocks.encoding
    values = None if encoding.sparse else np.empty((blocks.n_rows, encoding.n_features), dtype=encoding.dtype)
    parts: list[MemoryRows] = []
    labels = np.array(blocks.labels)
    y: list[AnyArray] = []
    weights: list[AnyArray] = []
    for block in blocks:
        if values is None:
            parts.append(block.rows)
        else:
            assert isinstance(block.rows, DenseRows)
            values[block.first_row : block.first_row + block.rows.n_rows] = block.rows.values
        y.append(block.y == labels[1])
        weights += [] if block.weights is None else [block.weights]
    rows = join_rows(parts) if values is None else DenseRows(values)
    weight = np.concatenate(weights) if weights else None
    problem = make_problem(rows, np.concatenate(y), weight)
    names = encoding.feature_names
    column = None if holdout_by is None else held_by(holdout_by, blocks.values_of(holdout_by))
    return TrainingData(problem, labels, names, encoding, row_numbers=blocks.row_numbers, held_by=column)


def _scaled(data: TrainingData, scale: str) -> TrainingData:
    if scale == "none":
        return data
    from pairsift.data.blocks import ArrayBlocks

    rows, problem = data.problem.rows, data.problem
    assert isinstance(rows, MemoryRows)
    weights = np.zeros(rows.n_rows)
    weights[problem.positives[:]] = 1.0 if problem.positive_weights is None else problem.positive_weights
    weights[problem.negatives[:]] = 1.0 if problem.negative_weights is None else problem.negative_weights
    blocks = ArrayBlocks(rows, weights, weights)
    scaling = learn_scaling(scale, ((block.rows, block.weights) for block in blocks))
    return replace(data, problem=replace(problem, rows=scaling.apply(rows)), scaling=scaling)


def _scaled_store(data: TrainingData, scale: str) -> TrainingData:
    if scale == "none":
        return data
    from pairsift.data.blocks import StoreBlocks
    from pairsift.data.scaled_rows import ScaledStore

    assert data.store is not None
    scaling = learn_scaling(scale, ((block.rows, block.weights) for block in StoreBlocks(data.store)))
    return replace(data, problem=replace(data.problem, rows=ScaledStore(data.store, scaling)), scaling=scaling)


@contextmanager
def _spooled(path: str | os.PathLike[str]) -> Iterator[str | os.PathLike[str]]:
    """Give a file that can be read more than once: what comes through a pipe is kept on disk meanwhile."""
    if os.fspath(path) != STANDARD_INPUT and os.path.isfile(path):
        yield path
        return
    import shutil
    import tempfile

    with tempfile.NamedTemporaryFile(prefix="pairsift-") as copy:
        if os.fspath(path) == STANDARD_INPUT:
            shutil.copyfileobj(sys.stdin.buffer, copy)
        else:
            with open(path, "rb") as pipe:
                shutil.copyfileobj(pipe, copy)
        copy.flush()
        yield copy.name


def _checked_format(path: str | os.PathLike[str], options: DataOptions) -> str:
    if os.fspath(path) != STANDARD_INPUT:
        check_file(path)
    return data_format(path, options.format)


def _refuse_table_options(
    path: Any, options: DataOptions, *, label: bool = False, what: str = "this file is not one"
) -> None:
    names = ("weight", "holdout_by", "drop", "categorical", "impute", "delimiter") + (() if label else ("label",))
    given = [name.replace("_", "-") for name in names if getattr(options, name)]
    if given:
        csv = " If it is CSV text, say so: --format csv." if data_format(path, options.format) == "svmlight" else ""
        raise ValueError(f"{path}: --{given[0]} is for tables; {what}.{csv}")


def _required(path: Any, y: AnyArray | None) -> AnyArray:
    if y is None:
        raise ValueError(f"{path}: the file has no labels; put them into the .npz as y, or name a file: --label y.npy.")
    return y
