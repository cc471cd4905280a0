r"""What each feature looks like in a pair: the part of the ranking that it can carry.

The margin of a pair is a sum over features, ``w . (x_i - x_j) = sum_f w_f (x_if - x_jf)``. Over all pairs of a positive
i and a negative j the difference ``x_if - x_jf`` has

- the mean ``mu+_f - mu-_f``, the difference of the class means, and
- the variance ``var+_f + var-_f``.

So ``w_f * mean_f`` is what the feature adds to the margin of a pair on average, ``|w_f| * deviation_f`` by how much
that varies, and the former, divided by their sum over features, are shares that add up to one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from pairsift._typing import AnyArray, BoolArray, FloatArray
from pairsift.data.problem import Places, Problem
from pairsift.data.rows import CsrRows, DenseRows, MemoryRows
from pairsift.data.scaling import Moments, Scaling

SAMPLED_ROWS = 2_000
WIDEST = 100_000


@dataclass(frozen=True)
class PairFeatures:
    """Mean and deviation of ``x_if - x_jf`` over pairs, by feature; of how many rows of each class."""

    mean: FloatArray
    deviation: FloatArray
    n_positive: int
    n_negative: int

    def __post_init__(self) -> None:
        for array in (self.mean, self.deviation):
            if array.dtype != np.float64 or array.ndim != 1 or not np.all(np.isfinite(array)):
                raise ValueError("the facts of the features must be finite numbers")
        if len(self.mean) != len(self.deviation) or np.any(self.deviation < 0):
            raise ValueError("the facts of the features must have one size, and deviations not be negative")
        for count in (self.n_positive, self.n_negative):
            if type(count) is not int or count < 1:
                raise ValueError("the facts of the features must be of at least one row of each class")


def sample_pair_features(problem: Problem, scaling: Scaling) -> PairFeatures | None:
    """Return the facts of up to `SAMPLED_ROWS` rows of each class, evenly spaced; None beyond `WIDEST` features.

    In the units of raw rows where the scaling is by column, of scaled rows where it is by row: those of the model's
    coefficients. Nothing is drawn at random, so that a fit draws what it drew without them.
    """
    if problem.rows.n_features > WIDEST:
        return None
    try:
        positive = _class_moments(problem, problem.positives, problem.positive_weights)
        negative = _class_moments(problem, problem.negatives, problem.negative_weights)
        found = _pair_features(positive, negative, *(_count(p) for p in (problem.positives, problem.negatives)))
    except ValueError:  # too large to be squared: the model is good without them
        return None
    if scaling.factors is None:
        return found
    factors = scaling.factors[: len(found.mean)]
    with np.errstate(over="ignore"):
        mean, deviation = found.mean / factors, found.deviation / factors
    finite = bool(np.all(np.isfinite(mean)) and np.all(np.isfinite(deviation)))
    return PairFeatures(mean, deviation, found.n_positive, found.n_negative) if finite else None


def pair_features(parts: Iterable[tuple[MemoryRows, BoolArray, AnyArray | None]]) -> PairFeatures:
    """Return the facts of all rows, given in blocks of (rows, positive, weights or None)."""
    moments = {True: Moments(), False: Moments()}
    counts = {True: 0, False: 0}
    for rows, positive, weights in parts:
        weights = np.ones(rows.n_rows) if weights is None else np.asarray(weights, dtype=np.float64)
        rows.check_all()
        assert isinstance(rows, (CsrRows, DenseRows))
        for side, is_side in ((True, positive), (False, ~positive)):
            moments[side].add(rows, np.where(is_side, weights, 0.0))
            counts[side] += int(np.count_nonzero(is_side & (weights > 0)))
    if not counts[True] or not counts[False]:
        raise ValueError(f"Rows of both classes are required; got {counts[True]} positive and {counts[False]} others.")
    return _pair_features(moments[True], moments[False], counts[True], counts[False])


def _class_moments(problem: Problem, places: Places, weights: FloatArray | None) -> Moments:
    at = np.linspace(0, len(places) - 1, _count(places)).astype(np.int64)
    rows = problem.rows.take(places[at])
    assert isinstance(rows, (CsrRows, DenseRows))
    moments = Moments()
    moments.add(rows, np.ones(len(at)) if weights is None else weights[at])
    return moments


def _pair_features(positive: Moments, negative: Moments, n_positive: int, n_negative: int) -> PairFeatures:
    deviation = np.hypot(positive.deviation(), negative.deviation())
    return PairFeatures(positive.mean - negative.mean, deviation, n_positive, n_negative)


def _count(places: Places) -> int:
    return min(len(places), SAMPLED_ROWS)
