"""Whether a row of a store of results is one that `pairsift reproduce` can have written.

A store may come from somebody else, damaged or worse. Tables and pages take its rows as they are, so everything that
they rely on is checked here, once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pairsift.experiments.results import STATUSES, Row

_TEXTS = ("experiment", "dataset", "method", "version", "machine", "finished_at")
_COUNTS = ("points", "positives", "negatives", "pairs", "dimension")
_MOST_SECONDS = 1e9  # thirty years
_MOST = 1e18  # of any other number: sums, squares and ratios of such numbers are still numbers


def check_row(row: Row) -> None:
    """Raise `ValueError` unless a row can be shown."""
    where = f"{row.experiment!r}, {row.dataset!r}, {row.method!r}, fold {row.fold!r}, pool {row.pool!r}"
    fault = _fault(row) or (_result_fault(row) if row.status == "done" else None)
    if fault:
        raise ValueError(f"The store of results has a row that cannot be used ({where}): {fault}.")


def _fault(row: Row) -> str | None:
    if not all(isinstance(getattr(row, name), str) for name in _TEXTS) or not isinstance(row.reason, str | None):
        return "a text is required"
    if not all(_is_count(number) for number in (row.fold, row.pool)) or not isinstance(row.seed, int | None):
        return "fold, pool and seed must be whole numbers"
    if row.status not in STATUSES:
        return f"the status {row.status!r} is not known"
    if not all(seconds is None or _is_number(seconds, _MOST_SECONDS) for seconds in (row.train_cpu, row.train_wall)):
        return f"seconds must be numbers from 0 to {_MOST_SECONDS:g}"
    settings = row.settings
    if not all(isinstance(value, bool) or value == "uniform" or _is_number(value) for value in settings.values()):
        return f"settings must be numbers from 0 to {_MOST:g}"
    if settings.get("gamma") is True or any(settings.get(name) == "uniform" for name in settings if name != "gamma"):
        return "only gamma can be uniform"
    return None


def _result_fault(row: Row) -> str | None:
    result = row.result
    if row.method == "statistics":
        differs = result.get("differs", {})
        good = all(_is_count(result[name]) for name in _COUNTS if name in result)
        good = good and isinstance(result.get("auc", ""), str) and isinstance(differs, Mapping)
        good = good and all(_is_difference(value) for value in (differs or {}).values())
        return None if good else "statistics must be counts"
    if not _is_number(result.get("auc"), 1):
        return f"an AUC is a number from 0 to 1; got {_short(result.get('auc'))}"
    if "rejected" in result and not _is_number(result["rejected"]):
        return f"the number of rejected draws must be a number from 0 to {_MOST:g}"
    return _curve_fault(result["curve"]) if "curve" in result else None


def _curve_fault(curve: Any) -> str | None:
    if not isinstance(curve, Mapping) or not all(isinstance(part, list) for part in curve.values()):
        return "a curve is an object of lists"
    if len({len(part) for part in curve.values()}) > 1 or "pairs" not in curve:
        return "the lists of a curve must be of equal length, and say at how many pairs"
    if not all(_is_number(value, 1 if name == "auc" else _MOST) for name, part in curve.items() for value in part):
        return f"a curve holds numbers from 0 to {_MOST:g}, and an AUC is at most 1"
    return None


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:40]}…"


def _is_difference(value: Any) -> bool:
    return isinstance(value, Mapping) and isinstance(value.get("reason", ""), str)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63


def _is_number(value: Any, most: float = _MOST) -> bool:
    """Whether a value is a number from 0 to `most`; comparing also refuses NaN, and whole numbers beyond any float."""
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= most
