"""The paper's table "Data Sets Statistics": what was counted in the files beside what it prints."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pairsift.experiments.paper import SETS, paper
from pairsift.experiments.samples import Cells, missing_reason
from pairsift.experiments.table import Entry, Table, absent, source

_COUNTS = {
    "Positive": ("positives", "positive"),
    "Negative": ("negatives", "negative"),
    "Points": ("points", "points"),
    "Pairs": ("pairs", "pairs"),
    "Dimension": ("dimension", "dimension"),
    "AUC": ("auc", "auc"),
}


def statistics_table(cells: Cells) -> Table:
    """Return the table "Data Sets Statistics"."""
    values = paper()["statistics"]
    rows = tuple(
        (name + ("*" if row["multiclass"] else ""), _statistics(cells, name, row))
        for name, row in values["rows"].items()
    )
    return Table(
        "data",
        "Data sets",
        source(values),
        tuple(_COUNTS),
        rows,
        rule="A count is reproduced when it is the paper's.",
        counts="Counted on the train file, without pools and folds.",
        notes=(
            "* is a set of several classes: the first is ranked ahead of the others. Pairs are 2 N+ N−, as the paper "
            "counts them. AUC: CV is 5-fold cross-validation, test the paper's test file.",
            *_stated_differences(cells),
        ),
    )


def _statistics(cells: Cells, name: str, row: dict[str, Any]) -> tuple[Entry, ...]:
    found = cells.find("data", name, "statistics")
    result = next((one.result for one in found if one.status == "done"), None)
    if result is None:
        status = missing_reason(found)
        return tuple(absent(status, _count(row[theirs])) for _, theirs in _COUNTS.values())
    return tuple(_statistic(result.get(ours), row[theirs]) for ours, theirs in _COUNTS.values())


def _statistic(ours: Any, theirs: Any) -> Entry:
    same = ours == theirs
    change = "" if same or not isinstance(ours, int) else f"{ours - theirs:+,}".replace("-", "−")
    return Entry(_count(ours), _count(theirs), change, "reproduced" if same else "differs")


def _count(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)


def _stated_differences(cells: Cells) -> Iterable[str]:
    for name in SETS:
        for row in cells.find("data", name, "statistics"):
            differs = row.result.get("differs") or {}
            entries = differs.items() if isinstance(differs, dict) else enumerate(differs)
            for what, why in entries:
                reason = why.get("reason", why) if isinstance(why, dict) else why
                yield f"{name}, {what}: {reason}."
