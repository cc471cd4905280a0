"""The paper's settings on the paper's data: AUC as in its table, and a certificate on every set."""

import os

import numpy as np
import pytest

from pairsift import ActiveRankSVM, auc
from pairsift.data.datasets import list_here
from pairsift.experiments.sets import holdout, splits

SAMPLERS = ("random", "soft-close", "soft-correct")
PAPER = {"a9a": (0.9003, 0.9012, 0.9007), "ijcnn1": (0.9342, 0.9345, 0.9348)}
HERE = list_here() if "PAIRSIFT_DATA" in os.environ else []

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif("PAIRSIFT_DATA" not in os.environ, reason="PAIRSIFT_DATA is not set"),
]


@pytest.mark.parametrize("name", PAPER)
@pytest.mark.parametrize("sampling", SAMPLERS)
def test_auc_is_that_of_the_paper(name, sampling):
    means = []
    for split in splits(name):
        models = [ActiveRankSVM(sampling=sampling, random_state=seed).fit(split.X, split.y) for seed in range(3)]
        means.append(np.mean([auc(split.y_test, model.decision_function(split.X_test)) for model in models]))
    assert np.mean(means) == pytest.approx(PAPER[name][SAMPLERS.index(sampling)], abs=0.004)


@pytest.mark.parametrize("name", HERE)
@pytest.mark.parametrize("sampling", SAMPLERS)
def test_the_gap_is_below_tol_on_every_set(name, sampling):
    split = holdout(name)
    model = ActiveRankSVM(sampling=sampling, random_state=0).fit(split.X, split.y)
    assert 0 <= model.gap_ <= model.tol
    assert model.n_pairs_ == 8000
