"""The picture of ``pairsift inspect``: what features add to the ranking, and how many candidates rounds accepted."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pairsift.report.plots import BLUE, ORANGE, label_axes, picture

if TYPE_CHECKING:
    from pairsift.inspection import Contribution
    from pairsift.inspection.rounds import RoundAcceptance

MOST_BARS = 25
_LONGEST_NAME = 28


def draw_inspection(
    path: str | os.PathLike[str],
    features: Sequence[Contribution],
    rounds: Sequence[RoundAcceptance],
    n_features: int,
) -> None:
    """Write the picture; the panel of the rounds is left out where there are none."""
    shown = features[:MOST_BARS]
    height = max(4.6, 0.28 * len(shown) + 1.4)
    panels = 2 if rounds else 1
    with picture(path, panels=panels, size=(6.4 * panels, height)) as axes:
        _bars(axes[0], shown, n_features)
        if rounds:
            _rounds(axes[1], rounds)


def _bars(axes: Any, features: Sequence[Contribution], n_features: int) -> None:
    """Draw one bar a feature, the largest on top; negative ones also have stripes."""
    known = all(feature.margin is not None for feature in features)
    values = [feature.margin if known else feature.coefficient for feature in features]
    places = range(len(features), 0, -1)
    bars = axes.barh(
        list(places), values, height=0.7, color=[BLUE if (value or 0) >= 0 else ORANGE for value in values], zorder=2
    )
    for bar, value in zip(bars, values, strict=True):
        if (value or 0) < 0:
            bar.set(hatch="///", edgecolor="white", linewidth=0)
    if known:
        # A whisker of a pair's deviation would dwarf the bars; the table has it.
        axes.axvline(0, color="#404040", linewidth=0.8)
    axes.set_yticks(list(places), [_short(feature.feature) for feature in features])
    axes.grid(visible=False, axis="y")
    axes.margins(y=0.01)
    what = "Mean contribution to the margin of a pair" if known else "Coefficient"
    title = f"Largest {len(features)} of {n_features:,} features" if len(features) < n_features else "Features"
    label_axes(axes, what, "", title)


def _rounds(axes: Any, rounds: Sequence[RoundAcceptance]) -> None:
    few = len(rounds) <= 40
    axes.plot(
        [record.pairs for record in rounds],
        [100 * record.acceptance for record in rounds],
        color=BLUE,
        **({"marker": "o"} if few else {}),
    )
    axes.set_ylim(0, 104)
    axes.set_xlim(left=0)
    label_axes(axes, "Pairs so far", "Candidates accepted (%)", "Acceptance by round")


def _short(name: str) -> str:
    name = "".join(letter if letter.isprintable() else "?" for letter in " ".join(name.split()))
    name = name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…"
    return name.replace("$", r"\$")  # no formula
