"""The scikit-learn face of pairsift: the only place that imports scikit-learn."""

from pairsift.estimators.active import ActiveRankSVM
from pairsift.estimators.auto import AutoRanker
from pairsift.estimators.combined import CombinedRankingRegression
from pairsift.estimators.exact import RankSVM
from pairsift.estimators.pointwise import WeightedSVM

__all__ = ["ActiveRankSVM", "AutoRanker", "CombinedRankingRegression", "RankSVM", "WeightedSVM"]
