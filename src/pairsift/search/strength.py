"""The choice of C for each estimator: hold out rows, walk along a path of strengths, and say what was seen.

A fit at the chosen C then uses all rows, and is to the bit the fit that ``C=C_`` gives with the same seed: the choice
draws from a generator of its own, spawned from that of the fit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from pairsift.active import make_settings
from pairsift.data.holdout import hold_out
from pairsift.data.problem import Problem
from pairsift.judge import Judge
from pairsift.search.paths import ActivePath, CombinedPath, ExactPath, PointwisePath
from pairsift.search.walk import Path, Tried, Walk
from pairsift.solvers.combined import PointLoss

DEFAULT_PAIR_C = 0.1
DEFAULT_TOTAL_C = 800.0
HELD_OUT = 0.2
HELD_OUT_ROWS = 5000
# With no more pairs than the default budget, or fewer rows of a class, held-out rows cannot tell strengths apart.
FEW_PAIRS = 8000
FEW_ROWS = 25
# A part that holds out fewer rows of a class than that is too noisy: more parts are held out, each by itself.
ROWS_TO_SEE = 100
MOST_PARTS = 5

_MakePath = Callable[[Problem, np.random.Generator], Path]


@dataclass(frozen=True)
class Strength:
    """A chosen strength, and what each strength that was tried gave; none where the default was taken unseen."""

    C: float
    path: tuple[Tried, ...] = ()

    def facts(self) -> dict[str, Any]:
        """Return it as a model file keeps it."""
        return {"C": self.C, "C_path": [list(tried) for tried in self.path]}


def choose_active(problem: Problem, options: Mapping[str, Any], rng: np.random.Generator) -> Strength:
    """Choose C for Algorithm 1 with these options, named as the user names them; their own C is not looked at."""
    settings = make_settings(problem, **{**options, "C": DEFAULT_PAIR_C})
    return _choose(problem, DEFAULT_PAIR_C, lambda training, own: ActivePath(training, settings, own), rng)


def choose_exact(problem: Problem, loss: str, rng: np.random.Generator) -> Strength:
    """Choose C for RankSVM over all pairs."""
    return _choose(problem, DEFAULT_TOTAL_C, lambda training, own: ExactPath(training, loss, own), rng)


def choose_pointwise(problem: Problem, threshold: bool, rng: np.random.Generator) -> Strength:
    """Choose C for the weighted point-wise SVM."""
    return _choose(problem, DEFAULT_TOTAL_C, lambda training, own: PointwisePath(training, threshold, own), rng)


def choose_combined(
    problem: Problem,
    point_loss: PointLoss,
    threshold: bool,
    pair_probability: float,
    n_steps: int,
    rng: np.random.Generator,
) -> Strength:
    """Choose C for combined ranking and regression."""

    def path(training: Problem, own: np.random.Generator) -> Path:
        return CombinedPath(training, point_loss, threshold, pair_probability, n_steps, own)

    return _choose(problem, DEFAULT_TOTAL_C, path, rng)


def can_choose(problem: Problem) -> bool:
    """Whether there are enough rows to choose by; otherwise "auto" is the default."""
    return problem.n_pairs > FEW_PAIRS and min(problem.n_positive, problem.n_negative) >= FEW_ROWS


def _choose(
    problem: Problem,
    default: float,
    make_path: Callable[[Problem, np.random.Generator], Path],
    rng: np.random.Generator,
) -> Strength:
    if not can_choose(problem):
        return Strength(default)
    own = _spawn(rng)
    walk = Walk([_part(problem, make_path, own) for _ in range(_count_parts(problem))])
    chosen = walk.run(default)
    return Strength(chosen, tuple(sorted(walk.tried)))


def _part(problem: Problem, make_path: _MakePath, own: np.random.Generator) -> tuple[Path, Judge]:
    training, validation = hold_out(problem, HELD_OUT, own, HELD_OUT_ROWS)
    return make_path(training, own), Judge(validation)


def _count_parts(problem: Problem) -> int:
    rows = HELD_OUT * min(problem.n_positive, problem.n_negative)
    return min(max(1, math.ceil(ROWS_TO_SEE / rows)), MOST_PARTS)


def _spawn(rng: np.random.Generator) -> np.random.Generator:
    """Return a generator that depends on `rng` and leaves its stream as it is, where it can spawn."""
    try:
        return rng.spawn(1)[0]
    except TypeError:  # a bit generator made from a state, not from a seed
        return np.random.default_rng(rng.integers(2**32, size=4))
