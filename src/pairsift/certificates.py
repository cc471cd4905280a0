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
from typing import Any

import numpy as np

from pairsift._typing import FloatArray
from pairsift.all_pairs import HINGE, Loss, loss_by_name, smoothed_hinge
from pairsift.data.problem import Problem, make_problem, split_binary_labels
from pairsift.data.rows import as_rows
from pairsift.data.store import RowStore
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


def certificate(model: Any, X: Any, y: Any = None, C: float = 800.0, loss: str = "hinge") -> Certificate:
    """Return what a linear model lost, over all pairs, against the exact RankSVM at C, and its AUC.

    Parameters
    ----------
    model : object with `coef_`, or weight vector
        Anything that scores rows by ``X @ coef_``; an intercept cancels in every pair.
    X : array, sparse matrix or RowStore
    y : array of two labels
        The larger one is positive. A `RowStore` brings its own.
    C : float
        Weight of the mean loss, as in `RankSVM`.
    loss : "hinge" or "squared_hinge"
    """
    if isinstance(X, RowStore):
        problem = X.problem()
    elif y is None:
        raise ValueError("y is required: one label for each row of X (only a RowStore brings its own).")
    else:
        rows, (_, is_positive) = as_rows(X), split_binary_labels(y)
        if len(is_positive) != rows.n_rows:
            raise ValueError(f"X and y must have one length; got {rows.n_rows} rows and {len(is_positive)} labels.")
        problem = make_problem(rows, is_positive)
    return certify(_weights_of(model), problem, C, loss)


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


def _weights_of(model: Any) -> FloatArray:
    coefficients = getattr(model, "coef_", model)
    if hasattr(coefficients, "toarray"):
        coefficients = coefficients.toarray()
    try:
        w = np.asarray(coefficients, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"The model must have coef_ or be a vector of weights; got {type(model).__name__}. "
            "Fit it first; of a pipeline, give the last step."
        ) from error
    if w.ndim not in (1, 2) or (w.ndim == 2 and w.shape[0] != 1):
        raise ValueError(f"The model must have one vector of weights; got an array of shape {w.shape}.")
    return w.ravel()


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
