"""scikit-learn's checks of every estimator; of the rankers once more with every threshold of size at its least."""

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from least_sizes import PAIRS_DRAWN, lower_sizes
from pairsift import ActiveRankSVM, AutoRanker, estimators, make_ranking

REASONS = {
    "AutoRanker": "the choice on 15 rows differs within its standard error, which counts rows, not weights",
    "ActiveRankSVM": "20 pairs are drawn out of 50: other rows are other pairs",
}


def weights_against_repeated_rows(estimator):
    reason = REASONS[type(estimator).__name__]
    return {f"check_sample_weight_equivalence_on_{kind}_data": reason for kind in ("dense", "sparse")}


@pytest.fixture
def least_sizes(monkeypatch):
    lower_sizes(monkeypatch)


@parametrize_with_checks([getattr(estimators, name)() for name in estimators.__all__])
def test_with_no_expected_failure(estimator, check):
    check(estimator)


@pytest.mark.usefixtures("least_sizes")
@parametrize_with_checks(
    [AutoRanker(), ActiveRankSVM(**PAIRS_DRAWN)], expected_failed_checks=weights_against_repeated_rows
)
def test_with_least_sizes(estimator, check):
    check(estimator)


@pytest.mark.usefixtures("least_sizes")
def test_few_rows_go_the_way_of_many():
    X, y = make_ranking(60, 3, positive_rate=0.4, random_state=0)
    model = AutoRanker(random_state=0).fit(X, y)
    assert model.trials_
    assert model.n_rows_.sum() < 60
    assert not np.isnan(model.holdout_.value)
    drawn = ActiveRankSVM(**PAIRS_DRAWN, random_state=0).fit(X, y)
    assert drawn.stop_reason_ == "budget reached"
    assert len(drawn.history_) > 1
