"""How good a fit is on rows used neither for training nor for choosing.

With many rows a part of its own was held out, and the model itself is measured on it. With few rows (or more columns
than rows, where every row counts) the model learns from all, and the whole fit, with all that it chooses, is repeated
on four fifths of the rows and measured on the last fifth: as often, five times at most, as gives enough held-out rows.
The AUC is the share of the pairs within folds that are ordered right (`pairsift.judge.auc_of_parts` has its interval).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from time import perf_counter
from typing import NamedTuple

import numpy as np

from pairsift._typing import BoolArray, FloatArray
from pairsift.data.drawn_rows import Drawing, Piece
from pairsift.data.held_by import HeldBy
from pairsift.data.problem import Problem
from pairsift.judge import Judge, auc_of_parts
from pairsift.search import sizes
from pairsift.search.growing import AutoSettings, auto_training
from pairsift.search.parts import RowOrder, fold_bounds
from pairsift.training_run import KEEP, Consumer, follow


class Holdout(NamedTuple):
    """The AUC on held-out rows, with its 95 % interval; NaN where it could not be measured."""

    value: float
    low: float
    high: float

    def facts(self) -> dict[str, float] | None:
        """Return it as a model file keeps it; None where nothing was measured."""
        return None if math.isnan(self.value) else dict(self._asdict())


NOT_MEASURED = Holdout(float("nan"), float("nan"), float("nan"))


def measured(folds: Sequence[tuple[Piece, FloatArray]], held_by: HeldBy | None) -> Holdout:
    """Return the AUC of held-out pieces, each scored by its own w; all have both classes.

    Copies of a row, or the rows of a customer, are no independent rows: they are clusters of the interval.
    """
    clusters = [] if held_by is not None and held_by.in_time else [piece.order for piece, _ in folds]
    return Holdout(*auc_of_parts([Judge.of(piece)(w) for piece, w in folds], clusters=clusters))


def measured_by_folds(
    problem: Problem,
    settings: AutoSettings,
    rng: np.random.Generator,
    consumers: Sequence[Consumer],
    on_interrupt: str,
    *,
    took: float,
    left: float | None,
) -> Holdout:
    """Repeat a fit on folds and measure each on the rest, as long as there is time for another.

    Parameters
    ----------
    problem, settings, rng
        Those of the fit; ``settings.rows`` is what it really learned from, so that the folds do not read more.
    consumers : sequence of consumers
        Only those that know of folds (they have `begin_fold`) see them: the others watch the fit itself.
    on_interrupt : "raise" or "keep"
    took : float
        Seconds that the fit took.
    left : float or None
        Seconds that are left of a budget.
    """
    started, longest = perf_counter(), took
    watching = [consumer for consumer in consumers if hasattr(consumer, "begin_fold")]
    done: list[tuple[Piece, FloatArray]] = []
    if left is not None and longest > left:
        return NOT_MEASURED
    try:
        for number, (training, held_by, judging) in enumerate(_folds(problem, settings, rng), start=1):
            before = perf_counter()
            if left is not None and before - started + longest > left:
                break
            for consumer in watching:
                consumer.begin_fold(number)
            inner = replace(settings, holds_out=False, held_by=held_by)
            state, reason = follow(auto_training(training, inner, rng), watching)
            if reason is not None:
                break
            done.append((judging, state.solution.w))
            longest = max(longest, perf_counter() - before)
    except KeyboardInterrupt:
        if on_interrupt != KEEP:
            raise
    return measured(done, settings.held_by) if done else NOT_MEASURED


def _folds(
    problem: Problem, settings: AutoSettings, rng: np.random.Generator
) -> Iterator[tuple[Problem, HeldBy | None, Piece]]:
    """Yield for each fold the rows to learn from, what they are held out by, and the rows of the fold."""
    order = RowOrder(int(rng.integers(2**63)), settings.held_by)
    most = max(problem.n_positive, problem.n_negative) if settings.rows is None else settings.rows
    piece = Drawing(problem, rng, order=order).draw(most, most)
    assert piece is not None
    assert piece.order is not None
    bounds = fold_bounds([piece])
    if bounds is None:
        return
    fold = np.searchsorted(bounds, piece.order, side="left")
    folds = len(bounds) + 1
    rows = min(piece.n_positive, piece.n_negative) if settings.held_by else _different_rows(piece)
    for k in range(min(math.ceil(sizes.ROWS_TO_SEE * folds / rows), folds)):
        yield _problem(piece, fold != k), _held_by(piece, settings.held_by), piece.only(fold == k)


def _different_rows(piece: Piece) -> int:
    """Return how many different rows the rarer class has."""
    assert piece.order is not None
    return min(len(np.unique(piece.order[: piece.n_positive])), len(np.unique(piece.order[piece.n_positive :])))


def _problem(piece: Piece, kept: BoolArray) -> Problem:
    n, s, t = piece.n_positive, piece.positive_weights, piece.negative_weights
    return Problem(
        piece.rows,
        np.flatnonzero(kept[:n]),
        n + np.flatnonzero(kept[n:]),
        None if s is None else s[kept[:n]],
        None if t is None else t[kept[n:]],
    )


def _held_by(piece: Piece, column: HeldBy | None) -> HeldBy | None:
    """Return the column for the rows of a piece; its order has one number for each value."""
    if column is None or piece.order is None:
        return None
    return HeldBy(column.name, np.unique(piece.order, return_inverse=True)[1], in_time=False)
