"""The threshold of a model that has none of its own: where balanced accuracy is best on training rows.

Pairs do not see a threshold (theta cancels in w . (x_i - x_j)), but `predict` needs one. All rows are used up to
`ALL_ROWS` of them; beyond that, `SAMPLED_ROWS` rows of each class drawn without replacement, so that `fit` does not
grow with N. They are drawn in runs of `RUN` neighbours of a class: in a row store a run is one read.
"""

from __future__ import annotations

import numpy as np

from pairsift._typing import FloatArray, IntArray
from pairsift.active import Settings
from pairsift.data.problem import Places, Problem
from pairsift.data.rows import RowSource
from pairsift.solvers.terms import DualSolution

ALL_ROWS = 100_000
SAMPLED_ROWS = 10_000
RUN = 10
_TIE = 1e-12  # balanced accuracies nearer than that are equal: weights and repeated rows are summed differently


def model_threshold(problem: Problem, settings: Settings, found: DualSolution, rng: np.random.Generator) -> float:
    """Return the threshold of a model of Algorithm 1.

    Points are classified around theta, which is 0 unless it is learned; pairs alone leave it open.
    """
    return found.theta if settings.gamma < 1 else balanced_threshold(problem, found.w, rng)


def balanced_threshold(problem: Problem, w: FloatArray, rng: np.random.Generator) -> float:
    """Return the score above which a row is predicted positive."""
    everything = problem.n_points <= ALL_ROWS
    positive, positive_weights = _class_scores(
        problem.rows, w, problem.positives, problem.positive_weights, everything, rng
    )
    negative, negative_weights = _class_scores(
        problem.rows, w, problem.negatives, problem.negative_weights, everything, rng
    )
    return best_threshold(positive, negative, positive_weights, negative_weights)


def best_threshold(
    positive: FloatArray, negative: FloatArray, positive_weights: FloatArray, negative_weights: FloatArray
) -> float:
    """Return the middle of the gap between two neighbouring scores with the best balanced accuracy.

    Among equally good gaps the widest is taken, then the lowest; below all scores and above them count as gaps too,
    with the threshold one unit away.
    """
    scores = np.concatenate([positive, negative])
    # Cutting below score t gains the positives from t on and loses the negatives from t on.
    gain = np.concatenate([positive_weights / positive_weights.sum(), -negative_weights / negative_weights.sum()])
    order = np.argsort(scores, kind="stable")
    values, first = np.unique(scores[order], return_index=True)
    above = np.append(np.cumsum(gain[order][::-1])[::-1][first], 0.0)
    lower, upper = np.append(values[0] - 2, values), np.append(values, values[-1] + 2)
    best = np.flatnonzero(above >= np.max(above) - _TIE)
    widest = best[np.argmax(upper[best] - lower[best] > (1 - 1e-9) * np.max(upper[best] - lower[best]))]
    return float(lower[widest] + (upper[widest] - lower[widest]) / 2)


def _class_scores(
    rows: RowSource,
    w: FloatArray,
    places: Places,
    weights: FloatArray | None,
    everything: bool,
    rng: np.random.Generator,
) -> tuple[FloatArray, FloatArray]:
    at = np.arange(len(places)) if everything or len(places) <= SAMPLED_ROWS else draw_runs(len(places), rng)
    return rows.scores(w, places[at]), np.ones(len(at)) if weights is None else weights[at]


def draw_runs(n: int, rng: np.random.Generator) -> IntArray:
    """Return `SAMPLED_ROWS` of n places in rising order, in runs of `RUN`; each place with the same chance, nearly.

    The runs begin at a random offset, so that the places left over at the ends are in reach too.
    """
    offset = int(rng.integers(n % RUN + 1))
    runs = np.sort(rng.choice(n // RUN, size=SAMPLED_ROWS // RUN, replace=False, shuffle=False))
    places: IntArray = (offset + RUN * runs[:, np.newaxis] + np.arange(RUN)).reshape(-1)
    return places
