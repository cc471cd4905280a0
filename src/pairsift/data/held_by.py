"""A column to hold rows out by: the latest values of a date or number, or whole values of a word column."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from pairsift._typing import AnyArray
from pairsift.data.drawn_rows import mix_bits
from pairsift.words import counted

_ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


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
        """Return a whole number for each row: rows with the lowest are held out first."""
        if self.in_time:
            return (int(self.codes.max()) - self.codes).astype(np.uint64)
        return mix_bits(mix_bits(self.codes.astype(np.uint64) + np.uint64(1)) + np.uint64(seed))


def held_by(name: str, values: Any) -> HeldBy:
    """Return a column as what rows are held out by.

    Parameters
    ----------
    name : str
    values : array
        Dates (also as ISO text), numbers, or words; every row needs one.
    """
    values = np.asarray(values)
    if values.dtype.kind == "O":
        missing = np.array([value is None or value != value for value in values.tolist()], dtype=bool)
    elif values.dtype.kind in "Mm":
        missing = np.isnat(values)
    else:
        missing = np.isnan(values) if values.dtype.kind == "f" else np.zeros(len(values), dtype=bool)
    if missing.any():
        raise ValueError(
            f"The column {name!r} to hold rows out by is empty in {counted(int(missing.sum()), 'row')}; every row "
            "needs a value. Leave such rows out, or hold out by another column."
        )
    in_time = values.dtype.kind in "biufMm"
    if values.dtype.kind == "O" and all(isinstance(value, int | float) for value in values.tolist()):
        values, in_time = values.astype(np.float64), True
    if not in_time:
        values = values.astype(str)
        if _ISO_DATE.match(values[0]):
            with suppress(ValueError):  # words after all
                values, in_time = values.astype("datetime64[us]"), True
    different, codes = np.unique(values, return_inverse=True)
    if len(different) < 2:
        raise ValueError(
            f"The column {name!r} to hold rows out by has one value in all rows; hold out by another column, or by "
            "none."
        )
    return HeldBy(name, codes.astype(np.int64), in_time)
