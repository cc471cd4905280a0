r"""Losses summed over all N+ * N- pairs, with derivatives, in O(N log N).

The mean loss over all pairs of a positive i and a negative j is, in terms of their scores p_i and q_j,

.. math:: L = \sum_{ij} u_i v_j\, \phi(z_{ij}), \qquad z_{ij} = 1 - (p_i - q_j),

with u_i = s_i / (sum of s over positives), v_j likewise, so that a pair weighs s_i s_j / (mean s+ * mean s-) in a mean
over pairs, and without sample weights L is the plain mean. phi is one of

- hinge: max(0, z);
- squared hinge: max(0, z)^2;
- smoothed hinge of width e: z^2 / (2 e) for 0 < z <= e, z - e / 2 beyond. At most e / 2 below the hinge; its
  derivative, clip(z / e, 0, 1), is a feasible point of the hinge's dual problem (`PairSums.slack`: how far from tight).

Conventions
-----------
``AllPairs(p, q, s_positive, s_negative)`` sorts once; its methods are then O(N). Derivatives are with respect to the
scores, in the caller's order: for scores p = X+ w, q = X- w the gradient in w is X+^T dp + X-^T dq. At a kink the
derivative from the right (of the margin) is taken: a pair with z = 0 has no slope and no curvature. Nothing here holds
more than O(N) numbers, and N+ * N- appears only as a product of float sums, so any N is safe.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from pairsift import _core
from pairsift._typing import FloatArray, IntArray


@dataclass(frozen=True)
class Loss:
    """A loss of the shortfall z: its name and the width of its quadratic part (0: none, infinity: all of it)."""

    name: str
    width: float


HINGE = Loss("hinge", 0.0)
SQUARED_HINGE = Loss("squared_hinge", math.inf)


def smoothed_hinge(width: float) -> Loss:
    """Return the hinge whose kink is replaced by a parabola over 0 <= z <= `width`."""
    if not 0 < width < math.inf:
        raise ValueError(f"The width of a smoothed hinge must be positive and finite; got {width!r}.")
    return Loss("smoothed_hinge", float(width))


def loss_by_name(name: str) -> Loss:
    """Return `HINGE` or `SQUARED_HINGE`."""
    for loss in (HINGE, SQUARED_HINGE):
        if loss.name == name:
            return loss
    raise ValueError(f'loss must be "hinge" or "squared_hinge"; got {name!r}.')


@dataclass(frozen=True)
class PairSums:
    """Mean loss over all pairs and its derivatives.

    Attributes
    ----------
    value : float
        L.
    hinge : float
        The mean hinge at the same scores, whatever the loss.
    slack : float
        Mean of ``max(0, z) - phi'(z) z``, zero for the hinge: with a_ij = C u_i v_j phi'(z_ij) as the dual point of
        ``1/2 |w|^2 + C * (mean hinge)``, the duality gap at w is exactly
        ``1/2 |w - sum a_ij (x_i - x_j)|^2 + C * slack``.
    positive, negative : arrays
        dL/dp and dL/dq.
    positive_curvature, negative_curvature : arrays
        The diagonal of the second derivative of L.
    """

    value: float
    hinge: float
    slack: float
    positive: FloatArray
    negative: FloatArray
    positive_curvature: FloatArray
    negative_curvature: FloatArray


class AllPairs:
    """All pairs of a positive and a negative score, sorted.

    Parameters
    ----------
    p, q : float64 arrays
        Finite scores of the positives and of the negatives; at least one of each.
    s_positive, s_negative : float64 arrays, optional
        Sample weights, each above zero.
    """

    def __init__(
        self,
        p: FloatArray,
        q: FloatArray,
        s_positive: FloatArray | None = None,
        s_negative: FloatArray | None = None,
    ) -> None:
        if len(p) == 0 or len(q) == 0:
            raise ValueError(f"Scores of both classes are required; got {len(p)} positive and {len(q)} negative ones.")
        self.order_p, self.order_q = argsort(p), argsort(q)
        self.s_positive, self.s_negative = s_positive, s_negative
        # Margins are differences of scores: around a common centre they keep their digits when 1 is added.
        sorted_p = p[self.order_p]
        centre = float(sorted_p[len(p) // 2])
        self.p = sorted_p - centre
        self.b = (q[self.order_q] - centre) + 1.0
        total_p = float(len(p)) if s_positive is None else math.fsum(s_positive)
        total_q = float(len(q)) if s_negative is None else math.fsum(s_negative)
        self._per_positive, self._per_negative = 1 / total_p, 1 / total_q

    def sums(self, loss: Loss) -> PairSums:
        """Return the mean loss and its derivatives with respect to the scores."""
        slope_p, curvature_p = np.empty(len(self.p)), np.empty(len(self.p))
        slope_q, curvature_q = np.empty(len(self.b)), np.empty(len(self.b))
        totals = _core.sum_pairs(*self.sorted_scores(), loss.width, slope_p, slope_q, curvature_p, curvature_q)
        for array in (slope_p, slope_q, curvature_p, curvature_q):
            self._normalise(array)
        value, hinge, slack = (total * self._per_positive * self._per_negative for total in totals)
        return PairSums(value, hinge, slack, slope_p, slope_q, curvature_p, curvature_q)

    def curvature_product(self, loss: Loss, dp: FloatArray, dq: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the second derivative of L times (dp, dq): symmetric, positive semidefinite, zero on constants.

        Where phi is not twice differentiable (the ends of its quadratic part) this is one element of the generalised
        Hessian.
        """
        hp, hq = np.empty(len(self.p)), np.empty(len(self.b))
        _core.curvature_product(*self.sorted_scores(), loss.width, dp, dq, hp, hq)
        return self._normalise(hp), self._normalise(hq)

    @property
    def scale(self) -> float:
        """1 / (sum of s over positives * sum of s over negatives): what makes a sum over pairs the mean."""
        return self._per_positive * self._per_negative

    def sorted_scores(
        self,
    ) -> tuple[FloatArray, IntArray, FloatArray | None, FloatArray, IntArray, FloatArray | None]:
        """Return what kernels take: positives (centred, ascending), order and weights; 1 + negatives likewise."""
        return self.p, self.order_p, self.s_positive, self.b, self.order_q, self.s_negative

    def _normalise(self, array: FloatArray) -> FloatArray:
        array *= self._per_positive
        array *= self._per_negative
        return array


def argsort(scores: FloatArray) -> IntArray:
    """Return the order that sorts finite scores ascending, equal ones by place."""
    order = np.empty(len(scores), dtype=np.int64)
    _core.argsort(scores, order)
    return order
