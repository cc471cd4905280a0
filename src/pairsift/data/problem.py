"""A bipartite ranking problem: rows, and which of them are positive and which negative.

Rows are addressed by their *place* within their class (0, 1, ...), because samplers draw a positive and a negative each
uniformly; `positives` and `negatives` turn places into row numbers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from pairsift._typing import AnyArray, FloatArray, IntArray
from pairsift.data.labels import as_pair, choose_labels
from pairsift.data.rows import RowSource

_SMALLEST, _LARGEST = 1e-60, 1e60  # of the largest weight: beyond, weights are divided by a power of two


class Places(Protocol):
    """Row numbers by place: an int64 array, or a `RowRange`."""

    def __len__(self) -> int: ...
    def __getitem__(self, places: Any) -> Any: ...


@dataclass(frozen=True)
class RowRange:
    """The rows start, start + 1, ..., stop - 1, without an array of their numbers."""

    start: int
    stop: int

    def __len__(self) -> int:
        return self.stop - self.start

    def __getitem__(self, places: Any) -> Any:
        return places + self.start


@dataclass(frozen=True)
class Problem:
    """Rows with two classes and, where there are any, sample weights by place."""

    rows: RowSource
    positives: Places
    negatives: Places
    positive_weights: FloatArray | None = None
    negative_weights: FloatArray | None = None

    @property
    def n_positive(self) -> int:
        """N+."""
        return len(self.positives)

    @property
    def n_negative(self) -> int:
        """N-."""
        return len(self.negatives)

    @property
    def n_pairs(self) -> int:
        """N+ * N-, as a Python integer: it passes 2^63."""
        return self.n_positive * self.n_negative

    @property
    def n_points(self) -> int:
        """Number of rows that take part."""
        return self.n_positive + self.n_negative


def make_problem(rows: RowSource, y_positive: AnyArray, sample_weight: AnyArray | None = None) -> Problem:
    """Split rows by class; rows of weight zero are left out.

    Parameters
    ----------
    rows : RowSource
    y_positive : bool array
        Whether each row is positive.
    sample_weight : array, optional
        Non-negative weights, not all zero.
    """
    positives, negatives = np.flatnonzero(y_positive), np.flatnonzero(~y_positive)
    if sample_weight is None:
        return Problem(rows, _both(positives, negatives)[0], negatives)
    weights = check_sample_weight(sample_weight, rows.n_rows)
    positives, negatives = positives[weights[positives] > 0], negatives[weights[negatives] > 0]
    _both(positives, negatives)
    return Problem(rows, positives, negatives, weights[positives], weights[negatives])


def check_sample_weight(sample_weight: AnyArray, n_rows: int) -> FloatArray:
    """Return the weights as float64; raise `ValueError` when they cannot be used."""
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != (n_rows,):
        raise ValueError(
            f"sample_weight must have one value for each of the {n_rows} rows; got an array of shape {weights.shape}."
        )
    check_weights(weights, "sample_weight")
    largest = float(np.max(weights, initial=0.0))
    if largest == 0:
        raise ValueError("sample_weight is zero for every row: there is nothing to learn from.")
    if not _SMALLEST < largest < _LARGEST:
        # Only the proportions count; products of such weights would be infinite or zero.
        weights = np.ldexp(weights, 1 - math.frexp(largest)[1])
    return weights


def check_weights(weights: FloatArray, name: str) -> FloatArray:
    """Return the weights; raise `ValueError` unless they are finite and not negative."""
    if not np.all(np.isfinite(weights)) or np.any(weights < 0):
        raise ValueError(f"{name} must be finite and not negative.")
    return weights


def split_binary_labels(y: AnyArray, positive: Any = None, *, by_meaning: bool = False) -> tuple[AnyArray, AnyArray]:
    """Return the negative and the positive label, and whether each row has the latter.

    Without `positive` the larger label is positive; `choose_labels` has the rule, and that of files (`by_meaning`).
    Numbers are compared with their minimum and maximum, in O(N); only other labels are sorted.
    """
    y = np.asarray(y)
    if y.ndim != 1:
        raise ValueError(f"y must be one-dimensional, one label a row; got an array of shape {y.shape}.")
    if y.dtype.kind == "f" and not np.all(np.isfinite(y)):
        raise ValueError("Input y contains NaN or infinity; every row needs a label.")
    if y.dtype.kind in "biuf" and len(y):
        low, high = y.min(), y.max()
        is_high = y == high
        if low != high and bool(np.all(is_high | (y == low))):
            n_high = int(np.count_nonzero(is_high))
            chosen = choose_labels({low: len(y) - n_high, high: n_high}, positive, by_meaning=by_meaning)
            return np.array(chosen), is_high if chosen[1] == high else ~is_high
    labels, counts = np.unique(y, return_counts=True)
    chosen = choose_labels(dict(zip(labels.tolist(), counts.tolist(), strict=True)), positive, by_meaning=by_meaning)
    two = np.array(as_pair(chosen)) if len(labels) > 2 else np.array(chosen, dtype=y.dtype)
    return two, y == chosen[1]


def _both(positives: IntArray, negatives: IntArray) -> tuple[IntArray, IntArray]:
    if len(positives) == 0 or len(negatives) == 0:
        raise ValueError(
            "Rows of both classes are required (with a weight above zero); "
            f"got {len(positives)} positive and {len(negatives)} negative rows."
        )
    return positives, negatives
