"""A primal-dual interior-point method for the dual of a linear SVM with weighted terms.

The problem, in the letters of `pairsift.solvers.terms`, is ``min 1/2 |Z^T a|^2 - sum a`` over ``0 <= a <= U``. With
multipliers z >= 0 for ``a >= 0`` and y >= 0 for ``t = U - a >= 0``, its optimality conditions are

    Z Z^T a - 1 - z + y = 0,    a z = 0,    t y = 0.

Each step solves ``(Z Z^T + D) da = r`` with the diagonal D = z / a + y / t. When there are fewer columns than terms
this is done in the space of w, by ``(I + Z^T D^-1 Z) dw = Z^T D^-1 r`` and ``da = D^-1 (r - Z dw)``; otherwise in the
space of the terms. Steps follow Mehrotra's predictor and corrector. The count of steps, 10 to 40, does not depend on
how features are scaled, which is why this method takes over where coordinate descent crawls.

w is carried along, ``w += Z^T da``, and never summed anew from a. Where features are large, a in double precision
cannot say what w is: w = Z^T a is then a small difference of large numbers, and margins of terms that should be 1
would be off by |z|^2 U times the rounding. Carried along, w gets as exact as the steps get short. What it
differs from Z^T a is part of the certificate (`pairsift.solvers.terms`), as ``1/2 |w - Z^T a|^2``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pairsift import _core
from pairsift._typing import BoolArray, FloatArray
from pairsift.solvers.active_set import settle
from pairsift.solvers.terms import DualSolution, Terms

_MAX_SIDE = 2000
_MAX_WORK = 8e9  # all problems of fewer than 2,000 terms are within it
_MAX_STEPS = 100
_TO_BOUNDARY = 0.995
_PATIENCE = 3  # steps in a row that do not lower the gap

Solver = Callable[[FloatArray], FloatArray]


def can_use_interior(terms: Terms) -> bool:
    """Whether the matrix of a step is small enough to be factorised, and cheap enough to be formed."""
    side = min(terms.kernel.n_columns + 1, len(terms))
    return side <= _MAX_SIDE and len(terms) * float(side) ** 2 <= _MAX_WORK


def interior_point(terms: Terms, target: float = 0.0) -> DualSolution:
    """Return a solution near the optimum, with its certificate; beyond a relative gap of `target` no more is done."""
    used = terms.upper > 0
    if not np.any(used):
        return terms.certify(np.zeros(terms.kernel.n_columns), 0.0, np.zeros(len(terms)))
    return _solve(_System(terms, used), target)


class _System:
    """The terms with U > 0, and the linear systems of a step over them."""

    def __init__(self, terms: Terms, used: BoolArray) -> None:
        self.terms, self.used, self.upper = terms, used, terms.upper[used]
        self._row_gram: FloatArray | None = None
        if terms.kernel.n_columns > len(terms):
            self._row_gram = _row_gram(terms)[np.ix_(used, used)]

    def combine(self, a: FloatArray) -> tuple[FloatArray, float]:
        """Return Z^T a."""
        return self.terms.combine(self.spread(a))

    def gradient(self, w: FloatArray, theta: float) -> FloatArray:
        """Return Z w - 1."""
        return self.terms.margins(w, theta)[self.used] - 1

    def quadratic(self, a: FloatArray) -> FloatArray:
        """Return Z Z^T a."""
        return self.terms.margins(*self.combine(a))[self.used]

    def certify(self, at: _Iterate, a: FloatArray) -> DualSolution:
        """Return the solution (w, a), with a put into its box."""
        return self.terms.certify(at.w, at.theta, self.spread(np.clip(a, 0, self.upper)))

    def factor(self, diagonal: FloatArray) -> Solver | None:
        """Return the function that solves (Z Z^T + D) x = r, or None when rounding spoils the factor."""
        if self._row_gram is None:
            return self._factor_w(diagonal)
        matrix = self._row_gram.copy()
        matrix[np.diag_indices_from(matrix)] += diagonal
        return _factor(matrix)

    def _factor_w(self, diagonal: FloatArray) -> Solver | None:
        inverse = 1 / diagonal
        matrix = _column_gram(self.terms, self.spread(inverse))
        matrix[np.diag_indices_from(matrix)] += 1
        inner = _factor(matrix)
        if inner is None:
            return None
        d = self.terms.kernel.n_columns

        def solve(r: FloatArray) -> FloatArray:
            w, theta = self.combine(inverse * r)
            step = inner(w if self.terms.constants is None else np.append(w, theta))
            return inverse * (r - self.terms.margins(step[:d].copy(), float(step[d:].sum()))[self.used])

        return solve

    def spread(self, a: FloatArray) -> FloatArray:
        """Return a over all terms, 0 for those that are not used."""
        full = np.zeros(len(self.terms))
        full[self.used] = a
        return full


@dataclass
class _Iterate:
    """w, a and t = U - a with their multipliers z and y, and the gradient Z w - 1."""

    w: FloatArray
    theta: float
    a: FloatArray
    t: FloatArray
    z: FloatArray
    y: FloatArray
    gradient: FloatArray

    @property
    def complementarity(self) -> float:
        return float(np.sum(self.a * self.z) + np.sum(self.t * self.y))

    @property
    def gap(self) -> float:
        """Return the duality gap of (w, a), which holds whatever the multipliers are, as far as w = Z^T a."""
        return float(np.sum((self.a + self.t) * np.maximum(-self.gradient, 0) + self.a * self.gradient))

    def room(self, da: FloatArray, dz: FloatArray, dy: FloatArray) -> float:
        """Return the longest step in (0, 1] that keeps all four positive."""
        return min(_reach(self.a, da), _reach(self.t, -da), _reach(self.z, dz), _reach(self.y, dy))


def _solve(system: _System, target: float) -> DualSolution:
    a = system.upper / 2
    w, theta = system.combine(a)
    gradient = system.gradient(w, theta)
    slack = 1e-2 * max(1.0, float(np.mean(np.abs(gradient))))
    z, y = np.maximum(gradient, 0) + slack, np.maximum(-gradient, 0) + slack
    at = best = _Iterate(w, theta, a, system.upper - a, z, y, gradient)
    worse = 0
    for _ in range(_MAX_STEPS):
        moved = _mehrotra_step(system, at)
        if moved is None or worse > _PATIENCE:
            break
        at = moved
        worse = 0 if at.gap < best.gap else worse + 1
        if not worse:
            best = at
    return _finish(system, best, target)


def _finish(system: _System, at: _Iterate, target: float) -> DualSolution:
    """Put variables onto their bounds whose multipliers say that they belong there; the rest have margins of 1."""
    low, high = at.a < at.z * system.upper, at.t < at.y * system.upper
    snapped = system.certify(at, np.where(low, 0.0, np.where(high, system.upper, at.a)))
    settled = settle(system.terms, snapped, system.spread((~low & ~high).astype(np.float64)) > 0, target)
    return min(system.certify(at, at.a), settled, key=lambda found: found.gap)


def _mehrotra_step(system: _System, at: _Iterate) -> _Iterate | None:
    diagonal = at.z / at.a + at.y / at.t
    solve = system.factor(diagonal)
    if solve is None:
        return None
    residual = at.gradient - at.z + at.y

    def direction(az: FloatArray | float, ty: FloatArray | float) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Solve for the step towards a z = az and t y = ty."""
        right = -residual + (az - at.a * at.z) / at.a - (ty - at.t * at.y) / at.t
        da = solve(right)
        da += solve(right - system.quadratic(da) - diagonal * da)  # one refinement: D spans many orders near the end
        return da, (az - at.a * at.z - at.z * da) / at.a, (ty - at.t * at.y + at.y * da) / at.t

    da, dz, dy = direction(0.0, 0.0)
    length = at.room(da, dz, dy)
    predicted = np.sum((at.a + length * da) * (at.z + length * dz)) + np.sum(
        (at.t - length * da) * (at.y + length * dy)
    )
    now = at.complementarity
    centre = float(predicted / now) ** 3 * now / (2 * len(da))
    da, dz, dy = direction(centre - da * dz, centre + da * dy)
    length = _TO_BOUNDARY * at.room(da, dz, dy)
    a, t = at.a + length * da, at.t - length * da
    if not np.isfinite(length) or length < 1e-10 or np.any(a <= 0) or np.any(t <= 0):
        return None
    dw, dtheta = system.combine(length * da)
    w, theta = at.w + dw, at.theta + dtheta
    return _Iterate(w, theta, a, t, at.z + length * dz, at.y + length * dy, system.gradient(w, theta))


def _reach(value: FloatArray, change: FloatArray) -> float:
    falling = change < 0
    return min(1.0, float(np.min(-value[falling] / change[falling], initial=np.inf)))


def _factor(matrix: FloatArray) -> Solver | None:
    if not _core.cholesky(matrix):
        return None

    def solve(r: FloatArray) -> FloatArray:
        x = r.copy()
        _core.cholesky_solve(matrix, x)
        return x

    return solve


def _column_gram(terms: Terms, weights: FloatArray) -> FloatArray:
    """Z^T diag(weights) Z, lower triangle, with the constant column last where there is one."""
    d = terms.kernel.n_columns
    gram = np.zeros((d, d))
    terms.kernel.add_weighted_gram(weights, gram)
    if terms.constants is None:
        return gram
    bordered = np.zeros((d + 1, d + 1))
    bordered[:d, :d] = gram
    bordered[d, :d], bordered[d, d] = terms.combine(weights * terms.constants)
    return bordered


def _row_gram(terms: Terms) -> FloatArray:
    """Z Z^T, one row after the other."""
    gram, unit = np.empty((len(terms), len(terms))), np.zeros(len(terms))
    for k in range(len(terms)):
        unit[k] = 1
        gram[k] = terms.margins(*terms.combine(unit))
        unit[k] = 0
    return gram
