"""A clock that goes back by an hour whenever it is asked: every command gives what it gives with a good one."""

from __future__ import annotations

import tempfile
from pathlib import Path

from faults.jobs import _REGISTER, JOBS, REPRODUCE
from faults.preload import build_shim, run_with
from faults.tally import Tally


def turn_back(count: int, seed: int) -> Tally:
    """Run each job in turn, with and without."""
    tally = Tally("clock going backwards")
    workers = (
        f"{_REGISTER}; import sys; from pairsift.experiments import workers; workers.COMMAND = (sys.executable, '-c', "
        f"{_REGISTER!r} + '; from pairsift.experiments.worker import main; main()')"
    )
    with tempfile.TemporaryDirectory() as tools:
        shim = build_shim(Path(tools))
        for k in range(count):
            job = list(JOBS.values())[k % len(JOBS)]
            with tempfile.TemporaryDirectory() as name:
                folder = Path(name)
                job.prepare(folder)
                found = []
                for variables in ({}, {"FAULT_CLOCK": 1}):
                    ended = run_with(shim, job.line, folder, workers if job is REPRODUCE else "", **variables)
                    found.append((ended.status, job.read(folder)))
                    (folder / job.output).unlink(missing_ok=True)
                same = found[0] == found[1] and found[0][0] == 0
                tally.tried(*([] if same else [f"{job.name}: status {found[1][0]}, {ended.err.strip()[-300:]}"]))
    return tally
