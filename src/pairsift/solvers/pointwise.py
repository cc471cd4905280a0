"""The weighted point-wise SVM (WSVM): every row is a term of its own, and both classes weigh the same.

    min_w  1/2 |w|^2 + C+ sum_i [1 - w . x_i]_+ + C- sum_j [1 + w . x_j]_+,    C+ = C / (2 N+),  C- = C / (2 N-)

With sample weights s, row i of the positives has the bound C s_i / (2 sum of s over positives), and likewise the
negatives.
"""

from __future__ import annotations

import numpy as np

from pairsift._typing import FloatArray
from pairsift.data.problem import Problem
from pairsift.data.rows import MemoryRows
from pairsift.solvers.dual import solve_dual
from pairsift.solvers.terms import DualSolution, Terms


def fit_pointwise(problem: Problem, C: float, *, threshold: bool, tol: float, max_iter: int, seed: int) -> DualSolution:
    """Solve the weighted SVM to a relative duality gap of `tol`; rows that are not in memory are read into it."""
    terms = pointwise_terms(problem, C, threshold=threshold)
    return solve_dual(terms, np.zeros(len(terms)), tol=tol, max_iter=max_iter, seed=seed)


def pointwise_terms(problem: Problem, C: float, *, threshold: bool) -> Terms:
    """Return every row as a term with its bound; rows that do not take part have the bound zero."""
    rows = problem.rows
    if not isinstance(rows, MemoryRows):
        rows = rows.take(np.arange(rows.n_rows))
    rows.check_all()
    signs = np.empty(rows.n_rows)
    upper = np.zeros(rows.n_rows)
    for places, weights, sign in (
        (problem.positives, problem.positive_weights, 1.0),
        (problem.negatives, problem.negative_weights, -1.0),
    ):
        at = places[np.arange(len(places))]
        signs[at] = sign
        upper[at] = C / 2 * shares(weights, len(places))
    signs[upper == 0] = 1.0
    return Terms(rows.kernel, upper, signs=signs, constants=-signs if threshold else None)


def shares(weights: FloatArray | None, n: int) -> FloatArray:
    """Return the share of each of n rows in the weight of their class."""
    return np.full(n, 1 / n) if weights is None else weights / np.sum(weights)
