"""A table as blocks of encoded rows: one pass to learn the encoding, then one for each iteration."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from pairsift._typing import AnyArray, FloatArray
from pairsift.data.blocks import Block
from pairsift.data.encoding import numbers_of
from pairsift.data.labels import as_pair, is_positive, show, unknown_labels
from pairsift.data.learn_encoding import TableOptions, learn_encoding, plain_labels
from pairsift.data.problem import check_weights
from pairsift.data.tables import Table, TableError

_MOST_SHOWN = 3  # labels that the model does not know


class TableBlocks:
    """A training table as a block source.

    Attributes
    ----------
    encoding : Encoding
        Learned from the table.
    n_rows : int
    labels : tuple
        The negative and the positive label.
    row_numbers : tuple of str
        Columns of the table that only number its rows.
    """

    def __init__(self, table: Table, options: TableOptions) -> None:
        learned = learn_encoding(table, options)
        self._table = table
        self.encoding, self.n_rows = learned.encoding, learned.n_rows
        self.labels, self.row_numbers = as_pair(learned.labels), learned.row_numbers

    def values_of(self, name: str) -> AnyArray:
        """Return all values of a column, feature or not."""
        parts = [batch.column(name).to_numpy(zero_copy_only=False) for batch in self._table.batches([name])]
        return np.concatenate(parts)

    def __iter__(self) -> Iterator[Block]:
        encoding, labels = self.encoding, np.array(self.labels)
        extra = [name for name in (encoding.label, encoding.weight) if name is not None]
        assert encoding.label is not None
        first = 0
        for batch in self._table.batches([*encoding.names, *extra]):
            rows = encoding.encode(batch, first, self._table.name)
            positive = positives_of(batch, encoding.label, self.labels, self._table.name)
            weights = None if encoding.weight is None else weights_of(batch, encoding.weight, self._table.name)
            yield Block(rows, labels[positive.astype(np.int64)], weights, first)
            first += rows.n_rows


def positives_of(batch: Any, label: str, labels: Any, table: str) -> AnyArray:
    """Return whether each row of a batch has the second of the two labels; any other label is refused."""
    codes, values = plain_labels(batch.column(label), label, table)
    meaning = np.zeros(len(values), dtype=bool)
    unknown = []
    for place in np.unique(codes).tolist():  # a dictionary may list labels that no row has
        found = is_positive(labels, values[place])
        if found is None:
            unknown.append(show(values[place]))
        meaning[place] = bool(found)
    if unknown:
        shown = ", ".join(unknown[:_MOST_SHOWN]) + (", ..." if len(unknown) > _MOST_SHOWN else "")
        words = unknown_labels(f"the label column {label!r} holds {shown}", labels)
        raise TableError(f"{table}: {words} If this is not the column of the labels, name it with --label.")
    return meaning[codes]


def weights_of(batch: Any, weight: str, table: str) -> FloatArray:
    """Return the weights of a batch; they must be finite and not negative."""
    return check_weights(numbers_of(batch.column(weight), weight, table), f"{table}: the weight column {weight!r}")
