"""The rule of every choice: of all that cannot be told from the best, what is nearest the default is taken.

Held-out rows order candidates by chance as much as by merit. A candidate cannot be told from the best where its AUC is
lower by no more than one standard error of the difference *on the same rows*, plus `LEAST_GAIN`. (They
are added: with few rows the error alone spans decades of C, and with very many rows it vanishes while nobody cares for
the fourth digit.) Among those the one nearest the default is taken,
so that other held-out rows hardly ever lead elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

LEAST_GAIN = 2e-4
"""A difference in AUC that nobody cares for."""


def is_shown(gain: float, error: float) -> bool:
    """Whether a gain in held-out AUC is more than chance and worth having."""
    return gain > error + LEAST_GAIN


def error_of_mean(errors: Sequence[float]) -> float:
    """Return the standard error of the mean of independent values."""
    return math.sqrt(sum(error**2 for error in errors)) / len(errors)
