"""C chosen on a validation part: one routine for all methods, ours and peers alike.

A fifth of each class of the training rows, at most 20,000 rows of it, is held out; the method is trained on the others
with C times 10^-3, 10^-2, ... 10^3, and if the best lies at an end, further on that side, up to three decades; then
with the best times 10^(1/2) and 10^(-1/2). The C with the best AUC on the rows held out is chosen, the smallest of
equals. Whoever asks then trains on all training rows with it.

Larger values of C take longer, so that none is tried above one whose training took more than `patience` seconds.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pairsift._typing import FloatArray
from pairsift.data.holdout import hold_out
from pairsift.data.problem import Problem, make_problem
from pairsift.data.rows import as_rows
from pairsift.stats import auc

TUNED = "tuned"  # as in soft-correct:C=tuned
SHARE = 0.2
SEED = 0
SCALES = tuple(10.0**power for power in range(-3, 4))
FURTHER = 3
PATIENCE = 60.0

Value = Callable[[float], float]


@dataclass
class Tuned:
    """The chosen factor of C, the AUC on the rows held out by factor, and the CPU seconds of all trainings."""

    scale: float
    values: dict[float, float] = field(default_factory=dict)
    cpu: float = 0.0


def choose_scale(
    X: Any, y: FloatArray, train: Callable[[Any, FloatArray, float], Any], scales: tuple[float, ...], patience: float
) -> Tuned:
    """Choose the factor of C.

    Parameters
    ----------
    X, y : training rows and labels +1 and -1
    train : function of rows, labels and a factor
        Returns what was trained: something with ``scores(X)`` and, where it ran in another process, ``spent``.
    scales : tuple of float
        In rising order. Only `SCALES` is refined and extended; other grids are tried as they are.
    patience : float
        CPU seconds.
    """
    problem = make_problem(as_rows(X), y > 0)
    fitting, held_out = (_row_numbers(part) for part in hold_out(problem, SHARE, np.random.default_rng(SEED)))
    X_fit, y_fit, X_held, y_held = X[fitting], y[fitting], X[held_out], y[held_out]
    tuned, ceiling = Tuned(scales[0]), np.inf

    def try_scale(scale: float) -> float:
        nonlocal ceiling
        if scale in tuned.values or scale > ceiling:
            return tuned.values.get(scale, -np.inf)
        start = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that a C is too large to be solved shows in the AUC
            run = train(X_fit, y_fit, scale)
        spent = getattr(run, "spent", None)
        seconds = time.process_time() - start if spent is None else spent.cpu
        tuned.cpu += seconds
        tuned.values[scale] = auc(y_held > 0, run.scores(X_held))
        if seconds > patience:
            ceiling = scale
        return tuned.values[scale]

    tuned.scale = search(try_scale, scales)
    return tuned


def search(value: Value, scales: tuple[float, ...]) -> float:
    """Return the factor with the largest value: see the text of this module. `value` is -inf where it cannot be had."""
    tried = {scale: value(scale) for scale in scales}
    if scales == SCALES:
        for _ in range(FURTHER):
            best = _best(tried)
            if best == min(tried):
                tried[best / 10] = value(best / 10)
            elif best == max(tried):
                tried[best * 10] = value(best * 10)
            else:
                break
        best = _best(tried)
        for beside in (best / 10**0.5, best * 10**0.5):
            tried[beside] = value(beside)
    return _best(tried)


def _best(tried: dict[float, float]) -> float:
    return min(tried, key=lambda scale: (-tried[scale], scale))


def _row_numbers(part: Problem) -> Any:
    return np.sort(np.concatenate([part.positives[:], part.negatives[:]]))
