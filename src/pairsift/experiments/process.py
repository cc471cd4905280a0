"""The other end of `cell`: starts the process of a cell, asks it, and says how it ended."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import weakref
from contextlib import suppress
from typing import Any, Self

from pairsift.experiments.cell import MARK

_THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
)
TUNINGS = 15  # trainings that choosing C takes at most, and the preparation


class CellFailed(Exception):
    """A cell that has no result; `status` is "failed" or "out of time"."""

    def __init__(self, status: str, reason: str) -> None:
        super().__init__(reason)
        self.status, self.reason = status, reason


class CellProcess:
    """One cell in a process of its own; a context manager that ends it.

    It begins to load and prepare at once; `ready` waits for that, so that several can prepare side by side.

    Parameters
    ----------
    task : dict
        ``{"set", "fold", "method", "setting", "threads", "programs", "patience"}``.
    time_limit : float or None
        Seconds that one answer may take; a cell that tunes may take `TUNINGS` times that to be ready.
    """

    def __init__(self, task: dict[str, Any], time_limit: float | None = None) -> None:
        threads = str(task.get("threads", 1))
        self._limit = time_limit
        self._ready_limit = time_limit and time_limit * (TUNINGS if ":C=tuned" in task["method"] else 1)
        # Files of a program that is killed go with this folder.
        folder = tempfile.mkdtemp(prefix="pairsift-")
        self._remove_folder = weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "pairsift.experiments.cell"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            process_group=0,  # so that it is ended together with the program that it may have started
            env={**os.environ, **dict.fromkeys(_THREAD_VARIABLES, threads), "TMPDIR": folder},
        )
        self._say(json.dumps({**task, "folder": folder}))

    def ready(self) -> dict[str, Any]:
        """Wait until the cell can train; return ``{"rows", "columns"}`` of its training rows. Call it first."""
        return self._hear(self._ready_limit)

    def train(self) -> dict[str, Any]:
        """Train once: see `pairsift.experiments.cell.Cell.train`."""
        return self._ask("train")

    def curve(self) -> dict[str, Any]:
        """Train once, round by round: see `pairsift.experiments.cell.Cell.curve`."""
        return self._ask("curve")

    def score(self) -> dict[str, Any]:
        """Return ``{"auc": ...}`` on the rows held out."""
        return self._ask("score")

    def _ask(self, command: str) -> dict[str, Any]:
        self._say(command)
        return self._hear(self._limit)

    def _say(self, line: str) -> None:
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # it is dead, which `_hear` finds out
            self._process.stdin.write(line + "\n")
            self._process.stdin.flush()

    def _hear(self, limit: float | None) -> dict[str, Any]:
        assert self._process.stdout is not None
        late = threading.Event()

        def end() -> None:
            late.set()
            self._kill()

        timer = threading.Timer(limit or 0, end)
        if limit is not None:
            timer.start()
        try:
            answer = next((line for line in self._process.stdout if MARK in line), "")
        finally:
            timer.cancel()
        if not answer:
            self.close()
            raise CellFailed("out of time", f"over {limit:g} s") if late.is_set() else self._death()
        result: dict[str, Any] = json.loads(answer.partition(MARK)[2])
        if "failed" in result:
            self.close()
            raise CellFailed("failed", result["failed"])
        return result

    def _death(self) -> CellFailed:
        code = self._process.returncode
        end = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with status {code}"
        return CellFailed("failed", f"the process {end}")

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self._kill()
            self._process.wait()
        self._process.stdout.close()
        self._remove_folder()

    def _kill(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
