"""Laws of the two rankers, below and above every threshold of size.

Where nothing is drawn or chosen they hold to 1e-6; where something is, in law: means over 40 seeds, within 4 standard
errors.
"""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

from pairsift import ActiveRankSVM, AutoRanker, make_ranking
from pairsift.search import growing

SEEDS = range(40)
GIVEN = [
    {"terms": "points", "loss": "logistic"},
    {"terms": "points", "loss": "hinge"},
    {"terms": "pairs", "loss": "squared_hinge"},
    {"terms": "pairs", "loss": "hinge"},
]
SMOOTH = [GIVEN[0], GIVEN[2]]
ROWS = [30, 300, 3000, 12_000]  # too few to choose on; in folds; with more than one growth; with a part held out


@pytest.fixture(autouse=True)
def all_rows_are_used(monkeypatch):
    """No training ends because more rows promise no gain."""
    monkeypatch.setattr(growing, "LEAST_LEFT", -1.0)


X_ALL, Y_ALL = make_ranking(32_000, 5, positive_rate=0.5, auc=0.85, random_state=0)
X_NEW, Y_NEW = X_ALL[12_000:], Y_ALL[12_000:]


def data(n):
    return X_ALL[:n], Y_ALL[:n]


def times(n, *values):
    return np.random.default_rng(1).choice(values, n)


def repeated(X, y, times):
    return np.repeat(X, times, axis=0), np.repeat(y, times)


def assert_same(one, other, sign=1, tol=1e-6):
    size = np.max(np.abs(one.coef_))
    assert np.max(np.abs(one.coef_ - sign * other.coef_)) <= tol * size
    assert one.intercept_ == pytest.approx(sign * other.intercept_, rel=tol, abs=tol * size)


def means_agree(one, other):
    """Whether two samples, one value a seed, have one mean within 4 standard errors of the difference."""
    gain = np.mean(one) - np.mean(other)
    return abs(gain) <= 4 * np.sqrt((np.var(one, ddof=1) + np.var(other, ddof=1)) / len(one)) + 1e-12


def auto(**options):
    return AutoRanker(**{"random_state": 0, "tol": 1e-9, "C": 50.0, **GIVEN[0], **options})


@pytest.mark.parametrize("n", ROWS)
@pytest.mark.parametrize("options", SMOOTH, ids=str)
def test_weight_two_is_the_row_twice_and_weight_zero_no_row(n, options):
    X, y = data(n)
    w = times(n, 1, 2) if n > 5000 else times(n, 0, 1, 2)
    weighted = auto(**options).fit(X, y, w)
    assert_same(weighted, auto(**options).fit(*repeated(X, y, w)))
    assert_same(weighted, auto(**options).fit(X, y, 1e3 * w))
    assert weighted.holdout_.value == pytest.approx(auto(**options).fit(*repeated(X, y, w)).holdout_.value, abs=1e-9)


@pytest.mark.parametrize("n", [30, 300])
@pytest.mark.parametrize("options", GIVEN, ids=str)
def test_weights_with_few_rows_and_every_loss(n, options):
    X, y = data(n)
    w = times(n, 0, 1, 2)
    given = {**options, "tol": 1e-3}
    assert_same(auto(**given).fit(X, y, w), auto(**given).fit(*repeated(X, y, w)))


@pytest.mark.parametrize("n", ROWS)
def test_the_order_of_rows_does_not_matter(n):
    X, y = data(n)
    order = np.random.default_rng(2).permutation(n)
    one, other = auto().fit(X, y), auto().fit(X[order], y[order])
    assert_same(one, other)
    assert one.holdout_.value == pytest.approx(other.holdout_.value, abs=1e-9)


@pytest.mark.parametrize("n", [30, 300, 3000])
def test_the_order_of_rows_does_not_matter_to_what_is_chosen(n):
    """All rows take part in the choice, so that nothing is drawn."""
    X, y = data(n)
    order = np.random.default_rng(2).permutation(n)
    one, other = AutoRanker(random_state=0).fit(X, y), AutoRanker(random_state=0).fit(X[order], y[order])
    assert (one.C_, one.terms_, one.loss_) == (pytest.approx(other.C_), other.terms_, other.loss_)
    assert_same(one, other)


@pytest.mark.parametrize("n", ROWS)
@pytest.mark.parametrize("options", GIVEN, ids=str)
def test_swapped_classes_give_the_opposite(n, options):
    X, y = data(n)
    tol = 1e-6 if options["loss"] != "hinge" or n <= 300 else 0.05  # of the hinge only the gap is small
    one = auto(**options, **({} if tol < 1e-3 else {"tol": 1e-5})).fit(X, y)
    other = auto(**options, **({} if tol < 1e-3 else {"tol": 1e-5})).fit(X, 1 - y)
    assert_same(one, other, sign=-1, tol=tol)
    assert one.score(X, y) == pytest.approx(1 - other.score(X, y), abs=1e-3 if tol > 1e-3 else 1e-6)
    ties = options["loss"] == "hinge"  # many rows lie on the margin, and rounding orders their scores
    assert one.holdout_.value == pytest.approx(other.holdout_.value, abs=1e-3 if ties else 1e-9)


@pytest.mark.parametrize("n", [30, 300, 12_000])
@pytest.mark.parametrize("kind", [AutoRanker, ActiveRankSVM])
def test_names_of_labels_do_not_matter(n, kind):
    X, y = data(n)
    model = kind(random_state=0).fit(X, y)
    for labels in (np.array([-1, 1]), np.array(["no", "yes"]), np.array([False, True]), np.array([3.5, 7.0])):
        named = kind(random_state=0).fit(X, labels[y])
        assert np.array_equal(named.coef_, model.coef_)
        assert named.classes_.tolist() == labels.tolist()


@pytest.mark.parametrize("n", [30, 300, 12_000])
@pytest.mark.parametrize("kind", [AutoRanker, ActiveRankSVM])
def test_a_frame_is_its_array(n, kind):
    X, y = data(n)
    model = kind(random_state=0).fit(X, y)
    frame = kind(random_state=0).fit(pd.DataFrame(X, columns=list("abcde")), pd.Series(y))
    assert np.array_equal(frame.coef_, model.coef_)
    assert frame.feature_names_in_.tolist() == list("abcde")


@pytest.mark.parametrize("n", [30, 300, 12_000])
def test_sparse_rows_and_single_precision_hold_out_the_same_rows(n):
    X, y = data(n)
    X = np.where(np.abs(X) < 0.5, 0.0, X).astype(np.float32).astype(np.float64)
    model = auto().fit(X, y)
    for rows in (csr_array(X), X.astype(np.float32)):
        other = auto().fit(rows, y)
        assert_same(other, model, tol=1e-5)
        assert other.holdout_.value == pytest.approx(model.holdout_.value, abs=1e-6)


def test_with_few_rows_the_attributes_are_those_of_many():
    few, many = (AutoRanker(random_state=0).fit(*data(n)) for n in (20, 12_000))
    assert set(vars(few)) == set(vars(many))
    assert few.C_ == 800.0
    assert (few.terms_, few.loss_, few.trials_) == ("points", "logistic", [])
    drawn, all_terms = (ActiveRankSVM(random_state=0).fit(*data(n)) for n in (12_000, 20))
    assert set(vars(drawn)) == set(vars(all_terms))


def unmeasured(**options):
    """An AutoRanker that measures nothing on held-out rows: its model is the same, and it takes a sixth of the time."""
    model = AutoRanker(**options)
    model._holds_out = False
    return model


def aucs(make, *fits):
    """The AUC on new rows of fits of (X, y, weights), one for each seed."""
    return [[make(seed).fit(*rows).score(X_NEW, Y_NEW) for seed in SEEDS] for rows in fits]


@pytest.mark.slow
@pytest.mark.parametrize(
    "make",
    [
        lambda seed: unmeasured(budget=300, C=50.0, **GIVEN[0], random_state=seed),
        lambda seed: unmeasured(budget=300, random_state=seed),
        lambda seed: unmeasured(random_state=seed),
        lambda seed: ActiveRankSVM(budget=400, random_state=seed),
        lambda seed: ActiveRankSVM(budget=400, gamma=0.5, sampling="soft-close", random_state=seed),
    ],
    ids=["rows drawn", "drawn and chosen", "chosen", "pairs drawn", "terms drawn"],
)
def test_in_law_where_rows_or_pairs_are_drawn(make):
    X, y = data(3000)
    w, order = times(3000, 1, 2), np.random.default_rng(3).permutation(3000)
    fits = [(X, y, w), repeated(X, y, w), (X[order], y[order], w[order])]
    weighted, twice, permuted = aucs(make, *fits)
    assert means_agree(weighted, twice)
    assert means_agree(weighted, permuted)
    swapped = [1 - make(seed).fit(X, 1 - y, w).score(X_NEW, Y_NEW) for seed in SEEDS]
    assert means_agree(weighted, swapped)


@pytest.mark.parametrize("sampling", ["random", "soft-close", "soft-correct"])
def test_all_terms_used_is_no_draw(sampling):
    X, y = data(60)
    w = times(60, 0, 1, 2)
    make = {"sampling": sampling, "budget": 30_000, "random_state": 0}
    weighted = ActiveRankSVM(**make).fit(X, y, w)
    assert weighted.stop_reason_ == "all terms used"
    assert_same(weighted, ActiveRankSVM(**make).fit(*repeated(X, y, w)), tol=1e-5)
    order = np.random.default_rng(2).permutation(60)
    assert_same(weighted, ActiveRankSVM(**make).fit(X[order], y[order], w[order]), tol=1e-5)
    assert weighted.coef_ == pytest.approx(-ActiveRankSVM(**make).fit(X, 1 - y, w).coef_, rel=1e-5)
