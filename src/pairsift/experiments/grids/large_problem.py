"""Figure "Potential Problem with Larger Budget": 3 pools, 1 fold.

The paper shows real-sim; letter and mnist stand beside it, or for it where it is not here.
"""

from __future__ import annotations

from collections.abc import Iterator

from pairsift.experiments.grids.plan import BASELINES, SAMPLERS, Plan
from pairsift.experiments.results import Cell, Results

NAME = "large_problem"
TITLE = "Potential Problem with Larger Budget (B = 50000, b = 1250): AUC and rejected draws"
SETS = ("real-sim", "letter", "mnist")
BUDGET, BATCH = 50000, 1250
POOLS = 3
FOLDS = 1


def cells(plan: Plan, results: Results) -> Iterator[Cell]:
    """Yield samplers and baselines on sets where soft-correct drops."""
    settings = plan.settings(budget=BUDGET, batch_size=BATCH)
    for dataset in plan.sets:
        if dataset in SETS:
            yield from plan.cells(NAME, dataset, (*BASELINES, *SAMPLERS), settings, folds=FOLDS, pools=POOLS)
