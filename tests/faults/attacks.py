"""The attacks by name, with the number of tries in the whole campaign and in the short form."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from faults.changes import change
from faults.clock import turn_back
from faults.disk import fill
from faults.interrupts import storm
from faults.jobs import JOBS
from faults.kills import kill
from faults.memory import starve
from faults.reads import fail_reads, shorten_reads
from faults.tally import Tally


@dataclass(frozen=True)
class Attack:
    """An attack: `run(count, seed)` makes that many tries."""

    title: str
    run: Callable[[int, int], Tally]
    count: int
    short: int


ATTACKS: dict[str, Attack] = {
    **{f"kill-{name}": Attack(f"SIGKILL during {name}", partial(kill, job), 50, 3) for name, job in JOBS.items()},
    "sigint": Attack("storms of SIGINT", storm, 60, 8),
    "disk-full": Attack("disk full", fill, 60, 8),
    "read-error": Attack("read error half-way", fail_reads, 110, 11),
    "short-reads": Attack("short and interrupted reads", shorten_reads, 44, 11),
    "changing-data": Attack("data file changes or shrinks", change, 120, 15),
    "clock": Attack("clock going backwards", turn_back, 8, 4),
    "memory": Attack("out of memory (RLIMIT_AS)", starve, 100, 10),
}
