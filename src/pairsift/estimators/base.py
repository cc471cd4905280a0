"""What all estimators share: reading ``X, y``, scoring, and the look of a scikit-learn classifier."""

from __future__ import annotations

import sys
import warnings
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from pairsift._typing import AnyArray, FloatArray
from pairsift.data.labels import is_known_pair
from pairsift.data.problem import Problem, make_problem, split_binary_labels
from pairsift.data.rows import as_rows
from pairsift.data.store import RowStore
from pairsift.data.tables import columns_without_numbers, is_frame
from pairsift.data.training import store_encoding
from pairsift.model import score_rows
from pairsift.search.strength import Strength
from pairsift.search.walk import Tried
from pairsift.stats import auc
from pairsift.words import counted

if TYPE_CHECKING:
    from pairsift.data.encoding import Encoding


class LinearRanker(ClassifierMixin, BaseEstimator):
    """A classifier whose `score` is the AUC of its `decision_function`."""

    coef_: FloatArray
    intercept_: FloatArray
    classes_: AnyArray
    C_: float
    C_path_: list[Tried]
    _encoding: Encoding | None = None  # of the table that a store was made from, for a model file

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
        self._fit_problem(self._read(X, y, sample_weight))
        return self

    def _check_parameters(self) -> None:
        raise NotImplementedError

    def _fit_problem(self, problem: Problem) -> None:
        raise NotImplementedError

    def decision_function(self, X: Any) -> FloatArray:
        """Return the score of each row, ``X @ coef_.T + intercept_``; the higher, the more positive.

        The rows of a `RowStore` are scored in the order of the store: positives first.
        """
        check_is_fitted(self)
        if not isinstance(X, RowStore):
            X = self._validate(X, reset=False)
        return score_rows(X, self.coef_[0], float(self.intercept_[0]))

    def predict(self, X: Any) -> AnyArray:
        """Return the label of each row: the positive one where the score is above zero."""
        positive = self.decision_function(X) > 0
        return self.classes_[positive.astype(np.int64)]

    @property
    def predict_proba(self) -> Any:
        """Not there, so that ``hasattr`` is false: scores are no probabilities."""
        raise AttributeError(
            f"{type(self).__name__} gives scores, not probabilities; learn them on held-out rows: "
            "pairsift.calibrate(model, X, y), or scikit-learn's CalibratedClassifierCV."
        )

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the AUC: the share of pairs that are ordered right, ties counting one half.

        A `RowStore` brings its own labels and weights.
        """
        check_is_fitted(self)
        if y is None and isinstance(X, RowStore):
            y = X.labels_between(0, X.n_rows)
            sample_weight = X.weights_between(0, X.n_rows) if sample_weight is None else sample_weight
        y = np.asarray(y)
        if not np.all(np.isin(y, self.classes_)):
            raise ValueError(f"y must hold the labels of the training, {self.classes_.tolist()}; it has others.")
        return auc(y == self.classes_[1], self.decision_function(X), sample_weight)

    def _read(self, X: Any, y: Any, sample_weight: Any) -> Problem:
        if isinstance(X, RowStore):
            if y is not None or sample_weight is not None:
                raise ValueError(
                    "A RowStore brings its own labels and weights; call fit(store) without y and sample_weight."
                )
            self.n_features_in_, self.classes_ = X.n_features, X.labels
            self.__dict__.pop("feature_names_in_", None)  # of an earlier fit to a table
            self._encoding = store_encoding(X)
            return X.problem()
        self._encoding = None
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None; give one label a row."
            )
        X, y = self._validate(X, y)
        rows = as_rows(X)
        try:
            self.classes_, positive = split_binary_labels(y)
        except ValueError:
            check_classification_targets(y)  # says it in scikit-learn's words where y is no class label at all
            raise
        warn_of_words(*self.classes_.tolist())
        return make_problem(rows, positive, sample_weight)

    def _validate(self, X: Any, y: Any = "no_validation", *, reset: bool = True) -> Any:
        # Finiteness is checked by `as_rows`, which knows when to check all rows and when only those that are read.
        try:
            return validate_data(
                self,
                X,
                y,
                reset=reset,
                accept_sparse="csr",
                accept_large_sparse=True,
                dtype=[np.float64, np.float32],
                order="C",
                ensure_all_finite=False,
            )
        except (ValueError, TypeError) as error:
            wrong = columns_without_numbers(X) if is_frame(X) else []
            if not wrong:
                raise
            raise ValueError(_not_numbers(wrong)) from error

    def _set_weights(self, w: FloatArray, theta: float) -> None:
        """Set coefficients from w and the threshold theta."""
        self.coef_ = w[np.newaxis].copy()
        self.intercept_ = np.array([0.0 - theta])

    def _set_strength(self, strength: Strength) -> None:
        """Keep the strength of the fit, and what "auto" saw."""
        self.C_, self.C_path_ = strength.C, list(strength.path)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = True
        return tags


def _not_numbers(wrong: list[str]) -> str:
    """Return what to do about columns of text."""
    shown = ", ".join(map(repr, wrong[:10])) + (", ..." if len(wrong) > 10 else "")
    return (
        f"All columns of X must hold numbers; {counted(len(wrong), 'column')} cannot be read as such: {shown}. Drop "
        "what is no feature, and turn categories into numbers: by scikit-learn's OneHotEncoder before the estimator in "
        "a pipeline, or by pandas.get_dummies. (pairsift fit on a CSV or Parquet file does that for you.)"
    )


def warn_unconverged(reached: str, tol: float, n_iter: int, max_iter: int) -> None:
    """Warn the caller of `fit` that `tol` was not reached."""
    more = f", or raise max_iter (now {max_iter})" if n_iter >= max_iter else ""
    warnings.warn(
        f"The solver stopped at {reached}, not tol={tol:g}, after {n_iter} iterations. "
        f"Scale and centre the features{more}.",
        ConvergenceWarning,
        stacklevel=_level_of_the_caller(),
    )


def warn_of_words(negative: Any, positive: Any) -> None:
    """Warn where labels are words that do not say by themselves which one is positive."""
    if isinstance(positive, str) and not is_known_pair(negative, positive):
        warnings.warn(
            f"{positive!r} is taken as the positive label and {negative!r} as the negative one: the last in sorted "
            "order is positive. If it is the other way round, give y as 0 and 1.",
            UserWarning,
            stacklevel=_level_of_the_caller(),
        )


def _level_of_the_caller() -> int:
    """Return the stack level, for the function that asks, of the first caller outside of pairsift and scikit-learn."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in ("pairsift", "sklearn"):
        level, frame = level + 1, frame.f_back
    return level


def make_generator(random_state: Any) -> np.random.Generator:
    """Return the one generator of a fit from what scikit-learn takes as `random_state`."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**32, size=4, dtype=np.uint32))
    return np.random.default_rng(random_state)
