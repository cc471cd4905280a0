"""What ``pairsift fit`` says of a fit."""

from __future__ import annotations

from typing import Any

from pairsift.words import counted


def fit_sentence(output: str, method: str, facts: dict[str, Any]) -> str:
    """Return the line that ends a fit on one machine."""
    from pairsift.training_run import BYTES_USED, SECONDS_USED

    if method == "auto":
        return _auto_sentence(output, facts)
    held = facts.get("held_out", {"rows": 0, "positives": 0})
    rows, positives = facts["rows"] - held["rows"], facts["positives"] - held["positives"]
    there_are = positives * (rows - positives)
    learned = {
        "active": f"{facts.get('pairs_used', 0):,} of {there_are:,} pairs",
        "exact": f"all {there_are:,} pairs",
        "pointwise": f"{rows:,} rows",
        "combined": f"{facts.get('steps', 0):,} random pairs and rows",
    }[method]
    gap = f"; relative gap {facts['relative_gap']:.1e}" if "relative_gap" in facts else ""
    watched = (
        f" C = {facts['C']:g}, chosen from {counted(len(facts['C_path']), 'trial')}." if facts.get("C_path") else ""
    )
    if facts.get("stop_reason") in (SECONDS_USED, BYTES_USED):
        watched += f" The {facts['stop_reason'].removesuffix(' reached')} ended it."
    if "validation" in facts:
        check = facts["validation"]
        watched += f" AUC on the validation part {check['auc']:.4f} (95 %: {check['low']:.4f} to {check['high']:.4f})."
    return f"{output}: trained on {learned} ({_counts(facts)}) in {_seconds(facts)}{gap}.{watched}"


def _auto_sentence(output: str, facts: dict[str, Any]) -> str:
    from pairsift.training_run import BYTES_USED, SECONDS_USED

    used = sum(facts["rows_used"].values())
    ended = ""
    if facts["stop_reason"] in (SECONDS_USED, BYTES_USED):
        ended = f" The {facts['stop_reason'].removesuffix(' reached')} ended it."
    return (
        f"{output}: trained on {used:,} of {facts['rows']:,} rows ({_counts(facts)}) in {_seconds(facts)}. "
        f"{holdout_words(facts['holdout'], facts.get('held_out_by'))} {chosen_words(facts)}{ended}"
    )


def holdout_words(holdout: dict[str, float] | None, column: str | None = None) -> str:
    """Return the AUC on held-out rows in words, and what was held out."""
    if holdout is None:
        return "The AUC on held-out rows was not measured."
    what = "" if column is None else f" ({column})"
    return f"AUC on held-out rows{what} {holdout['value']:.4f} (95 %: {holdout['low']:.4f} to {holdout['high']:.4f})."


def chosen_words(facts: dict[str, Any]) -> str:
    """Return what was learned from, and how it came to that."""
    settled = f"{facts['loss'].replace('_', ' ')} {facts['terms']}".capitalize()
    steps = f", with {counted(facts['steps'], 'Newton step')}" if "steps" in facts else ""
    if not facts["trials"]:
        return f"{settled}, C = {facts['C']:g}."
    tried = {trial[2] for trial in facts["trials"]}
    rescaled = "" if facts["C"] in tried else ", C rescaled to all rows learned from"
    return f"{settled} and C = {facts['C']:g}{steps}, chosen from {counted(len(facts['trials']), 'trial')}{rescaled}."


def engine_sentence(output: str, facts: dict[str, Any]) -> str:
    """Return the line that ends a fit on an engine."""
    rows = f"{facts['positives']:,} positive rows of {facts['rows']:,}"
    moved = f"{facts['passes']} passes; {facts['rows_moved']:,} rows came here"
    if "pairs_used" in facts:
        learned = f"{facts['pairs_used']:,} of {facts['pairs']:,} pairs"
        more = f"; relative gap {facts['relative_gap']:.1e}."
    else:
        learned = f"{sum(facts['rows_used'].values()):,} rows"
        more = f". {holdout_words(facts['holdout'])} {chosen_words(facts)}"
    return f"{output}: trained on {learned} ({rows}) in {facts['seconds_fitting']:.2f} s and {moved}{more}"


def _counts(facts: dict[str, Any]) -> str:
    held = facts.get("held_out")
    kept = f"; {held['rows']:,} of them held out, {held['positives']:,} positive" if held else ""
    in_all = " in the data" if held or "rows_used" in facts else ""
    return f"{facts['positives']:,} positive and {facts['rows'] - facts['positives']:,} negative rows{in_all}{kept}"


def _seconds(facts: dict[str, Any]) -> str:
    return f"{facts['seconds_fitting']:.2f} s after {facts['seconds_reading']:.2f} s of reading"
