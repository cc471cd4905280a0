"""The samplers: what is drawn has the paper's law on every code path, to the last draw, and sampling always ends."""

import time

import numpy as np
import pytest
from scipy.stats import chi2

from pairsift import reference
from pairsift.active import NO_TERM_LEFT, Settings, active_sampling, fit_active
from pairsift.data.problem import Problem, RowRange, make_problem
from pairsift.data.rows import DenseRows, as_rows
from pairsift.pairs import NONE, Pool
from pairsift.sampling import (
    Draw,
    HardSampler,
    RandomSampler,
    SoftClose,
    SoftCorrect,
    SoftSampler,
    SoftTolerant,
    Unchosen,
    make_sampler,
    propose,
    soft,
    tolerant,
)
from pairsift.sampling import (
    unchosen as unchosen_module,
)
from pairsift.sampling.envelopes import CloseEnvelope, CorrectEnvelope, LossEnvelope

SAMPLERS = {
    "random": RandomSampler,
    "soft-close": SoftClose,
    "soft-correct": SoftCorrect,
    "soft-tolerant": SoftTolerant,
}
GAMMAS = [0.0, 0.3, "uniform", 1.0]
SEEDS = pytest.mark.parametrize("n_seeds", [2000, pytest.param(50_000, marks=pytest.mark.slow)])
FEWER_SEEDS = pytest.mark.parametrize("n_seeds", [2000, pytest.param(20_000, marks=pytest.mark.slow)])


def paper_probability(name, m):
    """The probabilities of the paper as the issue writes them, and that of soft-tolerant."""
    if name == "random":
        return np.ones_like(m)
    if name == "soft-close":
        return 2 / (1 + np.exp(np.abs(m)))
    p = 1 - 2 / (1 + np.exp(np.maximum(1 - m, 0)))
    return np.where(m < 1, 1.0, 0.0) if name == "soft-tolerant" else p


class Case:
    """A small problem with a part of its terms chosen, and the exact law of the next draw, term by term."""

    def __init__(self, name, gamma, *, shape=(4, 5), scale=1.5, shift=0.5, chosen=True, seed=0, threshold=True):
        rng = np.random.default_rng(seed)
        n_positive, n_negative = shape
        y = rng.permutation(np.arange(sum(shape)) < n_positive)
        X = scale * rng.normal(size=(len(y), 2)) + np.where(y, shift, -shift)[:, np.newaxis]
        self.name, self.w, self.theta = name, np.array([0.8, 0.6]), 0.3 if threshold else 0.0
        self.problem = make_problem(as_rows(X), y)
        n_pairs, n_points = n_positive * n_negative, len(y)
        self.gamma = n_pairs / (n_pairs + n_points) if gamma == "uniform" else gamma
        s_plus, s_minus = X[np.flatnonzero(y)] @ self.w, X[np.flatnonzero(~y)] @ self.w
        pairs = [(i, j) for i in range(n_positive) for j in range(n_negative)]
        points = [(i, NONE) for i in range(n_positive)] + [(NONE, j) for j in range(n_negative)]
        taken = set(pairs[::4] + points[1::3]) if chosen else set()
        self.pool = Pool(self.problem)
        if chosen:
            i, j = np.array(sorted(taken)).T.copy()
            self.pool.add(i, j, np.ones(len(i)), round_number=0, correct_bias=True)
        use = (pairs if self.gamma > 0 else []) + (points if self.gamma < 1 else [])
        self.terms = [term for term in use if term not in taken]
        self.margin = np.array(
            [(self.theta if i < 0 else s_plus[i]) - (self.theta if j < 0 else s_minus[j]) for i, j in self.terms]
        )
        self.p = paper_probability(name, self.margin)
        self.is_pair = np.array([NONE not in term for term in self.terms])

    def accepted(self, without=()):
        """Chance that the next candidate is this term and is accepted, term by term."""
        free = np.array([k not in without for k in range(len(self.terms))])
        counts = [np.count_nonzero(free & kind) for kind in (self.is_pair, ~self.is_pair)]
        share = 0.5 if all(counts) else 1.0
        per_term = np.where(self.is_pair, share / max(counts[0], 1), share / max(counts[1], 1))
        return free * per_term * np.where(self.is_pair, self.gamma, 1 - self.gamma) * self.p

    def unchosen(self, acceptance=1.0):
        return Unchosen(self.pool, self.w, self.theta, self.gamma, acceptance=acceptance)

    def place(self, i, j):
        return self.terms.index((int(i), int(j)))


def on_path(monkeypatch, case, path):
    """Return U* such that the sampler takes this path; only when to take it is changed, never what it does."""
    monkeypatch.setattr(tolerant, "looks_beyond", lambda *_: False)
    monkeypatch.setattr(soft, "_scoring_all_is_cheaper", lambda *_: path == "switching")
    monkeypatch.setattr(soft, "_sorting_is_cheaper", lambda _, __, acceptance: acceptance < soft._SORT_BELOW)
    if path == "lazy":
        return case.unchosen()
    if path == "switching":  # a first batch of candidates, then sorted
        monkeypatch.setattr(soft, "_SORT_BELOW", 0.9999)
    unchosen = case.unchosen(acceptance=1.0 if path in ("scored", "switching") else 1e-3)
    unchosen.score_all()
    if path == "scored":
        monkeypatch.setattr(soft, "_SORT_BELOW", 0.0)
    if path in ("envelope", "switching"):
        monkeypatch.setattr(propose, "_LIST_AT_LEAST", 0)
        monkeypatch.setattr(propose, "_LIST_PER_CHOSEN", 0)
        monkeypatch.setattr(propose, "_LEAST_FREE", 0.0)
    return unchosen


def draws(case, unchosen, count, n_seeds):
    """Places of the terms drawn, one row a seed, the number of rejected candidates, and p."""
    sampler, places, rejected, p = make_sampler(case.name), [], [], []
    if case.name == "soft-tolerant":  # it shares the paths of the others, which see all seeds
        n_seeds = min(n_seeds, 10_000)
    for seed in range(n_seeds):
        drawn = sampler.draw(unchosen, count, np.random.default_rng(seed))
        places.append([case.place(i, j) for i, j in zip(drawn.i, drawn.j, strict=True)])
        rejected.append(drawn.rejected)
        p.append(drawn.probability)
    return np.array(places), np.array(rejected), np.array(p)


def assert_law(places, law):
    """Chi-square of counts against the law, rare terms put together."""
    n = len(places)
    counts = np.bincount(places, minlength=len(law))
    assert np.all(counts[law == 0] == 0)
    rare = law * n < 8
    expected = np.append(law[~rare], law[rare].sum()) * n
    seen = np.append(counts[~rare], counts[rare].sum())
    seen, expected = seen[expected > 0], expected[expected > 0]
    statistic = np.sum((seen - expected) ** 2 / expected)
    assert chi2.sf(statistic, max(len(seen) - 1, 1)) > 1e-5


def assert_mean(values, expected, sigmas=4.5):
    error = np.std(values) / np.sqrt(len(values))
    assert abs(np.mean(values) - expected) <= sigmas * error + 1e-9 * (1 + abs(expected))


PATHS = [(name, path) for name in SAMPLERS for path in ("lazy", "scored", "envelope", "listed", "switching")
         if name != "random" or path in ("lazy", "scored")]  # fmt: skip


@SEEDS
@pytest.mark.parametrize("gamma", GAMMAS)
@pytest.mark.parametrize(("name", "path"), PATHS)
def test_first_draw_of_a_round(monkeypatch, name, path, gamma, n_seeds):
    case = Case(name, gamma)
    unchosen = on_path(monkeypatch, case, path)
    places, rejected, p = draws(case, unchosen, 1, n_seeds)
    accepted = case.accepted()
    assert_law(places[:, 0], accepted / accepted.sum())
    assert_mean(rejected, 1 / accepted.sum() - 1)
    np.testing.assert_allclose(p[:, 0], case.p[places[:, 0]], rtol=1e-12)
    assert unchosen.is_scored == (path != "lazy")
    assert len(case.pool) == 8  # drawing does not change the pool


@SEEDS
@pytest.mark.parametrize("gamma", [0.3, 1.0])
@pytest.mark.parametrize("path", ["lazy", "scored"])
def test_soft_tolerant_draws_beyond_the_margin_when_labels_are_noisy(monkeypatch, path, gamma, n_seeds):
    case = Case("soft-tolerant", gamma)
    unchosen = on_path(monkeypatch, case, path)
    monkeypatch.setattr(tolerant, "looks_beyond", lambda *_: True)
    case.p = np.where(case.margin < 1, 1, np.exp((1 - case.margin) / 2))
    assert np.any(case.margin > 1)
    places, rejected, p = draws(case, unchosen, 1, n_seeds)
    accepted = case.accepted()
    assert_law(places[:, 0], accepted / accepted.sum())
    assert_mean(rejected, 1 / accepted.sum() - 1)
    np.testing.assert_allclose(p[:, 0], case.p[places[:, 0]], rtol=1e-12)
    loss, v = np.maximum(0, 1 - case.margin)[places[:, 0]], 1 / p[:, 0]
    for kind in (case.is_pair, ~case.is_pair):  # 1 / p undoes the sampling: the mean loss over all terms of a kind
        mine = kind[places[:, 0]]
        if np.any(kind):
            ratio = np.sum(v[mine] * loss[mine]) / np.sum(v[mine])
            error = np.sqrt(np.sum((v[mine] * (loss[mine] - ratio)) ** 2)) / np.sum(v[mine])
            assert abs(ratio - np.mean(np.maximum(0, 1 - case.margin)[kind])) < 4.5 * error


@pytest.mark.parametrize("chance", [0.0, 0.3])
def test_soft_tolerant_sees_flipped_labels(chance):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 3))
    y = (X[:, 0] > 1) ^ (rng.random(4000) < chance)
    unchosen = Unchosen(Pool(make_problem(as_rows(X), y)), np.array([1.0, 0, 0]), 0.0, 1.0)
    assert tolerant.looks_beyond(unchosen, rng) == (chance > 0)
    sampler = SoftTolerant()
    drawn = sampler.draw(unchosen, 200, rng)
    assert sampler.beyond == (chance > 0)
    assert np.any(unchosen.margins(drawn.i, drawn.j) >= 1) == (chance > 0)


def test_soft_tolerant_looks_beyond_the_margin_where_hardly_a_pair_has_a_loss():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 2))
    y = X[:, 0] > 0
    X[:, 0] += np.where(y, 1.0, 0.0)
    problem = make_problem(as_rows(X), y)
    for length, beyond in ((0.3, False), (100.0, True)):
        unchosen = Unchosen(Pool(problem), np.array([length, 0.0]), 0.0, 1.0)
        assert tolerant.looks_beyond(unchosen, rng) == beyond


def many_rows(seed=0, flipped=0.3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(300, 2))
    y = (X[:, 0] > 0.3) ^ (rng.random(300) < flipped)
    return make_problem(as_rows(X), y), np.array([1.5, 0.3])


def test_balanced_candidates_take_all_rows_in_turn_and_each_is_uniform():
    problem, w = many_rows()
    n_positive, n_negative = problem.n_positive, problem.n_negative
    assert min(n_positive, n_negative) >= 100
    third = []
    for seed in range(3000):
        unchosen = Unchosen(Pool(problem), w, 0.0, 1.0)
        unchosen.balanced = True
        i, j = unchosen.candidates(2 * max(n_positive, n_negative), np.random.default_rng(seed))
        for places, n in ((i, n_positive), (j, n_negative)):
            assert len(set(places[:n])) == n
            assert len(set(places[n : 2 * n])) == len(places[n : 2 * n])
        third.append((i[2], j[2]))
    i, j = np.array(third).T
    assert_law(i, np.full(n_positive, 1 / n_positive))
    assert_law(j, np.full(n_negative, 1 / n_negative))
    assert_law(
        (i % 8) * 8 + j % 8, np.outer(*(np.bincount(np.arange(n) % 8) / n for n in (n_positive, n_negative))).ravel()
    )


def test_balanced_candidates_are_never_chosen_ones():
    problem, w = many_rows()
    pool = Pool(problem)
    rng = np.random.default_rng(0)
    for k in range(30):
        drawn = SoftTolerant().draw(Unchosen(pool, w, 0.0, 1.0), 100, rng)
        pool.add(drawn.i, drawn.j, drawn.probability, round_number=k, correct_bias=True)  # it refuses chosen terms
    assert len(pool) == 3000


def test_soft_tolerant_is_unbiased_with_balanced_candidates(monkeypatch):
    """The mean loss over all pairs, estimated from the terms of one round with the weights 1 / p, seed by seed."""
    problem, w = many_rows()
    monkeypatch.setattr(tolerant, "looks_beyond", lambda *_: True)
    unchosen = Unchosen(Pool(problem), w, 0.0, 1.0)
    p_scores, q_scores = unchosen.score_all()
    wanted = np.mean(np.maximum(0, 1 - (p_scores[:, np.newaxis] - q_scores)))
    found = {}
    for balanced in (True, False):
        monkeypatch.setattr(unchosen_module, "_LEAST_BALANCED", 100 if balanced else 10**9)
        means = []
        for seed in range(1500):
            drawn = SoftTolerant().draw(Unchosen(Pool(problem), w, 0.0, 1.0), 150, np.random.default_rng(seed))
            loss, weight = np.maximum(0, 1 - (p_scores[drawn.i] - q_scores[drawn.j])), 1 / drawn.probability
            means.append(np.sum(weight * loss) / np.sum(weight))
        found[balanced] = np.array(means)
        assert_mean(found[balanced], wanted)
    assert np.var(found[True]) < 0.8 * np.var(found[False])  # and less is left to chance


@FEWER_SEEDS
@pytest.mark.parametrize(("name", "path"), PATHS)
@pytest.mark.parametrize("gamma", [0.4, 1.0])
def test_two_draws_of_a_round_are_without_replacement(monkeypatch, name, path, gamma, n_seeds):
    # easy to rank, so that little is accepted and "switching" switches between the two
    shift, scale = (0.3, 0.3) if name in ("soft-correct", "soft-tolerant") else (1.2, 0.8)
    case = Case(name, gamma, shape=(3, 3), shift=shift, scale=scale, seed=3)
    unchosen = on_path(monkeypatch, case, path)
    places, rejected, _ = draws(case, unchosen, 2, n_seeds)
    assert np.all(places[:, 0] != places[:, 1])
    first = case.accepted()
    law, candidates, second = first / first.sum(), 1 / first.sum(), np.zeros(len(first))
    for k in np.flatnonzero(law):
        then = case.accepted(without=(k,))
        second += law[k] * then / then.sum()
        candidates += law[k] / then.sum()
    assert_law(places[:, 0], law)
    assert_law(places[:, 1], second)
    assert_mean(rejected, candidates - 2)


@pytest.mark.parametrize("gamma", [0.0, 0.3, 1.0])
@pytest.mark.parametrize(("name", "path"), PATHS)
def test_a_round_never_repeats_a_term_and_can_take_all(monkeypatch, name, path, gamma):
    case = Case(name, gamma, scale=0.2, shift=0.1)
    assert np.all(case.p > 0)
    unchosen = on_path(monkeypatch, case, path)
    possible = {term for term, p in zip(case.terms, case.p, strict=True) if p > 0}
    for seed in range(20):
        drawn = make_sampler(name).draw(unchosen, 1000, np.random.default_rng(seed))
        terms = list(zip(drawn.i.tolist(), drawn.j.tolist(), strict=True))
        assert len(set(terms)) == len(terms)
        assert set(terms) == possible  # when one kind is used up the other goes on, down to the last term


@FEWER_SEEDS
@pytest.mark.parametrize("name", ["soft-close", "soft-correct", "soft-tolerant"])
@pytest.mark.parametrize("path", ["lazy", "envelope", "listed"])
@pytest.mark.parametrize("gamma", [0.3, 1.0])
def test_inverse_probabilities_undo_the_sampling(monkeypatch, name, path, gamma, n_seeds):
    """sum(l / p) / sum(1 / p) over first draws goes to the mean loss of the terms of a kind with p > 0."""
    case = Case(name, gamma, shift=0.2, scale=0.6)
    places, _, p = draws(case, on_path(monkeypatch, case, path), 1, n_seeds)
    loss = np.maximum(0, 1 - case.margin)
    for kind in (case.is_pair, ~case.is_pair):
        mine = kind[places[:, 0]]
        if not np.any(kind):
            continue
        expected = np.mean(loss[kind & (case.p > 0)])
        v, l = 1 / p[mine, 0], loss[places[mine, 0]]  # noqa: E741
        ratio = np.sum(v * l) / np.sum(v)
        error = np.sqrt(np.sum((v * (l - ratio)) ** 2)) / np.sum(v)
        assert abs(ratio - expected) < 4.5 * error
        if name != "soft-tolerant" and n_seeds >= 10_000:  # p = 1 for all that it draws here
            assert abs(np.mean(l) - expected) > 4.5 * error  # the plain mean is biased


def test_which_path_is_taken(monkeypatch):
    """Hard data are sampled lazily from many rows, easy data are sorted."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5000, 3))
    y = rng.random(5000) < 0.3
    pool = Pool(make_problem(as_rows(X), y))
    sorted_draws = []
    original = soft.draw_by_proposals
    monkeypatch.setattr(soft, "draw_by_proposals", lambda *a: (sorted_draws.append(1), original(*a)))
    hard = Unchosen(pool, np.zeros(3), 0.0, 1.0, acceptance=0.5)
    assert len(SoftCorrect().draw(hard, 100, rng).i) == 100
    assert not hard.is_scored
    assert not sorted_draws
    easy = Unchosen(pool, np.array([3.0, 0, 0]), 0.0, 1.0, acceptance=0.001)
    assert len(SoftCorrect().draw(easy, 100, rng).i) == 100
    assert easy.is_scored
    assert len(sorted_draws) == 1


# Envelopes


@pytest.mark.parametrize("scale", [1e-3, 0.3, 3.0, 30.0])
@pytest.mark.parametrize("kind", [CorrectEnvelope, CloseEnvelope, LossEnvelope])
def test_envelopes_bound_p_and_know_their_sum(kind, scale):
    rng = np.random.default_rng(1)
    positive, negative = scale * np.round(rng.normal(size=30), 2) + 1, scale * np.round(rng.normal(size=50), 2)
    if kind is LossEnvelope:
        positive += 1e-3 * scale  # no margin of exactly 1, where the bound is 0 and a proposal may come by rounding
    margins = positive[:, np.newaxis] - negative
    envelope = kind(positive, negative)
    bound = envelope.bound(margins.ravel()).reshape(margins.shape)
    of = {CorrectEnvelope: SoftCorrect, CloseEnvelope: SoftClose, LossEnvelope: SoftTolerant}
    p = of[kind]().probability(margins)
    assert np.all(p <= bound * (1 + 1e-12))
    assert np.all(bound <= 2 * p * (1 + 1e-12))
    assert envelope.mass == pytest.approx(np.sum(bound), rel=1e-9)
    listed = set(zip(*(part.tolist() for part in envelope.pairs()), strict=True))
    assert {(i, j) for i, j in np.argwhere(p > 0).tolist()} <= listed
    assert len(listed) == envelope.n_pairs
    i, j = envelope.draw(20_000, rng)
    assert_law(i * 50 + j, (bound / bound.sum()).ravel())


# Ending


def easy_problem(gap, n=40):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2 * n, 2))
    X[:, 0] = np.where(np.arange(2 * n) < n, gap, 0) + 0.01 * X[:, 0]
    return make_problem(as_rows(X), np.arange(2 * n) < n)


@pytest.mark.parametrize("gamma", [0.3, 1.0])
def test_soft_correct_ends_when_all_margins_are_large(gamma):
    problem = easy_problem(1000.0)
    unchosen = Unchosen(Pool(problem), np.array([1.0, 0.0]), 500.0, gamma)
    started = time.perf_counter()
    drawn = SoftCorrect().draw(unchosen, 10, np.random.default_rng(0))
    assert len(drawn.i) == 0
    assert time.perf_counter() - started < 5


def test_soft_close_ends_with_scores_of_a_million():
    unchosen = Unchosen(Pool(easy_problem(1.0)), np.array([1e6, 1e6]), 0.0, 0.5)
    drawn = SoftClose().draw(unchosen, 5000, np.random.default_rng(0))
    assert len(drawn.i) < 3280
    assert np.all(drawn.probability > 0)
    assert np.isfinite(drawn.rejected)


@pytest.mark.parametrize("size", [600.0, 690.0, 700.0, 720.0, 745.0])
def test_the_smallest_probabilities_do_no_harm(size):
    """Where exp(-|m|) nearly underflows: finite weights, a finite number of rejected candidates."""
    unchosen = Unchosen(Pool(easy_problem(size, n=300)), np.array([1.0, 0.0]), 0.0, 1.0, acceptance=1e-6)
    drawn = SoftClose().draw(unchosen, 20, np.random.default_rng(0))
    assert np.all(np.isfinite(1 / drawn.probability))
    assert np.isfinite(drawn.rejected)


@pytest.mark.parametrize("name", ["soft-correct", "soft-close"])
def test_fit_ends_on_separable_data(name):
    settings = Settings(make_sampler(name), C=1e6, budget=1000, batch_size=10)
    state = fit_active(easy_problem(5.0), settings, np.random.default_rng(0))
    if name == "soft-correct":
        assert state.stop_reason == NO_TERM_LEFT
        assert len(state.pool) < 1000
    assert np.all(np.isfinite(state.solution.w))
    total = np.sum(state.upper)
    assert total == pytest.approx(1e6 * len(state.pool))


def test_a_sampler_that_accepts_nothing_ends():
    class Never(SoftSampler):
        def probability(self, margins):
            return np.zeros(len(margins))

    started = time.perf_counter()
    state = fit_active(easy_problem(1.0), Settings(Never(), budget=500, batch_size=10), np.random.default_rng(0))
    assert state.stop_reason == NO_TERM_LEFT
    assert len(state.pool) == 10
    assert time.perf_counter() - started < 20


def test_one_term_left_among_many_is_found():
    class Needle(SoftSampler):
        def probability(self, margins):
            return np.where(margins == np.float64(7.0), 0.5, 0.0)

    X = np.zeros((4000, 1))
    X[0], X[1:1000] = 7.0, np.linspace(1, 2, 999)[:, np.newaxis]
    problem = make_problem(as_rows(X[:, :]), np.arange(4000) < 1000)
    unchosen = Unchosen(Pool(problem), np.ones(1), 0.0, 1.0)
    drawn = Needle().draw(unchosen, 3, np.random.default_rng(0))
    assert np.all(drawn.i == 0)
    assert len(set(drawn.j.tolist())) == 3


def test_first_round_ends_where_a_kind_is_used_up():
    """gamma so near 0 that the pairs would never come, were the kind drawn again for each repeated point."""
    problem = easy_problem(1.0, n=5)
    settings = Settings(RandomSampler(), gamma=1e-12, budget=30, batch_size=30)
    state = fit_active(problem, settings, np.random.default_rng(0))
    assert np.count_nonzero(~state.pool.is_pair) == 10
    assert np.count_nonzero(state.pool.is_pair) == 20


def test_gamma_of_zero_and_one_never_draw_the_other_kind():
    problem = easy_problem(0.1, n=8)
    for gamma, kind in ((0.0, False), (1.0, True)):
        for name in (*SAMPLERS, "hard-close", "hard-correct"):
            unchosen = Unchosen(Pool(problem), np.array([0.1, 0.1]), 0.0, gamma)
            drawn = make_sampler(name).draw(unchosen, 10_000, np.random.default_rng(0))
            assert len(drawn.i) == (64 if kind else 16)
            assert np.all(((drawn.i >= 0) & (drawn.j >= 0)) == kind)


# Hard samplers


@pytest.mark.parametrize("measure", ["closeness", "correctness"])
@pytest.mark.parametrize("levels", [2, 5, 1000])
@pytest.mark.parametrize("gamma", [0.0, 0.35, 1.0])
def test_hard_samplers_equal_brute_force(measure, levels, gamma):
    rng = np.random.default_rng(levels)
    y = rng.random(30) < 0.4
    X = rng.integers(0, levels, size=(30, 1)) / (2.0 if levels < 10 else 300.0)
    problem = make_problem(as_rows(X), y)
    scores_plus, scores_minus = X[y][:, 0] * 1.5, X[~y][:, 0] * 1.5
    pool, chosen, theta = Pool(problem), set(), 0.4
    for number, count in enumerate((7, 1, 20, 33)):
        unchosen = Unchosen(pool, np.array([1.5]), theta, gamma)
        drawn = HardSampler(measure).draw(unchosen, count, rng)
        n_pairs = int(np.floor(gamma * count + 0.5))
        n_points = min(count - n_pairs, 30 - sum(NONE in term for term in chosen)) if gamma < 1 else 0
        n_pairs = count - n_points if gamma > 0 else 0
        expected = reference.hard_pairs(measure == "closeness", scores_plus, scores_minus, chosen, n_pairs)
        points = []
        for row in range(30):
            at = int(np.count_nonzero(y[:row] == y[row]))
            term = (at, NONE) if y[row] else (NONE, at)
            m = scores_plus[at] - theta if y[row] else theta - scores_minus[at]
            value = abs(m) if measure == "closeness" else -max(0, 1 - m)
            if term not in chosen:
                points.append((value, row, term))
        expected += [term for _, _, term in sorted(points)[:n_points]]
        assert list(zip(drawn.i.tolist(), drawn.j.tolist(), strict=True)) == expected
        np.testing.assert_array_equal(drawn.probability, 1)
        assert drawn.rejected == 0
        pool.add(drawn.i, drawn.j, drawn.probability, round_number=number, correct_bias=True)
        chosen |= set(expected)


# The protocol


class OnlyBare:
    """A sampler that is no subclass of anything: the first free pairs in order."""

    def draw(self, unchosen, count, rng):
        n = unchosen.problem.n_negative
        places = np.arange(unchosen.problem.n_pairs)
        i, j = places // n, places % n
        free = ~unchosen.is_chosen(i, j)
        return Draw(i[free][:count], j[free][:count], np.full(min(count, int(free.sum())), 0.5), 3)


def test_samplers_of_the_users_own():
    class Wrong(SoftSampler):
        def probability(self, margins):
            return (margins < 0).astype(float)

    problem = easy_problem(0.001)
    settings = Settings(Wrong(), budget=200, batch_size=20)
    for state in active_sampling(problem, settings, np.random.default_rng(0)):
        if len(state.history) > 1:
            break
    assert np.all(state.pool.probability == 1)
    state = fit_active(problem, Settings(OnlyBare(), budget=60, batch_size=20), np.random.default_rng(0))
    assert [done.rejected for done in state.history] == [0, 3, 3]
    np.testing.assert_array_equal(state.pool.probability[20:], 0.5)
    np.testing.assert_allclose(state.upper[20:] / state.upper[0], 2.0)


@pytest.mark.parametrize(
    ("drawn", "message"),
    [
        (Draw(np.array([0, 0]), np.array([1, 1]), np.ones(2), 0), "drawn only once"),
        (Draw(np.array([99]), np.array([1]), np.ones(1), 0), "0 <= i < 40"),
        (Draw(np.array([-1]), np.array([-1]), np.ones(1), 0), "-1 for one of the two"),
        (Draw(np.array([1]), np.array([1]), np.zeros(1), 0), r"in \(0, 1\]"),
        (Draw(np.array([1]), np.array([1]), np.array([np.nan]), 0), r"in \(0, 1\]"),
        (Draw(np.array([1]), np.array([1, 2]), np.ones(1), 0), "at most the 10 terms"),
        (Draw(np.arange(11), np.arange(11), np.ones(11), 0), "at most the 10 terms"),
    ],
)
def test_what_a_sampler_must_not_return(drawn, message):
    class Fixed:
        def draw(self, unchosen, count, rng):
            return drawn

    with pytest.raises(ValueError, match=message):
        fit_active(easy_problem(1.0), Settings(Fixed(), budget=100, batch_size=10), np.random.default_rng(0))


@pytest.mark.parametrize("value", [-0.1, 1.5, np.nan])
def test_probabilities_outside_0_1_are_refused(value):
    class Odd(SoftSampler):
        def probability(self, margins):
            return np.full(len(margins), value)

    with pytest.raises(ValueError, match=r"Odd.probability must return one number in \[0, 1\]"):
        Odd().draw(Unchosen(Pool(easy_problem(1.0)), np.ones(2), 0.0, 1.0), 3, np.random.default_rng(0))


def test_names_of_samplers():
    with pytest.raises(ValueError, match=r"'soft-correct'.*got 'softest'"):
        make_sampler("softest")
    with pytest.raises(ValueError, match=r"a method draw.*type int"):
        make_sampler(3)


# Sizes beyond 2^63 pairs


class VirtualRows:
    """2^41 rows that are computed when they are asked for."""

    n_rows, n_features = 2**41, 2

    def __init__(self):
        self.asked = 0

    def take(self, rows):
        self.asked += len(rows)
        values = np.column_stack([np.sin(rows % 1000) + 0.3 * (rows < 2**40), np.cos(rows % 777)])
        return DenseRows(np.ascontiguousarray(values))

    def scores(self, w, rows):
        return self.take(rows).scores_between(w, 0, len(rows))

    def scores_between(self, w, start, stop):
        raise AssertionError("all rows were asked for")


@pytest.mark.parametrize("gamma", [0.5, "uniform", 1.0])
@pytest.mark.parametrize("name", list(SAMPLERS))
def test_more_pairs_than_64_bits(name, gamma):
    rows = VirtualRows()
    problem = Problem(rows, RowRange(0, 2**40), RowRange(2**40, 2**41))
    assert problem.n_pairs == 2**80
    number = problem.n_pairs / (problem.n_pairs + problem.n_points) if gamma == "uniform" else gamma
    settings = Settings(make_sampler(name), gamma=number, budget=300, batch_size=50)
    state = fit_active(problem, settings, np.random.default_rng(0))
    assert len(state.pool) == 300
    i, j = state.pool.row_numbers()
    assert np.all((i < 2**40) & ((j >= 2**40) | (j == NONE)))
    assert np.max(i) > 2**38
    assert rows.asked < 100_000
