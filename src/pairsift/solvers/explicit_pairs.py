r"""The hinge over all pairs when they are few enough to be written out.

    min_w  1/2 |w|^2 + sum_k U_k [1 - w . z_k]_+,    z_k = x_i - x_j,  U_k = C s_i s_j / (sum s+ * sum s-)

with one term for each of the N+ * N- pairs. `solve_explicit_pairs` is the one place where small problems of
`pairsift.solvers.exact` are solved; any dual solver that takes rows z_k and bounds U_k can stand there.
"""

from __future__ import annotations

import numpy as np

from pairsift._typing import FloatArray, IntArray
from pairsift.data.problem import Problem
from pairsift.data.rows import CsrRows, DenseRows, MemoryRows

MAX_PASSES = 200_000


def solve_explicit_pairs(problem: Problem, C: float, tol: float, seed: int) -> tuple[FloatArray, float, float, int]:
    """Return w, primal, primal - dual and the passes of dual coordinate descent to a relative gap of `tol`."""
    differences, upper = write_pairs(problem, C)
    w, theta, alpha = np.zeros(problem.rows.n_features), np.zeros(1), np.zeros(len(upper))
    primal, gap, passes, _ = differences.kernel.dual_descent(
        None, None, upper, alpha, w, theta, tol, MAX_PASSES // max(1, len(upper) // 100), seed
    )
    return w, primal, gap, passes


def write_pairs(problem: Problem, C: float) -> tuple[MemoryRows, FloatArray]:
    """Return the rows x_i - x_j of all pairs, in float64, and their weights U."""
    rows, n_p, n_q = problem.rows, problem.n_positive, problem.n_negative
    taken = rows.take(_numbers(problem.positives[np.arange(n_p)], problem.negatives[np.arange(n_q)]))
    i, j = np.repeat(np.arange(n_p), n_q), np.tile(np.arange(n_p, n_p + n_q), n_p)
    s = np.ones(n_p) if problem.positive_weights is None else problem.positive_weights
    t = np.ones(n_q) if problem.negative_weights is None else problem.negative_weights
    return _differences(taken, i, j), C * np.outer(s / np.sum(s), t / np.sum(t)).ravel()


def _differences(rows: MemoryRows, i: IntArray, j: IntArray) -> MemoryRows:
    if isinstance(rows, CsrRows):
        room = int(np.sum(rows.count_stored(i) + rows.count_stored(j)))
        values, columns = np.empty(room), np.empty(room, dtype=rows.columns.dtype)
        starts = np.zeros(len(i) + 1, dtype=rows.starts.dtype)
        rows.kernel.write_differences(i, j, values, columns, starts)
        used = int(starts[-1])
        return CsrRows(values[:used], columns[:used], starts, rows.n_features)
    assert isinstance(rows, DenseRows)
    out = np.empty((len(i), rows.n_features))
    rows.kernel.write_differences(i, j, out)
    return DenseRows(out)


def _numbers(positives: IntArray, negatives: IntArray) -> IntArray:
    return np.concatenate([positives, negatives]).astype(np.int64)
