"""The command line in a forked process: real signals and limits, without half a second of imports for each try."""

from __future__ import annotations

import io
import os
import re
import signal
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pairsift.cli import main

OUT, ERR = ".out", ".err"  # what a process printed, in the folder that it runs in
_PROGRESS = re.compile(r"\d+ of \d+ cells, about ")  # what `reproduce` says from time to time
CRASHED = 70  # the status of an exception that reached the top


@dataclass(frozen=True)
class Ended:
    """How a process ended; `status` is negative for a signal."""

    status: int
    out: str
    err: str

    @property
    def said_one_line(self) -> bool:
        """Whether it ended as a fault should: status 1 and one line that is no traceback, after those of progress."""
        lines = [line for line in self.err.strip().splitlines() if not _PROGRESS.match(line)]
        return self.status == 1 and len(lines) == 1


class Running:
    """A forked process that runs a command of pairsift in a folder; `before` is called in it first."""

    def __init__(self, line: tuple[str, ...], folder: Path, before: Callable[[], object] = lambda: None) -> None:
        self._folder = folder
        self.pid = os.fork()
        if self.pid == 0:
            _be_the_command(line, folder, before)

    def send(self, number: int) -> None:
        """Send a signal, if the process is still there."""
        os.kill(self.pid, number)  # until it is waited for, its number is not given to another

    def wait(self, seconds: float = 600.0) -> Ended:
        """Wait until it ends; one that takes too long is killed and says so."""
        limit = time.monotonic() + seconds
        while True:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                break
            if time.monotonic() > limit:
                self.send(signal.SIGKILL)
                os.waitpid(self.pid, 0)
                return Ended(-signal.SIGKILL, "", f"it did not end within {seconds:g} s\n")
            time.sleep(0.002)
        texts = [(self._folder / name).read_text(errors="replace") for name in (OUT, ERR)]
        return Ended(os.waitstatus_to_exitcode(status), *texts)

    def kill_after(self, seconds: float) -> Ended:
        """Let it run for a while, then SIGKILL."""
        time.sleep(seconds)
        self.send(signal.SIGKILL)
        return self.wait()


def run(line: tuple[str, ...], folder: Path, before: Callable[[], object] = lambda: None) -> Ended:
    """Run a command until it ends."""
    return Running(line, folder, before).wait()


def _be_the_command(line: tuple[str, ...], folder: Path, before: Callable[[], object]) -> None:
    """Become the command line: never returns."""
    status = CRASHED
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt is for the command, not for getting there
    try:
        os.chdir(folder)
        for target, name in ((1, OUT), (2, ERR)):
            file = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(file, target)
            os.close(file)
        sys.stdout = io.TextIOWrapper(io.BufferedWriter(io.FileIO(1, "w", closefd=False)))
        sys.stderr = io.TextIOWrapper(io.BufferedWriter(io.FileIO(2, "w", closefd=False)), write_through=True)
        sys.argv = ["pairsift", *line]
        before()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        main()
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 1
    except BaseException:
        traceback.print_exc()
    finally:
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(status)
