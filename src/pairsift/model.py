"""The linear model: scoring, saving, loading. No scikit-learn is needed to use a model.

A model file is a safetensors file with the tensors ``coef`` (one float64 a feature) and ``intercept``, and in its
metadata, under the key ``pairsift``, a JSON object with the format's version, the two labels, and what is known of
the features (names, the encoding of a table, scaling) and of the training. Everything is checked before it is used, and
nothing in the file is ever executed.

Scaling by column is folded into the coefficients, so that a model scores raw rows; scaling of rows to unit length is
applied when scoring.
"""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pairsift._typing import AnyArray, FloatArray
from pairsift.data.replacing import replacing
from pairsift.data.rows import RowSource, as_rows
from pairsift.data.scaling import Scaling, ScalingKind, check_kind

if TYPE_CHECKING:
    from pairsift.data.encoding import Encoding
    from pairsift.data.training import TrainingData

FORMAT = 1
_METADATA_KEY = "pairsift"
_LARGEST_HEADER = 100 * 2**20


class ModelFileError(ValueError):
    """A file that is not a usable model."""


@dataclass(frozen=True)
class LinearModel:
    """A score ``w . x + intercept`` with two labels: above zero means ``classes_[1]``.

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
    """

    coef_: FloatArray
    intercept_: FloatArray
    classes_: AnyArray
    feature_names_in_: AnyArray | None = None
    details: Mapping[str, Any] = field(default_factory=dict)
    encoding: Encoding | None = None
    scaling: ScalingKind = "none"
    zero_based: bool | None = None

    @property
    def n_features_in_(self) -> int:
        """Number of features."""
        return int(self.coef_.shape[1])

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

    def score(self, X: Any, y: AnyArray, sample_weight: AnyArray | None = None) -> float:
        """Return the AUC: the share of pairs of a positive and another row that are ordered right."""
        from pairsift.stats import auc  # brings scipy, which fitting and scoring need not wait for

        return auc(np.asarray(y) == self.classes_[1], self.decision_function(X), sample_weight)


def score_rows(X: Any, w: FloatArray, intercept: float) -> FloatArray:
    """Return ``w . x_k + intercept`` for every row of X."""
    rows: RowSource = X if hasattr(X, "scores_between") else as_rows(X)
    if rows.n_features != len(w):
        raise ValueError(f"X has {rows.n_features} features, but the model expects {len(w)} features.")
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
    names = getattr(model, "feature_names_in_", None)
    details: dict[str, Any] = {"estimator": type(model).__name__}
    if hasattr(model, "get_params"):
        details["settings"] = {key: _plain(value) for key, value in model.get_params(deep=False).items()}
    intercept = np.atleast_1d(np.asarray(model.intercept_, dtype=np.float64)).copy()
    return LinearModel(
        coef, intercept, np.asarray(model.classes_), None if names is None else np.asarray(names), details
    )


def save_model(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a model, or a fitted linear estimator, to a safetensors file; a crash leaves the old file as it was.

    Parameters
    ----------
    model : LinearModel or fitted estimator
    path : str or path
    """
    from safetensors.numpy import save

    linear = as_model(model)
    if not (np.all(np.isfinite(linear.coef_)) and np.all(np.isfinite(linear.intercept_))):
        raise ValueError("The model holds NaN or infinity; it is not worth saving.")
    header = {
        "format": FORMAT,
        "classes": [_label(label) for label in linear.classes_],
        "feature_names": None if linear.feature_names_in_ is None else [str(n) for n in linear.feature_names_in_],
        "encoding": None if linear.encoding is None else linear.encoding.to_json(),
        "scaling": linear.scaling,
        "zero_based": linear.zero_based,
        "details": dict(linear.details),
    }
    tensors = {"coef": linear.coef_[0].copy(), "intercept": linear.intercept_}
    with replacing(path) as file:
        file.write(save(tensors, metadata={_METADATA_KEY: json.dumps(header)}))


def load_model(path: str | os.PathLike[str]) -> LinearModel:
    """Read a model file.

    Raises
    ------
    ModelFileError
        A `ValueError` that says what is wrong with the file.
    """
    from safetensors import SafetensorError, safe_open

    _check_frame(Path(path))
    try:
        with safe_open(path, framework="np") as file:
            metadata = file.metadata() or {}
            if set(file.keys()) != {"coef", "intercept"} or _METADATA_KEY not in metadata:
                raise ModelFileError(f"{path}: a safetensors file, but not a pairsift model.")
            coef, intercept = file.get_tensor("coef"), file.get_tensor("intercept")
    except SafetensorError as error:
        raise ModelFileError(f"{path}: not a pairsift model ({error}).") from error
    return _checked(str(path), metadata[_METADATA_KEY], coef, intercept)


def _check_frame(path: Path) -> None:
    """Refuse, before any memory is taken, a file whose header cannot be one."""
    with path.open("rb") as file:
        start = file.read(9)
        size = os.fstat(file.fileno()).st_size
    if len(start) < 9 or start[8:9] != b"{":
        raise ModelFileError(f"{path}: not a pairsift model (it does not start like a safetensors file).")
    length = struct.unpack("<Q", start[:8])[0]
    if length > min(size - 8, _LARGEST_HEADER):
        raise ModelFileError(f"{path}: truncated or damaged; its header should be {length} bytes, the file has {size}.")


def _checked(path: str, text: str, coef: AnyArray, intercept: AnyArray) -> LinearModel:
    def refuse(reason: str) -> ModelFileError:
        return ModelFileError(f"{path}: damaged model file ({reason}).")

    try:
        header = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise refuse("its header is not JSON") from error
    version = header.get("format") if isinstance(header, dict) else None
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise refuse("its header has no format version")
    if header["format"] > FORMAT:
        raise ModelFileError(
            f"{path}: written in model format {header['format']}, this pairsift reads up to {FORMAT}; update pairsift."
        )
    if coef.dtype != np.float64 or coef.ndim != 1 or intercept.dtype != np.float64 or intercept.shape != (1,):
        raise refuse("coefficients have the wrong type or shape")
    if not (np.all(np.isfinite(coef)) and np.all(np.isfinite(intercept))):
        raise refuse("coefficients are not finite")
    classes, names, details = header.get("classes"), header.get("feature_names"), header.get("details", {})
    if not _are_labels(classes):
        raise refuse("two labels are required, different and of one kind")
    if names is not None and not (
        isinstance(names, list) and len(names) == len(coef) and all(isinstance(name, str) for name in names)
    ):
        raise refuse("the feature names do not match the coefficients")
    if not isinstance(details, dict):
        raise refuse("details must be an object")
    feature_names = None if names is None else np.array(names, dtype=object)
    try:
        encoding = _encoding_from(header.get("encoding"))
        scaling = check_kind(header.get("scaling", "none"))
    except (ValueError, TypeError) as error:
        raise refuse(str(error).rstrip(".")) from error
    if encoding is not None and encoding.n_features != len(coef):
        raise refuse(f"its encoding has {encoding.n_features} features, but there are {len(coef)} coefficients")
    if not isinstance(header.get("zero_based"), bool | None):
        raise refuse("zero_based must be true or false")
    return LinearModel(
        coef[np.newaxis],
        intercept,
        np.array(classes),
        feature_names,
        details,
        encoding,
        scaling,
        header.get("zero_based"),
    )


def _are_labels(classes: Any) -> bool:
    """Whether these are two different texts, truth values or finite numbers."""
    if not isinstance(classes, list) or len(classes) != 2 or classes[0] == classes[1]:
        return False
    return any(all(isinstance(label, kind) for label in classes) for kind in (str, bool)) or all(
        isinstance(label, int | float) and not isinstance(label, bool) and abs(label) < float("inf")
        for label in classes
    )


def _encoding_from(content: Any) -> Encoding | None:
    if content is None:
        return None
    from pairsift.data.encoding import Encoding

    return Encoding.from_json(content)


def _label(label: Any) -> str | int | float | bool:
    plain = label.item() if isinstance(label, np.generic) else label
    if not isinstance(plain, str | int | float | bool):
        raise ValueError(f"Labels that are numbers or text can be saved; got {plain!r} of type {type(plain).__name__}.")
    return plain


def _plain(value: Any) -> Any:
    """Return a parameter as JSON has it; objects by their repr, for the record only."""
    if isinstance(value, np.generic):
        value = value.item()
    return value if isinstance(value, str | int | float | bool | None) else repr(value)
