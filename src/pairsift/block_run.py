"""A run of block training: its budget, validation part, the caller's consumers, and the threshold.

`train` is what the estimator and the command line call: it knows which sampling is meant, and what "auto" is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np

from pairsift.active import check_settings, make_settings
from pairsift.block import AUTO_ROWS, BlockSettings, BlockState, block_training, check_block, make_block_settings
from pairsift.budget import Budget, parse_budget
from pairsift.checkpoint import Checkpoint
from pairsift.data.counted_rows import CountedRows
from pairsift.data.holdout import hold_out
from pairsift.data.problem import Problem
from pairsift.losses import HINGE
from pairsift.parameters import AUTO
from pairsift.strength.choose import FEW_PAIRS
from pairsift.threshold import balanced_threshold
from pairsift.training_run import BYTES_USED, SECONDS_USED, Consumer, Limit, Trained, follow, train_active
from pairsift.validation import Check, Validation

BLOCK = "block"


@dataclass(frozen=True)
class BlockTrained:
    """A finished block training; the fields are those of `pairsift.training_run.Trained`."""

    state: BlockState
    theta: float
    curve: tuple[Check, ...]
    validated: Check | None
    seconds: float
    bytes_read: float | None
    held_out: Problem | None = None


def check_options(options: Mapping[str, Any]) -> None:
    """Raise `ValueError` for options of the training, named as users name them, that cannot be used."""
    if is_block(options["sampling"]):
        check_block(**options)
    else:
        check_settings(**options)


def is_block(sampling: Any) -> bool:
    """Whether rows are drawn, not pairs."""
    return isinstance(sampling, str) and sampling == BLOCK


def settle_options(problem: Problem, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options as this problem has them: where there are few pairs and "auto" is asked for, all are used.

    That is the paper's method with nothing to sample.
    """
    few = problem.n_pairs <= FEW_PAIRS and options.get("loss") in (AUTO, HINGE) and options["gamma"] in (AUTO, 1.0)
    if not (few and is_block(options["sampling"])):
        return dict(options)
    budget = options["budget"] if parse_budget(options["budget"]).pairs is None else AUTO
    return {**options, "sampling": "random", "budget": budget}


def train(
    problem: Problem,
    options: Mapping[str, Any],
    rng: np.random.Generator,
    *,
    validation: float = 0.0,
    early_stopping: bool = False,
    consumers: Sequence[Consumer] = (),
    checkpoint: Checkpoint | None = None,
    population: int | None = None,
) -> Trained | BlockTrained:
    """Train as settled options say; C may be "auto" where block training chooses it itself.

    `population` is how many rows there are where those of the problem are a sample: it is not solved further than such
    a sample can tell.
    """
    shared: dict[str, Any] = {"validation": validation, "early_stopping": early_stopping, "consumers": consumers}
    if is_block(options["sampling"]):
        budget = parse_budget(options["budget"], AUTO_ROWS)
        settings = replace(make_block_settings(problem, **options), population=population)
        return train_block(problem, settings, budget, rng, **shared)
    return train_active(
        problem,
        make_settings(problem, **options),
        parse_budget(options["budget"]),
        rng,
        checkpoint=checkpoint,
        **shared,
    )


def train_block(
    problem: Problem,
    settings: BlockSettings,
    budget: Budget,
    rng: np.random.Generator,
    *,
    validation: float = 0.0,
    early_stopping: bool = False,
    consumers: Sequence[Consumer] = (),
) -> BlockTrained:
    """Run block training with its budget and validation part, as `pairsift.training_run.train_active` does.

    A check of the validation part is made whenever the rows drawn so far are solved. With `early_stopping` the training
    ends after the first growth that shows no gain on it, and the state of the best check is kept.
    """
    if validation:
        import pairsift.stats  # noqa: F401 - it brings scipy, whose import is no time of training
    started = perf_counter()
    counted = None if budget.bytes is None else CountedRows(problem.rows)
    if counted is not None:
        problem = replace(problem, rows=counted)
    held_out, watch = None, None
    if validation:
        problem, held_out = hold_out(problem, validation, rng)
        watch = Validation(held_out, early_stopping=early_stopping, rounds_between=1, patience=1)
    kept = _Kept(watch)
    limit = _limit(budget, counted, started)
    for consumer in consumers:
        if hasattr(consumer, "begin"):
            consumer.begin(watch, limit)
    own: list[Consumer] = [kept] if limit is None else [kept, limit]
    state, reason = follow(block_training(problem, settings, rng), [*own, *consumers])
    state = kept.best(state, reason)
    found = state.solution
    theta = found.theta if state.choice.mix.gamma < 1 else balanced_threshold(problem, found.w, rng)
    return BlockTrained(
        state,
        theta,
        () if watch is None else tuple(watch.curve),
        None if watch is None else watch.check(state.history[-1].pairs, found.w),
        perf_counter() - started,
        None if counted is None else counted.bytes_read,
        held_out,
    )


class _Kept:
    """A consumer that looks at the validation part when the drawn rows are solved, and keeps the best state."""

    def __init__(self, watch: Validation | None) -> None:
        self._watch = watch
        self._best: BlockState | None = None

    def __call__(self, state: BlockState) -> str | None:
        """Check a solved state; return why to stop, or None."""
        watch = self._watch
        if (
            watch is None
            or not state.solved
            or state.history[-1].pairs == (watch.curve[-1].pairs if watch.curve else 0)
        ):
            return None
        reason = watch(state)
        if watch.best is watch.curve[-1]:
            self._best = state
        return reason

    def best(self, last: BlockState, reason: str | None) -> BlockState:
        """Return the state that becomes the model."""
        keep = self._watch is not None and self._watch.early_stopping and self._best is not None
        state = self._best if keep and self._best is not None else last
        return replace(state, stop_reason=reason or last.stop_reason)


def _limit(budget: Budget, counted: CountedRows | None, started: float) -> Limit | None:
    if budget.seconds is not None:
        return Limit(budget.seconds, lambda: perf_counter() - started, SECONDS_USED)
    if budget.bytes is not None and counted is not None:
        return Limit(budget.bytes, lambda: counted.bytes_read, BYTES_USED)
    return None
