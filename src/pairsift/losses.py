r"""Losses of single rows: the mean of the two class means, with derivatives.

A positive with score p has the margin p, a negative with score q the margin -q (scores are taken around the threshold).
The loss of a margin m is

- squared hinge: max(0, 1 - m)^2;
- logistic: log(1 + exp(-m)).

.. math:: L = \tfrac12 \sum_i u_i\, \ell(p_i) + \tfrac12 \sum_j v_j\, \ell(-q_j),

with u_i = s_i / (sum of s over positives) and v_j likewise, so that both classes weigh the same, as in
the paper's WSVM.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pairsift._typing import FloatArray

HINGE = "hinge"
SQUARED = "squared_hinge"
LOGISTIC = "logistic"


@dataclass(frozen=True)
class PointSums:
    """The mean loss of points; its derivatives by each score, first and second, by place."""

    value: float
    positive: FloatArray
    negative: FloatArray
    positive_curvature: FloatArray
    negative_curvature: FloatArray


def sum_points(p: FloatArray, q: FloatArray, u: FloatArray | float, v: FloatArray | float, loss: str) -> PointSums:
    """Return the mean loss of positives with scores p and weights u, negatives with scores q and weights v.

    The weights of a class add up to one; a number stands for equal ones.
    """
    losses = _logistic if loss == LOGISTIC else _squared_hinge
    value_p, slope_p, curvature_p = losses(p)
    value_q, slope_q, curvature_q = losses(-q)
    value = 0.5 * (float(np.sum(u * value_p)) + float(np.sum(v * value_q)))
    u, v = 0.5 * u, 0.5 * v
    return PointSums(value, u * slope_p, -v * slope_q, u * curvature_p, v * curvature_q)


def _logistic(m: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    e = np.exp(-np.abs(m))  # never overflows
    value: FloatArray = np.log1p(e) + np.maximum(-m, 0.0)
    wrong: FloatArray = np.where(m >= 0, e, 1.0) / (1.0 + e)  # the probability of the other class
    return value, -wrong, wrong * (1.0 - wrong)


def _squared_hinge(m: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    shortfall: FloatArray = np.maximum(1.0 - m, 0.0)
    curvature: FloatArray = np.where(shortfall > 0, 2.0, 0.0)
    return shortfall * shortfall, -2.0 * shortfall, curvature
