"""No room on the disk: one line says so, what was there stays, and with room again the same command succeeds.

As root in a tmpfs that is filled up; else under a limit on the size of files, which fails in the same way.
"""

from __future__ import annotations

import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from faults.command import ERR, OUT, Ended, run
from faults.jobs import JOBS, OLD, REPRODUCE, Job
from faults.preload import COMMAND
from faults.tally import Tally

_SIZE = 2**25


def fill(count: int, seed: int) -> Tally:
    """Let each job run out of room, at a random place of what it writes."""
    tally = Tally("disk full")
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory() as words, _small_disk() as (root, is_small):
        tally.note("in a tmpfs" if is_small else "under RLIMIT_FSIZE", count)
        for place, job in enumerate(JOBS.values()):
            folder = root / job.name
            folder.mkdir()
            for name in (OUT, ERR):  # what it has to say has room elsewhere, as on a terminal
                (folder / name).symlink_to(Path(words) / f"{job.name}{name}")
            job.prepare(folder)
            inputs = set(os.listdir(folder))
            expected, size = _undisturbed(job, folder)
            spare = 2.5 if job is REPRODUCE else 1.2  # SQLite needs room for its journal before it begins
            for _ in range(count // len(JOBS) + (place < count % len(JOBS))):
                faults, status = _try(job, folder, inputs, expected, int(chance.uniform(0, size * spare)), is_small)
                tally.note(f"{job.name}: status {status}")
                tally.tried(*faults)
    tally.tried(*_full_standard_output())
    return tally


@contextmanager
def _small_disk() -> Iterator[tuple[Path, bool]]:
    with tempfile.TemporaryDirectory() as name:
        mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={_SIZE}", "tmpfs", name], capture_output=True, check=False
        )
        try:
            yield Path(name), mounted.returncode == 0
        finally:
            if mounted.returncode == 0:
                subprocess.run(["umount", name], check=True)


def _undisturbed(job: Job, folder: Path) -> tuple[object, int]:
    assert run(job.line, folder, job.before).status == 0
    expected, size = job.read(folder), (folder / job.output).stat().st_size
    (folder / job.output).unlink()
    return expected, size


def _try(
    job: Job, folder: Path, inputs: set[str], expected: object, room: int, is_small: bool
) -> tuple[list[str], int]:
    before = job.before
    (folder / job.output).unlink(missing_ok=True)
    if job is not REPRODUCE:
        (folder / job.output).write_bytes(OLD)
    filler = folder.parent / "filler"
    if is_small:
        _fill_up(filler, folder, room)
    else:
        before = _limited(job.before, room)
    ended = run((*job.line, *job.again), folder, before)
    filler.unlink(missing_ok=True)
    faults = [f"left {name}" for name in job.leftovers(folder, inputs)]
    faults += _wrong_words(job, ended)
    if ended.status != 0 and job is not REPRODUCE and job.read(folder) != OLD:
        faults.append("the old file is gone")
    again = run((*job.line, *job.again), folder, job.before)
    found = job.read(folder)
    if again.status != 0 or found != expected:
        faults.append(f"with room again it failed: {again.err.strip()[-300:]} {_difference(found, expected)}")
    return faults, ended.status


def _difference(found: object, expected: object) -> str:
    if not (isinstance(found, dict) and isinstance(expected, dict)):
        return ""
    return f"{len(found)} of {len(expected)} cells, others: {[v for k, v in found.items() if v != expected.get(k)][:2]}"


def _fill_up(filler: Path, folder: Path, room: int) -> None:
    free = os.statvfs(folder)
    filler.write_bytes(bytes(max(0, free.f_bavail * free.f_frsize - room)))


def _limited(before: Callable[[], None], room: int) -> Callable[[], None]:
    def limit() -> None:
        before()
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))

    return limit


def _wrong_words(job: Job, ended: Ended) -> list[str]:
    if ended.status == 0:
        return []
    if ended.said_one_line and any(word in ended.err for word in ("No space left", "too large", "disk is full")):
        return []
    return [f"{job.name} ended with status {ended.status} and said: {ended.err.strip()[-300:]}"]


def _full_standard_output() -> list[str]:
    """Scores to /dev/full, which takes nothing."""
    with tempfile.TemporaryDirectory() as name:
        JOBS["score"].prepare(Path(name))
        line = [sys.executable, "-c", COMMAND, "score", "model", "new.svm"]
        with open("/dev/full", "wb") as full:
            done = subprocess.run(line, cwd=name, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    ended = Ended(done.returncode, "", done.stderr)
    return [] if ended.said_one_line and "No space left" in ended.err else [f"/dev/full: {ended}"]
