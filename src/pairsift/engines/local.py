"""Partitions on this machine, one after another or in worker processes: the reference of all engines."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import Any, Protocol

import numpy as np

from pairsift.data.tables import import_pyarrow
from pairsift.engines.passes import Pass, guarded
from pairsift.engines.protocol import Gather, Split

FAULTY = -1


class Partition(Protocol):
    """A part of a table that can be read again and again, and sent to another process."""

    def batches(self, columns: Sequence[str]) -> Iterator[Any]:
        """Yield the given columns in record batches."""


class TablePartition:
    """A pyarrow table in memory."""

    def __init__(self, table: Any) -> None:
        self.table = table

    def batches(self, columns: Sequence[str]) -> Iterator[Any]:
        """Yield the given columns in record batches."""
        yield from self.table.select(list(columns)).to_batches()


class LocalEngine:
    """Partitions in this process, or in `processes` worker processes.

    Parameters
    ----------
    partitions : sequence of Partition
    names : list of str
        The columns of every partition.
    processes : int
        0 runs one partition after another in this process.
    has_stable_keys : bool
        Whether keys do not depend on the partitions.
    """

    def __init__(
        self, partitions: Sequence[Partition], names: Sequence[str], *, processes: int = 0, has_stable_keys: bool = True
    ) -> None:
        self.names: Sequence[str] = list(names)
        self.partitions, self.has_stable_keys = list(partitions), has_stable_keys
        self._processes = processes
        self._pool: ProcessPoolExecutor | None = None

    def map(self, work: Pass, columns: Sequence[str]) -> list[Any]:
        """Return the small table of each partition."""
        return self._run(partial(run_pass, work=work, columns=list(columns)), self.partitions)

    def regroup(self, split: Split, gather: Gather, columns: Sequence[str], n_groups: int) -> list[Any]:
        """Split each partition, bring the lines of each group together, and return the small table of each group."""
        pieces = self._run(partial(run_split, split=split, columns=list(columns)), self.partitions)
        together = [[lines_of(piece, group) for piece in pieces] for group in range(n_groups)]
        found = self._run(partial(run_gather, gather=gather), together)
        return [table for table in found if table is not None]

    def _run(self, function: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
        if not self._processes:
            return [function(item) for item in items]
        if self._pool is None:
            # A fork of a process with threads may hang; a spawned one reads the modules again and nothing else.
            context = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(self._processes, mp_context=context)
        return list(self._pool.map(function, items))

    def close(self) -> None:
        """End the worker processes; the next pass would start new ones."""
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None


def run_pass(partition: Partition, work: Pass, columns: list[str]) -> Any:
    """Run a pass over a partition."""
    return guarded(work, partition.batches(columns))


def run_split(partition: Partition, split: Split, columns: list[str]) -> dict[int, Any]:
    """Return the lines of each group of a partition; what is wrong with the data is under `FAULTY`."""
    table = guarded(lambda batches: _joined(split(batches)), partition.batches(columns))
    if table.num_columns == 0:
        return {FAULTY: table} if table.schema.metadata else {}
    groups = table["group"].to_numpy()
    return {
        int(group): table.take(import_pyarrow().array(np.flatnonzero(groups == group))) for group in np.unique(groups)
    }


def lines_of(piece: dict[int, Any], group: int) -> Any | None:
    """Return the lines of a group that a partition has, or what is wrong with it."""
    return piece.get(FAULTY, piece.get(group))


def run_gather(pieces: Sequence[Any | None], gather: Gather) -> Any | None:
    """Return the small table of a group; None if no partition has lines of it."""
    tables = [piece for piece in pieces if piece is not None]
    faulty = [table for table in tables if table.num_columns == 0]
    if faulty or not tables:
        return faulty[0] if faulty else None
    return gather(import_pyarrow().concat_tables(tables))


def _joined(batches: Iterator[Any]) -> Any:
    pyarrow = import_pyarrow()
    found = list(batches)
    return pyarrow.Table.from_batches(found) if found else pyarrow.table({})
