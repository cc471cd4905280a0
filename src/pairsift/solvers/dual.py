"""``linearSVM`` of Algorithm 1: dual coordinate descent, and an interior-point method where that does not get there.

Coordinate descent is fast when features have similar scales and a gap of 1e-3 is enough. Two cases are not like
that: problems of fewer than `SMALL_PROBLEM` terms, which are solved to `SMALL_GAP` whatever `tol` says (two ways of
writing one problem, by weights or by repeated rows, must give one answer), and features of very different scales,
where descent crawls.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pairsift._typing import FloatArray
from pairsift.solvers.interior import can_use_interior, interior_point
from pairsift.solvers.terms import DualSolution, Terms

SMALL_PROBLEM = 2000
SMALL_GAP = 1e-12
# Where most terms are put aside a pass takes so little that hundreds cost less than the interior method (8000 terms of
# 10 columns: 500 passes 1 ms, the interior method 25 ms).
_LEAST_PASSES = 500
_PASSES_PER_COLUMN = 5  # the interior method costs as much as about that many passes for each column
_POLISH_PASSES = 200


def solve_dual(terms: Terms, alpha: FloatArray, *, tol: float, max_iter: int, seed: int) -> DualSolution:
    """Solve to a relative gap of `tol`, or of `SMALL_GAP` when there are fewer than `SMALL_PROBLEM` terms.

    Parameters
    ----------
    terms : Terms
    alpha : float64 array
        Warm start; clipped to the box.
    tol : float
        Relative gap (primal - dual) / primal at which to stop.
    max_iter : int
        Passes of coordinate descent at most.
    seed : int
        Seed of the order in which a pass visits the terms.

    Returns
    -------
    DualSolution
        ``converged`` says whether `tol` was reached.
    """
    target = min(tol, SMALL_GAP) if len(terms) < SMALL_PROBLEM else tol
    interior = can_use_interior(terms)
    patience = max(_LEAST_PASSES, _PASSES_PER_COLUMN * min(terms.kernel.n_columns, len(terms)))
    passes = min(max_iter, patience) if interior else max_iter
    best = descend(terms, alpha, tol=target, max_passes=passes, seed=seed)
    if interior and not best.converged:
        inner = replace(interior_point(terms, target), n_passes=best.n_passes)
        best = min(best, inner, key=lambda found: found.gap)
        if best.relative_gap > target:
            polished = descend(terms, best.alpha, tol=target, max_passes=_POLISH_PASSES, seed=seed)
            best = min(best, polished, key=lambda found: found.gap)
    # Rounding may forbid the tighter target of a small problem; what was asked for is `tol`.
    return replace(best, converged=best.converged or best.relative_gap <= tol)


def descend(terms: Terms, alpha: FloatArray, *, tol: float, max_passes: int, seed: int) -> DualSolution:
    """Run at most `max_passes` passes of dual coordinate descent from `alpha` (``cpp/dual_descent.hpp``)."""
    return _run(terms, alpha, np.zeros(terms.kernel.n_columns), 0.0, tol, max_passes, seed, None)


def steer(
    terms: Terms,
    alpha: FloatArray,
    start: tuple[FloatArray, float, float],
    *,
    tol: float,
    max_passes: int,
    seed: int,
    known: int = 0,
    turn: int = 0,
) -> DualSolution:
    """Run a few passes from `alpha` and its (w, theta); the primal value and the gap that come back are estimates.

    The estimates are made of the margins that were met during the last pass, each at the w of its moment. Of the
    `known` first terms a pass visits those whose turn it is: of thousands, a twentieth of those at a bound and a fifth
    of the others. Twenty turns in a row visit all.

    Parameters
    ----------
    start : tuple of array, float and float
        w, theta and the squared length of both together. The array w is used up: it is the solution's.
    """
    w, theta, squared_length = start
    return _run(terms, alpha, w, theta, tol, max_passes, seed, (known, turn, squared_length))


def _run(
    terms: Terms,
    alpha: FloatArray,
    w: FloatArray,
    theta: float,
    tol: float,
    max_passes: int,
    seed: int,
    steering: tuple[int, int, float] | None,
) -> DualSolution:
    alpha, thetas = alpha.copy(), np.array([theta])
    norms = terms.squared_norms()
    primal, gap, passes, converged = terms.kernel.dual_descent(
        terms.signs, terms.constants, terms.upper, norms, alpha, w, thetas, tol, max_passes, seed, steering
    )
    return DualSolution(w, float(thetas[0]), alpha, primal, gap, passes, converged)
