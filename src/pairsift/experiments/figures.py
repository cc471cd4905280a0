"""The paper's figures as data: panels of curves over the size of L*, with horizontal lines for methods without one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from pairsift.experiments.paper import LABELS, SETS, paper
from pairsift.experiments.results import Row
from pairsift.experiments.samples import Cells, missing_reason
from pairsift.experiments.table_time import cpu_seconds

SAMPLERS = ("random", "soft-close", "soft-correct")
LINES = ("wsvm", "eranksvm", "crr")
HARD = ("hard-close", "hard-correct")
PAIRS = "|L*|, number of chosen pairs"
AUC = "AUC on test rows"
REJECTED = "rejected draws per accepted pair"


@dataclass(frozen=True)
class Series:
    """A method in a panel: a curve; a horizontal line when `x` has one place less than two; or points."""

    method: str
    x: list[float]
    y: list[float]
    kind: Literal["curve", "line", "points"] = "curve"
    names: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Panel:
    """One plot. `note` says how many runs it is from; `log_x` and `log_y` ask for logarithmic axes."""

    name: str
    x_label: str
    y_label: str
    series: list[Series]
    note: str = ""
    log_x: bool = False
    log_y: bool = False


@dataclass(frozen=True)
class Figure:
    """A figure: its panels, and the sets that the paper shows and we have no data for."""

    key: str
    title: str
    source: str
    panels: list[Panel]
    notes: list[str]


def mean_curve(rows: Iterable[Row], what: str) -> Series | None:
    """Return the mean of curves over all done folds and pools; None when there is none.

    Curves are averaged over the sizes of L* that most of them have.
    """
    curves = [row.result["curve"] for row in rows if row.status == "done" and row.result.get("curve", {}).get(what)]
    if not curves:
        return None
    grid, _ = Counter(tuple(curve["pairs"]) for curve in curves).most_common(1)[0]
    values = np.mean([curve[what] for curve in curves if tuple(curve["pairs"]) == grid], axis=0)
    return Series("", [float(size) for size in grid], [float(value) for value in values])


def _curves(cells: Cells, experiment: str, name: str, methods: Sequence[str], what: str) -> list[Series]:
    found = []
    for method in methods:
        curve = mean_curve(cells.find(experiment, name, method), what)
        if curve:
            found.append(Series(method, curve.x, curve.y))
    return found


def _lines(cells: Cells, experiment: str, name: str, methods: Sequence[str]) -> list[Series]:
    found = []
    for method in methods:
        sample = cells.sample(experiment, name, method)
        if sample:
            found.append(Series(method, [], [sample.mean], "line"))
    return found


def _counts(cells: Cells, experiment: str, name: str) -> str:
    done = [row for method in SAMPLERS for row in cells.find(experiment, name, method) if row.status == "done"]
    pools, folds = len({row.pool for row in done}), len({row.fold for row in done})
    return f"{pools} pool{'s' * (pools != 1)}, {folds} fold{'s' * (folds != 1)}"


def _panels(cells: Cells, experiment: str, what: str, *, lines: bool, names: Iterable[str] = SETS) -> list[Panel]:
    panels = []
    for name in names:
        series = _curves(cells, experiment, name, SAMPLERS, what)
        if not series:
            continue
        if lines:
            series += _lines(cells, experiment, name, LINES)
        label = AUC if what == "auc" else REJECTED
        panels.append(Panel(name, PAIRS, label, series, _counts(cells, experiment, name)))
    return panels


def _missing(cells: Cells, experiment: str, panels: list[Panel]) -> list[str]:
    shown = {panel.name for panel in panels}
    by_reason: dict[str, list[str]] = {}
    for name in SETS:
        if name not in shown:
            reason = missing_reason(cells.find(experiment, name, "soft-correct"))
            by_reason.setdefault(reason, []).append(name)
    return [f"{reason}: {', '.join(names)}." for reason, names in by_reason.items()]


def _stand_ins(cells: Cells, experiment: str, method: str, wanted: Sequence[str], panels: list[Panel]) -> list[str]:
    """Say which sets of the paper's figure are missing, and why; the sets that are shown then stand for them."""
    shown = dict.fromkeys(panel.name for panel in panels)
    missing = {name: missing_reason(cells.find(experiment, name, method)) for name in wanted if name not in shown}
    if not missing:
        return []
    instead = [name for name in shown if name not in wanted]
    reasons = ", ".join(f"{name}: {reason}" for name, reason in missing.items())
    return [f"{reasons}. {'Shown instead: ' + ', '.join(instead) + '.' if instead else ''}".strip()]


def auc_figure(cells: Cells) -> Figure:
    """Return AUC against |L*| for every set."""
    panels = _panels(cells, "auc", "auc", lines=True)
    return Figure(
        "fig-auc",
        "AUC against the number of chosen pairs",
        "Paper: “Performance Curves on Different Datasets” (fig:auc)",
        panels,
        _missing(cells, "auc", panels),
    )


def rejected_figure(cells: Cells) -> Figure:
    """Return rejected draws per accepted pair against |L*| for every set."""
    panels = _panels(cells, "auc", "rejected", lines=False)
    return Figure(
        "fig-rejected",
        "Rejected draws per accepted pair",
        "Paper: “Number of Pairs Rejected on Different Datasets” (fig:eff)",
        panels,
        _missing(cells, "auc", panels),
    )


def hard_figure(cells: Cells) -> Figure:
    """Return curves of the hard versions beside the soft ones: the paper's sets where they are here, or stand-ins."""
    panels = []
    for name in sorted(SETS, key=lambda name: name not in ("real-sim", "acoustic", "news20", "bank")):
        hard = _curves(cells, "hard", name, HARD, "auc")
        if hard:
            soft = _curves(cells, "auc", name, SAMPLERS[1:], "auc")
            series = [*soft, *hard, *_lines(cells, "auc", name, ("eranksvm",))]
            panels.append(Panel(name, PAIRS, AUC, series, _counts(cells, "auc", name)))
    return Figure(
        "fig-hard",
        "Hard versions of sampling",
        "Paper: “Performance Curves for Hard Version Samplings” (fig:hard), on real-sim and acoustic",
        panels,
        _stand_ins(cells, "hard", "hard-correct", ("real-sim", "acoustic"), panels),
    )


def budget_figure(cells: Cells) -> Figure:
    """Return AUC with larger budgets."""
    panels = _panels(cells, "large_budget", "auc", lines=True)
    return Figure(
        "fig-budget",
        "Larger budgets",
        "Paper: “Performance on Larger Budget under gamma = 1.0” (fig:large_budget), on protein and bank",
        panels,
        _stand_ins(cells, "large_budget", "soft-correct", ("protein", "bank"), panels),
    )


def problem_figure(cells: Cells) -> Figure:
    """Return AUC and rejected draws where the paper sees a problem of soft-correct."""
    both = [
        *_panels(cells, "large_problem", "auc", lines=True),
        *_panels(cells, "large_problem", "rejected", lines=False),
    ]
    panels = sorted(both, key=lambda panel: list(SETS).index(panel.name))
    return Figure(
        "fig-problem",
        "The problem of soft-correct with a larger budget",
        "Paper: “Potential Problem with Larger Budget” (fig:large_problem), on real-sim",
        panels,
        _stand_ins(cells, "large_problem", "soft-correct", ("real-sim",), panels),
    )


def time_figure(cells: Cells) -> Figure:
    """Return CPU time against the number of rows: what the paper says of its table of times, as a picture."""
    statistics = paper()["statistics"]["rows"]
    series = []
    for method in paper()["time"]["columns"]:
        timed = sorted(
            (statistics[name]["points"], time, name)
            for name in SETS
            if (time := cpu_seconds(cells, name, method)) is not None and time > 0
        )
        if timed:
            points, times, names = (list(column) for column in zip(*timed, strict=True))
            series.append(Series(method, [float(n) for n in points], times, "points", names))
    panels = [Panel("all sets", "N, rows", "CPU seconds", series, "a point a set", True, True)] if series else []
    return Figure(
        "fig-time",
        "CPU time against the number of rows",
        "Not a figure of the paper: its table of CPU times (tab:time), ours, drawn over N",
        panels,
        [] if panels else ["not run"],
    )


def all_figures(cells: Cells) -> list[Figure]:
    """Return every figure, in the paper's order; the time figure comes last."""
    makers = (hard_figure, auc_figure, rejected_figure, budget_figure, problem_figure, time_figure)
    return [make(cells) for make in makers]


def label(method: str) -> str:
    """Return what a legend prints for a method."""
    return LABELS.get(method, method)
