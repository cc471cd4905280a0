"""The claims of the paper's text, each with a rule that decides from our numbers whether they support it.

The thresholds are ours. The numbers that the paper prints pass those of bias correction, "best overall" and time
(tested); for the other claims it prints no numbers to try the rules on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from pairsift.experiments.figures import mean_curve
from pairsift.experiments.paper import LABELS, SETS, paper
from pairsift.experiments.samples import Cells
from pairsift.experiments.significance import Tally, compare, tally
from pairsift.experiments.table import AUC_TOLERANCE, signed
from pairsift.experiments.table_auc import auc_comparisons, auc_samples
from pairsift.experiments.table_fair import MIN_SETS
from pairsift.experiments.table_gamma import best_settings, gamma_samples
from pairsift.experiments.table_sampling import SOFT, bias_differences, hard_comparisons
from pairsift.experiments.table_time import cpu_seconds, log_slope

Support = Literal["supported", "not supported", "not enough data"]

SMALL_MEDIAN, SMALL_MOST = 0.003, 0.01
MOST = 0.75
SLOPE = 0.5
FLAT_FROM = 10_000


@dataclass(frozen=True)
class Claim:
    """A claim, how it is decided, and what our numbers say."""

    key: str
    claim: str
    rule: str
    support: Support
    sentence: str


Finding = tuple[Support, str]


def all_claims(cells: Cells) -> list[Claim]:
    """Decide every claim of the paper's text."""
    return [Claim(key, claim, rule, *decide(cells)) for key, claim, rule, decide in _CLAIMS]


def _support(holds: bool) -> Support:
    return "supported" if holds else "not supported"


def _too_few(found: int, what: str, totals: Mapping[str, Tally] | None = None) -> Finding:
    sentence = f"{what} on {found} data sets, {MIN_SETS} are needed."
    if totals and any(total.untested for total in totals.values()):
        means = ", ".join(f"{total.higher} of {total.compared} {rival}" for rival, total in totals.items())
        sentence += f" One pool allows no test; by the means alone it is ahead on {means}."
    return "not enough data", sentence


def soft_beats_hard(cells: Cells) -> Finding:
    """Decide "the soft version is a better choice than the hard version"."""
    totals = {}
    for criterion in ("close", "correct"):
        totals[criterion] = tally(one for _, _, one in hard_comparisons(cells, criterion).values() if one is not None)
    fewest = min(totals.values(), key=lambda total: total.tested)
    if fewest.tested < MIN_SETS:
        return _too_few(
            fewest.tested, "Soft can be tested against hard", {f"by {key}ness": total for key, total in totals.items()}
        )
    holds = all(total.wins > total.losses for total in totals.values())
    parts = [
        f"by {word} soft wins on {total.wins} sets, loses on {total.losses} and ties on {total.ties}"
        for word, total in zip(("closeness", "correctness"), totals.values(), strict=True)
    ]
    return _support(holds), f"{parts[0][0].upper()}{parts[0][1:]}; {parts[1]}."


def bias_is_small(cells: Cells) -> Finding:
    """Decide "the difference of the bias correction is relatively small"."""
    found = {}
    for sampler in SOFT:
        for name, (corrected, without) in bias_differences(cells, sampler).items():
            if corrected and without:
                found[name, sampler] = compare(corrected.values, without.values).difference
    sets = len({name for name, _ in found})
    if sets < MIN_SETS:
        return _too_few(sets, "AUC with and without correction is there")
    sizes = np.abs(list(found.values()))
    (name, sampler), most = max(found.items(), key=lambda item: abs(item[1]))
    holds = float(np.median(sizes)) <= SMALL_MEDIAN and float(np.max(sizes)) <= SMALL_MOST
    return _support(holds), (
        f"Over {sets} sets and two samplers the median size of the difference is {np.median(sizes):.4f}; the "
        f"largest is {signed(most)} ({LABELS[sampler]} on {name})."
    )


def soft_correct_is_best(cells: Cells) -> Finding:
    """Decide "soft-correct sampling is generally the best"."""
    methods = paper()["auc"]["columns"]
    tops = dict.fromkeys(methods, 0)
    for name in SETS:
        samples = {method: sample for method, sample in auc_samples(cells, name).items() if sample}
        if len(samples) == len(methods):
            tops[max(samples, key=lambda method: samples[method].mean)] += 1
    totals = {rival: tally(auc_comparisons(cells, rival).values()) for rival in methods if rival != "soft-correct"}
    fewest = min(totals.values(), key=lambda total: total.tested)
    if fewest.tested < MIN_SETS:
        named = {f"against {LABELS[rival]}": total for rival, total in totals.items()}
        return _too_few(fewest.tested, "Soft-correct can be tested against every other method", named)
    first = all(tops["soft-correct"] > tops[rival] for rival in totals)
    holds = first and all(total.wins >= total.losses for total in totals.values())
    against = ", ".join(f"{total} against {LABELS[rival]}" for rival, total in totals.items())
    most = max(totals, key=lambda rival: tops[rival])
    return _support(holds), (
        f"Soft-correct has the highest AUC on {tops['soft-correct']} of {sum(tops.values())} sets, {LABELS[most]} on "
        f"{tops[most]}; its wins/losses/ties are {against}."
    )


def soft_close_is_cheaper(cells: Cells) -> Finding:
    """Decide "the soft-close strategy is generally efficient", cheaper than soft-correct in draws and in time."""
    rejected, times = [], []
    for name in SETS:
        curves = [mean_curve(cells.find("auc", name, sampler), "rejected") for sampler in SOFT]
        if all(curves):
            close, correct = (float(np.mean(curve.y[1:] or curve.y)) for curve in curves if curve)
            rejected.append((close, correct))
        pair = _times(cells, name, *SOFT)
        if pair:
            times.append(pair)
    if min(len(rejected), len(times)) < MIN_SETS:
        return _too_few(min(len(rejected), len(times)), "Rejected draws and CPU times of both are there")
    fewer, faster = (sum(close < correct for close, correct in found) for found in (rejected, times))
    close, correct = (float(value) for value in np.median(np.array(rejected), axis=0))
    ratio = np.median([pair[0] / pair[1] for pair in times])
    return _support(fewer >= MOST * len(rejected) and faster >= MOST * len(times)), (
        f"Soft-close rejects fewer draws on {fewer} of {len(rejected)} sets (median {close:.2g} a pair against "
        f"{correct:.2g}) and takes less CPU time on {faster} of {len(times)} (median {ratio:.2f} of soft-correct's)."
    )


def _times(cells: Cells, name: str, first: str, second: str) -> tuple[float, float] | None:
    a, b = cpu_seconds(cells, name, first), cpu_seconds(cells, name, second)
    return (a, b) if a and b else None


def time_does_not_grow(cells: Cells) -> Finding:
    """Decide "the time complexity mainly depends on the budget, not the size of data"."""
    points, times = [], []
    for name, row in paper()["statistics"]["rows"].items():
        pair = _times(cells, name, "soft-correct", "eranksvm")
        if pair:
            points.append(float(row["points"]))
            times.append(pair)
    if len(points) < MIN_SETS:
        return _too_few(len(points), "CPU times of soft-correct and ERankSVM are there")
    ours, exact = (log_slope(points, [pair[place] for pair in times]) for place in (0, 1))
    return _support(ours < SLOPE and ours < exact / 2), (
        f"Over {len(points)} sets of {min(points):,.0f} to {max(points):,.0f} rows the CPU time of soft-correct goes "
        f"as N^{ours:.2f}, that of ERankSVM as N^{exact:.2f}."
    )


def gamma_one_is_mostly_best(cells: Cells) -> Finding:
    """Decide "using gamma = 1 (real pairs only) performs well in most data sets"."""
    good, sets, untested = {}, set(), 0
    for name in SETS:
        for sampler in SOFT:
            samples = gamma_samples(cells, name, sampler)
            if "1" in samples and len(samples) > 1:
                untested += all(sample.n_pools < 2 for sample in samples.values())
                good[name, sampler] = "1" in best_settings(samples)
                sets.add(name)
    tested = len(good) - untested
    count = sum(good.values())
    if tested < 2 * MIN_SETS:
        few = f"Gamma can be tested for {tested} of {len(good)} sets and samplers (the others have one pool)"
        return "not enough data", f"{few}; gamma = 1 is among the best for {count} of {len(good)}."
    return _support(count > len(good) / 2), (
        f"Gamma = 1 is among the settings that are not significantly worse than the best for {count} of {len(good)} "
        f"combinations of set and sampler ({len(sets)} sets)."
    )


def larger_budgets_help_little(cells: Cells) -> Finding:
    """Decide "increasing the budget leads to consistent but marginal improvements"."""
    gains, short = [], []
    for name in SETS:
        for sampler in SOFT:
            curve = mean_curve(cells.find("large_budget", name, sampler), "auc")
            if curve and len(curve.x) > 2:
                final = curve.x[-1]
                if final < 2 * FLAT_FROM:
                    short.append(f"{LABELS[sampler]} on {name} ends at {final:,.0f} pairs")
                    continue
                place = next(i for i, size in enumerate(curve.x) if size >= FLAT_FROM)
                gains.append((name, sampler, curve.x[place], final, curve.y[-1] - curve.y[place]))
    if not gains:
        return "not enough data", f"No curve goes to {2 * FLAT_FROM:,} pairs or more{_listed(short)}."
    told = [
        f"{LABELS[sampler]} on {name} from {start:,.0f} to {final:,.0f} pairs: {signed(gain)}"
        for name, sampler, start, final, gain in gains
    ]
    return _support(all(gain <= AUC_TOLERANCE for *_, gain in gains)), f"{'; '.join(told)}."


def _listed(parts: list[str]) -> str:
    return f": {', '.join(parts)}" if parts else ""


_CLAIMS: tuple[tuple[str, str, str, Callable[[Cells], Finding]], ...] = (
    (
        "hard",
        "Soft sampling beats hard sampling",
        "By closeness and by correctness, soft wins significantly on more sets than it loses.",
        soft_beats_hard,
    ),
    (
        "bias",
        "Bias correction makes a small difference",
        f"The median size of the difference is at most {SMALL_MEDIAN} and none is above {SMALL_MOST}.",
        bias_is_small,
    ),
    (
        "auc",
        "Soft-correct is the best overall",
        "It has the highest mean AUC on more sets than any other method, and significant wins are at least as many as "
        "losses against each of them (at the paper's C).",
        soft_correct_is_best,
    ),
    (
        "close",
        "Soft-close is cheaper than soft-correct",
        f"It rejects fewer draws on at least {MOST:.0%} of the sets, and takes less CPU time on at least {MOST:.0%}.",
        soft_close_is_cheaper,
    ),
    (
        "time",
        "The time of soft-correct does not grow with N",
        f"Over sets, log CPU time on log N has a slope below {SLOPE} and below half of ERankSVM's.",
        time_does_not_grow,
    ),
    (
        "gamma",
        "Gamma = 1 is mostly best",
        "It is among the settings that are not significantly worse than the best for more than half of the sets and "
        "samplers.",
        gamma_one_is_mostly_best,
    ),
    (
        "budget",
        "Larger budgets help little",
        f"From {FLAT_FROM:,} pairs to the full budget of at least twice that no sampler gains more than "
        f"{AUC_TOLERANCE} AUC.",
        larger_budgets_help_little,
    ),
)
