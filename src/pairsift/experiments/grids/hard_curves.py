"""Figure "Performance Curves for Hard Version Samplings": what the runs of `hard` and `auc` recorded.

The paper shows real-sim and acoustic; news20 and bank stand beside them, or for them where they are not here.
"""

from __future__ import annotations

from collections.abc import Iterator

from pairsift.experiments.grids import auc, hard
from pairsift.experiments.grids.plan import HARD, SOFT, Plan
from pairsift.experiments.results import Cell, Results

NAME = "hard_curves"
TITLE = "Performance Curves for Hard Version Samplings"
SETS = ("real-sim", "acoustic", "news20", "bank")


def cells(plan: Plan, results: Results) -> Iterator[Cell]:
    """Yield soft and hard samplers and the baseline ERankSVM."""
    for dataset in plan.sets:
        if dataset in SETS:
            yield from plan.cells(auc.NAME, dataset, ("eranksvm", *SOFT))
            yield from plan.cells(hard.NAME, dataset, HARD)
