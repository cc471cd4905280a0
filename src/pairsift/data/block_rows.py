"""A block source as rows: what scoring and exact solvers ask of data, answered by passes over the blocks.

Nothing of the data is kept but the labels (one byte a row) and, where there are any, the weights. Each answer is one
pass; sums run in the order of the rows, so that they have the same bits as those of the whole in memory.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pairsift._typing import AnyArray, BoolArray, FloatArray, IntArray
from pairsift.data.blocks import Block, BlockSource
from pairsift.data.problem import Problem, make_problem, split_binary_labels
from pairsift.data.rows import CsrRows, DenseRows, MemoryRows


class BlockRows:
    """Rows of a block source; a `RowSource`. A first pass counts rows and columns and reads labels and weights.

    Random rows (`scores`, `take`) cost a pass each: convert to a row store what is to be read by place.
    """

    def __init__(self, source: BlockSource) -> None:
        self._source = source
        self.n_rows, self.n_features = 0, 0
        y, weights = [], []
        for block in source:
            if block.first_row != self.n_rows:
                raise ValueError(f"A block begins at row {block.first_row}, but {self.n_rows} rows came before it.")
            self.n_rows += block.rows.n_rows
            self.n_features = max(self.n_features, block.rows.n_features)
            y.append(block.y)
            if block.weights is not None:
                weights.append(block.weights)
        if self.n_rows == 0:
            raise ValueError("The block source has no rows.")
        self.labels, self._positive = _split(y)
        self._weights = np.concatenate(weights) if weights else None

    def problem(self) -> Problem:
        """Return the rows with their classes."""
        return make_problem(self, self._positive, self._weights)

    def scores(self, w: FloatArray, rows: IntArray) -> FloatArray:
        """Return ``w . x_k`` for each row number k in `rows`, by one pass."""
        self._check(rows)
        out = np.empty(len(rows))
        for block, places, inside in self._hits(rows):
            out[places] = _widened(block.rows, self.n_features).scores(w, inside)
        return out

    def scores_between(self, w: FloatArray, start: int, stop: int) -> FloatArray:
        """Return ``w . x_k`` for start <= k < stop."""
        out = np.empty(stop - start)
        for first, rows, low, high in self._parts(start, stop):
            out[first + low - start : first + high - start] = rows.scores_between(w, low, high)
        return out

    def add_between(self, a: FloatArray, start: int, stop: int, w: FloatArray) -> None:
        """Add ``sum_k a[k - start] x_k`` over start <= k < stop to `w`, in the order of the rows."""
        for first, rows, low, high in self._parts(start, stop):
            rows.add_between(a[first + low - start : first + high - start], low, high, w)

    def take(self, rows: IntArray) -> MemoryRows:
        """Return the given rows, in the given order, in memory, by one pass."""
        self._check(rows)
        found = [
            (places, _widened(block.rows, self.n_features).take(inside)) for block, places, inside in self._hits(rows)
        ]
        if not found:
            return next(iter(self._source)).rows.take(rows)
        order = np.argsort(np.concatenate([places for places, _ in found]), kind="stable")
        return join_rows([part for _, part in found]).take(order)

    def _parts(self, start: int, stop: int) -> Iterator[tuple[int, MemoryRows, int, int]]:
        """Yield the first row of each block that overlaps start <= k < stop, its rows, and the part that is inside."""
        if not 0 <= start <= stop <= self.n_rows:
            raise ValueError(f"Rows {start} to {stop} were asked for; there are {self.n_rows} rows.")
        for block in self._blocks():
            low, high = max(start - block.first_row, 0), min(stop - block.first_row, block.rows.n_rows)
            if low < high:
                yield block.first_row, _widened(block.rows, self.n_features), low, high

    def _hits(self, rows: IntArray) -> Iterator[tuple[Block, IntArray, IntArray]]:
        for block in self._blocks():
            places = np.flatnonzero((rows >= block.first_row) & (rows < block.first_row + block.rows.n_rows))
            if len(places):
                yield block, places, rows[places] - block.first_row

    def _blocks(self) -> Iterator[Block]:
        """Iterate anew; a source that does not repeat itself would otherwise give a wrong answer in silence."""
        n_rows = 0
        for block in self._source:
            if block.first_row != n_rows or n_rows + block.rows.n_rows > self.n_rows:
                break
            n_rows += block.rows.n_rows
            yield block
        if n_rows != self.n_rows:
            raise ValueError(
                f"The block source gave {self.n_rows} rows when it was first read and not the same now. It must be "
                "iterable more than once (a generator is not), and the data must not change."
            )

    def _check(self, rows: IntArray) -> None:
        if len(rows) and (rows.min() < 0 or rows.max() >= self.n_rows):
            raise ValueError(
                f"Row numbers must be at least 0 and below {self.n_rows}; got {rows.min()} to {rows.max()}."
            )


def _split(y: list[AnyArray]) -> tuple[AnyArray, BoolArray]:
    labels, positive = split_binary_labels(np.concatenate(y))
    return labels, positive


def _widened(rows: MemoryRows, n_features: int) -> MemoryRows:
    """Return sparse rows as rows of a wider matrix; dense rows are as wide as they are."""
    if rows.n_features == n_features:
        return rows
    if not isinstance(rows, CsrRows):
        raise ValueError(f"Dense blocks must have one number of columns; got {rows.n_features} and {n_features}.")
    return CsrRows(rows.values, rows.columns, rows.starts, n_features)


def join_rows(parts: list[MemoryRows]) -> MemoryRows:
    """Return the rows of all parts, one after another."""
    dense = [part.values for part in parts if isinstance(part, DenseRows)]
    if len(dense) == len(parts):
        return DenseRows(np.concatenate(dense))
    sparse = [part for part in parts if isinstance(part, CsrRows)]
    if dense:
        raise ValueError("Blocks must be all dense or all sparse; this source mixes them.")
    lengths = np.concatenate([np.diff(part.starts) for part in sparse])
    columns = np.concatenate([part.columns[part.starts[0] : part.starts[-1]] for part in sparse])
    values = np.concatenate([part.values[part.starts[0] : part.starts[-1]] for part in sparse])
    starts = np.zeros(len(lengths) + 1, dtype=columns.dtype)
    np.cumsum(lengths, out=starts[1:])
    return CsrRows(values, columns, starts, sparse[0].n_features)
