"""The results store as samples: for a method on a data set, one AUC a pool, each the mean over folds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from pairsift.experiments.paper import SETS
from pairsift.experiments.results import Results, Row
from pairsift.experiments.row_checks import check_row

NOT_RUN = "not run"


@dataclass(frozen=True)
class Sample:
    """Values of one method on one set.

    Attributes
    ----------
    values
        Pool -> mean over folds, for the pools whose folds are all done.
    by_fold
        Fold -> mean over pools, on the same cells.
    status
        "done" when there are values; else why there are none.
    note
        What is missing although there are values.
    """

    values: Mapping[int, float] = field(default_factory=dict)
    by_fold: Mapping[int, float] = field(default_factory=dict)
    status: str = NOT_RUN
    note: str = ""

    @property
    def mean(self) -> float:
        """Mean over pools."""
        return float(np.mean(list(self.values.values())))

    @property
    def std(self) -> float | None:
        """Standard deviation over pools; None with fewer than two."""
        return float(np.std(list(self.values.values()), ddof=1)) if len(self.values) > 1 else None

    @property
    def n_pools(self) -> int:
        """Number of pools with a value."""
        return len(self.values)

    @property
    def n_folds(self) -> int:
        """Number of folds that each value is a mean of."""
        return len(self.by_fold)

    def __bool__(self) -> bool:
        return bool(self.values)


class Cells:
    """All rows of a store, read once, by experiment, data set and method."""

    def __init__(self, results: Results) -> None:
        self.facts = results.facts
        self.rows = results.rows()
        self._by_method: dict[tuple[str, str, str], list[Row]] = defaultdict(list)
        for row in self.rows:
            check_row(row)
            self._by_method[row.experiment, row.dataset, row.method].append(row)

    @property
    def quick(self) -> bool:
        """Whether this store was made with ``--quick``: other budgets, one pool, one fold."""
        return self.facts.get("mode") == "quick"

    @cached_property
    def sets(self) -> list[str]:
        """Paper's names of the sets with results, in the paper's order."""
        known = {row.dataset for row in self.rows if row.status != "data not here"}
        return [name for name, here in SETS.items() if here in known]

    def methods(self, experiment: str) -> list[str]:
        """Methods that an experiment has rows of."""
        return sorted({method for name, _, method in self._by_method if name == experiment})

    def budgets(self, experiment: str) -> list[int]:
        """Budgets that an experiment was run at."""
        found = (row.settings.get("budget") for row in self.rows if row.experiment == experiment)
        return sorted({int(budget) for budget in found if budget})

    def find(self, experiment: str, name: str, method: str, **settings: Any) -> list[Row]:
        """Return rows of a set by its name in the paper; settings as for `Results.rows`."""
        rows = self._by_method.get((experiment, SETS[name], method), [])
        return [row for row in rows if _has(row, settings)]

    def sample(
        self, experiment: str, name: str, method: str, *, like: Collection[tuple[int, int]] = (), **settings: Any
    ) -> Sample:
        """Return the AUC values of a method on a set.

        Parameters
        ----------
        experiment, name, method
            `name` is the paper's name of the set.
        like
            Only these (fold, pool); all when empty.
        **settings
            Only rows with these settings; None is for settings that the row does not state.
        """
        rows = self.find(experiment, name, method, **settings)
        if like:
            rows = [row for row in rows if (row.fold, row.pool) in like or row.status == "data not here"]
        return sample_of(rows, {fold for fold, _ in like} or self._folds(experiment, name))

    def _folds(self, experiment: str, name: str) -> set[int]:
        wanted = experiment, SETS[name]
        return {row.fold for key, rows in self._by_method.items() if key[:2] == wanted for row in rows}


def _has(row: Row, settings: Mapping[str, Any]) -> bool:
    return all(row.settings.get(key) == value for key, value in settings.items())


def sample_of(rows: Collection[Row], folds: Collection[int] = ()) -> Sample:
    """Return the sample that rows of one method and one setting make; a pool counts when all `folds` are done."""
    wanted = set(folds) or {row.fold for row in rows}
    pools: dict[int, dict[int, float]] = defaultdict(dict)
    for row in rows:
        if row.status == "done" and "auc" in row.result:
            pools[row.pool][row.fold] = float(row.result["auc"])
    whole = {pool: by_fold for pool, by_fold in sorted(pools.items()) if by_fold.keys() >= wanted}
    missing = missing_reason(rows)
    if not whole:
        done = sum(len(by_fold) for by_fold in pools.values())
        if missing == NOT_RUN and done:
            missing = f"{NOT_RUN} to the end: {done} cells done, no pool on all {len(wanted)} folds"
        return Sample(status=missing)
    values = {pool: float(np.mean([by_fold[fold] for fold in sorted(wanted)])) for pool, by_fold in whole.items()}
    by_fold = {fold: float(np.mean([value[fold] for value in whole.values()])) for fold in sorted(wanted)}
    lost = len({row.pool for row in rows}) - len(whole)
    return Sample(values, by_fold, "done", f"{lost} pools left out: {missing}" if lost else "")


def missing_reason(rows: Iterable[Row]) -> str:
    """Say why there is no value: "data not here", "failed: why", "out of time", "not run"."""
    by_status: dict[str, Row] = {}
    for row in rows:
        by_status.setdefault(row.status, row)
    if "failed" in by_status:
        return f"failed: {by_status['failed'].reason or 'no reason given'}"
    return next((status for status in ("out of time", "data not here") if status in by_status), NOT_RUN)
