"""`AutoRanker` and `ActiveRankSVM` for Dask collections."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from pairsift._typing import AnyArray, FloatArray
from pairsift.engines.algorithm import fit_on_engine
from pairsift.engines.columns import Columns
from pairsift.engines.dask import engine_for, import_dask
from pairsift.engines.evaluation import auc_on_engine
from pairsift.engines.options import PARAMETERS, options_of_method
from pairsift.engines.parts import LABEL, ROW_ID, WEIGHT
from pairsift.estimators.base import warn_unconverged
from pairsift.model import score_rows
from pairsift.stats import AucInterval


class DaskRanker(BaseEstimator):
    """Linear bipartite ranking (AUC) of Dask arrays and data frames.

    Learns what `pairsift.AutoRanker` or `pairsift.ActiveRankSVM` learns with the same parameters. The partitions are
    scanned where they are, a few times; the rows that training needs come to this process: docs/clusters.md. Tasks run
    on the active `distributed.Client`, or on Dask's own scheduler where there is none.

    Parameters
    ----------
    method : "auto" or "active", default="auto"
        What is learned: what `pairsift.AutoRanker` learns ("auto") or `pairsift.ActiveRankSVM` ("active"). A parameter
        of the other method is refused; None is the method's default.
    C, terms, loss, budget, tol, max_iter
        Of "auto"; the budget is a number of rows of each class, 100,000 by default.
    C, gamma, sampling, bias_correction, threshold, budget, batch_size, tol, max_iter
        Of "active"; the budget is a number of pairs.
    random_state : int or None, default=None
        The same seed and the same keys of rows give the same bits, for any number of workers and partitions.

    Attributes
    ----------
    coef_, intercept_, classes_, C_, history_, gap_, stop_reason_
        As in the estimator of the method.
    terms_, loss_, trials_, n_rows_, holdout_
        Of "auto".
    C_path_, n_pairs_, n_rejected_
        Of "active".
    n_passes_ : int
        Passes over the data.
    n_rows_moved_ : int
        Rows that came to this process.
    """

    coef_: FloatArray
    intercept_: FloatArray
    classes_: AnyArray

    def __init__(
        self,
        method: Literal["auto", "active"] = "auto",
        C: float | Literal["auto"] | None = None,
        terms: str | None = None,
        loss: str | None = None,
        gamma: float | Literal["uniform"] | None = None,
        sampling: str | None = None,
        bias_correction: bool | None = None,
        threshold: bool | None = None,
        budget: int | Literal["auto"] | None = None,
        batch_size: int | None = None,
        tol: float | None = None,
        max_iter: int | None = None,
        random_state: int | None = None,
    ) -> None:
        self.method = method
        self.C = C
        self.terms = terms
        self.loss = loss
        self.gamma = gamma
        self.sampling = sampling
        self.bias_correction = bias_correction
        self.threshold = threshold
        self.budget = budget
        self.batch_size = batch_size
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None, ids: Any = None) -> Self:
        """Learn to put rows of the larger label ahead.

        Parameters
        ----------
        X : dask.array.Array (of NumPy or scipy sparse blocks) or dask.dataframe.DataFrame
        y : dask.array.Array or Series
            Two labels; the larger one is positive. Divided as X is.
        sample_weight : dask.array.Array or Series, optional
        ids : dask.array.Array or Series, optional
            A whole number or a text for each row, all different: the keys of the draws. By default a row's place.

        Returns
        -------
        self
        """
        given = {name: getattr(self, name) for name in PARAMETERS}
        options = options_of_method(self.method, given)
        engine, features = engine_for(X, y, sample_weight, ids)
        columns = Columns(features, LABEL, None if sample_weight is None else WEIGHT, (ROW_ID,))
        found = fit_on_engine(engine, columns, self.method, options, self.random_state)
        solution, state = found.state.solution, found.state
        if not solution.converged:
            gap = f"a relative gap of {solution.relative_gap:.2g}"
            warn_unconverged(gap, options["tol"], solution.n_passes, options["max_iter"])
        self.coef_, self.intercept_ = found.w[np.newaxis].copy(), np.array([0.0 - found.theta])
        self.classes_ = np.array(found.counts.labels)
        self.n_features_in_ = found.counts.n_features
        self.__dict__.pop("feature_names_in_", None)
        if hasattr(X, "columns"):
            self.feature_names_in_ = np.array(features, dtype=object)
        for name in ("terms_", "loss_", "trials_", "n_rows_", "holdout_", "C_path_", "n_pairs_", "n_rejected_"):
            self.__dict__.pop(name, None)  # of an earlier fit by the other method
        self.C_, self.history_, self.gap_ = found.strength.C, list(state.history), solution.relative_gap
        self.stop_reason_ = state.stop_reason
        for name, value in found.attributes().items():
            setattr(self, name, value)
        self.n_passes_, self.n_rows_moved_ = found.n_passes, found.rows_moved
        self._sparse = found.counts.sparse
        return self

    def decision_function(self, X: Any) -> Any:
        """Return the score of each row as a dask.array, which is computed when it is asked for."""
        check_is_fitted(self)
        dask = import_dask()
        w, intercept = self.coef_[0], float(self.intercept_[0])
        if isinstance(X, dask.array.Array):
            whole = X.rechunk({1: -1})
            return whole.map_blocks(_scores, w, intercept, dtype=np.float64, drop_axis=1)
        names = list(getattr(self, "feature_names_in_", X.columns))
        scores = X[names].map_partitions(_scores, w, intercept, meta=("score", np.float64))
        return scores.to_dask_array()

    def predict(self, X: Any) -> Any:
        """Return the label of each row as a dask.array: the positive one where the score is above zero."""
        scores = self.decision_function(X)
        return scores.map_blocks(_labels, self.classes_, dtype=self.classes_.dtype)

    def score(self, X: Any, y: Any) -> float:
        """Return the exact AUC of all rows together."""
        return self.auc_interval(X, y).auc

    def auc_interval(self, X: Any, y: Any, level: float = 0.95) -> AucInterval:
        """Return the exact AUC of all rows together and its confidence interval, as `pairsift.auc_interval` does."""
        check_is_fitted(self)
        known = X[list(self.feature_names_in_)] if hasattr(X, "columns") else X
        engine, features = engine_for(known, y, keyed=False)
        labels = (self.classes_[0].item(), self.classes_[1].item())
        return auc_on_engine(engine, Columns(features, LABEL), labels, self.coef_[0], sparse=self._sparse, level=level)


def _scores(block: Any, w: FloatArray, intercept: float) -> Any:
    if hasattr(block, "columns"):
        return type(block.iloc[:, 0])(score_rows(block.to_numpy(), w, intercept), index=block.index, name="score")
    return score_rows(block, w, intercept)


def _labels(scores: FloatArray, classes: AnyArray) -> AnyArray:
    return classes[(scores > 0).astype(np.int64)]
