r"""The sums of `pairsift.all_pairs` in plain NumPy: what the kernel is compared with, and the shortest way to read it.

For a positive with score p the negatives with b_j = 1 + q_j > p lose something. In the order of b they are one range:
first those inside the quadratic part (p < b <= p + width), then those past it, so that each sum is a difference of two
prefix sums. The kernel (``cpp/all_pairs.hpp``) sweeps instead, because these differences cancel when scores are far
apart.
"""

from __future__ import annotations

import math

import numpy as np

from pairsift._typing import FloatArray, IntArray
from pairsift.all_pairs import Loss


def mean_loss(
    p: FloatArray, q: FloatArray, u: FloatArray, v: FloatArray, loss: Loss
) -> tuple[float, FloatArray, FloatArray]:
    """Return L, dL/dp and dL/dq for weights u and v that each add up to 1."""
    width = loss.width
    by_p, by_q = np.argsort(p), np.argsort(q)
    sorted_p, b = p[by_p], 1 + q[by_q]
    begin, end = np.searchsorted(b, sorted_p, side="right"), np.searchsorted(b - width, sorted_p, side="right")
    v0, v1, v2 = (_prefix_sums(v[by_q] * b**k) for k in range(3))
    n = np.full(len(p), len(q))
    inside0, past0 = _range(v0, begin, end), _range(v0, end, n)
    inside1, past1 = _range(v1, begin, end) - sorted_p * inside0, _range(v1, end, n) - sorted_p * past0
    inside2 = _range(v2, begin, end) - 2 * sorted_p * _range(v1, begin, end) + sorted_p**2 * inside0
    value = _value(width, inside2, past0, past1)
    slope_p = np.empty(len(p))
    slope_p[by_p] = -u[by_p] * _slope(width, inside1, past0)

    first, last = np.searchsorted(sorted_p, b - width, side="left"), np.searchsorted(sorted_p, b, side="left")
    u0, u1 = (_prefix_sums(u[by_p] * sorted_p**k) for k in range(2))
    inside0, past0 = _range(u0, first, last), _range(u0, np.zeros_like(first), first)
    slope_q = np.empty(len(q))
    slope_q[by_q] = v[by_q] * _slope(width, b * inside0 - _range(u1, first, last), past0)
    return float(np.sum(u[by_p] * value)), slope_p, slope_q


def _value(width: float, inside2: FloatArray, past0: FloatArray, past1: FloatArray) -> FloatArray:
    if math.isinf(width):
        return inside2
    return past1 - 0.5 * width * past0 + (inside2 / (2 * width) if width > 0 else 0.0)


def _slope(width: float, inside1: FloatArray, past0: FloatArray) -> FloatArray:
    if math.isinf(width):
        return 2 * inside1
    return past0 + (inside1 / width if width > 0 else 0.0)


def _prefix_sums(values: FloatArray) -> FloatArray:
    return np.concatenate([[0.0], np.cumsum(values)])


def _range(prefix: FloatArray, start: IntArray, stop: IntArray) -> FloatArray:
    difference: FloatArray = prefix[stop] - prefix[start]
    return difference
