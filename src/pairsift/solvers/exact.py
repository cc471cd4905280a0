r"""RankSVM over all N+ * N- pairs, exactly.

.. math:: \min_w\ P(w) = \tfrac12 |w|^2 + C \cdot \mathrm{mean}_{ij}\, \ell\bigl(1 - w \cdot (x_i - x_j)\bigr)

**Squared hinge**: Newton's method until the gradient is `tol` times the gradient at w = 0.

**Hinge**: Newton's method on the smoothed hinge of width e (`pairsift.all_pairs`). The slopes of the smoothed loss are
a feasible point of the hinge's dual problem, a_ij = C u_i v_j clip(z_ij / e, 0, 1), so every iterate has a true duality
gap,

    P(w) - D(a) = 1/2 |w - sum a_ij (x_i - x_j)|^2 + C * mean(z - z^2 / e over 0 < z < e).

The first term is half the squared norm of the smoothed gradient, which Newton's method removes; the second falls with
e^2, and e is made just small enough for it. (Why not cutting planes: SVM^perf's take 10 to 54 times the time of a
point-wise SVM at the strength of the paper; `tools/measure_exact.py` prints what this takes.)

Both start from the solution on a few thousand rows of each class, which is a good w for all rows, and, with few
columns, a good Hessian too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pairsift._typing import FloatArray, IntArray
from pairsift.all_pairs import HINGE, SQUARED_HINGE, loss_by_name, smoothed_hinge
from pairsift.data.problem import Places, Problem, RowRange
from pairsift.data.rows import MemoryRows
from pairsift.solvers.explicit_pairs import solve_explicit_pairs
from pairsift.solvers.full_objective import FullObjective, Point, dot
from pairsift.solvers.newton import Iterate, newton_iterates
from pairsift.solvers.preconditioner import Preconditioners

SMALL_PAIRS = 2000
SMALL_TOL = 1e-12
SAMPLE_ROWS = 5000
# How well the sample is solved: its solution differs from that of all rows by more than this.
SAMPLE_TOL = 1e-2
SAMPLE_LOOSENESS = 30.0
FIRST_WIDTH = 0.5
# A linear system is solved until its residual is this part of the gradient.
FORCING = 0.2


@dataclass(frozen=True)
class ExactResult:
    """What `fit_exact` found.

    Attributes
    ----------
    w : array
    primal : float
        P(w).
    dual : float
        A lower bound of P's minimum. Hinge: the value of a dual feasible point. Squared hinge: P(w) - 1/2 |gradient|^2,
        which bounds a function of strong convexity 1.
    gap : float
        Hinge: (primal - dual) / primal. Squared hinge: gradient norm relative to that at w = 0 (zero when that is
        rounding). At most `tol` when `converged`.
    n_iter : int
        Newton steps on all rows (passes of dual descent for a small hinge problem).
    converged : bool
    """

    w: FloatArray
    primal: float
    dual: float
    gap: float
    n_iter: int
    converged: bool


def fit_exact(
    problem: Problem,
    C: float,
    loss: str = "hinge",
    tol: float = 1e-3,
    max_iter: int = 1000,
    seed: int = 0,
) -> ExactResult:
    """Minimise ``1/2 |w|^2 + C * (mean loss over all pairs)``.

    Parameters
    ----------
    problem : Problem
    C : float
        Weight of the mean loss, above zero.
    loss : "hinge" or "squared_hinge"
    tol : float
        Bound for `ExactResult.gap`. Problems of fewer than `SMALL_PAIRS` pairs are solved to `SMALL_TOL`, or as near as
        rounding allows, whatever `tol` is.
    max_iter : int
        Newton steps at most, over all rows, and again over the sample that gives the start.
    seed : int
        Seed of that sample.
    """
    chosen = loss_by_name(loss)
    small = problem.n_pairs < SMALL_PAIRS
    if small and chosen is HINGE:
        found = solve_explicit_pairs(problem, C, min(tol, SMALL_TOL), max_iter, seed)
        gap = found.relative_gap
        if gap <= tol:
            return ExactResult(found.w, found.primal, found.primal - found.gap, gap, found.n_passes, True)
    sample = FullObjective(_sample(problem, seed), C)
    sampled = sample.problem.n_points < problem.n_points
    objective = FullObjective(problem, C) if sampled else sample
    precondition = Preconditioners(sample)
    w = np.zeros(objective.n_features)
    if chosen is SQUARED_HINGE:
        if sampled:
            w = solve_squared(sample, precondition, w, max(tol, SAMPLE_TOL), max_iter).w
        result = solve_squared(objective, precondition, w, min(tol, SMALL_TOL) if small else tol, max_iter)
        return replace(result, converged=result.gap <= tol)
    # Far from its solution the smoothed hinge is nearly linear and tells Newton's method little: the squared hinge
    # leads there.
    w, width = solve_squared(sample, precondition, w, SAMPLE_TOL, max_iter).w, FIRST_WIDTH
    if sampled:
        near, width = _solve_hinge(sample, precondition, w, width, tol, max_iter, SAMPLE_LOOSENESS)
        w = near.w
    return _solve_hinge(objective, precondition, w, width, tol, max_iter)[0]


def solve_squared(
    objective: FullObjective, precondition: Preconditioners, w: FloatArray, tol: float, max_iter: int
) -> ExactResult:
    """Minimise the squared hinge from w on until the gradient is `tol` times that at zero."""
    norm_at_zero = _norm(objective.gradient(objective.at_zero(SQUARED_HINGE)))
    rounding = 1e-14 * objective.C * precondition.typical_norm
    target = max(tol * norm_at_zero, rounding)
    best: Iterate[Point] | None = None
    n_iter = 0
    for n_iter, at in enumerate(
        newton_iterates(
            objective,
            objective.at(w, SQUARED_HINGE),
            precondition,
            lambda at: max(FORCING * at.norm, 0.5 * target),
        )
    ):
        if best is None or at.norm < best.norm:
            best = at
        if at.norm <= target or n_iter >= max_iter:
            break
    assert best is not None
    # Where the classes have one mean the gradient is rounding from the start, and w = 0 is the solution.
    gap = best.norm / norm_at_zero if norm_at_zero > 10 * rounding else 0.0
    value = best.point.value
    return ExactResult(best.point.w, value, value - 0.5 * best.norm**2, gap, n_iter, gap <= tol)


class HingeBounds:
    """The best primal and the best dual value of the hinge that smoothed iterates have shown."""

    def __init__(self, C: float) -> None:
        self.C, self.primal, self.dual = C, math.inf, 0.0
        self.w: FloatArray = np.empty(0)
        self.slack = 0.0

    @property
    def gap(self) -> float:
        """The relative duality gap."""
        return max(self.primal - self.dual, 0.0) / self.primal if self.primal > 0 else 0.0

    def see(self, at: Iterate[Any]) -> None:
        """Learn from an iterate of Newton's method on a smoothed hinge."""
        sums = at.point.sums
        primal = 0.5 * dot(at.point.w, at.point.w) + self.C * sums.hinge
        self.slack = self.C * sums.slack
        self.dual = max(self.dual, primal - (0.5 * at.norm**2 + self.slack), self._scaled_dual(at))
        if primal < self.primal:
            self.primal, self.w = primal, at.point.w

    def _scaled_dual(self, at: Iterate[Any]) -> float:
        """Value of the best multiple, at most 1, of the dual point."""
        combination = at.point.w - at.gradient
        total, square = self.C * float(np.sum(at.point.sums.negative)), dot(combination, combination)
        return 0.5 * total * total / square if total < square else total - 0.5 * square


def _solve_hinge(
    objective: FullObjective,
    precondition: Preconditioners,
    w: FloatArray,
    width: float,
    tol: float,
    max_iter: int,
    looseness: float = 1.0,
) -> tuple[ExactResult, float]:
    """Return the solution and the width at which it was found.

    Half of the gap that `tol` allows is left to the smoothing, half to the gradient (`looseness` times as much when
    only a start for a larger problem is wanted).
    """
    bounds, n_iter, halves = HingeBounds(objective.C), 0, 0.5 * tol
    point = objective.at(w, smoothed_hinge(width))
    while True:
        moved = False
        for at in newton_iterates(
            objective,
            point,
            precondition,
            lambda at: max(FORCING * at.norm, math.sqrt(halves * looseness * bounds.primal)),
        ):
            n_iter, moved, point = n_iter + moved, True, at.point
            bounds.see(at)
            if bounds.gap <= tol or n_iter >= max_iter or 0.5 * at.norm**2 <= halves * looseness * bounds.primal:
                break
        tight = bounds.slack <= halves * bounds.primal
        if bounds.gap <= tol or n_iter >= max_iter or tight:
            break
        width = narrower(width, halves, bounds)
        point = objective.with_loss(point, smoothed_hinge(width))
    return ExactResult(bounds.w, bounds.primal, bounds.dual, bounds.gap, n_iter, bounds.gap <= tol), width


def narrower(width: float, part: float, bounds: HingeBounds) -> float:
    """Return the width at which smoothing takes about the given part of the primal value."""
    return width * min(max(math.sqrt(0.7 * part * bounds.primal / bounds.slack), 0.03), 0.8)


def _sample(problem: Problem, seed: int) -> Problem:
    """Return a few rows of each class, in memory; all of them when leaving out the others would save little."""
    # Of more columns than rows a sample lacks many: its diagonal Hessian then misleads (news20 at C = 8000: 323
    # products instead of 59).
    if problem.n_points >= 3 * SAMPLE_ROWS and problem.rows.n_features <= 2 * SAMPLE_ROWS:
        most = SAMPLE_ROWS
    elif isinstance(problem.rows, MemoryRows):
        return problem
    else:
        most = problem.n_points
    return draw_sample(problem, most, np.random.default_rng(seed))


def draw_sample(problem: Problem, most: int, random: np.random.Generator) -> Problem:
    """Return at most so many rows of each class, in memory, positives first."""
    positives, s = _draw(problem.positives, problem.positive_weights, most, random)
    negatives, t = _draw(problem.negatives, problem.negative_weights, most, random)
    rows = problem.rows.take(np.concatenate([positives, negatives]))
    return Problem(rows, RowRange(0, len(positives)), RowRange(len(positives), rows.n_rows), s, t)


def _draw(
    places: Places, weights: FloatArray | None, most: int, random: np.random.Generator
) -> tuple[IntArray, FloatArray | None]:
    chosen = np.arange(len(places))
    if len(places) > most:
        chosen = np.sort(random.choice(len(places), most, replace=False, shuffle=False))
    return np.asarray(places[chosen]), None if weights is None else weights[chosen]


def _norm(x: FloatArray) -> float:
    return math.sqrt(dot(x, x))
