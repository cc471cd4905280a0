"""Storms of SIGINT: the command ends, without a traceback, and its file is old or new."""

from __future__ import annotations

import os
import random
import signal
import tempfile
import time
from pathlib import Path

from faults.command import Ended, Running, run
from faults.jobs import FIT, JOBS, OLD, REPRODUCE, Job
from faults.tally import Tally

_SIGNALS = 25


def storm(count: int, seed: int) -> Tally:
    """Shake each job in turn."""
    tally = Tally("SIGINT storms")
    chance = random.Random(seed)
    for place, job in enumerate(JOBS.values()):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            job.prepare(folder)
            inputs = set(os.listdir(folder))
            started = time.monotonic()
            run(job.line, folder, job.before)
            took = time.monotonic() - started
            expected = job.read(folder)
            for _ in range(count // len(JOBS) + (place < count % len(JOBS))):
                (folder / job.output).unlink(missing_ok=True)
                if job is not REPRODUCE:
                    (folder / job.output).write_bytes(OLD)
                process = Running((*job.line, *job.again), folder, job.before)
                ended = _shake(process, chance, took)
                tally.note(f"status {ended.status}")
                tally.tried(*_faults(job, folder, inputs, ended, expected))
    return tally


def _shake(process: Running, chance: random.Random, took: float) -> Ended:
    # Not in the first moments: there Python itself is still starting, before any of our code is.
    time.sleep(chance.uniform(0.02, took))
    for _ in range(_SIGNALS):
        process.send(signal.SIGINT)
        time.sleep(chance.choice([0.0, 0.001, 0.02]))
    return process.wait()


def _faults(job: Job, folder: Path, inputs: set[str], ended: Ended, expected: object) -> list[str]:
    faults = [f"left {name}" for name in job.leftovers(folder, inputs)]
    if "Traceback" in ended.err or ended.status not in (0, 1):
        faults.append(f"status {ended.status}: {ended.err.strip()[-300:]}")
    after = job.read(folder)
    if job is REPRODUCE:
        assert isinstance(expected, dict)
        return faults + [f"a wrong result of {cell}" for cell, v in (after or {}).items() if v != expected.get(cell)]
    # An interrupted fit writes the model of the pairs that it has; reading it (above) has checked that it is whole.
    if after != OLD and after != expected and job is not FIT:
        faults.append("the file is neither the old nor the new one")
    return faults
