"""Table "Results Summary under 95% t-test": soft against hard versions."""

from __future__ import annotations

from collections.abc import Iterator

from pairsift.experiments.grids import auc
from pairsift.experiments.grids.plan import HARD, SOFT, Plan
from pairsift.experiments.results import Cell, Results

NAME = "hard"
TITLE = "Soft against hard versions under the t-test at 95 % (win/loss/tie)"


def cells(plan: Plan, results: Results) -> Iterator[Cell]:
    """Yield the hard samplers; the soft ones are cells of `auc`."""
    for dataset in plan.sets:
        yield from plan.cells(auc.NAME, dataset, SOFT)
        yield from plan.cells(NAME, dataset, HARD)
