"""The scikit-learn face of pairsift: the only place that imports scikit-learn."""

from pairsift.estimators.active import ActiveRankSVM
from pairsift.estimators.combined import CombinedRankingRegression
from pairsift.estimators.exact import RankSVM
from pairsift.estimators.pointwise import WeightedSVM

__all__ = ["ActiveRankSVM", "CombinedRankingRegression", "RankSVM", "WeightedSVM"]
