"""Whether a row of a store of results is one that `pairsift reproduce` can have written.

A store may come from somebody else, damaged or worse. Tables and pages take its rows as they are, so everything that
they rely on is checked here, once.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from pairsift.experiments.results import STATUSES, Row

_TEXTS = ("experiment", "dataset", "method", "version", "machine", "finished_at")
_COUNTS = ("points", "positives", "negatives", "pairs", "dimension")


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
    if not all(seconds is None or _is_number(seconds) for seconds in (row.train_cpu, row.train_wall)):
        return "seconds must be numbers"
    settings = row.settings
    if not all(isinstance(value, bool) or value == "uniform" or _is_number(value) for value in settings.values()):
        return "settings must be numbers"
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
    if not _is_number(result.get("auc")):
        return f"an AUC is a number; got {result.get('auc')!r}"
    if "rejected" in result and not _is_number(result["rejected"]):
        return "the number of rejected draws must be a number"
    return _curve_fault(result["curve"]) if "curve" in result else None


def _curve_fault(curve: Any) -> str | None:
    if not isinstance(curve, Mapping) or not all(isinstance(part, list) for part in curve.values()):
        return "a curve is an object of lists"
    if len({len(part) for part in curve.values()}) > 1 or "pairs" not in curve:
        return "the lists of a curve must be of equal length, and say at how many pairs"
    if not all(_is_number(value) for part in curve.values() for value in part):
        return "a curve holds numbers"
    return None


def _is_difference(value: Any) -> bool:
    return isinstance(value, Mapping) and isinstance(value.get("reason", ""), str)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
