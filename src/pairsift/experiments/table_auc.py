"""The paper's Table "AUC": six methods at one C, with its marks and its totals."""

from __future__ import annotations

from typing import Any

from pairsift.experiments.paper import LABELS, SETS, paper
from pairsift.experiments.samples import Cells, Sample
from pairsift.experiments.significance import Comparison, compare, tally
from pairsift.experiments.table import (
    AUC_TOLERANCE,
    Entry,
    Outcome,
    Table,
    absent,
    budget_text,
    counts,
    judge,
    pools_by_folds,
    signed,
    source,
    total_entry,
    with_spread,
)


def auc_samples(cells: Cells, name: str) -> dict[str, Sample]:
    """Return the samples of the methods of Table "AUC" on one set."""
    return {method: cells.sample("auc", name, method) for method in paper()["auc"]["columns"]}


def auc_comparisons(cells: Cells, rival: str) -> dict[str, Comparison]:
    """Compare soft-correct with a rival on every set where both have values."""
    found = {}
    for name in SETS:
        ours, theirs = cells.sample("auc", name, "soft-correct"), cells.sample("auc", name, rival)
        if ours and theirs:
            found[name] = compare(ours.values, theirs.values)
    return found


def auc_table(cells: Cells) -> Table:
    """Return the table "AUC" with its totals."""
    values = paper()["auc"]
    methods = values["columns"]
    samples = {name: auc_samples(cells, name) for name in values["rows"]}
    against = {rival: auc_comparisons(cells, rival) for rival in methods if rival != "soft-correct"}
    rows = [
        (
            name,
            (
                *_auc_row(
                    samples[name], values["rows"][name], {rival: found.get(name) for rival, found in against.items()}
                ),
                pools_by_folds(samples[name].values()),
            ),
        )
        for name in values["rows"]
    ]
    rows.append(("Total (soft-correct win/loss/tie)", (*_totals(against, values["totals"]), Entry(), Entry())))
    return Table(
        "auc",
        f"AUC at |L*| = {budget_text(cells.budgets('auc'))}, gamma = 1",
        source(values),
        (*(LABELS[method] for method in methods), "pools × folds"),
        tuple(rows),
        rule=f"An AUC is reproduced when it is within {AUC_TOLERANCE} of the paper's.",
        counts=counts([sample for row in samples.values() for sample in row.values()]),
        notes=(
            "(*) soft-correct wins by a right-tailed t-test at 95 %: paired over pools between samplers, one-sample "
            "against methods without pools (CRR draws, so it has pools here). Bold: the highest AUC of the row.",
            "Our totals are over the sets that are here, the paper's over its 20 rows; one pool allows no test.",
        ),
    )


def _auc_row(samples: dict[str, Sample], row: dict[str, Any], against: dict[str, Comparison | None]) -> list[Entry]:
    best = max((sample.mean for sample in samples.values() if sample), default=0.0)
    return [auc_entry(sample, row.get(method), against.get(method), best) for method, sample in samples.items()]


def auc_entry(sample: Sample, theirs: dict[str, Any] | None, against: Comparison | None, best: float) -> Entry:
    """Return the entry of one AUC: mean ± standard deviation and the mark (*), the paper's, and the difference."""
    printed, strong = "", False
    if theirs:
        printed = with_spread(theirs["mean"], theirs.get("std"), bool(theirs.get("significant")))
        strong = bool(theirs.get("bold"))
    if not sample:
        return absent(sample.status, printed, strong=strong)
    won = against is not None and against.verdict == "win"
    text = with_spread(sample.mean, sample.std, won)
    outcome: Outcome = judge(sample.mean, theirs["mean"]) if theirs else ""
    difference = signed(sample.mean - theirs["mean"]) if theirs else ""
    return Entry(text, printed, difference, outcome, sample.mean >= best, strong, _tested(sample, against))


def _tested(sample: Sample, against: Comparison | None) -> str:
    parts = [sample.note] if sample.note else []
    if against is not None and against.verdict != "untested":
        parts.append(f"soft-correct minus this: {signed(against.difference, 5)}, one-sided p = {against.p_greater:.2g}")
    return "; ".join(parts)


def _totals(against: dict[str, dict[str, Comparison]], printed: dict[str, list[int]]) -> list[Entry]:
    return [total_entry(tally(found.values()), printed[rival]) for rival, found in against.items()]
