"""What block training chooses: loss, gamma and C, with the trials that led there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from pairsift.solvers.mixed_objective import Mix
from pairsift.solvers.mixed_solution import MixedSolution
from pairsift.strength.walk import Tried


class Trial(NamedTuple):
    """A loss, gamma and C that were tried: their AUC on the held-out rows, with the 95 % interval."""

    loss: str
    gamma: float
    C: float
    auc: float
    low: float
    high: float


@dataclass(frozen=True)
class Choice:
    """What was chosen, what was seen, and a first solution on the rows that were learned from.

    ``steps`` is how many Newton steps to make from zero, where that was chosen too; None is as many as it takes.
    """

    mix: Mix
    C: float
    trials: tuple[Trial, ...] = ()
    start: MixedSolution | None = None
    steps: int | None = None

    @property
    def path(self) -> tuple[Tried, ...]:
        """The strengths that were tried with the chosen loss and gamma."""
        mine = [trial for trial in self.trials if (trial.loss, trial.gamma) == (self.mix.loss, self.mix.gamma)]
        return tuple(sorted(Tried(*trial[2:]) for trial in mine))

    def facts(self) -> dict[str, Any]:
        """Return it as a model file keeps it."""
        return {
            "loss": self.mix.loss,
            "gamma": self.mix.gamma,
            "C": self.C,
            **({} if self.steps is None else {"steps": self.steps}),
            "C_path": [list(tried) for tried in self.path],
            "trials": [list(trial) for trial in self.trials],
        }
