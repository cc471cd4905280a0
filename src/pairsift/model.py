"""The linear model: scoring, saving, loading, in one place. No scikit-learn is needed to use a model."""

from __future__ import annotations

from pairsift.linear_model import LinearModel, as_model, score_rows, trained_model
from pairsift.model_file import FORMAT, ModelFileError, load_model, save_model

__all__ = [
    "FORMAT",
    "LinearModel",
    "ModelFileError",
    "as_model",
    "load_model",
    "save_model",
    "score_rows",
    "trained_model",
]
