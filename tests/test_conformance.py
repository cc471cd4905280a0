"""What every estimator keeps to. A new one is tested by being in ``pairsift.estimators.__all__``.

An estimator with a certificate (`gap_`) ends at the one optimum, so that two ways of writing the same data must give
the same coefficients. One without (stochastic gradient), or one that draws, ends somewhere near it: there the mean over
seeds is compared. scikit-learn's own checks are in test_scikit_learn.py.
"""

import json
import os
import subprocess
import sys
import warnings
from contextlib import nullcontext

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import roc_auc_score

from least_sizes import LEAST, lower_sizes
from pairsift import estimators
from pairsift.data.blocks import ArrayBlocks
from pairsift.data.convert import convert

ALL = [getattr(estimators, name) for name in estimators.__all__]
SEEDS = 60
# Settings under which a test is quick or the law is narrow; an estimator that is not named has its defaults.
SETTINGS = {
    "AutoRanker": {"C": 10.0, "terms": "points", "loss": "logistic"},  # choices have laws of their own: test_laws
    "ActiveRankSVM": {"C": 0.01},
    "RankSVM": {"C": 10.0},
    "WeightedSVM": {"C": 10.0},
    "CombinedRankingRegression": {"C": 10.0, "n_steps": 20_000},
}
LEAST_SETTINGS = {"ActiveRankSVM": {"C": 0.01, "budget": 200, "batch_size": 20}}
every = pytest.mark.parametrize("kind", ALL, ids=estimators.__all__)
CERTIFIED = [kind for kind in ALL if "tol" in kind().get_params()]
every_certified = pytest.mark.parametrize("kind", CERTIFIED, ids=lambda kind: kind.__name__)


@pytest.fixture(params=["as they are", "least sizes"], autouse=True)
def mode(request, monkeypatch):
    """Run everything twice: with 60 rows the rankers take short ways, unless all thresholds are at their least."""
    if request.param == "least sizes":
        lower_sizes(monkeypatch)
        monkeypatch.setattr(f"{__name__}.SETTINGS", SETTINGS | LEAST_SETTINGS)
    return request.param


def make(kind, **options):
    return kind(**{"random_state": 0, **SETTINGS.get(kind.__name__, {}), **options})


def make_rows(n=60, d=4, seed=0):
    """Whole numbers from -3 to 3, so that every type holds them exactly; two overlapping classes."""
    rng = np.random.default_rng(seed)
    y = rng.uniform(size=n) < 0.4
    y[:2] = [True, False]
    X = np.clip(np.round(rng.normal(size=(n, d)) + y[:, None] * [1.0, 0.5, 0.0, -0.5][:d]), -3, 3)
    return X, y.astype(int)


def assert_same_law(kind, first, second, sign=1.0):
    """Fit on two data sets, each ``(X, y[, weights])``, and require the same coefficients, or the same mean of them."""
    if "tol" in kind().get_params() and "budget" not in SETTINGS.get(kind.__name__, {}):
        one, other = make(kind, tol=1e-10).fit(*first), make(kind, tol=1e-10).fit(*second)
        np.testing.assert_allclose(one.coef_, sign * other.coef_, atol=1e-5 * np.abs(one.coef_).max())
        return
    draws = [
        np.array([make(kind, random_state=seed).fit(*data).coef_[0] for seed in seeds])
        for data, seeds in ((first, range(SEEDS)), (second, range(SEEDS, 2 * SEEDS)))
    ]
    difference = draws[0].mean(axis=0) - sign * draws[1].mean(axis=0)
    error = np.sqrt((draws[0].var(axis=0) + draws[1].var(axis=0)) / SEEDS)
    assert np.all(np.abs(difference) < 4 * error)
    assert np.all(error < 0.1 * np.abs(draws[0].mean(axis=0)).max())  # else the line above says nothing


@every
@pytest.mark.parametrize("dtype", ["float32", "int8", "int32", "int64", "bool", "object", ">f8"])
def test_types_of_numbers(kind, dtype):
    X, y = make_rows()
    if dtype == "bool":
        X = (X > 0).astype(float)
    expected = make(kind).fit(X, y)
    model = make(kind).fit(X.astype(dtype), y)
    assert model.coef_.dtype == np.float64
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(
        model.decision_function(X.astype(dtype)), expected.decision_function(X), rtol=1e-9, atol=1e-9
    )


def wide(X):
    X = sp.csr_array(X)
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


def read_only(X):
    X = X.copy()
    X.flags.writeable = False
    return X


NAMES = [f"f{i}" for i in range(4)]
CONTAINERS = {
    "fortran order": np.asfortranarray,
    "strided": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "read-only": read_only,
    "list": lambda X: X.tolist(),
    "csr_matrix": sp.csr_matrix,
    "csr_array": sp.csr_array,
    "csr float32": lambda X: sp.csr_array(X.astype(np.float32)),
    "int64 indices": wide,
    "csc": sp.csc_array,
    "pandas": lambda X: pd.DataFrame(X, columns=NAMES),
    "polars": lambda X: pl.DataFrame(X, schema=NAMES),
    "arrow": lambda X: pa.table(dict(zip(NAMES, X.T, strict=True))),
}


@every
@pytest.mark.parametrize("container", CONTAINERS)
def test_containers(kind, container):
    X, y = make_rows()
    given = CONTAINERS[container](X)
    expected, model = make(kind).fit(X, y), make(kind).fit(given, y)
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(model.decision_function(given), expected.decision_function(X), rtol=1e-7, atol=1e-7)
    assert model.n_features_in_ == 4
    if container == "pandas":
        assert list(model.feature_names_in_) == NAMES


@every
@pytest.mark.parametrize("sparse", [False, True])
def test_row_store(kind, sparse, tmp_path):
    X, y = make_rows()
    weights = np.tile([1.0, 2.0, 0.0], 20)
    store = convert(ArrayBlocks(sp.csr_array(X) if sparse else X, y, weights), tmp_path / "rows.arrow")
    expected, model = make(kind).fit(X, y, weights), make(kind).fit(store)
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-7, atol=1e-9)
    with pytest.raises(ValueError, match="RowStore brings its own labels"):
        make(kind).fit(store, y)


@every
def test_a_memory_map_is_read(kind, tmp_path):
    X, y = make_rows()
    np.save(tmp_path / "X.npy", X)
    model = make(kind).fit(np.load(tmp_path / "X.npy", mmap_mode="r"), y)
    assert model.coef_.tobytes() == make(kind).fit(X, y).coef_.tobytes()


@every
def test_labels_of_any_kind(kind):
    X, y = make_rows()
    expected = make(kind).fit(X, y)
    for labels in (np.array(["no", "yes"]), np.array([-1.0, 1.0]), np.array([False, True]), np.array([3, 7])):
        model = make(kind).fit(X, labels[y])
        assert model.coef_.tobytes() == expected.coef_.tobytes()
        np.testing.assert_array_equal(model.classes_, labels)
        np.testing.assert_array_equal(model.predict(X), labels[(expected.decision_function(X) > 0).astype(int)])


@every
def test_scores_and_predictions_are_what_the_design_says(kind):
    X, y = make_rows()
    model = make(kind).fit(X, y)
    assert model.coef_.shape == (1, 4)
    assert model.intercept_.shape == (1,)
    scores = model.decision_function(X)
    np.testing.assert_allclose(scores, X @ model.coef_[0] + model.intercept_[0], rtol=1e-12, atol=1e-12)
    assert model.score(X, y) == pytest.approx(roc_auc_score(y, scores), abs=1e-12)
    weights = np.arange(len(y)) % 3 + 1.0
    assert model.score(X, y, weights) == pytest.approx(roc_auc_score(y, scores, sample_weight=weights), abs=1e-12)
    assert model.score(X, y) > 0.75


@every
def test_a_weight_of_two_is_the_row_twice(kind):
    X, y = make_rows()
    weights = np.tile([1.0, 2.0, 3.0, 1.0], 15)
    times = weights.astype(int)
    assert_same_law(kind, (X, y, weights), (np.repeat(X, times, axis=0), np.repeat(y, times)))


@every
def test_a_weight_of_zero_is_no_row(kind):
    X, y = make_rows()
    weights = np.tile([1.0, 0.0, 1.0], 20)
    keep = weights > 0
    X[~keep] = 1e6
    assert_same_law(kind, (X, y, weights), (X[keep], y[keep]))


@every
def test_only_the_proportions_of_weights_count(kind):
    X, y = make_rows()
    weights = np.tile([1.0, 2.0, 3.0, 1.0], 15)
    assert_same_law(kind, (X, y, weights), (X, y, 1e-3 * weights))
    assert_same_law(kind, (X, y), (X, y, np.full(len(y), 7.0)))


@every
def test_weights_matter(kind):
    """Else the tests above could not fail."""
    X, y = make_rows()
    weights = np.where(X[:, 0] > 0, 10.0, 1.0)
    plain, weighted = make(kind).fit(X, y).coef_[0], make(kind).fit(X, y, weights).coef_[0]
    assert np.linalg.norm(plain - weighted) > 0.05 * np.linalg.norm(plain)


@every
def test_swapped_labels_mirror(kind):
    X, y = make_rows()
    assert_same_law(kind, (X, y), (X, 1 - y), sign=-1.0)


@every
def test_the_order_of_rows_does_not_matter(kind):
    X, y = make_rows()
    order = np.random.default_rng(3).permutation(len(y))
    assert_same_law(kind, (X, y), (X[order], y[order]))


X_GOOD, Y_GOOD = make_rows()


def spoilt(value):
    X = X_GOOD.copy()
    X[7, 2] = value
    return X


BAD = {
    "one class": ((X_GOOD, np.ones(60)), "all 60 rows have one class, the label"),
    "one class by weight": ((X_GOOD, Y_GOOD, 1.0 - Y_GOOD), "got 0 positive and"),
    "NaN": ((spoilt(np.nan), Y_GOOD), "Row 7 of X contains NaN in column 2"),
    "infinity": ((spoilt(-np.inf), Y_GOOD), "Row 7 of X contains infinity in column 2"),
    "NaN in sparse": ((sp.csr_array(spoilt(np.nan)), Y_GOOD), "Row 7 of X contains NaN in column 2"),
    "three labels": ((X_GOOD, np.arange(60) % 3), r"exactly two values; got 3: .*\(20 rows\)"),
    "NaN label": ((X_GOOD, np.where(np.arange(60) == 3, np.nan, Y_GOOD)), "NaN"),
    "no y": ((X_GOOD, None), "requires y to be passed"),
    "one dimension": ((X_GOOD[:, 0], Y_GOOD), "Reshape your data"),
    "too few labels": ((X_GOOD, Y_GOOD[1:]), r"inconsistent numbers of samples: \[60, 59\]"),
    "y of two columns": ((X_GOOD, np.stack([Y_GOOD, Y_GOOD], axis=1)), "y should be a 1d array"),
    "no rows": ((X_GOOD[:0], Y_GOOD[:0]), r"0 sample\(s\)"),
    "no columns": ((X_GOOD[:, :0], Y_GOOD), r"0 feature\(s\)"),
    "text": ((np.full((60, 2), "a"), Y_GOOD), "could not convert string to float"),
    "complex": ((X_GOOD + 1j, Y_GOOD), "Complex data not supported"),
    "weights of another length": ((X_GOOD, Y_GOOD, np.ones(59)), "one value for each of the 60 rows; got .*59"),
    "negative weight": ((X_GOOD, Y_GOOD, np.full(60, -1.0)), "finite and not negative"),
    "NaN weight": ((X_GOOD, Y_GOOD, np.full(60, np.nan)), "finite and not negative"),
    "weights all zero": ((X_GOOD, Y_GOOD, np.zeros(60)), "zero for every row"),
}


@every
@pytest.mark.parametrize("case", BAD)
def test_bad_data(kind, case):
    data, words = BAD[case]
    with pytest.raises(ValueError, match=words):
        make(kind).fit(*data)


@every
def test_bad_parameters(kind):
    """Every number and flag refuses what it cannot be; it is found at `fit`, as scikit-learn wants it."""
    for name, value in kind().get_params().items():
        if name in ("random_state", "verbose") or isinstance(value, str):
            continue
        # What is None by default may be a name (a column to hold rows out by).
        for bad in (-1, np.nan) if value is None else (-1, np.nan, "text", None):
            with pytest.raises(ValueError, match=rf"^{name} must be"):
                kind(**{name: bad}).fit(X_GOOD, Y_GOOD)
    for name, value in kind().get_params().items():
        if isinstance(value, str):
            with pytest.raises(ValueError, match=rf"{name} must be .*'nonsense'"):
                kind(**{name: "nonsense"}).fit(X_GOOD, Y_GOOD)


def test_bad_parameters_of_active_sampling():
    for options, words in (
        ({"gamma": 1.5}, r"gamma must be a number in \[0, 1\] or 'uniform'; got 1.5"),
        ({"gamma": "auto"}, r"gamma must be a number in \[0, 1\] or 'uniform'; got 'auto'"),
        ({"sampling": "soft-correct", "budget": 50, "batch_size": 100}, "budget"),
        ({"sampling": "soft"}, "sampling must be"),
    ):
        with pytest.raises(ValueError, match=words):
            estimators.ActiveRankSVM(**options).fit(X_GOOD, Y_GOOD)


@every
def test_other_columns_at_scoring(kind):
    model = make(kind).fit(X_GOOD, Y_GOOD)
    with pytest.raises(ValueError, match=r"has 3 features, but .* is expecting 4"):
        model.decision_function(X_GOOD[:, :3])
    with pytest.raises(ValueError, match="NaN"):
        model.decision_function(spoilt(np.nan))


def awkward(case):
    X, y = make_rows(200)
    if case == "empty rows":
        X[::3] = 0
    elif case == "equal rows of both classes":
        X[:20], y[:20] = X[20], np.arange(20) % 2
    elif case == "all rows equal":
        X[:] = 1.0
    elif case == "constant features":
        X[:, 1] = 5.0
    elif case == "different scales":
        X = X * [1e-3, 1.0, 30.0, 1e3]
    elif case == "one positive row":
        y[:] = np.arange(200) == 0
    return X, y


AWKWARD = ["empty rows", "equal rows of both classes", "all rows equal", "constant features", "different scales"]


@every
@pytest.mark.parametrize("case", [*AWKWARD, "one positive row"])
@pytest.mark.parametrize("sparse", [False, True])
def test_legal_but_awkward_data(kind, case, sparse):
    X, y = awkward(case)
    is_too_much = kind is estimators.CombinedRankingRegression and case == "different scales"
    with pytest.warns(ConvergenceWarning, match="did not settle") if is_too_much else nullcontext():
        model = make(kind).fit(sp.csr_array(X) if sparse else X, y)
    assert np.all(np.isfinite(model.coef_))
    assert np.isfinite(model.intercept_[0])
    if hasattr(model, "gap_"):
        assert model.gap_ <= model.tol
    if case == "all rows equal":
        assert model.score(X, y) == 0.5


def many_rows():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(6000, 10))
    return X, (X[:, 0] + rng.normal(size=6000) > 1).astype(int)


@every_certified
@pytest.mark.parametrize("tol", [1e-2, 1e-4])
def test_the_certificate_is_reached_on_more_rows(kind, tol):
    X, y = many_rows()
    model = kind(tol=tol, random_state=0).fit(X, y)
    assert 0 <= model.gap_ <= tol


@every_certified
def test_a_warning_says_when_the_certificate_is_not_reached(kind):
    """Some find another way when descent has no step left; what counts is that the warning and `gap_` agree."""
    X, y = many_rows()
    for tol in (1e-9, 1e-17):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model = kind(tol=tol, max_iter=1, random_state=0).fit(X, y)
        warned = [warning for warning in caught if warning.category is ConvergenceWarning]
        assert bool(warned) == (model.gap_ > tol)
        assert all(f"not tol={tol:g}, after" in str(warning.message) for warning in warned)


FIT = """
import json, sys
import numpy as np
from pairsift import estimators
from pairsift.search import sizes
for name, value in json.loads(sys.argv[2]).items():
    setattr(sizes, name, value)
rng = np.random.default_rng(1)
X = rng.normal(size=(6000, 10))
y = (X[:, 0] + rng.normal(size=6000) > 1).astype(int)
model = getattr(estimators, sys.argv[1])(random_state=5).fit(X, y)
print(model.coef_.tobytes().hex(), model.intercept_.tobytes().hex())
"""


@every
def test_the_same_seed_gives_the_same_bits_in_any_process(kind, mode):
    X, y = many_rows()
    model = kind(random_state=5).fit(X, y)
    again = clone(model).fit(X, y)
    assert model.coef_.tobytes() == again.coef_.tobytes()
    expected = f"{model.coef_.tobytes().hex()} {model.intercept_.tobytes().hex()}"
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "4")
    done = subprocess.run(
        [sys.executable, "-c", FIT, kind.__name__, json.dumps(LEAST if mode == "least sizes" else {})],
        env={**os.environ, **threads, "PYTHONHASHSEED": "77"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines()[-1] == expected


@every
def test_kinds_of_seed(kind):
    X, y = make_rows()
    for random_state in (None, 3, np.int64(3), np.random.RandomState(3), np.random.default_rng(3)):
        assert make(kind, random_state=random_state).fit(X, y).score(X, y) > 0.75


@every
def test_the_data_are_left_alone(kind):
    X, y = make_rows()
    sparse, weights = sp.csr_array(X), np.ones(len(y))
    before = X.copy(), y.copy(), sparse.data.copy(), weights.copy()
    make(kind).fit(X, y, weights)
    make(kind).fit(sparse, y, weights)
    for one, other in zip((X, y, sparse.data, weights), before, strict=True):
        np.testing.assert_array_equal(one, other)


@every
def test_values_whose_squares_overflow_are_refused(kind):
    X, y = many_rows()
    with pytest.raises(ValueError, match="squares overflow; scale the features"):
        make(kind).fit(X * 1e200, y)
