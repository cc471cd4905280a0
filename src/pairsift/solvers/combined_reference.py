"""The step of combined ranking and regression in plain NumPy: what the kernel is compared with.

Here w itself is kept and shrunk in each step, O(features) a step; the kernel keeps the sum of steps instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from pairsift._typing import FloatArray


def combined_steps(
    X: FloatArray, terms: Iterable[tuple[int, int]], C: float, squared: bool, threshold: bool
) -> Iterator[FloatArray]:
    """Yield w after each step, with the weight of the constant feature (0 without a threshold) as its last entry.

    Parameters
    ----------
    X : array of shape (n_rows, n_features)
    terms : pairs of row numbers
        (i, j), a positive and a negative; -1 for the row that a point lacks.
    C, squared, threshold
        As for `pairsift.solvers.combined.fit_combined`.
    """
    X = np.column_stack([X, np.full(len(X), float(threshold))])
    w = np.zeros(X.shape[1])
    for t, (i, j) in enumerate(terms, start=1):
        step = C / t
        if i >= 0 and j >= 0:
            x, y, is_pair = X[i] - X[j], 1.0, True
        else:
            x, y, is_pair = (X[i], 1.0, False) if i >= 0 else (X[j], -1.0, False)
        score = w @ x
        w = (1 - 1 / t) * w
        if squared and not is_pair:
            if step * (x @ x) > 1:
                step = 1 / (x @ x)
            w = w + step * (y - score) * x
        elif y * score < 1:
            w = w + step * y * x
        yield w.copy()
