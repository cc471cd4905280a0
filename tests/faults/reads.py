"""Read errors (EIO) half-way, and reads that come back short or interrupted: an error in one line that names the file,
or the right answer; never a wrong one."""

from __future__ import annotations

import os
import random
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow.csv
import pyarrow.parquet
from scipy import sparse

from faults.command import Ended
from faults.jobs import OLD, write_rows
from faults.preload import build_shim, run_with
from faults.tally import Tally
from pairsift import make_ranking

_FIT = ("--budget", "300", "--random-state", "0", "--method", "active")


@dataclass(frozen=True)
class Reading:
    """A command that reads a file; `out` is what it writes."""

    file: str
    line: tuple[str, ...]
    out: str
    may_map: bool = False  # read through a mapping, where no read can fail


READINGS = [
    Reading("rows.svm", ("fit", "rows.svm", "-o", "m", *_FIT), "m"),
    Reading("rows.svm.gz", ("fit", "rows.svm.gz", "-o", "m", *_FIT), "m"),
    Reading("rows.csv", ("fit", "rows.csv", "-o", "m", "--label", "y", *_FIT), "m"),
    Reading("rows.parquet", ("fit", "rows.parquet", "-o", "m", "--label", "y", *_FIT), "m"),
    Reading("rows.npz", ("fit", "rows.npz", "-o", "m", *_FIT), "m"),
    Reading("rows.arrow", ("fit", "rows.arrow", "-o", "m", *_FIT), "m"),
    Reading("rows.svm", ("convert", "rows.svm", "-o", "s.arrow"), "s.arrow"),
    Reading("rows.csv", ("convert", "rows.csv", "--label", "y", "-o", "s.arrow"), "s.arrow"),
    Reading("rows.svm", ("score", "model", "rows.svm", "-o", "s"), "s"),
    Reading("rows.arrow", ("score", "model", "rows.arrow", "-o", "s"), "s"),
    Reading("model", ("score", "model", "rows.svm", "-o", "s"), "s", may_map=True),
]


def make_files(folder: Path, shim: Path, n_rows: int = 1500) -> None:
    """Write the same rows in every format, and a model."""
    X, y = make_ranking(n_rows, 6, random_state=1)
    write_rows(folder / "rows.svm", n_rows, 6, seed=1)
    import gzip

    (folder / "rows.svm.gz").write_bytes(gzip.compress((folder / "rows.svm").read_bytes()))
    table = pyarrow.table({"y": y, **{f"x{k}": X[:, k] for k in range(6)}})
    pyarrow.csv.write_csv(table, folder / "rows.csv")
    pyarrow.parquet.write_table(table, folder / "rows.parquet")
    matrix = sparse.csr_array(X)
    parts = {name: getattr(matrix, name) for name in ("data", "indices", "indptr")}
    np.savez(folder / "rows.npz", shape=np.array(matrix.shape), y=y, **parts)
    for line in (("convert", "rows.svm", "-o", "rows.arrow"), ("fit", "rows.svm", "-o", "model", *_FIT)):
        ended = run_with(shim, line, folder)
        assert ended.status == 0, ended.err


def output(path: Path) -> object:
    """Return what a command wrote, without what may differ between two good runs."""
    if path.name != "m" or path.read_bytes() == OLD:
        return path.read_bytes()
    from pairsift import load_model

    model = load_model(path)
    return model.coef_.tobytes(), model.intercept_.tobytes()


def fail_reads(count: int, seed: int) -> Tally:
    """Let reads fail after a random number of bytes."""
    return _attack(Tally("read error half-way"), count, seed, short=False)


def shorten_reads(count: int, seed: int) -> Tally:
    """Let reads come back short or interrupted: everything must be as ever."""
    return _attack(Tally("short and interrupted reads"), count, seed, short=True)


def _attack(tally: Tally, count: int, seed: int, *, short: bool) -> Tally:
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory() as name, tempfile.TemporaryDirectory() as tools:
        folder, shim = Path(name), build_shim(Path(tools))
        make_files(folder, shim)
        inputs = set(os.listdir(folder))
        undisturbed: dict[Reading, object] = {}
        for k in range(count):
            reading = READINGS[k % len(READINGS)]
            target = folder / reading.out
            if reading not in undisturbed:
                assert run_with(shim, reading.line, folder).status == 0
                undisturbed[reading] = output(target)
            expected = undisturbed[reading]
            target.write_bytes(OLD)
            after = chance.randrange((folder / reading.file).stat().st_size)
            variables: dict[str, object] = {"FAULT_FILE": f"/{reading.file}"}
            variables |= {"FAULT_SHORT": 1} if short else {"FAULT_AFTER": after}
            ended = run_with(shim, reading.line, folder, **variables)
            tally.note(f"status {ended.status}")
            faults = [f"left {left}" for left in set(os.listdir(folder)) - inputs - {reading.out}]
            tally.tried(*faults, *_faults(reading, ended, output(target), expected, short))
            target.unlink()
    return tally


def _faults(reading: Reading, ended: Ended, found: object, expected: object, short: bool) -> list[str]:
    where = " ".join(reading.line[:2])
    if ended.status == 0 and (short or reading.may_map or found == expected):
        return [] if found == expected else [f"{where}: another result"]
    faults = [] if found == OLD else [f"{where}: the old file is gone"]
    if short or not ended.said_one_line or reading.file not in ended.err:
        faults.append(f"{where}: status {ended.status}, {ended.err.strip()[-300:]}")
    return faults
