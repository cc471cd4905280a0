"""Columns that are probably not what they look like.

A number with a slip of the pen (``4o``, ``12.3.4``) or a mark for a missing value (``?``, ``-``) turns a column of
numbers into text, and so into a category for each number. `NearlyNumbers` finds such columns.

The index of a frame, written to a file, and ids that count the rows look like features. `RowNumbers` finds those.
"""

from __future__ import annotations

import math
import re
import shlex
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pairsift._typing import AnyArray, IntArray
from pairsift.words import counted

MOST_OTHERS = 0.05
"""Where more than this share of the rows is no number, the column is taken for categories."""
FEW_NUMBERS = 20
"""Categories may be called 0, 1, 2 and 3+; with more numbers than this, the numbers are probably meant as such."""
FEW_ROWS = 20
"""With no more rows than this, numbers in order may be chance."""
UNNAMED = ("", "Unnamed: 0")
"""What the index of a frame is called in a CSV file, and in the file of a frame that was read from such a file."""

_NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*", re.ASCII)


@dataclass
class NearlyNumbers:
    """Counts the rows of a text column that are numbers, and those that are not; of the latter it keeps the first."""

    n_rows: int = 0  # with the missing ones
    n_numbers: int = 0
    n_others: int = 0
    example: str = ""
    example_row: int = 0
    different: set[float] = field(default_factory=set)

    def add(self, codes: IntArray, values: list[str], counts: list[int]) -> None:
        """Count the next rows: `codes` are places in `values` (-1 is missing), `counts` how often each occurs."""
        others, others_before = [], self.n_others
        for place, (value, count) in enumerate(zip(values, counts, strict=True)):
            if not count:
                continue
            if _is_number(value):
                self.n_numbers += count
                if len(self.different) <= FEW_NUMBERS:  # enough to know, and the memory stays bounded
                    self.different.add(float(value))
            else:
                self.n_others += count
                others.append(place)
        if others and not others_before:
            first = int(np.argmax(np.isin(codes, others)))
            self.example, self.example_row = values[codes[first]], self.n_rows + first
        self.n_rows += len(codes)

    @property
    def nearly_all(self) -> bool:
        """Whether the rows so far are numbers that are meant as such, with few exceptions or none."""
        return len(self.different) > FEW_NUMBERS and self.n_others <= MOST_OTHERS * (self.n_numbers + self.n_others)

    def fault(self, column: str, table: str) -> str | None:
        """Return what is wrong and what to do, or None."""
        if not self.n_others or not self.nearly_all:
            return None
        return (
            f"{table}: column {column!r} holds numbers in {counted(self.n_numbers, 'row')}, but not in "
            f"{counted(self.n_others, 'row')}: {_short(self.example)} in row {self.example_row + 1:,} of the data, "
            "counted from 1. Correct such a value, leave the field empty if it is missing (and see --impute), or say "
            f"that the column names categories: --categorical {shlex.quote(column)}."
        )


@dataclass
class RowNumbers:
    """Tells whether a column of numbers only numbers the rows: each is one more than the one before.

    Without a name (`unnamed`: the index of a frame) the order does not matter, because rows of a frame are shuffled and
    left out before they are written: whole numbers that can all be different are enough.
    """

    unnamed: bool = False
    possible: bool = True
    n_rows: int = 0
    last: float = 0.0
    low: float = math.inf
    high: float = -math.inf

    def add(self, numbers: AnyArray) -> None:
        """Look at the next rows; NaN is a missing value."""
        if not self.possible or not len(numbers):
            return
        self.possible = bool(np.all(np.rint(numbers) == numbers)) if self.unnamed else self._goes_on(numbers)
        self.n_rows += len(numbers)
        self.last = float(numbers[-1])
        if self.unnamed:
            self.low, self.high = min(self.low, float(np.min(numbers))), max(self.high, float(np.max(numbers)))

    def _goes_on(self, numbers: AnyArray) -> bool:
        first, last = float(numbers[0]), float(numbers[-1])
        follows = first == self.last + 1 if self.n_rows else first.is_integer()
        # The first tests end the matter for nearly every column, without a look at all its rows.
        return follows and last - first == len(numbers) - 1 and np.array_equal(numbers, first + np.arange(len(numbers)))

    @property
    def found(self) -> bool:
        """Whether the rows so far are numbered."""
        return (
            self.possible and self.n_rows > FEW_ROWS and (not self.unnamed or self.high - self.low >= self.n_rows - 1)
        )


def _is_number(text: str) -> bool:
    return _NUMBER.fullmatch(text) is not None and math.isfinite(float(text))


def _short(text: Any) -> str:
    return repr(text) if len(text) <= 40 else f"{text[:40]!r}..."
