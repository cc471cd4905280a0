"""The choice of terms, loss and C on held-out rows, from a few thousand rows of each class.

The rows that are drawn first are cut into those that judge and those that are learned from (`pairsift.search.parts`).
They stay drawn, so that the choice reads no row that the training would not read. With many rows one part judges; with
few, several do in turn.

The first of the candidates is tried along the values of C (`pairsift.search.walk`); the others then, from a decade
below the C that was found, and one of them is taken where it is shown to be better (`pairsift.search.rule`); and again
where there are new rows to judge by, and all rows drawn so far are learned from.

The best C of a mean loss grows as the rows do: the more they are, the less has to be held back. (In a sum over rows, as
other programs have it, the best weight of a row is one number.) So the C that was found on a few rows is multiplied by
how many times as many rows are trained on, counted as 1 / (1 / n+ + 1 / n-) with the weights of the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import replace

import numpy as np

from pairsift._typing import FloatArray
from pairsift.data.drawn_rows import Piece, compacted
from pairsift.judge import Judge
from pairsift.search import sizes
from pairsift.search.choice import Choice, Trial, terms_of
from pairsift.search.early import stopping_early
from pairsift.search.parts import LearningRows, Part, apart_from, rows_of, weight_of
from pairsift.search.rule import error_of_mean, is_shown
from pairsift.search.steps import telling
from pairsift.search.walk import STEP, Walk
from pairsift.solvers.mixed import solve_mixed
from pairsift.solvers.mixed_objective import Mix
from pairsift.solvers.mixed_solution import MixedSolution

START = 8000.0
"""Where the walk along C begins, for the few thousand rows that it learns from."""
TOL = 1e-2
MOST_STEPS_UP = 5
MAX_ITER = 30
PRECISION = 1e-3
NEW_ROWS = 20_000


class _Path:
    """Loose solutions over some pieces, each started from the one before."""

    most_steps_up = MOST_STEPS_UP

    def __init__(
        self, pieces: Sequence[Piece], mix: Mix, weight: tuple[float, float], start: MixedSolution | None = None
    ) -> None:
        self.mix = mix
        self._n_features = pieces[0].rows.n_features
        self._pieces, self._columns = compacted(pieces) if start is None else (list(pieces), None)
        self._evidence = _evidence(*weight)
        self.n_rows = rows_of(pieces)
        self.found: dict[float, MixedSolution] = {}
        self._last = start

    def __call__(self, C: float) -> FloatArray:
        """Return w at C."""
        start = self._last
        *_, last = solve_mixed(self._pieces, C, self.mix, start, tol=TOL, max_iter=MAX_ITER, precision=PRECISION)
        self._last = last
        self.found[C] = last if self._columns is None else replace(last, w=self._whole(last.w))
        return self.found[C].w

    def _whole(self, w: FloatArray) -> FloatArray:
        """Return the weights of all columns."""
        whole = np.zeros(self._n_features)
        whole[self._columns] = w
        return whole

    def grown(self, C: float, weight: tuple[float, float]) -> float:
        """Return what C is for rows of so much weight in each class."""
        return C * max(1.0, _evidence(*weight) / self._evidence)


def choosing(
    rows: LearningRows, mixes: Sequence[Mix], C: float | None, most: int, *, early: bool = False
) -> Generator[Choice, None, Choice | None]:
    """Choose one of the mixes, and C unless it is given; the first mix is preferred.

    After each trial the best so far is yielded, with its solution on the rows that were learned from. What is returned
    has the C for all rows that will be trained on; None where the rows are too few to choose on.

    Parameters
    ----------
    rows : LearningRows
        Nothing is drawn from it yet.
    mixes : sequence of Mix
    C : float or None
    most : int
        Rows of each class that may be learned from.
    early : bool
        Try few steps over many rows too (`pairsift.search.early`), where there are rows enough to judge by.
    """
    parts = rows.parts(most)
    if not parts:
        return None
    if early and len(parts) == 1 and C is None:
        return (yield from _choosing_early(rows, parts[0], mixes[0], most))
    walks = [_TriedMix(parts, mix) for mix in mixes]
    best, *others = walks
    best_C = yield from telling(best.walk(C), best.so_far)
    for other in others:
        found = yield from telling(other.walk(C, best_C / STEP), best.told(best_C))
        if other.is_better(found, best, best_C) and _wins_again(
            rows, most, [(other, found), (best, best_C)], C is None
        ):
            best, best_C = other, found
    trials = tuple(trial for walk in walks for trial in walk.trials())
    chosen = replace(best.choice(best_C), trials=trials)
    return replace(chosen, C=best.paths[-1].grown(best_C, weight_to_learn(rows, most))) if C is None else chosen


def _choosing_early(rows: LearningRows, part: Part, mix: Mix, most: int) -> Generator[Choice, None, Choice]:
    """Choose between few steps and the minimum with another mix; both learn from all rows but those that judge."""
    rows.draw(most, most)
    learning = [piece for piece in (apart_from(piece, [part.judging]) for piece in rows.pieces) if piece.rows.n_rows]
    few, verdict = yield from stopping_early(learning, part.judge)
    other = _TriedMix([part], mix)
    C = yield from telling(other.walk(None), lambda _: few)
    grown = other.paths[-1].grown(C, weight_of(rows.pieces))
    w = _Path(learning, mix, weight_of(learning))(grown)
    trials = (*few.trials, *other.trials())
    if is_shown(*verdict.gain_over(part.judge(w))):
        return replace(few, trials=trials)
    return replace(other.choice(C), C=grown, trials=trials)


def _wins_again(rows: LearningRows, most: int, rivals: Sequence[tuple[_TriedMix, float]], grows: bool) -> bool:
    """Whether the first of two is better again when both learn from all rows drawn so far and new rows judge.

    What the first rows showed may be an accident of the few that were learned from. Where hardly any new rows are left,
    they must do.
    """
    learning = list(rows.pieces)
    weight = weight_of(learning)
    new = _new_judge(rows, most)
    if new is None:
        return True
    verdicts = []
    for tried, C in rivals:
        path = tried.paths[-1]
        again = _Path(learning, tried.mix, weight, path.found[C])
        verdicts.append(new(again(path.grown(C, weight) if grows else C)))
    return is_shown(*verdicts[0].gain_over(verdicts[1]))


def weight_to_learn(rows: LearningRows, most: int) -> tuple[float, float]:
    """Return the weight of the rows of each class that will be learned from, as far as it is known before."""
    problem = rows.problem
    sides = ((problem.n_positive, problem.positive_weights), (problem.n_negative, problem.negative_weights))
    positive, negative = (
        (float(n) if weights is None else float(np.sum(weights))) * min(1 - rows.held_share, most / n)
        for n, weights in sides
    )
    return positive, negative


def _evidence(positive: float, negative: float) -> float:
    """Return 1 / (1 / n+ + 1 / n-): what the variance of a difference of class means falls with."""
    return 1 / (1 / positive + 1 / negative)


class _TriedMix:
    """One mix on all parts."""

    def __init__(self, parts: Sequence[Part], mix: Mix) -> None:
        self.mix = mix
        self.paths = [_Path(part.learning, mix, part.weight) for part in parts]
        self._judges = [part.judge for part in parts]
        self._walk = Walk(list(zip(self.paths, self._judges, strict=True)))

    def walk(self, C: float | None, start: float = START) -> Generator[None, None, float]:
        """Try one C, or walk along its values, and return the chosen one."""
        if C is None:
            return self._walk.steps(start, half_step=False)  # all rows bear a larger C than these few
        return self._walk.see(C)

    def so_far(self, _: None) -> Choice:
        """Return what would be chosen so far."""
        return self.choice(self._walk.chosen())

    def told(self, C: float) -> Callable[[None], Choice]:
        """Return what tells this mix at a C, whatever others try."""
        choice = self.choice(C)
        return lambda _: choice

    def choice(self, C: float) -> Choice:
        """Return this mix at a C that was tried, as the choice."""
        path = self.paths[-1]
        return Choice(self.mix, C, tuple(self.trials()), path.found[C], n_rows=path.n_rows)

    def is_better(self, C: float, other: _TriedMix, other_C: float) -> bool:
        """Whether this mix at C is shown to be better than another at its own."""
        gains, errors = [], []
        for judge, path, rival in zip(self._judges, self.paths, other.paths, strict=True):
            gain, error = judge(path.found[C].w).gain_over(judge(rival.found[other_C].w))
            gains.append(gain)
            errors.append(error)
        return is_shown(float(np.mean(gains)), error_of_mean(errors))

    def trials(self) -> list[Trial]:
        """Return all that was tried."""
        return [Trial(terms_of(self.mix), self.mix.loss, *tried) for tried in self._walk.tried]


def _new_judge(rows: LearningRows, most: int) -> Judge | None:
    """Return a judge of rows that are drawn next, and so are new to all models; None where hardly any are left."""
    before = list(rows.pieces)
    new = rows.draw(*(min(drawn + NEW_ROWS, most) for drawn in (rows.n_positive, rows.n_negative)))
    if new is None:
        return None
    new = apart_from(new, before)
    return Judge.of(new) if min(new.n_positive, new.n_negative) >= sizes.LEAST_NEW_ROWS else None
