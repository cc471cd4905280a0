r"""Newton's method with preconditioned conjugate gradients, for smooth losses of the scores of rows.

Each step solves H d = -gradient by conjugate gradients with products H d only, until the residual is a stated part of
the gradient, and then looks along d: F(w + t d) needs no pass over the rows, because the scores are linear in t.

Lin, Weng and Keerthi (JMLR 2008) for the truncation; Nocedal and Wright, chapter 7.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from pairsift._typing import FloatArray
from pairsift.solvers.full_objective import dot
from pairsift.solvers.preconditioner import Preconditioner

SUFFICIENT_DECREASE = 1e-4
MAX_TRIALS = 60
# A step is taken when this part of the slope, or less, is left at its end.
SLOPE_LEFT = 0.5
MAX_CG = 500
# What rounding leaves undecided between two values of F.
ROUNDING = 1e-13


class ScoredPoint(Protocol):
    """w with the scores of positives and negatives there, the loss, and the value of F."""

    @property
    def w(self) -> FloatArray:
        """The variables."""

    @property
    def p(self) -> FloatArray:
        """Scores of positives."""

    @property
    def q(self) -> FloatArray:
        """Scores of negatives."""

    @property
    def loss(self) -> Any:
        """What the scores cost."""

    @property
    def value(self) -> float:
        """F."""


AnyPoint = TypeVar("AnyPoint", bound=ScoredPoint)


class Objective(Protocol[AnyPoint]):
    """A convex function of w that needs the rows only to score them and to add them up."""

    def gradient(self, point: AnyPoint) -> FloatArray:
        """Return the gradient of F."""

    def hessian_product(self, point: AnyPoint) -> Callable[[FloatArray], FloatArray]:
        """Return d -> H d."""

    def scores(self, w: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the scores of positives and of negatives."""

    def from_scores(self, w: FloatArray, p: FloatArray, q: FloatArray, loss: Any) -> AnyPoint:
        """Return the point with these scores."""

    def slope(self, point: AnyPoint, d: FloatArray, dp: FloatArray, dq: FloatArray) -> float:
        """Return the derivative of F along d, whose scores are dp and dq."""


@dataclass(frozen=True)
class Iterate(Generic[AnyPoint]):
    """A point, the gradient of F there and its norm."""

    point: AnyPoint
    gradient: FloatArray
    norm: float


def newton_iterates(
    objective: Objective[AnyPoint],
    point: AnyPoint,
    precondition: Callable[[FloatArray, Any], Preconditioner],
    residual: Callable[[Iterate[AnyPoint]], float],
) -> Iterator[Iterate[AnyPoint]]:
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
        product = objective.hessian_product(point)
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


def search_line(objective: Objective[AnyPoint], point: AnyPoint, d: FloatArray, slope: float) -> AnyPoint | None:
    """Return a point w + t d where F has decreased enough and its slope too, or None when rounding leaves none.

    t = 1 is tried first. F is convex, so the sign of its slope brackets the minimum on the line; inside the bracket the
    secant of the slopes is followed, kept away from the ends, and beyond it t grows. A trial costs a sort and no pass
    over the rows, so it pays to come close where a full step is wrong. Where F no longer tells points apart its slope
    decides (Hager and Zhang's approximate Wolfe condition).
    """
    if not slope < 0:
        return None
    dp, dq = objective.scores(d)
    best: AnyPoint | None = None
    low, low_slope, high, high_slope, t = 0.0, slope, math.inf, math.inf, 1.0
    for _ in range(MAX_TRIALS):
        trial = objective.from_scores(point.w + t * d, point.p + t * dp, point.q + t * dq, point.loss)
        trial_slope = objective.slope(trial, d, dp, dq)
        decreased = trial.value <= point.value + SUFFICIENT_DECREASE * t * slope
        flat = trial.value <= point.value + ROUNDING * abs(point.value)
        if decreased and (best is None or trial.value < best.value):
            best = trial
        if (decreased or flat) and abs(trial_slope) <= SLOPE_LEFT * abs(slope):
            return trial
        # An end that stays while the other moves is given half its slope (the Illinois rule), or it would stay.
        if trial_slope < 0:
            low, low_slope, high_slope = t, trial_slope, 0.5 * high_slope if low > 0 else high_slope
        else:
            high, high_slope, low_slope = t, trial_slope, 0.5 * low_slope if high < math.inf else low_slope
        t = _inside(low, low_slope, high, high_slope) if high < math.inf else 4 * t
    return best


def _inside(low: float, low_slope: float, high: float, high_slope: float) -> float:
    """Return the secant's zero of the slope, at least a tenth of the bracket away from its ends."""
    share = low_slope / (low_slope - high_slope) if low_slope < high_slope else 0.5
    return low + (high - low) * min(max(share, 0.1), 0.9)
