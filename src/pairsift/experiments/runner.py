"""Runs the cells of experiments that are not in the store yet, in worker processes, and stores each as it ends."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path

import numpy as np

from pairsift import __version__
from pairsift.data.datasets import find_dataset
from pairsift.experiments.grids import ALONE, EXPERIMENTS
from pairsift.experiments.grids.fair import NAME as FAIR
from pairsift.experiments.grids.fair import chosen_scale
from pairsift.experiments.grids.plan import Plan, cell_seed, is_here
from pairsift.experiments.progress import Progress
from pairsift.experiments.results import Cell, Outcome, Results, Status
from pairsift.experiments.workers import Workers

_TRIED: tuple[Status, ...] = ("failed", "out of time")


def reproduce(
    plan: Plan,
    results: Results,
    *,
    only: Iterable[str] = (),
    jobs: int = 1,
    retry: bool = False,
    show: Callable[[Progress], None] = lambda progress: None,
    worker_command: Sequence[str] = (),
) -> Progress:
    """Run what is missing of a plan.

    Parameters
    ----------
    plan, results
        What is asked for, and the store, open for writing.
    only
        Names of experiments; by default all.
    jobs
        Worker processes. Cells of the table of times run while nothing else does.
    retry
        Try cells again that failed or ran out of time.
    show
        Called often with how far the run is.
    worker_command
        Another program than `pairsift.experiments.worker` that serves cells.

    Returns
    -------
    Progress
        How many cells ended how.

    Raises
    ------
    ValueError
        The store holds a run of the other mode: a quick one's numbers are of smaller problems.
    """
    mode = "quick" if plan.quick else "full"
    held = results.facts.setdefault("mode", mode)
    if held != mode:
        raise ValueError(f"{results.path} holds a {held} run, and this one is {mode}; name another file with -o.")
    results.set_fact("mode", mode)
    names = tuple(only) or tuple(EXPERIMENTS)
    _forget_stale(plan, results)
    if retry:
        _forget(results, (cell for cell, status in results.statuses().items() if status in _TRIED), plan, names)
    progress = Progress(results.rows(), jobs, ALONE)
    with Workers(jobs, worker_command) as workers:
        # More than once: which cells the fair table has is known when its tuning has ended.
        while missing := list(_missing(plan, results, names)):
            progress.plan(missing)
            _run(plan, results, workers, missing, progress, show)
    progress.finish(planned_cells(plan, results, names), results.statuses())
    return progress


def planned_cells(plan: Plan, results: Results, names: Iterable[str]) -> list[Cell]:
    """Return the cells of experiments in the order they are run, each once; one a method of sets that are not here."""
    here = {dataset: is_here(dataset) for dataset in plan.sets}
    cells: dict[Cell, None] = {}
    absent: dict[tuple[str, str, str], Cell] = {}
    for name in EXPERIMENTS:
        if name in names:
            for cell in EXPERIMENTS[name].cells(plan, results):
                if here[cell.dataset]:
                    cells[cell] = None
                else:
                    absent.setdefault((cell.experiment, cell.dataset, cell.method), cell)
    return [*absent.values(), *cells]


def _missing(plan: Plan, results: Results, names: Iterable[str]) -> Iterator[Cell]:
    stored = results.statuses()
    return (cell for cell in planned_cells(plan, results, names) if cell not in stored)


def _forget_stale(plan: Plan, results: Results) -> None:
    """Remove rows of sets that were not here and now are, and of the fair table at a C that is no longer chosen."""
    stored = results.statuses()
    stale = [cell for cell, status in stored.items() if status == "data not here" and is_here(cell.dataset)]
    for row in results.rows(FAIR):
        if row.status != "data not here" and row.dataset in plan.sets:
            ended, scale = chosen_scale(plan, results, row.dataset, row.method)
            if not ended or row.settings["scale_C"] != scale:
                stale.append(row.cell)
    results.remove(stale)


def _forget(results: Results, cells: Iterable[Cell], plan: Plan, names: tuple[str, ...]) -> None:
    planned = set(planned_cells(plan, results, names))
    results.remove([cell for cell in cells if cell in planned])
    _forget_stale(plan, results)


def _run(
    plan: Plan,
    results: Results,
    workers: Workers,
    cells: list[Cell],
    progress: Progress,
    show: Callable[[Progress], None],
) -> None:
    """Run cells in their order, as many at once as there are workers, those of the table of times alone."""
    waiting = iter(cells)
    cell = next(waiting, None)
    alone = False
    while cell is not None or not workers.all_idle:
        while cell is not None and workers.idle and not alone and (cell.experiment != ALONE or workers.all_idle):
            if not is_here(cell.dataset):
                _store(results, cell, _absent(cell), progress, 0.0)
            else:
                workers.give(cell, plan.limit(cell))
                progress.begin(cell)
                alone = cell.experiment == ALONE
            cell = next(waiting, None)
        show(progress)
        if not workers.all_idle:
            ended = workers.wait(lambda: show(progress))
            alone = False
            _store(results, ended.cell, ended.outcome, progress, ended.seconds)
            show(progress)


def _store(results: Results, cell: Cell, outcome: Outcome, progress: Progress, seconds: float) -> None:
    stamped = replace(
        outcome,
        seed=cell_seed(cell.dataset, cell.fold, cell.pool),
        version=__version__,
        machine=machine(),
        finished_at=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    results.put(cell, stamped)
    progress.end(cell, stamped.status, seconds)


def _absent(cell: Cell) -> Outcome:
    dataset = find_dataset(cell.dataset)
    return Outcome("data not here", reason=dataset.obtain or f"Run: pairsift datasets fetch {dataset.name}")


@lru_cache(maxsize=1)
def machine() -> str:
    """Return what timings depend on: processor, cores, Python and NumPy."""
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.is_file():
        lines = info.read_text(encoding="utf-8", errors="replace").splitlines()
        model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), model)
    return (
        f"{model}, {os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}, "
        f"NumPy {np.__version__}"
    )
