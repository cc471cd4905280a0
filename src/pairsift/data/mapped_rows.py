"""Dense rows of a memory-mapped file, which must stay as it is while they are read."""

from __future__ import annotations

from pairsift._typing import AnyArray, FloatArray, IntArray
from pairsift.data.file_state import FileState
from pairsift.data.rows import DenseRows


class MappedRows(DenseRows):
    """Rows of a ``.npy`` file; each answer is given only if the file is still what it was.

    A file that becomes shorter takes its pages away from the map, and the system ends a process that reads them; rows
    that must be read from a file that others write belong into a row store.
    """

    def __init__(self, values: AnyArray, state: FileState) -> None:
        self._state = state
        super().__init__(values)

    def check_unchanged(self) -> None:
        """Raise `DataChangedError` if the file was changed: what was read may be neither the old nor the new rows."""
        self._state.check()

    def scores(self, w: FloatArray, rows: IntArray) -> FloatArray:
        """Return ``w . x_k`` for each row number k in `rows`."""
        found = super().scores(w, rows)
        self.check_unchanged()
        return found

    def scores_between(self, w: FloatArray, start: int, stop: int) -> FloatArray:
        """Return ``w . x_k`` for start <= k < stop."""
        found = super().scores_between(w, start, stop)
        self.check_unchanged()
        return found

    def take(self, rows: IntArray) -> DenseRows:
        """Return the given rows, in the given order, copied."""
        taken = super().take(rows)
        self.check_unchanged()
        return taken
