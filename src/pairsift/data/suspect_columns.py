"""Columns that are probably not what they look like.

A number with a slip of the pen (``4o``, ``12.3.4``) or a mark for a missing value (``?``, ``-``) turns a column of
numbers into text, and so into a category for each number. `NearlyNumbers` finds such columns.
"""

from __future__ import annotations

import math
import re
import shlex
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pairsift._typing import IntArray
from pairsift.words import counted

MOST_OTHERS = 0.05
"""Where more than this share of the rows is no number, the column is taken for categories."""
FEW_NUMBERS = 20
"""Categories may be called 0, 1, 2 and 3+; with more numbers than this, the numbers are probably meant as such."""

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


def _is_number(text: str) -> bool:
    return _NUMBER.fullmatch(text) is not None and math.isfinite(float(text))


def _short(text: Any) -> str:
    return repr(text) if len(text) <= 40 else f"{text[:40]!r}..."
