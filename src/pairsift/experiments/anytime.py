"""An anytime method watched while it trains: the weights after each round, and the CPU time they took."""

from __future__ import annotations

from time import process_time
from typing import Any, NamedTuple

from pairsift._typing import FloatArray


class Moment(NamedTuple):
    """The model that is there after so many CPU seconds of ``fit``."""

    cpu: float
    w: FloatArray


def watch(estimator: Any, X: Any, y: FloatArray) -> list[Moment]:
    """Fit, and return the moments: one a round, and the end of ``fit``, which solves to `tol` and sets a threshold.

    All that ``fit`` does counts, reading X and y included; the watching itself does not.
    """
    moments: list[Moment] = []
    watched = 0.0
    start = process_time()

    def report(state: Any) -> None:
        nonlocal watched
        now = process_time()
        w = state.w if hasattr(state, "w") else state.solution.w
        moments.append(Moment(now - start - watched, w.copy()))
        watched += process_time() - now

    estimator._report = report  # the hook of progress: nothing else is changed
    try:
        estimator.fit(X, y)
    finally:
        end = process_time() - start - watched
        del estimator._report
    return [*moments[:-1], Moment(end, estimator.coef_[0].copy())]
