"""Run the fault campaign: every attack of tests/faults and every fuzz target; print the table, write it into the docs.

    python tools/campaign.py [--short [--full NAME,...]] [--only NAME,...] [--jobs 1] [--seed 0] [--write docs/trust.md]

--short makes few tries and fuzzes for seconds, as the tests do; --full names attacks that are made in full even so.
The status is 1 if anything was lost.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from faults.attacks import ATTACKS  # noqa: E402 - found through the line above

BEGIN, END = "<!-- campaign: begin -->", "<!-- campaign: end -->"
# Target, command, options of the whole campaign, options of the short one.
FUZZ = {
    "svmlight text": ("fuzz_svmlight.py", ["--inputs", "1000000", "--guided", "1000000"], ["--short"]),
    "header of row stores": ("fuzz_headers.py store", ["--runs", "2000000"], ["--seconds", "20"]),
    "header of models": ("fuzz_headers.py model", ["--runs", "2000000"], ["--seconds", "20"]),
    "CSV and its options": ("fuzz_tables.py csv", ["--runs", "10000"], ["--seconds", "20"]),
    "results stores": ("fuzz_tables.py results", ["--runs", "10000"], ["--seconds", "20"]),
}
SHORT_SVMLIGHT = ["--inputs", "20000", "--guided", "10000000", "--seconds", "15", "--line-bytes", "1000000"]
SHORT_SVMLIGHT += ["--numbers", "20000", "--flips", "20"]


class Line(NamedTuple):
    """One line of the table."""

    attack: str
    count: int
    lost: int
    seconds: float


def main() -> int:
    """Run; return 1 if something was lost."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--full", default="", help="with --short: attacks to make in full")
    parser.add_argument("--jobs", type=int, default=1, help="attacks at a time")
    parser.add_argument("--only", help="names of attacks, or fuzz; separated by commas")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--write", type=Path, help="a file with the markers between which the table stands")
    options = parser.parse_args()
    wanted = options.only.split(",") if options.only else [*ATTACKS, "fuzz"]
    work = [partial(_attack, name, _is_short(name, options), options.seed) for name in ATTACKS if name in wanted]
    if "fuzz" in wanted:
        work += [partial(_fuzz, name, options.short, options.seed) for name in FUZZ]
    with ThreadPoolExecutor(options.jobs) as pool:
        lines = list(pool.map(lambda attack: attack(), work))
    text = table(lines, " ".join(sys.argv[1:]))
    print(text)
    if options.write:
        before, _, rest = options.write.read_text(encoding="utf-8").partition(BEGIN)
        options.write.write_text(f"{before}{BEGIN}\n{text}\n{END}{rest.partition(END)[2]}", encoding="utf-8")
    return 1 if any(line.lost for line in lines) else 0


def _is_short(name: str, options: argparse.Namespace) -> bool:
    return options.short and name not in options.full.split(",")


def _attack(name: str, short: bool, seed: int) -> Line:
    count = ATTACKS[name].short if short else ATTACKS[name].count
    line = [sys.executable, "-m", "faults", name, "--count", str(count), "--seed", str(seed)]
    started = time.monotonic()
    done = subprocess.run(line, cwd=ROOT / "tests", stdout=subprocess.PIPE, text=True, check=False)
    seconds = time.monotonic() - started
    if not done.stdout.strip():
        return Line(f"{name}: did not end", count, count, seconds)
    tally = json.loads(done.stdout.splitlines()[-1])
    print(f"{tally['attack']}: {tally['facts']}", file=sys.stderr)
    return Line(tally["attack"], tally["count"], tally["lost"], seconds)


def _fuzz(name: str, short: bool, seed: int) -> Line:
    command, full, brief = FUZZ[name]
    program, *target = command.split()
    given = (SHORT_SVMLIGHT if program == "fuzz_svmlight.py" else brief) if short else full
    line = [sys.executable, str(ROOT / "tools" / program), *target, *given, "--seed", str(seed)]
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            line, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
        )
    tried = _counted(done.stdout)
    if done.returncode != 0:
        print(done.stdout[-2000:], file=sys.stderr)
    return Line(f"fuzzing: {name}", tried, int(done.returncode != 0), time.monotonic() - started)


def _counted(said: str) -> int:
    """Return how many inputs a fuzz program says it tried."""
    found = re.findall(r"^(\d+) (?:mutated|inputs|damaged)", said, re.MULTILINE)
    found += re.findall(r"number_of_executed_units: (\d+)", said)
    return sum(map(int, found))


def table(lines: list[Line], given: str) -> str:
    """Return the table in Markdown, with when and where it was made."""
    rows = [
        f"| {line.attack} | {line.count:,} | {line.count - line.lost:,} | {line.lost} | {line.seconds:.0f} s |"
        for line in lines
    ]
    where = f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, {platform.system()}"
    when = datetime.now(UTC).date().isoformat()
    head = ["| attack | count | survived | lost | how long |", "|---|---|---|---|---|"]
    return "\n".join([f"`python tools/campaign.py {given}`, {when}, {where}:", "", *head, *rows])


if __name__ == "__main__":
    sys.exit(main())
