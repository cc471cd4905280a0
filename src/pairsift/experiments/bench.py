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
from pairsift.experiments.programs import named_places
from pairsift.experiments.sets import fold_count
from pairsift.experiments.tuning import TUNED

Progress = Callable[[str], None]
_PACKAGES = (
    *("pairsift", "numpy", "scipy", "scikit-learn"),
    *("liblinear-official", "lightgbm", "xgboost", "vowpalwabbit"),
)


@dataclass
class Measured:
    """A cell of the bench. `status`: done, failed, out of time, not here, or data not here; `reason` says why.

    Times are in seconds, the least of the repeats (all are in `cpu_repeats`); `memory` is in bytes, the largest.
    `ratios` has, for each peer, our number over the peer's, and the AUC's difference. With C tuned, `scale_C` is what
    the paper's C was multiplied by, `tuning` the AUC of each factor on the validation part, and `tuning_cpu` the CPU
    seconds of all that, which `cpu` does not have.
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
    scale_C: float | None = None
    tuning_cpu: float | None = None
    tuning: dict[str, float] = field(default_factory=dict)

    def end(self, status: str, reason: str) -> None:
        """Note that there is no result."""
        self.status, self.reason = status, reason

    def describe(self, size: dict[str, Any]) -> None:
        """Note the size of the training rows, and how C was chosen."""
        self.rows, self.columns = size["rows"], size["columns"]
        self.scale_C, self.tuning_cpu, self.tuning = size.get("scale_C"), size.get("tuning_cpu"), size.get("tuning", {})

    def finish(self, scored: dict[str, Any]) -> None:
        """Note the AUC on the rows held out."""
        self.auc = scored["auc"]

    def add(self, trained: dict[str, Any]) -> None:
        """Add what one training gave."""
        self.cpu_repeats.append(trained["cpu"])
        self.cpu = min(self.cpu_repeats)
        self.wall = min(trained["wall"], self.wall or trained["wall"])
        if trained["memory"] is not None:
            self.memory = max(trained["memory"], self.memory or 0)
        self.facts, self.warnings = trained["facts"], trained["warnings"]


@dataclass
class Curve:
    """AUC on the rows held out as the training of an anytime method goes on, against CPU seconds since its start."""

    set: str
    method: str
    status: str = "done"
    reason: str | None = None
    cpu: list[float] = field(default_factory=list)
    auc: list[float] = field(default_factory=list)
    scale_C: float | None = None

    def end(self, status: str, reason: str) -> None:
        """Note that there is no result."""
        self.status, self.reason = status, reason

    def follow(self, cell: Measured) -> None:
        """Take from the cell of the same method whether it runs, and its C."""
        self.status, self.reason, self.scale_C = cell.status, cell.reason, cell.scale_C

    def add(self, trained: dict[str, Any]) -> None:
        """Add what one training gave: at each moment the least time counts."""
        if len(self.cpu) == len(trained["cpu"]):  # the same seed gives the same rounds
            self.cpu = [min(pair) for pair in zip(self.cpu, trained["cpu"], strict=True)]
        elif not self.cpu or trained["cpu"][-1] < self.cpu[-1]:  # with a time budget it need not
            self.cpu, self.auc = trained["cpu"], trained["auc"]


@dataclass(frozen=True)
class Plan:
    """What to measure; `peers` are measured like methods, and the others are compared with them.

    Methods of `curves` are also watched round by round.
    """

    sets: Sequence[str]
    methods: Sequence[str]
    peers: Sequence[str] = ()
    repeats: int = 3
    threads: int = 1
    setting: Setting = field(default_factory=Setting)
    time_limit: float | None = None
    curves: Sequence[str] = ()

    @property
    def all_methods(self) -> list[str]:
        """The peers first, then the methods; each once, by its full name."""
        return list(dict.fromkeys(find_method(name).name for name in [*self.peers, *self.methods, *self.curves]))

    def check(self) -> None:
        """Raise `ValueError` for a name that is none, a C that cannot be tuned, or a curve of a method without one."""
        for name in self.all_methods:
            method = find_method(name)
            if method.is_tuned and not method.scales:
                raise ValueError(f"{name}: this method has a C of its own, which cannot be tuned.")
        for name in self.curves:
            if not find_method(name).is_anytime:
                raise ValueError(f"{name} has no curve: only methods that train in rounds have one.")


def run_bench(plan: Plan, progress: Progress = lambda line: None) -> dict[str, Any]:
    """Measure every cell of a plan; return a record that JSON can hold."""
    both = [measure_set(plan, find_dataset(name).name, progress) for name in plan.sets]
    cells = [cell for found, _ in both for cell in found]
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
        "curves": [asdict(curve) for _, found in both for curve in found],
    }


def with_tuned(names: Sequence[str], *, trees: bool = True) -> list[str]:
    """Return methods, each followed by itself with C tuned, where its C may be; trees by their number, if at all."""
    found = []
    for name in names:
        method = find_method(name)
        tunable = method.scales and "C" not in method.options and (trees or method.linear)
        found += [name, f"{name}:C={TUNED}"] if tunable else [name]
    return found


def measure_set(plan: Plan, name: str, progress: Progress) -> tuple[list[Measured], list[Curve]]:
    """Measure all methods on one data set, in turns."""
    cells = [Measured(name, method) for method in plan.all_methods]
    curves = [Curve(name, find_method(method).name) for method in plan.curves]
    both: list[Measured | Curve] = [*cells, *curves]
    with ExitStack() as stack:
        live: dict[str, CellProcess] = {}
        for cell in cells:
            # They prepare one after the other: side by side, they would slow each other over the time limit.
            if _can_run(cell):
                live[cell.method] = stack.enter_context(_start(plan, cell))
            _attempt(live, cell, CellProcess.ready, cell.describe)
            progress(f"{name}, {cell.method}: {'ready' if cell.status == 'done' else _glance(cell)}")
        for curve in curves:
            curve.follow(_find(cells, name, curve.method))
        for turn in range(plan.repeats):
            for one in both:
                _attempt(live, one, CellProcess.train if isinstance(one, Measured) else CellProcess.curve, one.add)
                progress(f"{name}, {one.method}, {turn + 1} of {plan.repeats}: {_glance(one)}")
        for cell in cells:
            _attempt(live, cell, CellProcess.score, cell.finish)
    return cells, curves


def _start(plan: Plan, cell: Measured) -> CellProcess:
    task = {
        "set": cell.set,
        "method": cell.method,
        "setting": asdict(plan.setting),
        "threads": plan.threads,
        "programs": named_places(),
        "patience": plan.time_limit,
    }
    return CellProcess(task, plan.time_limit)


def _can_run(cell: Measured) -> bool:
    """Note in the cell what is missing, if anything."""
    missing, skip = _missing(cell.set), find_method(cell.method).skip()
    if missing or skip:
        cell.end("data not here" if missing else "not here", missing or skip or "")
    return cell.status == "done"


def _missing(name: str) -> str | None:
    parts: tuple[Any, ...] = ("train", "test") if fold_count(name) == 1 else ("train",)
    if all(part_path(name, part) for part in parts):
        return None
    return f"run: pairsift datasets fetch {name}"


def _attempt(
    live: dict[str, CellProcess],
    cell: Measured | Curve,
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


def _glance(cell: Measured | Curve) -> str:
    if cell.status != "done":
        return f"{cell.status}: {cell.reason}"
    return f"{cell.cpu_repeats[-1]:.3f} s" if isinstance(cell, Measured) else f"{len(cell.cpu)} moments"


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
    for package in _PACKAGES:
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
