"""External programs as methods: they are fed svmlight text in a temporary folder, and their weights are read back.

A program is looked for on PATH, or where `name_places` says (``pairsift bench --program svm_perf=PATH``). Training time
is CPU time without reading the text: what the program itself prints, where it prints that; otherwise the CPU time of
the whole process less that of a process which reads the same text and learns nothing from it. Vowpal Wabbit learns from
its own binary cache, which is made before.

============  ======================  =====================================================================
name          looked for              what is run
============  ======================  =====================================================================
svm_perf      svm_perf_learn          SVM^perf over all pairs, ``-l 10 -w 3 -c B C / 100`` (its loss is in per cent)
sofia_ml      sofia-ml                sgd-svm, combined-ranking, 100,000 steps, lambda = 1 / (B C)
ranksvm       only where it is named  LIBLINEAR's RankSVM, ``train -s 8 -c B C / (N+ N-)``
vw            vw, or the package      Vowpal Wabbit, logistic loss on balanced rows, l2 = 1 / (B C)
============  ======================  =====================================================================
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pairsift._typing import FloatArray

COMMANDS: dict[str, str | None] = {"svm_perf": "svm_perf_learn", "sofia_ml": "sofia-ml", "ranksvm": None, "vw": "vw"}
_MODULES = {"vw": "vowpalwabbit"}
_LEAST = 1e-3  # seconds: what is left of a difference of two times is good to that at best

_places: dict[str, str] = {}


class Spent(NamedTuple):
    """CPU and wall seconds of a training outside this process."""

    cpu: float
    wall: float


def name_places(places: Mapping[str, str]) -> None:
    """Say where programs are; raise `ValueError` for a name that is none of `COMMANDS`."""
    for name, place in places.items():
        if name not in COMMANDS:
            raise ValueError(f"There is no program {name!r}; there are: {', '.join(COMMANDS)}.")
        _places[name] = place


def named_places() -> dict[str, str]:
    """Return what `name_places` was told."""
    return dict(_places)


def find_program(name: str) -> list[str] | None:
    """Return how a program is called; None when it is not here."""
    place = _places.get(name) or COMMANDS[name]
    found = None if place is None else shutil.which(place)
    if found is not None:
        return [found]
    module = _MODULES.get(name)
    if name not in _places and module is not None and find_spec(module) is not None:
        return [sys.executable, "-m", module]
    return None


def missing(name: str) -> str | None:
    """Return why a program cannot run, or None."""
    if find_program(name) is not None:
        return None
    place = _places.get(name) or COMMANDS[name]
    looked = "no name is given" if place is None else f"{place} was not found"
    return f"{looked}; say where it is with --program {name}=PATH"


class ProgramRun:
    """A run of an external program; subclasses say with which arguments and how its model is read.

    Parameters
    ----------
    X : CSR matrix
    y : array of +1 and -1
    total_C : float
        Weight of the mean loss.
    seed : int
    """

    name: str
    printed: re.Pattern[str] | None = None  # the seconds of training, in what the program prints

    def __init__(self, X: Any, y: FloatArray, total_C: float, seed: int) -> None:
        command = find_program(self.name)
        if command is None:
            raise ValueError(f"{self.name} is not here: {missing(self.name)}.")
        self._command, self.total_C, self.seed = command, total_C, seed
        self.width = int(X.shape[1])
        self.counts = int(np.sum(y > 0)), int(np.sum(y <= 0))
        self.folder = Path(tempfile.mkdtemp(prefix="pairsift-"))
        weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)
        self.write(X, y, self.folder / "train")
        reading = self.reading_arguments()
        self._reading = 0.0 if reading is None else min(self._call(reading)[0].cpu for _ in range(2))

    def train(self) -> Any:
        """Run the program; `spent` has what the training took."""
        spent, text = self._call(self.arguments())
        if self.printed is not None and (found := self.printed.search(text)):
            spent = spent._replace(cpu=float(found[1]))
        self.spent = spent._replace(cpu=max(spent.cpu - self._reading, _LEAST))
        self.learned()
        return self

    def _call(self, arguments: Sequence[str]) -> tuple[Spent, str]:
        printed = self.folder / "printed"
        start = time.perf_counter()
        with printed.open("wb") as file:
            process = subprocess.Popen(
                [*self._command, *arguments], stdin=subprocess.DEVNULL, stdout=file, stderr=file, cwd=self.folder
            )
            _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        text = printed.read_text(errors="replace")
        if process.returncode != 0:
            last = " ".join(text.split())[-300:]
            raise ValueError(f"{Path(self._command[0]).name} ended with status {process.returncode}: {last}")
        return Spent(usage.ru_utime + usage.ru_stime, time.perf_counter() - start), text

    def write(self, X: Any, y: FloatArray, path: Path) -> None:
        """Write rows for the program."""
        write_rows(path, X, ["+1" if label > 0 else "-1" for label in y])

    def arguments(self) -> list[str]:
        """Return the arguments of a training; files are called ``train`` and ``model``."""
        raise NotImplementedError

    def reading_arguments(self) -> list[str] | None:
        """Return the arguments of a run that reads the rows and learns nothing; None where none is needed."""
        return None

    def learned(self) -> None:
        """Read what was learned."""
        self.w = self.weights((self.folder / "model").read_text())

    def weights(self, text: str) -> FloatArray:
        """Return the weights of the columns from the text of a model file."""
        raise NotImplementedError

    def scores(self, X: Any) -> FloatArray:
        """Return X @ w."""
        values: FloatArray = X @ self.w
        return values


class SvmPerf(ProgramRun):
    """SVM^perf: all pairs, exactly. The model is a sum of vectors, ``weight column:value ... #`` a line."""

    name = "svm_perf"
    printed = re.compile(r"Runtime in cpu-seconds: ([0-9.]+)")

    def arguments(self) -> list[str]:
        """Area under the ROC curve as loss; its own tolerance."""
        return ["-l", "10", "-w", "3", "-c", repr(self.total_C / 100), "train", "model"]

    def weights(self, text: str) -> FloatArray:
        """Add up the vectors that follow the line of the threshold."""
        lines = iter(text.splitlines())
        if not any("threshold b" in line for line in lines):  # leaves the iterator behind that line
            raise ValueError("The model of svm_perf_learn has no line 'threshold b'.")
        w = np.zeros(self.width)
        for line in lines:
            factor, *pairs = line.partition("#")[0].split()
            for pair in pairs:
                column, _, value = pair.partition(":")
                w[int(column) - 1] += float(factor) * float(value)
        return w


class SofiaMl(ProgramRun):
    """sofia-ml's combined ranking; the first of its weights is that of a constant."""

    name = "sofia_ml"
    printed = re.compile(r"Time to complete training: ([0-9.e+-]+)")

    def arguments(self) -> list[str]:
        """What the paper ran."""
        given = {
            "learner_type": "sgd-svm",
            "loop_type": "combined-ranking",
            "lambda": repr(1 / self.total_C),
            "iterations": "100000",
            "dimensionality": str(self.width + 1),
            "random_seed": str(self.seed + 1),  # 0 means the clock
            "training_file": "train",
            "model_out": "model",
        }
        return [text for key, value in given.items() for text in (f"--{key}", value)]

    def weights(self, text: str) -> FloatArray:
        """Leave the constant out: it moves all scores alike."""
        return _fitted(np.array(text.split(), dtype=np.float64)[1:], self.width)


class LiblinearRankSvm(ProgramRun):
    """LIBLINEAR's RankSVM: squared hinge over all pairs of a query; all rows are one query."""

    name = "ranksvm"

    def write(self, X: Any, y: FloatArray, path: Path) -> None:
        """Write rows of one query."""
        write_rows(path, X, ["2 qid:1" if label > 0 else "1 qid:1" for label in y])

    def arguments(self) -> list[str]:
        """Solver 8 sums over the pairs; its own tolerance."""
        return ["-s", "8", "-q", "-c", repr(self.total_C / self.counts[0] / self.counts[1]), "train", "model"]

    def reading_arguments(self) -> list[str]:
        """A tolerance that w = 0 meets."""
        return ["-e", "1e30", *self.arguments()]

    def weights(self, text: str) -> FloatArray:
        """Return the numbers behind the line ``w``."""
        _, line, numbers = text.partition("\nw\n")
        if not line:
            raise ValueError("The model of LIBLINEAR's RankSVM has no line 'w'.")
        return _fitted(np.array(numbers.split(), dtype=np.float64), self.width)


class VowpalWabbit(ProgramRun):
    """Vowpal Wabbit: one pass of its adaptive gradient, or `passes`; it scores by itself, as its weights are hashed.

    Where only the Python package is there, the same command line runs in this process: starting Python takes longer
    than learning.
    """

    name = "vw"

    def __init__(self, X: Any, y: FloatArray, total_C: float, seed: int, passes: int = 1) -> None:
        self.passes = passes
        super().__init__(X, y, total_C, seed)

    def write(self, X: Any, y: FloatArray, path: Path) -> None:
        """Write rows with importances that balance the classes, as text and then as a cache.

        In random order: it learns row by row, and forgets the first of two classes that come one after the other.
        """
        order = np.random.default_rng(self.seed).permutation(len(y))
        X, y = X[order], y[order]
        positive, negative = (len(y) / (2 * max(count, 1)) for count in self.counts)
        heads = [f"1 {positive:.9g} |f" if label > 0 else f"-1 {negative:.9g} |f" for label in y]
        write_rows(path, X, heads)
        self._call(self._shared("-t", "-d", "train", "-k", "--cache_file", "cache"))
        path.unlink()

    def _shared(self, *more: str) -> list[str]:
        bits = max(18, int(np.ceil(np.log2(self.width + 2))) + 1)
        files = {"train", "test", "cache", "model", "scores"}
        places = [str(self.folder / text) if text in files else text for text in more]
        return ["--quiet", "-b", str(bits), "--loss_function", "logistic", *places]

    def arguments(self) -> list[str]:
        """Defaults but for the loss."""
        given = ["--cache_file", "cache", "-f", "model", "--l2", repr(1 / self.total_C)]
        given += ["--random_seed", str(self.seed), "--passes", str(self.passes), "--holdout_off"]
        return self._shared(*given)

    def learned(self) -> None:
        """Keep the model file: `scores` gives it back to the program."""

    def scores(self, X: Any) -> FloatArray:
        """Return the raw predictions."""
        write_rows(self.folder / "test", X, ["|f"] * X.shape[0])
        self._call(self._shared("-t", "-d", "test", "-i", "model", "-r", "scores"))
        lines = (self.folder / "scores").read_text().split()
        return np.array([line.partition(":")[2] or line for line in lines], dtype=np.float64)

    def _call(self, arguments: Sequence[str]) -> tuple[Spent, str]:
        if self._command[1:2] != ["-m"]:
            return super()._call(arguments)
        from vowpalwabbit import Workspace

        cpu, wall = time.process_time(), time.perf_counter()
        Workspace(arg_list=list(arguments)).finish()
        return Spent(time.process_time() - cpu, time.perf_counter() - wall), ""


def write_rows(path: Path, X: Any, heads: Sequence[str]) -> None:
    """Write CSR rows as text, ``head column:value ...``, columns from 1; a row without values gets ``1:0``.

    sofia-ml fails on a line without features.
    """
    starts, columns = X.indptr.tolist(), (X.indices + 1).tolist()
    # Nine digits give a float32 back; all of these programs but LIBLINEAR keep values in that.
    values = [f"{value:.9g}" for value in X.data.tolist()]
    stored = [f"{column}:{value}" for column, value in zip(columns, values, strict=True)]
    with path.open("w", encoding="ascii") as file:
        for k, head in enumerate(heads):
            file.write(f"{head} {' '.join(stored[starts[k] : starts[k + 1]]) or '1:0'}\n")


def _fitted(w: FloatArray, width: int) -> FloatArray:
    """Return weights for all columns: programs leave out those behind the last one that they saw."""
    if len(w) > width:
        raise ValueError(f"The model has {len(w)} weights; the rows have {width} columns.")
    return np.concatenate([w, np.zeros(width - len(w))])


PROGRAMS: dict[str, Callable[..., ProgramRun]] = {
    "svm_perf": SvmPerf,
    "sofia_ml": SofiaMl,
    "ranksvm": LiblinearRankSvm,
    "vw": VowpalWabbit,
}
