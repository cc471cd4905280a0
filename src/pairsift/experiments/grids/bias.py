"""Table "The Benefit of Bias Correction": AUC with correction minus AUC without."""

from __future__ import annotations

from collections.abc import Iterator

from pairsift.experiments.grids import auc
from pairsift.experiments.grids.plan import SOFT, Plan
from pairsift.experiments.results import Cell, Results

NAME = "bias"
TITLE = "The Benefit of Bias Correction at |L*| = 8000, b = 100, gamma = 1.0"


def cells(plan: Plan, results: Results) -> Iterator[Cell]:
    """Yield the soft samplers without correction; those with it are cells of `auc`."""
    for dataset in plan.sets:
        yield from plan.cells(auc.NAME, dataset, SOFT)
        yield from plan.cells(NAME, dataset, SOFT, plan.settings(bias_correction=False))
