"""The exact AUC of scores on an engine, with its interval: two passes and an exchange of (class, score)."""

from __future__ import annotations

from typing import Any

import numpy as np

from pairsift._typing import FloatArray
from pairsift.engines.columns import Columns
from pairsift.engines.passes import SampleScores, ScoreRows, SplitScores, checked
from pairsift.engines.protocol import Engine
from pairsift.engines.ranks import merge_groups, rank_group
from pairsift.stats.delong import AucInterval

GROUP_ROWS = 2_000_000
SAMPLED_SCORES = 1000
"""Of each partition, to cut by; where the cuts lie changes nothing but the sizes of the groups."""


def auc_on_engine(
    engine: Engine,
    columns: Columns,
    labels: tuple[Any, Any],
    w: FloatArray | None = None,
    *,
    sparse: bool = False,
    level: float = 0.95,
    group_rows: int = GROUP_ROWS,
) -> AucInterval:
    """Return the AUC of all rows together and its interval, as `pairsift.auc_interval` does for rows in memory.

    Parameters
    ----------
    engine : Engine
    columns : Columns
        With one feature, the column of scores, where there is no `w`. Each row counts once, whatever its weight.
    labels : tuple
        The negative and the positive label.
    w : array, optional
        Coefficients: scores are ``w . x``. An intercept changes no AUC.
    sparse : bool
        How vectors are read; see `Counts`.
    level : float
    group_rows : int
        Rows that one worker ranks at a time, about.
    """
    score = ScoreRows(columns, labels, sparse, w)
    names = list(dict.fromkeys([*columns.features, columns.label]))
    sampled = [checked(table) for table in engine.map(SampleScores(score, SAMPLED_SCORES), names)]
    scores = np.concatenate([table["score"].to_numpy() for table in sampled])
    rows = np.concatenate([table["rows"].to_numpy() for table in sampled])
    cuts = _cuts(scores, rows, group_rows)
    groups = engine.regroup(SplitScores(score, cuts), rank_group, names, len(cuts) + 1)
    return merge_groups(map(checked, groups)).interval(level)


def _cuts(scores: FloatArray, rows: FloatArray, group_rows: int) -> FloatArray:
    """Return different scores, in rising order, with about `group_rows` rows between neighbours."""
    order = np.argsort(scores, kind="stable")
    before = np.cumsum(rows[order])
    n_groups = int(np.ceil(before[-1] / group_rows)) if len(before) else 1
    at = np.searchsorted(before, np.arange(1, n_groups) * group_rows)
    cuts: FloatArray = np.unique(scores[order][np.minimum(at, len(order) - 1)])
    return cuts
