"""Feed mutated CSV files with random options, and mutated results stores, to their readers.

    python tools/fuzz_tables.py csv|results [--runs 10000] [--seconds 60] [--seed 0]

Each must be read, or refused by a ValueError (a table that has to be begun anew is no fault). The process ends with
status 1 at the first other fault and keeps the file in the current folder.
"""

from __future__ import annotations

import argparse
import json
import random
import sqlite3
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from pairsift.data.training import DataOptions, open_training_data
from pairsift.experiments.results import Cell, Outcome, Results, settings_key
from pairsift.report import build_report, markdown, page

FIELDS = ["", "1", "-0", "1e400", "nan", "NA", '"', '""', '"a,b"', "a\x00b", "é", "\xff", "true", "2024-01-01", "0x1"]
FIELDS += ["9" * 400, "'", "=1+1", "\t", " ", "\r", "a" * 3000, "1;2", "1.5", "x", "０", "\ufeff", "-", "inf", "1_0"]
DELIMITERS = [None, ",", ";", "\t", "|", '"', "\n", "é", "", ",,", "1", "\x00", "\\"]
ODD: list[Any] = [None, "x", -1, 2, 1e300, 5e-324, 10**400, [], {}, True, [1], float("nan"), {"a": 1}]
VALUES: list[Any] = [None, "", "x", -1, 0, 2**62, 1.5, float("inf"), b"\xff", "{}", "[]", "null", '{"auc": "x"}', "NaN"]
VALUES += ['{"auc": NaN}', '{"curve": {"pairs": [1], "auc": []}}', '{"auc": 0.5, "curve": 3}', '{"C": "x"}', "done"]
VALUES += [1e300, 5e-324]
JSON_COLUMNS = ("result", "settings")


def main() -> int:
    """Run; print the counts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target", choices=["csv", "results"])
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    warnings.simplefilter("error")
    warnings.simplefilter("ignore", ResourceWarning)
    chance = random.Random(options.seed)
    counts = {"read": 0, "refused": 0}
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / ("rows.csv" if options.target == "csv" else "r.sqlite")
        seed = b"" if options.target == "csv" else _results_seed(Path(name) / "seed.sqlite")
        attack: Callable[[random.Random, Path, bytes], None] = {"csv": try_csv, "results": try_results}[options.target]
        for run in range(options.runs):
            try:
                attack(chance, path, seed)
                counts["read"] += 1
            except ValueError:
                counts["refused"] += 1
            except BaseException:
                kept = Path(f"finding-{options.target}-{options.seed}-{run}")
                kept.write_bytes(path.read_bytes())
                print(f"FINDING in run {run}, kept as {kept}", file=sys.stderr)
                raise
            if time.monotonic() - started > options.seconds:
                break
    print(f"{sum(counts.values())} mutated files ({options.target}): {counts['read']} read, ", end="")
    print(f"{counts['refused']} refused, 0 findings")
    return 0


def try_csv(chance: random.Random, path: Path, seed: bytes) -> None:
    """Write a table that is wrong somewhere, and read it with options that may not fit."""
    names = [chance.choice(["a", "b", "y", "w", *FIELDS]) if chance.random() < 0.05 else name for name in "abyw"]
    separator = chance.choice(DELIMITERS[1:5])
    lines = [separator.join(names)]
    for row in range(chance.choice([0, 1, 6, 12, 30])):
        fields = [str(row % 3), f"{row / 7:g}", str(row % 2), "1"]
        while chance.random() < 0.1:
            fields[chance.randrange(len(fields))] = chance.choice(FIELDS)
        while chance.random() < 0.03:
            fields = fields[1:] or ["1"]
        lines.append(separator.join(fields))
    content = bytearray(chance.choice(["\n", "\r\n"]).join(lines).encode("utf-8", "surrogatepass") + b"\n")
    while chance.random() < 0.3 and content:
        content[chance.randrange(len(content))] = chance.randrange(256)
    path.write_bytes(content)
    given: dict[str, Any] = {"label": "y", "format": "csv", "delimiter": separator}
    wrong = {
        "label": ["w", "none", ""],
        "delimiter": DELIMITERS,
        "weight": ["w", "a", "y"],
        "drop": [("a",), ("none",), ("y",)],
        "categorical": [("a",), ("a", "b"), ("none",)],
        "impute": ["mean", "median", "zero", "nonsense"],
        "positive": ["1", 1, 0, "x", ""],
        "max_categories": [1, 0, -1],
    }
    for name in chance.sample(sorted(wrong), chance.choice([0, 0, 1, 2])):
        given[name] = chance.choice(wrong[name])
    open_training_data(path, DataOptions(**given), scale=chance.choice(["none", "unit", "standard", "max"]))


def _results_seed(path: Path) -> bytes:
    base = {"C": 0.1, "budget": 8000, "batch_size": 100, "scale_C": 1.0}
    curve = {"pairs": [100, 8000], "auc": [0.6, 0.8], "rejected": [0.0, 2.0]}
    with Results(path, create=True) as results:
        results.set_fact("mode", "full")
        for experiment, method, result in (
            ("auc", "soft-close", {"auc": 0.8, "rejected": 9, "curve": curve}),
            ("auc", "wsvm", {"auc": 0.79}),
            ("time", "wsvm", {"auc": 0.79}),
            ("bias", "soft-close", {"auc": 0.7, "rejected": 9, "curve": curve}),
        ):
            for pool in range(2):
                cell = Cell(experiment, "a9a", 0, method, pool, settings_key(base))
                results.put(cell, Outcome("done", None, result, 1.0, 1.0, 1, "0.1.0", "m", "2026-01-01T00:00:00+00:00"))
    return path.read_bytes()


def try_results(chance: random.Random, path: Path, seed: bytes) -> None:
    """Damage a store of results, its bytes or its values, and make the report of it."""
    content = bytearray(seed)
    if chance.random() < 0.4:
        for _ in range(chance.choice([1, 2, 8, 64])):
            content[chance.randrange(len(content))] = chance.randrange(256)
        if chance.random() < 0.2:
            del content[chance.randrange(len(content)) :]
        path.write_bytes(content)
    else:
        path.write_bytes(content)
        _spoil(chance, path)
    with Results(path) as results:
        made = build_report(results)
    page(made)
    markdown(made)


def _spoil(chance: random.Random, path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        connection.execute("PRAGMA synchronous = OFF")
        columns = [row[1] for row in connection.execute("PRAGMA table_info(cells)")]
        known = {name: connection.execute(f"SELECT {name} FROM cells LIMIT 1").fetchone()[0] for name in JSON_COLUMNS}
        for _ in range(chance.choice([1, 1, 2])):
            column, value = chance.choice(columns), chance.choice(VALUES)
            if column in JSON_COLUMNS and chance.random() < 0.7:
                value = _spoilt_json(chance, known[column])
            where = "" if chance.random() < 0.2 else f"WHERE pool = {chance.randrange(2)} AND method = 'soft-close'"
            # What SQLite itself keeps out stays out: two equal keys, a NULL where none may be.
            with suppress(sqlite3.IntegrityError):
                connection.execute(f"UPDATE OR IGNORE cells SET {column} = ? {where}", (value,))
        if chance.random() < 0.1:
            connection.execute("UPDATE facts SET value = ?", (chance.choice(VALUES[1:]),))
        connection.commit()


def _spoilt_json(chance: random.Random, text: str) -> str:
    content = json.loads(text)
    parent = content
    while True:
        key = chance.choice(list(parent) if isinstance(parent, dict) else range(len(parent))) if parent else None
        if key is None:
            return json.dumps(content)
        if isinstance(parent[key], (dict, list)) and parent[key] and chance.random() < 0.7:
            parent = parent[key]
            continue
        if chance.random() < 0.3:
            del parent[key]
        else:
            parent[key] = chance.choice(ODD)
        return json.dumps(content)


if __name__ == "__main__":
    sys.exit(main())
