"""The paper's experiments as data: one file a table or figure, each with its grid of cells.

A grid is a function ``cells(plan, results)``. Grids share cells: whatever is trained with the same settings is trained
once, under the experiment that the first of them names (see `pairsift.experiments.results`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from pairsift.experiments.grids import (
    auc,
    bias,
    curves,
    data,
    fair,
    gamma,
    hard,
    hard_curves,
    large_budget,
    large_problem,
    time,
)
from pairsift.experiments.grids.plan import Plan
from pairsift.experiments.results import Cell, Results


@dataclass(frozen=True)
class Experiment:
    """A table or figure: its name, what it shows, and its cells."""

    name: str
    title: str
    cells: Callable[[Plan, Results], Iterator[Cell]]


# Cheap and important ones first: a run that is stopped has them.
_MODULES = (data, auc, curves, bias, hard, hard_curves, time, large_budget, large_problem, fair, gamma)

EXPERIMENTS: dict[str, Experiment] = {
    module.NAME: Experiment(module.NAME, module.TITLE, module.cells) for module in _MODULES
}
ALONE = time.NAME
"""The experiment whose cells run while nothing else does."""
