"""How much a training may use, in the user's words: ``8000`` pairs, ``"30s"``, ``"2GB"``.

Pairs are terms, points included. Seconds are those of training: sampling, solving, the last solve and the threshold,
not the reading of a file before. Bytes are those of the rows that the method reads, each time that it reads them: the
number of rows times the mean size of a row's stored values (and of their column indices, where rows are sparse).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from numbers import Integral
from typing import Any

from pairsift.parameters import AUTO

STRENGTH_PAIRS = 8000
"""With seconds or bytes the weights add up to C times this, so that strength does not depend on the machine."""

_SECONDS = {"ms": 1e-3, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
_BYTES = {"B": 1} | {
    f"{letter}{middle}B": base**power
    for power, letter in enumerate("KMGT", start=1)
    for middle, base in (("", 1000), ("i", 1024))
}
_AMOUNT = re.compile(r"\s*(\d+\.?\d*|\.\d+)\s*([A-Za-z]*)\s*")


@dataclass(frozen=True)
class Budget:
    """One of a number of pairs, of seconds and of bytes."""

    pairs: int | None = None
    seconds: float | None = None
    bytes: int | None = None


def parse_budget(budget: Any, auto: int | None = None) -> Budget:
    """Return what a user gave as budget; raise `ValueError` if it is none. "auto" is the given number, if there is one.

    >>> parse_budget(8000), parse_budget("1.5m").seconds, parse_budget("2GB").bytes
    (Budget(pairs=8000, seconds=None, bytes=None), 90.0, 2000000000)
    """
    if auto is not None and isinstance(budget, str) and budget == AUTO:
        return Budget(pairs=auto)
    is_count = isinstance(budget, Integral) and not isinstance(budget, bool)
    if is_count and int(budget) >= 1:
        return Budget(pairs=int(budget))
    found = _AMOUNT.fullmatch(budget) if isinstance(budget, str) else None
    parsed = None if found is None else _amount(*found.groups())
    if parsed is None:
        raise ValueError(
            f"budget must be a whole number of at least 1 (of {'pairs' if auto is None else 'rows of each class'}), "
            "seconds as '30s' (ms, s, m, h)"
            f"{',' if auto is not None else ' or'} bytes as '2GB' (KB, MB, GB, TB, or KiB and so on)"
            f"{' or ' + repr(AUTO) if auto is not None else ''}; got {budget!r}."
        )
    return parsed


def _amount(number: str, unit: str) -> Budget | None:
    if not unit:
        return Budget(pairs=int(number)) if number.isdecimal() and int(number) >= 1 else None
    if unit in _SECONDS:
        seconds = float(number) * _SECONDS[unit]
        return Budget(seconds=seconds) if 0 < seconds < float("inf") else None
    for name, size in _BYTES.items():
        if unit.lower() == name.lower() and 1 <= float(number) * size < float("inf"):
            return Budget(bytes=int(float(number) * size))
    return None
