"""Table "Data Sets Statistics": counted in the data, not copied from the paper."""

from __future__ import annotations

from collections.abc import Iterator

from pairsift.experiments.grids.plan import Plan
from pairsift.experiments.results import Cell, Results, settings_key

NAME = "data"
TITLE = "Data Sets Statistics"
METHOD = "statistics"


def cells(plan: Plan, results: Results) -> Iterator[Cell]:
    """Yield one cell a set."""
    for dataset in plan.sets:
        yield Cell(NAME, dataset, 0, METHOD, 0, settings_key({}))
