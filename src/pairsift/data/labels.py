"""Two labels, and which of them is positive.

In Python the larger label is positive, as scikit-learn has it. In files labels may mean anything: there the affirmative
of a known pair is positive (1 of 0/1 and -1/+1, true, yes, positive), else the rarer label. In either case the user may
say which one is; in a file with more than two labels all others are then negative, together.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pairsift._typing import AnyArray
from pairsift.words import all_rows_have, counted

_PLAIN_PAIRS = ((0, 1), (-1, 1))  # false/true are 0/1
_WORD_PAIRS = (("no", "yes"), ("n", "y"), ("false", "true"), ("negative", "positive"), ("0", "1"), ("-1", "1"))
_OTHERS = "(not {})"  # in brackets, so that a label of the data is hardly ever meant


def choose_labels(counts: Mapping[Any, int], positive: Any = None, *, by_meaning: bool = False) -> tuple[Any, Any]:
    """Return the negative and the positive label.

    Parameters
    ----------
    counts : mapping
        How many rows have each label.
    positive : optional
        The positive label, as the data have it or as text ("1", "yes", "true").
    by_meaning : bool
        Whether labels come from a file: then the affirmative or rarer one is positive, not the larger one, and with
        `positive` there may be more than two.

    Raises
    ------
    ValueError
        There are not two labels, or `positive` is none of them.
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
    if positive is not None:
        chosen = _match(ordered, positive, counts)
        if len(ordered) > 2 and by_meaning:
            return _OTHERS.format(_plain(chosen)), chosen
        if len(ordered) == 2:
            return (ordered[0] if chosen == ordered[1] else ordered[1]), chosen
    if len(ordered) > 2:
        remedy = " Say which one is positive with --positive; all others are then negative." if by_meaning else ""
        raise ValueError(
            "Only binary classification is supported. The labels of y must have exactly two values; "
            f"got {len(ordered)}: {_with_counts(ordered, counts)}.{remedy}"
        )
    low, high = ordered
    if not by_meaning or is_known_pair(low, high):
        return low, high
    if is_known_pair(high, low) or counts[low] < counts[high]:
        return high, low
    return low, high


def is_known_pair(negative: Any, positive: Any) -> bool:
    """Whether the two labels say by themselves which one is positive."""
    if isinstance(negative, str) and isinstance(positive, str):
        return (negative.strip().casefold(), positive.strip().casefold()) in _WORD_PAIRS
    return (negative, positive) in _PLAIN_PAIRS


def as_pair(labels: tuple[Any, Any]) -> tuple[Any, Any]:
    """Return the two labels; both as text where the negative one stands for all others."""
    negative, positive = labels
    if isinstance(negative, str) and not isinstance(positive, str):
        positive = _plain(positive)
    return negative, positive


def is_positive(labels: Any, value: Any) -> bool | None:
    """Return whether a label is the second of two; None where it is neither."""
    if labels[0] == _OTHERS.format(_plain(labels[1])):
        return _plain(value) == _plain(labels[1])
    found = match_label(labels, value)
    return None if found is None else bool(found == labels[1])


def _plain(label: Any) -> str:
    """Return a label as text, whole numbers without a point."""
    shown = show(label)
    plain = label.item() if hasattr(label, "item") else label
    return plain if isinstance(plain, str) else shown


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
