"""The training of `AutoRanker`: draw rows, use all their pairs or the rows themselves, and draw more.

    draw a few rows of each class;  choose terms, loss and C on them, where they are to be chosen
    repeat
        (w, theta) = minimise F over the drawn rows, from the (w, theta) before       (`pairsift.solvers.mixed`)
        draw `GROWTH` times as many rows
    until the budget is reached, or all rows are drawn, or more rows promise nothing

It is a generator of states, as Algorithm 1 is (`pairsift.active`): one after each trial of the choice, with the best
model so far, and one after each Newton step.

When rows are enough
--------------------
The rows that are drawn next are new to the models so far. So they tell, before they are learned from, what the last
growth gained: the difference of two AUCs on the same new rows, with DeLong's standard error. What sampling costs falls
as 1 / m, so that of a growth from m / 4 to m rows that gained G, G / 3 is left to gain by all further rows. The
training ends when the upper end of the 95 % interval of G / 3 is below `LEAST_LEFT`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from pairsift.active import BUDGET_REACHED
from pairsift.data.drawn_rows import Drawing, Piece
from pairsift.data.held_by import HeldBy
from pairsift.data.problem import Problem
from pairsift.judge import LEVEL_95, Judge
from pairsift.losses import HINGE
from pairsift.search import sizes
from pairsift.search.choice import Choice
from pairsift.search.choosing import choosing
from pairsift.search.parts import LearningRows, RowOrder, held_share_for, rows_of
from pairsift.search.steps import telling
from pairsift.solvers.mixed import solve_mixed
from pairsift.solvers.mixed_objective import Mix
from pairsift.solvers.mixed_solution import MixedSolution

GROWTH = 4
LAST_GROWTH = 2
LEAST_LEFT = 1e-4
# Few rows are solved so well that a weight of 2 is the row twice to six digits; it takes milliseconds.
EXACT = 1e-9

ALL_ROWS_USED = "all rows used"
ENOUGH_ROWS = "more rows promise no gain"


@dataclass(frozen=True)
class AutoSettings:
    """What a fit may choose from and use; see `pairsift.search.options` for how it follows from what users say.

    ``mixes`` are what to choose from, the preferred one first; ``C`` is None where it is to be chosen. ``default`` is
    the mix and the C that are taken where rows are too few to choose on. ``rows`` is how many rows of each class are
    learned from at most; None goes on until a consumer ends it. ``early`` says to try few steps too
    (`pairsift.search.early`). ``population`` is how many rows there are where those of the problem are themselves a
    sample. ``holds_out`` says to keep a part of the rows for the last measurement, where there are rows to spare;
    ``held_by`` is the column that says which.
    """

    mixes: tuple[Mix, ...]
    C: float | None
    default: tuple[Mix, float]
    rows: int | None
    tol: float = 1e-3
    max_iter: int = 1000
    early: bool = False
    population: int | None = None
    holds_out: bool = True
    held_by: HeldBy | None = None


class AutoRound(NamedTuple):
    """What has been done on the rows drawn so far; `rows` are those learned from, of both classes."""

    round: int
    rows: int
    sampling_seconds: float
    training_seconds: float
    objective: float


@dataclass(frozen=True)
class AutoState:
    """Where the training is after a trial or a Newton step; ``stop_reason`` is None until the last one.

    ``n_rows`` are the negative and the positive rows that were learned from; ``solved`` says that the rows drawn so far
    are done with; ``held_out`` are the rows that were kept from training and choice.
    """

    solution: MixedSolution
    choice: Choice
    history: tuple[AutoRound, ...]
    n_rows: tuple[int, int]
    held_out: tuple[Piece, ...] = ()
    solved: bool = False
    stop_reason: str | None = None

    def facts(self) -> dict[str, Any]:
        """Return what was chosen and learned from, as a model file keeps it."""
        negative, positive = self.n_rows
        return {**self.choice.facts(), "rows_used": {"negative": negative, "positive": positive}}


def auto_training(problem: Problem, settings: AutoSettings, rng: np.random.Generator) -> Iterator[AutoState]:
    """Yield the state after each trial and Newton step; a state with a stop reason is the last one."""
    training = _Training(problem, settings, rng)
    yield from training.begin()
    while True:
        yield from training.solve()
        reason = training.grow()
        if reason is not None:
            yield replace(training.state, stop_reason=reason)
            return


class _Training:
    """What a training knows between its steps."""

    state: AutoState

    def __init__(self, problem: Problem, settings: AutoSettings, rng: np.random.Generator) -> None:
        self._settings = settings
        largest = max(problem.n_positive, problem.n_negative)
        self._most = largest if settings.rows is None else min(settings.rows, largest)
        order = RowOrder(int(rng.integers(2**63)), settings.held_by)
        self._chooses = settings.C is None or len(settings.mixes) > 1
        held_share = held_share_for(problem, self._most, order) if settings.holds_out else 0.0
        drawing = Drawing(problem, rng, settings.population, order if self._chooses or held_share else None)
        self._rows = LearningRows(drawing, order, held_share)
        self._signs = np.random.default_rng(rng.integers(2**63))
        self._history: tuple[AutoRound, ...] = ()
        self._before: MixedSolution | None = None
        self._started = perf_counter()
        self._sampling_seconds = 0.0

    def begin(self) -> Iterator[AutoState]:
        """Draw the first rows, and choose what is to be chosen; yield the best of what was tried so far."""
        settings, chosen = self._settings, None
        if self._chooses:
            trials = choosing(self._rows, settings.mixes, settings.C, self._most, early=settings.early)
            chosen = yield from telling(trials, self._tried)
        if chosen is None:
            mix, C = settings.default if self._chooses else (settings.mixes[0], settings.default[1])
            self._choice = Choice(mix, C if settings.C is None else settings.C)
            self._start: MixedSolution | None = None
            first = self._most if self._most <= LAST_GROWTH * sizes.FIRST_ROWS else sizes.FIRST_ROWS
            self._rows.draw(first, first)
        else:
            self._choice, self._start = chosen, chosen.start
            self._draw_more()  # the choice has solved what is drawn so far
        self._sampling_seconds = perf_counter() - self._started

    def _tried(self, best: Choice) -> AutoState:
        """Return where the training is while it chooses."""
        assert best.start is not None
        seconds = perf_counter() - self._started
        done = AutoRound(0, sum(best.n_rows), 0.0, seconds, best.start.primal)
        return AutoState(best.start, best, (done,), best.n_rows, tuple(self._rows.held_out))

    @property
    def _n_rows(self) -> tuple[int, int]:
        return rows_of(self._rows.pieces)

    def _round(self, found: MixedSolution, sampling_seconds: float, training_seconds: float) -> AutoRound:
        return AutoRound(len(self._history), sum(self._n_rows), sampling_seconds, training_seconds, found.primal)

    def solve(self) -> Iterator[AutoState]:
        """Yield the steps of the solve over the drawn rows."""
        rows, started, steps = self._rows, perf_counter(), self._choice.steps
        smooth = self._choice.mix.loss != HINGE
        exact = self._is_last and rows.share == 1 and smooth and sum(self._n_rows) <= sizes.EXACT_ROWS
        for found in solve_mixed(
            rows.pieces,
            self._choice.C,
            self._choice.mix,
            self._start if steps is None else None,
            tol=min(self._settings.tol, EXACT) if exact else self._settings.tol,
            max_iter=self._settings.max_iter if steps is None else steps,
            share_drawn=rows.share,
            signs=self._signs,
        ):
            if steps is not None:  # the number of steps was chosen: with the last of them all is done
                if not (found.n_passes or found.done):
                    continue
                found = replace(found, converged=found.done, settled=found.done)
            elif exact and found.relative_gap <= self._settings.tol:
                found = replace(found, converged=True)
            done = self._round(found, self._sampling_seconds, perf_counter() - started)
            history, held_out = (*self._history, done), tuple(rows.held_out)
            self.state = AutoState(found, self._choice, history, self._n_rows, held_out, found.done)
            if not found.done:
                yield self.state
        if not self._is_last:
            yield self.state

    @property
    def _is_last(self) -> bool:
        return self._rows.are_all or self._rows.n_drawn >= self._most

    def grow(self) -> str | None:
        """Draw more rows; return why to stop instead, or None."""
        if self._is_last:
            return ALL_ROWS_USED if self._rows.share == 1 else BUDGET_REACHED
        started = perf_counter()
        piece = self._draw_more()
        now, before = self.state.solution, self._before
        if before is not None and _nothing_left(piece, now, before):
            return ENOUGH_ROWS
        self._before = self._start = now
        self._history = self.state.history
        self._sampling_seconds = perf_counter() - started
        return None

    def _draw_more(self) -> Piece | None:
        more = GROWTH * self._rows.n_drawn
        rows = self._most if LAST_GROWTH * more >= self._most else more  # no small last growth
        return self._rows.draw(rows, rows)


def _nothing_left(piece: Piece | None, now: MixedSolution, before: MixedSolution) -> bool:
    """Whether rows that are new to both models say that further rows promise nothing."""
    if piece is None or min(piece.n_positive, piece.n_negative) < sizes.ROWS_TO_TELL:
        return False
    judge = Judge.of(piece)
    gain, error = judge(now.w).gain_over(judge(before.w))
    return (gain + LEVEL_95 * error) / (GROWTH - 1) < LEAST_LEFT
