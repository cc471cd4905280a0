"""What the algorithm asks of an engine: two ways to run a function where the data are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

from pairsift.engines.passes import Batches, Pass

Split = Callable[[Batches], Iterator[Any]]
"""A function over the batches of a partition that yields batches with a column ``group`` of whole numbers."""
Gather = Callable[[Any], Any]
"""A function over all lines of one group that returns a small table."""


class Engine(Protocol):
    """A table in partitions.

    Attributes
    ----------
    names : list of str
        The columns of the table.
    has_stable_keys : bool
        Whether a row has the same key however the table is divided; otherwise bits depend on the partitions.
    """

    names: Sequence[str]
    has_stable_keys: bool

    def map(self, work: Pass, columns: Sequence[str]) -> list[Any]:
        """Return the small table of each partition. Only the given columns need to be read."""

    def regroup(self, split: Split, gather: Gather, columns: Sequence[str], n_groups: int) -> list[Any]:
        """Split each partition, bring the lines of each group together, and return the small table of each group.

        Groups are numbered from 0 to n_groups - 1; one without lines has no table.
        """
