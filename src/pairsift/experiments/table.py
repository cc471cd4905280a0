"""What a table is: entries that hold our value beside the paper's, whatever writes them down."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

from pairsift.experiments.samples import Sample
from pairsift.experiments.significance import Tally

AUC_TOLERANCE = 0.004
"""An AUC, or a difference of two, is reproduced when it is within this of the paper's."""

Outcome = Literal["reproduced", "differs", "not run", ""]


@dataclass(frozen=True)
class Entry:
    """One place of a table.

    Attributes
    ----------
    ours, paper, difference
        Texts, "" where there is none. `ours` is the status where there is no value.
    outcome
        What the summary counts; "" where the paper has no value to compare with.
    pieces
        `ours` in pieces, each bold or not, where it is a list.
    strong, paper_strong
        Printed in bold.
    note
        What a reader may want to know about this entry.
    missing
        Whether `ours` is a status and not a value.
    """

    ours: str = ""
    paper: str = ""
    difference: str = ""
    outcome: Outcome = ""
    strong: bool = False
    paper_strong: bool = False
    note: str = ""
    pieces: tuple[tuple[str, bool], ...] = ()
    missing: bool = False


def absent(status: str, paper: str = "", *, strong: bool = False) -> Entry:
    """Return an entry without a value of ours; it counts as not run where the paper has one."""
    return Entry(status, paper, outcome="not run" if paper else "", paper_strong=strong, missing=True)


@dataclass(frozen=True)
class Table:
    """A table with one row a data set (or a comparison), the paper's names in the first column.

    Attributes
    ----------
    key
        Name of the experiment.
    title, source
        What it shows, and which table of the paper it stands beside.
    columns
        Heads of the entries.
    rows
        Name and entries.
    rule
        When an entry counts as reproduced.
    counts
        Pools and folds behind the numbers.
    notes
        What else must be known to read it.
    """

    key: str
    title: str
    source: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Entry, ...]], ...]
    rule: str = ""
    counts: str = ""
    notes: tuple[str, ...] = field(default=())

    def outcomes(self) -> list[Outcome]:
        """Return the outcome of every entry that has one."""
        return [entry.outcome for _, entries in self.rows for entry in entries if entry.outcome]


def number(value: float, digits: int = 4) -> str:
    """Return an AUC as the paper prints it, without the leading zero: ``.9083``, ``1.0000``."""
    text = f"{value:.{digits}f}"
    return text[1:] if text.startswith("0.") else text


def signed(value: float, digits: int = 4) -> str:
    """Return a difference with its sign (a true minus) and without the leading zero: ``+.0012``."""
    text = f"{abs(value):.{digits}f}"
    zero = not text.strip("0.")
    return ("" if zero else "−" if value < 0 else "+") + (text[1:] if text.startswith("0.") else text)


def seconds(value: float) -> str:
    """Return seconds with three digits that count."""
    return f"{value:.3g}" if value < 1000 else f"{value:.0f}"


def with_spread(mean: float, std: float | None, significant: bool = False) -> str:
    """Return an AUC as ``mean ± std (*)``."""
    return number(mean) + (f" ± {number(std)}" if std is not None else "") + (" (*)" if significant else "")


def judge(ours: float, theirs: float, tolerance: float = AUC_TOLERANCE) -> Outcome:
    """Say whether a value is within `tolerance` of the paper's; both are compared as printed, to 4 digits and up."""
    return "reproduced" if abs(ours - theirs) <= tolerance + 1e-9 else "differs"


def pools_by_folds(samples: Iterable[Sample]) -> Entry:
    """Return the entry with the counts of a row: "10 × 5" is 10 pools by 5 folds; the most that a method has."""
    present = [sample for sample in samples if sample]
    if not present:
        return Entry()
    pools, folds = max(sample.n_pools for sample in present), max(sample.n_folds for sample in present)
    fewer = any(sample.note for sample in present)
    return Entry(f"{pools} × {folds}{' (some fewer)' if fewer else ''}")


def counts(samples: Collection[Sample]) -> str:
    """Say how many pools and folds the numbers of a table are from."""
    present = [sample for sample in samples if sample]
    if not present:
        return "No cell of this table is done."
    pools = sorted({sample.n_pools for sample in present if sample.n_pools > 1}) or [1]
    folds = sorted({sample.n_folds for sample in present})
    draws = "Pools: 1" if pools == [1] else f"Pools: {_span(pools)} for methods that draw, 1 for the others"
    return (
        f"{draws}. Folds: {_span(folds)}"
        f"{' (1 where the paper has a test file)' if folds[0] == 1 and len(folds) > 1 else ''}. "
        f"The AUC of a pool is the mean over its folds; ± is the standard deviation over pools."
    )


def _span(values: list[int]) -> str:
    return str(values[0]) if len(values) == 1 else f"{', '.join(map(str, values[:-1]))} or {values[-1]}"


def total_entry(total: Tally, printed: Iterable[int] | None = None) -> Entry:
    """Return wins, losses and ties beside the paper's."""
    theirs = "/".join(map(str, printed)) if printed else ""
    if not total.tested:
        return Entry("no test: one pool" if total.untested else "not run", theirs)
    note = f"{total.untested} sets without a test" if total.untested else ""
    return Entry(str(total), theirs, note=note)


def source(values: dict[str, Any]) -> str:
    """Return the line that says which table of the paper this is."""
    return f"Paper: “{values['caption']}” ({values['label']})"


def budget_text(budgets: Collection[int]) -> str:
    """Return the budgets that a table was run at."""
    return " or ".join(f"{budget:,}" for budget in budgets) or "8,000"
