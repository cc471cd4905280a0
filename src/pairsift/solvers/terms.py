"""The terms of a linear SVM, as every dual solver takes them.

    primal   min_w  1/2 |w|^2 + sum_k U_k [1 - w . z_k]_+
    dual     max_a  sum_k a_k - 1/2 |sum_k a_k z_k|^2,   0 <= a_k <= U_k

Conventions
-----------
z_k is row k of the matrix behind `kernel`, multiplied by ``signs[k]`` where there are signs. Where there are
`constants`, the vector has one more entry ``constants[k]``, whose weight is theta: a pair has 0, a positive point -1
and a negative point +1 (the paper's extended vectors), and theta is regularised like w. ``upper`` is U;
``norms`` are |z_k|^2 where the caller has them at hand.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pairsift import _core
from pairsift._typing import FloatArray
from pairsift.data.rows import refuse_overflow


@dataclass(frozen=True)
class Terms:
    """Rows z_k and their upper bounds U_k."""

    kernel: _core._RowKernels
    upper: FloatArray
    signs: FloatArray | None = None
    constants: FloatArray | None = None
    norms: FloatArray | None = None

    def __len__(self) -> int:
        return len(self.upper)

    def margins(self, w: FloatArray, theta: float) -> FloatArray:
        """Return w . z_k for every term."""
        out = np.empty(len(self))
        self.kernel.score_range(0, len(self), w, out)
        if self.signs is not None:
            out *= self.signs
        if self.constants is not None:
            out += self.constants * theta
        return out

    def squared_norms(self) -> FloatArray:
        """Return |z_k|^2 for every term."""
        if self.norms is not None:
            return self.norms
        out = np.empty(len(self))
        self.kernel.squared_norms(0, len(self), out)
        refuse_overflow(out)
        return out if self.constants is None else out + self.constants**2

    def combine(self, a: FloatArray) -> tuple[FloatArray, float]:
        """Return sum_k a_k z_k as (w, theta)."""
        w = np.zeros(self.kernel.n_columns)
        self.kernel.add_combination(a if self.signs is None else a * self.signs, w)
        return w, 0.0 if self.constants is None else float(np.sum(self.constants * a))

    def certify(self, w: FloatArray, theta: float, alpha: FloatArray) -> DualSolution:
        """Return (w, theta) and alpha as a solution with its gap, for any w and any alpha in the box.

        primal - dual = sum_k (U_k [1 - m_k]_+ + a_k (m_k - 1)) + 1/2 |w - sum_k a_k z_k|^2 with m_k = w . z_k: a sum
        of numbers that are not negative, so that it does not cancel.
        """
        gradient = self.margins(w, theta) - 1
        losses = self.upper * np.maximum(0, -gradient)
        rest_w, rest_theta = self.combine(alpha)
        rest = np.sum((w - rest_w) ** 2) + (theta - rest_theta) ** 2
        primal = (np.sum(w**2) + theta**2) / 2 + np.sum(losses)
        gap = np.sum(np.maximum(losses + alpha * gradient, 0)) + rest / 2
        return DualSolution(w, theta, alpha, float(primal), float(gap), 0, False)


@dataclass(frozen=True)
class DualSolution:
    """A solution with its certificate: ``gap`` = primal - dual >= 0.

    w is sum_k a_k z_k up to rounding, and the gap holds for the w that is here.
    """

    w: FloatArray
    theta: float
    alpha: FloatArray
    primal: float
    gap: float
    n_passes: int
    converged: bool

    @property
    def relative_gap(self) -> float:
        """(primal - dual) / primal."""
        return self.gap / self.primal if self.primal > 0 else 0.0

    @property
    def squared_length(self) -> float:
        """|w|^2 + theta^2, without a pass over w: D = sum_k a_k - 1/2 |sum_k a_k z_k|^2."""
        return 2 * max(float(np.sum(self.alpha)) - (self.primal - self.gap), 0.0)
