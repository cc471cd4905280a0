r"""The hinge over all pairs when they are few enough to be written out.

    min_w  1/2 |w|^2 + sum_k U_k [1 - w . z_k]_+,    z_k = x_i - x_j,  U_k = C s_i s_j / (sum s+ * sum s-)

with one term for each of the N+ * N- pairs: the pool of `pairsift.pairs` with nothing left out.
"""

from __future__ import annotations

import numpy as np

from pairsift.data.problem import Problem
from pairsift.pairs import Pool
from pairsift.solvers.dual import solve_dual
from pairsift.solvers.terms import DualSolution, Terms


def solve_explicit_pairs(problem: Problem, C: float, tol: float, max_iter: int, seed: int) -> DualSolution:
    """Solve to a relative gap of `tol`, or to rounding when there are few pairs (`pairsift.solvers.dual`)."""
    terms = write_pairs(problem, C)
    return solve_dual(terms, np.zeros(len(terms)), tol=tol, max_iter=max_iter, seed=seed)


def write_pairs(problem: Problem, C: float) -> Terms:
    """Return one term for each pair."""
    i = np.repeat(np.arange(problem.n_positive), problem.n_negative)
    j = np.tile(np.arange(problem.n_negative), problem.n_positive)
    pool = Pool(problem)
    pool.add(i, j, np.ones(len(i)), round_number=0, correct_bias=False)
    upper, _ = pool.bounds(C)
    return Terms(pool.kernel, upper, norms=pool.norms)
