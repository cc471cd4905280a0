"""`ActiveRankSVM` among the tools of scikit-learn; what every estimator keeps to is in test_conformance.py."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from pairsift import ActiveRankSVM, make_ranking
from pairsift.data.blocks import ArrayBlocks
from pairsift.data.convert import convert
from pairsift.data.rows import DenseRows
from pairsift.sampling import SoftClose


def make_data(n=400, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.3
    return rng.normal(size=(n, 4)) + 0.8 * y[:, np.newaxis], y.astype(int)


@parametrize_with_checks(
    [
        ActiveRankSVM(sampling="soft-correct", gamma=0.3, threshold=True),
        ActiveRankSVM(sampling="soft-correct", gamma=0.0),
        ActiveRankSVM(gamma="uniform", sampling="hard-close"),
        ActiveRankSVM(sampling="soft-close", bias_correction=False),
        ActiveRankSVM(sampling="random"),
    ]
)
def test_scikit_learn(estimator, check):
    check(estimator)


def test_grid_search_pipeline_calibration_and_cross_validation():
    X, y = make_data()
    search = GridSearchCV(
        make_pipeline(StandardScaler(), ActiveRankSVM(sampling="soft-correct", budget=300, random_state=0)),
        {"activeranksvm__C": [0.01, 0.1], "activeranksvm__gamma": [0.5, "uniform", 1.0]},
        scoring="roc_auc", cv=3,
    ).fit(X, y)  # fmt: skip
    assert search.best_score_ > 0.75
    np.testing.assert_allclose(
        search.score(X, y), roc_auc_score(y, search.best_estimator_.decision_function(X)), rtol=1e-12
    )
    calibrated = CalibratedClassifierCV(ActiveRankSVM(sampling="soft-correct", budget=300, random_state=0), cv=3).fit(
        X, y
    )
    p = calibrated.predict_proba(X)[:, 1]
    assert roc_auc_score(y, p) > 0.75
    assert abs(np.mean(p) - np.mean(y)) < 0.05
    own = cross_val_score(ActiveRankSVM(sampling="soft-correct", random_state=0), X, y, cv=3)
    np.testing.assert_allclose(
        own, cross_val_score(ActiveRankSVM(sampling="soft-correct", random_state=0), X, y, cv=3, scoring="roc_auc")
    )


def test_clone_keeps_a_sampler_of_the_users_own():
    model = ActiveRankSVM(sampling=SoftClose(), budget=300, random_state=0)
    X, y = make_data()
    assert clone(model).fit(X, y).coef_.tobytes() == model.fit(X, y).coef_.tobytes()
    named = ActiveRankSVM(sampling="soft-close", budget=300, random_state=0).fit(X, y)
    assert named.coef_.tobytes() == model.coef_.tobytes()


def test_feature_names_are_kept_and_forgotten(tmp_path):
    X, y = make_data()
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = ActiveRankSVM(sampling="soft-correct", budget=300, random_state=0).fit(frame, y)
    assert model.feature_names_in_.tolist() == list("abcd")
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[list("bacd")])
    store = convert(ArrayBlocks(X, y), tmp_path / "rows.arrow")
    model.fit(store)
    assert not hasattr(model, "feature_names_in_")


def test_float32_rows_are_used_where_they_lie(monkeypatch):
    X, y = make_data()
    X = np.ascontiguousarray(X, dtype=np.float32)
    seen, original = [], DenseRows.__init__
    monkeypatch.setattr(DenseRows, "__init__", lambda self, v: (seen.append(v), original(self, v))[1])
    ActiveRankSVM(sampling="soft-correct", budget=300).fit(X, y)
    assert any(np.shares_memory(X, values) for values in seen)
    assert all(values.dtype == np.float32 for values in seen)


def test_the_best_auc_is_reached():
    X, y = make_ranking(n_rows=20_000, n_features=10, positive_rate=0.05, random_state=0)
    model = ActiveRankSVM(sampling="soft-correct", random_state=0).fit(X[:10_000], y[:10_000])
    exact = ActiveRankSVM(random_state=0, sampling="random").fit(X[:10_000], y[:10_000])
    assert abs(model.score(X[10_000:], y[10_000:]) - exact.score(X[10_000:], y[10_000:])) < 0.01


def test_one_pass_that_is_not_enough_warns():
    rng = np.random.default_rng(0)
    X = csr_array((rng.random((3000, 4000)) < 0.005) * rng.normal(size=(3000, 4000)))
    y = rng.random(3000) < 0.5
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        ActiveRankSVM(sampling="soft-correct", C=100.0, budget=3000, batch_size=1000, max_iter=1, random_state=0).fit(
            X, y
        )


def test_verbose_says_rounds_on_standard_error(capsys):
    X, y = make_data()
    for verbose, expected in ((0, 0), (1, 4), (2, 30)):
        ActiveRankSVM(budget=300, batch_size=10, verbose=verbose, sampling="random", random_state=0).fit(X, y)
        printed = capsys.readouterr()
        assert printed.out == ""
        assert len(printed.err.splitlines()) == expected
    assert "300 terms" in printed.err.splitlines()[-1]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"gamma": 1.5}, r"gamma must be.*\[0, 1\].*1.5"),
        ({"gamma": "half"}, "gamma must be.*half"),
        ({"budget": 50}, "budget must be at least batch_size.*50.*100"),
        ({"C": 0}, "C must be"),
        ({"tol": -1.0}, "tol must be"),
        ({"max_iter": 0}, "max_iter must be"),
        ({"sampling": "best"}, "sampling must be one of.*best"),
        ({"threshold": "yes"}, "threshold must be"),
        ({"gamma": "auto"}, "gamma must be.*auto"),
        ({"budget": "auto"}, "budget must be.*auto"),
        ({"threshold": True}, "threshold=True.*gamma"),
        ({"sampling": "random", "bias_correction": False}, "bias_correction=False.*random"),
        ({"sampling": "hard-close", "bias_correction": False}, "bias_correction=False.*hard-close"),
        ({"sampling": "block"}, "sampling must be one of.*block"),
        ({"on_interrupt": "stop"}, "on_interrupt must be one of.*stop"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        ActiveRankSVM(**{"sampling": "soft-correct", **parameters}).fit(*make_data(50))


def test_bad_data():
    X, y = make_data(50)
    with pytest.raises(ValueError, match=r"all 50 rows.*label"):
        ActiveRankSVM(sampling="soft-correct").fit(X, np.ones(50))
    with pytest.raises(ValueError, match="zero for every row"):
        ActiveRankSVM(sampling="soft-correct").fit(X, y, np.zeros(50))
    with pytest.raises(ValueError, match="0 positive"):
        ActiveRankSVM(sampling="soft-correct").fit(X, y, 1 - y)
    with pytest.raises(ValueError, match=r"exactly two values.*got 3"):
        ActiveRankSVM(sampling="soft-correct").fit(X, np.arange(50) % 3)
    X[7, 2] = np.nan
    with pytest.raises(ValueError, match=r"Row 7 of X contains NaN in column 2"):
        ActiveRankSVM(sampling="soft-correct").fit(X, y)
    good, y = make_data(50)
    with pytest.raises(ValueError, match="labels of the training"):
        ActiveRankSVM(sampling="soft-correct").fit(good, y).score(good, y + 5)


@pytest.mark.parametrize("kind", [np.asarray, csr_array])
@pytest.mark.parametrize("budget", [300, 8000])
def test_equal_rows_with_opposite_labels_are_drawn_and_counted(kind, budget):
    X, y = np.ones((80, 3)), np.arange(80) % 2
    X[:40] = np.random.default_rng(0).normal(size=(40, 3))
    X[:, 2] = 5.0  # constant
    model = ActiveRankSVM(sampling="random", budget=budget, random_state=0).fit(kind(X), y)
    equal = (model.pairs_["i"] >= 40) & (model.pairs_["j"] >= 40)
    assert np.count_nonzero(equal) > 0
    assert model.gap_ <= 1e-12
    assert model.coef_[0, 2] == 0
    loss = np.maximum(0, 1 - (X[model.pairs_["i"]] - X[model.pairs_["j"]]) @ model.coef_[0])
    np.testing.assert_array_equal(loss[equal], 1)
    assert model.history_[-1].objective == pytest.approx(
        np.sum(model.coef_**2) / 2 + model.pairs_["weight"] @ loss, rel=1e-9
    )
