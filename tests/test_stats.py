"""The statistics of AUC against brute force over all pairs, scikit-learn, simulation, and the laws they obey."""

import importlib.util
import time
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import norm, t
from sklearn.metrics import roc_auc_score

from pairsift.stats import auc, auc_interval, compare_auc, partial_auc, precision_at_k
from pairsift.stats.area import exact_sum
from pairsift.stats.delong import placement_variance


@st.composite
def problems(draw, n_scores=1, max_rows=30):
    """Labels of both classes, and scores with many ties."""
    y = draw(st.lists(st.booleans(), min_size=2, max_size=max_rows).filter(lambda y: len(set(y)) == 2))
    value = st.one_of(st.integers(-3, 3).map(float), st.floats(-1e6, 1e6))
    columns = [np.array(draw(st.lists(value, min_size=len(y), max_size=len(y)))) for _ in range(n_scores)]
    return (np.array(y), *columns)


def wins(y, scores):
    """What each pair counts, positives by negatives: the definition, without any sort."""
    difference = scores[y][:, None] - scores[~y][None, :]
    return (np.sign(difference) + 1) / 2


def brute_delong(y, *columns):
    """The covariance matrix of the AUCs from placements, as in the paper of 1988."""
    positive = np.array([wins(y, s).mean(axis=1) for s in columns])
    negative = np.array([wins(y, s).mean(axis=0) for s in columns])
    return np.atleast_2d(np.cov(positive)) / positive.shape[1] + np.atleast_2d(np.cov(negative)) / negative.shape[1]


def monotone(scores):
    """A strictly increasing transform without rounding: the rank among the distinct scores, squared."""
    return np.unique(scores, return_inverse=True)[1] ** 2 - 7


# auc


@given(problems())
def test_auc_is_the_mean_over_all_pairs(problem):
    y, scores = problem
    assert auc(y, scores) == pytest.approx(wins(y, scores).mean(), abs=1e-14)


@given(problems(), st.data())
def test_weighted_auc_is_the_weighted_mean_over_all_pairs(problem, data):
    y, scores = problem
    weight = st.one_of(st.sampled_from([0.0, 1.0, 2.0]), st.floats(1e-3, 1e3))
    w = np.array(data.draw(st.lists(weight, min_size=len(y), max_size=len(y))))
    w[[np.argmax(y), np.argmin(y)]] = 1.0
    pair_weights = w[y][:, None] * w[~y][None, :]
    expected = np.sum(pair_weights * wins(y, scores)) / np.sum(pair_weights)
    assert auc(y, scores, w) == pytest.approx(expected, abs=1e-12)


@given(problems(), st.randoms(use_true_random=False))
def test_auc_laws(problem, random):
    y, scores = problem
    value = auc(y, scores)
    assert 0 <= value <= 1
    assert auc(~y, scores) == pytest.approx(1 - value, abs=1e-15)
    assert auc(y, -scores) == pytest.approx(1 - value, abs=1e-15)
    assert auc(y, monotone(scores)) == value
    order = random.sample(range(len(y)), len(y))
    assert auc(y[order], scores[order]) == value
    twice = np.array([random.choice([1, 2, 3]) for _ in y])
    assert auc(y, scores, twice) == pytest.approx(auc(np.repeat(y, twice), np.repeat(scores, twice)), abs=1e-13)
    assert auc(y, scores, np.full(len(y), 1e308)) == pytest.approx(value, abs=1e-13)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("decimals", [0, 2, 12])
@pytest.mark.parametrize("share", [0.001, 0.3, 0.9])
def test_auc_equals_scikit_learn(weighted, decimals, share):
    rng = np.random.default_rng(7)
    y = rng.random(20_000) < share
    scores = np.round(rng.normal(size=len(y)) + y, decimals)
    w = rng.exponential(size=len(y)) if weighted else None
    assert auc(y, scores, w) == pytest.approx(roc_auc_score(y, scores, sample_weight=w), abs=1e-12)


@pytest.mark.parametrize("labels", [[0, 1], [-1, 1], [False, True], [1, 2], [0.5, 0.7], ["no", "yes"]])
def test_the_larger_label_is_positive(labels):
    y = np.array(labels)[[0, 1, 1, 0]]
    assert auc(y, [1, 3, 2, 2]) == 3.5 / 4
    assert auc(list(y), [1.0, 3.0, 2.0, 2.0]) == 3.5 / 4


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint64, np.float16, np.float32, ">f8", "longdouble", object])
def test_scores_of_every_type(dtype):
    assert auc([0, 1, 1, 0], np.array([0, 1, 0, 0]).astype(dtype)) == 0.75


def test_whole_scores_beyond_float64_are_told_apart():
    assert auc([0, 1], np.array([2**60, 2**60 + 1])) == 1.0


def test_sums_do_not_overflow():
    counts = np.full(2**20 + 3, 2**42, dtype=np.int64)
    assert exact_sum(np.concatenate([counts, counts, counts])) == 3 * len(counts) * 2**42 > 2**63


@pytest.mark.slow
@pytest.mark.parametrize("n_positive", [5_000_000, 1_000])
def test_auc_on_ten_million_rows(n_positive):
    """Whole scores whose wins and ties can be counted by their distribution: an exact answer without any sort."""
    rng = np.random.default_rng(3)
    y = np.zeros(10**7, dtype=np.int8)
    y[:n_positive] = 1
    rng.shuffle(y)
    scores = rng.integers(0, 1000, size=len(y)) + 100 * y
    positive = [int(c) for c in np.bincount(scores[y == 1], minlength=1100)]
    negative = [int(c) for c in np.bincount(scores[y == 0], minlength=1100)]
    below, doubled = 0, 0
    for p, n in zip(positive, negative, strict=True):
        doubled, below = doubled + p * (2 * below + n), below + n
    assert auc(y, scores.astype(np.float64)) == doubled / (2 * sum(positive) * sum(negative))


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_rows", [1_000, 1_000_000])
def test_auc_takes_at_most_the_time_of_scikit_learn(n_rows, weighted):
    rng = np.random.default_rng(0)
    y = rng.random(n_rows) < 0.3
    scores, w = rng.normal(size=n_rows) + y, rng.random(n_rows) if weighted else None

    def seconds(function):
        best = np.inf
        for _ in range(5):
            start = time.process_time()
            function()
            best = min(best, time.process_time() - start)
        return best

    assert seconds(lambda: auc(y, scores, w)) <= seconds(lambda: roc_auc_score(y, scores, sample_weight=w))


# auc_interval


@given(problems(), st.floats(0.01, 0.999))
@settings(max_examples=200)
def test_interval_is_inside_and_not_empty(problem, level):
    y, scores = problem
    value, low, high = auc_interval(y, scores, level)
    assert value == auc(y, scores)
    assert 0 <= low <= value <= high <= 1
    assert low < high
    wider = auc_interval(y, scores, (1 + level) / 2)
    assert wider.low <= low
    assert high <= wider.high


@given(problems())
def test_interval_mirrors_when_the_classes_are_exchanged(problem):
    y, scores = problem
    value, low, high = auc_interval(y, scores)
    assert auc_interval(~y, scores) == pytest.approx((1 - value, 1 - high, 1 - low), abs=1e-9)


@given(problems(max_rows=40))
def test_interval_solves_its_equation_with_the_brute_force_variance(problem):
    """Rebuild the interval from placements over all pairs; its ends must be where the score test just rejects."""
    y, scores = problem
    table = wins(y, scores)
    value = table.mean()
    expected = float(placement_variance(value))
    scale, below = 0.0, 0.0
    for placements in (table.mean(axis=1), table.mean(axis=0)):
        n = len(placements)
        sum_of_squares = np.sum((placements - value) ** 2) / expected if expected > 0 else n - 1
        term = (sum_of_squares + 4) / (n + 3) / n
        scale, below = scale + term, below + term**2 / (n + 3)
    quantile = t.ppf(0.975, scale**2 / below)
    for end in auc_interval(y, scores)[1:]:
        if 0 < end < 1:
            assert (value - end) ** 2 == pytest.approx(
                quantile**2 * scale * placement_variance(end), rel=1e-6, abs=1e-12
            )


def test_interval_is_delongs_when_rows_are_many():
    rng = np.random.default_rng(5)
    y = np.arange(4000) < 1500
    scores = np.round(rng.normal(size=4000) + y, 1)
    half = 1.959964 * np.sqrt(brute_delong(y, scores)[0, 0])
    value, low, high = auc_interval(y, scores)
    assert (high - low) / 2 == pytest.approx(half, rel=2e-3)
    assert (low, high) == pytest.approx((value - half, value + half), abs=0.05 * half)


@pytest.mark.parametrize("a", [1e-9, 0.05, 0.3, 0.5, 0.76, 0.999])
def test_placement_variance_is_that_of_normal_scores(a):
    mean = norm.ppf(a) * np.sqrt(2)
    second, _ = quad(lambda s: norm.cdf(s) ** 2 * norm.pdf(s - mean), mean - 12, mean + 12, epsabs=1e-16, limit=200)
    assert placement_variance(a) == pytest.approx(second - a**2, rel=1e-5, abs=1e-15)
    assert placement_variance(1 - a) == pytest.approx(placement_variance(a), rel=1e-6)


def test_degenerate_intervals_are_finite_and_shrink_with_rows():
    widths = [np.ptp(auc_interval(np.arange(2 * n) < n, np.arange(2 * n) < n)[1:]) for n in (1, 2, 10, 100, 1000)]
    assert all(a > b > 0 for a, b in pairwise(widths))
    assert auc_interval([0, 1], [1, 1]).auc == 0.5
    assert auc_interval([0, 1, 1], [1, 0, 0])[:2] == (0.0, 0.0)


# compare_auc


@given(problems(n_scores=2))
def test_comparison_equals_brute_force(problem):
    y, a, b = problem
    table = wins(y, a) - wins(y, b)
    covariance = brute_delong(y, a, b) if 1 < y.sum() < len(y) - 1 else np.full((2, 2), np.nan)
    variance = covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1]
    result = compare_auc(y, a, b)
    assert result.difference == pytest.approx(table.mean(), abs=1e-14)
    assert -1 <= result.low <= result.difference <= result.high <= 1
    assert 0 <= result.p_value <= 1
    if np.all(np.ptp(table.mean(axis=1)) > 1e-9) and np.all(np.ptp(table.mean(axis=0)) > 1e-9):
        assert result.p_value == pytest.approx(2 * norm.sf(abs(table.mean()) / np.sqrt(variance)), abs=1e-9)
        assert result.high == pytest.approx(min(1, table.mean() + norm.ppf(0.975) * np.sqrt(variance)), abs=1e-9)
    mirrored = compare_auc(y, b, a)
    assert mirrored.difference == -result.difference
    assert (mirrored.low, mirrored.high, mirrored.p_value) == pytest.approx((-result.high, -result.low, result.p_value))


@given(problems())
def test_scores_that_order_alike_do_not_differ(problem):
    y, scores = problem
    assert compare_auc(y, scores, scores * 4) == (0.0, 0.0, 0.0, 1.0)


def test_a_constant_difference_is_not_certainty():
    result = compare_auc([0, 0, 1, 1], [1, 2, 3, 4], [4, 3, 2, 1])
    assert result.difference == 1.0
    assert result.low < result.high
    assert 0.05 < result.p_value < 0.5
    assert compare_auc([0, 1], [1, 2], [2, 1]).p_value > 0.1


def test_comparison_finds_a_real_difference_in_the_stated_direction():
    rng = np.random.default_rng(2)
    y = np.arange(2000) < 500
    good = rng.normal(size=2000) + 1.5 * y
    poor = good + 2 * rng.normal(size=2000)
    result = compare_auc(y, good, poor)
    assert result.low > 0
    assert result.p_value < 1e-6


# Coverage by simulation; tools/measure_delong.py is the long form.


def _measure():
    path = Path(__file__).parent.parent / "tools" / "measure_delong.py"
    spec = importlib.util.spec_from_file_location("measure_delong", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
@pytest.mark.parametrize(
    ("case", "least", "most"),
    [
        ((500, 500, 0.76, 1.0), 0.935, 0.965),
        ((20, 200, 0.76, 1.0), 0.93, 0.97),
        ((20, 200, 0.95, 1.0), 0.92, 0.96),
    ],
)
def test_coverage(case, least, most):
    assert least <= _measure().coverage(*case, sets=3000, seed=1)[0] <= most


@pytest.mark.slow
def test_paired_test_keeps_its_level():
    assert 0.035 <= _measure().rejection(500, 500, 0.76, sets=4000, seed=1) <= 0.065


def test_short_simulation():
    measure = _measure()
    assert 0.91 <= measure.coverage(20, 200, 0.76, 1.0, sets=500, seed=3)[0] <= 0.985
    assert 0.02 <= measure.rejection(50, 50, 0.76, sets=1000, seed=3) <= 0.08


# partial_auc and precision_at_k


@given(problems(), st.one_of(st.sampled_from([0.1, 0.5, 1.0]), st.floats(1e-3, 1.0)))
def test_partial_auc_equals_scikit_learn(problem, max_fpr):
    y, scores = problem
    assert partial_auc(y, scores, max_fpr) == pytest.approx(roc_auc_score(y, scores, max_fpr=max_fpr), abs=1e-12)
    assert partial_auc(y, scores, 1) == pytest.approx(auc(y, scores), abs=1e-12)
    assert partial_auc(y, y * 1.0, max_fpr) == pytest.approx(1.0)


@given(problems(max_rows=12), st.data())
def test_precision_at_k_is_the_mean_over_orders_of_the_ties(problem, data):
    y, scores = problem
    k = data.draw(st.integers(1, len(y)))
    rng = np.random.default_rng(0)
    order = np.argsort(-scores, kind="stable")
    threshold = scores[order[k - 1]]
    sure = y[scores > threshold]
    tied = y[scores == threshold]
    draws = [np.sum(rng.permutation(tied)[: k - len(sure)]) for _ in range(1 if len(set(tied)) == 1 else 3000)]
    assert precision_at_k(y, scores, k) == pytest.approx((sure.sum() + np.mean(draws)) / k, abs=0.08)
    assert precision_at_k(y, scores, len(y)) == np.mean(y)


def test_precision_at_k_by_hand():
    assert precision_at_k([1, 0, 1, 0, 0], [5, 4, 3, 3, 3], 2) == 0.5
    assert precision_at_k([1, 0, 1, 0, 0], [5, 4, 3, 3, 3], 3) == pytest.approx((1 + 1 / 3) / 3)
    assert precision_at_k([1, 0, 1, 0, 0], [5, 4, 3, 3, 3], np.int64(4)) == pytest.approx((1 + 2 / 3) / 4)


# Bad input

TWO_SCORES = {"compare_auc": lambda y, s: compare_auc(y, s, s), "auc_interval": auc_interval, "auc": auc}
EVERY = {
    **TWO_SCORES,
    "partial_auc": lambda y, s: partial_auc(y, s, 0.5),
    "precision_at_k": lambda y, s: precision_at_k(y, s, 1),
}


@pytest.mark.parametrize("function", EVERY.values(), ids=EVERY.keys())
@pytest.mark.parametrize(
    ("y", "scores", "message"),
    [
        ([0, 1, 1], [1.0, np.nan, 2.0], "NaN in row 1"),
        ([0, 1, 1], [1.0, 0.0, -np.inf], "infinity in row 2"),
        ([0, 1, 1], [1.0, 2.0], "one value for each of the 3 labels"),
        ([0, 1], [[1.0, 2.0], [0.5, 0.5]], "one dimension"),
        ([1, 1, 1], [1.0, 2.0, 3.0], "one class"),
        ([0, 1, 2], [1.0, 2.0, 3.0], "exactly two values"),
        ([], [], "empty"),
        ([[0], [1]], [1.0, 2.0], "one-dimensional"),
        ([0.0, 1.0, np.nan], [1.0, 2.0, 3.0], "NaN"),
        ([0, 1], ["a", "b"], "must be numbers"),
        ([0, 1], [1j, 2.0], "real"),
    ],
)
def test_bad_labels_and_scores(function, y, scores, message):
    with pytest.raises(ValueError, match=message):
        function(y, scores)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: auc([0, 1], [0, 1], [1.0]), "one value for each of the 2 rows"),
        (lambda: auc([0, 1], [0, 1], [1.0, -1.0]), "not negative"),
        (lambda: auc([0, 1], [0, 1], [1.0, np.nan]), "finite"),
        (lambda: auc([0, 1], [0, 1], [0.0, 0.0]), "zero for every row"),
        (lambda: auc([0, 1], [0, 1], [1.0, 0.0]), "0 positive and 1 negative"),
        (lambda: auc_interval([0, 1], [0, 1], level=1.0), r"level must be in \(0, 1\)"),
        (lambda: auc_interval([0, 1], [0, 1], level=95), r"level must be in \(0, 1\)"),
        (lambda: auc_interval([0, 1], [0, 1], level=float("nan")), r"level must be in \(0, 1\)"),
        (lambda: auc_interval([0, 1], [0, 1], level="high"), "level must be a number"),
        (lambda: compare_auc([0, 1], [0, 1], [0, 1], level=0), r"level must be in \(0, 1\)"),
        (lambda: compare_auc([0, 1], [0, 1], [0, np.nan]), "scores_b must be finite"),
        (lambda: partial_auc([0, 1], [0, 1], 0.0), r"max_fpr must be in \(0, 1\]"),
        (lambda: partial_auc([0, 1], [0, 1], 1.1), r"max_fpr must be in \(0, 1\]"),
        (lambda: precision_at_k([0, 1], [0, 1], 0), "from 1 to the number of rows, 2"),
        (lambda: precision_at_k([0, 1], [0, 1], 3), "from 1 to the number of rows, 2"),
        (lambda: precision_at_k([0, 1], [0, 1], 1.0), "whole number"),
        (lambda: precision_at_k([0, 1], [0, 1], True), "from 1 to the number of rows, 2"),
    ],
)
def test_bad_parameters(call, message):
    with pytest.raises(ValueError, match=message):
        call()
