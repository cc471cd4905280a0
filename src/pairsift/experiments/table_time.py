"""The paper's table of CPU times."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from math import exp, log

import numpy as np

from pairsift.experiments.paper import LABELS, SETS, paper
from pairsift.experiments.samples import Cells, missing_reason
from pairsift.experiments.table import Entry, Outcome, Table, absent, budget_text, seconds, source


def cpu_seconds(cells: Cells, name: str, method: str) -> float | None:
    """Return the CPU seconds of one training: the mean over folds of the mean over repeats; None if there is none."""
    by_fold: dict[int, list[float]] = {}
    for row in cells.find("time", name, method):
        if row.status == "done" and row.train_cpu is not None:
            by_fold.setdefault(row.fold, []).append(row.train_cpu)
    return float(np.mean([np.mean(times) for times in by_fold.values()])) if by_fold else None


def time_table(cells: Cells) -> Table:
    """Return the CPU time table."""
    values = paper()["time"]
    methods = values["columns"]
    rows = []
    ratios: dict[str, list[float]] = {method: [] for method in methods}
    for name in SETS:
        times = {method: cpu_seconds(cells, name, method) for method in methods}
        printed = values["rows"][name]
        for method, time in times.items():
            if time:
                ratios[method].append(printed[method] / time)
        entries = tuple(_time_entry(cells, name, method, times, printed) for method in methods)
        rows.append((name, (*entries, _repeats(cells, name, methods))))
    middle = tuple(
        Entry(f"{exp(np.mean(np.log(found))):.3g}×" if found else "", note=f"over {len(found)} sets")
        for found in ratios.values()
    )
    rows.append(("Geometric mean of the paper's seconds / ours", (*middle, Entry())))
    return Table(
        "time",
        f"CPU seconds of one training at {budget_text(cells.budgets('time'))} pairs",
        source(values),
        (*(LABELS[method] for method in methods), "runs × folds"),
        tuple(rows),
        rule=(
            "Seconds of another machine and other software cannot be the same: an entry is reproduced when the method "
            "is on the same side of soft-correct as in the paper, faster or slower."
        ),
        counts=_time_counts(cells),
        notes=("The third line of an entry is ours divided by the paper's. Only the training is timed, alone.",),
    )


def _time_entry(
    cells: Cells, name: str, method: str, times: dict[str, float | None], printed: dict[str, float]
) -> Entry:
    ours, theirs, pivot = times[method], printed[method], times["soft-correct"]
    if ours is None:
        entry = absent(missing_reason(cells.find("time", name, method)), seconds(theirs))
        return replace(entry, outcome="") if method == "soft-correct" else entry
    outcome: Outcome = "" if method == "soft-correct" else "not run"
    if method != "soft-correct" and pivot is not None:
        same = (ours < pivot) == (theirs < printed["soft-correct"])
        outcome = "reproduced" if same else "differs"
    ended = cells.find("time", name, method)
    lost = [row for row in ended if row.status != "done"]
    note = f"{len(lost)} of {len(ended)} runs are not in the mean: {missing_reason(lost)}" if lost else ""
    text = seconds(ours) + (f" ({len(lost)} not done)" if lost else "")
    return Entry(text, seconds(theirs), f"× {ours / theirs:.2g}", outcome, note=note)


def _repeats(cells: Cells, name: str, methods: Iterable[str]) -> Entry:
    done = [row for method in methods for row in cells.find("time", name, method) if row.status == "done"]
    if not done:
        return Entry()
    return Entry(f"{len({row.pool for row in done})} × {len({row.fold for row in done})}")


def _time_counts(cells: Cells) -> str:
    done = [row for row in cells.rows if row.experiment == "time" and row.status == "done"]
    return f"{len(done)} timed trainings; the last column has the most runs and folds of a row." if done else ""


def log_slope(points: list[float], values: list[float]) -> float:
    """Return the least-squares slope of log(values) on log(points): values grow as points to this power."""
    return float(np.polyfit([log(x) for x in points], [log(y) for y in values], 1)[0])
