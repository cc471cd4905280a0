"""What a fit chooses: terms, loss and C, with the trials that led there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from pairsift.solvers.mixed_objective import Mix
from pairsift.solvers.mixed_solution import MixedSolution

PAIRS, POINTS = "pairs", "points"


def terms_of(mix: Mix) -> str:
    """Return what a loss is taken over, as users name it."""
    return PAIRS if mix.gamma == 1 else POINTS


class Trial(NamedTuple):
    """Terms, loss and C that were tried: their AUC on the held-out rows, with the 95 % interval."""

    terms: str
    loss: str
    C: float
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Choice:
    """What was chosen, what was seen, and a first solution on the rows that were learned from.

    ``n_rows`` are the negative and positive rows that the first solution was learned from. ``steps`` is how many Newton
    steps to make from zero, where that was chosen too; None is as many as it takes.
    """

    mix: Mix
    C: float
    trials: tuple[Trial, ...] = ()
    start: MixedSolution | None = None
    steps: int | None = None
    n_rows: tuple[int, int] = (0, 0)

    @property
    def terms(self) -> str:
        """What the loss is taken over."""
        return terms_of(self.mix)

    def facts(self) -> dict[str, Any]:
        """Return it as a model file keeps it."""
        return {
            "terms": self.terms,
            "loss": self.mix.loss,
            "C": self.C,
            **({} if self.steps is None else {"steps": self.steps}),
            "trials": [list(trial) for trial in self.trials],
        }
