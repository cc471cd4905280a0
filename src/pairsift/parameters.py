"""Checks of parameters: what is required, what was got."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np

AUTO = "auto"


def check_positive(name: str, value: Any) -> None:
    """Require a finite number above zero."""
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 < float(value) < np.inf:
        raise ValueError(f"{name} must be a number above 0; got {value!r}.")


def check_strength(name: str, value: Any) -> None:
    """Require a finite number above zero, or the word "auto"."""
    if isinstance(value, str) and value != AUTO:
        raise ValueError(
            f'{name} must be a number above 0, or "auto" to have it chosen on held-out rows; got {value!r}.'
        )
    if not isinstance(value, str):
        check_positive(name, value)


def check_count(name: str, value: Any, least: int = 1) -> None:
    """Require a whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}; got {value!r}.")


def check_share(name: str, value: Any, *words: str) -> None:
    """Require a number in [0, 1], or one of the given words."""
    if isinstance(value, str) and value in words:
        return
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 <= float(value) <= 1:
        also = "".join(f" or {word!r}" for word in words)
        raise ValueError(f"{name} must be a number in [0, 1]{also}; got {value!r}.")


def check_flag(name: str, value: Any) -> None:
    """Require True or False."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True or False; got {value!r}.")


def check_word(name: str, value: Any, *words: str) -> None:
    """Require one of the given words."""
    if value not in words:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, words))}; got {value!r}.")
