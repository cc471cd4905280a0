"""Partitions on Dask: every pass is one task a partition, run where the active client or scheduler runs it.

A task that a dead worker had is run again by Dask, elsewhere; tasks are pure, so that nothing changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pairsift.engines.local import lines_of, run_gather, run_pass, run_split
from pairsift.engines.parts import FEATURES, LABEL, ROW_ID, WEIGHT, ArrayPartition, FramePartition
from pairsift.engines.passes import Pass
from pairsift.engines.protocol import Gather, Split


def import_dask() -> Any:
    """Import Dask, or say in one line how to get it."""
    try:
        import dask
        import dask.array
        import dask.dataframe
    except ImportError as error:
        raise ValueError('Training on Dask needs dask: pip install "pairsift[dask]"') from error
    return dask


class DaskEngine:
    """Partitions that are made on the workers: delayed objects, or what `pairsift.engines.parts` has."""

    def __init__(self, partitions: Sequence[Any], names: Sequence[str], *, has_stable_keys: bool = True) -> None:
        self.names: Sequence[str] = list(names)
        self.has_stable_keys = has_stable_keys
        self._dask = import_dask()
        self._partitions = list(partitions)

    def map(self, work: Pass, columns: Sequence[str]) -> list[Any]:
        """Return the small table of each partition."""
        run = self._dask.delayed(run_pass, pure=False)
        return list(self._dask.compute(*(run(part, work, list(columns)) for part in self._partitions)))

    def regroup(self, split: Split, gather: Gather, columns: Sequence[str], n_groups: int) -> list[Any]:
        """Split each partition, bring the lines of each group together, and return the small table of each group."""
        delayed = self._dask.delayed
        pieces = [delayed(run_split, pure=False)(part, split, list(columns)) for part in self._partitions]
        lines = [[delayed(lines_of)(piece, group) for piece in pieces] for group in range(n_groups)]
        tables = self._dask.compute(*(delayed(run_gather)(group, gather) for group in lines))
        return [table for table in tables if table is not None]


def engine_for(
    X: Any, y: Any, sample_weight: Any = None, ids: Any = None, *, keyed: bool = True
) -> tuple[DaskEngine, tuple[str, ...]]:
    """Return an engine over Dask collections that are divided alike, and the columns of its features.

    Parameters
    ----------
    X : dask.array.Array or dask.dataframe.DataFrame
    y, sample_weight, ids : dask.array.Array or dask.dataframe.Series, optional
        One value a row. Without `ids` the key of a row is its place.
    keyed : bool
        Whether keys are needed: places in a frame take a pass that counts its rows.
    """
    dask = import_dask()
    if isinstance(X, dask.array.Array):
        if X.ndim != 2:
            raise ValueError(f"X must have two dimensions (rows, columns); got {X.ndim}.")
        blocks = X.rechunk({1: -1}).to_delayed()[:, 0].tolist()
        names, make = (FEATURES,), ArrayPartition
        lengths = list(X.chunks[0])
    elif hasattr(X, "to_delayed") and hasattr(X, "columns"):
        blocks, lengths = X.to_delayed(), [np.nan]
        names, make = tuple(map(str, X.columns)), FramePartition  # type: ignore[assignment]
        _refuse_reserved(names)
    else:
        raise ValueError(f"X must be a dask.array or a dask.dataframe; got {type(X).__name__}.")
    places = keyed and ids is None
    if places and np.any(np.isnan(lengths)):
        lengths = dask.compute(*(dask.delayed(_length)(block) for block in blocks))
    starts = [0, *np.cumsum(lengths).tolist()] if places else [0] * len(blocks)
    others = [_blocks(dask, values, len(blocks), name) for values, name in ((y, "y"), (sample_weight, "sample_weight"))]
    keys = _blocks(dask, ids, len(blocks), "ids")
    made = [
        dask.delayed(make, pure=False)(block, others[0][k], others[1][k], keys[k], int(starts[k]))
        for k, block in enumerate(blocks)
    ]
    return DaskEngine(made, [*names, LABEL, WEIGHT, ROW_ID]), names


def _blocks(dask: Any, values: Any, n_blocks: int, name: str) -> list[Any]:
    if values is None:
        return [None] * n_blocks
    if not hasattr(values, "to_delayed"):
        raise ValueError(f"{name} must be a dask.array or a dask.dataframe Series; got {type(values).__name__}.")
    found = values.to_delayed()
    blocks: list[Any] = found.ravel().tolist() if hasattr(found, "ravel") else list(found)
    if len(blocks) != n_blocks:
        raise ValueError(
            f"X has {n_blocks} partitions and {name} has {len(blocks)}; divide them alike (rechunk, repartition)."
        )
    return blocks


def _length(block: Any) -> int:
    return int(block.shape[0])


def _refuse_reserved(names: Sequence[str]) -> None:
    taken = {LABEL, WEIGHT, ROW_ID} & set(names)
    if taken:
        raise ValueError(f"A feature may not be called {min(taken)!r} here; rename the column.")
