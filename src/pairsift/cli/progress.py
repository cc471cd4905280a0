"""How far a training is, in one line on standard error that changes; nothing where that is not a terminal."""

from __future__ import annotations

import shutil
import sys
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import click

if TYPE_CHECKING:
    from pairsift.training_run import Limit
    from pairsift.validation import Validation

_SECONDS_BETWEEN = 0.1
_BAR = 20


class Progress:
    """A consumer of states that shows pairs, rejected share, AUC so far and time left.

    Parameters
    ----------
    pairs : int or None
        The budget in pairs, if it is in pairs.
    """

    def __init__(self, pairs: int | None) -> None:
        self._pairs = pairs
        self._shown = sys.stderr.isatty()
        self._watch: Validation | None = None
        self._limit: Limit | None = None
        self._started = self._last = monotonic()
        self._first: float | None = None
        self._doing = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._first is not None:
            click.echo("\r\x1b[K", nl=False, err=True)

    def begin(self, watch: Validation | None, limit: Limit | None) -> None:
        """Learn where the AUC and the limit are to be asked for."""
        self._watch, self._limit = watch, limit

    def begin_fold(self, fold: int) -> None:
        """Learn that the model is done, and is measured by fits to folds."""
        self._doing = f"measuring on held-out rows, fold {fold}: "

    def __call__(self, state: Any) -> None:
        """Show a state, if the last time is long enough ago."""
        now = monotonic()
        if not self._shown or (self._first is not None and now - self._last < _SECONDS_BETWEEN):
            return
        self._last = now
        share = self._share(state)
        if self._first is None:
            self._first = share
        text = self._text(state, share, now - self._started)
        width = shutil.get_terminal_size().columns
        click.echo("\r" + text[: width - 1] + "\x1b[K", nl=False, err=True)

    def _share(self, state: Any) -> float:
        if self._limit is not None:
            return min(self._limit.spent() / self._limit.limit, 1.0)
        return 0.0 if self._pairs is None else min(int(state.history[-1].pairs) / self._pairs, 1.0)

    def _text(self, state: Any, share: float, seconds: float) -> str:
        last = state.history[-1]
        if hasattr(last, "rows"):  # rows are drawn, not pairs
            parts = [f"{last.rows:,} rows"]
        else:
            rejected = sum(done.rejected for done in state.history)
            wanted = "" if self._pairs is None else f" of {self._pairs:,}"
            parts = [f"{last.pairs:,}{wanted} pairs", f"{rejected / max(rejected + last.pairs, 1):.0%} rejected"]
        if self._watch is not None and self._watch.curve:
            parts.append(f"AUC {self._watch.curve[-1].auc:.4f}")
        done = share - (self._first or 0.0)
        if done > 0:
            parts.append(f"{_duration(seconds * (1 - share) / done)} left")
        if self._pairs is None and self._limit is None:  # how many rows there will be is not known
            return self._doing + ", ".join(parts)
        filled = round(share * _BAR)
        return f"[{'#' * filled}{'.' * (_BAR - filled)}] " + ", ".join(parts)


def _duration(seconds: float) -> str:
    whole = round(seconds)
    hours, minutes = whole // 3600, whole % 3600 // 60
    return f"{hours}:{minutes:02}:{whole % 60:02}" if hours else f"{minutes}:{whole % 60:02}"
