"""Combined ranking and regression (CRR): stochastic gradient on random pairs and random points.

    min_w  1/2 |w|^2 + C * (q * (mean hinge loss of pairs) + (1 - q) * (mean loss of points))

q is `pair_probability`: each step draws a pair with probability q, otherwise a point, and goes down the gradient of
that term with Pegasos' step size; `cpp/combined_sgd.hpp` has the step.

What the paper ran is sofia-ml with the learner sgd-svm and the loop combined-ranking. Its sources say:

- a rank step draws one row from all rows and the other from the rows of the other label. With two labels that is a
  positive and a negative, each uniform in its class: what is done here;
- a point step draws from all rows, so the classes count by their size. It is not balanced, unlike the paper's WSVM;
- step t, counted from 1 over both kinds, has the size 1 / (lambda t), lambda being 1 / C here; the loss is looked up
  before w shrinks by 1 - 1/t. At t = 1 this factor is zero, which sofia-ml raises to 1e-7: w is zero there anyway;
- sgd-svm is Pegasos without the projection onto the ball of radius 1 / sqrt(lambda);
- each row has a constant feature 1 more, whose weight is regularised like the others: `threshold`;
- the result is the last w, not a mean; 100,000 steps are the default, whatever the size of the data.

sofia-ml computes in float32, this in float64.

`point_loss="squared"` is what the paper's text says of CRR: squared loss on points (targets +1 and -1), hinge on pairs.
Its steps are cut at 1 / |x|^2.

Sample weights
--------------
Rows are drawn in proportion to their weights: within each class for pairs, over all rows for points. So a weight of 2
is a row that is there twice, in law though not draw by draw.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from pairsift._typing import FloatArray, IntArray
from pairsift.data.problem import Problem
from pairsift.data.rows import MemoryRows

PointLoss = Literal["hinge", "squared"]

# Steps drawn, and for rows outside memory read, at a time. Another value draws other terms from the same seed.
BLOCK = 2**16
# The objective at the end, on that many of the last terms, may be so much larger than at w = 0. Steps that are too long
# for the features end at thousands of times that and rank badly; features about 50 end at some tens, and rank well.
_LAST_TERMS, _MOST_WORSE = 1000, 100.0


@dataclass(frozen=True)
class CombinedResult:
    """A score is ``w . x - theta``; theta is 0 without a threshold."""

    w: FloatArray
    theta: float
    n_steps: int
    n_moved: int
    """Steps whose term had a loss, so that w moved."""
    objective_ratio: float
    """The objective on the last terms, divided by that of w = 0."""

    @property
    def settled(self) -> bool:
        """Whether the steps led somewhere: too long for the features, each throws w to another end."""
        return self.objective_ratio <= _MOST_WORSE  # not NaN either


def check_points(point_loss: str, pair_probability: float) -> None:
    """Raise `ValueError` for a loss of points where no step takes one."""
    if pair_probability == 1 and point_loss != "hinge":
        raise ValueError(f'point_loss="{point_loss}" needs points: give pair_probability below 1.')


def fit_combined(
    problem: Problem,
    C: float = 800.0,
    point_loss: PointLoss = "hinge",
    threshold: bool = True,
    pair_probability: float = 0.5,
    n_steps: int = 100_000,
    seed: int | np.random.Generator | None = None,
) -> CombinedResult:
    """Make `n_steps` steps of combined ranking and regression.

    Parameters
    ----------
    problem : Problem
    C : float
        1 / lambda, above zero.
    point_loss : {"hinge", "squared"}
    threshold : bool
        Whether rows have a constant feature, whose weight is -theta.
    pair_probability : float
        In [0, 1]; 1 gives pairs only, 0 points only.
    n_steps : int
        At least 1.
    seed : int or numpy.random.Generator, optional
        The same seed gives the same bits, wherever the rows are read from.
    """
    _check(C, point_loss, pair_probability, n_steps)
    u, u_constant, moved, done = np.zeros(problem.rows.n_features), np.zeros(1), 0, 0
    for places in draw_terms(problem, pair_probability, n_steps, np.random.default_rng(seed)):
        rows, i, j = _in_memory(problem, *places)
        moved += rows.kernel.combined_sgd(i, j, done, float(C), point_loss == "squared", threshold, u, u_constant)
        done += len(i)
    scale = C / done
    with np.errstate(over="ignore", invalid="ignore"):
        w, theta = u * scale, -float(u_constant[0]) * scale
    if not (np.all(np.isfinite(w)) and np.isfinite(theta)):
        raise ValueError(
            f"The weights overflowed (C = {C:g}). Scale the features, to [0, 1] for instance, or use a smaller C."
        )
    ratio = _objective_ratio(rows, w, theta, (i[-_LAST_TERMS:], j[-_LAST_TERMS:]), C, point_loss)
    return CombinedResult(w, theta + 0.0, done, moved, ratio)


def _objective_ratio(
    rows: MemoryRows, w: FloatArray, theta: float, terms: tuple[IntArray, IntArray], C: float, point_loss: PointLoss
) -> float:
    """Return the objective at w, the mean loss taken over some terms, divided by that at w = 0."""
    i, j = terms
    is_point = (i < 0) | (j < 0)
    with np.errstate(over="ignore", invalid="ignore"):
        positive, negative = (np.where(k < 0, theta, rows.scores(w, np.maximum(k, 0))) for k in (i, j))
        margins = positive - negative  # of a point: its score, or minus it
        losses, start = np.maximum(0.0, 1.0 - margins), 1.0
        if point_loss == "squared":
            losses[is_point] = 0.5 * (1.0 - margins[is_point]) ** 2
            start -= 0.5 * float(np.mean(is_point))
        return float((0.5 / C * (w @ w) + np.mean(losses)) / start)


def draw_terms(
    problem: Problem, pair_probability: float, n_steps: int, rng: np.random.Generator
) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield blocks of terms (i, j) by place within class: a pair, or a point with -1 for the row that it lacks."""
    positives = _Places(problem.n_positive, problem.positive_weights)
    negatives = _Places(problem.n_negative, problem.negative_weights)
    positive_share = positives.total / (positives.total + negatives.total)
    for start in range(0, n_steps, BLOCK):
        n = min(BLOCK, n_steps - start)
        is_point = rng.random(n) >= pair_probability
        is_positive = rng.random(n) < positive_share
        i, j = positives.draw(n, rng), negatives.draw(n, rng)
        i[is_point & ~is_positive] = -1
        j[is_point & is_positive] = -1
        yield i, j


class _Places:
    """Draws places of a class, uniformly or in proportion to weights."""

    def __init__(self, n: int, weights: FloatArray | None) -> None:
        self.n, self.cumulative = n, None if weights is None else np.cumsum(weights)
        self.total = float(n) if self.cumulative is None else float(self.cumulative[-1])

    def draw(self, n_draws: int, rng: np.random.Generator) -> IntArray:
        if self.cumulative is None:
            return rng.integers(0, self.n, size=n_draws, dtype=np.int64)
        places = np.searchsorted(self.cumulative, rng.random(n_draws) * self.total, side="right")
        # A product that rounds up to the total would lie behind the last place.
        return np.minimum(places, self.n - 1).astype(np.int64, copy=False)


def _in_memory(problem: Problem, i: IntArray, j: IntArray) -> tuple[MemoryRows, IntArray, IntArray]:
    """Turn places into rows of a source in memory: the problem's own, or one of the rows that are needed."""
    i, j = _row_numbers(problem.positives, i), _row_numbers(problem.negatives, j)
    needed = np.concatenate([i[i >= 0], j[j >= 0]])
    if isinstance(problem.rows, MemoryRows):
        problem.rows.check_rows(needed)
        return problem.rows, i, j
    needed = np.unique(needed)
    return problem.rows.take(needed), _position(needed, i), _position(needed, j)


def _row_numbers(class_rows: Any, places: IntArray) -> IntArray:
    rows = np.full(len(places), -1, dtype=np.int64)
    real = places >= 0
    rows[real] = class_rows[places[real]]
    return rows


def _position(needed: IntArray, rows: IntArray) -> IntArray:
    return np.where(rows < 0, -1, np.searchsorted(needed, rows))


def _check(C: Any, point_loss: Any, pair_probability: Any, n_steps: Any) -> None:
    if not _is_number(C) or not 0 < C < np.inf:
        raise ValueError(f"C must be a finite number above zero; got {C!r}.")
    if point_loss not in ("hinge", "squared"):
        raise ValueError(f'point_loss must be "hinge" or "squared"; got {point_loss!r}.')
    if not _is_number(pair_probability) or not 0 <= pair_probability <= 1:
        raise ValueError(f"pair_probability must be in [0, 1]; got {pair_probability!r}.")
    if not isinstance(n_steps, int | np.integer) or n_steps < 1:
        raise ValueError(f"n_steps must be a whole number, at least 1; got {n_steps!r}.")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.integer | np.floating)
