"""Worker processes seen from the run: give them cells, hear how they end, kill those that take too long."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Any

from pairsift.experiments.results import Cell, Outcome
from pairsift.experiments.worker_protocol import MESSAGE

COMMAND = (sys.executable, "-m", "pairsift.experiments.worker")
# Importing and reading a data set may take long on a cold disk; it is no fault of the method.
LOADING_LIMIT = 900.0
_ONE_THREAD = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS")


@dataclass(frozen=True)
class Ended:
    """A cell that has ended, and the wall seconds it took with loading and scoring."""

    cell: Cell
    outcome: Outcome
    seconds: float


class Worker:
    """One process; it is started with its first cell, and again after it was killed or died."""

    def __init__(self, command: Sequence[str], events: queue.SimpleQueue[tuple[Worker, Any]]) -> None:
        self._command, self._events = command, events
        self._process: subprocess.Popen[str] | None = None
        self._errors: Any = None
        self.cell: Cell | None = None
        self._given = self._deadline = self._limit = 0.0

    def give(self, cell: Cell, limit: float) -> None:
        """Start a cell that may take `limit` seconds once its data is loaded."""
        process = self._process or self._start()
        self.cell, self._limit = cell, limit
        self._given = monotonic()
        self._deadline = self._given + LOADING_LIMIT
        assert process.stdin is not None
        try:
            process.stdin.write(json.dumps(cell) + "\n")
            process.stdin.flush()
        except OSError:
            pass  # it died; the reader says so

    def hear(self, process: subprocess.Popen[str], message: dict[str, Any] | None) -> Ended | None:
        """Take a message of the process, None for its end; return how the cell ended, if it did."""
        if process is not self._process:
            return None  # of one that was killed meanwhile
        if message is None:
            reason = f"the worker process died with status {process.wait()}{self._last_words()}"
            self.stop()
            return None if self.cell is None else self._end(Outcome("failed", reason=reason))
        if message.pop("event") == "started":
            self._deadline = monotonic() + self._limit
            return None
        return self._end(Outcome(**message))

    def check_time(self) -> Ended | None:
        """Kill the process if its cell has taken too long."""
        if self.cell is None or monotonic() <= self._deadline:
            return None
        self.stop()
        return self._end(Outcome("out of time", reason=f"ended after {self._limit:g} s"))

    def stop(self) -> None:
        """Kill the process, if there is one."""
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        if process.stdin is not None:
            process.stdin.close()
        self._errors.close()

    def _start(self) -> subprocess.Popen[str]:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `stop`
        self._process = process = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            encoding="utf-8",
            env={**os.environ, **dict.fromkeys(_ONE_THREAD, "1")},
            start_new_session=True,  # Ctrl-C is for the run, which then stops its workers
        )
        threading.Thread(target=self._listen, args=(process,), daemon=True).start()
        return process

    def _listen(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        with process.stdout as lines:
            for line in lines:
                if line.startswith(MESSAGE):  # not what an import printed before the worker could keep it apart
                    self._events.put((self, (process, json.loads(line.removeprefix(MESSAGE)))))
        self._events.put((self, (process, None)))

    def _last_words(self) -> str:
        self._errors.seek(0)
        lines = self._errors.read().decode("utf-8", "replace").split("\n")
        words = [line.strip() for line in lines if line.strip()]
        return f": {words[-1][:300]}" if words else ""

    def _end(self, outcome: Outcome) -> Ended:
        assert self.cell is not None
        cell, self.cell = self.cell, None
        return Ended(cell, outcome, monotonic() - self._given)


class Workers:
    """A number of workers, used one cell each."""

    def __init__(self, count: int, command: Sequence[str] = ()) -> None:
        self._events: queue.SimpleQueue[tuple[Worker, Any]] = queue.SimpleQueue()
        self._workers = [Worker(command or COMMAND, self._events) for _ in range(count)]

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *error: object) -> None:
        for worker in self._workers:
            worker.stop()

    @property
    def idle(self) -> int:
        """How many workers have no cell."""
        return sum(worker.cell is None for worker in self._workers)

    @property
    def all_idle(self) -> bool:
        """Whether no worker has a cell."""
        return self.idle == len(self._workers)

    def give(self, cell: Cell, limit: float) -> None:
        """Give a cell to an idle worker."""
        next(worker for worker in self._workers if worker.cell is None).give(cell, limit)

    def wait(self, on_idle: Callable[[], None], every: float = 0.2) -> Ended:
        """Return the next cell that ends; `on_idle` is called while nothing happens."""
        while True:
            for worker in self._workers:
                late = worker.check_time()
                if late is not None:
                    return late
            try:
                worker, (process, message) = self._events.get(timeout=every)
            except queue.Empty:
                on_idle()
                continue
            ended = worker.hear(process, message)
            if ended is not None:
                return ended
