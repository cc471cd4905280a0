"""Table "CPU Time": eight methods, all folds and pools, each cell alone on the machine."""

from __future__ import annotations

from collections.abc import Iterator

from pairsift.experiments.grids.plan import BASELINES, HARD, SAMPLERS, Plan
from pairsift.experiments.results import Cell, Results

NAME = "time"
TITLE = "CPU time under a budget of 8000 pairs (seconds)"


def cells(plan: Plan, results: Results) -> Iterator[Cell]:
    """Yield eight methods; as many repeats of the deterministic ones as there are pools, for times differ."""
    for dataset in plan.sets:
        for fold in plan.folds(dataset):
            for method in (*SAMPLERS, *HARD, *BASELINES):
                for pool in range(plan.seeds):
                    yield Cell(NAME, dataset, fold, method, pool, plan.settings())
