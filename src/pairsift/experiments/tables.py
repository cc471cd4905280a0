"""Every table, in the paper's order."""

from __future__ import annotations

from collections.abc import Callable

from pairsift.experiments.samples import Cells
from pairsift.experiments.table import Table
from pairsift.experiments.table_auc import auc_table
from pairsift.experiments.table_fair import fair_table
from pairsift.experiments.table_gamma import gamma_table
from pairsift.experiments.table_sampling import bias_table, hard_table
from pairsift.experiments.table_statistics import statistics_table
from pairsift.experiments.table_time import time_table

TABLES: tuple[Callable[[Cells], Table], ...] = (
    statistics_table,
    hard_table,
    bias_table,
    auc_table,
    time_table,
    gamma_table,
    fair_table,
)


def all_tables(cells: Cells) -> list[Table]:
    """Return every table of the paper beside ours, and the fair table after them."""
    return [make(cells) for make in TABLES]
