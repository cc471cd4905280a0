"""Figure "Performance on Larger Budget": 3 pools, 1 fold.

The paper shows protein and bank; a9a stands beside protein, or for it where it is not here.
"""

from __future__ import annotations

from collections.abc import Iterator

from pairsift.experiments.grids.plan import BASELINES, SAMPLERS, Plan
from pairsift.experiments.results import Cell, Results

NAME = "large_budget"
TITLE = "Performance on Larger Budget under gamma = 1.0"
BUDGETS = {"protein": (80000, 500), "a9a": (80000, 500), "bank": (45000, 1125)}
POOLS = 3
FOLDS = 1


def cells(plan: Plan, results: Results) -> Iterator[Cell]:
    """Yield samplers and baselines at each set's budget B and batch b."""
    for dataset in plan.sets:
        if dataset in BUDGETS:
            budget, batch_size = BUDGETS[dataset]
            settings = plan.settings(budget=budget, batch_size=batch_size)
            yield from plan.cells(NAME, dataset, (*BASELINES, *SAMPLERS), settings, folds=FOLDS, pools=POOLS)
