"""A fit of `AutoRanker`: the training with its budget, the threshold, and the measurement on held-out rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np

from pairsift.budget import Budget
from pairsift.data.counted_rows import CountedRows
from pairsift.data.problem import Problem
from pairsift.search.choice import POINTS
from pairsift.search.growing import AutoSettings, AutoState, auto_training
from pairsift.search.holdout import NOT_MEASURED, Holdout, measured, measured_by_folds
from pairsift.search.parts import joined
from pairsift.threshold import balanced_threshold
from pairsift.training_run import (
    BYTES_USED,
    INTERRUPTED,
    RAISE,
    SECONDS_USED,
    Consumer,
    Limit,
    follow,
)


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
    state, reason = follow(auto_training(read, settings, rng), [*own, *consumers], on_interrupt=on_interrupt)
    state = replace(state, stop_reason=reason or state.stop_reason)
    found = state.solution
    theta = found.theta if state.choice.terms == POINTS else balanced_threshold(read, found.w, rng)
    left = None if budget.seconds is None else budget.seconds - (perf_counter() - started)
    holdout = _holdout(problem, settings, state, rng, consumers, on_interrupt, left)
    seconds = perf_counter() - started
    return AutoTrained(state, theta, holdout, seconds, None if counted is None else counted.bytes_read)


def _holdout(
    problem: Problem,
    settings: AutoSettings,
    state: AutoState,
    rng: np.random.Generator,
    consumers: Sequence[Consumer],
    on_interrupt: str,
    seconds: float | None,
) -> Holdout:
    if not settings.holds_out:
        return NOT_MEASURED
    if state.held_out:
        judging = joined(state.held_out)
        both = judging.n_positive and judging.n_negative
        return measured([(judging, state.solution.w)]) if both else NOT_MEASURED
    if state.stop_reason == INTERRUPTED:
        return NOT_MEASURED
    return measured_by_folds(problem, settings, rng, consumers, on_interrupt, seconds)


def _limit(budget: Budget, counted: CountedRows | None, started: float) -> Limit | None:
    if budget.seconds is not None:
        return Limit(budget.seconds, lambda: perf_counter() - started, SECONDS_USED)
    if budget.bytes is not None and counted is not None:
        return Limit(budget.bytes, lambda: counted.bytes_read, BYTES_USED)
    return None
