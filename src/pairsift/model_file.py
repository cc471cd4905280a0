"""Model files: written whole or not at all, checked in every part before use.

A model file is a safetensors file with the tensors ``coef`` (one float64 a feature) and ``intercept`` and, where they
are known, ``pair_mean`` and ``pair_deviation`` (one float64 a feature each; see `pairsift.pair_features`). In its
metadata, under the key ``pairsift``, stands a JSON object with the format's version, the two labels, and what is known
of the features (names, the encoding of a table, scaling), of the training (settings, facts, the pairsift that wrote it)
and of probabilities (calibration). Everything is checked before it is used, and nothing in the file is ever executed.

Format 1 had neither calibration nor facts of pairs. In the facts of a training, format 2 had `gamma` where format 3 has
`terms`, and neither the rows of each class nor the AUC on held-out rows. Files of both are read as they were.
"""

from __future__ import annotations

import json
import os
import struct
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pairsift import __version__
from pairsift._typing import AnyArray
from pairsift.data.file_state import name_file
from pairsift.data.replacing import replacing
from pairsift.data.scaling import check_kind
from pairsift.linear_model import LinearModel, as_model
from pairsift.pair_features import PairFeatures
from pairsift.probabilities import Calibration

if TYPE_CHECKING:
    from pairsift.data.encoding import Encoding

FORMAT = 3
_METADATA_KEY = "pairsift"
_LARGEST_HEADER = 100 * 2**20
_REQUIRED = {"coef", "intercept"}
_PAIRS = {"pair_mean", "pair_deviation"}


class ModelFileError(ValueError):
    """A file that is not a usable model."""


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
    tensors = {"coef": linear.coef_[0].copy(), "intercept": linear.intercept_}
    if linear.pair_features is not None:
        tensors |= {"pair_mean": linear.pair_features.mean, "pair_deviation": linear.pair_features.deviation}
    header = json.dumps(header_of(linear))
    _require_memory(sum(tensor.nbytes for tensor in tensors.values()) + len(header))
    with replacing(path) as file:
        file.write(save(tensors, metadata={_METADATA_KEY: header}))


def _require_memory(size: int) -> None:
    """Raise `MemoryError` unless a file of `size` bytes can be put together: safetensors would end the process."""
    np.empty(4 * size + 2**16, dtype=np.uint8)  # the tensors as bytes, the file, and the file as Python's bytes


def header_of(model: LinearModel) -> dict[str, Any]:
    """Return all of a model but its coefficients, fit for JSON."""
    pairs = model.pair_features
    return {
        "format": FORMAT,
        "pairsift_version": __version__,
        "classes": [_label(label) for label in model.classes_],
        "feature_names": None if model.feature_names_in_ is None else [str(n) for n in model.feature_names_in_],
        "encoding": None if model.encoding is None else model.encoding.to_json(),
        "scaling": model.scaling,
        "zero_based": model.zero_based,
        "calibration": None if model.calibration is None else model.calibration.to_json(),
        "pair_rows": None if pairs is None else [pairs.n_positive, pairs.n_negative],
        "details": {"pairsift_version": __version__, **model.details},
    }


def load_model(path: str | os.PathLike[str]) -> LinearModel:
    """Read a model file.

    Parameters
    ----------
    path : str or path
        A file written by `pairsift fit` or `save_model`; nothing in it is executed.

    Raises
    ------
    ModelFileError
        A `ValueError` that says what is wrong with the file.
    """
    from safetensors import SafetensorError, safe_open

    try:
        _check_frame(Path(path))
        with safe_open(path, framework="np") as file:
            metadata = file.metadata() or {}
            names = set(file.keys())
            if names not in (_REQUIRED, _REQUIRED | _PAIRS) or _METADATA_KEY not in metadata:
                raise ModelFileError(f"{path}: a safetensors file, but not a pairsift model.")
            tensors = {name: file.get_tensor(name) for name in names}
    except OSError as error:
        name_file(error, path)
        raise
    except SafetensorError as error:
        raise ModelFileError(f"{path}: not a pairsift model ({error}).") from error
    header = _checked_header(str(path), metadata[_METADATA_KEY])
    try:
        return _model(header, tensors)
    except (ValueError, TypeError) as error:
        raise ModelFileError(f"{path}: damaged model file ({str(error).rstrip('.')}).") from error


def _check_frame(path: Path) -> None:
    """Refuse, before any memory is taken, a file whose header cannot be one."""
    with path.open("rb") as file:
        start = file.read(9)
        size = os.fstat(file.fileno()).st_size
    if len(start) < 9 or start[8:9] != b"{":
        raise ModelFileError(
            f"{path}: not a pairsift model (it does not start like a safetensors file); if it holds data, two "
            "arguments may be swapped."
        )
    length = struct.unpack("<Q", start[:8])[0]
    if length > min(size - 8, _LARGEST_HEADER):
        raise ModelFileError(f"{path}: truncated or damaged; its header should be {length} bytes, the file has {size}.")


def _checked_header(path: str, text: str) -> dict[str, Any]:
    """Return the JSON object of a file whose version can be read."""
    try:
        header = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"{path}: damaged model file (its header is not JSON).") from error
    version = header.get("format") if isinstance(header, dict) else None
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise ModelFileError(f"{path}: damaged model file (its header has no format version).")
    if version > FORMAT:
        raise ModelFileError(
            f"{path}: written in model format {version}, this pairsift reads up to {FORMAT}; update pairsift."
        )
    assert isinstance(header, dict)
    return header


def _model(header: dict[str, Any], tensors: dict[str, AnyArray]) -> LinearModel:
    """Return the model of a file; raise `ValueError` unless every part of it is as it should be."""
    coef, intercept = tensors["coef"], tensors["intercept"]
    if coef.dtype != np.float64 or coef.ndim != 1 or intercept.dtype != np.float64 or intercept.shape != (1,):
        raise ValueError("coefficients have the wrong type or shape")
    if not (np.all(np.isfinite(coef)) and np.all(np.isfinite(intercept))):
        raise ValueError("coefficients are not finite")
    classes, details = header.get("classes"), header.get("details", {})
    if not _are_labels(classes):
        raise ValueError("two labels are required, different and of one kind")
    if not isinstance(details, dict):
        raise ValueError("details must be an object")
    encoding = _encoding_from(header.get("encoding"))
    if encoding is not None and encoding.n_features != len(coef):
        raise ValueError(f"its encoding has {encoding.n_features} features, but there are {len(coef)} coefficients")
    if not isinstance(header.get("zero_based"), bool | None):
        raise ValueError("zero_based must be true or false")
    calibration = header.get("calibration")
    return LinearModel(
        coef[np.newaxis],
        intercept,
        np.array(classes),
        _feature_names(header.get("feature_names"), len(coef)),
        details,
        encoding,
        check_kind(header.get("scaling", "none")),
        header.get("zero_based"),
        None if calibration is None else Calibration.from_json(calibration),
        _pair_features(header.get("pair_rows"), tensors),
    )


def _feature_names(names: Any, n_features: int) -> AnyArray | None:
    if names is None:
        return None
    if not (isinstance(names, list) and len(names) == n_features and all(isinstance(name, str) for name in names)):
        raise ValueError("the feature names do not match the coefficients")
    return np.array(names, dtype=object)


def _pair_features(counts: Any, tensors: dict[str, AnyArray]) -> PairFeatures | None:
    if "pair_mean" not in tensors:
        return None
    if not isinstance(counts, list) or len(counts) != 2 or len(tensors["pair_mean"]) != len(tensors["coef"]):
        raise ValueError("the facts of the features do not match the coefficients")
    return PairFeatures(tensors["pair_mean"], tensors["pair_deviation"], *counts)


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
