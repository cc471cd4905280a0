"""The rounds of a training, as the model file tells of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple


class RoundAcceptance(NamedTuple):
    """The pairs that a round accepted, and the share of its candidates that they were."""

    pairs: int
    acceptance: float


def acceptance_by_round(details: Mapping[str, Any]) -> list[RoundAcceptance]:
    """Return the total of pairs after each round and the share of its candidates that was accepted.

    Empty where the training had no rounds. A model file may come from anywhere, so that nothing is taken on trust.
    """
    training = details.get("training")
    history = training.get("history") if isinstance(training, Mapping) else None
    if not isinstance(history, Mapping):
        return []
    pairs, rejected = history.get("pairs"), history.get("rejected")
    if not isinstance(pairs, list) or not isinstance(rejected, list) or len(pairs) != len(rejected):
        return []
    if not all(map(_is_count, [*pairs, *rejected])):
        return []
    found = []
    for before, after, refused in zip([0, *pairs], pairs, rejected, strict=False):
        accepted = after - before
        if accepted < 0 or accepted + refused <= 0:
            return []
        found.append(RoundAcceptance(int(after), accepted / (accepted + refused)))
    return found


def _is_count(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < float("inf")
