"""What one cell computes. Only the training is timed: neither loading, nor scoring, nor the points of a curve."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from time import perf_counter, process_time
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from pairsift.active import State, active_sampling, make_settings
from pairsift.data.datasets import find_dataset
from pairsift.data.generate import make_ranking
from pairsift.data.problem import make_problem
from pairsift.data.rows import as_rows
from pairsift.experiments.grids.plan import cell_seed
from pairsift.experiments.methods import EstimatorRun, Method, Run, Setting, find_method
from pairsift.experiments.results import Cell, Outcome
from pairsift.experiments.sets import Split, fold_rows, rows, split
from pairsift.model import score_rows
from pairsift.stats import auc

# Experiments whose samplers record AUC and rejected draws as the pool grows.
_WITH_CURVES = ("auc", "hard", "large_budget", "large_problem")
_POINTS_OF_A_CURVE = 40
_ROUNDS_AT_FIRST = 5

# The split at hand: cells come fold by fold.
load = lru_cache(maxsize=1)(split)


@dataclass
class Clock:
    """CPU and wall seconds spent inside ``with clock.running():``."""

    cpu: float = 0.0
    wall: float = 0.0

    @contextmanager
    def running(self) -> Iterator[None]:
        """Count what is inside."""
        cpu, wall = process_time(), perf_counter()
        try:
            yield
        finally:
            self.cpu += process_time() - cpu
            self.wall += perf_counter() - wall


def prepare(cell: Cell) -> Callable[[], Outcome]:
    """Load the data of a cell, and return the function that computes it; its faults are exceptions."""
    if cell.experiment == "data":
        return lambda: Outcome("done", result=statistics(cell.dataset))
    here = load(cell.dataset, cell.fold)
    return lambda: _recording_warnings(cell, here)


def statistics(name: str) -> dict[str, Any]:
    """Count rows, pairs in both orders (2 N+ N-) and columns of the train part."""
    dataset = find_dataset(name)
    X, y = rows(dataset.name, "train")
    positives = int(np.sum(y > 0))
    negatives = len(y) - positives
    differs = {what: {"value": stated.value, "reason": stated.reason} for what, stated in dataset.differs.items()}
    return {
        "points": len(y),
        "positives": positives,
        "negatives": negatives,
        "pairs": 2 * positives * negatives,
        "dimension": int(X.shape[1]),
        "auc": dataset.auc,
        "differs": differs,
    }


def _recording_warnings(cell: Cell, here: Split) -> Outcome:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        outcome = _compute(cell, here)
    said = sorted({" ".join(str(warning.message).split()) for warning in caught})
    return replace(outcome, result={**outcome.result, "warnings": said}) if said else outcome


def _compute(cell: Cell, here: Split) -> Outcome:
    method = find_method(cell.method)
    setting, options, inner_folds = _read_settings(cell)
    _warm_up(cell.method)
    clock = Clock()
    if inner_folds:
        result = _inner(method, setting, options, here, inner_folds, clock)
    else:
        run = method.prepare(here.X, here.y, setting, **options)
        if cell.experiment in _WITH_CURVES and "sampling" in method.options:
            result = _curve(run, here, setting, clock)
        else:
            result = _train(run, here, clock)
    return Outcome("done", result=result, train_cpu=clock.cpu, train_wall=clock.wall, seed=setting.seed)


@lru_cache
def _warm_up(name: str) -> None:
    """Train on a few rows, so that what a process does once, as importing, is in nobody's time."""
    X, y = make_ranking(200, 3, positive_rate=0.5, random_state=0)
    run = find_method(name).prepare(csr_array(X), np.where(y > 0, 1.0, -1.0), Setting(budget=100, batch_size=50))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run.train()


def _read_settings(cell: Cell) -> tuple[Setting, dict[str, Any], int]:
    given = json.loads(cell.settings)
    inner_folds = given.pop("inner_folds", 0)
    shared = {name: given.pop(name) for name in ("C", "budget", "batch_size", "scale_C")}
    if shared["scale_C"] is None:
        raise ValueError("No C was chosen, because no tuning cell of this set and method is done.")
    return Setting(seed=cell_seed(cell.dataset, cell.fold, cell.pool), **shared), given, inner_folds


def _train(run: Run, here: Split, clock: Clock) -> dict[str, Any]:
    with clock.running():
        run.train()
    result: dict[str, Any] = {"auc": auc(here.y_test, run.scores(here.X_test))}
    rejected = getattr(getattr(run, "estimator", None), "n_rejected_", None)
    return result if rejected is None else {**result, "rejected": int(rejected)}


def _inner(
    method: Method, setting: Setting, options: dict[str, Any], here: Split, n_folds: int, clock: Clock
) -> dict[str, Any]:
    values = []
    for train, test in fold_rows(here.y, n_folds):
        run = method.prepare(here.X[train], here.y[train], setting, **options)
        with clock.running():
            run.train()
        values.append(auc(here.y[test], run.scores(here.X[test])))
    return {"auc": float(np.mean(values)), "inner": values}


def _curve(run: Run, here: Split, setting: Setting, clock: Clock) -> dict[str, Any]:
    """Train as the estimator does (a test compares them), looking at the state of rounds on the way.

    Rounds before the last are trained only as far as the next draw needs, and the curve shows them as they are.
    """
    assert isinstance(run, EstimatorRun)
    parameters = run.estimator.get_params()
    for not_of_the_loop in ("verbose", "validation", "early_stopping", "on_interrupt"):
        parameters.pop(not_of_the_loop)
    rng = np.random.default_rng(parameters.pop("random_state"))
    test_rows = as_rows(here.X_test)
    points: list[tuple[int, float, float]] = []
    with clock.running():
        problem = make_problem(as_rows(here.X), here.y > 0)
        states = active_sampling(problem, make_settings(problem, **parameters), rng)
        state = next(states)
    before = 0
    while True:
        if _is_shown(state, setting):
            value = auc(here.y_test, score_rows(test_rows, state.solution.w, 0.0))
            points.append((len(state.pool), value, _rejected_per_pair(state, before)))
            before = len(state.history)
        if state.stop_reason is not None:
            break
        with clock.running():
            state = next(states)
    pairs, values, rejected = zip(*points, strict=True)
    if not state.solution.converged:
        warnings.warn(f"Stopped at a relative gap of {state.solution.relative_gap:.2g}.", RuntimeWarning, stacklevel=2)
    curve = {"pairs": pairs, "auc": [round(v, 6) for v in values], "rejected": [round(v, 4) for v in rejected]}
    total = round(sum(done.rejected for done in state.history))
    return {"auc": values[-1], "rejected": total, "curve": curve}


def _is_shown(state: State, setting: Setting) -> bool:
    done = len(state.history)
    step = max(1, setting.budget // setting.batch_size // _POINTS_OF_A_CURVE)
    return done <= _ROUNDS_AT_FIRST or done % step == 0 or state.stop_reason is not None


def _rejected_per_pair(state: State, before: int) -> float:
    accepted = state.history[-1].pairs - (state.history[before - 1].pairs if before else 0)
    return sum(done.rejected for done in state.history[before:]) / max(accepted, 1)
