r"""Newton's method with preconditioned conjugate gradients, for smooth losses over all pairs.

Each step solves H d = -gradient by conjugate gradients with products H d only (`HessianProduct`), until the residual is
a stated part of the gradient, and then looks along d: F(w + t d) needs no pass over the rows, because the scores are
linear in t.

Lin, Weng and Keerthi (JMLR 2008) for the truncation; Nocedal and Wright, chapter 7.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from pairsift._typing import FloatArray
from pairsift.all_pairs import Loss
from pairsift.solvers.full_objective import FullObjective, HessianProduct, Point, dot
from pairsift.solvers.preconditioner import Preconditioner

SUFFICIENT_DECREASE = 1e-4
MAX_TRIALS = 40
MAX_CG = 500
# What rounding leaves undecided between two values of F.
ROUNDING = 1e-13


@dataclass(frozen=True)
class Iterate:
    """A point, the gradient of F there and its norm."""

    point: Point
    gradient: FloatArray
    norm: float


def newton_iterates(
    objective: FullObjective,
    point: Point,
    precondition: Callable[[FloatArray, Loss], Preconditioner],
    residual: Callable[[Iterate], float],
) -> Iterator[Iterate]:
    """Yield iterates of Newton's method, `point` first, until no step makes F smaller.

    Parameters
    ----------
    precondition : function of (w, loss)
        Returns the preconditioner at w.
    residual : function of an iterate
        Returns the norm of the residual at which its linear system is solved well enough.
    """
    while True:
        gradient = objective.gradient(point)
        iterate = Iterate(point, gradient, math.sqrt(dot(gradient, gradient)))
        yield iterate
        if iterate.norm == 0:
            return
        product = HessianProduct(objective, point)
        d = conjugate_gradients(product, precondition(point.w, point.loss), gradient, residual(iterate))
        found = search_line(objective, point, d, dot(gradient, d))
        if found is None:
            return
        point = found


def conjugate_gradients(
    product: Callable[[FloatArray], FloatArray], divide: Preconditioner, gradient: FloatArray, tolerance: float
) -> FloatArray:
    """Return d with ``|H d + gradient| <= tolerance``, or as near as `MAX_CG` products bring it."""
    d, r = np.zeros_like(gradient), -gradient
    z = divide(r)
    direction, rz = z, dot(r, z)
    for _ in range(MAX_CG):
        product_direction = product(direction)
        curvature = dot(direction, product_direction)
        if not curvature > 0 or not rz > 0:
            break
        step = rz / curvature
        d += step * direction
        r -= step * product_direction
        if math.sqrt(dot(r, r)) <= tolerance:
            break
        z = divide(r)
        previous, rz = rz, dot(r, z)
        direction = z + (rz / previous) * direction
    return d


def search_line(objective: FullObjective, point: Point, d: FloatArray, slope: float) -> Point | None:
    """Return a point w + t d where F has decreased enough, or None when rounding leaves none.

    t = 1 is tried first; while it is too long, the zero of the slope is estimated by the secant. A step is also taken
    when F does not tell the two points apart but the slope does (Hager and Zhang's approximate Wolfe condition).
    """
    if not slope < 0:
        return None
    dp, dq = objective.scores(d)
    t = 1.0
    for _ in range(MAX_TRIALS):
        trial = objective.from_scores(point.w + t * d, point.p + t * dp, point.q + t * dq, point.loss)
        if trial.value <= point.value + SUFFICIENT_DECREASE * t * slope:
            return trial
        trial_slope = objective.slope(trial, d, dp, dq)
        if trial.value <= point.value + ROUNDING * abs(point.value) and abs(trial_slope) < 0.9 * abs(slope):
            return trial
        shorter = slope / (slope - trial_slope) if trial_slope > slope else 0.5
        t *= min(max(shorter, 0.1), 0.7)
    return None
