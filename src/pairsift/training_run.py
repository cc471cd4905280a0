"""A training run: consumers of a generator of states, and the last solve.

A training is a generator that yields a state after each round. A state has ``history`` (records with ``round``,
``pairs``, ``rejected``, ``sampling_seconds``, ``training_seconds``), ``solution.w`` and ``stop_reason``, which is None
until the generator has ended by itself. A consumer is called with each state and returns why to stop, or None. Budgets
of seconds and bytes, the validation curve, early stopping, checkpoints, progress and Ctrl-C are consumers; they know
nothing of how pairs are drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from time import perf_counter
from typing import Any, TypeVar

import numpy as np

from pairsift.active import ALL_TERMS_USED, Settings, State, active_sampling, finish, rehearse
from pairsift.budget import Budget
from pairsift.checkpoint import Checkpoint, Resumed, Spent
from pairsift.data.counted_rows import CountedRows, row_bytes
from pairsift.data.holdout import hold_out
from pairsift.data.problem import Problem
from pairsift.parameters import check_flag, check_share, check_word
from pairsift.threshold import ALL_ROWS, SAMPLED_ROWS, model_threshold
from pairsift.validation import Check, Validation

INTERRUPTED = "interrupted"
RAISE, KEEP = "raise", "keep"
SECONDS_USED = "budget of seconds reached"
BYTES_USED = "budget of bytes reached"

Consumer = Callable[[Any], str | None]
AnyState = TypeVar("AnyState")

_RECENT = 5  # rounds that say what the next one will take
_LAST_PASSES = 60  # of the last solve, to be kept time for until it is rehearsed
_REHEARSE_AT = 0.2  # of the time
_SAFETY = 1.1
_THRESHOLD_SHARE = 0.1  # of a budget that is kept for the threshold at most


@dataclass(frozen=True)
class Trained:
    """A finished training.

    Attributes
    ----------
    state : State
        Solved to ``settings.tol``.
    theta : float
        The threshold.
    curve : tuple of Check
        The AUC on the validation part as training went on; empty without one.
    validated : Check or None
        The AUC of this model on the validation part.
    seconds : float
        Seconds of training, those before a checkpoint included.
    bytes_read : float or None
        Bytes of the rows that were read, where the budget is in bytes.
    held_out : Problem or None
        The validation part.
    """

    state: State
    theta: float
    curve: tuple[Check, ...]
    validated: Check | None
    seconds: float
    bytes_read: float | None
    held_out: Problem | None = None


def check_run(*, validation: float = 0.0, early_stopping: bool = False, on_interrupt: str = RAISE) -> None:
    """Raise `ValueError` for parameters of a run that cannot be used."""
    check_word("on_interrupt", on_interrupt, RAISE, KEEP)
    check_flag("early_stopping", early_stopping)
    check_share("validation", validation)
    if validation == 1:
        raise ValueError("validation must be below 1; nothing would be left to learn from.")
    if early_stopping and not validation:
        raise ValueError("early_stopping needs a validation part; give validation=0.1 (--validation 0.1), for example.")


def follow(
    states: Iterator[AnyState],
    consumers: Sequence[Consumer],
    keep: Callable[[AnyState, str | None], None] = lambda state, reason: None,
    *,
    on_interrupt: str = RAISE,
) -> tuple[AnyState, str | None]:
    """Run a training until it ends or a consumer ends it.

    All consumers see every state; of several reasons the first counts. `keep` is called after them, with each state
    that is not the training's own last one. A `KeyboardInterrupt` is raised, unless `on_interrupt` is "keep" and there
    is a state to keep: then it ends the training.

    Returns
    -------
    state
        The last one that was yielded.
    reason : str or None
        Why a consumer ended it; None when the training ended by itself.
    """
    last: list[AnyState] = []
    try:
        for state in states:
            last[:] = [state]
            reasons = [reason for consumer in consumers if (reason := consumer(state)) is not None]
            if state.stop_reason is None:  # type: ignore[attr-defined]
                reason = reasons[0] if reasons else None
                keep(state, reason)
                if reason is not None:
                    return state, reason
    except KeyboardInterrupt:
        if on_interrupt == RAISE or not last:
            raise
        return last[0], INTERRUPTED
    return last[0], None


class Limit:
    """A consumer that ends a training before it uses more than a limit of something.

    It ends when what is spent, what the next round is expected to take (the most that one of the last rounds took) and
    the reserve for the end are together more than the limit. At least one round is made. ``steps`` is what the last
    rounds took.
    """

    def __init__(
        self,
        limit: float,
        spent: Callable[[], float],
        reason: str,
        reserve: Callable[[Any], float] = lambda state: 0.0,
        steps: Sequence[float] = (),
    ) -> None:
        self.limit, self.spent = limit, spent
        self._reason, self._reserve = reason, reserve
        self._before = spent()
        self.steps = list(steps)

    def __call__(self, state: Any) -> str | None:
        """Return the reason when there is no room for another round."""
        now = self.spent()
        self.steps = [*self.steps[1 - _RECENT :], now - self._before]
        reserve = self._reserve(state)  # which may take time itself, once
        self._before = self.spent()
        return self._reason if self._before + max(self.steps) + reserve > self.limit else None


def train_active(
    problem: Problem,
    settings: Settings,
    budget: Budget,
    rng: np.random.Generator,
    *,
    validation: float = 0.0,
    early_stopping: bool = False,
    consumers: Sequence[Consumer] = (),
    checkpoint: Checkpoint | None = None,
    on_interrupt: str = RAISE,
) -> Trained:
    """Run Algorithm 1 with its budget, validation part and checkpoint.

    Parameters
    ----------
    problem : Problem
    settings : Settings
    budget : Budget
        ``settings.budget`` is its number of pairs.
    rng : numpy.random.Generator
    validation : float
        Share of each class to hold out, at most `pairsift.data.holdout.VALIDATION_ROWS` of each.
    early_stopping : bool
        See `pairsift.validation`.
    consumers : sequence of consumers
        Those of the caller; they see a state after its check on the validation part. One that has a method `begin`
        is told the `Validation` and the `Limit` of the run, or None, before the first round.
    checkpoint : Checkpoint, optional
        Where states are kept, and where to go on from if there is one.
    on_interrupt : "raise" or "keep"
        See `follow`.
    """
    if validation:
        import pairsift.stats  # noqa: F401 - it brings scipy, whose import is no time of training
    run = _ActiveRun(problem, settings, budget, rng, checkpoint, on_interrupt)
    run.prepare(validation, early_stopping)
    return run.train(consumers)


class _ActiveRun:
    """One call of `train_active`: where it began, and what it keeps."""

    def __init__(
        self,
        problem: Problem,
        settings: Settings,
        budget: Budget,
        rng: np.random.Generator,
        checkpoint: Checkpoint | None,
        on_interrupt: str,
    ) -> None:
        self._started, self._on_interrupt = perf_counter(), on_interrupt
        self._settings, self._budget, self._rng, self._checkpoint = settings, budget, rng, checkpoint
        self._resumed = None if checkpoint is None else checkpoint.load(problem)
        if self._resumed is not None:
            self._started -= self._resumed.seconds
            rng.bit_generator.state = self._resumed.first_random_state
        self._counted = None if budget.bytes is None else CountedRows(problem.rows)
        self._problem = problem if self._counted is None else replace(problem, rows=self._counted)
        self._watch: Validation | None = None
        self._held_out: Problem | None = None

    def prepare(self, validation: float, early_stopping: bool) -> None:
        """Hold out a validation part, and go back to where a checkpoint was made."""
        first_random_state = self._rng.bit_generator.state
        if validation:
            self._problem, self._held_out = hold_out(self._problem, validation, self._rng)
            self._watch = Validation(self._held_out, early_stopping=early_stopping)
        self._state = None if self._resumed is None else self._resume(self._resumed)
        steps = [] if self._resumed is None else self._resumed.steps
        self._limit = _limit(self._budget, self._problem, self._settings, self._started, steps)
        if self._checkpoint is not None:
            self._checkpoint.begin(first_random_state, self._rng, self._watch)

    def train(self, consumers: Sequence[Consumer]) -> Trained:
        """Run the rounds, solve for the last time, and find the threshold."""
        reason = None if self._resumed is None else self._resumed.reason
        state = self._state
        if state is None or reason is None:
            state, reason = self._rounds(consumers)
        state = _kept(state, reason, self._watch, self._settings, self._rng)
        watch, found = self._watch, state.solution
        return Trained(
            state,
            model_threshold(self._problem, self._settings, found, self._rng),
            () if watch is None else tuple(watch.curve),
            None if watch is None else watch.check(len(state.pool), found.w),
            perf_counter() - self._started,
            None if self._counted is None else self._counted.bytes_read,
            self._held_out,
        )

    def _rounds(self, consumers: Sequence[Consumer]) -> tuple[State, str | None]:
        own: list[Consumer | None] = [self._watch, self._limit]
        for consumer in consumers:
            if hasattr(consumer, "begin"):
                consumer.begin(self._watch, self._limit)
        chain = [*(consumer for consumer in own if consumer is not None), *consumers]
        states = active_sampling(self._problem, self._settings, self._rng, self._state)
        return follow(states, chain, self._keep, on_interrupt=self._on_interrupt)

    def _keep(self, state: State, reason: str | None) -> None:
        if self._checkpoint is None:
            return
        steps = [] if self._limit is None else self._limit.steps
        rows_read = 0 if self._counted is None else self._counted.rows_read
        spent = Spent(perf_counter() - self._started, rows_read, steps)
        # Who resumes an interrupted run wants it to go on.
        self._checkpoint(state, None if reason == INTERRUPTED else reason, spent, now=reason is not None)

    def _resume(self, resumed: Resumed) -> State:
        state = resumed.state(self._problem, threshold=self._settings.threshold)
        if self._watch is not None:
            resumed.restore_validation(self._watch)
        if self._counted is not None:
            self._counted.rows_read = resumed.rows_read
        self._rng.bit_generator.state = resumed.random_state
        return state


def _limit(
    budget: Budget, problem: Problem, settings: Settings, started: float, steps: Sequence[float]
) -> Limit | None:
    rows = problem.rows
    threshold_rows = _threshold_rows(problem) if settings.gamma == 1 else 0
    if budget.seconds is not None:
        last_solve = _LastSolve(settings, started + _REHEARSE_AT * budget.seconds)
        most = _THRESHOLD_SHARE * budget.seconds

        def reserve(state: State) -> float:
            return last_solve.seconds(state) + min(threshold_rows * _seconds_per_row(state), most)

        return Limit(budget.seconds, lambda: perf_counter() - started, SECONDS_USED, reserve, steps)
    if isinstance(rows, CountedRows) and budget.bytes is not None:
        kept = min(threshold_rows * row_bytes(rows), _THRESHOLD_SHARE * budget.bytes)
        return Limit(budget.bytes, lambda: rows.bytes_read, BYTES_USED, lambda state: kept, steps)
    return None


class _LastSolve:
    """How long the last solve will take: rehearsed once, at a given moment; it grows with the number of terms."""

    def __init__(self, settings: Settings, moment: float) -> None:
        self._settings, self._moment = settings, moment
        self._per_pair: float | None = None

    def seconds(self, state: State) -> float:
        if self._per_pair is None and perf_counter() >= self._moment:
            self._per_pair = rehearse(state, self._settings) / len(state.pool)
        if self._per_pair is not None:
            return _SAFETY * self._per_pair * len(state.pool)
        return _LAST_PASSES * state.history[-1].training_seconds / max(state.solution.n_passes, 1)


def _threshold_rows(problem: Problem) -> int:
    if problem.n_points <= ALL_ROWS:
        return problem.n_points
    return min(problem.n_positive, SAMPLED_ROWS) + min(problem.n_negative, SAMPLED_ROWS)


def _seconds_per_row(state: Any) -> float:
    """Return what reading a row takes, as the fastest of the last rounds has it: two rows for each candidate."""
    if len(state.history) == 1:
        first = state.history[0]
        return float(first.sampling_seconds / (2 * first.pairs))
    seconds = [
        done.sampling_seconds / max(2 * (done.pairs - before.pairs + done.rejected), 1)
        for before, done in pairwise(state.history[-_RECENT:])
    ]
    return float(min(seconds))


def _kept(
    state: State, reason: str | None, watch: Validation | None, settings: Settings, rng: np.random.Generator
) -> State:
    """Return the state that becomes the model: the last one, or that of the best check, solved to ``settings.tol``."""
    best = watch.best if watch is not None and (watch.early_stopping or reason == INTERRUPTED) else None
    if best is not None and best.pairs < state.history[-1].pairs and state.stop_reason != ALL_TERMS_USED:
        history = tuple(done for done in state.history if done.pairs <= best.pairs)
        cut = State(state.pool.first(best.pairs), state.solution, state.upper, history)
        return finish(cut, settings, rng, reason or state.stop_reason or "")
    return state if reason is None else finish(state, settings, rng, reason)
