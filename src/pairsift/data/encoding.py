"""How the columns of a table become features, kept with the model so that scoring does the same.

- A number (or true/false: 1/0) is one feature, as it is.
- A category (text, or a dictionary column) is one feature for each value that the training table had, 1 where the row
  has it; in the order of the values. A value that was not there in training is all zeros.
- A missing value (null or NaN) is an error, unless imputation was chosen: then it is the training table's mean or
  median, or 0; for a category its most frequent value, or (with "zero") all zeros.

Columns are found by name, in any order; other columns are ignored. `pairsift.data.learn_encoding` learns an encoding.

Rows are dense unless one-hot columns would fill them mostly with zeros; then they are sparse, and zeros are not stored.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple, Self

import numpy as np

from pairsift._typing import AnyArray, IntArray
from pairsift.data.rows import CsrRows, DenseRows, MemoryRows
from pairsift.data.tables import Table, TableError, import_pyarrow
from pairsift.words import counted

Impute = Literal["mean", "median", "zero"]
IMPUTATIONS = ("mean", "median", "zero")
SPARSE_FROM = 2  # rows are sparse when there are more than so many features for each column of the table

_FORMAT = 1


@dataclass(frozen=True)
class Column:
    """One column of the table: a ``number``, a ``bool`` or a ``category`` with its values.

    `fill` is what stands for a missing value: a number, one of the categories, or None for all zeros (or, without
    imputation, for an error).
    """

    name: str
    kind: Literal["number", "bool", "category"]
    fill: float | str | None = None
    categories: tuple[str, ...] = ()

    def looks_like_ids(self, n_rows: int) -> bool:
        """Whether a category is nearly as rare as a row, so that it can say nothing of other rows."""
        return len(self.categories) > max(20, n_rows / 2)

    @property
    def width(self) -> int:
        """Number of features."""
        return len(self.categories) if self.kind == "category" else 1

    @cached_property
    def places(self) -> dict[str, int]:
        """The place of each category among the features of this column."""
        return {category: place for place, category in enumerate(self.categories)}

    def feature_names(self) -> list[str]:
        """Return ``name``, or ``name=category`` for each category."""
        if self.kind != "category":
            return [self.name]
        return [f"{self.name}={category}" for category in self.categories]


@dataclass(frozen=True)
class Encoding:
    """The columns of a training table, what they become, and which columns held label and weight.

    Attributes
    ----------
    columns : tuple of Column
    dtype : "float32" or "float64"
    impute : "mean", "median", "zero" or None
    label, weight : str or None
        The columns of the training table that are no features.
    delimiter : str or None
        What separated the columns of the training table, if it was CSV text and that was said.
    """

    columns: tuple[Column, ...]
    dtype: Literal["float32", "float64"] = "float64"
    impute: Impute | None = None
    label: str | None = None
    weight: str | None = None
    delimiter: str | None = None

    @property
    def names(self) -> list[str]:
        """The columns of the table that are needed."""
        return [column.name for column in self.columns]

    @cached_property
    def n_features(self) -> int:
        """Number of features."""
        return sum(column.width for column in self.columns)

    @property
    def feature_names(self) -> list[str]:
        """The name of each feature."""
        return [name for column in self.columns for name in column.feature_names()]

    @property
    def sparse(self) -> bool:
        """Whether rows are compressed sparse."""
        return self.n_features > SPARSE_FROM * len(self.columns)

    def text_types(self) -> dict[str, str]:
        """Return what a CSV reader needs to know about each column."""
        kinds = {"number": "number", "bool": "bool", "category": "text"}
        return {column.name: kinds[column.kind] for column in self.columns}

    def check_columns(self, names: list[str], table: str) -> None:
        """Raise `TableError` unless all columns are there."""
        known = set(names)
        missing = [name for name in self.names if name not in known]
        if missing:
            shown = ", ".join(map(repr, missing[:10])) + (", ..." if len(missing) > 10 else "")
            raise TableError(
                f"{table}: {counted(len(missing), 'column')} that the model was trained on "
                f"{'are' if len(missing) > 1 else 'is'} missing: {shown}. The table has {_listed(names)}."
                f"{delimiter_hint(names)}"
            )

    def encode(self, batch: Any, first_row: int = 0, table: str = "the table") -> MemoryRows:
        """Return the rows of a record batch.

        Parameters
        ----------
        batch : pyarrow.RecordBatch
        first_row : int
            The number of its first row in the table, for messages.
        table : str
            The name of the table, for messages.
        """
        self.check_columns(batch.schema.names, table)
        where = f"{table}, rows {first_row} to {first_row + batch.num_rows - 1}"
        n, k = batch.num_rows, len(self.columns)
        values, features = np.empty((n, k)), np.empty((n, k), dtype=np.int64)
        start = 0
        missing: dict[str, int] = {}
        for place, column in enumerate(self.columns):
            n_missing = self._encode_column(
                batch.column(column.name), column, where, values[:, place], features[:, place]
            )
            features[:, place] += start
            start += column.width
            if n_missing:
                missing[column.name] = n_missing
        if missing and self.impute is None:
            raise TableError(
                f"{where}: missing values in {_with_counts(missing)}. The training table had none there; fill them, "
                "or train again with --impute mean, median or zero."
            )
        return self._sparse(values, features) if self.sparse else self._dense(values, features)

    def _encode_column(self, array: Any, column: Column, where: str, values: AnyArray, features: IntArray) -> int:
        """Write the value and the feature (within the column) of each row; return how many were missing."""
        if column.kind != "category":
            numbers = numbers_of(array, column.name, where)
            values[:] = numbers
            features[:] = 0
            if np.isfinite(numbers).all():
                return 0
            if np.any(np.isinf(numbers)):
                raise infinite_values(where, {column.name: int(np.count_nonzero(np.isinf(numbers)))})
            absent = np.isnan(numbers)
            values[absent] = column.fill or 0.0
            return int(np.count_nonzero(absent))
        codes = codes_of(text_of(array, column.name, where))
        # One more than the values of the batch: the last place is for the missing ones, whose code is -1.
        places = np.array([column.places.get(value, -1) for value in [*codes.values, column.fill]], dtype=np.int64)
        found = places[codes.codes]
        values[:] = found >= 0
        features[:] = np.maximum(found, 0)
        return int(np.count_nonzero(codes.codes < 0))

    def _dense(self, values: AnyArray, features: IntArray) -> DenseRows:
        out = np.zeros((len(values), self.n_features), dtype=self.dtype)
        # Columns do not share features, so that no value is written over another.
        out[np.arange(len(values))[:, np.newaxis], features] = values
        return DenseRows(out)

    def _sparse(self, values: AnyArray, features: IntArray) -> CsrRows:
        stored = values != 0
        index = np.int32 if self.n_features < 2**31 else np.int64
        starts = np.zeros(len(values) + 1, dtype=index)
        np.cumsum(np.count_nonzero(stored, axis=1), out=starts[1:])
        columns = features[stored].astype(index)
        return CsrRows(values[stored].astype(self.dtype), columns, starts, self.n_features)

    def to_json(self) -> dict[str, Any]:
        """Return the encoding as plain lists and dictionaries, fit for JSON."""
        columns = [
            {"name": column.name, "kind": column.kind, "fill": column.fill, "categories": list(column.categories)}
            for column in self.columns
        ]
        return {
            "format": _FORMAT,
            "columns": columns,
            "dtype": self.dtype,
            "impute": self.impute,
            "label": self.label,
            "weight": self.weight,
            **({} if self.delimiter is None else {"delimiter": self.delimiter}),
        }

    @classmethod
    def from_json(cls, content: Any) -> Self:
        """Return the encoding that `to_json` wrote; raise `ValueError` unless every part of it is as it should be."""
        _require(isinstance(content, dict), "it must be an object")
        _require(content.get("format") == _FORMAT, f"its format must be {_FORMAT}, got {content.get('format')!r}")
        columns, dtype, impute = content.get("columns"), content.get("dtype"), content.get("impute")
        _require(isinstance(columns, list) and len(columns) > 0, "it must have columns")
        _require(dtype in ("float32", "float64"), "its dtype must be float32 or float64")
        _require(impute is None or impute in IMPUTATIONS, "its imputation is unknown")
        for key in ("label", "weight", "delimiter"):
            _require(
                isinstance(content.get(key), str | None),
                f"its {key} column must be text" if key != "delimiter" else "its delimiter must be text",
            )
        made = tuple(_column_from(part, impute) for part in columns)
        _require(len({column.name for column in made}) == len(made), "a column occurs twice")
        encoding = cls(made, dtype, impute, *(content.get(key) for key in ("label", "weight", "delimiter")))
        _require(encoding.n_features > 0, "it has no features")
        return encoding


def numbers_encoding(names: Any) -> Encoding:
    """Return the encoding of a table whose columns are the features, all of them numbers."""
    return Encoding(tuple(Column(str(name), "number") for name in names))


def encoded_parts(table: Table, encoding: Encoding) -> Iterator[MemoryRows]:
    """Yield the rows of a table, encoded, in blocks."""
    encoding.check_columns(table.schema.names, table.name)
    first = 0
    for batch in table.batches(encoding.names):
        yield encoding.encode(batch, first, table.name)
        first += batch.num_rows


class Codes(NamedTuple):
    """A column as places in a list of its values; -1 is a missing value."""

    codes: IntArray
    values: list[Any]


def codes_of(array: Any) -> Codes:
    """Return the distinct values of an array (possibly some that do not occur) and where they are."""
    pyarrow = import_pyarrow()
    if not pyarrow.types.is_dictionary(array.type):
        array = array.dictionary_encode()
    values = array.dictionary.to_pylist()
    codes = array.indices.cast(pyarrow.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
    if None in values:  # a null in the dictionary itself
        codes = np.where(np.array([value is None for value in values] + [False])[codes], -1, codes)
    return Codes(codes, values)


def text_of(array: Any, column: str, where: str) -> Any:
    """Return a column as text, or as a dictionary of texts."""
    pyarrow = import_pyarrow()
    types, kind = pyarrow.types, array.type
    if types.is_dictionary(kind):
        text = text_of(array.dictionary, column, where)
        return pyarrow.DictionaryArray.from_arrays(array.indices, text)
    if types.is_large_string(kind) or types.is_string(kind):
        return array
    if is_text(kind) or is_number(kind) or types.is_null(kind):
        return array.cast(pyarrow.large_string())
    raise TableError(f"{where}: column {column!r} must hold text or numbers, as in the training table; got {kind}.")


def numbers_of(array: Any, column: str, where: str) -> AnyArray:
    """Return a column as float64, NaN where a value is missing."""
    pyarrow = import_pyarrow()
    if not is_number(array.type) and not pyarrow.types.is_null(array.type):
        raise TableError(f"{where}: column {column!r} must hold numbers, as in the training table; got {array.type}.")
    if array.null_count == 0 and not pyarrow.types.is_decimal(array.type):
        return np.asarray(array.to_numpy(zero_copy_only=False), dtype=np.float64)
    if pyarrow.types.is_boolean(array.type):
        array = array.cast(pyarrow.uint8())
    numbers = array.cast(pyarrow.float64(), safe=False).to_numpy(zero_copy_only=False)
    return np.asarray(numbers)


def is_number(kind: Any) -> bool:
    """Tell whether an Arrow type is read as a number: integers, floats, decimals, booleans."""
    types = import_pyarrow().types
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind) or types.is_boolean(kind))


def is_text(kind: Any) -> bool:
    """Tell whether an Arrow type is text."""
    types = import_pyarrow().types
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def missing_values(where: str, counts: dict[str, int]) -> TableError:
    """Return the error for columns with missing values in a training table."""
    return TableError(
        f"{where}: missing values in {_with_counts(counts)}. Fill them with --impute mean, median or zero, "
        "or leave such columns out with --drop."
    )


def infinite_values(where: str, counts: dict[str, int]) -> TableError:
    """Return the error for columns with infinite values."""
    return TableError(f"{where}: infinite values in {_with_counts(counts)}; correct them, or leave the column out.")


def _with_counts(counts: dict[str, int]) -> str:
    shown = ", ".join(f"{name!r} ({counted(count, 'row')})" for name, count in list(counts.items())[:10])
    return f"{counted(len(counts), 'column')}: {shown}{', ...' if len(counts) > 10 else ''}"


def delimiter_hint(names: list[str]) -> str:
    """Return what may be wrong where a table has one column only."""
    return (
        " Only one column: is the delimiter right? Say it: --delimiter ';' or --delimiter ','."
        if len(names) == 1
        else ""
    )


def _listed(names: list[str]) -> str:
    return ", ".join(map(repr, names[:20])) + (f", ... ({len(names)} columns)" if len(names) > 20 else "")


def _column_from(part: Any, impute: Any) -> Column:
    _require(isinstance(part, dict) and isinstance(part.get("name"), str), "each column must have a name")
    kind, fill, categories = part.get("kind"), part.get("fill"), part.get("categories", [])
    _require(kind in ("number", "bool", "category"), "each column must be a number, a bool or a category")
    _require(
        isinstance(categories, list) and all(isinstance(value, str) for value in categories),
        "categories must be texts",
    )
    if kind == "category":
        _require(len(set(categories)) == len(categories) > 0, "categories must be there, and be different")
        _require(fill is None or (isinstance(fill, str) and fill in categories), "a filled category must be known")
    else:
        _require(not categories, "only categories have values")
        good = isinstance(fill, float) and bool(np.isfinite(fill))
        _require(good if impute is not None else fill is None, "a number must be filled with a number")
    _require(impute is not None or fill is None, "without imputation nothing is filled")
    return Column(part["name"], kind, fill, tuple(categories))


def _require(condition: bool, words: str) -> None:
    if not condition:
        raise ValueError(f"The encoding is damaged: {words}.")
