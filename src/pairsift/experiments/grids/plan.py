"""What a run asks for, and how cells follow from it: folds, pools, settings, and the seed of a cell."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from pairsift.data.datasets import DATASETS, part_path
from pairsift.experiments.methods import METHODS, PAPER_BATCH, PAPER_BUDGET, PAPER_C
from pairsift.experiments.results import Cell, settings_key
from pairsift.experiments.sets import fold_count

BASELINES = ("wsvm", "eranksvm", "crr")
SOFT = ("soft-close", "soft-correct")
HARD = ("hard-close", "hard-correct")
SAMPLERS = ("random", *SOFT)

N_POOLS = 10
QUICK_BUDGET = 2000
QUICK_LIMIT = 30.0
TUNING_LIMIT = 120.0
LIMIT = 900.0


@dataclass(frozen=True)
class Plan:
    """What a run asks for.

    Attributes
    ----------
    sets
        Names of data sets, whether they are here or not.
    seeds
        Initial pools a sampler, 10 in the paper.
    quick
        One fold, B = 2000, larger budgets and their batches divided by 10, fewer values of gamma and C, 30 s a cell.
    time_limit
        Seconds a cell may take; None for the limits of the protocol.
    """

    sets: tuple[str, ...] = tuple(DATASETS)
    seeds: int = N_POOLS
    quick: bool = False
    time_limit: float | None = None

    def folds(self, dataset: str, at_most: int | None = None) -> range:
        """Return the folds of a set."""
        return range(1 if self.quick else min(fold_count(dataset), at_most or fold_count(dataset)))

    def pools(self, method: str, at_most: int | None = None) -> range:
        """Return the pools of a method: a deterministic one has one result."""
        return range(min(self.seeds, at_most or self.seeds) if METHODS[method].seeded else 1)

    def settings(
        self, *, budget: int = PAPER_BUDGET, batch_size: int = PAPER_BATCH, scale_C: float | None = 1.0, **options: Any
    ) -> str:
        """Return settings as the text that names them; a quick run has smaller budgets."""
        if self.quick and budget == PAPER_BUDGET:
            budget = QUICK_BUDGET
        elif self.quick:
            budget, batch_size = budget // 10, batch_size // 10
        shared = {"C": PAPER_C, "budget": budget, "batch_size": batch_size, "scale_C": scale_C}
        return settings_key({**shared, **options})

    def cells(
        self,
        experiment: str,
        dataset: str,
        methods: Iterable[str],
        *settings: str,
        folds: int | None = None,
        pools: int | None = None,
    ) -> Iterator[Cell]:
        """Yield cells fold by fold, with at most this many folds and pools; without settings, those of the paper."""
        methods = tuple(methods)
        for fold in self.folds(dataset, folds):
            for key in settings or (self.settings(),):
                for method in methods:
                    for pool in self.pools(method, pools):
                        yield Cell(experiment, dataset, fold, method, pool, key)

    def limit(self, cell: Cell) -> float:
        """Return the seconds that a cell may take, its data set being loaded."""
        if self.time_limit is not None:
            return self.time_limit
        if self.quick:
            return QUICK_LIMIT
        return TUNING_LIMIT if cell.experiment == "tune" else LIMIT


def is_here(dataset: str) -> bool:
    """Return whether all parts that the paper uses of a data set are here."""
    needed = ("train", "test") if DATASETS[dataset].auc == "test" else ("train",)
    return all(part_path(dataset, part) is not None for part in needed)  # type: ignore[arg-type]


def cell_seed(dataset: str, fold: int, pool: int) -> int:
    """Return the seed of a cell: of the set, the fold and the pool, not of the method, so that samplers share pools."""
    digest = sha256(f"{dataset}/{fold}/{pool}".encode()).digest()
    return int.from_bytes(digest[:4], "big")
