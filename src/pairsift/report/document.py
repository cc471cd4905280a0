"""What a report says, whatever writes it down: summary, claims, tables, figures, and how it was run."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from pairsift.experiments.claims import Claim, all_claims
from pairsift.experiments.figures import Figure, all_figures
from pairsift.experiments.paper import paper
from pairsift.experiments.results import STATUSES, Results
from pairsift.experiments.samples import Cells
from pairsift.experiments.table import Outcome, Table
from pairsift.experiments.table_fair import Conclusion, conclusions
from pairsift.experiments.tables import all_tables

OUTCOMES: tuple[Outcome, ...] = ("reproduced", "differs", "not run")


@dataclass(frozen=True)
class Report:
    """All that the page and the Markdown show.

    Attributes
    ----------
    store
        Name of the file that it was made from.
    quick
        Whether that is a quick run, which is not at the paper's settings.
    claims, conclusions, tables, figures
        In the order in which they are shown.
    contradictions
        Where the paper's text and tables differ: about, table, text.
    run
        Name and value of what is to be known about the run.
    cells
        Experiment -> number of cells a status.
    """

    store: str
    quick: bool
    claims: list[Claim]
    conclusions: list[Conclusion]
    tables: list[Table]
    figures: list[Figure]
    contradictions: list[dict[str, str]]
    run: list[tuple[str, str]]
    cells: dict[str, Counter[str]]

    @property
    def outcomes(self) -> Counter[str]:
        """Entries of all tables by outcome."""
        return Counter(outcome for table in self.tables for outcome in table.outcomes())

    @property
    def not_here(self) -> int:
        """Entries that were not run because the data is not here."""
        entries = (entry for table in self.tables for _, row in table.rows for entry in row)
        return sum(entry.outcome == "not run" and entry.ours == "data not here" for entry in entries)

    @property
    def headline(self) -> str:
        """The result in one sentence."""
        outcomes, support = self.outcomes, Counter(claim.support for claim in self.claims)
        return (
            f"Of the {sum(outcomes.values())} numbers of the paper's tables, {outcomes['reproduced']} are reproduced, "
            f"{outcomes['differs']} differ and {outcomes['not run']} were not run ({self.not_here} of them because the "
            f"data is not here). Of its {len(self.claims)} claims, our numbers support {support['supported']}, do not "
            f"support {support['not supported']}, and are not enough for {support['not enough data']}."
            + (" This is a quick run, not at the paper's settings." if self.quick else "")
        )


def build_report(results: Results) -> Report:
    """Read a store and make everything of the report from it."""
    cells = Cells(results)
    by_experiment: dict[str, Counter[str]] = {}
    for row in cells.rows:
        by_experiment.setdefault(row.experiment, Counter())[row.status] += 1
    return Report(
        results.path.name,
        cells.quick,
        all_claims(cells),
        conclusions(cells),
        all_tables(cells),
        all_figures(cells),
        paper()["contradictions"],
        _run(cells),
        by_experiment,
    )


def _run(cells: Cells) -> list[tuple[str, str]]:
    done = [row for row in cells.rows if row.status == "done"]
    times = sorted(row.finished_at for row in cells.rows if row.finished_at)
    values: list[tuple[str, str]] = [(name, value) for name, value in sorted(cells.facts.items())]
    values += [
        ("pairsift", _distinct(row.version for row in done)),
        ("machine", _distinct(row.machine for row in done)),
        ("first and last cell", f"{times[0]} to {times[-1]}" if times else ""),
        ("CPU time of all trainings", f"{sum(row.train_cpu or 0 for row in done) / 3600:.2f} hours"),
        ("cells", ", ".join(f"{sum(row.status == status for row in cells.rows)} {status}" for status in STATUSES)),
        *((f"settings: {key}", _settings(done, key)) for key in ("C", "budget", "batch_size", "scale_C")),
        (
            "protocol",
            "5 folds, stratified and shuffled with one fixed seed, the same for all methods; the paper's test file "
            "where it has one. Seeds derive from set, fold and pool, so that all samplers share their initial pools.",
        ),
    ]
    return [(name, value) for name, value in values if value]


def _distinct(values: Any) -> str:
    return "; ".join(sorted({value for value in values if value}))


def _settings(rows: Any, key: str) -> str:
    found = {row.settings[key] for row in rows if row.settings.get(key) is not None}
    return ", ".join(f"{value:g}" for value in sorted(found))
