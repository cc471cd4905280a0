"""Training on Dask: `DaskRanker`. Needs the extra ``[dask]``."""

from __future__ import annotations

from pairsift.engines.dask import import_dask
from pairsift.estimators.dask_ranker import DaskRanker

import_dask()

__all__ = ["DaskRanker"]
