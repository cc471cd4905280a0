"""Block training: draw rows, use all their pairs or the rows themselves, and draw more.

    draw a few rows of each class;  choose loss, gamma and C on them, where they are to be chosen
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

from pairsift.active import BUDGET_REACHED, resolve_gamma
from pairsift.block.choice import Choice
from pairsift.block.choose import choosing
from pairsift.budget import STRENGTH_PAIRS, parse_budget
from pairsift.data.drawn_rows import Drawing, Piece
from pairsift.data.problem import Problem
from pairsift.losses import HINGE, LOGISTIC, SQUARED
from pairsift.parameters import AUTO, check_count, check_flag, check_positive, check_share, check_strength, check_word
from pairsift.solvers.mixed import solve_mixed
from pairsift.solvers.mixed_objective import Mix
from pairsift.solvers.mixed_solution import MixedSolution
from pairsift.strength.choose import DEFAULT_PAIR_C, can_choose
from pairsift.strength.judge import LEVEL_95, Judge
from pairsift.strength.steps import telling

AUTO_ROWS = 100_000
FIRST_ROWS = 1000
GROWTH = 4
LAST_GROWTH = 2
LEAST_LEFT = 1e-4
ROWS_TO_TELL = 1000
# With more columns, fits of pairs take many times as long as those of points: they are not tried.
PAIR_COLUMNS = 100
LEAST_ROWS_TO_CHOOSE = 125  # of a class, so that there are 25 to judge by

ALL_ROWS_USED = "all rows used"
ENOUGH_ROWS = "more rows promise no gain"


@dataclass(frozen=True)
class BlockSettings:
    """The parameters of block training; ``C`` is None where it is to be chosen, ``mixes`` are what to choose from.

    ``rows`` is how many rows of each class are drawn at most; None goes on until a consumer ends it.
    ``population`` is how many rows there are where those of the problem are themselves a sample. ``early`` says to try
    few steps too (`pairsift.block.early`).
    """

    mixes: tuple[Mix, ...]
    C: float | None = DEFAULT_PAIR_C
    rows: int | None = AUTO_ROWS
    tol: float = 1e-3
    max_iter: int = 1000
    population: int | None = None
    early: bool = False


class BlockRound(NamedTuple):
    """What has been done on the rows drawn so far; `pairs` is how many pairs they form."""

    round: int
    pairs: int
    rejected: float
    sampling_seconds: float
    training_seconds: float
    objective: float
    rows: int


@dataclass(frozen=True)
class BlockState:
    """Where the training is after a trial or a Newton step; ``stop_reason`` is None until the last one.

    ``solved`` says that the rows drawn so far are done with.
    """

    solution: MixedSolution
    choice: Choice
    history: tuple[BlockRound, ...]
    solved: bool = False
    stop_reason: str | None = None


def check_block(
    *,
    C: float | str,
    gamma: float | str,
    loss: str,
    budget: int | str,
    tol: float,
    max_iter: int,
    bias_correction: bool,
    threshold: bool,
    batch_size: int,
    sampling: str,
) -> None:
    """Raise `ValueError` for a parameter that cannot be used, also one that only other samplings use."""
    check_strength("C", C)
    check_share("gamma", gamma, "uniform", AUTO)
    check_word("loss", loss, AUTO, HINGE, SQUARED, LOGISTIC)
    if loss == HINGE and gamma not in (AUTO, 0, 1):
        raise ValueError(
            f'loss="hinge" is for pairs alone (gamma=1) or points alone (gamma=0) with sampling="block"; got '
            f"gamma={gamma!r}."
        )
    check_flag("bias_correction", bias_correction)
    check_flag("threshold", threshold)
    check_count("batch_size", batch_size)
    parse_budget(budget)
    check_positive("tol", tol)
    check_count("max_iter", max_iter)


def make_block_settings(
    problem: Problem,
    *,
    C: float | str,
    gamma: float | str,
    loss: str,
    budget: int | str,
    tol: float,
    max_iter: int,
    **unused: Any,
) -> BlockSettings:
    """Return checked parameters, under the names that users give them, as settings for a problem."""
    rows = parse_budget(budget, AUTO_ROWS).pairs
    choosing = can_choose(problem) and (rows is None or rows >= LEAST_ROWS_TO_CHOOSE)
    wide = problem.rows.n_features > PAIR_COLUMNS
    mixes = _mixes(loss, gamma if gamma == AUTO else resolve_gamma(gamma, problem))
    early = loss == gamma == AUTO and problem.rows.n_features > problem.n_points
    if early:
        mixes = (Mix(HINGE, 0.0),)
    strength = None if C == AUTO and choosing else DEFAULT_PAIR_C if C == AUTO else float(C)
    mixes = mixes if choosing and not wide else mixes[:1]
    return BlockSettings(mixes, strength, rows, float(tol), int(max_iter), early=early)


def _mixes(loss: str, gamma: float | str) -> tuple[Mix, ...]:
    """Return what there is to choose from, the preferred one first."""
    if isinstance(gamma, str):
        if loss == AUTO:
            return Mix(LOGISTIC, 0.0), Mix(HINGE, 1.0)
        return (Mix(HINGE, 1.0),) if loss == HINGE else (Mix(loss, 0.0), Mix(loss, 1.0))
    if loss == AUTO:
        return (Mix(LOGISTIC if gamma < 1 else HINGE, gamma), Mix(SQUARED, gamma))
    return (Mix(loss, gamma),)


def block_training(problem: Problem, settings: BlockSettings, rng: np.random.Generator) -> Iterator[BlockState]:
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
    """What a block training knows between its steps."""

    state: BlockState

    def __init__(self, problem: Problem, settings: BlockSettings, rng: np.random.Generator) -> None:
        self._settings = settings
        self._drawing = Drawing(problem, rng, settings.population)
        self._signs = np.random.default_rng(rng.integers(2**63))
        largest = max(problem.n_positive, problem.n_negative)
        self._most = largest if settings.rows is None else min(settings.rows, largest)
        self._history: tuple[BlockRound, ...] = ()
        self._before: MixedSolution | None = None
        self._started = perf_counter()
        self._sampling_seconds = 0.0

    def begin(self) -> Iterator[BlockState]:
        """Draw the first rows, and choose what is to be chosen; yield the best of what was tried so far."""
        settings = self._settings
        if settings.C is None or len(settings.mixes) > 1:
            trials = choosing(
                self._drawing, settings.mixes, settings.C, STRENGTH_PAIRS, self._most, early=settings.early
            )
            self._choice = yield from telling(trials, self._tried)
            self._start = self._choice.start
            self._draw_more()  # the choice has solved what is drawn so far
        else:
            self._choice, self._start = Choice(settings.mixes[0], settings.C), None
            first = self._most if self._most <= LAST_GROWTH * FIRST_ROWS else FIRST_ROWS
            self._drawing.draw(first, first)
        self._sampling_seconds = perf_counter() - self._started

    def _tried(self, best: Choice) -> BlockState:
        """Return where the training is while it chooses."""
        assert best.start is not None
        seconds = perf_counter() - self._started
        return BlockState(best.start, best, (self._round(best.start, 0.0, seconds),))

    def _round(self, found: MixedSolution, sampling_seconds: float, training_seconds: float) -> BlockRound:
        drawing = self._drawing
        return BlockRound(
            len(self._history),
            drawing.n_positive * drawing.n_negative,
            0.0,
            sampling_seconds,
            training_seconds,
            found.primal,
            drawing.n_points,
        )

    def solve(self) -> Iterator[BlockState]:
        """Yield the steps of the solve over the drawn rows."""
        drawing, started, steps = self._drawing, perf_counter(), self._choice.steps
        for found in solve_mixed(
            drawing.pieces,
            self._choice.C * STRENGTH_PAIRS,
            self._choice.mix,
            self._start if steps is None else None,
            tol=self._settings.tol,
            max_iter=self._settings.max_iter if steps is None else steps,
            share_drawn=drawing.share,
            signs=self._signs,
        ):
            if steps is not None:  # the number of steps was chosen: with the last of them all is done
                if not (found.n_passes or found.done):
                    continue
                found = replace(found, converged=found.done, settled=found.done)
            done = self._round(found, self._sampling_seconds, perf_counter() - started)
            self.state = BlockState(found, self._choice, (*self._history, done), found.done)
            if not found.done:
                yield self.state
        if not self._is_last:
            yield self.state

    @property
    def _is_last(self) -> bool:
        return self._n_drawn >= self._most

    @property
    def _n_drawn(self) -> int:
        return max(self._drawing.n_positive, self._drawing.n_negative)

    def grow(self) -> str | None:
        """Draw more rows; return why to stop instead, or None."""
        if self._is_last:
            return ALL_ROWS_USED if self._drawing.share == 1 else BUDGET_REACHED
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
        more = GROWTH * self._n_drawn
        rows = self._most if LAST_GROWTH * more >= self._most else more  # no small last growth
        return self._drawing.draw(rows, rows)


def _nothing_left(piece: Piece | None, now: MixedSolution, before: MixedSolution) -> bool:
    """Whether rows that are new to both models say that further rows promise nothing."""
    if piece is None or min(piece.n_positive, piece.n_negative) < ROWS_TO_TELL:
        return False
    judge = Judge.of(piece)
    gain, error = judge(now.w).gain_over(judge(before.w))
    return (gain + LEVEL_95 * error) / (GROWTH - 1) < LEAST_LEFT
