"""A fit of `AutoRanker`: the training with its budget, the threshold, and the measurement on held-out rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np

from pairsift.active import BUDGET_REACHED
from pairsift.budget import Budget
from pairsift.data.counted_rows import CountedRows, row_bytes
from pairsift.data.problem import Problem
from pairsift.search.choice import PAIRS
from pairsift.search.growing import AutoSettings, AutoState, auto_training
from pairsift.search.holdout import NOT_MEASURED, Holdout, measured, measured_by_folds
from pairsift.search.parts import HELD_OUT_SHARE, joined
from pairsift.threshold import balanced_threshold
from pairsift.training_run import BYTES_USED, KEEP, RAISE, SECONDS_USED, Consumer, Limit, follow


@dataclass(frozen=True)
class AutoTrained:
    """A finished training.

    Attributes
    ----------
    state : AutoState
    theta : float
        The threshold.
    holdout : Holdout
        The AUC on rows used neither for training nor for choosing.
    seconds : float
    bytes_read : float or None
        Bytes of the rows that were read, where the budget is in bytes.
    """

    state: AutoState
    theta: float
    holdout: Holdout
    seconds: float
    bytes_read: float | None


def train_auto(
    problem: Problem,
    settings: AutoSettings,
    budget: Budget,
    rng: np.random.Generator,
    *,
    consumers: Sequence[Consumer] = (),
    on_interrupt: str = RAISE,
) -> AutoTrained:
    """Train, find the threshold, and measure.

    Where rows are too few to spare any, the model learns from all of them, and models of folds are measured; with a
    budget of seconds as many folds as there is time for.

    Parameters
    ----------
    problem : Problem
    settings : AutoSettings
    budget : Budget
        ``settings.rows`` is its number of rows.
    rng : numpy.random.Generator
    consumers : sequence of consumers
        See `pairsift.training_run`.
    on_interrupt : "raise" or "keep"
    """
    started = perf_counter()
    counted = None if budget.bytes is None else CountedRows(problem.rows)
    read = problem if counted is None else replace(problem, rows=counted)
    limit = _limit(budget, counted, started)
    for consumer in consumers:
        if hasattr(consumer, "begin"):
            consumer.begin(None, limit)
    own: list[Consumer] = [] if limit is None else [limit]
    if budget.bytes is not None:
        settings = replace(settings, rows=_rows_of_bytes(budget.bytes / row_bytes(problem.rows), problem))
    state, reason = follow(auto_training(read, settings, rng), [*own, *consumers], on_interrupt=on_interrupt)
    if budget.bytes is not None and reason is None and state.stop_reason == BUDGET_REACHED:
        reason = BYTES_USED
    state = replace(state, stop_reason=reason or state.stop_reason)
    theta, holdout = state.solution.theta, NOT_MEASURED
    try:
        if state.choice.terms == PAIRS:
            theta = balanced_threshold(read, state.solution.w, rng)
        took = perf_counter() - started
        if settings.holds_out and state.held_out:
            judging = joined(state.held_out)
            if judging.n_positive and judging.n_negative:
                holdout = measured([(judging, state.solution.w)], settings.held_by)
        elif settings.holds_out and reason in (None, SECONDS_USED, BYTES_USED):
            left = None if budget.seconds is None else budget.seconds - took
            again = replace(settings, rows=max(state.n_rows))
            if counted is None or sum(state.n_rows) * row_bytes(problem.rows) + counted.bytes_read <= (
                budget.bytes or 0
            ):
                holdout = measured_by_folds(read, again, rng, consumers, on_interrupt, took=took, left=left)
    except KeyboardInterrupt:
        if on_interrupt != KEEP:
            raise
    seconds = perf_counter() - started
    return AutoTrained(state, theta, holdout, seconds, None if counted is None else counted.bytes_read)


def _rows_of_bytes(rows: float, problem: Problem) -> int:
    """Return how many rows of each class may be learned from, where so many may be read in all."""
    rarer, larger = sorted((problem.n_positive, problem.n_negative))
    each = rows / 2 if rows / 2 <= rarer else rows - rarer
    return max(1, min(int(each / (1 + HELD_OUT_SHARE)), larger))


def _limit(budget: Budget, counted: CountedRows | None, started: float) -> Limit | None:
    if budget.seconds is not None:
        return Limit(budget.seconds, lambda: perf_counter() - started, SECONDS_USED)
    if budget.bytes is not None and counted is not None:
        return Limit(budget.bytes, lambda: counted.bytes_read, BYTES_USED)
    return None
