"""One pass over a table: what its columns are, which values are missing, and how the labels are spread.

Text with very many different values is an identifier or free text far more often than a category, and one column for
each would hide that: beyond `max_categories` values a column is refused by name, and the user drops it, or raises the
limit. Text that is numbers in nearly all rows is refused too, with a value that is none: see `suspect_columns`.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pairsift._typing import AnyArray, FloatArray
from pairsift.data.csv_table import TypeChangedError
from pairsift.data.encoding import (
    IMPUTATIONS,
    Column,
    Encoding,
    Impute,
    _listed,
    codes_of,
    delimiter_hint,
    infinite_values,
    is_number,
    is_text,
    missing_values,
    numbers_of,
    text_of,
)
from pairsift.data.labels import choose_labels
from pairsift.data.suspect_columns import UNNAMED, NearlyNumbers, RowNumbers
from pairsift.data.tables import Table, TableError, import_pyarrow, index_columns
from pairsift.words import counted

MAX_CATEGORIES = 1000
MEDIAN_VALUES = 2**24  # kept in all, 128 MB; beyond that the median is one of every second, fourth, ... value

_MOST_LABELS = 1000
_MOST_FAULTS = 3  # told at once


@dataclass(frozen=True)
class TableOptions:
    """What the user says about a table.

    Attributes
    ----------
    label : str
        The column of the labels.
    positive : optional
        The positive label; by default the affirmative of a known pair (no/yes), else the rarer one.
    weight : str, optional
        The column of sample weights.
    holdout_by : str, optional
        The column to hold rows out by.
    drop : sequence of str
        Columns that are no features.
    categorical : sequence of str
        Columns of numbers that are categories, such as postal codes.
    impute : "mean", "median", "zero" or None
        What stands for missing values; None refuses them.
    max_categories : int
        Most different values of a category column.
    """

    label: str
    positive: Any = None
    weight: str | None = None
    holdout_by: str | None = None
    drop: Sequence[str] = ()
    categorical: Sequence[str] = ()
    impute: Impute | None = None
    max_categories: int = MAX_CATEGORIES

    def __post_init__(self) -> None:
        if self.impute is not None and self.impute not in IMPUTATIONS:
            raise ValueError(f"impute must be mean, median, zero or None; got {self.impute!r}.")
        if self.label in self.drop or self.label == self.weight:
            raise ValueError(f"The label column {self.label!r} cannot be dropped, nor be the weight.")
        if self.holdout_by is not None and self.holdout_by in (self.label, self.weight):
            raise ValueError(f"Rows cannot be held out by {self.holdout_by!r}: it is the label or the weight.")


@dataclass(frozen=True)
class Learned:
    """What the pass found."""

    encoding: Encoding
    n_rows: int
    label_counts: dict[Any, int]
    labels: tuple[Any, Any]
    """The negative and the positive label."""
    row_numbers: tuple[str, ...] = ()
    """Columns that only number the rows, as an id or the index of a frame does."""


def learn_encoding(table: Table, options: TableOptions) -> Learned:
    """Read a table once and return how its columns become features.

    Raises
    ------
    TableError
        Columns that are not there, or that cannot be used; missing or infinite values.
    """
    while True:
        try:
            return _learn(table, options)
        except TypeChangedError:  # CSV text showed its types late; each column can do so twice at most
            continue


def _learn(table: Table, options: TableOptions) -> Learned:
    columns = _features(table, options)
    if not columns:
        raise TableError(f"{table.name}: no column is left to learn from, besides the label.")
    keep = max(1000, MEDIAN_VALUES // len(columns)) if options.impute == "median" else 0
    _refuse_types(table, columns)
    learners = [_learner(table, name, options, keep) for name in columns]
    extra = [options.label] + ([options.weight] if options.weight else [])
    labels: Counter[Any] = Counter()
    n_rows = 0
    for batch in table.batches([*columns, *extra]):
        for learner in learners:
            learner.add(batch.column(learner.name))
        _count_labels(labels, batch.column(options.label), options.label, table.name)
        n_rows += batch.num_rows
    if n_rows == 0:
        raise TableError(f"{table.name}: the table has no rows.")
    chosen = _checked_together(labels, learners, options, table.name)
    kinds = [table.schema.field(learner.name).type for learner in learners if isinstance(learner, _Numbers)]
    single = bool(kinds) and all(import_pyarrow().types.is_float32(kind) for kind in kinds)
    made = tuple(learner.finish(options.impute, table.name) for learner in learners)
    encoding = Encoding(made, "float32" if single else "float64", options.impute, options.label, options.weight)
    numbering = (learner.name for learner in learners if isinstance(learner, _Numbers) and learner.row_numbers.found)
    return Learned(encoding, n_rows, dict(labels), chosen, tuple(numbering))


def _features(table: Table, options: TableOptions) -> list[str]:
    names = list(table.schema.names)
    for role, name in (("label", options.label), ("weight", options.weight), ("holdout", options.holdout_by)):
        if name is not None and name not in names:
            raise TableError(
                f"{table.name}: there is no {role} column {name!r}; the columns are {_listed(names)}."
                f"{delimiter_hint(names)}"
            )
    for role, given in (("drop", options.drop), ("categorical", options.categorical)):
        unknown = [name for name in given if name not in names]
        if unknown:
            raise TableError(
                f"{table.name}: --{role} names {', '.join(map(repr, unknown))}, which is no column; "
                f"the columns are {_listed(names)}. For several columns give --{role} several times."
            )
    left_out = {options.label, options.weight, options.holdout_by, *options.drop, *index_columns(table.schema)}
    return [name for name in names if name not in left_out]


def _learner(table: Table, name: str, options: TableOptions, keep: int) -> _Numbers | _Categories:
    kind, types = table.schema.field(name).type, import_pyarrow().types
    if is_text(kind) or types.is_dictionary(kind) or (name in options.categorical and is_number(kind)):
        # Who stored a dictionary, or named the column, has said that it holds categories.
        doubtful = is_text(kind) and name not in options.categorical
        return _Categories(name, options.max_categories, table.name, NearlyNumbers() if doubtful else None)
    unnamed = name in UNNAMED and name == table.schema.names[0]
    return _Numbers(name, bool(types.is_boolean(kind)), keep, RowNumbers(unnamed))


def _refuse_types(table: Table, columns: list[str]) -> None:
    """Raise for all columns at once that are neither numbers nor text."""
    types = import_pyarrow().types
    kinds = {name: table.schema.field(name).type for name in columns}
    wrong = {
        name: kind
        for name, kind in kinds.items()
        if not (is_number(kind) or is_text(kind) or types.is_dictionary(kind) or types.is_null(kind))
    }
    if wrong:
        shown = ", ".join(f"{name!r} is of type {kind}" for name, kind in list(wrong.items())[:10])
        drops = " ".join(f"--drop {shlex.quote(name)}" for name in list(wrong)[:10])
        raise TableError(
            f"{table.name}: column {shown}; numbers or text are required. Leave out what is no feature ({drops}), or "
            "turn it into numbers first (a date into days since some day, say)."
        )


@dataclass
class _Numbers:
    """What is learned of a column of numbers."""

    name: str
    is_bool: bool
    keep: int  # how many values to keep for the median
    row_numbers: RowNumbers
    n_missing: int = 0
    n_infinite: int = 0
    n_values: int = 0
    total: float = 0.0
    kept: list[FloatArray] = field(default_factory=list)
    n_kept: int = 0
    every: int = 1

    def add(self, array: Any) -> None:
        numbers = numbers_of(array, self.name, "")
        self.row_numbers.add(numbers)
        present = numbers
        if not np.isfinite(numbers).all():
            present = numbers[~np.isnan(numbers)]
            self.n_missing += len(numbers) - len(present)
            self.n_infinite += int(np.count_nonzero(np.isinf(present)))
        if self.keep:
            self._keep(present)
        self.total += float(np.sum(present))
        self.n_values += len(present)

    def _keep(self, present: AnyArray) -> None:
        part = present[-self.n_values % self.every :: self.every].copy()
        self.kept.append(part)
        self.n_kept += len(part)
        while self.n_kept > self.keep:
            self.kept = [np.concatenate(self.kept)[::2].copy()]
            self.n_kept, self.every = len(self.kept[0]), 2 * self.every

    def finish(self, impute: Impute | None, table: str) -> Column:
        kind = "bool" if self.is_bool else "number"
        if impute is None:
            return Column(self.name, kind)  # type: ignore[arg-type]
        fill = 0.0
        if impute != "zero":
            _refuse_empty(self.n_values, self.name, table)
            fill = float(np.median(np.concatenate(self.kept))) if impute == "median" else self.total / self.n_values
        return Column(self.name, kind, fill)  # type: ignore[arg-type]


@dataclass
class _Categories:
    """What is learned of a column of categories."""

    name: str
    most: int
    table: str
    numbers: NearlyNumbers | None = None
    n_missing: int = 0
    n_infinite: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    is_full: bool = False

    def add(self, array: Any) -> None:
        codes, values = codes_of(text_of(array, self.name, ""))
        counts = np.bincount(codes[codes >= 0], minlength=len(values)).tolist()
        self.n_missing += int(np.count_nonzero(codes < 0))
        if self.numbers is not None:
            self.numbers.add(codes, values, counts)
        if not self.is_full:
            self._count(values, counts)

    def _count(self, values: list[str], counts: list[int]) -> None:
        for value, count in zip(values, counts, strict=True):
            if count:
                self.counts[value] += count
        if len(self.counts) > 100 * self.most:  # counting on would fill the memory, and the answer is known,
            self.is_full = True
            if self.numbers is None or not self.numbers.nearly_all:  # but the value that is no number may come yet
                self.refuse()

    def refuse(self) -> None:
        """Raise when these are numbers but for a few rows, or when there are too many categories."""
        fault = None if self.numbers is None else self.numbers.fault(self.name, self.table)
        if fault is not None:
            raise TableError(fault)
        if len(self.counts) > self.most:
            raise TableError(
                f"{self.table}: column {self.name!r} has {'at least ' if self.is_full else ''}{len(self.counts):,} "
                f"different values, more than the {self.most:,} allowed. Leave it out with --drop "
                f"{shlex.quote(self.name)}, or allow more with --max-categories."
            )

    def finish(self, impute: Impute | None, table: str) -> Column:
        _refuse_empty(len(self.counts), self.name, table)
        fill = None
        if impute in ("mean", "median"):
            fill = min(self.counts, key=lambda value: (-self.counts[value], value))
        return Column(self.name, "category", fill, tuple(sorted(self.counts)))


def _refuse_empty(count: int, name: str, table: str) -> None:
    if count == 0:
        drop = f"--drop {shlex.quote(name)}"
        raise TableError(f"{table}: column {name!r} has no value in any row; leave it out with {drop}.")


def _checked_together(
    counts: Counter[Any], learners: list[_Numbers | _Categories], options: TableOptions, table: str
) -> tuple[Any, Any]:
    """Return the two labels, or say at once what is wrong with them and with the columns: the user mends both."""
    faults = []
    chosen: tuple[Any, Any] = (None, None)
    try:
        chosen = choose_labels(counts, options.positive, by_meaning=True)
    except ValueError as error:
        faults.append(f"{table}, label column {options.label!r}: {error}")
    faults += _column_faults(learners, options, table)
    if faults:
        raise TableError(" Besides, ".join(faults))
    return chosen


def _column_faults(learners: list[_Numbers | _Categories], options: TableOptions, table: str) -> list[str]:
    found = []
    for learner in learners:
        if isinstance(learner, _Categories):
            try:
                learner.refuse()
            except TableError as error:
                found.append(str(error))
    infinite = {learner.name: learner.n_infinite for learner in learners if learner.n_infinite}
    if infinite:
        found.append(str(infinite_values(table, infinite)))
    missing = {learner.name: learner.n_missing for learner in learners if learner.n_missing}
    if missing and options.impute is None:
        found.append(str(missing_values(table, missing)))
    return found[:_MOST_FAULTS]


def _count_labels(labels: Counter[Any], array: Any, name: str, table: str) -> None:
    codes, values = plain_labels(array, name, table)
    for value, count in zip(values, np.bincount(codes, minlength=len(values)).tolist(), strict=True):
        if count:
            labels[value] += count
    if len(labels) > _MOST_LABELS:
        raise TableError(
            f"{table}: the label column {name!r} has more than {_MOST_LABELS} different values; two are required. "
            "Is it the right column?"
        )


def plain_labels(array: Any, name: str, table: str) -> tuple[AnyArray, list[Any]]:
    """Return a label column as places in a list of labels: truth values, whole numbers, other numbers or text."""
    if not (is_number(array.type) or is_text(array.type) or import_pyarrow().types.is_dictionary(array.type)):
        raise TableError(f"{table}: the label column {name!r} is of type {array.type}; numbers or text are required.")
    codes, values = codes_of(array if not is_text(array.type) else text_of(array, name, table))
    absent = int(np.count_nonzero(codes < 0)) + sum(
        int(np.count_nonzero(codes == place)) for place, value in enumerate(values) if value != value
    )
    if absent:
        raise TableError(
            f"{table}: the label column {name!r} is empty in {counted(absent, 'row')}; every row needs a label. Leave "
            "such rows out."
        )
    return codes, [_plain(value) for value in values]


def _plain(value: Any) -> Any:
    if isinstance(value, bool | str | int):
        return value
    number = float(value)
    # CSV text does not tell 1 from 1.0, so that neither do we.
    return int(number) if number.is_integer() and abs(number) < 2**53 else number
