"""One cell, a method on a data set, in a process of its own: ``python -m pairsift.experiments.cell``.

A fresh process for each cell keeps memory and library state of one method from showing in another, and a method that
crashes or hangs takes no other with it. It reads a task as one line of JSON, then the commands "train" and "score", and
gives one answer each, a line of JSON after `MARK`, since libraries may print too. Data and whatever the method builds
beforehand (LIBLINEAR's problem) are ready before the first "train".
"""

from __future__ import annotations

import gc
import json
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

from threadpoolctl import threadpool_limits

from pairsift.experiments.memory import peak_growth
from pairsift.experiments.methods import Run, Setting, find_method
from pairsift.experiments.sets import Split, split
from pairsift.stats import auc

MARK = "\x1e"  # the record separator, as in JSON text sequences
_FACTS = ("gap_", "n_iter_", "objective_", "n_pairs_", "n_rejected_")


class Cell:
    """A method that is ready to be trained on a split."""

    def __init__(self, task: dict[str, Any]) -> None:
        self.split: Split = split(task["set"], task.get("fold", 0))
        method = find_method(task["method"])
        self.run: Run = method.prepare(self.split.X, self.split.y, Setting(**task.get("setting", {})))

    def describe(self) -> dict[str, Any]:
        """Return the size of the training rows."""
        return {"rows": self.split.X.shape[0], "columns": self.split.X.shape[1]}

    def train(self) -> dict[str, Any]:
        """Train once; return seconds of CPU (all threads) and of wall time, and bytes of peak memory above the rows."""
        gc.collect()
        growth = peak_growth()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            wall, cpu = time.perf_counter(), time.process_time()
            model = self.run.train()
            cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        facts = {name.rstrip("_"): _plain(getattr(model, name)) for name in _FACTS if hasattr(model, name)}
        notes = sorted({str(warning.message).splitlines()[0] for warning in caught})
        return {"cpu": cpu, "wall": wall, "memory": growth(), "facts": facts, "warnings": notes}

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
    with threadpool_limits(task.get("threads", 1)):
        commands: dict[str, Callable[[], dict[str, Any]]] = {}

        def prepare() -> dict[str, Any]:
            cell = Cell(task)
            commands.update(train=cell.train, score=cell.score)
            return cell.describe()

        good = _answer(prepare)
        while good and (line := sys.stdin.readline()):
            good = _answer(commands[line.strip()])


if __name__ == "__main__":
    main()
