"""Two designs of the paper on the same data: soft against hard sampling, and bias correction against none."""

from __future__ import annotations

from pairsift.experiments.paper import LABELS, SETS, paper
from pairsift.experiments.samples import Cells, Sample
from pairsift.experiments.significance import Comparison, compare, tally
from pairsift.experiments.table import (
    AUC_TOLERANCE,
    Entry,
    Outcome,
    Table,
    absent,
    counts,
    judge,
    pools_by_folds,
    signed,
    source,
    total_entry,
    with_spread,
)

SOFT = ("soft-close", "soft-correct")


def hard_comparisons(cells: Cells, criterion: str) -> dict[str, tuple[Sample, Sample, Comparison | None]]:
    """Compare soft with hard by a criterion, "close" or "correct", on every set."""
    found = {}
    for name in SETS:
        hard = cells.sample("hard", name, f"hard-{criterion}")
        soft = cells.sample("auc", name, f"soft-{criterion}")
        found[name] = soft, hard, compare(soft.values, hard.values) if soft and hard else None
    return found


def hard_table(cells: Cells) -> Table:
    """Return soft against hard: a row a set, which the paper does not print, and its totals."""
    values = paper()["hard"]
    found = {criterion: hard_comparisons(cells, criterion) for criterion in ("close", "correct")}
    rows: list[tuple[str, tuple[Entry, ...]]] = []
    for name in SETS:
        pair = [found[criterion][name] for criterion in found]
        entries = tuple(entry for soft, hard, comparison in pair for entry in _hard_entries(soft, hard, comparison))
        rows.append((name, (*entries, pools_by_folds([hard for _, hard, _ in pair]))))
    totals = {key: tally(one for _, _, one in by_set.values() if one is not None) for key, by_set in found.items()}
    close, correct = (total_entry(totals[key], values[key]) for key in found)
    rows.append(("Total (soft win/loss/tie)", (Entry(), Entry(), close, Entry(), Entry(), correct, Entry())))
    samples = [sample for by_set in found.values() for soft, hard, _ in by_set.values() for sample in (soft, hard)]
    said = [one for one in paper()["contradictions"] if one["about"].startswith("Soft against hard")]
    return Table(
        "hard",
        "Soft against hard sampling",
        source(values),
        ("Soft-Close", "Hard-Close", "close: soft", "Soft-Correct", "Hard-Correct", "correct: soft", "pools × folds"),
        tuple(rows),
        counts=counts(samples),
        notes=(
            "win: the soft version has the higher AUC by a right-tailed paired t-test at 95 %; loss: the hard one. The "
            "paper prints the totals only.",
            *(
                f"The paper contradicts itself on {one['about']}: table {one['table']}, text {one['text']}."
                for one in said
            ),
        ),
    )


def _hard_entries(soft: Sample, hard: Sample, comparison: Comparison | None) -> tuple[Entry, Entry, Entry]:
    def value(sample: Sample) -> Entry:
        return Entry(with_spread(sample.mean, sample.std), note=sample.note) if sample else absent(sample.status)

    if comparison is None:
        return value(soft), value(hard), Entry()
    word = "no test" if comparison.verdict == "untested" else comparison.verdict
    return value(soft), value(hard), Entry(word, difference=signed(comparison.difference))


def bias_differences(cells: Cells, sampler: str) -> dict[str, tuple[Sample, Sample]]:
    """Return, for every set, the samples with and without bias correction, on the cells that both have."""
    found = {}
    for name in SETS:
        without = cells.sample("bias", name, sampler)
        like = {(row.fold, row.pool) for row in cells.find("bias", name, sampler) if row.status == "done"}
        found[name] = (
            cells.sample("auc", name, sampler, like=like) if like else cells.sample("auc", name, sampler),
            without,
        )
    return found


def bias_table(cells: Cells) -> Table:
    """Return the table "The Benefit of Bias Correction"."""
    values = paper()["bias"]
    found = {sampler: bias_differences(cells, sampler) for sampler in SOFT}
    rows = []
    for name in SETS:
        printed = values["rows"].get(name, {})
        entries = tuple(_bias_entry(*found[sampler][name], printed.get(sampler)) for sampler in SOFT)
        rows.append((name, (*entries, pools_by_folds(found[sampler][name][1] for sampler in SOFT))))
    return Table(
        "bias",
        "The benefit of bias correction",
        source(values),
        (*(LABELS[sampler] for sampler in SOFT), "pools × folds"),
        tuple(rows),
        rule=f"A difference is reproduced when it is within {AUC_TOLERANCE} of the paper's.",
        counts=counts([sample for by_set in found.values() for pair in by_set.values() for sample in pair]),
        notes=(
            "AUC with bias correction minus AUC without. (*) the difference is not zero by a paired t-test, at 95 % on "
            "either side. The paper has 15 of its 20 sets in this table.",
        ),
    )


def _bias_entry(corrected: Sample, without: Sample, printed: float | None) -> Entry:
    theirs = signed(printed, 6) if printed is not None else ""
    if not corrected or not without:
        status = without.status if not without else corrected.status
        return absent(status, theirs)
    comparison = compare(corrected.values, without.values)
    mark = " (*)" if comparison.verdict in ("win", "loss") else ""
    gain = comparison.difference
    outcome: Outcome = judge(gain, printed) if printed is not None else ""
    change = signed(gain - printed, 6) if printed is not None else ""
    return Entry(signed(gain, 6) + mark, theirs, change, outcome, note=without.note)
