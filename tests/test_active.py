"""Algorithm 1: weights, first round, small data, bookkeeping, and the same bits from the same seed."""

from itertools import pairwise

import numpy as np
import pytest
from liblinear.liblinearutil import parameter, problem, train
from scipy.sparse import csr_array, csr_matrix
from sklearn.svm import LinearSVC

from pairsift import ActiveRankSVM, reference
from pairsift.active import ALL_TERMS_USED, BUDGET_REACHED, Settings, active_sampling, fit_active, resolve_gamma
from pairsift.data.problem import make_problem
from pairsift.data.rows import as_rows
from pairsift.pairs import NONE
from pairsift.sampling import SAMPLERS, make_sampler
from pairsift.threshold import best_threshold


def make_data(n=300, d=4, seed=0, positive_rate=0.3):
    rng = np.random.default_rng(seed)
    y = rng.random(n) < positive_rate
    X = rng.normal(size=(n, d)) + 0.6 * y[:, np.newaxis]
    return X, y


def run(X, y, weights=None, *, sampling="soft-correct", seed=0, **settings):
    problem = make_problem(as_rows(X), y, weights)
    options = {"budget": 200, "batch_size": 20, **settings}
    return fit_active(problem, Settings(make_sampler(sampling), **options), np.random.default_rng(seed))


# Weights


def expected_weights(state, X, y, s, C, correct):
    """C_k as point 5 of the issue writes it, from p and the sample weights."""
    i, j = state.pool.row_numbers()
    plus, minus, every = np.mean(s[y & (s > 0)]), np.mean(s[~y & (s > 0)]), np.mean(s[s > 0])
    v = []
    for a, b, p in zip(i, j, state.pool.probability, strict=True):
        weight = s[a] * s[b] / (plus * minus) if a >= 0 and b >= 0 else s[max(a, b)] / every
        v.append(weight * (1 / p if correct else 1.0))
    v = np.array(v)
    return C * len(v) * v / np.sum(v)


@pytest.mark.parametrize("sampling", list(SAMPLERS))
@pytest.mark.parametrize("correct", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("gamma", [0.4, 1.0])
def test_weights_are_those_of_the_issue(sampling, correct, weighted, gamma):
    X, y = make_data()
    rng = np.random.default_rng(1)
    s = rng.exponential(size=300) * (rng.random(300) < 0.9) if weighted else np.ones(300)
    state = run(X, y, s if weighted else None, sampling=sampling, bias_correction=correct, gamma=gamma, C=0.3)
    np.testing.assert_allclose(state.upper, expected_weights(state, X, y, s, 0.3, correct), rtol=1e-12)
    assert np.sum(state.upper) == pytest.approx(0.3 * 200)
    if not sampling.startswith("soft"):
        np.testing.assert_array_equal(state.pool.probability, 1)
    elif correct and not weighted and sampling != "soft-tolerant":  # few labels are wrong: what it draws has p = 1
        assert np.max(state.upper) > 1.5 * np.min(state.upper)
    np.testing.assert_array_equal(state.pool.probability[:20], 1)
    rows = np.concatenate(state.pool.row_numbers())
    assert np.all(s[rows[rows != NONE]] > 0)


def test_the_scale_of_sample_weights_does_not_matter():
    X, y = make_data()
    s = np.random.default_rng(1).exponential(size=300)
    a, b = (run(X, y, k * s, gamma=0.5) for k in (1.0, 1024.0))
    np.testing.assert_array_equal(a.pool.i, b.pool.i)
    assert a.solution.w.tobytes() == b.solution.w.tobytes()


@pytest.mark.parametrize("sampling", ["soft-correct", "soft-close"])
def test_probabilities_are_those_of_the_w_of_their_round(sampling):
    X, y = make_data()
    settings = Settings(make_sampler(sampling), gamma=0.5, threshold=True, budget=200, batch_size=20)
    before = None
    for state in active_sampling(make_problem(as_rows(X), y), settings, np.random.default_rng(0)):
        if before is not None:
            (w, theta), new = before, slice(-20, None)
            i, j = (rows[new] for rows in state.pool.row_numbers())
            m = np.where(i < 0, theta, X[i] @ w) - np.where(j < 0, theta, X[j] @ w)
            p = np.tanh(np.maximum(1 - m, 0) / 2) if sampling == "soft-correct" else 2 / (1 + np.exp(np.abs(m)))
            np.testing.assert_allclose(state.pool.probability[new], p, rtol=1e-9)
        before = state.solution.w.copy(), state.solution.theta


# The first round


@pytest.mark.parametrize("gamma", [0.0, 0.2, 0.7, 1.0])
def test_first_terms_have_p_1_and_kinds_by_gamma(gamma):
    X, y = make_data(n=40)
    pairs, terms = [], np.zeros((40, 2))
    n_fits = 400
    for seed in range(n_fits):
        state = next(active_sampling(make_problem(as_rows(X), y), Settings(make_sampler("soft-correct"), gamma=gamma,
                     budget=39, batch_size=30), np.random.default_rng(seed)))  # fmt: skip
        assert len(state.pool) == 30
        assert state.history[0].rejected == 0
        np.testing.assert_array_equal(state.pool.probability, 1)
        pairs.append(np.count_nonzero(state.pool.is_pair))
        i, j = state.pool.row_numbers()
        terms += [[np.sum(i == k), np.sum(j == k)] for k in range(40)]
    error = np.sqrt(30 * gamma * (1 - gamma) / n_fits)
    assert abs(np.mean(pairs) - 30 * gamma) <= 4.5 * error  # though of 40 points many are met twice
    for kind, column in ((y, 0), (~y, 1)):
        counts = terms[kind, column]
        assert np.sum(terms[~kind, column]) == 0
        assert np.all(np.abs(counts - counts.mean()) < 6 * np.sqrt(counts.mean() + 1))


# Small data


def liblinear_objective(Z, upper):
    flip = np.where(np.arange(len(Z)) % 2, -1, 1)
    w = np.array(
        train(
            problem(flip, csr_matrix(flip[:, np.newaxis] * Z)), parameter(f"-s 3 -B -1 -q -e 1e-8 -c {upper}")
        ).get_decfun()[0]
    )
    return reference.primal_value(Z, np.full(len(Z), upper), w)


@pytest.mark.parametrize("sampling", list(SAMPLERS))
def test_small_data_use_all_pairs_whatever_the_sampler(sampling):
    X, y = make_data(n=60)
    n_pairs = int(y.sum() * (~y).sum())
    state = run(X, y, sampling=sampling, budget=n_pairs, batch_size=10, C=0.002)
    assert state.stop_reason == ALL_TERMS_USED
    assert len(state.history) == 1
    assert len(set(zip(*(r.tolist() for r in state.pool.row_numbers()), strict=True))) == n_pairs
    np.testing.assert_array_equal(state.pool.probability, 1)
    np.testing.assert_allclose(state.upper, 0.002)
    Z = (X[y][:, np.newaxis] - X[~y]).reshape(-1, X.shape[1])
    assert state.solution.primal == pytest.approx(liblinear_objective(Z, 0.002), rel=1e-6)
    assert state.solution.relative_gap <= 1e-12


def test_small_data_is_ranksvm_of_c_times_budget():
    X, y = make_data(n=60)
    n_pairs = int(y.sum() * (~y).sum())
    state = run(X, y, budget=5000, C=1e-3)
    np.testing.assert_allclose(state.upper, 1e-3 * 5000 / n_pairs)
    sampled = run(X, y, sampling="random", budget=n_pairs - 1, C=1e-3)
    assert sampled.stop_reason == BUDGET_REACHED


@pytest.mark.parametrize("gamma", [0.25, "uniform", 1.0, 0.0])
@pytest.mark.parametrize("weighted", [True, False])
def test_small_data_share_the_weight_by_gamma(gamma, weighted):
    X, y = make_data(n=30)
    s = np.random.default_rng(0).exponential(size=30) if weighted else np.ones(30)
    number = resolve_gamma(gamma, make_problem(as_rows(X), y))
    state = run(X, y, s if weighted else None, gamma=number, budget=1000, C=0.2)
    i, j = state.pool.row_numbers()
    is_pair = (i >= 0) & (j >= 0)
    n_pairs = int(y.sum() * (~y).sum())
    assert np.count_nonzero(is_pair) == (n_pairs if number > 0 else 0)
    assert np.count_nonzero(~is_pair) == (30 if number < 1 else 0)
    assert np.sum(state.upper[is_pair]) == pytest.approx(200 * number)
    assert np.sum(state.upper[~is_pair]) == pytest.approx(200 * (1 - number))
    for kind, weight in ((is_pair, s[i] * s[j]), (~is_pair, s[np.maximum(i, j)])):
        if np.any(kind):
            ratio = state.upper[kind] / weight[kind]
            np.testing.assert_allclose(ratio, ratio[0])
    if gamma == "uniform":
        assert number == n_pairs / (n_pairs + 30)


@pytest.mark.parametrize("threshold", [False, True])
@pytest.mark.parametrize("budget", [100, 400])  # sampled, and all at once
def test_gamma_zero_is_the_point_wise_svm(threshold, budget):
    X, y = make_data(n=300)
    state = run(X, y, sampling="random", gamma=0.0, threshold=threshold, budget=budget, C=0.05, batch_size=100)
    i, j = state.pool.row_numbers()
    rows = np.maximum(i, j)
    assert len(set(rows.tolist())) == min(budget, 300)
    assert np.all((i >= 0) == y[rows])
    svc = LinearSVC(loss="hinge", dual=True, fit_intercept=threshold, tol=1e-9, max_iter=500_000, C=1.0)
    svc.fit(X[rows], y[rows], sample_weight=state.upper)
    margin = np.where(y[rows], 1, -1) * (X[rows] @ svc.coef_[0] + svc.intercept_)
    theirs = (np.sum(svc.coef_**2) + np.sum(np.square(svc.intercept_))) / 2 + state.upper @ np.maximum(0, 1 - margin)
    assert state.solution.primal == pytest.approx(theirs, rel=1e-6)
    model = ActiveRankSVM(0.05, 0.0, "random", threshold=threshold, budget=budget, random_state=0).fit(X, y)
    assert (model.intercept_[0] != 0) == threshold
    if threshold and budget == 400:
        np.testing.assert_allclose(-model.intercept_, state.solution.theta, atol=1e-9)


# Rounds


def test_the_generator_yields_each_round():
    X, y = make_data()
    settings = Settings(make_sampler("soft-close"), gamma=0.6, budget=190, batch_size=40, C=0.2)
    sizes, reasons = [], []
    for state in active_sampling(make_problem(as_rows(X), y), settings, np.random.default_rng(0)):
        sizes.append(len(state.pool))
        reasons.append(state.stop_reason)
        assert len(state.history) == len(sizes)
        assert np.sum(state.upper) == pytest.approx(0.2 * len(state.pool))
        assert np.all(state.solution.alpha <= state.upper * (1 + 1e-12))
        Z = reference.differences(X, *state.pool.row_numbers())
        np.testing.assert_allclose(state.solution.w, state.solution.alpha @ Z, atol=1e-9)
    assert sizes == [40, 80, 120, 160, 190]
    assert reasons == [None] * 4 + [BUDGET_REACHED]
    assert state.solution.relative_gap <= 1e-12  # fewer than 2,000 terms
    assert state.history[-1].objective == pytest.approx(reference.primal_value(Z, state.upper, state.solution.w))


def test_fitted_facts():
    X, y = make_data()
    model = ActiveRankSVM(gamma=0.6, sampling="soft-close", budget=190, batch_size=40, random_state=1).fit(X, y)
    assert (model.n_pairs_, len(model.pairs_), model.stop_reason_) == (190, 190, BUDGET_REACHED)
    assert [done.pairs for done in model.history_] == [40, 80, 120, 160, 190]
    assert model.n_rejected_ == round(sum(done.rejected for done in model.history_)) > 0
    assert all(done.sampling_seconds > 0 and done.training_seconds > 0 for done in model.history_)
    i, j = model.pairs_["i"], model.pairs_["j"]
    assert np.all(y[i[i >= 0]])
    assert not np.any(y[j[j >= 0]])
    assert np.all((i >= 0) | (j >= 0))
    assert set(np.unique(model.pairs_["round"])) == set(range(5))
    assert np.all(np.diff(model.pairs_["round"]) >= 0)
    assert np.all((model.pairs_["probability"] > 0) & (model.pairs_["probability"] <= 1))
    assert np.sum(model.pairs_["weight"]) == pytest.approx(0.1 * 190)
    terms = list(zip(i.tolist(), j.tolist(), strict=True))
    assert len(set(terms)) == 190
    Z = reference.differences(X, i, j)
    assert model.history_[-1].objective == pytest.approx(
        reference.primal_value(Z, model.pairs_["weight"], model.coef_[0])
    )
    assert model.gap_ <= 1e-12
    assert model.n_iter_ >= 1


def test_a_larger_problem_is_solved_to_tol():
    X, y = make_data(n=3000, d=30)
    model = ActiveRankSVM(sampling="soft-correct", budget=2500, batch_size=500, tol=1e-4, random_state=0).fit(X, y)
    assert model.gap_ <= 1e-4
    Z = reference.differences(X, model.pairs_["i"], model.pairs_["j"])
    best = LinearSVC(loss="hinge", dual=True, fit_intercept=False, tol=1e-6, max_iter=100_000, C=1.0)
    flip = np.where(np.arange(2500) % 2, -1, 1)
    best.fit(flip[:, np.newaxis] * Z, flip, sample_weight=model.pairs_["weight"])
    theirs = reference.primal_value(Z, model.pairs_["weight"], best.coef_[0])
    ours = reference.primal_value(Z, model.pairs_["weight"], model.coef_[0])
    assert theirs * (1 - 1e-6) <= ours <= theirs * (1 + 1.1e-4)


# Bits


@pytest.mark.parametrize("sampling", list(SAMPLERS))
def test_same_seed_same_bits(sampling):
    X, y = make_data(n=400)
    fits = [ActiveRankSVM(sampling=sampling, gamma=0.7, budget=300, random_state=seed).fit(X, y) for seed in (5, 5, 6)]
    assert fits[0].coef_.tobytes() == fits[1].coef_.tobytes()
    assert fits[0].pairs_.tobytes() == fits[1].pairs_.tobytes()
    assert fits[0].coef_.tobytes() != fits[2].coef_.tobytes()


@pytest.mark.parametrize("sampling", list(SAMPLERS))
@pytest.mark.parametrize("gamma", [0.4, 1.0])
def test_int32_and_int64_agree_to_the_bit_and_dense_to_1e_10(sampling, gamma):
    X, y = make_data(n=400)
    wide = csr_array(X)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    options = {"sampling": sampling, "gamma": gamma, "budget": 300, "random_state": 3, "threshold": gamma < 1}
    dense, narrow, long = (ActiveRankSVM(**options).fit(data, y) for data in (X, csr_array(X), wide))
    assert narrow.coef_.tobytes() == long.coef_.tobytes()
    assert narrow.intercept_.tobytes() == long.intercept_.tobytes()
    assert narrow.pairs_.tobytes() == long.pairs_.tobytes()
    np.testing.assert_array_equal(dense.pairs_["i"], narrow.pairs_["i"])
    np.testing.assert_allclose(dense.coef_, narrow.coef_, atol=1e-10)
    np.testing.assert_allclose(dense.intercept_, narrow.intercept_, atol=1e-10)


# The threshold


def test_threshold_is_where_balanced_accuracy_is_best():
    rng = np.random.default_rng(0)
    for _ in range(50):
        positive, negative = rng.integers(0, 8, size=9) + 1.0, rng.integers(0, 8, size=13) * 1.0
        a, b = rng.integers(1, 5, size=9) * 1.0, rng.integers(1, 5, size=13) * 1.0

        def balanced(t, positive=positive, negative=negative, a=a, b=b):
            return (a @ (positive > t) / a.sum() + b @ (negative <= t) / b.sum()) / 2

        best = max(balanced(t) for t in np.arange(-1, 12, 0.5))
        assert balanced(best_threshold(positive, negative, a, b)) == pytest.approx(best)
        doubled = best_threshold(
            np.repeat(positive, a.astype(int)), np.repeat(negative, b.astype(int)), np.ones(int(a.sum())),
            np.ones(int(b.sum())),
        )  # fmt: skip
        assert doubled == best_threshold(positive, negative, a, b)


def test_rounds_differ_in_what_they_draw():
    X, y = make_data(n=400)
    model = ActiveRankSVM(sampling="soft-correct", budget=300, random_state=0).fit(X, y)
    by_round = [model.pairs_["i"][model.pairs_["round"] == r].tolist() for r in range(3)]
    assert all(a != b for a, b in pairwise(by_round))
