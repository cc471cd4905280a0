"""The frontier picture: AUC against training time, a panel a data set."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from pairsift.experiments.frontier import Point, curves, points, sets
from pairsift.report.plots import BLACK, BLUE, GOLD, GREEN, GREY, ORANGE, PINK, SKY, label_axes, picture

DEPTH = 0.02  # AUC below the best linear model at which the frame ends; what is lower sits on its edge
COLUMNS = 3
FEW_MODELS = 30  # of a curve, so that each gets a dot

_CURVES = {"auto": (BLUE, "-"), "soft-correct": (ORANGE, "-")}
_OTHER_CURVE = (GREEN, "-")
_TUNED_DASH = (0, (5, 2))
# Colour and mark of a family; hollow as it comes or at the paper's strength, filled with C tuned.
_MARKS = {
    "liblinear-wsvm": (BLACK, "s"),
    "logistic-regression": (GREEN, "o"),
    "linear-svc": (PINK, "^"),
    "sgd-classifier": (SKY, "v"),
    "vowpal-wabbit": (GOLD, "D"),
    "svm-perf": (BLACK, "P"),
    "sofia-ml": (PINK, "X"),
    "liblinear-ranksvm": (GREEN, "<"),
}
_OURS = (BLUE, "*")
_NON_LINEAR = {"lightgbm": "h", "xgboost": "d"}


def draw(record: dict[str, Any], path: str | os.PathLike[str]) -> None:
    """Write the picture of a record of `pairsift bench --frontier`."""
    names = sets(record)
    if not names:
        raise ValueError("The record has no result to draw.")
    watched = {(curve["set"], curve["method"]) for curve in record["curves"]}
    everything = [point for point in points(record) if (point.set, point.method) not in watched]
    labels: dict[str, Any] = {}
    columns = min(COLUMNS, len(names) + 1)
    down = -(-(len(names) + 1) // columns)
    with picture(path, panels=len(names) + 1, columns=columns, size=(4.6 * columns, 3.6 * down)) as panels:
        for axes, name in zip(panels, names, strict=False):
            _panel(axes, name, [point for point in everything if point.set == name], curves(record, name), labels)
        panels[-1].set_axis_off()
        legend = panels[-1].legend(labels.values(), labels.keys(), loc="center", fontsize=8)
        legend.set_in_layout(False)  # else it would widen its column


def _panel(axes: Any, name: str, here: Sequence[Point], lines: list[dict[str, Any]], labels: dict[str, Any]) -> None:
    linear = [point for point in here if point.linear]
    heights = [point.auc for point in linear] + [max(line["auc"]) for line in lines]
    top = max(heights)
    lows = [point.auc for point in linear] + [line["auc"][-1] for line in lines]
    low = max(top - DEPTH, min(lows) - 0.05 * (top - min(lows)) - 1e-4)
    room = 0.12 * (top - low) + 1e-5  # above the best linear model, for those that are not linear
    axes.set_xscale("log")
    axes.set_ylim(low - 0.03 * (top - low), top + room)
    for line in lines:
        _curve(axes, line, low, labels)
    for point in linear:
        _mark(axes, point, low, labels)
    _envelope(axes, lines, low, labels)
    _apart(axes, [point for point in here if not point.linear], top, room, labels)
    label_axes(axes, "training, CPU seconds", "test AUC", name)
    axes.xaxis.set_minor_formatter("")  # numbers between the decades run into each other


def _curve(axes: Any, line: dict[str, Any], low: float, labels: dict[str, Any]) -> None:
    base, *more = line["method"].split(":")
    colour, dash = _CURVES.get(base, _OTHER_CURVE)
    shown = [(cpu, auc) for cpu, auc in zip(line["cpu"], line["auc"], strict=True) if auc >= low]
    if not shown:
        return
    x, y = zip(*shown, strict=True)
    marker = "." if len(x) <= FEW_MODELS else ""
    (drawn,) = axes.plot(
        x, y, color=colour, linestyle=_TUNED_DASH if more else dash, zorder=4, marker=marker, markersize=3, linewidth=1
    )
    plain = "" if base == "auto" else ", paper's C"  # auto chooses its C by itself
    labels.setdefault(f"pairsift {base}{_words(more) or plain}", drawn)


def _envelope(axes: Any, lines: list[dict[str, Any]], low: float, labels: dict[str, Any]) -> None:
    """Draw the best AUC so far of all our curves, up to the right edge: the model stays when training has ended."""
    moments = sorted(moment for line in lines for moment in zip(line["cpu"], line["auc"], strict=True))
    shown: list[tuple[float, float]] = []
    for cpu, auc in moments:
        if auc >= low and (not shown or auc > shown[-1][1]):
            shown.append((cpu, auc))
    if not shown:
        return
    right = max([axes.dataLim.x1, moments[-1][0]])
    x, y = zip(*shown, (right * 2, shown[-1][1]), strict=True)
    (drawn,) = axes.plot(x, y, color=BLUE, alpha=0.25, linewidth=5, drawstyle="steps-post", zorder=3)
    labels.setdefault("our envelope: the best so far", drawn)


def _mark(axes: Any, point: Point, low: float, labels: dict[str, Any]) -> None:
    colour, mark = _OURS if point.ours else _MARKS.get(point.family, (GREY, "p"))
    below = point.auc < low
    drawn = axes.scatter(
        [point.cpu],
        [max(point.auc, low)],
        marker=mark,
        s=70 if mark == "*" else 36,
        facecolors=colour if point.tuned else "white",
        edgecolors=colour,
        alpha=0.45 if below else 1.0,
        zorder=6,
        clip_on=False,
    )
    whose = "pairsift's other estimators" if point.ours else point.family
    labels.setdefault(f"{whose}, {'C tuned' if point.tuned else 'untuned'}", drawn)
    if below:
        axes.annotate(
            _short(point.auc), (point.cpu, low), (0, 5), textcoords="offset points", fontsize=6.5,
            color=GREY, ha="center",
        )  # fmt: skip


def _apart(axes: Any, found: Sequence[Point], top: float, room: float, labels: dict[str, Any]) -> None:
    """Draw models that are not linear in grey above the others, with their AUC in words: it is on another scale."""
    for point in found:
        height = top + 0.55 * room if point.auc > top else point.auc
        face = GREY if point.tuned else "white"
        mark = _NON_LINEAR.get(point.family, "h")
        drawn = axes.scatter([point.cpu], [height], marker=mark, s=36, facecolors=face, edgecolors=GREY, zorder=5)
        labels.setdefault(f"{point.family} (not linear)", drawn)
    best = {point.family: max(p.auc for p in found if p.family == point.family) for point in found}
    if best:
        text = "not linear: " + ", ".join(f"{family} {_short(auc)}" for family, auc in best.items())
        axes.set_title(text, loc="right", fontsize=8, color=GREY)


def _short(auc: float) -> str:
    return f"{auc:.4f}".lstrip("0")


def _words(parameters: Sequence[str]) -> str:
    known = {"C=tuned": "C tuned", 'C="auto"': "C chosen in the fit", "C=auto": "C chosen in the fit"}
    return "".join(f", {known.get(text, text)}" for text in parameters)
