"""JSON with everything that is in the model file, coefficients and feature names included."""

from __future__ import annotations

import json
from typing import Any

from pairsift.linear_model import LinearModel
from pairsift.model_file import header_of

_HOW = (
    "score = intercept + sum of coefficients[k] * feature k. A number column is one feature; a category column is one "
    "feature for each of its categories, in order, 1 where the row has it. With scaling 'unit' features are first "
    "divided by the length of the row; other scaling is in the coefficients. A score above 0 predicts classes[1]. "
    "Probability: logistic 1 / (1 + exp(-(slope * score + offset))), or isotonic, straight lines between the knots "
    "(scores, values); then p * r1 / (p * r1 + (1 - p) * r0) with r1 = base_rate / rate, "
    "r0 = (1 - base_rate) / (1 - rate)."
)


def export(model: LinearModel) -> bytes:
    """Return a JSON object; numbers have all their digits."""
    content = {
        "how_to_score": _HOW,
        **header_of(model),
        "feature_names": model.feature_labels,
        "coefficients": model.coef_[0].tolist(),
        "intercept": float(model.intercept_[0]),
    }
    return json.dumps(_plain(content), indent=1, allow_nan=False).encode() + b"\n"


def _plain(content: Any) -> Any:
    """Return facts of the training without NaN and infinity, which JSON does not have."""
    if isinstance(content, dict):
        return {key: _plain(value) for key, value in content.items()}
    if isinstance(content, list):
        return [_plain(value) for value in content]
    return None if isinstance(content, float) and not abs(content) < float("inf") else content
