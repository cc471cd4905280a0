"""Searches as generators: they yield after each step and return what they found, so that one may look in between."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, TypeVar

Step = TypeVar("Step")
Told = TypeVar("Told")
Found = TypeVar("Found")


def outcome(steps: Generator[Any, None, Found]) -> Found:
    """Run to the end, and return what was found."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            found: Found = end.value
            return found


def telling(steps: Generator[Step, None, Found], tell: Callable[[Step], Told]) -> Generator[Told, None, Found]:
    """Yield what `tell` makes of each step, and return what was found."""
    while True:
        try:
            step = next(steps)
        except StopIteration as end:
            found: Found = end.value
            return found
        yield tell(step)
