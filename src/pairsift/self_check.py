"""A quick check that the compiled kernels compute what the NumPy references do, on this machine.

It is for a user whose build or processor may be at fault, not for the tests, which go much further. Each check returns
what is wrong, or nothing.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from pairsift import reference
from pairsift._typing import FloatArray
from pairsift.all_pairs import HINGE, SQUARED_HINGE, AllPairs
from pairsift.all_pairs_reference import mean_loss
from pairsift.data.rows import CsrRows, DenseRows
from pairsift.data.svmlight import read_svmlight_rows
from pairsift.solvers.dual import descend
from pairsift.solvers.terms import Terms


def self_check() -> Iterator[tuple[str, str]]:
    """Yield the name of each check with what is wrong: "" when the kernel agrees with the reference."""
    for name, check in _CHECKS.items():
        try:
            yield name, check()
        except Exception as error:  # whatever goes wrong is the answer
            yield name, f"{type(error).__name__}: {error}"


def _rows() -> tuple[FloatArray, FloatArray]:
    rng = np.random.default_rng(0)
    X = np.where(rng.random((40, 7)) < 0.4, 0.0, rng.normal(size=(40, 7)))
    return X, rng.normal(size=7)


def _compare(found: FloatArray, wanted: FloatArray) -> str:
    error = float(np.max(np.abs(found - wanted), initial=0.0))
    return "" if error <= 1e-10 else f"differs from the reference by {error:.2g}"


def _scores() -> str:
    X, w = _rows()
    stored = X != 0
    starts = np.append(0, np.cumsum(stored.sum(axis=1))).astype(np.int32)
    sparse = CsrRows(X[stored], np.nonzero(stored)[1].astype(np.int32), starts, X.shape[1])
    wanted = reference.scores(X, w)
    return _compare(DenseRows(X).scores_between(w, 0, 40), wanted) or _compare(sparse.scores_between(w, 0, 40), wanted)


def _differences() -> str:
    X, _ = _rows()
    i, j = np.arange(20), np.arange(39, 19, -1)
    out = np.empty((20, X.shape[1]))
    DenseRows(X).kernel.write_differences(i, j, out)
    return _compare(out, reference.differences(X, i, j))


def _descent() -> str:
    X, _ = _rows()
    upper = np.full(len(X), 0.3)
    found = descend(Terms(DenseRows(X).kernel, upper), np.zeros(len(X)), tol=1e-8, max_passes=10_000, seed=0)
    gap = reference.primal_value(X, upper, found.w) - reference.dual_value(X, found.alpha)
    return "" if gap <= 1e-7 * found.primal else f"the duality gap by the reference is {gap:.2g}"


def _all_pairs() -> str:
    rng = np.random.default_rng(1)
    p, q = rng.normal(size=30), rng.normal(size=50)
    u, v = np.full(30, 1 / 30), np.full(50, 1 / 50)
    for loss in (HINGE, SQUARED_HINGE):
        found, wanted = AllPairs(p, q).sums(loss), mean_loss(p, q, u, v, loss)
        fault = _compare(np.array([found.value]), np.array([wanted[0]])) or _compare(found.positive, wanted[1])
        if fault:
            return fault
    return ""


def _text() -> str:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.svm"
        path.write_text("+1 1:0.5 3:2e-3\n-1 2:7\n")
        rows, y, _ = read_svmlight_rows(path)
    good = y.tolist() == [1, -1] and rows.values.tolist() == [0.5, 0.002, 7] and rows.columns.tolist() == [0, 2, 1]
    return "" if good else "svmlight text was read wrongly"


_CHECKS: dict[str, Callable[[], str]] = {
    "scores of dense and sparse rows": _scores,
    "differences of rows": _differences,
    "dual coordinate descent": _descent,
    "sums over all pairs": _all_pairs,
    "svmlight text": _text,
}
