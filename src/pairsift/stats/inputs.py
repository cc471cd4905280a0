"""Checks of labels and scores, shared by all statistics."""

from __future__ import annotations

from typing import Any

import numpy as np

from pairsift._typing import AnyArray, BoolArray
from pairsift.data.problem import split_binary_labels


def check_labels(y: Any) -> BoolArray:
    """Return whether each row is positive."""
    return split_binary_labels(y)[1]


def check_scores(scores: Any, n_rows: int, name: str = "scores") -> AnyArray:
    """Return one-dimensional finite scores; whole numbers stay whole, because float64 would merge those beyond 2^53."""
    values = np.asarray(scores)
    if values.dtype.kind not in "biuf":
        values = _as_float(values, name)
    if values.ndim != 1:
        raise ValueError(
            f"{name} must have one dimension, one score a row; got an array of shape {values.shape}. "
            "Of class probabilities pass the column of the positive class, proba[:, 1]."
        )
    if len(values) != n_rows:
        raise ValueError(f"{name} must have one value for each of the {n_rows} labels in y; got {len(values)}.")
    if values.dtype.kind == "b":
        return values.view(np.uint8)
    if values.dtype.kind == "f" and not np.all(np.isfinite(values)):
        bad = int(np.flatnonzero(~np.isfinite(values))[0])
        what = "NaN" if np.isnan(values[bad]) else "infinity"
        raise ValueError(
            f"{name} must be finite; got {what} in row {bad}. Drop such rows, or give them a finite score."
        )
    return values if values.dtype.isnative else values.astype(values.dtype.newbyteorder("="))


def check_fraction(value: Any, name: str, *, one_allowed: bool) -> float:
    """Return a number in (0, 1), or in (0, 1] where one is allowed."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be a number; got {value!r}.") from None
    if not (0.0 < number < 1.0 or (one_allowed and number == 1.0)):
        closing = "]" if one_allowed else ")"
        raise ValueError(f"{name} must be in (0, 1{closing}; got {value!r}. Ten per cent is written 0.1.")
    return number


def _as_float(values: AnyArray, name: str) -> AnyArray:
    if values.dtype.kind == "c":
        raise ValueError(f"{name} must be real numbers; got dtype {values.dtype}.")
    try:
        return values.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be numbers; got dtype {values.dtype} ({error}).") from error
