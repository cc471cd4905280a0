"""The fair table: every method with its own C, and what that leaves of the paper's conclusions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pairsift.experiments.paper import LABELS, SETS, paper
from pairsift.experiments.samples import Cells, Sample
from pairsift.experiments.significance import Comparison, Tally, compare, one_sided, tally
from pairsift.experiments.table import Entry, Table, absent, counts, pools_by_folds, total_entry, with_spread


def fair_methods(cells: Cells) -> list[str]:
    """Return the methods of Table "AUC", then logistic regression and whatever else was tuned."""
    methods = [*paper()["auc"]["columns"], "logistic-regression"]
    return [*methods, *(method for method in cells.methods("fair") if method not in methods)]


def chosen_scale(cells: Cells, name: str, method: str) -> float | None:
    """Return the multiple of the paper's C that was chosen: that of the last run, if a store has more than one."""
    rows = cells.find("fair", name, method)
    scale: float | None = max(rows, key=lambda row: row.finished_at).settings.get("scale_C") if rows else None
    return scale


def fair_sample(cells: Cells, name: str, method: str) -> Sample:
    """Return the AUC values of a tuned method, at the C that was chosen last."""
    return cells.sample("fair", name, method, scale_C=chosen_scale(cells, name, method))


def _fixed_sample(cells: Cells, name: str, method: str) -> Sample:
    return cells.sample("auc", name, method)


def fair_table(cells: Cells) -> Table:
    """Return the table of tuned methods, with the totals of soft-correct against each."""
    methods = fair_methods(cells)
    samples = {name: {method: fair_sample(cells, name, method) for method in methods} for name in SETS}
    rows = []
    for name, by_method in samples.items():
        best = max((sample.mean for sample in by_method.values() if sample), default=0.0)
        entries = tuple(_entry(cells, name, method, by_method, best) for method in methods)
        rows.append((name, (*entries, pools_by_folds(by_method.values()))))
    totals = [
        Entry() if rival == "soft-correct" else total_entry(tally(tuned(cells, "soft-correct", rival).values()))
        for rival in methods
    ]
    rows.append(("Total (soft-correct win/loss/tie)", (*totals, Entry())))
    tuning = "on the test rows" if cells.quick else "by inner folds on the first outer fold, with one pool"
    return Table(
        "fair",
        "The fair table: AUC with C tuned for every method",
        "Not in the paper, which fixes C = 0.1 for all methods",
        (*(LABELS.get(method, method) for method in methods), "pools × folds"),
        tuple(rows),
        counts=counts([sample for by_method in samples.values() for sample in by_method.values()]),
        notes=(
            f"Second line: the chosen C as a multiple of the paper's, tuned {tuning}. (*) soft-correct wins by a "
            "right-tailed t-test at 95 %. Bold: the highest AUC of the row.",
        ),
    )


def _entry(cells: Cells, name: str, method: str, samples: dict[str, Sample], best: float) -> Entry:
    sample, pivot = samples[method], samples["soft-correct"]
    if not sample:
        return absent(sample.status)
    won = method != "soft-correct" and bool(pivot) and compare(pivot.values, sample.values).verdict == "win"
    chosen = chosen_scale(cells, name, method)
    text = with_spread(sample.mean, sample.std, won)
    return Entry(text, difference=f"C × {chosen:g}" if chosen else "", strong=sample.mean >= best, note=sample.note)


def tuned(cells: Cells, first: str, second: str, experiment: str = "fair") -> dict[str, Comparison]:
    """Compare two methods on every set where both have values; two methods without pools are paired over folds."""
    found = {}
    for name in SETS:
        get = fair_sample if experiment == "fair" else _fixed_sample
        a, b = get(cells, name, first), get(cells, name, second)
        if not a or not b:
            continue
        if a.n_pools == b.n_pools == 1:
            found[name] = one_sided(a.by_fold[fold] - b.by_fold[fold] for fold in a.by_fold.keys() & b.by_fold.keys())
        else:
            found[name] = compare(a.values, b.values)
    return found


Survival = Literal[
    "survives", "does not survive", "only with tuning", "not found at all", "not in the paper", "not enough data"
]


@dataclass(frozen=True)
class Conclusion:
    """One conclusion of the paper under tuning, and the sentence that the numbers make."""

    about: str
    survival: Survival
    sentence: str


SURVIVAL_RULE = (
    "A method is ahead of another when it wins on more data sets than it loses, each by a test at 95 % (paired over "
    "pools; one-sample where one of the two has no pools; paired over folds where neither has). A conclusion survives "
    "when the method is ahead both at the paper's C and with C tuned. Fewer than three tested sets are not enough."
)
MIN_SETS = 3

_CONCLUSIONS = (
    ("soft-correct", "eranksvm"),
    ("soft-correct", "wsvm"),
    ("soft-correct", "crr"),
    ("soft-correct", "random"),
    ("soft-correct", "soft-close"),
    ("eranksvm", "wsvm"),
)


def conclusions(cells: Cells) -> list[Conclusion]:
    """Say which of the paper's conclusions survive tuning, and how logistic regression compares."""
    found = [_conclusion(cells, first, second) for first, second in _CONCLUSIONS]
    return [*found, *(_beside(cells, "logistic-regression", rival) for rival in ("soft-correct", "eranksvm"))]


def _conclusion(cells: Cells, first: str, second: str) -> Conclusion:
    fixed = tally(tuned(cells, first, second, "auc").values())
    fair = tally(tuned(cells, first, second).values())
    about = f"{LABELS[first]} is better than {LABELS[second]}"
    if min(fixed.tested, fair.tested) < MIN_SETS:
        return Conclusion(
            about,
            "not enough data",
            f"{_upper(_tested(fixed, 'the paper’s C'))}. {_upper(_tested(fair, 'a tuned C'))}.",
        )
    before, after = fixed.wins > fixed.losses, fair.wins > fair.losses
    survival: Survival = (
        ("survives" if after else "does not survive") if before else "only with tuning" if after else "not found at all"
    )
    sentence = (
        f"At the paper’s C {LABELS[first]} {_score(fixed)} against {LABELS[second]}; with C tuned for both it "
        f"{_score(fair)}: {_WORDS[survival]}"
    )
    return Conclusion(about, survival, sentence)


_WORDS = {
    "survives": "the lead survives tuning.",
    "does not survive": "the lead does not survive tuning.",
    "only with tuning": "it leads only when both are tuned.",
    "not found at all": "on our sets it does not lead either way.",
}


def _beside(cells: Cells, first: str, second: str) -> Conclusion:
    fair = tally(tuned(cells, first, second).values())
    about = f"Tuned {LABELS[first].lower()} beside tuned {LABELS[second]}"
    if fair.tested < MIN_SETS:
        return Conclusion(about, "not enough data", f"{_upper(_tested(fair, 'a tuned C'))}.")
    ahead = "is ahead" if fair.wins > fair.losses else "is behind" if fair.wins < fair.losses else "is level"
    sentence = f"With C tuned for both, {LABELS[first].lower()} {_score(fair)} against {LABELS[second]}: it {ahead}."
    return Conclusion(about, "not in the paper", sentence)


def _score(total: Tally) -> str:
    return f"wins on {total.wins} of {total.tested} sets, loses on {total.losses} and ties on {total.ties}"


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]


def _tested(total: Tally, at: str) -> str:
    means = f"; by the means alone it is ahead on {total.higher} of {total.compared}" if total.compared else ""
    return f"at {at} {total.tested} of the {total.compared} sets with values can be tested{means}"
