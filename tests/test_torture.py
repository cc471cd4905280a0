"""Numbers that break things, for every estimator: each ends in a right answer or a clear error, and ends."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from pairsift import auc, auc_interval, estimators, make_ranking
from pairsift.active import Settings, active_sampling
from pairsift.data.problem import Problem, RowRange
from pairsift.data.rows import DenseRows
from pairsift.sampling.registry import make_sampler

ALL = [getattr(estimators, name) for name in estimators.__all__]
every = pytest.mark.parametrize("kind", ALL, ids=estimators.__all__)
QUICK = {"ActiveRankSVM": {"budget": 2000}, "CombinedRankingRegression": {"n_steps": 20_000}}


def fit(kind, X, y, weights=None, **options):
    """Fit, and require that what comes out is finite; the certificate is reached, or a warning says that it is not."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = kind(**{"random_state": 0, **QUICK.get(kind.__name__, {}), **options}).fit(X, y, weights)
    assert {warning.category for warning in caught} <= {ConvergenceWarning}
    assert np.all(np.isfinite(model.coef_))
    assert np.isfinite(model.intercept_[0])
    if hasattr(model, "gap_"):
        sampled = getattr(model, "stop_reason_", "") in ("budget reached", "more rows promise no gain")
        # Drawn rows are solved as far as a sample can tell.
        limit = 0.05 if sampled and kind.__name__ == "AutoRanker" else model.tol
        assert model.gap_ <= limit or caught
    return model


def easy(n=600, d=3, seed=0):
    rng = np.random.default_rng(seed)
    y = (np.arange(n) % 3 == 0).astype(int)
    return rng.normal(size=(n, d)) + 1.5 * y[:, None], y


@every
@pytest.mark.parametrize("size", [1e-300, 1e-160, 5e-324, 1e-30, 1e30, 1e150])
def test_features_of_any_size(kind, size):
    """Too small to matter: zero weights or some ranking. Large: a ranking as good as ever, or a warning."""
    X, y = easy(n=150)
    X = np.round(X * 100) * size if size == 5e-324 else X * size
    model = fit(kind, X, y)
    found = model.score(X, y)
    assert 0 <= found <= 1
    if size >= 1 and (not hasattr(model, "gap_") or model.gap_ <= model.tol):
        assert found > 0.9


@every
def test_features_whose_squares_overflow_are_refused(kind):
    X, y = easy()
    with pytest.raises(ValueError, match="overflow; scale the features"):
        fit(kind, X * 1e300, y)


@every
def test_scales_that_differ_a_million_fold(kind):
    X, y = easy()
    if kind.__name__ == "CombinedRankingRegression":
        with pytest.warns(ConvergenceWarning, match="did not settle.*may be worse than chance"):
            kind(random_state=0).fit(X * [1e-3, 1.0, 1e3], y)
        return
    assert fit(kind, X * [1e-3, 1.0, 1e3], y).score(X * [1e-3, 1.0, 1e3], y) > 0.75


@every
def test_separable_data(kind):
    X, y = easy()
    X[:, 0] += 10.0 * y
    assert fit(kind, X, y).score(X, y) > 0.999


@every
def test_all_rows_are_equal(kind):
    y = np.arange(300) % 2
    model = fit(kind, np.ones((300, 4)), y)
    assert model.score(np.ones((300, 4)), y) == 0.5


@every
def test_random_labels_give_half_within_the_interval(kind):
    """On rows it has not seen: 99.9 % of the intervals of a ranking that knows nothing hold one half."""
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(4000, 5)), rng.integers(2, size=4000)
    model = fit(kind, X[:2000], y[:2000], **({} if kind.__name__ == "ActiveRankSVM" else {"C": 1.0}))
    low, high = auc_interval(y[2000:], model.decision_function(X[2000:]), level=0.999)[1:]
    assert low <= 0.5 <= high


@every
@pytest.mark.parametrize("heavy", [1e12, 1e-12, 1e300, 1e-300])
def test_weights_of_zero_and_of_any_size(kind, heavy):
    """Rows that weigh as much as one another are as if they had no weights; products of 1e300 were infinite."""
    X, y = easy()
    weights = np.full(600, heavy)
    weights[::7] = 0.0
    kept = weights > 0
    model, plain = fit(kind, X, y, weights), fit(kind, X[kept], y[kept])
    assert abs(model.score(X, y) - plain.score(X, y)) < 0.02


@every
def test_one_row_that_outweighs_all_others(kind):
    X, y = easy()
    weights = np.ones(600)
    weights[0] = 1e12
    assert 0 <= fit(kind, X, y, weights).score(X, y) <= 1


@every
def test_duplicated_columns_share_the_weight(kind):
    X, y = easy()
    one, both = fit(kind, X, y), fit(kind, np.hstack([X, X]), y)
    assert abs(one.score(X, y) - both.score(np.hstack([X, X]), y)) < 0.02
    np.testing.assert_allclose(both.coef_[0, :3], both.coef_[0, 3:], rtol=1e-6, atol=1e-9)


@every
@pytest.mark.parametrize("sparse", [False, True])
def test_features_that_are_empty(kind, sparse):
    X, y = easy()
    X = np.hstack([np.zeros((600, 2)), X, np.zeros((600, 1))])
    model = fit(kind, sp.csr_array(X) if sparse else X, y)
    np.testing.assert_array_equal(model.coef_[0, [0, 1, 5]], 0.0)
    assert model.score(X, y) > 0.9


@every
def test_rows_without_any_feature_are_refused_or_ranked_as_equal(kind):
    y = np.arange(100) % 2
    assert fit(kind, sp.csr_array((100, 3)), y).score(sp.csr_array((100, 3)), y) == 0.5
    with pytest.raises(ValueError, match="0 feature"):
        fit(kind, np.empty((100, 0)), y)


@every
def test_a_single_feature(kind):
    X, y = easy(d=1)
    assert fit(kind, X, y).score(X, y) == pytest.approx(auc(y, X[:, 0]), abs=1e-12)


@pytest.mark.slow
@every
def test_ten_million_sparse_features(kind):
    """Few of them occur; memory is that of some vectors of this length."""
    X, y = easy(n=300, d=2)
    columns = np.array([5, 9_999_999])
    wide = sp.csr_array((X.ravel(), np.tile(columns, 300), np.arange(0, 601, 2)), shape=(300, 10**7))
    options = {"n_steps": 200} if kind.__name__ == "CombinedRankingRegression" else {}
    options |= {"budget": 200} if kind.__name__ == "ActiveRankSVM" else {}
    model = fit(kind, wide, y, **options)
    assert model.score(wide, y) > 0.9
    assert np.count_nonzero(model.coef_) <= 2


@pytest.mark.slow
@every
def test_one_positive_among_ten_million(kind):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(10**7, 1)).astype(np.float32)
    y = np.zeros(10**7, dtype=np.int8)
    y[1234] = 1
    X[1234] = 3.0
    model = fit(kind, X, y)
    assert model.coef_[0, 0] > 0
    assert model.score(X, y) == pytest.approx(np.mean(X < 3.0) + 0.5 * np.mean(X == 3.0), abs=1e-6)


class VirtualRows:
    """More rows than there is memory for: the row k has two numbers made of k, the first larger in positives."""

    n_rows, n_features = 8 * 10**9, 2

    def __init__(self, n_positive):
        self._n_positive, self.n_read = n_positive, 0

    def take(self, rows):
        self.n_read += len(rows)
        noise = np.stack([np.sin(rows * 0.7), np.cos(rows * 1.3)], axis=1)
        noise[:, 0] += rows < self._n_positive
        return DenseRows(np.ascontiguousarray(noise))

    def scores(self, w, rows):
        taken = self.take(rows)
        return taken.scores(w, np.arange(len(rows)))

    def scores_between(self, w, start, stop):
        return self.scores(w, np.arange(start, stop))

    def add_between(self, a, start, stop, w):
        self.take(np.arange(start, stop)).add_between(a, 0, stop - start, w)


@pytest.mark.parametrize("sampling", ["random", "soft-close", "soft-correct"])
def test_more_pairs_than_64_bits_can_count(sampling):
    rows = VirtualRows(4 * 10**9)
    problem = Problem(rows, RowRange(0, 4 * 10**9), RowRange(4 * 10**9, 8 * 10**9))
    assert problem.n_pairs > 2**63
    settings = Settings(make_sampler(sampling), budget=500)
    for state in active_sampling(problem, settings, np.random.default_rng(0)):
        last = state
    assert len(last.pool) == 500
    w = last.solution.w
    assert w[0] > 5 * abs(w[1])
    assert rows.n_read < 10**6
    assert max(last.pool.i) > 2**31
    assert max(last.pool.j) > 2**31


def test_denormal_scores_have_an_area():
    scores = np.array([0.0, 5e-324, 1e-323, 5e-324])
    assert auc([0, 1, 1, 0], scores) == 0.875


def test_make_ranking_of_a_hopeless_rate_says_so():
    with pytest.raises(ValueError, match="positive_rate"):
        make_ranking(100, 2, positive_rate=0.0)
