"""scikit-learn's checks of the rankers once more, with every threshold of size at the least that can be split."""

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from least_sizes import PAIRS_DRAWN, lower_sizes
from pairsift import ActiveRankSVM, AutoRanker, make_ranking

REASONS = {
    "AutoRanker": "the choice on 15 rows differs within its standard error, which counts rows, not weights",
    "ActiveRankSVM": "20 pairs are drawn out of 50: other rows are other pairs",
}


def weights_against_repeated_rows(estimator):
    reason = REASONS[type(estimator).__name__]
    return {f"check_sample_weight_equivalence_on_{kind}_data": reason for kind in ("dense", "sparse")}


@pytest.fixture(autouse=True)
def least_sizes(monkeypatch):
    lower_sizes(monkeypatch)


@parametrize_with_checks(
    [AutoRanker(), ActiveRankSVM(**PAIRS_DRAWN)], expected_failed_checks=weights_against_repeated_rows
)
def test_scikit_learn(estimator, check):
    check(estimator)


def test_few_rows_go_the_way_of_many():
    X, y = make_ranking(60, 3, positive_rate=0.4, random_state=0)
    model = AutoRanker(random_state=0).fit(X, y)
    assert model.trials_
    assert model.n_rows_.sum() < 60
    assert not np.isnan(model.holdout_.value)
    drawn = ActiveRankSVM(**PAIRS_DRAWN, random_state=0).fit(X, y)
    assert drawn.stop_reason_ == "budget reached"
    assert len(drawn.history_) > 1
