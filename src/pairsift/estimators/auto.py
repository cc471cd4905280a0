"""What to try first: everything is chosen on held-out rows."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from pairsift.budget import parse_budget
from pairsift.data.held_by import HeldBy, held_by
from pairsift.data.problem import Problem
from pairsift.data.store import RowStore
from pairsift.data.tables import column_values, is_frame, without_column
from pairsift.estimators.base import make_generator, warn_unconverged
from pairsift.estimators.callbacks import WatchedRanker
from pairsift.search.options import AUTO_ROWS, DEFAULTS, check_auto, make_auto_settings
from pairsift.search.run import AutoTrained, train_auto
from pairsift.training_run import check_run


class AutoRanker(WatchedRanker):
    """Linear bipartite ranking (AUC) that chooses for itself: what to try first.

    Draws up to `budget` rows of each class and learns from all their pairs, or from the rows themselves as points with
    a threshold of their own, whichever ranks held-out rows better; the loss and C are chosen the same way. The cost
    depends on the budget, hardly on the number of rows.

    Parameters
    ----------
    C : float or "auto", default="auto"
        Weight of the mean loss in ``1/2 |w|^2 + C * mean``, as in `RankSVM`. "auto": chosen on held-out rows; 800 where
        a class has fewer than 25 different rows.
    terms : "auto", "pairs" or "points", default="auto"
        What the loss is a mean over: all pairs of a positive and a negative row, or the rows, of which both classes
        weigh the same. "auto" tries both; with more than 100 columns points only, because pairs take too long there.
    loss : "auto", "hinge", "squared_hinge" or "logistic", default="auto"
        "logistic" is for points. "auto" tries logistic points and hinge pairs, or what else fits the other parameters.
        With more columns than rows it tries the hinge over points and, from about 2,500 rows of the rarer class on, a
        few Newton steps on the squared hinge over points (early stopping).
    budget : int or str, default="auto"
        About how many rows of each class to learn from at most, 100,000 by default; or seconds of training as
        ``"30s"`` (ms, s, m, h), or bytes of rows read as ``"2GB"`` (KB, MB, GB, TB; KiB and so on). Training ends
        earlier where more rows promise no gain.
    holdout_by : str, optional
        A column of a frame: the latest values of a date or number, or whole values of a word column, are held out, for
        choosing as well as for `holdout_`. The column is not learned from.
    tol : float, default=1e-3
        Length of the gradient relative to that at zero, when all rows are drawn (of the hinge: the relative duality
        gap). A sample of rows is solved as far as the sample can tell. Up to 20,000 rows a smooth loss is solved to
        1e-9 at least.
    max_iter : int, default=1000
        Steps of the solver at most; reaching it warns.
    on_interrupt : "raise" or "keep", default="raise"
        What Ctrl-C does: end `fit` with `KeyboardInterrupt`, or end the training and keep the best model so far.
    random_state : int, RandomState, Generator or None, default=None
        The same seed gives the same bits.
    verbose : int, default=0
        1 writes a line to standard error for each trial and each set of rows that is solved; 2 for each step.

    Attributes
    ----------
    coef_ : array of shape (1, n_features)
    intercept_ : array of shape (1,)
        Minus the threshold. With pairs, which do not see one, it is where balanced accuracy is best on the rows of
        `fit`: all up to 100,000, beyond that 10,000 of each class.
    classes_ : array of shape (2,)
        The negative and the positive label.
    C_, terms_, loss_ : float, str, str
        Those of the fit. A C that was chosen on a part of the rows is rescaled to all that are learned from.
    trials_ : list of Trial
        ``(terms, loss, C, value, low, high)`` for all that was tried: the AUC on the held-out rows with its 95 %
        interval. Empty where nothing was to be chosen, or rows are too few to choose on.
    n_rows_ : array of shape (2,)
        How many rows of each class were learned from, in the order of `classes_`.
    holdout_ : Holdout
        ``(value, low, high)``: the AUC, with its 95 % interval, on rows used neither for training nor for choosing.
        From 2,500 rows of the rarer class on, a part of the rows is held out for it. With fewer, or with more columns
        than rows, the model learns from all rows, and the fit is repeated without one of five folds, and without others
        until 500 rows of the rarer class have been held out. NaN where nothing can be held out.
    history_ : list of AutoRound
        ``(round, rows, sampling_seconds, training_seconds, objective)`` for each set of rows.
    gap_ : float
        What `tol` bounds, as it was reached.
    n_iter_ : int
        Steps of the last training.
    stop_reason_ : str
        Why the training ended: "all rows used", "budget reached" (of rows), "more rows promise no gain", "budget of
        seconds reached", "budget of bytes reached", "interrupted", or "stopped by a callback".

    Notes
    -----
    Of all values of C whose held-out AUC is within one standard error of the difference, plus 0.0002, of the best, the
    one nearest the default is taken; terms and loss are chosen by the same rule. Equal rows are always on one side of a
    split.

    With scikit-learn 1.9 or newer, `set_callbacks` takes its callbacks; a task is a state of the training.

    See Also
    --------
    ActiveRankSVM : the paper's method.
    RankSVM : all pairs, exactly.

    Examples
    --------
    >>> from pairsift import AutoRanker, make_ranking
    >>> X, y = make_ranking(n_rows=20_000, n_features=10, positive_rate=0.05, random_state=0)
    >>> model = AutoRanker(random_state=0).fit(X[:10_000], y[:10_000])
    >>> bool(model.score(X[10_000:], y[10_000:]) > 0.85)
    True
    >>> bool(model.holdout_.low < 0.9 < model.holdout_.high)
    True
    """

    _holds_out = True  # tools that time the training alone set it to False

    def __init__(
        self,
        C: float | Literal["auto"] = "auto",
        terms: Literal["auto", "pairs", "points"] = "auto",
        loss: Literal["auto", "hinge", "squared_hinge", "logistic"] = "auto",
        budget: int | str = "auto",
        holdout_by: str | None = None,
        tol: float = 1e-3,
        max_iter: int = 1000,
        on_interrupt: Literal["raise", "keep"] = "raise",
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.C = C
        self.terms = terms
        self.loss = loss
        self.budget = budget
        self.holdout_by = holdout_by
        self.tol = tol
        self.max_iter = max_iter
        self.on_interrupt = on_interrupt
        self.random_state = random_state
        self.verbose = verbose

    def _check_parameters(self) -> None:
        check_auto(**self._settings())
        check_run(on_interrupt=self.on_interrupt)
        if self.holdout_by is not None and not isinstance(self.holdout_by, str):
            raise ValueError(f"holdout_by must be the name of a column, or None; got {self.holdout_by!r}.")

    def _settings(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in DEFAULTS}

    def _read(self, X: Any, y: Any, sample_weight: Any) -> Problem:
        column, rest = self._split_off(X)
        problem = super()._read(rest, y, sample_weight)
        self._held_by = column
        return problem

    def _split_off(self, X: Any) -> tuple[HeldBy | None, Any]:
        """Return the column to hold rows out by, and the frame without it."""
        if self.holdout_by is None:
            return None, X
        if isinstance(X, RowStore) or not (is_frame(X) and (hasattr(X, "columns") or hasattr(X, "column_names"))):
            raise ValueError(
                f"holdout_by={self.holdout_by!r} names a column of a frame (pandas, polars, Arrow); got X of type "
                f"{type(X).__name__}."
            )
        return held_by(self.holdout_by, column_values(X, self.holdout_by)), without_column(X, self.holdout_by)

    def _validate(self, X: Any, y: Any = "no_validation", *, reset: bool = True) -> Any:
        if not reset and self.holdout_by is not None and is_frame(X):
            X = without_column(X, self.holdout_by)
        return super()._validate(X, y, reset=reset)

    def _fit_problem(self, problem: Problem) -> None:
        column = self.__dict__.pop("_held_by")  # it is as long as the data
        settings = make_auto_settings(problem, **self._settings(), held_by=column)
        trained = train_auto(
            problem,
            replace(settings, holds_out=self._holds_out),
            parse_budget(self.budget, AUTO_ROWS),
            make_generator(self.random_state),
            consumers=[self._report],
            on_interrupt=self.on_interrupt,
        )
        self._keep(trained)

    def _report(self, state: Any) -> str | None:
        done, choice = state.history[-1], state.choice
        if self.verbose > 1 or (self.verbose == 1 and (state.solved or state.solution is choice.start)):
            sys.stderr.write(
                f"{done.rows:,} rows: {choice.mix.loss} {choice.terms}, C = {choice.C:.4g}, objective "
                f"{done.objective:.6g}{f', {state.stop_reason}' if state.stop_reason else ''}\n"
            )
        return self._callbacks(state)

    def _keep(self, trained: AutoTrained) -> None:
        state, found = trained.state, trained.state.solution
        if not found.converged and found.done:  # otherwise it was ended by a budget, a callback or Ctrl-C
            warn_unconverged(f"a relative gap of {found.relative_gap:.2g}", self.tol, found.n_passes, self.max_iter)
        self._set_weights(found.w, trained.theta)
        self.C_, self.terms_, self.loss_ = state.choice.C, state.choice.terms, state.choice.mix.loss
        self.trials_ = list(state.choice.trials)
        self.n_rows_ = np.array(state.n_rows)
        self.holdout_ = trained.holdout
        self.gap_ = found.relative_gap
        self.n_iter_ = max(found.n_passes, 1)
        self.history_ = list(state.history)
        self.stop_reason_ = state.stop_reason
