r"""Approximations of the Hessian that are cheap to invert.

`SampledHessian`: with few columns, H of a sample of the rows (all pairs among them), written out and factorised. It has
what a diagonal cannot have, the correlations between columns. `DiagonalHessian`: with many columns, the diagonal of H
without the cross terms of positives and negatives, which needs one pass over the sampled rows.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from pairsift import _core
from pairsift._typing import FloatArray, IntArray
from pairsift.all_pairs import Loss
from pairsift.data.problem import Places
from pairsift.data.rows import CsrRows, DenseRows, MemoryRows
from pairsift.solvers.full_objective import FullObjective


class Preconditioner(Protocol):
    """Something that divides by an approximate Hessian."""

    def __call__(self, r: FloatArray) -> FloatArray:
        """Return M^-1 r."""


class SampledHessian:
    """M = I + C * (second derivative of the mean loss over all pairs of the sample), by Cholesky."""

    def __init__(self, sample: FullObjective, w: FloatArray, loss: Loss) -> None:
        point = sample.at(w, loss)
        rows = sample.rows
        assert isinstance(rows, MemoryRows)
        n, scale = sample.n_features, sample.C * point.pairs.scale
        self.factor = np.empty((n, n))
        rows.kernel.pair_gram(
            _row_numbers(sample.problem.positives),
            _row_numbers(sample.problem.negatives),
            *point.pairs.sorted_scores(),
            loss.width,
            point.sums.positive_curvature / point.pairs.scale,
            point.sums.negative_curvature / point.pairs.scale,
            self.factor,
        )
        self.factor *= scale
        ridge = 1.0
        hessian = self.factor.copy()
        while True:
            np.einsum("ii->i", self.factor)[:] += ridge
            if _core.cholesky(self.factor):
                return
            # Rounding of the cross terms has spoilt a matrix of enormous scale: lift it by that scale's rounding.
            ridge = max(10 * ridge, 1e-14 * float(np.max(np.abs(hessian))))
            self.factor = hessian.copy()

    def __call__(self, r: FloatArray) -> FloatArray:
        """Return M^-1 r."""
        x = r.copy()
        _core.cholesky_solve(self.factor, x)
        return x


class DiagonalHessian:
    """M = 1 + C * sum_k (curvature of row k) x_k^2, column by column."""

    def __init__(self, objective: FullObjective, w: FloatArray, loss: Loss) -> None:
        point = objective.at(w, loss)
        by_row = objective._by_row(point.sums.positive_curvature, point.sums.negative_curvature)
        self.diagonal = 1.0 + objective.C * _add_squares(objective.rows, by_row)

    def __call__(self, r: FloatArray) -> FloatArray:
        """Return M^-1 r."""
        return r / self.diagonal


def _add_squares(rows: object, a: FloatArray) -> FloatArray:
    out = np.zeros(rows.n_features)  # type: ignore[attr-defined]
    if isinstance(rows, CsrRows):
        squares = CsrRows(rows.values**2, rows.columns, rows.starts, rows.n_features)
        squares.add_between(a, 0, rows.n_rows, out)
    elif isinstance(rows, DenseRows):
        DenseRows(rows.values**2).add_between(a, 0, rows.n_rows, out)
    return out


def _row_numbers(places: Places) -> IntArray:
    return np.ascontiguousarray(places[np.arange(len(places))], dtype=np.int64)
