"""How many rows decide what is done: the thresholds of a fit that chooses for itself, in one place.

Tests set them to the least that can be split, so that what happens with many rows is checked with few.
"""

LEAST_TO_CHOOSE = 25
"""Different rows of the rarer class; with fewer, held-out rows cannot tell candidates apart, and defaults are taken."""

ROWS_TO_SEE = 500
"""Held-out rows of the rarer class that give an AUC to about 0.01; with fewer, several parts judge in turn."""

LEAST_TO_SPARE = 2500
"""Rows of the rarer class from which on a part of its own is held out and not learned from; below, folds measure."""

LEAST_NEW_ROWS = 500
"""Rows of each class that a second look at a choice needs."""

EXACT_ROWS = 20_000
"""Rows of both classes up to which smooth losses are solved to nine digits."""

ROWS_TO_TELL = 1000
"""New rows of each class that can tell whether more rows promise a gain."""

FIRST_ROWS = 1000
"""Rows of each class that are drawn first where nothing is chosen."""
