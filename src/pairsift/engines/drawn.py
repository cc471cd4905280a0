"""The rows that came to the driver, in the order of their draws."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from pairsift._typing import FloatArray
from pairsift.data.block_rows import join_rows
from pairsift.data.problem import Problem
from pairsift.data.rows import CsrRows, DenseRows, MemoryRows
from pairsift.data.tables import import_pyarrow
from pairsift.engines.keys import Words


class ClassRows(NamedTuple):
    """Rows of one class, their weights, and their keys, in the order of the draw."""

    rows: MemoryRows
    weights: FloatArray
    key_high: Words
    key_low: Words


def merge_draws(tables: Sequence[Any], wanted: tuple[int, int], n_features: int) -> tuple[ClassRows, ClassRows]:
    """Return the first `wanted` negatives and positives of all partitions together.

    Sorted by order and then by key, so that it does not matter where a row came from. A key that comes twice is
    refused: which of the two would be taken depends on the partitions.
    """
    table = import_pyarrow().concat_tables([table for table in tables if table.num_rows])
    positive, order, high, low = (table[name].to_numpy() for name in ("positive", "order", "key_high", "key_low"))
    parts = []
    for side, count in enumerate(wanted):
        places = np.flatnonzero(positive == bool(side))
        places = places[np.lexsort((low[places], high[places], order[places]))]
        _refuse_repeated(high[places[: count + 1]], low[places[: count + 1]])
        taken = table.take(import_pyarrow().array(places[:count])).combine_chunks()
        keys = high[places[:count]], low[places[:count]]
        parts.append(ClassRows(_rows(taken, n_features), taken["weight"].to_numpy(), *keys))
    return parts[0], parts[1]


class Reservoir:
    """All rows that came so far. New ones stand behind the old ones of their class, so that places stay."""

    def __init__(self, *, weighted: bool) -> None:
        self._weighted = weighted
        self._draws: list[tuple[ClassRows, ClassRows]] = []

    def add(self, draw: tuple[ClassRows, ClassRows]) -> None:
        """Take in the rows of a pass; those that are here already are left out."""
        fresh = tuple(self._unknown(side, part) for side, part in enumerate(draw))
        self._draws.append((fresh[0], fresh[1]))

    def problem(self, n_draws: int | None = None) -> Problem:
        """Return the rows of the first draws, or of all, as a problem."""
        draws = self._draws[:n_draws]
        if not sum(draw[1].rows.n_rows for draw in draws) or not sum(draw[0].rows.n_rows for draw in draws):
            raise ValueError("Rows of both classes are required (with a weight above zero).")
        parts = [part for side in (1, 0) for part in (draw[side] for draw in draws)]
        rows = join_rows([part.rows for part in parts])
        n_positive = sum(draw[1].rows.n_rows for draw in draws)
        positives, negatives = np.arange(n_positive), np.arange(n_positive, rows.n_rows)
        if not self._weighted:
            return Problem(rows, positives, negatives)
        weights = np.concatenate([part.weights for part in parts])
        return Problem(rows, positives, negatives, weights[:n_positive], weights[n_positive:])

    def count(self, side: int) -> int:
        """Return how many rows of a class are here."""
        return sum(draw[side].rows.n_rows for draw in self._draws)

    def _unknown(self, side: int, part: ClassRows) -> ClassRows:
        known = {key for draw in self._draws for key in _keys(draw[side])}
        at = np.array([place for place, key in enumerate(_keys(part)) if key not in known], dtype=np.int64)
        return ClassRows(part.rows.take(at), part.weights[at], part.key_high[at], part.key_low[at])


def _keys(part: ClassRows) -> Iterator[tuple[int, int]]:
    return zip(part.key_high.tolist(), part.key_low.tolist(), strict=True)


def _rows(table: Any, n_features: int) -> MemoryRows:
    values = table["values"].combine_chunks()
    if "columns" not in table.schema.names:
        return DenseRows(values.flatten().to_numpy().reshape(table.num_rows, n_features).copy())
    lengths = values.value_lengths().to_numpy(zero_copy_only=False).astype(np.int64)
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    columns = table["columns"].combine_chunks().flatten().to_numpy()
    return CsrRows(values.flatten().to_numpy().copy(), columns.copy(), starts, n_features)


def _refuse_repeated(high: Words, low: Words) -> None:
    if len(np.unique(np.stack([high, low]), axis=1)[0]) < len(high):
        raise ValueError("Two rows have one id; ids must be different, or be left out.")
