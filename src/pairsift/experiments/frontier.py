"""AUC against training time: our anytime methods as curves, everything else as points, and who is ahead of us when.

The record is that of `pairsift.experiments.bench`. Our envelope at time t is the best AUC on the rows held out of all
moments of our curves up to t. A point of a linear peer is *ahead* when its AUC is more than `MARGIN` above the envelope
at its time. The time of a method with C tuned is that of the one training with the C that was found, so that whoever
tunes by any other way finds himself here too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from pairsift.experiments.methods import find_method
from pairsift.experiments.tuning import TUNED

MARGIN = 0.0005
NOTHING = 0.5  # AUC before there is a model

# What `pairsift bench --frontier` measures.
CURVES = ("auto", "soft-correct")
OURS = ("ranksvm-squared", "wsvm", "crr")
PEERS = (
    "liblinear-wsvm",
    "logistic-regression",
    "logistic-regression-as-is",
    "linear-svc",
    "linear-svc-as-is",
    "sgd-classifier",
    "sgd-classifier-as-is",
    "vowpal-wabbit",
    "svm-perf",
    "sofia-ml",
    "liblinear-ranksvm",
    "lightgbm",
    "xgboost",
)


@dataclass(frozen=True)
class Point:
    """One training: `family` is the method without its parameters, `ours` whether it is pairsift's."""

    set: str
    method: str
    family: str
    ours: bool
    linear: bool
    tuned: bool
    cpu: float
    auc: float


@dataclass(frozen=True)
class Ahead:
    """A point above our envelope, by how much; `covered` when a point of our other estimators makes up for it."""

    point: Point
    by: float
    covered: bool


def points(record: dict[str, Any]) -> list[Point]:
    """Return all trainings of a record that have a result."""
    found = []
    for cell in record["cells"]:
        if cell["status"] != "done" or cell["auc"] is None:
            continue
        method = find_method(cell["method"])
        family = cell["method"].split(":")[0].removesuffix("-as-is")
        tuned = TUNED in cell["method"] or "C=auto" in cell["method"]
        ours = method.origin != "peer"
        found.append(Point(cell["set"], cell["method"], family, ours, method.linear, tuned, cell["cpu"], cell["auc"]))
    return found


def curves(record: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """Return the curves of a data set that have a result."""
    return [curve for curve in record["curves"] if curve["set"] == name and curve["status"] == "done"]


def sets(record: dict[str, Any]) -> list[str]:
    """Return the data sets with a result."""
    return list(dict.fromkeys(point.set for point in points(record)))


def envelope(moments: Iterable[tuple[float, float]], cpu: float) -> float:
    """Return the best AUC of (CPU seconds, AUC) up to a time."""
    return max((auc for at, auc in moments if at <= cpu), default=NOTHING)


def ahead(record: dict[str, Any], name: str) -> list[Ahead]:
    """Return the linear peers' points that are more than `MARGIN` above our envelope at their time, worst first."""
    here = [point for point in points(record) if point.set == name]
    ours = [moment for curve in curves(record, name) for moment in zip(curve["cpu"], curve["auc"], strict=True)]
    all_ours = ours + [(point.cpu, point.auc) for point in here if point.ours]
    found = []
    for point in here:
        if point.linear and not point.ours:
            by = point.auc - envelope(ours, point.cpu)
            if by > MARGIN:
                found.append(Ahead(point, by, point.auc - envelope(all_ours, point.cpu) <= MARGIN))
    return sorted(found, key=lambda one: -one.by)


def join(records: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Put several records together; of a cell that is in several, the last one counts."""
    joined = {**records[-1]}
    for key in ("cells", "curves"):
        by_name = {(one["set"], one["method"]): one for record in records for one in record.get(key, [])}
        joined[key] = list(by_name.values())
    for key in ("peers", "methods"):
        joined[key] = list(dict.fromkeys(name for record in records for name in record[key]))
    for cell in joined["cells"]:
        cell["ratios"] = {peer: cell["ratios"].get(peer, {"cpu": None}) for peer in joined["peers"]}
    return joined


def markdown(record: dict[str, Any]) -> str:
    """Return a line a data set (our best moment, the best peer, who is ahead), and what could not be measured."""
    head = [
        "data set",
        "our curve: first model",
        "best",
        "best linear peer",
        "best non-linear",
        "linear peers ahead of our curves at their time",
    ]
    lines = [head, ["---"] * len(head), *([name, *_line(record, name)] for name in sets(record))]
    table = "\n".join("| " + " | ".join(line) + " |" for line in lines)
    missing = sorted({f"{c['method']}: {c['reason']}" for c in record["cells"] if c["status"] == "not here"})
    late = sorted(
        f"{c['set']}, {c['method']}: {c['status']}, {c['reason']}"
        for c in record["cells"]
        if c["status"] in ("failed", "out of time")
    )
    notes = [f"Not here: {'; '.join(missing)}."] if missing else []
    notes += [f"No result: {'; '.join(late)}."] if late else []
    return "\n\n".join([table, *notes]) + "\n"


def _line(record: dict[str, Any], name: str) -> list[str]:
    moments = sorted(
        moment for curve in curves(record, name) for moment in zip(curve["cpu"], curve["auc"], strict=True)
    )
    peers = [point for point in points(record) if point.set == name and not point.ours]
    best = max(moments, key=lambda moment: moment[1], default=None)
    return [
        _moment(moments[0]) if moments else "",
        _moment(best) if best else "",
        _top([point for point in peers if point.linear]),
        _top([point for point in peers if not point.linear]),
        "; ".join(_describe(one) for one in ahead(record, name)) or "none",
    ]


def _moment(moment: tuple[float, float]) -> str:
    return f"{moment[1]:.4f} at {moment[0]:.3g} s"


def _top(found: Sequence[Point]) -> str:
    if not found:
        return ""
    top = max(found, key=lambda point: point.auc)
    return f"{top.method} {top.auc:.4f} at {top.cpu:.3g} s"


def _describe(one: Ahead) -> str:
    note = ", which our other estimators match" if one.covered else ""
    return f"{one.point.method} ({one.point.cpu:.3g} s) by {one.by:.4f}{note}"
