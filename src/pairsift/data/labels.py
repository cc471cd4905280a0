"""Two labels, and which of them is positive: one rule for arrays, text, tables and stores.

Without `positive` the larger label is positive, as scikit-learn has it for arrays. A reader of files in which labels
may mean anything (tables) asks for `strict`: then only 0/1, -1/+1 and false/true speak for themselves, and other
labels need `positive`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pairsift._typing import AnyArray
from pairsift.words import all_rows_have, counted

_PLAIN_PAIRS = ((0, 1), (-1, 1))  # false/true are 0/1


def choose_labels(counts: Mapping[Any, int], positive: Any = None, *, strict: bool = False) -> tuple[Any, Any]:
    """Return the negative and the positive label.

    Parameters
    ----------
    counts : mapping
        How many rows have each label.
    positive : optional
        The positive label, as the data have it or as text ("1", "yes", "true").
    strict : bool
        Whether labels other than 0/1, -1/+1 and false/true need `positive`.

    Raises
    ------
    ValueError
        There are not two labels, or `positive` is none of them, or it is needed.
    """
    if not counts:
        raise ValueError("y is empty: at least one positive and one negative row are required.")
    if len(counts) == 1:
        ((label, count),) = counts.items()
        raise ValueError(
            f"Two classes are required, but {all_rows_have(count)} one class, the label {show(label)}: "
            "there is no pair to order."
        )
    ordered = _in_order(counts)
    if len(ordered) > 2:
        raise ValueError(
            "Only binary classification is supported. The labels of y must have exactly two values; "
            f"got {len(ordered)}: {_with_counts(ordered, counts)}."
        )
    low, high = ordered
    if positive is not None:
        return (low, high) if _match(ordered, positive, counts) == high else (high, low)
    if strict and (low, high) not in _PLAIN_PAIRS:
        rarer = min(ordered, key=lambda label: counts[label])
        raise ValueError(
            f"The labels are {_with_counts(ordered, counts)}; say which one is positive, the one to rank first, with "
            f"--positive (--positive {rarer} if it is the rarer one): only 0/1, -1/+1 and false/true need no word."
        )
    return low, high


def match_label(labels: AnyArray, wanted: Any) -> Any | None:
    """Return the one of `labels` that `wanted` means: the same value, the same text, or the same number; else None."""
    for label in labels:
        plain = label.item() if hasattr(label, "item") else label
        if type(plain) is type(wanted) and plain == wanted:
            return label
    found = [label for label in labels if _same(label.item() if hasattr(label, "item") else label, wanted)]
    return found[0] if len(found) == 1 else None


def show(label: Any) -> str:
    """Return a label as messages have it: text in quotes, whole numbers without a point."""
    plain = label.item() if hasattr(label, "item") else label
    if isinstance(plain, float) and plain.is_integer() and abs(plain) < 2**53:
        return str(int(plain))
    return repr(plain)


def unknown_labels(found: str, labels: AnyArray) -> str:
    """Return what is said when data have other labels than a model: what was found, the model's two, what to do."""
    negative, positive = map(show, labels)
    return (
        f"{found}; the model knows the labels {negative} and {positive} ({positive} is positive). Write the labels as "
        "the model has them."
    )


def _match(ordered: list[Any], positive: Any, counts: Mapping[Any, int]) -> Any:
    found = match_label(ordered, positive)  # type: ignore[arg-type]
    if found is None:
        raise ValueError(
            f"The positive label {positive!r} does not occur; the labels are {_with_counts(ordered, counts)}."
        )
    return found


def _same(label: Any, wanted: Any) -> bool:
    if isinstance(label, bool):
        return str(label).lower() == str(wanted).lower() or str(int(label)) == str(wanted)
    if label == wanted or str(label) == str(wanted):
        return True
    if isinstance(label, str):
        return False
    try:
        return bool(float(wanted) == label)
    except (TypeError, ValueError):
        return False


def _in_order(counts: Mapping[Any, int]) -> list[Any]:
    try:
        return sorted(counts)
    except TypeError:
        return sorted(counts, key=str)


def _with_counts(ordered: list[Any], counts: Mapping[Any, int]) -> str:
    shown = ", ".join(f"{show(label)} ({counted(counts[label], 'row')})" for label in ordered[:5])
    return shown + (", ..." if len(ordered) > 5 else "")
