"""Labels and scores of a file of labelled rows, in one pass and bounded memory: only these two columns are kept.

With a model the labels must be the model's two, and its second one is positive. Where there is none (the scores come
from a file) labels are read by the rules of training, and nothing else of the data is.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from pairsift._typing import AnyArray, BoolArray, FloatArray
from pairsift.data.formats import STANDARD_INPUT, check_file, data_format, is_row_store
from pairsift.data.labels import match_label, show
from pairsift.data.problem import Problem, make_problem, split_binary_labels
from pairsift.data.scoring import ScoringModel, ScoringOptions, open_scoring_blocks
from pairsift.data.svmlight import iterate_svmlight
from pairsift.data.training import open_table
from pairsift.words import all_rows_have


class LabelledScorer(ScoringModel, Protocol):
    """A model that scores blocks; `LinearModel` is one."""

    def decision_function(self, X: Any) -> FloatArray:
        """Return the score of each row."""


@dataclass(frozen=True)
class LabelOptions:
    """How the labels of a file are read: see `pairsift.data.training.DataOptions`."""

    label: str | None = None
    positive: str | None = None
    format: str | None = None
    delimiter: str | None = None


@dataclass(frozen=True)
class Labelled:
    """Whether each row is positive, the two labels (negative first) and, where there is a model, its scores."""

    positive: BoolArray
    labels: AnyArray
    scores: FloatArray


def score_labelled(
    path: str | os.PathLike[str], model: LabelledScorer, options: LabelOptions | None = None
) -> Labelled:
    """Return labels and scores of the rows of a file, in the order of the file.

    Raises
    ------
    ValueError
        The data do not fit the model, a label is not the model's, or all rows have one class.
    """
    options = options or LabelOptions()
    check_positive(model.classes_, options.positive)
    reading = ScoringOptions(with_labels=True, label=options.label, format=options.format, delimiter=options.delimiter)
    positive, scores = [], []
    for block in open_scoring_blocks(path, model, reading):
        assert block.positive is not None
        positive.append(block.positive)
        scores.append(model.decision_function(block.rows))
    labels = model.classes_
    return Labelled(_both_classes(path, np.concatenate(positive), labels), labels, np.concatenate(scores))


def read_labels(path: str | os.PathLike[str], options: LabelOptions | None = None) -> Labelled:
    """Return the labels of the rows of a file, by the rules of training; its scores are empty.

    Raises
    ------
    ValueError
        There are no two labels, it is open which one is positive, or the file is a row store, whose rows have another
        order than the data it was made from.
    """
    options = options or LabelOptions()
    y = label_values(path, options)
    try:
        labels, positive = split_binary_labels(y, options.positive, by_meaning=True)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    return Labelled(positive, labels, np.empty(0))


def label_values(path: str | os.PathLike[str], options: LabelOptions) -> AnyArray:
    """Return the label of each row, as it is in the file."""
    if os.fspath(path) != STANDARD_INPUT:
        check_file(path)
    kind = data_format(path, options.format)
    if kind == "arrow" and is_row_store(path):
        raise _store_order(path)
    return np.concatenate(list(_label_parts(path, kind, _is_table(path, options), options)))


def _is_table(path: Any, options: LabelOptions) -> bool:
    return data_format(path, options.format) in ("csv", "tsv", "parquet", "arrow")


def check_row_order(path: str | os.PathLike[str], options: LabelOptions | None = None) -> None:
    """Raise `ValueError` when scores of a file cannot be matched with the rows of `path` by their order."""
    given = options.format if options else None
    if os.fspath(path) != STANDARD_INPUT:
        check_file(path)
        if data_format(path, given) == "arrow" and is_row_store(path):
            raise _store_order(path)


def check_positive(labels: AnyArray, positive: str | None) -> None:
    """Raise `ValueError` when the user says that another label than the model's is positive."""
    if positive is not None:
        found = match_label(labels, positive)
        if found is None or found != labels[1]:
            raise ValueError(
                f"The model's positive label is {show(labels[1])} (and {show(labels[0])} is negative); "
                f"it cannot be evaluated with {positive!r} as the positive one."
            )


def _store_order(path: Any) -> ValueError:
    return ValueError(
        f"{path}: a row store has its rows in another order than the data it was made from (positives first), so that "
        "a file of scores cannot be matched with it. Give the data that it was made from."
    )


def _both_classes(path: Any, positive: BoolArray, labels: AnyArray) -> BoolArray:
    n_positive = int(np.count_nonzero(positive))
    if n_positive in (0, len(positive)):
        raise ValueError(
            f"{path}: {all_rows_have(len(positive))} one class, the label {show(labels[1 if n_positive else 0])}: "
            "there is no pair to order. Give rows of both classes."
        )
    return positive


def _label_parts(path: Any, kind: str, is_table: bool, options: LabelOptions) -> Iterator[AnyArray]:
    if is_table:
        yield from _table_labels(path, kind, options)
    elif kind == "svmlight":
        source = sys.stdin.buffer if os.fspath(path) == STANDARD_INPUT else path
        parts = [block.y for block in iterate_svmlight(source)]
        if not parts:
            raise ValueError(f"{path}: the text holds no rows.")
        yield from parts
    else:
        from pairsift.data.numpy_files import read_numpy

        y = read_numpy(path, options.label).y
        if y is None:
            raise ValueError(
                f"{path}: the file has no labels; put them into the .npz as y, or name a file: --label y.npy."
            )
        yield np.asarray(y)


def _table_labels(path: Any, kind: str, options: LabelOptions) -> Iterator[AnyArray]:
    from pairsift.data.csv_table import TypeChangedError
    from pairsift.data.encoding import delimiter_hint
    from pairsift.data.learn_encoding import plain_labels
    from pairsift.data.tables import TableError

    source = sys.stdin.buffer if os.fspath(path) == STANDARD_INPUT else path
    table = open_table(source, kind, options.delimiter, {})
    label = options.label
    if label is None or label not in table.schema.names:
        names = ", ".join(map(repr, table.schema.names[:20]))
        asked = "say which column is the label with --label" if label is None else f"there is no column {label!r}"
        raise TableError(f"{table.name}: {asked}; the columns are {names}.{delimiter_hint(table.schema.names)}")
    for _ in range(3):  # a column of CSV text that turns out to be wider is read again
        try:
            parts = []
            for batch in table.batches([label]):
                codes, values = plain_labels(batch.column(label), label, table.name)
                parts.append(np.array(values)[codes])
            if not parts:
                raise TableError(f"{table.name}: the table has no rows.")
            yield from parts
            return
        except TypeChangedError:
            continue


def read_labelled_rows(
    path: str | os.PathLike[str], model: ScoringModel, options: LabelOptions | None = None
) -> Problem:
    """Return the rows of a file in memory, with the features and the labels of a model, and its column of weights.

    What is learned from them sees exactly the features that the model saw.
    """
    from pairsift.data.block_rows import join_rows

    options = options or LabelOptions()
    check_positive(model.classes_, options.positive)
    reading = ScoringOptions(
        with_labels=True,
        label=options.label,
        weight=_weight_column(path, model, options.format),
        format=options.format,
        delimiter=options.delimiter,
    )
    blocks = list(open_scoring_blocks(path, model, reading))
    positive = np.concatenate([block.positive for block in blocks if block.positive is not None])
    weights = [block.weights for block in blocks if block.weights is not None]
    _both_classes(path, positive, model.classes_)
    return make_problem(
        join_rows([block.rows for block in blocks]), positive, np.concatenate(weights) if weights else None
    )


def _weight_column(path: Any, model: ScoringModel, given: str | None) -> str | None:
    """Return the column of weights that the model was trained with; a row store brings its own."""
    if model.encoding is None or (data_format(path, given) == "arrow" and is_row_store(path)):
        return None
    return model.encoding.weight
