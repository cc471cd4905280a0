"""Callbacks of scikit-learn 1.9 and newer (progress bar, scoring monitor); with an older one there are none.

The fit is the root task and each round a subtask of it. After a round, callbacks may ask for an estimator as if the fit
had ended there: it has the w of the round, and no threshold of its own when there are only pairs. A callback that
returns True after a round ends the sampling.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np

from pairsift.estimators.base import LinearRanker

STOPPED = "stopped by a callback"

Method = TypeVar("Method", bound=Callable[..., Any])

if TYPE_CHECKING:

    class CallbackSupportMixin:
        """Adds `set_callbacks` to an estimator."""

        def _init_callback_context(self, **options: Any) -> Any: ...

    def with_callbacks(method: Method) -> Method:
        """Let callbacks be torn down when the method ends, also by an error."""

else:
    try:
        from sklearn.callback import CallbackSupportMixin, with_callbacks
    except ImportError:

        class CallbackSupportMixin:
            """Nothing to support: scikit-learn is older than 1.9."""

        def with_callbacks(method):
            """Return the method."""
            return method


class RoundCallbacks:
    """Tells the callbacks of an estimator of each round; does nothing when it has none.

    Parameters
    ----------
    estimator : ActiveRankSVM or AutoRanker
    X, y, sample_weight
        What `fit` was called with, for callbacks that score.
    max_rounds : int, optional
        How many rounds there will be at most, where that is known.
    """

    def __init__(self, estimator: Any, X: Any, y: Any, sample_weight: Any, max_rounds: int | None = None) -> None:
        self._estimator = estimator
        self._data = {"X": X, "y": y, "metadata": None if sample_weight is None else {"sample_weight": sample_weight}}
        self._root: Any = None
        self._round: Any = None
        if getattr(estimator, "_skl_callbacks", None):
            self._root = estimator._init_callback_context(max_subtasks=max_rounds)
            self._root.call_on_fit_task_begin(estimator=estimator, **self._data)

    def __call__(self, state: Any) -> str | None:
        """End the task of a round and begin the next one; return why to stop, or None."""
        if self._root is None:
            return None
        stop = self._next_round().call_on_fit_task_end(
            estimator=self._estimator,
            reconstruction_attributes=lambda: {
                "coef_": state.solution.w[np.newaxis].copy(),
                "intercept_": np.array([0.0 - state.solution.theta]),
            },
            **self._data,
        )
        self._round = None
        if stop:
            return STOPPED
        if state.stop_reason is None:
            self._next_round()
        return None

    def end(self) -> None:
        """End what has begun; the estimator is fitted."""
        if self._root is None:
            return
        if self._round is not None:  # begun, but something else ended the sampling
            self._round.call_on_fit_task_end(estimator=self._estimator)
        self._root.call_on_fit_task_end(estimator=self._estimator, reconstruction_attributes={}, **self._data)

    def _next_round(self) -> Any:
        if self._round is None and self._root is not None:
            self._round = self._root.subcontext(task_name="round")
            self._round.call_on_fit_task_begin(estimator=self._estimator, **self._data)
        return self._round


class WatchedRanker(CallbackSupportMixin, LinearRanker):
    """A ranker whose training goes in rounds that callbacks see."""

    _callbacks: RoundCallbacks

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn to put rows of the larger label ahead.

        Parameters
        ----------
        X : array, CSR matrix, pandas, polars or Arrow table of shape (n_rows, n_features), or a `RowStore`
            Float32 and float64 are used as they are, without a copy. A store brings its own labels.
        y : array of shape (n_rows,)
            Two labels; the larger one is positive.
        sample_weight : array of shape (n_rows,), optional
            Only the proportions count: a weight of 2 is the row twice, rows of weight 0 are left out.

        Returns
        -------
        self
        """
        self._check_parameters()
        self._callbacks = RoundCallbacks(self, X, y, sample_weight, self._max_rounds())
        try:
            super().fit(X, y, sample_weight)
            self._callbacks.end()
        finally:
            del self._callbacks  # it holds the data
        return self

    def _max_rounds(self) -> int | None:
        """Return how many rounds there will be at most, where that is known."""
        return None
