"""Data for scoring, from a file of any format, block by block and in bounded memory.

The model says what the data must be: a table is encoded as in training, text counts from where the training text did.
Columns of svmlight text that the model does not know are ignored, as new categories of a table are: their weight would
be zero. Standard input is read once, as it comes.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from pairsift._typing import AnyArray, BoolArray, FloatArray, IntArray
from pairsift.data.file_state import FileState
from pairsift.data.formats import STANDARD_INPUT, check_file, data_format, is_row_store
from pairsift.data.labels import is_positive, show, unknown_labels
from pairsift.data.rows import CsrRows, MemoryRows
from pairsift.data.svmlight import iterate_svmlight, scan_svmlight
from pairsift.data.training import open_table, store_encoding
from pairsift.words import counted

if TYPE_CHECKING:
    from pairsift.data.encoding import Encoding


class ScoringModel(Protocol):
    """What scoring asks of a model; `LinearModel` has it."""

    @property
    def n_features_in_(self) -> int:
        """Number of features."""

    @property
    def classes_(self) -> AnyArray:
        """The negative and the positive label."""

    @property
    def feature_names_in_(self) -> AnyArray | None:
        """The names of the features, where they are known."""

    @property
    def encoding(self) -> Encoding | None:
        """How a table becomes features, if the model was trained on one."""

    @property
    def zero_based(self) -> bool | None:
        """Whether the training text counted from zero, if it was text."""


@dataclass(frozen=True)
class ScoringBlock:
    """Some rows, ready for `LinearModel.decision_function`.

    `positive` tells which rows have the model's positive label (None unless labels were asked for), `weights` and `ids`
    are there when asked for, `original` are the row numbers of a store's rows where they came from.
    """

    rows: MemoryRows
    first_row: int
    positive: BoolArray | None = None
    weights: FloatArray | None = None
    ids: list[str | None] | None = None
    original: IntArray | None = None

    @property
    def original_rows(self) -> IntArray:
        """The number of each row in the data."""
        if self.original is not None:
            return self.original
        return np.arange(self.first_row, self.first_row + self.rows.n_rows)


@dataclass(frozen=True)
class ScoringOptions:
    """What the user says about the data to be scored.

    `with_labels`: whether labels are needed. `label`: their column (by default that of training), or a ``.npy`` file
    beside a NumPy file. `weight`, `ids`: columns of a table.
    """

    with_labels: bool = False
    label: str | None = None
    weight: str | None = None
    ids: str | None = None
    format: str | None = None
    delimiter: str | None = None


def open_scoring_blocks(
    path: str | os.PathLike[str], model: ScoringModel, options: ScoringOptions | None = None
) -> Iterator[ScoringBlock]:
    """Yield the rows of a file in blocks, in the order of the file.

    Parameters
    ----------
    path : str or path
        ``-`` is standard input: CSV if the model was trained on a table, else svmlight, unless `options.format` says
        otherwise.
    model : LinearModel
    options : ScoringOptions, optional

    Raises
    ------
    ValueError
        The data do not fit the model, or are damaged.
    """
    options = options or ScoringOptions()
    given = options.format
    if os.fspath(path) != STANDARD_INPUT:
        check_file(path)
    elif given is None and model.encoding is not None:
        given = "csv"
    kind = data_format(path, given)
    is_table = kind in ("csv", "tsv", "parquet") or (kind == "arrow" and not is_row_store(path))
    if not is_table and (options.ids or options.weight):
        raise ValueError(f"{path}: only tables have columns for ids and weights (--ids, --weight).")
    if model.encoding is not None and kind == "svmlight":
        raise ValueError(
            f"{path}: the model was trained on a table, whose columns have names; svmlight text has none. "
            "Give a table with the same columns."
        )
    if is_table:
        return _from_table(path, kind, model, options)
    if kind == "svmlight":
        return _from_svmlight(path, model, options)
    return _from_store(path, model, options) if kind == "arrow" else _from_numpy(path, model, options)


def _from_svmlight(path: Any, model: ScoringModel, options: ScoringOptions) -> Iterator[ScoringBlock]:
    source = sys.stdin.buffer if os.fspath(path) == STANDARD_INPUT else path
    state = None if source is sys.stdin.buffer else FileState(path)
    zero_based = model.zero_based
    if zero_based is None:
        # A pipe cannot be read twice to see how it counts; LIBSVM's convention is from one.
        zero_based = os.path.isfile(path) and scan_svmlight(path).zero_based
    first = 0
    for values, indices, starts, y, _ in iterate_svmlight(source):
        if state is not None:
            state.check()
        if not zero_based and len(indices) and indices.min() == 0:
            raise ValueError(f"{path}: index 0 occurs, but the training text counted from one; these data do not fit.")
        rows = _narrowed(values, indices - indices.dtype.type(not zero_based), starts, model.n_features_in_)
        yield ScoringBlock(rows, first, _positives(path, y, model) if options.with_labels else None)
        first += rows.n_rows
    if first == 0:
        raise ValueError(f"{path}: the text holds no rows.")


def _narrowed(values: AnyArray, columns: AnyArray, starts: AnyArray, n_features: int) -> CsrRows:
    known = columns < n_features
    if not known.all():
        before = np.concatenate([[0], np.cumsum(known)])
        values, columns, starts = values[known], columns[known], before[starts].astype(starts.dtype)
    return CsrRows(values, columns, starts, n_features)


def _from_numpy(path: Any, model: ScoringModel, options: ScoringOptions) -> Iterator[ScoringBlock]:
    from pairsift.data.blocks import ArrayBlocks
    from pairsift.data.numpy_files import read_numpy

    rows, y, _ = read_numpy(path, options.label if options.with_labels else None)
    _check_width(path, rows.n_features, model)
    if options.with_labels and y is None:
        raise ValueError(f"{path}: the file has no labels; put them into the .npz as y, or name a file: --label y.npy.")
    for block in ArrayBlocks(rows, np.zeros(rows.n_rows) if y is None else y):
        yield ScoringBlock(
            block.rows, block.first_row, _positives(path, block.y, model) if options.with_labels else None
        )


def _from_store(path: Any, model: ScoringModel, options: ScoringOptions) -> Iterator[ScoringBlock]:
    from pairsift.data.blocks import StoreBlocks
    from pairsift.data.store import RowStore

    store = RowStore(path)
    _check_width(path, store.n_features, model)
    encoding = store_encoding(store)
    if encoding is not None and model.encoding is not None and encoding.feature_names != model.encoding.feature_names:
        raise ValueError(f"{path}: this row store was made from another table than the model; its features differ.")
    for block in StoreBlocks(store):
        positive = _positives(path, block.y, model) if options.with_labels else None
        yield ScoringBlock(block.rows, block.first_row, positive, block.weights, None, block.original_rows)


def _from_table(path: Any, kind: str, model: ScoringModel, options: ScoringOptions) -> Iterator[ScoringBlock]:
    from pairsift.data.encoding import delimiter_hint, text_of
    from pairsift.data.table_blocks import positives_of, weights_of
    from pairsift.data.tables import TableError

    encoding = model.encoding or _encoding_by_names(path, model)
    label = (options.label or encoding.label) if options.with_labels else None
    types = encoding.text_types()
    # Labels are compared with the model's as text: where they are words and the model's are numbers, that is said.
    types |= {label: types.get(label, "text")} if label else {}
    types |= {options.weight: "number"} if options.weight else {}
    # An id is shown as it is written, even if it is a feature too: then it is read as what the feature is.
    types |= {options.ids: types.get(options.ids, "text")} if options.ids else {}
    source = sys.stdin.buffer if os.fspath(path) == STANDARD_INPUT else path
    table = open_table(source, kind, options.delimiter or (encoding.delimiter if kind == "csv" else None), types)
    encoding.check_columns(table.schema.names, table.name)
    if options.with_labels and label is None:
        raise TableError(f"{table.name}: say which column is the label with --label.")
    extra = [name for name in (label, options.weight, options.ids) if name is not None]
    for name in extra:
        if name not in table.schema.names:
            names = ", ".join(map(repr, table.schema.names))
            hint = delimiter_hint(table.schema.names)
            raise TableError(f"{table.name}: there is no column {name!r}; the columns are {names}.{hint}")
    first = 0
    for batch in table.batches(list(dict.fromkeys([*encoding.names, *extra]))):
        rows = encoding.encode(batch, first, table.name)
        yield ScoringBlock(
            rows,
            first,
            None if label is None else positives_of(batch, label, model.classes_, table.name),
            None if options.weight is None else weights_of(batch, options.weight, table.name),
            None if options.ids is None else text_of(batch.column(options.ids), options.ids, table.name).to_pylist(),
        )
        first += rows.n_rows
    if first == 0:
        raise TableError(f"{table.name}: the table has no rows.")


def _encoding_by_names(path: Any, model: ScoringModel) -> Encoding:
    from pairsift.data.encoding import numbers_encoding

    names = model.feature_names_in_
    if names is None:
        raise ValueError(
            f"{path}: a table, but the model was trained on rows without column names; "
            "give it svmlight text or a NumPy file, or train it on a table."
        )
    return numbers_encoding(names)


def _check_width(path: Any, n_features: int, model: ScoringModel) -> None:
    if n_features != model.n_features_in_:
        raise ValueError(
            f"{path}: the rows have {counted(n_features, 'feature')}, but the model expects "
            f"{counted(model.n_features_in_, 'feature')}."
        )


def _positives(path: Any, y: AnyArray, model: ScoringModel) -> BoolArray:
    labels, places = np.unique(y, return_inverse=True)
    meaning = []
    for label in labels.tolist():
        found = is_positive(model.classes_, label)
        if found is None:
            raise ValueError(f"{path}: {unknown_labels(f'the label {show(label)} occurs', model.classes_)}")
        meaning.append(found)
    return np.array(meaning, dtype=bool)[places]
