"""Table "Optimal gamma": {uniform, 0.1, ..., 1.0} with and without threshold; 3 pools, and 2 folds on slow sets.

At gamma = 1 the threshold cancels and the run is one of `auc`.
"""

from __future__ import annotations

from collections.abc import Iterator

from pairsift.experiments.grids import auc
from pairsift.experiments.grids.plan import SOFT, Plan
from pairsift.experiments.results import Cell, Results

NAME = "gamma"
TITLE = "Optimal gamma on different data sets"
GAMMAS: tuple[float | str, ...] = ("uniform", 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
QUICK_GAMMAS: tuple[float | str, ...] = ("uniform", 0.5, 1.0)
POOLS = 3
SLOW_FOLDS = 2
# Over 1 s a fit of a soft sampler: measured here; of the sets that were not here, those that took the paper over 3 s.
SLOW = ("mnist", "news20", "yahoo1", "yahoo1_v2", "yahoo2", "yahoo2_v2", "protein", "rcv1", "url")


def cells(plan: Plan, results: Results) -> Iterator[Cell]:
    """Yield the soft samplers at each gamma with and without threshold, and ERankSVM to compare with."""
    values = [value for value in (QUICK_GAMMAS if plan.quick else GAMMAS) if value != 1.0]
    keys = [plan.settings(gamma=value, threshold=threshold) for value in values for threshold in (False, True)]
    for dataset in plan.sets:
        folds = SLOW_FOLDS if dataset in SLOW else None
        yield from plan.cells(auc.NAME, dataset, ("eranksvm", *SOFT), folds=folds, pools=POOLS)
        yield from plan.cells(NAME, dataset, SOFT, *keys, folds=folds, pools=POOLS)
