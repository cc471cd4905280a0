"""Table "AUC (mean±std)": B = 8000, b = 100, gamma = 1; all folds, all pools. Its runs record the curves."""

from __future__ import annotations

from collections.abc import Iterator

from pairsift.experiments.grids.plan import BASELINES, SAMPLERS, Plan
from pairsift.experiments.results import Cell, Results

NAME = "auc"
TITLE = "AUC (mean±std) at |L*| = 8000, b = 100, gamma = 1.0"


def cells(plan: Plan, results: Results) -> Iterator[Cell]:
    """Yield WSVM, ERankSVM, CRR and the three samplers on every set."""
    for dataset in plan.sets:
        yield from plan.cells(NAME, dataset, (*BASELINES, *SAMPLERS))
