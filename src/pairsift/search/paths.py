"""Cheap solutions along the strengths, each started from the one before.

A path answers ``path(C)`` with a w that orders rows nearly as a full fit at C would. All are loose (gaps of per cents:
AUC does not see more) and see at most `PATH_ROWS` rows of a class, or one pool of pairs, so that they cost about as
much as a fit however many strengths are tried.

- `ActivePath`: Algorithm 1 once, at the default C, in `POOL_ROUNDS` large rounds; then dual descent on that pool. The
  pool has the size of the fit's: fewer pairs would favour smaller C.
- `ExactPath`: Newton's method on the smoothed hinge, which has the hinge's strength (or on the squared hinge).
- `PointwisePath`: dual descent over single rows.
- `CombinedPath`: the steps themselves, with one seed.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from pairsift._typing import FloatArray
from pairsift.active import ALL_TERMS_USED, Settings, fit_active
from pairsift.all_pairs import SQUARED_HINGE, loss_by_name, smoothed_hinge
from pairsift.budget import STRENGTH_PAIRS
from pairsift.data.problem import Problem
from pairsift.search.walk import MOST_STEPS
from pairsift.solvers.combined import PointLoss, fit_combined
from pairsift.solvers.dual import descend
from pairsift.solvers.exact import FIRST_WIDTH, FORCING, SAMPLE_TOL, draw_sample, solve_squared
from pairsift.solvers.full_objective import FullObjective, dot
from pairsift.solvers.newton import newton_iterates
from pairsift.solvers.pointwise import pointwise_terms
from pairsift.solvers.preconditioner import Preconditioners
from pairsift.solvers.terms import DualSolution, Terms

PATH_ROWS = 5000
WIDE_PATH_ROWS = 2000
DESCENT_GAP = 0.01
DESCENT_PASSES = 30
NEWTON_GAP = 0.01
NEWTON_GRADIENT = 0.05
NEWTON_STEPS = 30
POOL_ROUNDS = 16


class ActivePath:
    """The chosen pool of Algorithm 1 at one strength, solved at others."""

    def __init__(self, training: Problem, settings: Settings, rng: np.random.Generator) -> None:
        budget = STRENGTH_PAIRS if settings.budget is None else settings.budget
        batch = max(settings.batch_size, -(-budget // POOL_ROUNDS))
        # A gap of 1 ends the last solve at once: the path solves.
        steering = replace(settings, budget=budget, batch_size=batch, tol=1.0)
        state = fit_active(training, steering, rng)
        self.pool = state.pool
        self.total = budget if state.stop_reason == ALL_TERMS_USED else len(state.pool)
        self.seed = int(rng.integers(2**63))

    def __call__(self, C: float) -> FloatArray:
        """Return w at strength C."""
        upper, _ = self.pool.bounds(C * self.total)
        terms = Terms(self.pool.kernel, upper, constants=self.pool.constants, norms=self.pool.norms)
        found = descend(terms, self.pool.alpha, tol=DESCENT_GAP, max_passes=DESCENT_PASSES, seed=self.seed)
        self.pool.alpha = found.alpha
        return found.w


class ExactPath:
    """All pairs among a few thousand rows of each class."""

    def __init__(self, training: Problem, loss: str, rng: np.random.Generator) -> None:
        # More columns than rows: the rows can be separated, and full fits beyond a decade up take minutes (news20).
        wide = training.rows.n_features > training.n_points
        self.most_steps_up = 1 if wide else MOST_STEPS
        self.sample = draw_sample(training, WIDE_PATH_ROWS if wide else PATH_ROWS, rng)
        self.squared = loss_by_name(loss) is SQUARED_HINGE
        self.w: FloatArray | None = None

    def __call__(self, C: float) -> FloatArray:
        """Return w at strength C."""
        objective = FullObjective(self.sample, C)
        precondition = Preconditioners(objective)
        if self.w is None or self.squared:
            start = np.zeros(objective.n_features) if self.w is None else self.w
            self.w = solve_squared(objective, precondition, start, SAMPLE_TOL, NEWTON_STEPS).w
        if not self.squared:
            self.w = _smoothed(objective, precondition, self.w)
        return self.w


class PointwisePath:
    """The weighted SVM over a few thousand rows of each class."""

    def __init__(self, training: Problem, threshold: bool, rng: np.random.Generator) -> None:
        self.sample, self.threshold = draw_sample(training, PATH_ROWS, rng), threshold
        self.seed = int(rng.integers(2**63))
        self.found: DualSolution | None = None
        self.C = 1.0

    def __call__(self, C: float) -> FloatArray:
        """Return w at strength C."""
        terms = pointwise_terms(self.sample, C, threshold=self.threshold)
        start = np.zeros(len(terms)) if self.found is None else self.found.alpha * (C / self.C)
        self.found, self.C = descend(terms, start, tol=DESCENT_GAP, max_passes=DESCENT_PASSES, seed=self.seed), C
        return self.found.w


class CombinedPath:
    """Stochastic gradient with the same terms at every strength."""

    def __init__(
        self,
        training: Problem,
        point_loss: PointLoss,
        threshold: bool,
        pair_probability: float,
        n_steps: int,
        rng: np.random.Generator,
    ) -> None:
        self.training = training
        self.settings = point_loss, threshold, pair_probability, n_steps
        self.seed = int(rng.integers(2**63))

    def __call__(self, C: float) -> FloatArray:
        """Return w at strength C."""
        return fit_combined(self.training, C, *self.settings, self.seed).w


def _smoothed(objective: FullObjective, precondition: Preconditioners, w: FloatArray) -> FloatArray:
    """Return w where the smoothed hinge is at most `NEWTON_GAP` times its value above its minimum.

    The objective has strong convexity 1, so 1/2 |gradient|^2 bounds how far it is above. Where C is so small that the
    value hardly depends on w, that says little. But |gradient| bounds |w - w*| too, and |w*| is at most the gradient's
    length at zero: so the gradient must also have become `NEWTON_GRADIENT` times as long as at zero.
    """
    at_zero = objective.gradient(objective.at_zero(smoothed_hinge(FIRST_WIDTH)))
    enough = NEWTON_GRADIENT * math.sqrt(dot(at_zero, at_zero))
    steps = newton_iterates(
        objective,
        objective.at(w, smoothed_hinge(FIRST_WIDTH)),
        precondition,
        lambda at: max(FORCING * at.norm, min(enough, math.sqrt(NEWTON_GAP * at.point.value))),
    )
    for n_steps, at in enumerate(steps):
        w = at.point.w
        if (at.norm <= enough and 0.5 * at.norm**2 <= NEWTON_GAP * at.point.value) or n_steps >= NEWTON_STEPS:
            break
    return w
