"""A column to hold rows out by: the latest values of a date or number, or whole values of a word column."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np

from pairsift._typing import AnyArray
from pairsift.data.drawn_rows import mix_bits
from pairsift.words import counted

_MONTH_OR_DATE = re.compile(r"\d{4}-\d{2}(-\d{2})?")
_OTHER_DATE = re.compile(r"\d{1,4}[./-]\d{1,2}[./-]\d{1,4}(\D|$)")


@dataclass(frozen=True)
class HeldBy:
    """The value of each row, as the place of the value among all different ones in rising order.

    Attributes
    ----------
    name : str
    codes : array of int64
        By row number.
    in_time : bool
        Whether values are dates or numbers, of which the latest are held out; otherwise whole values are drawn.
    """

    name: str
    codes: AnyArray
    in_time: bool

    def places(self, seed: int) -> AnyArray:
        """Return a whole number for each row: rows with the lowest are held out first.

        A word that more than half of the rows have comes last.
        """
        if self.in_time:
            return (int(self.codes.max()) - self.codes).astype(np.uint64)
        counts = np.bincount(self.codes)
        most = (2 * counts > len(self.codes)).astype(np.uint64) << np.uint64(63)
        value = np.arange(len(counts), dtype=np.uint64)
        hashed = mix_bits(mix_bits(value + np.uint64(1)) + np.uint64(seed))
        places: AnyArray = ((hashed >> np.uint64(1)) | most)[self.codes]
        return places

    @property
    def words(self) -> str:
        """What is held out."""
        return f"the latest values of {self.name}" if self.in_time else f"whole values of {self.name}"


def held_by(name: str, values: Any) -> HeldBy:
    """Return a column as what rows are held out by.

    Parameters
    ----------
    name : str
    values : array
        Dates or months (also as ISO text), numbers, or words; every row needs one.
    """
    values = np.asarray(values)
    missing = np.array([_is_missing(value) for value in values.tolist()], dtype=bool)
    if missing.any():
        raise ValueError(
            f"The column {name!r} to hold rows out by is empty in {counted(int(missing.sum()), 'row')}; every row "
            "needs a value. Leave such rows out, or hold out by another column."
        )
    in_time = values.dtype.kind in "biufMm"
    if values.dtype.kind == "O" and all(isinstance(value, int | float | Decimal) for value in values.tolist()):
        values, in_time = values.astype(np.float64), True
    if not in_time:
        values = values.astype(str)
        if _MONTH_OR_DATE.match(values[0]):
            with suppress(ValueError):  # words after all
                values, in_time = values.astype("datetime64[us]"), True
        elif all(_OTHER_DATE.match(value) for value in values[:100].tolist()):
            raise ValueError(
                f"The column {name!r} looks like dates that are not in ISO order ({values[0]!r}), so that the latest "
                "are not known. Write them as 2024-05-31."
            )
    different, codes = np.unique(values, return_inverse=True)
    if len(different) < 2:
        raise ValueError(
            f"The column {name!r} to hold rows out by has one value in all rows; hold out by another column, or by "
            "none."
        )
    return HeldBy(name, codes.astype(np.int64), in_time)


def _is_missing(value: Any) -> bool:
    """Whether a value is None, NaN, NaT or pandas' NA."""
    try:
        return value is None or bool(value != value)
    except TypeError:  # NA says neither yes nor no
        return True
