"""The picture of a ranking: its ROC and its precision-recall curve, side by side."""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np

from pairsift._typing import BoolArray, FloatArray
from pairsift.report.plots import BLUE, GREY, ORANGE, label_axes, picture
from pairsift.stats.curves import Confusion, CutCounts

CHANCE = (0, (4, 3))
STEPS = 500  # of an axis: about what a screen shows, so that the picture of a billion rows is as small as that of a few


@dataclass(frozen=True)
class Ranking:
    """What the picture shows, and the words for it."""

    name: str
    counts: CutCounts
    auc_text: str
    average_precision_text: str
    cut: Confusion | None = None
    cut_text: str = ""


def draw_ranking(path: str | os.PathLike[str], ranking: Ranking) -> None:
    """Write the ROC and the precision-recall curve of a ranking to an .svg, .png or .pdf file.

    Grey lines are what scores that say nothing give; the mark is the threshold, if there is one.
    """
    counts = ranking.counts
    share = counts.hits[-1] / (counts.hits[-1] + counts.false_alarms[-1])
    with picture(path, panels=2, size=(9.8, 5.4)) as panels:
        roc, precision_recall = panels
        x, y = thinned(counts.false_positive_rate, counts.recall)
        roc.plot(x, y, color=BLUE, label=ranking.auc_text, zorder=3)
        roc.plot([0, 1], [0, 1], color=GREY, linestyle=CHANCE, linewidth=1.3, label="chance: 0.5")
        label_axes(roc, "False-positive rate (share of negatives)", "True-positive rate (share of positives)", "ROC")
        x, y = thinned(counts.recall, counts.precision)
        precision_recall.plot(x, y, color=BLUE, drawstyle="steps-pre", label=ranking.average_precision_text, zorder=3)
        precision_recall.axhline(share, color=GREY, linestyle=CHANCE, linewidth=1.3, label=f"chance: {share:.3g}")
        label_axes(
            precision_recall,
            "Recall (share of positives found)",
            "Precision (share of positives in the list)",
            "Precision and recall",
        )
        for axes, place, corner in zip(panels, _marks(ranking), ("lower right", "best"), strict=True):
            if place is not None:
                style = {"marker": "D", "color": ORANGE, "markersize": 8, "markeredgecolor": "white"}
                axes.plot(*place, **style, linestyle="none", label=ranking.cut_text, zorder=5, clip_on=False)
            axes.set_xlim(-0.01, 1.01)
            axes.set_ylim(-0.01, 1.02)
            axes.set_aspect("equal")
            axes.legend(loc=corner)
        roc.figure.suptitle(ranking.name, fontsize=11, x=0.01, ha="left")


def _marks(ranking: Ranking) -> list[tuple[float, float] | None]:
    """Return where the threshold is in both panels; a list without rows has no precision."""
    cut = ranking.cut
    if cut is None:
        return [None, None]
    called, recall = cut.true_positive + cut.false_positive, cut.true_positive / ranking.counts.hits[-1]
    in_roc = float(cut.false_positive / ranking.counts.false_alarms[-1]), float(recall)
    return [in_roc, (float(recall), cut.true_positive / called) if called else None]


def thinned(x: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the points of a curve that a grid of `STEPS` x `STEPS` shows apart: the first and last of each run."""
    places = np.round(np.stack([x, y]) * STEPS)
    moved: BoolArray = np.any(places[:, 1:] != places[:, :-1], axis=0)
    kept = np.append(True, moved) | np.append(moved, True)
    return x[kept], y[kept]
