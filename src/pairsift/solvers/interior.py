"""A primal-dual interior-point method for the dual of a linear SVM with weighted terms.

The problem, in the letters of `pairsift.solvers.terms`, is ``min 1/2 |Z^T a|^2 - sum a`` over ``0 <= a <= U``. With
multipliers z >= 0 for ``a >= 0`` and y >= 0 for ``t = U - a >= 0``, its optimality conditions are

    Z Z^T a - 1 - z + y = 0,    a z = 0,    t y = 0.

Each step solves ``(Z Z^T + D) da = r`` with the diagonal D = z / a + y / t. When there are fewer columns than terms
this is done in the space of w, by ``(I + Z^T D^-1 Z) dw = Z^T D^-1 r`` and ``da = D^-1 (r - Z dw)``; otherwise in the
space of the terms. Steps follow Mehrotra's predictor and corrector. The count of steps, 10 to 40, does not depend on
how features are scaled, which is why this method takes over where coordinate descent crawls.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pairsift import _core
from pairsift._typing import BoolArray, FloatArray
from pairsift.solvers.terms import Terms

_MAX_SIDE = 2000
_MAX_WORK = 5e9
_MAX_STEPS = 100
_TO_BOUNDARY = 0.995

Solver = Callable[[FloatArray], FloatArray]


def can_use_interior(terms: Terms) -> bool:
    """Whether the matrix of a step is small enough to be factorised, and cheap enough to be formed."""
    side = min(terms.kernel.n_columns + 1, len(terms))
    return side <= _MAX_SIDE and len(terms) * float(side) ** 2 <= _MAX_WORK


def interior_point(terms: Terms) -> FloatArray:
    """Return dual variables near the optimum, inside their box; the caller asks for the certificate."""
    full = np.zeros(len(terms))
    used = terms.upper > 0
    if np.any(used):
        full[used] = _solve(_System(terms, used))
    return full


class _System:
    """The terms with U > 0, and the linear systems of a step over them."""

    def __init__(self, terms: Terms, used: BoolArray) -> None:
        self.terms, self.used, self.upper = terms, used, terms.upper[used]
        self._row_gram: FloatArray | None = None
        if terms.kernel.n_columns > len(terms):
            self._row_gram = _row_gram(terms)[np.ix_(used, used)]

    def quadratic(self, a: FloatArray) -> FloatArray:
        """Return Z Z^T a."""
        return self.terms.margins(*self.terms.combine(self._spread(a)))[self.used]

    def factor(self, diagonal: FloatArray) -> Solver | None:
        """Return the function that solves (Z Z^T + D) x = r, or None when rounding spoils the factor."""
        if self._row_gram is None:
            return self._factor_w(diagonal)
        matrix = self._row_gram.copy()
        matrix[np.diag_indices_from(matrix)] += diagonal
        return _factor(matrix)

    def _factor_w(self, diagonal: FloatArray) -> Solver | None:
        inverse = 1 / diagonal
        matrix = _column_gram(self.terms, self._spread(inverse))
        matrix[np.diag_indices_from(matrix)] += 1
        inner = _factor(matrix)
        if inner is None:
            return None
        d = self.terms.kernel.n_columns

        def solve(r: FloatArray) -> FloatArray:
            w, theta = self.terms.combine(self._spread(inverse * r))
            step = inner(w if self.terms.constants is None else np.append(w, theta))
            return inverse * (r - self.terms.margins(step[:d].copy(), float(step[d:].sum()))[self.used])

        return solve

    def _spread(self, a: FloatArray) -> FloatArray:
        full = np.zeros(len(self.terms))
        full[self.used] = a
        return full


@dataclass
class _Iterate:
    """a and t = U - a with their multipliers z and y, and the gradient Z Z^T a - 1."""

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
        """Return the duality gap of a, which holds whatever the multipliers are."""
        return float(np.sum((self.a + self.t) * np.maximum(-self.gradient, 0) + self.a * self.gradient))

    def room(self, da: FloatArray, dz: FloatArray, dy: FloatArray) -> float:
        """Return the longest step in (0, 1] that keeps all four positive."""
        return min(_reach(self.a, da), _reach(self.t, -da), _reach(self.z, dz), _reach(self.y, dy))


def _solve(system: _System) -> FloatArray:
    a = system.upper / 2
    gradient = system.quadratic(a) - 1
    slack = 1e-2 * max(1.0, float(np.mean(np.abs(gradient))))
    at = _Iterate(a, system.upper - a, np.maximum(gradient, 0) + slack, np.maximum(-gradient, 0) + slack, gradient)
    best = at
    for _ in range(_MAX_STEPS):
        moved = _mehrotra_step(system, at)
        if moved is None:
            break
        at = moved
        if at.gap < best.gap:
            best = at
        elif best.gap < 1e-8 * float(np.sum(best.a)):  # only rounding makes it worse so near the end
            break
    return _to_nearest_bound(best)


def _to_nearest_bound(at: _Iterate) -> FloatArray:
    """Put a variable onto its bound where its multiplier says that it belongs there."""
    a, upper = at.a.copy(), at.a + at.t
    a[(at.a < 1e-12 * upper) & (at.z > 1e-6)] = 0
    high = (at.t < 1e-12 * upper) & (at.y > 1e-6)
    a[high] = upper[high]
    return a


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
    return _Iterate(a, t, at.z + length * dz, at.y + length * dy, system.quadratic(a) - 1)


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
