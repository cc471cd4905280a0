"""What each feature adds to the ranking: its part in the margin of a pair (the formulas are in `pair_features`)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pairsift.linear_model import LinearModel
from pairsift.pair_features import PairFeatures


class Contribution(NamedTuple):
    """One feature.

    `margin`, `share` and `deviation` are None where nothing is known of the feature's values.

    Attributes
    ----------
    feature : str
    coefficient : float
        What one unit of the feature adds to the score.
    margin : float or None
        What it adds to the margin of a pair of a positive and a negative row, on average over all pairs.
    share : float or None
        The margin divided by the sum over all features; shares add up to one. A feature that corrects others may have
        a negative one.
    deviation : float or None
        The standard deviation, over all pairs, of what it adds.
    """

    feature: str
    coefficient: float
    margin: float | None = None
    share: float | None = None
    deviation: float | None = None


def contributions(model: LinearModel, facts: PairFeatures | None = None, top: int | None = None) -> list[Contribution]:
    """Return the features of a model, those with the largest part in the ranking first.

    Parameters
    ----------
    model : LinearModel
    facts : PairFeatures, optional
        What the features look like in pairs; by default what the model remembers of its training. Where nothing is
        known, features are ordered by the size of their coefficients.
    top : int, optional
        How many to return; by default all.
    """
    w, facts = model.coef_[0], facts or model.pair_features
    names = model.feature_labels
    if facts is None:
        order = np.argsort(-np.abs(w), kind="stable")[:top]
        return [Contribution(names[k], float(w[k])) for k in order.tolist()]
    if len(facts.mean) != len(w):
        raise ValueError(f"The facts are of {len(facts.mean)} features, the model has {len(w)}.")
    margins, deviations = w * facts.mean, np.abs(w) * facts.deviation
    total = float(np.sum(margins))
    order = np.argsort(-np.abs(margins), kind="stable")[:top]
    return [
        Contribution(
            names[k], float(w[k]), float(margins[k]), float(margins[k]) / total if total else None, float(deviations[k])
        )
        for k in order.tolist()
    ]
