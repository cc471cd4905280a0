"""The scikit-learn face of pairsift: the only place that imports scikit-learn."""

from pairsift.estimators.active import ActiveRankSVM

__all__ = ["ActiveRankSVM"]
