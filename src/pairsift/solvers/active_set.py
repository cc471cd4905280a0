"""The last digits of a dual solution: w from the terms whose margin is 1.

At the optimum the terms fall into three sets: a = 0 with margins of at least 1, a = U with margins of at most 1, and
the rest, the free ones F, with margins of 1. Once the sets are known, ``Z_F w = 1`` gives the part of w in the span of
the free terms, ``w = Z^T a`` with the bounds of the others gives the rest of w, and the two together give a_F. The
rows of Z_F are orthogonalised for that, which keeps the digits where normal equations would square the condition
of badly scaled features.
"""

from __future__ import annotations

import numpy as np

from pairsift._typing import BoolArray, FloatArray, IntArray
from pairsift.solvers.terms import DualSolution, Terms

_MAX_FREE = 1000
_ROUNDS = 4
_CHANGES = 12
_DEPENDENT = 1e-12
_EPS = float(np.finfo(np.float64).eps)


def settle(terms: Terms, found: DualSolution, free: BoolArray, target: float) -> DualSolution:
    """Move w and the free dual variables to margins of 1; where that shows the sets to be wrong, change them.

    Returns the solution with the lowest gap that was met, `found` included. Stops at a relative gap of `target`.
    """
    best = at = found
    for _ in range(_CHANGES):
        if not 0 < np.count_nonzero(free) <= _MAX_FREE:
            break
        at = _settle_once(terms, at, np.flatnonzero(free))
        best = min(best, at, key=lambda solution: solution.gap)
        if best.relative_gap <= target:
            break
        inside = free & (at.alpha > 0) & (at.alpha < terms.upper)
        if np.array_equal(inside, free):  # else w is not that of the clipped a, and its margins say nothing
            gradient = terms.margins(at.w, at.theta) - 1
            wrong = ((at.alpha <= 0) & (gradient < -_EPS)) | ((at.alpha >= terms.upper) & (gradient > _EPS))
            if not np.any(wrong):
                break
            inside |= wrong
        free = inside
    return best


def _settle_once(terms: Terms, found: DualSolution, free: IntArray) -> DualSolution:
    Z = _dense(terms, free)
    basis, triangle, kept = _orthogonal_rows(Z)
    free, Z = free[kept], Z[kept]
    best = None
    at = found
    for _ in range(_ROUNDS):
        w, a = _extended(terms, at), at.alpha.copy()
        beyond = w - _combined(terms, a)
        w -= beyond - _within(basis, beyond)
        # A hair above 1, so that rounding does not make a loss out of a margin of 1.
        margin = 1 + 4 * _EPS * float(np.max(np.einsum("kc,c->k", np.abs(Z), np.abs(w)), initial=0.0))
        w += np.einsum("k,kc->c", _forward(triangle, margin - np.einsum("kc,c->k", Z, w)), basis)
        missing = np.einsum("kc,c->k", basis, w - _combined(terms, a))
        a[free] = np.clip(a[free] + _backward(triangle, missing), 0, terms.upper[free])
        d = terms.kernel.n_columns
        at = terms.certify(w[:d].copy(), float(w[d:].sum()), a)
        if best is not None and not at.gap < best.gap:
            break
        best = at
    assert best is not None
    return best


def _extended(terms: Terms, at: DualSolution) -> FloatArray:
    return at.w.copy() if terms.constants is None else np.append(at.w, at.theta)


def _combined(terms: Terms, a: FloatArray) -> FloatArray:
    w, theta = terms.combine(a)
    return w if terms.constants is None else np.append(w, theta)


def _within(basis: FloatArray, v: FloatArray) -> FloatArray:
    """The part of v in the span of the basis."""
    part: FloatArray = np.einsum("k,kc->c", np.einsum("kc,c->k", basis, v), basis)
    return part


def _dense(terms: Terms, rows: IntArray) -> FloatArray:
    """The given z_k, constant column included."""
    unit, out = np.zeros(len(terms)), []
    for k in rows:
        unit[k] = 1
        w, theta = terms.combine(unit)
        out.append(w if terms.constants is None else np.append(w, theta))
        unit[k] = 0
    return np.array(out)


def _orthogonal_rows(Z: FloatArray) -> tuple[FloatArray, FloatArray, list[int]]:
    """Return orthonormal rows Q and a lower triangle L with ``Z[kept] = L Q``; dependent rows are not kept.

    Gram and Schmidt, twice, by einsum: its order of summation does not depend on the number of threads.
    """
    basis, triangle, kept = np.empty((0, Z.shape[1])), np.zeros((len(Z), len(Z))), list[int]()
    for k, row in enumerate(Z):
        v, line = row.copy(), np.zeros(len(basis))
        for _ in range(2):
            along = np.einsum("kc,c->k", basis, v)
            v -= np.einsum("k,kc->c", along, basis)
            line += along
        length = float(np.sqrt(np.sum(v**2)))
        if length > _DEPENDENT * float(np.sqrt(np.sum(row**2))):
            n = len(kept)
            triangle[n, :n], triangle[n, n] = line, length
            basis = np.vstack([basis, v / length])
            kept.append(k)
    return basis, triangle[: len(kept), : len(kept)], kept


def _forward(triangle: FloatArray, r: FloatArray) -> FloatArray:
    """Solve L u = r."""
    u = np.zeros(len(r))
    for k in range(len(r)):
        u[k] = (r[k] - np.sum(triangle[k, :k] * u[:k])) / triangle[k, k]
    return u


def _backward(triangle: FloatArray, r: FloatArray) -> FloatArray:
    """Solve L^T u = r."""
    u = np.zeros(len(r))
    for k in range(len(r) - 1, -1, -1):
        u[k] = (r[k] - np.sum(triangle[k + 1 :, k] * u[k + 1 :])) / triangle[k, k]
    return u
