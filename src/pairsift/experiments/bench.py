"""Data sets x methods x peers side by side: training time, memory and AUC on the same rows held out.

The methods of a data set live at the same time, each in its own process, and train in turn, one at a time, round after
round, so that a machine that slows down slows all of them. The least time of the rounds counts: noise only adds.
"""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from typing import Any

from pairsift.data.datasets import find_dataset, part_path
from pairsift.experiments.methods import Setting, find_method
from pairsift.experiments.process import CellFailed, CellProcess
from pairsift.experiments.sets import fold_count

Progress = Callable[[str], None]


@dataclass
class Measured:
    """A cell of the bench. `status`: done, failed, out of time, skipped, or data not here; `reason` says why.

    Times are in seconds, the least of the repeats (all are in `cpu_repeats`); `memory` is in bytes, the largest.
    `ratios` has, for each peer, our number over the peer's, and the AUC's difference.
    """

    set: str
    method: str
    status: str = "done"
    reason: str | None = None
    rows: int | None = None
    columns: int | None = None
    cpu: float | None = None
    wall: float | None = None
    memory: int | None = None
    auc: float | None = None
    cpu_repeats: list[float] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    ratios: dict[str, dict[str, float | None]] = field(default_factory=dict)

    def end(self, status: str, reason: str) -> None:
        """Note that there is no result."""
        self.status, self.reason = status, reason

    def describe(self, size: dict[str, Any]) -> None:
        """Note the size of the training rows."""
        self.rows, self.columns = size["rows"], size["columns"]

    def finish(self, scored: dict[str, Any]) -> None:
        """Note the AUC on the rows held out."""
        self.auc = scored["auc"]

    def add(self, trained: dict[str, Any]) -> None:
        """Add what one training gave."""
        self.cpu_repeats.append(trained["cpu"])
        self.cpu = min(self.cpu_repeats)
        self.wall = min(trained["wall"], self.wall or trained["wall"])
        self.memory = max(trained["memory"], self.memory or 0)
        self.facts, self.warnings = trained["facts"], trained["warnings"]


@dataclass(frozen=True)
class Plan:
    """What to measure; `peers` are measured like methods, and the others are compared with them."""

    sets: Sequence[str]
    methods: Sequence[str]
    peers: Sequence[str] = ()
    repeats: int = 3
    threads: int = 1
    setting: Setting = field(default_factory=Setting)
    time_limit: float | None = None

    @property
    def all_methods(self) -> list[str]:
        """The peers first, then the methods; each once, by its full name."""
        return list(dict.fromkeys(find_method(name).name for name in [*self.peers, *self.methods]))


def run_bench(plan: Plan, progress: Progress = lambda line: None) -> dict[str, Any]:
    """Measure every cell of a plan; return a record that JSON can hold."""
    cells = [cell for name in plan.sets for cell in measure_set(plan, find_dataset(name).name, progress)]
    peers = [find_method(name).name for name in plan.peers]
    for cell in cells:
        cell.ratios = {peer: _compare(cell, _find(cells, cell.set, peer)) for peer in peers}
    return {
        "machine": describe_machine(),
        "repeats": plan.repeats,
        "threads": plan.threads,
        "setting": asdict(plan.setting),
        "peers": peers,
        "methods": plan.all_methods,
        "cells": [asdict(cell) for cell in cells],
    }


def measure_set(plan: Plan, name: str, progress: Progress) -> list[Measured]:
    """Measure all methods on one data set, in turns."""
    cells = [Measured(name, method) for method in plan.all_methods]
    with ExitStack() as stack:
        live = {cell.method: stack.enter_context(_start(plan, cell)) for cell in cells if _can_run(cell)}
        for cell in cells:
            _attempt(live, cell, CellProcess.ready, cell.describe)
        for turn in range(plan.repeats):
            for cell in cells:
                _attempt(live, cell, CellProcess.train, cell.add)
                progress(f"{name}, {cell.method}, {turn + 1} of {plan.repeats}: {_glance(cell)}")
        for cell in cells:
            _attempt(live, cell, CellProcess.score, cell.finish)
    return cells


def _start(plan: Plan, cell: Measured) -> CellProcess:
    task = {"set": cell.set, "method": cell.method, "setting": asdict(plan.setting), "threads": plan.threads}
    return CellProcess(task, plan.time_limit)


def _can_run(cell: Measured) -> bool:
    """Note in the cell what is missing, if anything."""
    missing, skip = _missing(cell.set), find_method(cell.method).skip()
    if missing or skip:
        cell.end("data not here" if missing else "skipped", missing or skip or "")
    return cell.status == "done"


def _missing(name: str) -> str | None:
    parts: tuple[Any, ...] = ("train", "test") if fold_count(name) == 1 else ("train",)
    if all(part_path(name, part) for part in parts):
        return None
    return f"run: pairsift datasets fetch {name}"


def _attempt(
    live: dict[str, CellProcess],
    cell: Measured,
    ask: Callable[[CellProcess], dict[str, Any]],
    keep: Callable[[dict[str, Any]], None],
) -> None:
    """Ask the process of a cell that is well so far; if it fails, that is the cell's result."""
    if cell.status != "done":
        return
    try:
        keep(ask(live[cell.method]))
    except CellFailed as failure:
        cell.end(failure.status, failure.reason)


def _glance(cell: Measured) -> str:
    return f"{cell.cpu_repeats[-1]:.3f} s" if cell.status == "done" else f"{cell.status}: {cell.reason}"


def _find(cells: list[Measured], name: str, method: str) -> Measured:
    return next(cell for cell in cells if (cell.set, cell.method) == (name, method))


def _compare(cell: Measured, peer: Measured) -> dict[str, float | None]:
    both = cell.status == "done" == peer.status
    ratio = {
        what: _ratio(getattr(cell, what), getattr(peer, what)) if both else None for what in ("cpu", "wall", "memory")
    }
    difference = cell.auc - peer.auc if both and cell.auc is not None and peer.auc is not None else None
    return {**ratio, "auc_difference": difference}


def _ratio(ours: float | None, theirs: float | None) -> float | None:
    return ours / theirs if ours is not None and theirs else None


def describe_machine() -> dict[str, Any]:
    """Return what the numbers depend on: processor, system, and versions."""
    from importlib.metadata import PackageNotFoundError, version

    versions = {}
    for package in ("pairsift", "numpy", "scipy", "scikit-learn", "liblinear-official"):
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "versions": versions,
        "date": time.strftime("%Y-%m-%d"),
    }


def _processor() -> str:
    try:
        with open("/proc/cpuinfo") as file:
            return next(line.split(":", 1)[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or "unknown"
