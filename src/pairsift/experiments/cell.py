"""One cell, a method on a data set, in a process of its own: ``python -m pairsift.experiments.cell``.

A fresh process for each cell keeps memory and library state of one method from showing in another, and a method that
crashes or hangs takes no other with it. It reads a task as one line of JSON, then the commands "train", "curve" and
"score", and gives one answer each, a line of JSON after `MARK`, since libraries may print too. Data and whatever the
method builds beforehand (LIBLINEAR's problem, a tuned C, text files for a program) are ready before the first "train".
"""

from __future__ import annotations

import gc
import json
import shutil
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from threadpoolctl import threadpool_limits

from pairsift.experiments.anytime import watch
from pairsift.experiments.memory import peak_growth
from pairsift.experiments.methods import EstimatorRun, Run, Setting, find_method
from pairsift.experiments.programs import name_places
from pairsift.experiments.sets import Split, split
from pairsift.experiments.tuning import PATIENCE, Tuned
from pairsift.stats import auc

MARK = "\x1e"  # the record separator, as in JSON text sequences
_FACTS = ("gap_", "n_iter_", "objective_", "n_pairs_", "n_rejected_")


class Cell:
    """A method that is ready to be trained on a split."""

    def __init__(self, task: dict[str, Any]) -> None:
        name_places(task.get("programs", {}))
        self.split: Split = split(task["set"], task.get("fold", 0))
        method = find_method(task["method"])
        setting = Setting(**task.get("setting", {}))
        self.tuned: Tuned | None = None
        if method.is_tuned:
            self.tuned = method.tune(self.split.X, self.split.y, setting, task.get("patience") or PATIENCE)
            setting = replace(setting, scale_C=self.tuned.scale)
        self.run: Run = method.prepare(self.split.X, self.split.y, setting)

    def describe(self) -> dict[str, Any]:
        """Return the size of the training rows, and how C was chosen, if it was."""
        size: dict[str, Any] = {"rows": self.split.X.shape[0], "columns": self.split.X.shape[1]}
        if self.tuned is None:
            return size
        return {**size, "scale_C": self.tuned.scale, "tuning_cpu": self.tuned.cpu, "tuning": self.tuned.values}

    def train(self) -> dict[str, Any]:
        """Train once; return seconds of CPU (all threads) and of wall time, and bytes of peak memory above the rows."""
        gc.collect()
        growth = peak_growth()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            wall, cpu = time.perf_counter(), time.process_time()
            model = self.run.train()
            cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        memory: int | None = growth()
        if (spent := getattr(self.run, "spent", None)) is not None:  # in a process of its own
            cpu, wall, memory = spent.cpu, spent.wall, None
        facts = {name.rstrip("_"): _plain(getattr(model, name)) for name in _FACTS if hasattr(model, name)}
        notes = sorted({str(warning.message).splitlines()[0] for warning in caught})
        return {"cpu": cpu, "wall": wall, "memory": memory, "facts": facts, "warnings": notes}

    def curve(self) -> dict[str, Any]:
        """Train once; return CPU seconds since the start, and the AUC on the rows held out, after each round."""
        if not isinstance(self.run, EstimatorRun):
            raise ValueError("Only a method that trains in rounds has a curve.")
        gc.collect()
        X_test, y_test = self.split.X_test, self.split.y_test > 0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            moments = watch(self.run.estimator, self.split.X, self.split.y)
        return {"cpu": [m.cpu for m in moments], "auc": [auc(y_test, X_test @ moment.w) for moment in moments]}

    def score(self) -> dict[str, Any]:
        """Return the AUC on the rows held out."""
        return {"auc": auc(self.split.y_test > 0, self.run.scores(self.split.X_test))}


def _plain(value: Any) -> Any:
    value = value.item() if hasattr(value, "item") and getattr(value, "size", 1) == 1 else value
    return value if isinstance(value, int | float | str) else str(value)


def _answer(work: Callable[[], dict[str, Any]]) -> bool:
    """Do the work and send what it returns, or why it failed; return whether it went well."""
    try:
        result = work()
    except Exception as error:  # whatever a method does wrong is a result, not an end
        result = {"failed": " ".join(f"{type(error).__name__}: {error}".split())[:500]}
    sys.stdout.write(f"{MARK}{json.dumps(result)}\n")
    sys.stdout.flush()
    return "failed" not in result


def main() -> None:
    """Serve one cell on standard input and output."""
    task = json.loads(sys.stdin.readline())
    try:
        _serve(task)
    finally:
        if "folder" in task:  # whoever made it may have been killed
            shutil.rmtree(task["folder"], ignore_errors=True)


def _serve(task: dict[str, Any]) -> None:
    with threadpool_limits(task.get("threads", 1)):
        commands: dict[str, Callable[[], dict[str, Any]]] = {}

        def prepare() -> dict[str, Any]:
            cell = Cell(task)
            commands.update(train=cell.train, curve=cell.curve, score=cell.score)
            return cell.describe()

        good = _answer(prepare)
        while good and (line := sys.stdin.readline()):
            good = _answer(commands[line.strip()])


if __name__ == "__main__":
    main()
