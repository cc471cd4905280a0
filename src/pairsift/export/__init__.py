"""A model for where pairsift is not: ONNX, JSON, a SQL expression, a Python function. One file a target."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from pairsift.linear_model import LinearModel

TARGETS = ("onnx", "json", "sql", "python")


def export_model(model: LinearModel, target: str, *, probability: bool = False) -> bytes:
    """Return a model in another form.

    Parameters
    ----------
    model : LinearModel
    target : "onnx", "json", "sql" or "python"
    probability : bool
        For SQL, which is one expression: that of the probability in place of the score. The others have both where the
        model is calibrated.
    """
    if target not in TARGETS:
        raise ValueError(f"A model can be exported to {', '.join(TARGETS)}; got {target!r}.")
    if probability and model.calibration is None:
        raise ValueError(
            "The model gives scores, not probabilities; train it with pairsift fit --calibration logistic or isotonic."
        )
    write: Callable[..., bytes] = import_module(f"pairsift.export.to_{target}").export
    return write(model, probability=probability) if target == "sql" else write(model)
