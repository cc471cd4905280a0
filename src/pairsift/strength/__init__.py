"""C="auto": the strength of a fit, chosen on rows that are held out (docs/strength.md)."""

from pairsift.strength.choose import (
    Strength,
    choose_active,
    choose_combined,
    choose_exact,
    choose_pointwise,
)
from pairsift.strength.walk import Tried

__all__ = [
    "Strength",
    "Tried",
    "choose_active",
    "choose_combined",
    "choose_exact",
    "choose_pointwise",
]
