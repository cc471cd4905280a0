r"""Approximations of the Hessian that are cheap to invert.

- `WrittenHessian`: H of a sample of the rows (all pairs among them), written out and factorised. It has what a diagonal
  cannot have, the correlations between columns, and a few thousand rows tell most of it; but it costs
  (stored values) * columns + columns^3 / 3.
- `DiagonalHessian`: the diagonal of H without the cross terms of positives and negatives: one pass over the sample.

`Preconditioners` writes H out where that is cheap from the start, and otherwise only once the diagonal has shown that
conjugate gradients crawl with it, which they do on columns of very different scales that are correlated.
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

# Multiplications that take about 0.1 s and a few seconds.
CHEAP_WORK = 2e8
MOST_WORK = 1e10
# Products for one linear system beyond which the diagonal has failed.
PATIENCE = 40


class Preconditioner(Protocol):
    """Something that divides by an approximate Hessian."""

    def __call__(self, r: FloatArray) -> FloatArray:
        """Return M^-1 r."""


class Preconditioners:
    """(w, loss) -> the preconditioner there, from one sample for a whole fit; `typical_norm`: rms of its |x_k|."""

    def __init__(self, sample: FullObjective) -> None:
        rows = sample.rows
        assert isinstance(rows, CsrRows | DenseRows)
        self.sample, self.rows = sample, rows
        norms = np.empty(rows.n_rows)
        rows.kernel.squared_norms(0, rows.n_rows, norms)
        self.typical_norm = float(np.sqrt(np.mean(norms)))
        n = float(sample.n_features)
        self._work = self.rows.values.size * n + n**3 / 3
        self._write = self._work <= CHEAP_WORK
        self._squares: MemoryRows | None = None
        self._last: DiagonalHessian | None = None

    def __call__(self, w: FloatArray, loss: Loss) -> Preconditioner:
        """Return the preconditioner at w."""
        if self._last is not None and self._last.uses > PATIENCE and self._work <= MOST_WORK:
            self._write = True
        if self._write:
            return WrittenHessian(self.sample, w, loss)
        if self._squares is None:
            self._squares = _squares(self.rows)
        self._last = DiagonalHessian(self.sample, self._squares, w, loss)
        return self._last


class WrittenHessian:
    """M = I + C * (second derivative of the mean loss over all pairs of the sample), by Cholesky."""

    def __init__(self, sample: FullObjective, w: FloatArray, loss: Loss) -> None:
        hessian = _pair_gram(sample, w, loss)
        ridge = 1.0
        while True:
            self.factor = hessian.copy()
            np.einsum("ii->i", self.factor)[:] += ridge
            if _core.cholesky(self.factor):
                return
            # Rounding of the cross terms has spoilt a matrix of enormous scale: lift it by that scale's rounding.
            ridge = max(10 * ridge, 1e-14 * float(np.max(np.abs(hessian))))

    def __call__(self, r: FloatArray) -> FloatArray:
        """Return M^-1 r."""
        x = r.copy()
        _core.cholesky_solve(self.factor, x)
        return x


class DiagonalHessian:
    """M = 1 + C * sum_k (curvature of row k) x_k^2, column by column."""

    def __init__(self, sample: FullObjective, squares: MemoryRows, w: FloatArray, loss: Loss) -> None:
        sums = sample.at(w, loss).sums
        self.uses = 0
        self.diagonal = np.zeros(sample.n_features)
        squares.add_between(
            sample.by_row(sums.positive_curvature, sums.negative_curvature), 0, squares.n_rows, self.diagonal
        )
        self.diagonal *= sample.C
        self.diagonal += 1.0

    def __call__(self, r: FloatArray) -> FloatArray:
        """Return M^-1 r."""
        self.uses += 1
        return r / self.diagonal


def _pair_gram(sample: FullObjective, w: FloatArray, loss: Loss) -> FloatArray:
    point = sample.at(w, loss)
    rows, scale = sample.rows, point.pairs.scale
    assert isinstance(rows, MemoryRows)
    out = np.empty((sample.n_features, sample.n_features))
    rows.kernel.pair_gram(
        _row_numbers(sample.problem.positives),
        _row_numbers(sample.problem.negatives),
        *point.pairs.sorted_scores(),
        loss.width,
        point.sums.positive_curvature / scale,
        point.sums.negative_curvature / scale,
        out,
    )
    out *= sample.C * scale
    return out


def _squares(rows: CsrRows | DenseRows) -> MemoryRows:
    """Return the rows with every value squared, in float64."""
    squared = rows.values.astype(np.float64) ** 2
    if isinstance(rows, CsrRows):
        return CsrRows(squared, rows.columns, rows.starts, rows.n_features)
    return DenseRows(squared)


def _row_numbers(places: Places) -> IntArray:
    return np.ascontiguousarray(places[np.arange(len(places))], dtype=np.int64)
