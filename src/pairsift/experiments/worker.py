"""A worker process: ``python -m pairsift.experiments.worker`` reads cells and writes how they ended, a JSON a line.

A process of its own, so that it can be killed when a cell takes too long, and has one BLAS thread from its start. It
ends when its standard input does: with the run that started it, however that ended.
"""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
from dataclasses import asdict
from typing import Any, TextIO

from pairsift.experiments.measure import prepare
from pairsift.experiments.results import Cell, Outcome
from pairsift.experiments.worker_protocol import MESSAGE


def main() -> None:
    """Serve until standard input ends."""
    # Whatever a library prints must not mix with the answers.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    requests: queue.SimpleQueue[Cell] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(requests,), daemon=True).start()
    while True:
        serve(requests.get(), answers)


def serve(cell: Cell, answers: TextIO) -> None:
    """Compute a cell: say when its data is loaded, then how it ended."""
    try:
        compute = prepare(cell)
        _say(answers, {"event": "started"})
        outcome = compute()
    except Exception as error:
        outcome = Outcome("failed", reason=f"{type(error).__name__}: {' '.join(str(error).split())}"[:500])
    _say(answers, {"event": "ended", **asdict(outcome)})


def _say(answers: TextIO, message: dict[str, Any]) -> None:
    answers.write(f"{MESSAGE}{json.dumps(message)}\n")
    answers.flush()


def _read(requests: queue.SimpleQueue[Cell]) -> None:
    for line in sys.stdin:
        requests.put(Cell(*json.loads(line)))
    os._exit(0)  # in the middle of a cell, too: nobody waits for it


if __name__ == "__main__":
    main()
