"""The choice of loss, gamma and C on held-out rows, from a few thousand rows of each class.

The rows that are drawn first are cut into parts: to judge and to learn from. They stay drawn, so that the choice reads
no row that the training would not read. With many rows one part judges; with few, several do in turn.

Logistic points are tried first, along the strengths (`pairsift.strength.walk`); the others then, from a decade below
the strength that was found, and one of them is taken where it is shown to be better: by more than `LEAST_GAIN`, and by
more than the standard error of the difference; and again where there are new rows to judge by, and all rows drawn so
far are learned from.

The best C of a mean loss grows as the rows do: the more they are, the less has to be held back. (In a sum over rows, as
other programs have it, the best weight of a row is one number.) So the C that was found on a few rows is multiplied by
how many times as many rows are trained on, counted as 1 / (1 / n+ + 1 / n-).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Sequence
from dataclasses import replace

import numpy as np

from pairsift._typing import FloatArray
from pairsift.block.choice import Choice, Trial
from pairsift.block.early import stopping_early
from pairsift.data.drawn_rows import Drawing, Piece, compacted
from pairsift.solvers.mixed import solve_mixed
from pairsift.solvers.mixed_objective import Mix
from pairsift.solvers.mixed_solution import MixedSolution
from pairsift.strength.judge import Judge
from pairsift.strength.steps import telling
from pairsift.strength.walk import LEAST_GAIN, STEP, Walk

START = 1.0
HELD_OUT = 0.2
JUDGING_ROWS = 5000
LEARNING_ROWS = 4000
# Stored values that are learned from at most, so that wide rows do not make the choice dearer than the training.
LEARNING_VALUES = 500_000
# Fewer judging rows of a class than that are too noisy: several parts judge in turn.
ROWS_TO_SEE = 500
FOLDS = 5
FOLD_ROWS = 1250
TOL = 1e-2
MOST_STEPS_UP = 5
MAX_ITER = 30
PRECISION = 1e-3
ERRORS_TO_CHANGE = 1.0
NEW_ROWS = 20_000


class _Path:
    """Loose solutions over some pieces, each started from the one before."""

    most_steps_up = MOST_STEPS_UP

    def __init__(self, pieces: Sequence[Piece], mix: Mix, total: float, start: MixedSolution | None = None) -> None:
        self.mix, self.total = mix, total
        self._n_features = pieces[0].rows.n_features
        self._pieces, self._columns = compacted(pieces) if start is None else (list(pieces), None)
        self._evidence = _weight_of_evidence(
            sum(piece.n_positive for piece in pieces), sum(piece.n_negative for piece in pieces)
        )
        self.found: dict[float, MixedSolution] = {}
        self._last = start

    def __call__(self, C: float) -> FloatArray:
        """Return w at strength C."""
        start = self._last
        *_, last = solve_mixed(
            self._pieces, C * self.total, self.mix, start, tol=TOL, max_iter=MAX_ITER, precision=PRECISION
        )
        self._last = last
        self.found[C] = last if self._columns is None else replace(last, w=self._whole(last.w))
        return self.found[C].w

    def _whole(self, w: FloatArray) -> FloatArray:
        """Return the weights of all columns."""
        whole = np.zeros(self._n_features)
        whole[self._columns] = w
        return whole

    def strength(self, C: float, rows: tuple[int, int]) -> float:
        """Return the strength for so many positives and negatives that C is for the rows of this path."""
        return C * max(1.0, _weight_of_evidence(*rows) / self._evidence)


def choosing(
    drawing: Drawing, mixes: Sequence[Mix], C: float | None, total: float, most: int, *, early: bool = False
) -> Generator[Choice, None, Choice]:
    """Choose one of the mixes, and C unless it is given; the first mix is preferred.

    After each trial the best so far is yielded, with its solution on the rows that were learned from. What is returned
    has the strength for all rows that will be trained on.

    Parameters
    ----------
    drawing : Drawing
        Nothing is drawn from it yet.
    mixes : sequence of Mix
    C : float or None
    total : float
        What C is multiplied by to give the weight of the mean loss.
    most : int
        Rows of each class that may be drawn.
    early : bool
        Try few steps over many rows too (`pairsift.block.early`), where there are rows enough to judge by.
    """
    parts = _parts(drawing, most)
    if early and len(parts) == 1 and C is None:
        return (yield from _choosing_early(drawing, parts, mixes[0], total, most))
    walks = [_TriedMix(parts, mix, total) for mix in mixes]
    best, *others = walks
    best_C = yield from telling(best.walk(C), best.so_far)
    for other in others:
        found = yield from telling(other.walk(C, best_C / STEP), best.told(best_C))
        if other.is_better(found, best, best_C) and _wins_again(
            drawing, most, [(other, found), (best, best_C)], C is None
        ):
            best, best_C = other, found
    trials = tuple(trial for walk in walks for trial in walk.trials())
    chosen = replace(best.choice(best_C), trials=trials)
    rows = min(drawing.problem.n_positive, most), min(drawing.problem.n_negative, most)
    return replace(chosen, C=best.paths[-1].strength(best_C, rows)) if C is None else chosen


def _choosing_early(
    drawing: Drawing, parts: Sequence[tuple[Sequence[Piece], Judge]], mix: Mix, total: float, most: int
) -> Generator[Choice, None, Choice]:
    """Choose between few steps and the minimum with another mix; both learn from all rows but those that judge."""
    ((_, judge),) = parts
    drawing.draw(most, most)
    learning = drawing.pieces[1:]  # the first are the judge's
    few, verdict = yield from stopping_early(learning, judge, total)
    other = _TriedMix(parts, mix, total)
    C = yield from telling(other.walk(None), lambda _: few)
    path, all_rows = other.paths[-1], (drawing.n_positive, drawing.n_negative)
    w = _Path(learning, mix, total)(path.strength(C, all_rows))
    gain, error = verdict.gain_over(judge(w))
    trials = (*few.trials, *other.trials())
    if gain > max(LEAST_GAIN, ERRORS_TO_CHANGE * error):
        return replace(few, trials=trials)
    return replace(other.choice(C), C=path.strength(C, all_rows), trials=trials)


def _wins_again(drawing: Drawing, most: int, rivals: Sequence[tuple[_TriedMix, float]], grows: bool) -> bool:
    """Whether the first of two is better again when both learn from all rows drawn so far and new rows judge.

    What the first rows showed may be an accident of the few that were learned from. Where hardly any new rows are left,
    they must do.
    """
    learning = list(drawing.pieces)
    rows = drawing.n_positive, drawing.n_negative
    new = _new_judge(drawing, most)
    if new is None:
        return True
    verdicts = []
    for tried, C in rivals:
        path = tried.paths[-1]
        again = _Path(learning, tried.mix, path.total, path.found[C])
        verdicts.append(new(again(path.strength(C, rows) if grows else C)))
    gain, error = verdicts[0].gain_over(verdicts[1])
    return gain > max(LEAST_GAIN, ERRORS_TO_CHANGE * error)


def _weight_of_evidence(n_positive: int, n_negative: int) -> float:
    """Return 1 / (1 / n+ + 1 / n-): what the variance of a difference of class means falls with."""
    return 1 / (1 / n_positive + 1 / n_negative)


class _TriedMix:
    """One mix on all parts."""

    def __init__(self, parts: Sequence[tuple[Sequence[Piece], Judge]], mix: Mix, total: float) -> None:
        self.mix = mix
        self.paths = [_Path(pieces, mix, total) for pieces, _ in parts]
        self._judges = [judge for _, judge in parts]
        self._walk = Walk(list(zip(self.paths, self._judges, strict=True)))

    def walk(self, C: float | None, start: float = START) -> Generator[None, None, float]:
        """Try a strength, or walk along the strengths, and return the best one."""
        if C is None:
            return self._walk.steps(start, half_step=False)  # all rows bear a larger C than these few
        return self._walk.see(C)

    def so_far(self, _: None) -> Choice:
        """Return the strength that was best so far."""
        return self.choice(max(self._walk.tried, key=lambda tried: tried.auc).C)

    def told(self, C: float) -> Callable[[None], Choice]:
        """Return what tells this mix at a strength, whatever others try."""
        choice = self.choice(C)
        return lambda _: choice

    def choice(self, C: float) -> Choice:
        """Return this mix at a strength that was tried, as the choice."""
        return Choice(self.mix, C, tuple(self.trials()), self.paths[-1].found[C])

    def is_better(self, C: float, other: _TriedMix, other_C: float) -> bool:
        """Whether this mix at C is shown to be better than another at its own strength."""
        gains, errors = [], []
        for judge, path, rival in zip(self._judges, self.paths, other.paths, strict=True):
            gain, error = judge(path.found[C].w).gain_over(judge(rival.found[other_C].w))
            gains.append(gain)
            errors.append(error)
        error = math.sqrt(sum(error**2 for error in errors)) / len(errors)
        return float(np.mean(gains)) > max(LEAST_GAIN, ERRORS_TO_CHANGE * error)

    def trials(self) -> list[Trial]:
        """Return all that was tried."""
        return [Trial(self.mix.loss, self.mix.gamma, *tried) for tried in self._walk.tried]


def _parts(drawing: Drawing, most: int) -> list[tuple[list[Piece], Judge]]:
    """Draw the first rows, and say which are learned from and which judge."""
    problem = drawing.problem
    sizes = min(problem.n_positive, most), min(problem.n_negative, most)
    judging = [min(math.ceil(HELD_OUT * n), JUDGING_ROWS) for n in sizes]
    n_parts = min(math.ceil(ROWS_TO_SEE / min(judging)), FOLDS)
    if n_parts == 1:
        judge = _drawn(drawing, *judging)
        learning = _most_rows(judge)
        goal = [min(first + learning, size) for first, size in zip(judging, sizes, strict=True)]
        return [([_drawn(drawing, *goal)], Judge.of(judge))]
    fold = [min(math.ceil(HELD_OUT * n), FOLD_ROWS) for n in sizes]
    # The last fold has what is left: the sizes are rounded up.
    goals = [[min(k * size, n) for size, n in zip(fold, sizes, strict=True)] for k in range(1, FOLDS + 1)]
    pieces = [_drawn(drawing, *goal) for goal in goals]
    return [([*pieces[:k], *pieces[k + 1 :]], Judge.of(pieces[k])) for k in range(n_parts)]


def _new_judge(drawing: Drawing, most: int) -> Judge | None:
    """Return a judge of rows that are drawn next, and so are new to all models; None where hardly any are left."""
    goals = [min(drawn + NEW_ROWS, most) for drawn in (drawing.n_positive, drawing.n_negative)]
    problem = drawing.problem
    left = min(
        min(goals[0], problem.n_positive) - drawing.n_positive, min(goals[1], problem.n_negative) - drawing.n_negative
    )
    return Judge.of(_drawn(drawing, *goals)) if left >= ROWS_TO_SEE else None


def _most_rows(judge: Piece) -> int:
    """Return how many rows of each class to learn from."""
    values = judge.rows.n_stored / max(judge.rows.n_rows, 1)
    return max(min(LEARNING_ROWS, int(LEARNING_VALUES / max(values, 1) / 2)), 500)


def _drawn(drawing: Drawing, n_positive: int, n_negative: int) -> Piece:
    piece = drawing.draw(n_positive, n_negative)
    assert piece is not None
    return piece
