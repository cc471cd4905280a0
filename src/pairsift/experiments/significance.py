"""Tests between methods on one data set: a method's sample is one value a pool, the mean over folds.

Two samplers share their pools: paired t-test over the pools that both have. A deterministic method is one number:
one-sample t-test of the sampler's values against it. Both are right-tailed: "win" says that the first is larger at
95 %, "loss" that the second is, each by its own one-sided test, "tie" that neither is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import isnan, nan, sqrt
from typing import Literal

import numpy as np

LEVEL = 0.95

Verdict = Literal["win", "loss", "tie", "untested"]


@dataclass(frozen=True)
class Comparison:
    """Mean of first minus second, the p-value of "the first is larger", and how many values it is from."""

    difference: float
    p_greater: float
    n: int

    @property
    def verdict(self) -> Verdict:
        """The outcome at `LEVEL`; "untested" with fewer than two values."""
        if isnan(self.p_greater):
            return "untested"
        if self.p_greater < 1 - LEVEL:
            return "win"
        return "loss" if self.p_greater > LEVEL else "tie"


@dataclass(frozen=True)
class Tally:
    """Wins, losses and ties over data sets; on how many there was no test; on how many the first mean is higher."""

    wins: int = 0
    losses: int = 0
    ties: int = 0
    untested: int = 0
    higher: int = 0

    @property
    def tested(self) -> int:
        """Number of sets with a test."""
        return self.wins + self.losses + self.ties

    @property
    def compared(self) -> int:
        """Number of sets with values of both, whether there is a test or not."""
        return self.tested + self.untested

    def __str__(self) -> str:
        return f"{self.wins}/{self.losses}/{self.ties}"


def tally(comparisons: Iterable[Comparison]) -> Tally:
    """Count verdicts."""
    found = list(comparisons)
    verdicts = [comparison.verdict for comparison in found]
    wins, losses, ties, untested = (verdicts.count(name) for name in ("win", "loss", "tie", "untested"))
    return Tally(wins, losses, ties, untested, sum(comparison.difference > 0 for comparison in found))


def compare(first: Mapping[int, float], second: Mapping[int, float]) -> Comparison:
    """Compare two methods by their values a pool.

    With one value in `second` and more in `first` the second is deterministic (one-sample test), and the other way
    round; otherwise the values are paired by their keys.
    """
    if len(first) > 1 and len(second) == 1:
        return one_sided([value - next(iter(second.values())) for value in first.values()])
    if len(first) == 1 and len(second) > 1:
        return one_sided([next(iter(first.values())) - value for value in second.values()])
    return one_sided([first[key] - second[key] for key in sorted(first.keys() & second.keys())])


def one_sided(differences: Iterable[float]) -> Comparison:
    """Test whether the mean of `differences` is above 0, by Student's t with n - 1 degrees of freedom.

    Differences that are all equal (to rounding) have no variance: their sign decides.
    """
    d = np.asarray(list(differences), dtype=np.float64)
    if len(d) < 2:
        return Comparison(float(d[0]) if len(d) else nan, nan, len(d))
    mean, spread = float(np.mean(d)), float(np.std(d, ddof=1))
    if spread <= 1e-12 * max(1e-3, abs(mean)):
        return Comparison(mean, 0.5 - 0.5 * float(np.sign(mean)) if abs(mean) > 1e-15 else 0.5, len(d))
    from scipy.special import stdtr

    return Comparison(mean, float(stdtr(len(d) - 1, -mean * sqrt(len(d)) / spread)), len(d))
