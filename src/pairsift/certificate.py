r"""How far a linear model is from the best one for all pairs.

For any w, the exact objective over all N+ * N- pairs is

.. math:: P(w) = \tfrac12 |w|^2 + C \cdot \mathrm{mean}_{ij}\, \ell\bigl(1 - w \cdot (x_i - x_j)\bigr)

and what was lost by sampling, or by minimising something else, is P(w) - min P. A ranker's scale does not change its
AUC but changes P, so models of another scale (logistic regression, say) are also told P at their best multiple t w, t
>= 0.

The lower bound of min P
------------------------
The larger of two:

1. from w alone, almost free: the dual point a_ij = C u_i v_j l'(z_ij) at the best multiple of w. For the squared hinge
its
   dual value is P(t w) - 1/2 |gradient|^2. For the hinge l' is taken of the smoothed hinge (so that not all a_ij are at
   a bound), and the point is scaled by its best factor.
2. the dual value of the exact solution (`pairsift.solvers.exact.fit_exact`), whose own gap is at most `tol`. It is left
   out when the first already shows a relative gap of `tol`, since it could not say much more.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pairsift._typing import FloatArray
from pairsift.all_pairs import HINGE, Loss, loss_by_name, smoothed_hinge
from pairsift.data.problem import Problem
from pairsift.solvers.exact import fit_exact
from pairsift.solvers.full_objective import FullObjective, Point, dot
from pairsift.stats import auc_interval

# The dual point of the hinge is made from a smoothed hinge, whose multipliers are not all 0 or C.
DUAL_WIDTH = 0.1


@dataclass(frozen=True)
class Certificate:
    """What is known about a linear model on all pairs.

    Attributes
    ----------
    objective : float
        P(w).
    lower_bound : float
        No w has a smaller P.
    relative_gap : float
        (objective - lower_bound) / objective: at most this share of P(w) could be saved.
    scale : float
        t >= 0 where P(t w) is smallest.
    scaled_objective : float
        P(t w): the comparison that is fair to models of another scale.
    auc, auc_low, auc_high : float
        AUC of w with its interval (DeLong).
    """

    objective: float
    lower_bound: float
    relative_gap: float
    scale: float
    scaled_objective: float
    auc: float
    auc_low: float
    auc_high: float


def certify(
    w: FloatArray,
    problem: Problem,
    C: float = 800.0,
    loss: str = "hinge",
    tol: float = 1e-3,
    level: float = 0.95,
    seed: int = 0,
) -> Certificate:
    """Return the certificate of w; `tol` is the relative gap of the exact solution behind the bound."""
    chosen = loss_by_name(loss)
    w = np.ascontiguousarray(w, dtype=np.float64).ravel()
    if len(w) != problem.rows.n_features:
        raise ValueError(
            f"The model must have one weight for each of the {problem.rows.n_features} columns of X; got {len(w)}."
        )
    if not np.all(np.isfinite(w)):
        raise ValueError("The weights of the model must be finite; got NaN or infinity.")
    if not (C > 0 and np.isfinite(C)):
        raise ValueError(f"C must be positive and finite; got {C!r}.")
    objective = FullObjective(problem, float(C))
    point = objective.at(w, chosen)
    best = _best_multiple(objective, point)
    bound = _dual_bound(objective, best, chosen)
    if bound < (1 - tol) * point.value:
        bound = max(bound, fit_exact(problem, float(C), loss, tol=tol, seed=seed).dual)
    bound = min(bound, point.value)
    gap = (point.value - bound) / point.value if point.value > 0 else 0.0
    y = np.concatenate([np.ones(len(point.p)), np.zeros(len(point.q))])
    area = auc_interval(y, np.concatenate([point.p, point.q]), level=level)
    return Certificate(point.value, bound, gap, _multiple(w, best.w), best.value, area.auc, area.low, area.high)


def _best_multiple(objective: FullObjective, point: Point) -> Point:
    """Return t w with the smallest P, by bisection on the slope of t -> P(t w), which is monotone."""

    def at(t: float) -> Point:
        return objective.from_scores(t * point.w, t * point.p, t * point.q, point.loss)

    def slope(t: float) -> float:
        return objective.slope(at(t), point.w, point.p, point.q)

    if dot(point.w, point.w) == 0 or slope(0.0) >= 0:
        return at(0.0)
    low, high = 0.0, 1.0
    while slope(high) < 0:
        low, high = high, 2 * high
    for _ in range(40):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if slope(middle) < 0 else (low, middle)
    candidates = (at(low), at(high))
    return min(candidates, key=lambda found: found.value)


def _dual_bound(objective: FullObjective, point: Point, loss: Loss) -> float:
    """Return the dual value of the multipliers that the point suggests, scaled at best."""
    if loss is not HINGE:
        # The gradient certificate of a function of strong convexity 1 is D(a) for a = C u v l'(z), as the algebra
        # shows.
        gradient = objective.gradient(point)
        return point.value - 0.5 * dot(gradient, gradient)
    smooth = objective.with_loss(point, smoothed_hinge(DUAL_WIDTH))
    combination = point.w - objective.gradient(smooth)
    total, square = objective.C * float(np.sum(smooth.sums.negative)), dot(combination, combination)
    scale = min(1.0, total / square) if square > 0 else 1.0
    return scale * total - 0.5 * scale * scale * square


def _multiple(w: FloatArray, scaled: FloatArray) -> float:
    square = dot(w, w)
    return dot(w, scaled) / square if square > 0 else 0.0
