"""The four long commands that the attacks are made on, at sizes that take a second or less.

A job has a folder of its own. What it writes is compared by `content`, which leaves out what may differ between two
good runs: seconds and dates.
"""

from __future__ import annotations

import lzma
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import pairsift
from pairsift import load_model, make_ranking, save_model
from pairsift.data.datasets import DATASETS
from pairsift.data.datasets.registry import Dataset
from pairsift.experiments.results import Results

GENERATED = "generated"
OLD = b"what was there before"
# A worker process of `reproduce` must know the generated set too.
_REGISTER = (
    "from pairsift.data.datasets import DATASETS; from pairsift.data.datasets.registry import Dataset; "
    f"DATASETS[{GENERATED!r}] = Dataset({GENERATED!r}, {GENERATED!r}, 300, 90, 210, 5, 'CV', False, '', (1.0,), '', "
    "'', (), obtain='It was generated.')"
)


@dataclass(frozen=True)
class Job:
    """A command, the file it writes, and how to read what it wrote.

    `again` are options of a run that goes on after another was killed; `before` is called in the process first.
    """

    name: str
    line: tuple[str, ...]
    output: str
    content: Callable[[Path], Any]
    prepare: Callable[[Path], None]
    again: tuple[str, ...] = ()
    before: Callable[[], None] = lambda: None
    beside: tuple[str, ...] = ()  # other names that a run may leave when it is killed

    def read(self, folder: Path) -> Any:
        """Return what the job wrote: None if nothing, `OLD` if that is still there."""
        path = folder / self.output
        if not path.exists():
            return None
        return OLD if path.read_bytes() == OLD else self.content(path)

    def leftovers(self, folder: Path, inputs: set[str]) -> set[str]:
        """Return names in the folder that no run may leave, killed or not."""
        allowed = {self.output, f"{self.output}.partial", ".out", ".err", *self.beside}
        return set(os.listdir(folder)) - inputs - allowed


def write_rows(path: Path, n_rows: int, n_features: int, seed: int = 0) -> None:
    """Write made-up rows as svmlight text."""
    X, y = make_ranking(n_rows, n_features, random_state=seed)
    lines = (" ".join(f"{c + 1}:{v:.6g}" for c, v in enumerate(row)) for row in X.tolist())
    path.write_text("".join(f"{label} {row}\n" for label, row in zip(y.tolist(), lines, strict=True)))


def _prepare_rows(folder: Path) -> None:
    write_rows(folder / "train.svm", 4000, 20)


def _prepare_scoring(folder: Path) -> None:
    write_rows(folder / "new.svm", 15_000, 20)
    rng = np.random.default_rng(0)
    save_model(pairsift.LinearModel(rng.normal(size=(1, 20)), np.zeros(1), np.array([0.0, 1.0])), folder / "model")


def _prepare_reproduce(folder: Path) -> None:
    X, y = make_ranking(300, 5, positive_rate=0.3, random_state=0)
    lines = (
        f"{1 if label > 0 else -1} " + " ".join(f"{c + 1}:{v!r}" for c, v in enumerate(row))
        for row, label in zip(X.tolist(), y, strict=True)
    )
    (folder / GENERATED).mkdir()
    packed = lzma.compress("\n".join(lines).encode() + b"\n")
    (folder / GENERATED / f"{GENERATED}.train.svm.xz").write_bytes(packed)
    os.environ["PAIRSIFT_DATA"] = str(folder)
    DATASETS[GENERATED] = Dataset(
        GENERATED, GENERATED, 300, 90, 210, 5, "CV", False, "", (1.0,), "", "", (), obtain="It was generated."
    )


def _with_frequent_checkpoints() -> None:
    from pairsift import checkpoint

    checkpoint._SECONDS_BETWEEN = 0.01
    checkpoint._SHARE_OF_TIME = 1.0


def _with_generated_workers() -> None:
    from pairsift.experiments import workers

    workers.COMMAND = (sys.executable, "-c", f"{_REGISTER}; from pairsift.experiments.worker import main; main()")


def _model(path: Path) -> Any:
    model = load_model(path)
    training = model.details["training"]
    return model.coef_.tobytes(), model.intercept_.tobytes(), training["validation_curve"], training["pairs_used"]


def _cells(path: Path) -> Any:
    with Results(path) as results:
        return {row.cell: (row.status, row.reason, repr(row.result), row.seed) for row in results.rows()}


FIT = Job(
    "fit",
    (
        *("fit", "train.svm", "-o", "model", "--method", "active", "--budget", "8000", "--validation", "0.1"),
        *("--random-state", "4", "--checkpoint", "kept"),
    ),
    "model",
    _model,
    _prepare_rows,
    again=("--resume",),
    before=_with_frequent_checkpoints,
    beside=("kept",),
)
CONVERT = Job(
    "convert", ("convert", "train.svm", "-o", "rows.arrow"), "rows.arrow", lambda path: path.read_bytes(), _prepare_rows
)
SCORE = Job(
    "score", ("score", "model", "new.svm", "-o", "scores"), "scores", lambda path: path.read_bytes(), _prepare_scoring
)
REPRODUCE = Job(
    "reproduce",
    ("reproduce", "--quick", "--seeds", "2", "--sets", GENERATED, "--only", "data,auc", "-o", "r.sqlite", "--json"),
    "r.sqlite",
    _cells,
    _prepare_reproduce,
    before=_with_generated_workers,
    beside=("r.sqlite-journal",),
)
JOBS = {job.name: job for job in (FIT, CONVERT, SCORE, REPRODUCE)}
