"""The fair table: the methods of `auc` and logistic regression, each with its C tuned.

C is chosen once a set, among 10^-3 ... 10^3 times the paper's, on the first outer fold with 3 inner folds and one pool
(experiment ``tune``), then all folds and 5 pools are run with it (experiment ``fair``). A quick run has three values of
C and no inner folds: it chooses on the test rows of the first fold, which flatters every method alike.
"""

from __future__ import annotations

from collections.abc import Iterator

from pairsift.experiments.grids.plan import BASELINES, SAMPLERS, Plan, is_here
from pairsift.experiments.results import Cell, Results

NAME = "fair"
TUNE = "tune"
TITLE = "AUC with C tuned"
METHODS = (*BASELINES, *SAMPLERS, "logistic-regression")
SCALES = tuple(10.0**power for power in range(-3, 4))
QUICK_SCALES = (0.1, 1.0, 10.0)
INNER_FOLDS = 3
POOLS = 5


def cells(plan: Plan, results: Results) -> Iterator[Cell]:
    """Yield all tuning cells, and the cells of the table for every set and method whose tuning has ended."""
    for dataset in plan.sets:
        yield from (cell for method in METHODS for cell in _tuning(plan, dataset, method))
    for dataset in plan.sets:
        for method in METHODS:
            ended, scale = chosen_scale(plan, results, dataset, method) if is_here(dataset) else (True, 1.0)
            if ended:
                yield from plan.cells(NAME, dataset, (method,), plan.settings(scale_C=scale), pools=POOLS)


def chosen_scale(plan: Plan, results: Results, dataset: str, method: str) -> tuple[bool, float | None]:
    """Return whether tuning has ended, and the C that it chose: the best AUC, of equal ones the smallest C.

    None is chosen when no tuning cell is done; then the cells of the table fail, and say so.
    """
    wanted = set(_tuning(plan, dataset, method))
    rows = [row for row in results.rows(TUNE, dataset, method) if row.cell in wanted]
    done = [row for row in rows if row.status == "done"]
    best = max(done, key=lambda row: (row.result["auc"], -row.settings["scale_C"]), default=None)
    return len(rows) == len(wanted), None if best is None else best.settings["scale_C"]


def _tuning(plan: Plan, dataset: str, method: str) -> Iterator[Cell]:
    scales, inner = (QUICK_SCALES, 0) if plan.quick else (SCALES, INNER_FOLDS)
    keys = (plan.settings(scale_C=scale, inner_folds=inner) for scale in scales)
    return plan.cells(TUNE, dataset, (method,), *keys, folds=1, pools=1)
