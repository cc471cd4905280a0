"""Ctrl-C during training: the first ends the round and keeps the model, the second ends the program."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType
from typing import Any, Self


class Interrupts:
    """A context in which the first SIGINT is noted, and the second raises `KeyboardInterrupt`; a consumer of states."""

    def __init__(self, reason: str) -> None:
        self._reason = reason
        self.noted = False

    def __enter__(self) -> Self:
        self._installed = threading.current_thread() is threading.main_thread()
        if self._installed:  # other threads cannot have handlers, and get no signals
            self._before = signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._installed:
            signal.signal(signal.SIGINT, self._before)

    def __call__(self, state: Any) -> str | None:
        """Return why to stop, or None."""
        return self._reason if self.noted else None

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.noted:
            raise KeyboardInterrupt
        self.noted = True
