"""The record of a bench as Markdown, and the limits in time that pairsift sets itself."""

from __future__ import annotations

from typing import Any, NamedTuple


class Limit(NamedTuple):
    """At most so many times the CPU time of LIBLINEAR's WSVM, or so many seconds, whichever is more."""

    times: float
    seconds: float


LIMITS = {
    "wsvm": Limit(1.5, 0.05),
    "ranksvm-squared": Limit(2.0, 0.1),
    "eranksvm": Limit(6.0, 0.2),
    "crr": Limit(3.0, 0.1),
}
MOST_RATIOS = 4  # columns of a table
LIMIT_PEER = "liblinear-wsvm"
LIMIT_SETS = ("a9a", "bank", "connect-4", "shuttle", "mnist", "covtype")  # no limit is stated for the others


def missed_limits(record: dict[str, Any]) -> list[str]:
    """Return one line for each cell over its limit, or without a result to compare."""
    lines = []
    for cell in record["cells"]:
        limit = LIMITS.get(cell["method"])
        if limit is None or cell["set"] not in LIMIT_SETS:
            continue
        ratio = cell["ratios"].get(LIMIT_PEER, {}).get("cpu")
        if cell["status"] != "done" or ratio is None:
            lines.append(f"{cell['set']}, {cell['method']}: no ratio ({cell['reason'] or 'the peer has no time'})")
        elif ratio > limit.times and cell["cpu"] > limit.seconds:
            lines.append(
                f"{cell['set']}, {cell['method']}: {cell['cpu']:.3f} s, {ratio:.2f} times {LIMIT_PEER}; "
                f"the limit is {limit.times:g} times or {limit.seconds:g} s"
            )
    return lines


def markdown(record: dict[str, Any]) -> str:
    """Return one table with a line a cell, and a line that says how it was measured."""
    peers = record["peers"][:MOST_RATIOS]  # the frontier has so many that no page would hold them; JSON has them all
    head = ["data set", "method", "CPU s", "wall s", "memory MB", "AUC", *(f"CPU / {peer}" for peer in peers), "status"]
    lines = [head, ["---"] * 2 + ["---:"] * (len(head) - 3) + ["---"]]
    lines += [_line(cell, peers) for cell in record["cells"]]
    table = "\n".join("| " + " | ".join(line) + " |" for line in lines)
    return f"{table}\n\n{_how(record)}\n"


def _line(cell: dict[str, Any], peers: list[str]) -> list[str]:
    memory = None if cell["memory"] is None else cell["memory"] / 1e6
    ratios = [_number(cell["ratios"][peer]["cpu"], 2) for peer in peers]
    numbers = [_number(cell["cpu"], 3), _number(cell["wall"], 3), _number(memory, 1), _number(cell["auc"], 4)]
    return [cell["set"], cell["method"], *numbers, *ratios, _status(cell)]


def _number(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:.{digits}f}"


def _status(cell: dict[str, Any]) -> str:
    chosen = [f"C times {cell['scale_C']:.3g}, found in {cell['tuning_cpu']:.3g} s"] if cell.get("scale_C") else []
    notes = "; ".join([*chosen, *([cell["reason"]] if cell["reason"] else []), *cell["warnings"]])
    return (f"{cell['status']}: {notes}" if notes else str(cell["status"])).replace("|", "\\|")


def _how(record: dict[str, Any]) -> str:
    machine, setting = record["machine"], record["setting"]
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    return (
        f"Training only; least of {record['repeats']} interleaved repeats, {record['threads']} thread(s), every method "
        f"in a process of its own. Memory is the growth of resident memory at its peak while training, beyond the rows "
        f"(and beyond what LIBLINEAR's problem takes). C = {setting['C'] * setting['scale_C']:g} a pair with "
        f"{setting['budget']} pairs, {setting['C'] * setting['scale_C'] * setting['budget']:g} for the others; seed "
        f"{setting['seed']}. {machine['processor']}, {machine['cores']} cores, {machine['system']}, Python "
        f"{machine['python']}; {versions}; {machine['date']}."
    )
