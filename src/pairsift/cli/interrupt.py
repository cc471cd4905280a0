"""Ctrl-C: once it ends a command; during training the first keeps the model, and the second ends the program."""

from __future__ import annotations

import signal
import threading
from time import monotonic
from types import FrameType, TracebackType
from typing import Any, Self

_MOMENT = 1.0


class RaiseOnce:
    """A handler that raises `KeyboardInterrupt`, and then for a second does nothing.

    Repeated Ctrl-C would interrupt cleanup: a half-written file would stay, and Python would print a traceback.
    """

    def __init__(self) -> None:
        self._last = -_MOMENT

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Handle a signal."""
        now = monotonic()
        if now - self._last >= _MOMENT:
            self._last = now
            raise KeyboardInterrupt


def take_interrupts() -> None:
    """Let Ctrl-C end the command as `RaiseOnce` does, unless whoever started it has SIGINT ignored."""
    mine = threading.current_thread() is threading.main_thread()
    if mine and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, RaiseOnce())


class Interrupts:
    """A context in which the first SIGINT is noted, and the second raises `KeyboardInterrupt`; a consumer of states."""

    def __init__(self, reason: str) -> None:
        self._reason = reason
        self.noted = False
        self._raise = RaiseOnce()

    def __enter__(self) -> Self:
        self._installed = threading.current_thread() is threading.main_thread()
        if self._installed:  # other threads cannot have handlers, and get no signals
            self._before = signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._installed:
            # One that raised has just done so: what tidies up after it is not to be broken into.
            signal.signal(signal.SIGINT, self._before if kind is not KeyboardInterrupt else self._raise)

    def begin_fold(self, fold: int) -> None:
        """Say that fits to folds are to be ended too."""

    def __call__(self, state: Any) -> str | None:
        """Return why to stop, or None."""
        return self._reason if self.noted else None

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.noted:
            self._raise(number, frame)
        self.noted = True
