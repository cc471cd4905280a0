"""The paper's table "Optimal gamma": the settings of CRC that are not significantly worse than the best one."""

from __future__ import annotations

from typing import Any

from pairsift.experiments.paper import LABELS, SETS, paper
from pairsift.experiments.results import Row
from pairsift.experiments.samples import Cells, Sample, missing_reason, sample_of
from pairsift.experiments.significance import compare
from pairsift.experiments.table import Entry, Outcome, Table, absent, counts, pools_by_folds, source

SOFT = ("soft-close", "soft-correct")


def setting_name(gamma: float | str, threshold: bool) -> str:
    """Return a setting as the paper prints it: "uniform", "0.9", "1", with "-th" where there is a threshold."""
    return (gamma if isinstance(gamma, str) else f"{gamma:g}") + ("-th" if threshold else "")


def gamma_samples(cells: Cells, name: str, sampler: str) -> dict[str, Sample]:
    """Return the sample of every setting on one set; gamma = 1 is taken from the experiment ``auc``.

    All are on the (fold, pool) that the experiment ``gamma`` has. With gamma = 1 the threshold cancels, so that "1-th"
    is "1".
    """
    rows = [row for row in cells.find("gamma", name, sampler) if row.status != "data not here"]
    by_setting: dict[str, list[Row]] = {}
    for row in sorted(rows, key=_place):
        key = setting_name(row.settings.get("gamma", 1.0), bool(row.settings.get("threshold")))
        by_setting.setdefault(key, []).append(row)
    like = {(row.fold, row.pool) for row in rows}
    folds = {fold for fold, _ in like}
    samples = {key: sample_of(found, folds) for key, found in by_setting.items()}
    if rows and "1" not in samples:
        samples["1"] = cells.sample("auc", name, sampler, like=like)
    return {key: sample for key, sample in samples.items() if sample}


def _place(row: Row) -> tuple[bool, float]:
    gamma: Any = row.settings.get("gamma", 1.0)
    return bool(row.settings.get("threshold")), -1.0 if gamma == "uniform" else float(gamma)


def best_settings(samples: dict[str, Sample]) -> list[str]:
    """Return the best setting, then those that it does not beat significantly at 95 %.

    Without a test (one pool) only settings with the very same AUC count as equals.
    """
    best = max(samples, key=lambda key: samples[key].mean)

    def equal(key: str) -> bool:
        comparison = compare(samples[best].values, samples[key].values)
        return comparison.difference == 0 if comparison.verdict == "untested" else comparison.verdict != "win"

    return [best, *(key for key in samples if key != best and equal(key))]


def beats_exact(cells: Cells, name: str, sample: Sample) -> bool:
    """Say whether a sample is significantly above ERankSVM on the same folds."""
    exact = cells.sample("auc", name, "eranksvm", like={(fold, 0) for fold in sample.by_fold})
    return bool(exact) and compare(sample.values, exact.values).verdict == "win"


def gamma_table(cells: Cells) -> Table:
    """Return the table "Optimal gamma"."""
    values = paper()["gamma"]
    found = {name: {sampler: gamma_samples(cells, name, sampler) for sampler in SOFT} for name in SETS}
    rows = []
    for name, by_sampler in found.items():
        printed = values["rows"].get(name, {})
        entries = tuple(_entry(cells, name, sampler, by_sampler[sampler], printed.get(sampler)) for sampler in SOFT)
        samples = [sample for settings in by_sampler.values() for sample in settings.values()]
        rows.append((name, (*entries, pools_by_folds(samples))))
    everything = [one for by_sampler in found.values() for settings in by_sampler.values() for one in settings.values()]
    tried = max((len(settings) for by_sampler in found.values() for settings in by_sampler.values()), default=0)
    return Table(
        "gamma",
        "Optimal gamma",
        source(values),
        (*(LABELS[sampler] for sampler in SOFT), "pools × folds"),
        tuple(rows),
        rule="An entry is reproduced when it has a setting in common with the paper's.",
        counts=f"{counts(everything)} Settings tried: up to {tried} a set and sampler.",
        notes=(
            "The best setting first, then those that it does not beat by a paired t-test at 95 %; -th has a threshold. "
            "Bold: better than ERankSVM at 95 %. With few pools the test is weak and the lists are long; with one pool "
            "there is no test, and the best stands alone.",
            "With gamma = 1 the threshold cancels: 1-th is 1.",
        ),
    )


def _entry(cells: Cells, name: str, sampler: str, samples: dict[str, Sample], printed: dict[str, Any] | None) -> Entry:
    theirs = ", ".join(printed["best"]) if printed else ""
    strong = bool(printed and printed["bold"])
    if not samples:
        status = missing_reason(cells.find("gamma", name, sampler))
        return absent(status, theirs, strong=strong)
    best = best_settings(samples)
    outcome: Outcome = ""
    if printed:
        common = set(best) & {"1" if setting == "1-th" else setting for setting in printed["best"]}
        outcome = "reproduced" if common else "differs"
    pieces = tuple((key, beats_exact(cells, name, samples[key])) for key in best)
    note = f"{len(best)} of {len(samples)} settings; the best has AUC {samples[best[0]].mean:.4f}"
    return Entry(", ".join(best), theirs, "", outcome, False, strong, note, pieces)
