"""Linear bipartite ranking (AUC) from data of any size, by training on the few pairs that matter."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# Names are imported when they are first used: `import pairsift` must stay fast, and the command line must not pay for
# scikit-learn (1 to 3 s) when it does not need it.
_HOME = {
    "ActiveRankSVM": "pairsift.estimators",
    "AutoRanker": "pairsift.estimators",
    "CombinedRankingRegression": "pairsift.estimators",
    "LinearModel": "pairsift.model",
    "RankSVM": "pairsift.estimators",
    "RowStore": "pairsift.data.store",
    "WeightedSVM": "pairsift.estimators",
    "auc": "pairsift.stats",
    "auc_interval": "pairsift.stats",
    "calibrate": "pairsift.calibration",
    "certificate": "pairsift.certificates",
    "compare_auc": "pairsift.stats",
    "load_dataset": "pairsift.data.datasets",
    "load_model": "pairsift.model",
    "make_ranking": "pairsift.data.generate",
    "partial_auc": "pairsift.stats",
    "precision_at_k": "pairsift.stats",
    "read_svmlight": "pairsift.data.svmlight",
    "save_model": "pairsift.model",
}

if TYPE_CHECKING:
    from pairsift.calibration import calibrate as calibrate
    from pairsift.certificates import certificate as certificate
    from pairsift.data.datasets import load_dataset as load_dataset
    from pairsift.data.generate import make_ranking as make_ranking
    from pairsift.data.store import RowStore as RowStore
    from pairsift.data.svmlight import read_svmlight as read_svmlight
    from pairsift.estimators import ActiveRankSVM as ActiveRankSVM
    from pairsift.estimators import AutoRanker as AutoRanker
    from pairsift.estimators import CombinedRankingRegression as CombinedRankingRegression
    from pairsift.estimators import RankSVM as RankSVM
    from pairsift.estimators import WeightedSVM as WeightedSVM
    from pairsift.model import LinearModel as LinearModel
    from pairsift.model import load_model as load_model
    from pairsift.model import save_model as save_model
    from pairsift.stats import auc as auc
    from pairsift.stats import auc_interval as auc_interval
    from pairsift.stats import compare_auc as compare_auc
    from pairsift.stats import partial_auc as partial_auc
    from pairsift.stats import precision_at_k as precision_at_k

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'pairsift' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*_HOME, *(name for name in globals() if name.startswith("__"))})
