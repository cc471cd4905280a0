"""Scaling of features, learned in one pass over blocks of rows and folded into the coefficients of a linear model.

========== ====================================================== ==========================
kind       what a row becomes                                     how the model remembers it
========== ====================================================== ==========================
"none"     x
"unit"     x / |x|_2 (a row of zeros stays)                       applied when scoring
"standard" (x - mean) / deviation by column; sparse: x / deviation folded
"max"      x / max |x| by column                                  folded
========== ====================================================== ==========================

The deviation is that about the mean, zeros included, also where rows are sparse: those are not centred, which would
fill them. In pairs the mean cancels anyway, and a threshold absorbs it. A column that does not vary is not divided.
Rows count by their weight, as everywhere: a weight of 2 is the row twice.

Folding: ``w . ((x - shift) * factor) + b = (w * factor) . x + (b - w . (shift * factor))``, so that the folded model
scores raw rows. Scaled float32 rows are rounded to float32, and then the two agree to that precision.

Means and deviations are merged block by block by the update of Chan, Golub and LeVeque, which does not subtract large
sums of squares; sums run in the order of the rows (no BLAS).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, cast, get_args

import numpy as np

from pairsift._typing import AnyArray, FloatArray
from pairsift.data.rows import CsrRows, DenseRows, MemoryRows

ScalingKind = Literal["none", "unit", "standard", "max"]
KINDS: tuple[str, ...] = get_args(ScalingKind)

_NO_VARIATION = 1e-13  # of the mean: a deviation below it is rounding


@dataclass(frozen=True)
class Scaling:
    """What is done to rows: `shifts` are subtracted from the columns, then `factors` multiply them.

    Both are None where columns are left as they are.
    """

    kind: ScalingKind = "none"
    factors: FloatArray | None = None
    shifts: FloatArray | None = None

    def __post_init__(self) -> None:
        check_kind(self.kind)

    def apply(self, rows: MemoryRows) -> MemoryRows:
        """Return scaled rows of the same dtype; "none" returns the rows themselves."""
        rows.check_all()
        if self.kind == "none":
            return rows
        assert isinstance(rows, (CsrRows, DenseRows))
        if self.kind == "unit":
            return _unit(rows)
        assert self.factors is not None
        if rows.n_features > len(self.factors):
            raise ValueError(f"The rows have {rows.n_features} columns, the scaling {len(self.factors)}.")
        if isinstance(rows, CsrRows):
            return _with_values(rows, rows.values * self.factors[rows.columns])
        values = rows.values if self.shifts is None else rows.values - self.shifts
        return _with_values(rows, values * self.factors)

    def fold(self, w: FloatArray, intercept: float) -> tuple[FloatArray, float]:
        """Return coefficients and intercept for raw rows from those for scaled rows ("unit" cannot be folded)."""
        if self.factors is None:
            return w, intercept
        folded = w * self.factors[: len(w)]
        if self.shifts is not None:
            intercept -= float(np.sum(folded * self.shifts))
        return folded, float(intercept)


def check_kind(kind: str) -> ScalingKind:
    """Return the kind of scaling, or raise `ValueError`."""
    if kind not in KINDS:
        raise ValueError(f"scale must be one of {', '.join(KINDS)}; got {kind!r}.")
    return cast(ScalingKind, kind)


def learn_scaling(kind: str, parts: Iterable[tuple[MemoryRows, AnyArray | None]]) -> Scaling:
    """Return the scaling of a kind for the given rows.

    Parameters
    ----------
    kind : "none", "unit", "standard" or "max"
    parts : iterable of (rows, weights or None)
        The blocks of the data, read once; not read at all for "none" and "unit".
    """
    if check_kind(kind) in ("none", "unit"):
        return Scaling(check_kind(kind))
    moments, sparse = Moments(), False
    for rows, weights in parts:
        rows.check_all()
        assert isinstance(rows, (CsrRows, DenseRows))
        sparse = isinstance(rows, CsrRows)
        moments.add(rows, np.ones(rows.n_rows) if weights is None else np.asarray(weights, dtype=np.float64))
    if kind == "max":
        return Scaling("max", _inverse(moments.largest, moments.largest > 0))
    deviation = moments.deviation()
    shifts = None if sparse else moments.mean
    return Scaling("standard", _inverse(deviation, deviation > _NO_VARIATION * np.abs(moments.mean)), shifts)


class Moments:
    """Weight, mean, sum of squares about the mean, and largest magnitude of each column."""

    def __init__(self) -> None:
        self.weight = 0.0
        self.mean = self.squares = self.largest = np.zeros(0)

    def add(self, rows: DenseRows | CsrRows, weights: FloatArray) -> None:
        """Merge the moments of a block."""
        total = float(np.sum(weights))
        if total == 0:
            return
        self._widen(rows.n_features)
        mean, squares, largest = (
            _sparse_moments(rows, weights, total) if isinstance(rows, CsrRows) else _dense_moments(rows, weights, total)
        )
        if rows.n_features < len(self.mean):  # an earlier block was wider; here those columns are zeros
            pad = (0, len(self.mean) - rows.n_features)
            mean, squares, largest = np.pad(mean, pad), np.pad(squares, pad), np.pad(largest, pad)
        both = self.weight + total
        step = mean - self.mean
        with np.errstate(over="ignore", invalid="ignore"):
            self.squares = self.squares + squares + step**2 * (self.weight * total / both)
        self.mean = self.mean + step * (total / both)
        self.largest = np.maximum(self.largest, largest)
        self.weight = both

    def deviation(self) -> FloatArray:
        """Return the standard deviation of each column."""
        deviation = np.sqrt(self.squares / max(self.weight, 1e-300))
        if not np.all(np.isfinite(deviation)):
            column = int(np.flatnonzero(~np.isfinite(deviation))[0])
            raise ValueError(f"Column {column} is too large to take its deviation; scale by max instead.")
        return np.asarray(deviation)

    def _widen(self, n_features: int) -> None:
        pad = (0, max(0, n_features - len(self.mean)))
        self.mean, self.squares, self.largest = (np.pad(a, pad) for a in (self.mean, self.squares, self.largest))


def _dense_moments(rows: DenseRows, weights: FloatArray, total: float) -> tuple[AnyArray, AnyArray, AnyArray]:
    values = rows.values.astype(np.float64, copy=False)
    w = weights[:, np.newaxis]
    with np.errstate(over="ignore", invalid="ignore"):
        mean = np.add.reduce(values * (w / total), axis=0)
        squares = np.add.reduce((values - mean) ** 2 * w, axis=0)
    return mean, squares, np.max(np.abs(values) * (w > 0), axis=0)


def _sparse_moments(rows: CsrRows, weights: FloatArray, total: float) -> tuple[AnyArray, AnyArray, AnyArray]:
    n, columns = rows.n_features, rows.columns
    values = rows.values.astype(np.float64, copy=False)
    w = np.repeat(weights, np.diff(rows.starts))
    stored = np.bincount(columns, weights=w, minlength=n)
    with np.errstate(over="ignore", invalid="ignore"):
        inside = np.bincount(columns, weights=values * w, minlength=n) / np.where(stored > 0, stored, 1)
        squares = np.bincount(columns, weights=(values - inside[columns]) ** 2 * w, minlength=n)
        # Merge the stored values with the zeros, whose mean and squares are zero.
        squares = squares + inside**2 * (stored * np.maximum(total - stored, 0) / total)
    largest = np.zeros(n)
    np.maximum.at(largest, columns, np.abs(values) * (w > 0))
    return inside * (stored / total), squares, largest


def _inverse(scale: FloatArray, usable: AnyArray) -> FloatArray:
    # 1/x of a subnormal number is infinite; such a column is as good as constant.
    usable = usable & (scale > np.finfo(np.float64).tiny)
    return np.where(usable, 1 / np.where(usable, scale, 1), 1.0)


def _unit(rows: CsrRows | DenseRows) -> MemoryRows:
    values = rows.values.astype(np.float64, copy=False)
    if isinstance(rows, DenseRows):
        largest = np.max(np.abs(values), axis=1, initial=0.0)
        safe = np.where(largest > 0, largest, 1)[:, np.newaxis]  # so that no square over- or underflows
        shrunk = values / safe
        lengths = np.sqrt(np.add.reduce(shrunk**2, axis=1))
        return _with_values(rows, shrunk / np.where(lengths > 0, lengths, 1)[:, np.newaxis])
    counts = np.diff(rows.starts)
    owner = np.repeat(np.arange(rows.n_rows), counts)
    largest = np.zeros(rows.n_rows)
    np.maximum.at(largest, owner, np.abs(values))
    shrunk = values / np.where(largest > 0, largest, 1)[owner]
    lengths = np.sqrt(np.bincount(owner, weights=shrunk**2, minlength=rows.n_rows))
    return _with_values(rows, shrunk / np.where(lengths > 0, lengths, 1)[owner])


def _with_values(rows: CsrRows | DenseRows, values: Any) -> MemoryRows:
    values = np.ascontiguousarray(values, dtype=rows.values.dtype)
    return (
        DenseRows(values)
        if isinstance(rows, DenseRows)
        else CsrRows(values, rows.columns, rows.starts, rows.n_features)
    )
