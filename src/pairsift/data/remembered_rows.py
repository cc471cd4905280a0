"""Rows that are read by place (a row store), with a short memory: what was read to be scored need not be read again.

A sampler scores candidates, and the few that are chosen are wanted as rows right after. Reading a row of a large file
costs more than all that is done with it, so the candidates of a round are kept until the chosen ones are taken, and
those that the next round begins with until then.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pairsift._typing import FloatArray, IntArray
from pairsift.data.block_rows import join_rows
from pairsift.data.counted_rows import row_bytes
from pairsift.data.rows import MemoryRows, RowSource

MOST_BYTES = 2**24  # in memory at a time
MOST_ROWS = 2**12  # of more candidates so few are chosen that looking for them takes longer than reading them


class _Part(NamedTuple):
    numbers: IntArray
    rows: MemoryRows

    def last(self, count: int) -> _Part:
        n = len(self.numbers)
        return _Part(self.numbers[n - count :], self.rows.take(np.arange(n - count, n)))


class RememberedRows:
    """What a sampler and a pool ask of rows, answered from the rows read since the last `take` where that is possible.

    Scores are those of the source, bit for bit: they are summed by the same kernels.
    """

    def __init__(self, source: RowSource) -> None:
        self._source = source
        self._step = max(1, int(MOST_BYTES // row_bytes(source)))
        self._parts: list[_Part] = []  # of this round
        self._before: list[_Part] = []  # of the last round, put back
        self._count = 0

    def scores(self, w: FloatArray, rows: IntArray) -> FloatArray:
        """Return ``w . x_k`` for each row number k in `rows`, and remember the rows."""
        out = np.empty(len(rows))
        for start in range(0, len(rows), self._step):
            part = self._read(rows[start : start + self._step])
            part.rows.kernel.score_range(0, part.rows.n_rows, w, out[start : start + self._step])
            self._remember(part)
        return out

    def put_back(self, count: int) -> None:
        """Say that the next scores of both classes begin with the last `count` rows of the last ones."""
        known = len(self._parts) >= 2 and 0 < count <= min(len(part.numbers) for part in self._parts[-2:])
        self._before = [part.last(count) for part in self._parts[-2:]] if known else []

    def take(self, rows: IntArray) -> MemoryRows:
        """Return the given rows, in the given order; then only what was put back is remembered."""
        parts, self._parts, self._count = self._parts, [], 0
        if not parts:
            return self._source.take(rows)
        numbers = np.concatenate([part.numbers for part in parts])
        order = np.argsort(numbers, kind="stable")
        position = order[np.minimum(np.searchsorted(numbers, rows, sorter=order), len(numbers) - 1)]
        missing = np.flatnonzero(numbers[position] != rows)
        known = [part.rows for part in parts]
        if len(missing):
            position[missing] = len(numbers) + np.arange(len(missing))
            known.append(self._source.take(rows[missing]))
        return join_rows(known).take(position)

    def _read(self, numbers: IntArray) -> _Part:
        for part in self._before:
            if np.array_equal(numbers[: len(part.numbers)], part.numbers):
                fresh = self._source.take(numbers[len(part.numbers) :])
                return _Part(numbers, join_rows([part.rows, fresh]))
        return _Part(numbers, self._source.take(numbers))

    def _remember(self, part: _Part) -> None:
        self._count += len(part.numbers)
        if self._count > min(MOST_ROWS, self._step):
            self._parts = []
        else:
            self._parts.append(part)


def remembering(source: RowSource) -> RowSource | RememberedRows:
    """Return the source with a memory where its rows are read by place; others are asked as they are."""
    return RememberedRows(source) if getattr(source, "read_by_place", False) else source
