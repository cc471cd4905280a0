"""Files that earlier versions wrote: every later version must read them. Never write these files anew; add others."""

from pathlib import Path

import numpy as np
import pytest

from pairsift import RowStore, load_model
from pairsift.experiments.results import Results

FILES = Path(__file__).parent / "files"
X = np.arange(24.0).reshape(8, 3)
X[2] = 0
Y = np.array([0, 1, 0, 0, 1, 0, 1, 0])
ORDER = np.argsort(-Y, kind="stable")


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_row_stores_of_version_1(kind):
    store = RowStore(FILES / f"rows-{kind}-version-1.arrow")
    assert (store.n_positive, store.n_negative, store.n_features) == (3, 5, 3)
    np.testing.assert_array_equal(store.original_between(0, 8), ORDER)
    w = np.array([1.0, 10.0, 100.0])
    np.testing.assert_array_equal(store.scores_between(w, 0, 8), X[ORDER] @ w)
    expected = ORDER + 1.0 if kind == "dense" else None
    np.testing.assert_array_equal(store.weights_between(0, 8), expected)


def test_models_of_all_formats():
    assert load_model(FILES / "model-format-1.safetensors").n_features_in_ >= 1
    model = load_model(FILES / "model-format-2.safetensors")
    assert model.classes_.tolist() == ["no", "yes"]
    assert model.encoding.feature_names == list(model.feature_names_in_)
    assert model.details["pairsift_version"] == "0.1.0"
    scores = model.decision_function(np.zeros((1, model.n_features_in_)))
    assert 0 <= model.calibration.probabilities(scores)[0] <= 1
    model = load_model(FILES / "model-format-3.safetensors")
    assert model.classes_.tolist() == ["no", "yes"]
    training = model.details["training"]
    assert (training["terms"], training["loss"]) == ("points", "logistic")
    assert training["rows_used"] == {"negative": 189, "positive": 82}
    assert training["holdout"]["low"] < training["holdout"]["value"] < training["holdout"]["high"]
    scores = model.decision_function(np.zeros((1, model.n_features_in_)))
    assert 0 <= model.calibration.probabilities(scores)[0] <= 1


def test_results_of_0_1():
    with Results(FILES / "results-0.1.sqlite") as results:
        assert results.facts == {"mode": "full"}
        rows = results.rows("auc", "a9a", "soft-close")
        assert [(row.pool, row.result["auc"]) for row in rows] == [(0, 0.8), (1, 0.81)]
        assert [row.reason for row in results.rows(status="failed")] == ["why"]
