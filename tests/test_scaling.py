"""Scaling: against scikit-learn, over blocks of any size, and folded into coefficients."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.preprocessing import MaxAbsScaler, StandardScaler, normalize

from pairsift.data.generate import make_ranking
from pairsift.data.rows import CsrRows, as_rows
from pairsift.data.scaled_rows import ScaledStore
from pairsift.data.scaling import Scaling, learn_scaling


def _data(kind, dtype=np.float64):
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(400, 7)) * 10.0 ** np.arange(-3, 4) + np.arange(7)).astype(dtype)
    X[:, 2] = 5  # does not vary
    X[3] = 0
    if kind == "sparse":
        X = sparse.csr_array(np.where(rng.random(X.shape) < 0.4, X, 0))
        X.eliminate_zeros()
    return X


def _parts(X, step=None, weights=None):
    step = step or X.shape[0]
    for start in range(0, X.shape[0], step):
        part = slice(start, start + step)
        yield as_rows(X[part]), None if weights is None else weights[part]


def _values(rows):
    return (
        sparse.csr_array((rows.values, rows.columns, rows.starts), shape=(rows.n_rows, rows.n_features)).toarray()
        if (isinstance(rows, CsrRows))
        else rows.values
    )


def _peer(scale, X):
    if scale == "unit":
        return normalize(X)
    if scale == "max":
        return MaxAbsScaler().fit_transform(X)
    return StandardScaler(with_mean=not sparse.issparse(X)).fit_transform(X)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("scale", ["unit", "standard", "max"])
def test_equals_scikit_learn(kind, scale):
    X = _data(kind)
    expected = _peer(scale, X)
    expected = expected.toarray() if sparse.issparse(expected) else expected
    for step in (None, 1, 33):
        rows = learn_scaling(scale, _parts(X, step)).apply(as_rows(X))
        np.testing.assert_allclose(_values(rows), expected, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("scale", ["none", "standard", "max"])
def test_the_folded_model_scores_raw_rows(kind, scale, dtype):
    X = _data(kind, dtype)
    w, b = np.random.default_rng(1).normal(size=7), 0.7
    scaling = learn_scaling(scale, _parts(X))
    scaled = scaling.apply(as_rows(X))
    assert scaled.values.dtype == dtype
    folded, shifted = scaling.fold(w, b)
    expected = scaled.scores_between(w, 0, 400) + b
    found = as_rows(X).scores_between(folded, 0, 400) + shifted
    np.testing.assert_allclose(found, expected, atol=1e-12 if dtype == np.float64 else 1e-5)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("scale", ["standard", "max"])
def test_a_weight_is_the_row_that_many_times(kind, scale):
    X = _data(kind)
    times = np.random.default_rng(2).integers(0, 3, 400)
    repeated = X[np.repeat(np.arange(400), times)]
    weighted = learn_scaling(scale, _parts(X, 50, times.astype(float)))
    plain = learn_scaling(scale, _parts(repeated, 70))
    np.testing.assert_allclose(weighted.factors, plain.factors, rtol=1e-12)
    if weighted.shifts is not None:
        np.testing.assert_allclose(weighted.shifts, plain.shifts, rtol=1e-12)


def test_a_large_mean_does_not_swallow_the_deviation():
    rng = np.random.default_rng(3)
    X = 1e9 + rng.normal(size=(1000, 1))
    exact = np.std(X - 1e9)
    assert learn_scaling("standard", _parts(X, 10)).factors[0] == pytest.approx(1 / exact, rel=1e-6)


def test_a_column_that_does_not_vary_is_not_blown_up():
    X = np.full((1000, 1), 0.1)
    scaling = learn_scaling("standard", _parts(X, 7))
    assert scaling.factors[0] == 1
    assert np.abs(scaling.apply(as_rows(X)).values).max() < 1e-13


def test_unit_rows_of_extreme_size():
    X = np.array([[3e200, 4e200], [3e-200, 4e-200], [0.0, 0.0]])
    np.testing.assert_allclose(Scaling("unit").apply(as_rows(X)).values, [[0.6, 0.8], [0.6, 0.8], [0, 0]])
    rows = Scaling("unit").apply(as_rows(sparse.csr_array(X)))
    np.testing.assert_allclose(_values(rows), [[0.6, 0.8], [0.6, 0.8], [0, 0]])


def test_blocks_that_grow_wider():
    narrow, wide = sparse.csr_array([[1.0], [3.0]]), sparse.csr_array([[5.0, 2.0], [0.0, 4.0]])
    whole = sparse.csr_array([[1.0, 0], [3.0, 0], [5.0, 2.0], [0.0, 4.0]])
    for order in ((narrow, wide), (wide, narrow)):
        found = learn_scaling("standard", ((as_rows(part), None) for part in order))
        np.testing.assert_allclose(found.factors, 1 / np.std(whole.toarray(), axis=0))


def test_nothing_is_read_for_unit_and_none():
    def explode():
        raise AssertionError("read")
        yield

    assert learn_scaling("unit", explode()).kind == "unit"
    assert learn_scaling("none", explode()).fold(np.ones(2), 3.0)[1] == 3


@pytest.mark.parametrize("density", [None, 0.5])
@pytest.mark.parametrize("scale", ["unit", "standard", "max"])
def test_a_scaled_store_is_the_scaled_rows(tmp_path, density, scale):
    store = make_ranking(5000, 4, density=density, random_state=0, path=tmp_path / "rows.arrow")
    rows = store.between(0, 5000)
    scaling = learn_scaling(scale, [(rows, None)])
    lazy, eager = ScaledStore(store, scaling), scaling.apply(rows)
    w = np.arange(4.0) + 1
    some = np.array([7, 4999, 0, 7])
    np.testing.assert_array_equal(lazy.scores(w, some), eager.scores(w, some))
    np.testing.assert_array_equal(lazy.scores_between(w, 10, 4000), eager.scores_between(w, 10, 4000))
    np.testing.assert_array_equal(_values(lazy.take(some)), _values(eager.take(some)))
    total, expected = np.zeros(4), np.zeros(4)
    lazy.add_between(np.ones(5000), 0, 5000, total)
    eager.kernel.add_combination(np.ones(5000), expected)
    np.testing.assert_allclose(total, expected, rtol=1e-12)


def test_bad_input():
    with pytest.raises(ValueError, match=r"scale must be one of none, unit, standard, max; got 'minmax'"):
        learn_scaling("minmax", [])
    with pytest.raises(ValueError, match="Row 1 of X contains NaN"):
        learn_scaling("max", _parts(np.array([[1.0], [np.nan]])))
    with pytest.raises(ValueError, match=r"Column 0 is too large to take its deviation"):
        learn_scaling("standard", _parts(np.array([[1e300], [-1e300]])))
    with pytest.raises(ValueError, match=r"The rows have 3 columns, the scaling 2"):
        Scaling("max", np.ones(2)).apply(as_rows(np.ones((1, 3))))
