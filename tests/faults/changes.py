"""A data file that is changed, shortened, lengthened or replaced while it is read.

What comes out belongs to the old content or to the new one, whole; or it is one line that says what happened. A file
that becomes shorter under a memory map may end the process (SIGBUS), but no output is damaged.
"""

from __future__ import annotations

import os
import random
import signal
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow.csv
import pyarrow.parquet

from faults.command import Ended, Running, run
from faults.jobs import OLD
from faults.reads import output
from faults.tally import Tally
from pairsift import LinearModel, make_ranking, save_model
from pairsift.data.blocks import ArrayBlocks
from pairsift.data.convert import convert

_ROWS, _COLUMNS = 6000, 8
_LINES = [
    ("score", "model", "FILE", "-o", "s"),
    ("convert", "FILE", "-o", "s.arrow"),
    ("fit", "FILE", "-o", "m", "--budget", "1000", "--random-state", "0"),
]
_LABELS = {"rows.csv": ("--label", "y"), "rows.parquet": ("--label", "y"), "rows.npy": ("--label", "y.npy")}
_FILES = ("rows.svm", "rows.csv", "rows.parquet", "rows.npy", "rows.arrow")


def change(count: int, seed: int) -> Tally:
    """Change a file at a random moment of each command that reads it."""
    tally = Tally("data file changes or shrinks")
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        for version in (0, 1):
            (root / str(version)).mkdir()
            _write_files(root / str(version), version)
        for k in range(count):
            file = _FILES[k % len(_FILES)]
            line = _line(_LINES[k // len(_FILES) % len(_LINES)], file)
            kind = chance.choice(list(_CHANGES))
            faults = _try(root, file, line, kind, chance, tally)
            tally.tried(*(f"{kind} of {file} during {line[0]}: {fault}" for fault in faults))
    return tally


def _line(pattern: tuple[str, ...], file: str) -> tuple[str, ...]:
    line = tuple(file if word == "FILE" else word for word in pattern)
    if line[0] == "score":
        return tuple("table" if word == "model" and file in ("rows.csv", "rows.parquet") else word for word in line)
    return (*line, *_LABELS.get(file, ()))


def _write_files(folder: Path, version: int) -> None:
    X, y = make_ranking(_ROWS, _COLUMNS, random_state=version)
    y[:2] = [0, 1]
    lines = (" ".join(f"{c + 1}:{v:+.9f}" for c, v in enumerate(row)) for row in X.tolist())
    (folder / "rows.svm").write_text("".join(f"{a} {b}\n" for a, b in zip(y.tolist(), lines, strict=True)))
    table = pyarrow.table({"y": y, **{f"x{k}": X[:, k] for k in range(_COLUMNS)}})
    pyarrow.csv.write_csv(table, folder / "rows.csv")
    pyarrow.parquet.write_table(table, folder / "rows.parquet", compression="none", row_group_size=500)
    np.save(folder / "rows.npy", X)
    np.save(folder / "y.npy", make_ranking(_ROWS, _COLUMNS, random_state=0)[1])
    convert(ArrayBlocks(X, y), folder / "rows.arrow")
    model = LinearModel(np.arange(1.0, _COLUMNS + 1)[np.newaxis], np.zeros(1), np.array([0, 1]), zero_based=False)
    save_model(model, folder / "model")
    names = np.array([f"x{k}" for k in range(_COLUMNS)], dtype=object)
    save_model(LinearModel(model.coef_, np.zeros(1), model.classes_, names), folder / "table")


def _in_place(path: Path, content: bytes) -> None:
    with path.open("r+b") as file:
        file.write(content)


def _shrink(path: Path, content: bytes) -> None:
    os.truncate(path, len(content) // 3)


def _grow(path: Path, content: bytes) -> None:
    with path.open("ab") as file:
        file.write(content[len(content) // 2 :])


def _replace(path: Path, content: bytes) -> None:
    beside = path.with_name("beside")
    beside.write_bytes(content)
    os.replace(beside, path)


_CHANGES: dict[str, Callable[[Path, bytes], None]] = {
    "a change in place": _in_place,
    "a shrinking": _shrink,
    "a growth": _grow,
    "a replacement": _replace,
}


def _try(root: Path, file: str, line: tuple[str, ...], kind: str, chance: random.Random, tally: Tally) -> list[str]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for source in (root / "0").iterdir():
            (folder / source.name).write_bytes(source.read_bytes())
        target, other = folder / line[line.index("-o") + 1], (root / "1" / file).read_bytes()
        started = time.monotonic()
        good = [run(line, folder).status == 0 and output(target)]
        took = time.monotonic() - started
        target.write_bytes(OLD)
        process = Running(line, folder)
        time.sleep(chance.uniform(0, took))
        _CHANGES[kind](folder / file, other)
        ended = process.wait()
        found = output(target)
        target.unlink()
        good.append(run(line, folder).status == 0 and output(target))  # as if the change had come before
    tally.note(_outcome(ended))
    if ended.status == 0:
        return [] if found in good else ["the result is of neither content"]
    faults = [] if found == OLD else ["the old output is gone"]
    mapped = ended.status == -signal.SIGBUS and file == "rows.npy"
    return faults if ended.said_one_line or mapped else [*faults, f"status {ended.status}: {ended.err.strip()[-200:]}"]


def _outcome(ended: Ended) -> str:
    if ended.status == 0:
        return "done: the old or the new content"
    return "noticed" if "was changed since" in ended.err else f"refused, status {ended.status}"
