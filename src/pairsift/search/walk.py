"""The walk along C: from the default up while that helps, else down while that helps; then the rule decides.

AUC as a function of C rises, is flat over decades, and on some data falls again; the cost of a fit rises with C. So
the walk begins at the default and takes a step of a decade only where the held-out rows show a gain: one above
`WORTH_A_STEP`, and above half its standard error going up or the whole of it going down (a C too small costs more than
one too large). So large C, whose fits are the dearest, are not tried where they cannot win. Of all that was tried the
one nearest the default is taken that cannot be told from the best (`pairsift.search.rule`); half a step back towards
the default may be tried last.

Far below the useful C every pair has a loss, w is proportional to C, and all C give one order of the rows. There, no
gain says nothing: the walk goes on up while |w| still grows nearly as C does. Far above them w has reached the widest
margin that the rows allow and no longer changes: there the walk goes on down until it does. Either holds only while AUC
does not fall: an order that got worse shows a fit that is not there yet, as with columns of very different sizes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from pairsift._typing import FloatArray
from pairsift.judge import LEVEL_95, Verdict
from pairsift.search.rule import error_of_mean, is_shown
from pairsift.search.steps import Found, outcome

STEP = 10.0
MOST_STEPS = 3
MOST_IDLE_STEPS = 8
WORTH_A_STEP = 1e-4
ERRORS_UP = 0.5
ERRORS_DOWN = 1.0
# |w| that grows by at least this power of the step is still held back by C alone; below that power, not at all.
LINEAR = 0.9
SATURATED = 0.05


Path = Callable[[float], FloatArray]
_Steps = Generator[None, None, Found]  # it yields after each trial, for whoever wants the best so far


class Tried(NamedTuple):
    """A strength that was tried: its AUC on the held-out rows, with the 95 % interval."""

    C: float
    auc: float
    low: float
    high: float


@dataclass(frozen=True)
class _Point:
    """A strength with the verdict of each held-out part; `length` is the mean |w|."""

    C: float
    verdicts: list[Verdict]
    length: float

    @property
    def auc(self) -> float:
        return float(np.mean([verdict.auc for verdict in self.verdicts]))


class Walk:
    """Tries strengths and remembers what they gave.

    Parameters
    ----------
    parts : sequence of (path, judge)
        For each held-out part: C -> w of the rows that are not in it, and w -> its verdict.
    """

    def __init__(self, parts: Sequence[tuple[Path, Callable[[FloatArray], Verdict]]]) -> None:
        self._parts = parts
        self._points: list[_Point] = []
        self._default = 1.0
        self.tried: list[Tried] = []

    def run(self, default: float) -> float:
        """Return the chosen strength."""
        return outcome(self.steps(default))

    def steps(self, default: float, *, half_step: bool = True) -> _Steps[float]:
        """Yield after each trial, and return the chosen C; without `half_step` none lies between the decades."""
        self._default = default
        start = yield from self._try(default)
        best = yield from self._up(start)
        if best is start:
            yield from self._down(start)
        chosen = self.chosen()
        if half_step and chosen != default:
            yield from self._try(chosen * (1 / math.sqrt(STEP) if chosen > default else math.sqrt(STEP)))
        return self.chosen()

    def chosen(self) -> float:
        """Return the C nearest the default, of those tried so far that cannot be told from the best."""
        best = max(self._points, key=lambda point: point.auc)
        good = [point for point in self._points if not _is_better(best, point)]
        return min(good, key=lambda point: (abs(math.log(point.C / self._default)), point.C)).C

    def see(self, C: float) -> _Steps[float]:
        """Try one C, and return it."""
        self._default = C
        yield from self._try(C)
        return C

    def _up(self, best: _Point) -> _Steps[_Point]:
        taken, idle = 0, 0
        most = min(getattr(path, "most_steps_up", MOST_STEPS) for path, _ in self._parts)
        while taken < most and idle < MOST_IDLE_STEPS:
            above = yield from self._try(best.C * STEP)
            growth = _growth(best, above)
            if growth > LINEAR and not _is_worth(best, above, ERRORS_UP):
                idle += 1
            elif growth > SATURATED and _is_worth(above, best, ERRORS_UP):
                taken += 1
            else:
                break
            best = above
        return best

    def _down(self, start: _Point) -> _Steps[None]:
        best, taken, idle = start, 0, 0
        while taken < MOST_STEPS and idle < MOST_IDLE_STEPS:
            below = yield from self._try(best.C / STEP)
            if _is_worth(below, best, ERRORS_DOWN):
                taken += 1
            elif _growth(below, best) < SATURATED and not _is_worth(best, below, ERRORS_UP):
                idle += 1
            else:
                break
            best = below

    def _try(self, C: float) -> _Steps[_Point]:
        verdicts, lengths = [], []
        for path, judge in self._parts:
            w = path(C)
            verdicts.append(judge(w))
            lengths.append(float(np.sqrt(np.sum(w * w))))
        point = _Point(C, verdicts, float(np.mean(lengths)))
        self._points.append(point)
        self.tried.append(tried(C, verdicts))
        yield
        return point


def tried(C: float, verdicts: Sequence[Verdict]) -> Tried:
    """Return the mean AUC of a strength on all held-out parts, with its interval."""
    mean = float(np.mean([verdict.auc for verdict in verdicts]))
    reach = LEVEL_95 * error_of_mean([verdict.error for verdict in verdicts])
    return Tried(C, mean, max(mean - reach, 0.0), min(mean + reach, 1.0))


def _difference(new: _Point, old: _Point) -> tuple[float, float]:
    """Return the mean gain over all parts, and its standard error."""
    pairs = zip(new.verdicts, old.verdicts, strict=True)
    gains, errors = zip(*(one.gain_over(other) for one, other in pairs), strict=True)
    return float(np.mean(gains)), error_of_mean(errors)


def _is_better(new: _Point, old: _Point) -> bool:
    return is_shown(*_difference(new, old))


def _is_worth(new: _Point, old: _Point, errors: float) -> bool:
    gain, error = _difference(new, old)
    return gain > max(WORTH_A_STEP, errors * error)


def _growth(below: _Point, above: _Point) -> float:
    """Return the power of the step by which |w| grew."""
    if not 0 < below.length < above.length:
        return 0.0
    return math.log(above.length / below.length) / math.log(STEP)
