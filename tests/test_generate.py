import numpy as np
import pytest
from scipy import sparse
from scipy.stats import norm
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from pairsift.data.generate import GRAIN, RankingLaw, make_ranking, seed_from
from pairsift.data.rows import as_rows


def _law(n_rows=3 * GRAIN + 17, n_features=6, **changes):
    parameters = {"positive_rate": 0.1, "auc": 0.9, "label_noise": 0.05, "density": None, "dtype": np.float32}
    parameters["seed"] = seed_from(5)
    return RankingLaw(n_rows, n_features, **{**parameters, **changes})


@pytest.mark.parametrize("density", [None, 0.3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("noise", [0.0, 0.2])
def test_best_scores_reach_the_stated_auc(density, dtype, noise):
    X, y = make_ranking(
        60_000, 20, positive_rate=0.2, auc=0.88, label_noise=noise, density=density, dtype=dtype, random_state=3
    )
    signs = _law(60_000, 20, seed=seed_from(3)).signs
    assert X.dtype == dtype
    assert X.shape == (60_000, 20)
    assert sparse.issparse(X) == (density is not None)
    assert y.sum() == 12_000
    # The standard error of this AUC is at most sqrt(A (1 - A) / N+) = 0.003; four of them.
    assert roc_auc_score(y, X @ signs) == pytest.approx(0.88, abs=0.012)


def test_no_model_passes_it_and_a_linear_one_comes_close():
    X, y = make_ranking(40_000, 10, random_state=0)
    model = LogisticRegression(class_weight="balanced").fit(X[:30_000], y[:30_000])
    assert 0.87 < roc_auc_score(y[30_000:], model.decision_function(X[30_000:])) < 0.93


def test_without_noise_the_classes_are_two_normals():
    X, y = make_ranking(50_000, 4, positive_rate=0.5, auc=0.9, label_noise=0.0, random_state=1)
    along = X @ _law(50_000, 4, seed=seed_from(1)).signs / 2.0
    assert along[y == 0].mean() == pytest.approx(0, abs=0.03)
    assert along[y == 1].mean() == pytest.approx(np.sqrt(2) * norm.ppf(0.9), abs=0.03)
    assert along[y == 1].std() == pytest.approx(1, abs=0.03)


def test_noisy_labels_are_drawn_anew():
    """A negative row belongs to the hidden class of the positives with chance label_noise * positive_rate."""
    X, y = make_ranking(50_000, 4, positive_rate=0.2, auc=0.8, label_noise=0.3, random_state=1)
    along = X @ _law(50_000, 4, seed=seed_from(1)).signs / 2.0
    delta = np.sqrt(2) * norm.ppf(0.5 + 0.3 / 0.7)
    assert along[y == 0].mean() == pytest.approx(0.3 * 0.2 * delta, abs=0.03)
    assert along[y == 1].mean() == pytest.approx((0.7 + 0.3 * 0.2) * delta, abs=0.05)


@pytest.mark.parametrize("density", [None, 0.5])
def test_grains_equal_the_whole(density):
    law = _law(density=density)
    whole, y = law.between(0, 4)
    for number, start, stop in law.grains():
        part, part_y = law.between(number, number + 1)
        assert np.array_equal(part.values, whole.take(np.arange(start, stop)).values)
        assert np.array_equal(part_y, y[start:stop])
    assert int(y.sum()) == law.n_positive


def test_grains_differ_from_each_other_and_seeds_too():
    X, _ = make_ranking(2 * GRAIN, 3, random_state=1)
    assert not np.array_equal(X[:GRAIN], X[GRAIN:])
    assert np.array_equal(X, make_ranking(2 * GRAIN, 3, random_state=1)[0])
    assert not np.array_equal(X, make_ranking(2 * GRAIN, 3, random_state=2)[0])
    rng = np.random.default_rng(0)
    assert not np.array_equal(make_ranking(9, 3, random_state=rng)[0], make_ranking(9, 3, random_state=rng)[0])


def test_sparse_rows_are_canonical():
    X, _ = make_ranking(500, 37, density=0.2, random_state=0)
    assert X.has_canonical_format
    assert np.all(np.diff(X.indptr) == 7)
    assert len(np.unique(X.indices)) == 37


def test_classes_are_mixed_in_the_original_order():
    _, y = make_ranking(10_000, 1, positive_rate=0.3, random_state=0)
    assert np.all(np.abs(y.reshape(10, 1000).mean(axis=1) - 0.3) < 0.08)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_rows": 0}, "n_rows must be at least 1"),
        ({"n_features": 0}, "n_features must be at least 1"),
        ({"positive_rate": 0.0}, "positive_rate must be between 0 and 1"),
        ({"n_rows": 3, "positive_rate": 0.1}, "leave at least one row to each class"),
        ({"auc": 0.98}, "auc must be at least 0.5 and below"),
        ({"label_noise": 1.0}, "label_noise must be"),
        ({"density": 0.0}, "density must be"),
        ({"dtype": np.int32}, "dtype must be"),
        ({"random_state": -1}, "random_state must be"),
    ],
)
def test_wrong_parameters(changes, message):
    with pytest.raises(ValueError, match=message):
        make_ranking(**changes)


@pytest.mark.parametrize("density", [None, 0.4])
def test_a_store_holds_the_same_rows(tmp_path, density):
    size = {"n_rows": 2 * GRAIN + 9, "n_features": 5, "density": density, "dtype": np.float32, "random_state": 8}
    X, y = make_ranking(**size)
    store = make_ranking(**size, path=tmp_path / "rows.arrow")
    original = store.original_between(0, store.n_rows)
    assert np.array_equal(original, np.concatenate([np.flatnonzero(y), np.flatnonzero(y == 0)]))
    assert np.array_equal(store.between(0, store.n_rows).values, as_rows(X[original]).values)
    assert store.n_positive == y.sum()
    assert list(store.labels) == [0, 1]
