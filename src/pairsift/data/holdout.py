"""A validation part: rows of each class drawn at random and kept away from the training.

Equal rows of a class stay together: a class of at most `HASHED_BYTES` is drawn by a hash of the content of its rows, so
that the share is one of different rows. A larger class, or one whose reading counts (a budget of bytes), is drawn by
place, which reads no row. Either way a row store gives the
same parts as the same rows in memory, and nothing of the rows is copied: both parts are places in the same rows. A
class that is a range of rows (a row store) keeps that form, less the held-out places, so that the memory grows with the
held-out rows and not with N.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from pairsift._typing import AnyArray, FloatArray, IntArray
from pairsift.data.counted_rows import CountedRows, row_bytes
from pairsift.data.held_by import HeldBy
from pairsift.data.problem import Places, Problem, RowRange
from pairsift.data.rows import RowSource

VALIDATION_ROWS = 20_000
HASHED_BYTES = 2**27
"""Reading and hashing so much takes less than 0.1 s."""


@dataclass(frozen=True, eq=False)
class RangeWithout:
    """A range of rows without some of its places, which are given in rising order.

    The place p of what is left is the place ``p + #{k : left_out_k - k <= p}`` of the range.
    """

    all_rows: RowRange
    left_out: IntArray

    def __len__(self) -> int:
        return len(self.all_rows) - len(self.left_out)

    def __getitem__(self, places: Any) -> Any:
        if isinstance(places, slice):
            places = np.arange(*places.indices(len(self)))
        return self.all_rows[places + np.searchsorted(self._first_behind, places, side="right")]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> AnyArray:
        """Return all row numbers."""
        numbers: AnyArray = np.asarray(self[:], dtype=dtype)
        return numbers

    @cached_property
    def _first_behind(self) -> IntArray:
        """The place of what is left from which on the k-th left-out place lies before."""
        return self.left_out - np.arange(len(self.left_out))


def hold_out(
    problem: Problem, share: float, rng: np.random.Generator, limit: int | None = VALIDATION_ROWS
) -> tuple[Problem, Problem]:
    """Split a problem into a training and a validation part, class by class.

    Parameters
    ----------
    problem : Problem
    share : float
        Share of each class that is held out, rounded to whole rows; above 0 and below 1. At least one row of each
        class stays on either side.
    rng : numpy.random.Generator
        The same state gives the same parts.
    limit : int, optional
        Rows of a class that are held out at most, so that the cost does not grow with N.

    Returns
    -------
    training, validation : Problem
        Of the same rows, in their order, with their weights.
    """
    if isinstance(share, bool) or not 0 < share < 1:
        raise ValueError(f"The share of rows to hold out must be above 0 and below 1; got {share!r}.")
    if limit is not None and limit < 1:
        raise ValueError(f"At least one row of a class must be held out; got a limit of {limit!r}.")
    if min(problem.n_positive, problem.n_negative) < 2:
        raise ValueError(
            "A validation part needs at least 2 rows of each class (with a weight above zero), one to learn from and "
            f"one to look at; got {problem.n_positive} positive and {problem.n_negative} negative rows. "
            "Give more rows, or do without a validation part."
        )
    positive = _draw(problem.rows, problem.positives, share, rng, limit)
    negative = _draw(problem.rows, problem.negatives, share, rng, limit)
    return _split(problem, positive, negative)


def _split(problem: Problem, positive: IntArray, negative: IntArray) -> tuple[Problem, Problem]:
    """Return the problem without the given places of each class, and that of these places."""
    training = Problem(
        problem.rows,
        _without(problem.positives, positive),
        _without(problem.negatives, negative),
        _weights_without(problem.positive_weights, positive),
        _weights_without(problem.negative_weights, negative),
    )
    validation = Problem(
        problem.rows,
        problem.positives[positive],
        problem.negatives[negative],
        None if problem.positive_weights is None else problem.positive_weights[positive],
        None if problem.negative_weights is None else problem.negative_weights[negative],
    )
    return training, validation


def hold_out_by(column: HeldBy, problem: Problem, share: float, rng: np.random.Generator) -> tuple[Problem, Problem]:
    """Split a problem by a column: the latest rows, or the rows of whole values, are the validation part.

    The share is one of the weight of all rows; a class that would lack on either side is an error.
    """
    order = column.places(int(rng.integers(2**63)))
    sides = [np.asarray(places[:]) for places in (problem.positives, problem.negatives)]
    weights = [
        np.ones(len(side)) if given is None else given
        for side, given in zip(sides, (problem.positive_weights, problem.negative_weights), strict=True)
    ]
    values, inverse = np.unique(order[np.concatenate(sides)], return_inverse=True)
    reached = np.cumsum(np.bincount(inverse, np.concatenate(weights)))
    bound = values[int(np.searchsorted(reached, share * reached[-1]))]
    positive, negative = (np.flatnonzero(order[side] <= bound) for side in sides)
    if not (0 < len(positive) < problem.n_positive and 0 < len(negative) < problem.n_negative):
        raise ValueError(
            f"The rows held out by {column.name!r}, or the others, have one class only. Hold out by another column, or "
            "by none."
        )
    return _split(problem, positive, negative)


def _draw(rows: RowSource, places: Places, share: float, rng: np.random.Generator, limit: int | None) -> IntArray:
    """Draw places of a class in rising order."""
    seed = int(rng.integers(2**63))
    if not isinstance(rows, CountedRows) and len(places) * row_bytes(rows) <= HASHED_BYTES:
        drawn = _draw_by_content(rows.take(np.asarray(places[np.arange(len(places))])).keys(seed), share, limit)
        if drawn is not None:
            return drawn
    # NumPy lists all places only where more than a fiftieth is drawn.
    count = _count(len(places), share, limit)
    return np.sort(np.random.default_rng(seed).choice(len(places), size=count, replace=False, shuffle=False))


def _draw_by_content(keys: AnyArray, share: float, limit: int | None) -> IntArray | None:
    """Return the places of the lowest keys; None where all rows are equal."""
    different, counts = np.unique(keys, return_counts=True)
    if len(different) < 2:
        return None
    most = _count(len(different), share, None)
    if limit is not None:
        most = min(most, max(1, int(np.searchsorted(np.cumsum(counts), limit, side="right"))))
    return np.flatnonzero(keys <= different[most - 1])


def _count(n: int, share: float, limit: int | None) -> int:
    """Return how many of n to hold out: at least one, and not all."""
    count = min(max(1, round(share * n)), n - 1)
    return count if limit is None else min(count, limit)


def _without(places: Places, left_out: IntArray) -> Places:
    if isinstance(places, RowRange):
        return RangeWithout(places, left_out)
    left: IntArray = np.delete(np.asarray(places), left_out)
    return left


def _weights_without(weights: FloatArray | None, left_out: IntArray) -> FloatArray | None:
    return None if weights is None else np.delete(weights, left_out)
