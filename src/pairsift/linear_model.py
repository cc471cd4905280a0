"""A linear model that scores raw rows.

Scaling by column is folded into the coefficients, so that a model scores raw rows; scaling of rows to unit length is
applied when scoring.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pairsift._typing import AnyArray, FloatArray
from pairsift.data.rows import RowSource, as_rows
from pairsift.data.scaling import Scaling, ScalingKind
from pairsift.pair_features import PairFeatures, sample_pair_features
from pairsift.probabilities import Calibration
from pairsift.words import counted

if TYPE_CHECKING:
    from pairsift.data.encoding import Encoding
    from pairsift.data.training import TrainingData


class _IfCalibrated:
    """A method that a model has when it is calibrated, and not otherwise: ``hasattr`` tells."""

    def __init__(self, method: Callable[..., FloatArray]) -> None:
        self._method, self.__doc__ = method, method.__doc__

    def __get__(self, model: LinearModel | None, owner: type) -> Any:
        if model is None:
            return self._method
        if model.calibration is None:
            raise AttributeError(
                "predict_proba: this model gives scores, not probabilities; learn them on held-out rows with "
                "pairsift.calibrate, or with pairsift fit --calibration logistic."
            )
        return self._method.__get__(model, owner)


@dataclass(frozen=True)
class LinearModel:
    """A linear model with two labels; a score above zero means ``classes_[1]``.

    The score of a row x is ``w . x + intercept``.

    Attributes
    ----------
    coef_ : array of shape (1, n_features)
    intercept_ : array of shape (1,)
    classes_ : array of shape (2,)
        The negative and the positive label.
    feature_names_in_ : array of str, or None
    details : dict
        Settings and facts of the training, as they are in the file.
    encoding : Encoding or None
        How the columns of a table become features.
    scaling : "none", "unit", "standard" or "max"
        How rows were scaled in training. Only "unit" is applied in scoring; the others are in the coefficients.
    zero_based : bool or None
        Whether the svmlight text of the training counted from zero.
    calibration : Calibration or None
        How scores become probabilities; see `pairsift.calibrate`. With it the model has `predict_proba`.
    pair_features : PairFeatures or None
        What the features looked like in pairs of the training, for `pairsift inspect`.
    """

    coef_: FloatArray
    intercept_: FloatArray
    classes_: AnyArray
    feature_names_in_: AnyArray | None = None
    details: Mapping[str, Any] = field(default_factory=dict)
    encoding: Encoding | None = None
    scaling: ScalingKind = "none"
    zero_based: bool | None = None
    calibration: Calibration | None = None
    pair_features: PairFeatures | None = None

    @property
    def n_features_in_(self) -> int:
        """Number of features."""
        return int(self.coef_.shape[1])

    @property
    def feature_labels(self) -> list[str]:
        """What the features are called: their names or, without names, x1, x2, ... as svmlight text counts them.

        Where the training text counted from zero, or was no text, they are x0, x1, ...
        """
        if self.feature_names_in_ is not None:
            return [str(name) for name in self.feature_names_in_]
        first = 1 if self.zero_based is False else 0
        return [f"x{k}" for k in range(first, first + self.n_features_in_)]

    def decision_function(self, X: Any) -> FloatArray:
        """Return the score of each row: ``X @ coef_.T + intercept_``.

        Parameters
        ----------
        X : array, CSR matrix, `RowStore` or another row source; pandas or polars frame or Arrow table
            With as many columns as the model has features. The columns of a table are found by name, if the model
            knows names, and encoded if it was trained on a table.
        """
        if not isinstance(X, np.ndarray) and not hasattr(X, "scores_between"):
            parts = _encoded(X, self)
            if parts is not None:
                return np.concatenate([np.empty(0), *(self.decision_function(rows) for rows in parts)])
        if self.scaling == "unit":
            X = scaled_to_unit(X)
        return score_rows(X, self.coef_[0], float(self.intercept_[0]))

    def predict(self, X: Any) -> AnyArray:
        """Return the positive label where the score is above zero, else the negative one."""
        return self.classes_[(self.decision_function(X) > 0).astype(np.int64)]

    @_IfCalibrated
    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probabilities of the negative and the positive label, one row each; of a calibrated model only.

        They rank rows as the scores do. `predict` goes by the score, whose threshold was chosen for balanced accuracy,
        and not by a probability of one half.
        """
        assert self.calibration is not None
        positive = self.calibration.probabilities(self.decision_function(X))
        return np.column_stack([1 - positive, positive])

    def with_base_rate(self, base_rate: float) -> LinearModel:
        """Return a calibrated model for rows of which another share is positive (see `pairsift.probabilities`)."""
        if self.calibration is None:
            raise ValueError(
                "A base rate corrects probabilities, and this model has none; calibrate it on held-out rows first."
            )
        return replace(self, calibration=self.calibration.with_base_rate(base_rate))

    def score(self, X: Any, y: AnyArray, sample_weight: AnyArray | None = None) -> float:
        """Return the AUC: the share of pairs of a positive and another row that are ordered right."""
        from pairsift.stats import auc  # brings scipy, which fitting and scoring need not wait for

        return auc(np.asarray(y) == self.classes_[1], self.decision_function(X), sample_weight)


def score_rows(X: Any, w: FloatArray, intercept: float) -> FloatArray:
    """Return ``w . x_k + intercept`` for every row of X."""
    rows: RowSource = X if hasattr(X, "scores_between") else as_rows(X)
    if rows.n_features != len(w):
        raise ValueError(
            f"X has {counted(rows.n_features, 'feature')}, but the model expects {counted(len(w), 'feature')}."
        )
    return rows.scores_between(w, 0, rows.n_rows) + intercept


def scaled_to_unit(X: Any) -> RowSource:
    """Return the rows of X scaled to length one; those of a store are scaled when they are read."""
    from pairsift.data.scaled_rows import ScaledStore
    from pairsift.data.store import RowStore

    unit = Scaling("unit")
    return ScaledStore(X, unit) if isinstance(X, RowStore) else unit.apply(as_rows(X))


def _encoded(X: Any, model: LinearModel) -> Iterable[RowSource] | None:
    """Return the rows of a table, encoded; None if X is no table, or if the model knows no names."""
    from pairsift.data.encoding import encoded_parts, numbers_encoding
    from pairsift.data.tables import FrameTable, is_frame

    if not is_frame(X) or (model.encoding is None and model.feature_names_in_ is None):
        return None
    return encoded_parts(FrameTable(X), model.encoding or numbers_encoding(model.feature_names_in_))


def trained_model(data: TrainingData, w: FloatArray, intercept: float, details: Mapping[str, Any]) -> LinearModel:
    """Return the model of coefficients that were learned from `data`, so that it scores raw rows.

    Parameters
    ----------
    data : TrainingData
    w : array of shape (n_features,)
        Coefficients for the rows of ``data.problem``, which are scaled.
    intercept : float
        Minus the threshold on the scores of those rows.
    details : mapping
        Settings and facts of the training, fit for JSON.
    """
    folded, shifted = data.scaling.fold(np.asarray(w, dtype=np.float64), float(intercept))
    names = None if data.feature_names is None else np.array(data.feature_names, dtype=object)
    return LinearModel(
        folded[np.newaxis].copy(),
        np.array([shifted]),
        data.labels,
        names,
        details,
        data.encoding,
        data.scaling.kind,
        data.zero_based,
        pair_features=sample_pair_features(data.problem, data.scaling),
    )


def as_model(model: Any) -> LinearModel:
    """Return a fitted estimator with `coef_`, `intercept_` and two `classes_` as a `LinearModel`."""
    if isinstance(model, LinearModel):
        return model
    for name in ("coef_", "intercept_", "classes_"):
        if not hasattr(model, name):
            raise ValueError(
                f"A fitted linear model is required; this {type(model).__name__} has no `{name}`. "
                "Fit it first; of a pipeline, give the last step."
            )
    coef = np.ascontiguousarray(np.atleast_2d(model.coef_), dtype=np.float64)
    if coef.shape[0] != 1 or len(model.classes_) != 2:
        raise ValueError(
            f"A model of two classes with one row of coefficients is required; got {len(model.classes_)} classes "
            f"and coefficients of shape {coef.shape}."
        )
    names, encoding = getattr(model, "feature_names_in_", None), getattr(model, "_encoding", None)
    if encoding is not None:
        names = np.array(encoding.feature_names, dtype=object)
    details: dict[str, Any] = {"estimator": type(model).__name__}
    if hasattr(model, "get_params"):
        details["settings"] = {key: _plain(value) for key, value in model.get_params(deep=False).items()}
    if hasattr(model, "history_"):
        details["training"] = _training_facts(model)
    if getattr(model, "C_path_", None):
        chosen = {"C": model.C_, "C_path": [list(tried) for tried in model.C_path_]}
        details["training"] = {**details.get("training", {}), **chosen}
    intercept = np.atleast_1d(np.asarray(model.intercept_, dtype=np.float64)).copy()
    return LinearModel(
        coef, intercept, np.asarray(model.classes_), None if names is None else np.asarray(names), details, encoding
    )


def _training_facts(model: Any) -> dict[str, Any]:
    """Return what a fitted `AutoRanker` or `ActiveRankSVM` tells of its training, as `pairsift fit` records it."""
    shared = {"stop_reason": model.stop_reason_, "relative_gap": float(model.gap_)}
    if hasattr(model, "n_rows_"):
        negative, positive = model.n_rows_.tolist()
        return {
            "terms": model.terms_,
            "loss": model.loss_,
            "C": float(model.C_),
            "trials": [list(trial) for trial in model.trials_],
            "rows_used": {"negative": negative, "positive": positive},
            "holdout": model.holdout_.facts(),
            **shared,
            "history": {"rows": [record.rows for record in model.history_]},
        }
    rounds = [(record.pairs, float(record.rejected)) for record in model.history_]
    return {
        "pairs_used": int(model.n_pairs_),
        "pairs_rejected": int(model.n_rejected_),
        **shared,
        "history": {"pairs": [pairs for pairs, _ in rounds], "rejected": [rejected for _, rejected in rounds]},
    }


def _plain(value: Any) -> Any:
    """Return a parameter as JSON has it; objects by their repr, for the record only."""
    if isinstance(value, np.generic):
        value = value.item()
    return value if isinstance(value, str | int | float | bool | None) else repr(value)
