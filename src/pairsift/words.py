"""Words of messages."""

from __future__ import annotations


def counted(count: int, noun: str) -> str:
    """Return a number with its noun: "1 row", "2 rows", "20,000 rows"."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def all_rows_have(count: int) -> str:
    """Return the beginning of what is said of every row."""
    return "the only row has" if count == 1 else f"all {count:,} rows have"
