"""How far a run is, and how long the rest will take, from the cells like them that have ended."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

from pairsift.experiments.results import Cell, Row, Status

_GUESS = 0.5
"""Seconds of a cell when nothing is known."""


class Progress:
    """Counts and the estimate.

    A cell is taken to last as long as those of its set and method did on average; else those of its method; else all.
    Cells that run alone count one by one, the others are shared among `jobs` workers.
    """

    def __init__(self, rows: Iterable[Row], jobs: int, alone: str) -> None:
        self._jobs, self._alone = jobs, alone
        self._sums: dict[tuple[str, ...], float] = defaultdict(float)
        self._counts: Counter[tuple[str, ...]] = Counter()
        self._left: Counter[tuple[str, str, bool]] = Counter()
        self.total = self.ended = 0
        self.current: Cell | None = None
        self.statuses: Counter[Status] = Counter()
        for row in rows:
            if row.train_wall is not None:
                self._learn(row.cell, row.train_wall)

    def plan(self, cells: Iterable[Cell]) -> None:
        """Take cells that are to be run."""
        for cell in cells:
            self._left[self._kind(cell)] += 1
            self.total += 1

    def begin(self, cell: Cell) -> None:
        """Note that a cell runs now."""
        self.current = cell

    def end(self, cell: Cell, status: Status, seconds: float) -> None:
        """Note that a cell has ended."""
        self.ended += 1
        self.statuses[status] += 1
        self._left[self._kind(cell)] -= 1
        if status != "data not here":
            self._learn(cell, seconds)

    def finish(self, cells: Iterable[Cell], stored: Mapping[Cell, Status]) -> None:
        """Count how all cells of the plan stand, whenever they were run."""
        self.statuses = Counter(stored[cell] for cell in cells if cell in stored)

    def seconds_left(self) -> float:
        """Return the estimate."""
        total = 0.0
        for (dataset, method, alone), count in self._left.items():
            if count:
                total += count * self._expected(dataset, method) / (1 if alone else self._jobs)
        return total

    def __str__(self) -> str:
        faults = "".join(
            f", {self.statuses[status]} {status}" for status in ("failed", "out of time") if self.statuses[status]
        )
        now = self.current
        where = "" if now is None else f" | {now.experiment} {now.dataset} {now.method}"
        return f"{self.ended} of {self.total} cells{faults}, about {duration(self.seconds_left())} left{where}"

    def _kind(self, cell: Cell) -> tuple[str, str, bool]:
        return cell.dataset, cell.method, cell.experiment == self._alone

    def _learn(self, cell: Cell, seconds: float) -> None:
        for key in ((cell.dataset, cell.method), (cell.method,), ()):
            self._sums[key] += seconds
            self._counts[key] += 1

    def _expected(self, dataset: str, method: str) -> float:
        for key in ((dataset, method), (method,), ()):
            if self._counts[key]:
                return self._sums[key] / self._counts[key]
        return _GUESS


def duration(seconds: float) -> str:
    """Return a duration as people say it."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"
