"""SIGKILL at random moments: nothing is lost that was done, every file is old or new, what is resumed ends in the same
bits."""

from __future__ import annotations

import os
import random
import tempfile
import time
from pathlib import Path
from typing import Any

from faults.command import Running, run
from faults.jobs import FIT, OLD, REPRODUCE, Job
from faults.tally import Tally


def kill(job: Job, count: int, seed: int) -> Tally:
    """Kill a job `count` times."""
    tally = Tally(f"SIGKILL during {job.name}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        job.prepare(folder)
        inputs = set(os.listdir(folder))
        expected, took = _whole_run(job, folder)
        moments = random.Random(seed)
        for _ in range(count):
            if job is not REPRODUCE:
                (folder / job.output).write_bytes(OLD)
            before = job.read(folder)
            line = (*job.line, *job.again)
            ended = Running(line, folder, job.before).kill_after(moments.uniform(0.0, 1.1 * took))
            tally.note("ended before the signal" if ended.status == 0 else "killed")
            tally.tried(*_faults(job, folder, inputs, before, expected, tally))
    return tally


def _whole_run(job: Job, folder: Path) -> tuple[Any, float]:
    started = time.monotonic()
    ended = run(job.line, folder, job.before)
    took = time.monotonic() - started
    if ended.status != 0:
        raise AssertionError(f"the undisturbed run failed: {ended.err}")
    expected = job.read(folder)
    (folder / job.output).unlink()
    return expected, took


def _faults(job: Job, folder: Path, inputs: set[str], before: Any, expected: Any, tally: Tally) -> list[str]:
    """Look at what a kill left, run again, and return what was wrong."""
    faults = [f"left {name}" for name in job.leftovers(folder, inputs)]
    after = job.read(folder)
    if job is REPRODUCE:
        return faults + _lost_cells(before or {}, after or {}, expected, folder)
    if after not in (OLD, expected):
        faults.append("the file is neither the old nor the new one")
    tally.note("file was old" if after == OLD else "file was new")
    if job is FIT and (folder / "kept" / "checkpoint.safetensors").exists():
        tally.note("resumed from a checkpoint")
    ended = run((*job.line, *job.again), folder, job.before)
    if ended.status != 0:
        faults.append(f"the next run failed: {ended.err.strip()}")
    elif job.read(folder) != expected:
        faults.append("the next run gave other bits")
    if (folder / f"{job.output}.partial").exists():
        faults.append("the next run left the partial file")
    return faults


def _lost_cells(before: dict[Any, Any], after: dict[Any, Any], expected: dict[Any, Any], folder: Path) -> list[str]:
    """Each run goes on with the store of the last one; a store that is complete is removed for the next to begin."""
    faults = [f"lost the cell {cell}" for cell in before if cell not in after]
    faults += [f"another result of {cell}" for cell, value in after.items() if value != expected.get(cell)]
    if len(after) == len(expected):
        for name in os.listdir(folder):
            if name.startswith("r.sqlite"):
                (folder / name).unlink()
    return faults
