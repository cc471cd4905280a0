"""Peers from Python packages that take more than a line: stochastic gradient, and boosted trees."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from scipy.sparse import csr_matrix

from pairsift._typing import FloatArray


def sgd_classifier(parameters: Mapping[str, Any]) -> Any:
    """Return scikit-learn's SGDClassifier; its objective is alpha / 2 |w|^2 + mean loss, so alpha = 1 / (B C)."""
    from sklearn.linear_model import SGDClassifier

    return SGDClassifier(**parameters)


class TreesRun:
    """Boosted trees of LightGBM or XGBoost by their scikit-learn classes: the ceiling without linearity.

    LightGBM knows SciPy's sparse matrices and not its sparse arrays.
    """

    def __init__(self, estimator: Any, score_option: str, X: Any, y: FloatArray) -> None:
        self.estimator, self._score_option, self._X, self._y = estimator, score_option, csr_matrix(X), y > 0

    def train(self) -> Any:
        """Fit."""
        return self.estimator.fit(self._X, self._y)

    def scores(self, X: Any) -> FloatArray:
        """Return the sum of the trees, before it is turned into a probability."""
        values: FloatArray = self.estimator.predict(csr_matrix(X), **{self._score_option: True})
        return values


def boosted_trees(package: str, X: Any, y: FloatArray, n_trees: int, parameters: Mapping[str, Any]) -> TreesRun:
    """Return a run of `n_trees` trees with the package's defaults, on as many threads as the cell has."""
    shared = {"n_estimators": n_trees, "n_jobs": int(os.environ.get("OMP_NUM_THREADS", "1")), **parameters}
    if package == "lightgbm":
        from lightgbm import LGBMClassifier

        return TreesRun(LGBMClassifier(**{"verbosity": -1, **shared}), "raw_score", X, y)
    from xgboost import XGBClassifier

    return TreesRun(XGBClassifier(**shared), "output_margin", X, y)
