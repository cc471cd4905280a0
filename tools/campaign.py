"""Run the campaign: every attack of tests/faults, fuzz target, sanitizer and hard test; print the table, write it.

    python tools/campaign.py [--only NAME,...] [--seed 0] [--jobs 1] [--write docs/trust.md | --short]

--write puts the table into a file: a line of this run replaces the last one of the same attack, and what was not run
keeps its line with the time at which it was. --short makes few tries and writes nothing. The status is 1 if anything
was lost.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from faults.attacks import ATTACKS  # noqa: E402 - found through the line above

BEGIN, END = "<!-- campaign: begin -->", "<!-- campaign: end -->"
HEAD = ["| attack | count | survived | lost | how long | ended (UTC) |", "|---|---|---|---|---|---|"]


class Command(NamedTuple):
    """A program that counts what it tried: its name in the table, its line, and its line in short."""

    title: str
    full: str
    short: str


COMMANDS = {
    "fuzz-svmlight": Command(
        "fuzzing: svmlight text (ASan, UBSan)",
        "tools/fuzz_svmlight.py --inputs 1000000 --guided 1000000 --seed SEED",
        "tools/fuzz_svmlight.py --inputs 20000 --guided 20000 --numbers 20000 --line-bytes 1000000 --flips 20",
    ),
    "fuzz-store": Command(
        "fuzzing: header of row stores",
        "tools/fuzz_headers.py store --inputs 1000000 --guided 1000000 --seed SEED",
        "tools/fuzz_headers.py store --inputs 10000 --guided 10000",
    ),
    "fuzz-model": Command(
        "fuzzing: header of models",
        "tools/fuzz_headers.py model --inputs 1000000 --guided 1000000 --seed SEED",
        "tools/fuzz_headers.py model --inputs 10000 --guided 10000",
    ),
    "fuzz-csv": Command(
        "fuzzing: CSV and its options",
        "tools/fuzz_tables.py csv --runs 10000 --seed SEED",
        "tools/fuzz_tables.py csv --runs 1000",
    ),
    "fuzz-results": Command(
        "fuzzing: results stores",
        "tools/fuzz_tables.py results --runs 10000 --seed SEED",
        "tools/fuzz_tables.py results --runs 300",
    ),
    "memory-sanitizers": Command("kernel tests under ASan and UBSan", *["tools/sanitize.py memory"] * 2),
    "thread-sanitizer": Command("kernel tests under TSan", *["tools/sanitize.py thread"] * 2),
    "two-fits": Command(
        "all fast tests while two threads fit",
        "-m pytest -q tests --fit-beside 2 --hypothesis-seed=0 -m not+slow",
        "-m pytest -q tests/test_dual.py --fit-beside 2 --hypothesis-seed=0 -m not+slow",
    ),
    "torture": Command(
        "numbers that break things",
        "-m pytest -q tests/test_torture.py",
        "-m pytest -q tests/test_torture.py -m not+slow",
    ),
    "determinism": Command("the same bits", *["-m pytest -q tests/test_determinism.py"] * 2),
}
_COUNTS = (
    r"^(\d+) (?:mutated|inputs|damaged)",
    r"number_of_executed_units: (\d+)",
    r"^(?:\d+ failed, )?(\d+) passed",
    r"^(\d+) failed",
)


class Line(NamedTuple):
    """One line of the table."""

    attack: str
    count: int
    lost: int
    seconds: float
    ended: datetime

    @property
    def text(self) -> str:
        """The line as it stands in the table."""
        survived, ended = f"{self.count - self.lost:,}", self.ended.strftime("%Y-%m-%d %H:%M")
        return f"| {self.attack} | {self.count:,} | {survived} | {self.lost} | {self.seconds:.0f} s | {ended} |"


def main() -> int:
    """Run; return 1 if something was lost."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", help=f"separated by commas, of: {', '.join([*ATTACKS, *COMMANDS])}")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1, help="how many attacks to run at once")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--short", action="store_true")
    how.add_argument("--write", type=Path, help="a file with the markers between which the table stands")
    options = parser.parse_args()
    wanted = options.only.split(",") if options.only else [*ATTACKS, *COMMANDS]
    unknown = set(wanted) - {*ATTACKS, *COMMANDS}
    if unknown:
        parser.error(f"not known: {', '.join(sorted(unknown))}")
    lost = 0
    rows: list[str] = []
    with ThreadPoolExecutor(options.jobs) as pool:
        for line in pool.map(lambda name: run(name, options.short, options.seed), wanted):
            lost += line.lost
            rows.append(line.text)
            if options.write:
                write(options.write, rows)
    print("\n".join([*HEAD, *rows]))
    return 1 if lost else 0


def run(name: str, short: bool, seed: int) -> Line:
    """Run one attack or command, and say how it ended."""
    started = time.monotonic()
    title, count, lost = (_attack if name in ATTACKS else _command)(name, short, seed)
    line = Line(title, count, lost, time.monotonic() - started, datetime.now(UTC))
    print(line.text, file=sys.stderr, flush=True)
    return line


def _attack(name: str, short: bool, seed: int) -> tuple[str, int, int]:
    count = ATTACKS[name].short if short else ATTACKS[name].count
    line = [sys.executable, "-m", "faults", name, "--count", str(count), "--seed", str(seed)]
    done = subprocess.run(line, cwd=ROOT / "tests", stdout=subprocess.PIPE, text=True, check=False)
    if not done.stdout.strip():
        return ATTACKS[name].title, count, count  # it did not end: nothing is known of any try
    tally = json.loads(done.stdout.splitlines()[-1])
    print(f"{name}: {tally['facts']}", file=sys.stderr)
    return ATTACKS[name].title, tally["count"], tally["lost"]


def _command(name: str, short: bool, seed: int) -> tuple[str, int, int]:
    title, full, brief = COMMANDS[name]
    words = [word.replace("SEED", str(seed)).replace("+", " ") for word in (brief if short else full).split()]
    with tempfile.TemporaryDirectory() as folder:
        # Tests are run where they are; a fuzz program keeps its findings in the folder that it runs in.
        is_tests = words[0] == "-m"
        words = words if is_tests else [str(ROOT / words[0]), *words[1:]]
        done = subprocess.run(
            [sys.executable, *words],
            cwd=ROOT if is_tests else folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        for finding in Path(folder).glob("finding*"):
            shutil.move(finding, Path.cwd())
    if done.returncode != 0:
        print(done.stdout[-3000:], file=sys.stderr)
    return title, counted(done.stdout), int(done.returncode != 0)


def counted(said: str) -> int:
    """Return how many inputs or tests a program says it tried."""
    return sum(int(count) for pattern in _COUNTS for count in re.findall(pattern, said, re.MULTILINE))


def write(path: Path, rows: list[str]) -> None:
    """Put lines into the table of a file, each in the place of the last one of its attack."""
    before, _, rest = path.read_text(encoding="utf-8").partition(BEGIN)
    old, _, after = rest.partition(END)
    where = f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, {platform.system()}"
    said = [f"Lines of `python tools/campaign.py`, {where}:", "", *HEAD, *merged(_rows(old), rows)]
    path.write_text("\n".join([f"{before}{BEGIN}", *said, f"{END}{after}"]), encoding="utf-8")


def merged(old: Iterable[str], new: Iterable[str]) -> list[str]:
    """Return the rows of a table with new ones in the place of old ones, without those of attacks that are no more."""
    known = {attack.title for attack in (*ATTACKS.values(), *COMMANDS.values())}
    by_name = {_name(row): row for row in old if _name(row) in known}
    by_name.update({_name(row): row for row in new})
    return list(by_name.values())


def _rows(table: str) -> list[str]:
    return [row for row in table.splitlines() if row.count("|") == HEAD[0].count("|") and row not in HEAD]


def _name(row: str) -> str:
    return row.split("|")[1].strip()


if __name__ == "__main__":
    sys.exit(main())
