"""The validation part: every row on one side, stratified, the same for arrays and stores, without N numbers."""

import tracemalloc

import numpy as np
import pytest

from pairsift.data.blocks import ArrayBlocks
from pairsift.data.convert import convert
from pairsift.data.generate import make_ranking
from pairsift.data.holdout import RangeWithout, hold_out
from pairsift.data.problem import Problem, RowRange, make_problem
from pairsift.data.rows import as_rows
from pairsift.sampling.unchosen import _score_places
from pairsift.solvers.exact import fit_exact


def make(n=1000, rate=0.2, weighted=False, seed=0):
    X, y = make_ranking(n, 4, positive_rate=rate, random_state=seed)
    weights = np.random.default_rng(1).uniform(0.5, 2, n) if weighted else None
    return X, y, make_problem(as_rows(X), y > 0, weights), weights


@pytest.mark.parametrize("share", [0.1, 0.37, 0.9])
def test_each_row_is_on_one_side_and_classes_keep_their_shares(share):
    _, _, problem, _ = make()
    training, validation = hold_out(problem, share, np.random.default_rng(3))
    for side in ("positives", "negatives"):
        whole = np.asarray(getattr(problem, side))
        kept, held = np.asarray(getattr(training, side)), np.asarray(getattr(validation, side))
        assert len(held) == round(share * len(whole))
        assert np.array_equal(np.sort(np.concatenate([kept, held])), whole)
        assert np.all(np.diff(kept) > 0)
        assert np.all(np.diff(held) > 0)
    assert training.rows is problem.rows
    assert validation.rows is problem.rows


def test_weights_go_along():
    _, _, problem, weights = make(weighted=True)
    for part in hold_out(problem, 0.3, np.random.default_rng(0)):
        assert np.array_equal(part.positive_weights, weights[part.positives])
        assert np.array_equal(part.negative_weights, weights[part.negatives])


def test_limit():
    _, _, problem, _ = make()
    training, validation = hold_out(problem, 0.5, np.random.default_rng(0), limit=30)
    assert (validation.n_positive, validation.n_negative) == (30, 30)
    assert training.n_points == problem.n_points - 60


def test_small_classes_keep_a_row_on_either_side():
    rows = as_rows(np.eye(7))
    problem = make_problem(rows, np.array([True, True, False, False, False, False, False]))
    for share in (0.01, 0.99):
        training, validation = hold_out(problem, share, np.random.default_rng(0))
        assert (training.n_positive, validation.n_positive) == (1, 1)
        assert min(training.n_negative, validation.n_negative) >= 1


def test_every_row_is_equally_likely():
    _, _, problem, _ = make(60)
    rng, counts, draws = np.random.default_rng(0), np.zeros(60), 4000
    for _ in range(draws):
        _, validation = hold_out(problem, 0.25, rng)
        counts[validation.positives] += 1
        counts[validation.negatives] += 1
    for places in (problem.positives, problem.negatives):
        rate = round(0.25 * len(places)) / len(places)
        assert np.all(np.abs(counts[places] / draws - rate) < 5 * np.sqrt(rate * (1 - rate) / draws))


def test_range_without_is_numpy_delete():
    rng = np.random.default_rng(0)
    for _ in range(50):
        n = int(rng.integers(2, 40))
        left_out = np.sort(rng.choice(n, size=int(rng.integers(1, n)), replace=False))
        expected = np.delete(np.arange(n) + 5, left_out)
        places = RangeWithout(RowRange(5, 5 + n), left_out)
        assert len(places) == len(expected)
        assert np.array_equal(places[np.arange(len(places))], expected)
        assert np.array_equal(np.asarray(places), expected)
        assert np.array_equal(places[1:-1], expected[1:-1])
        assert [places[k] for k in range(len(places))] == expected.tolist()


@pytest.mark.parametrize("weighted", [False, True])
def test_store_and_arrays_give_the_same_parts_and_bits(tmp_path, weighted):
    X, y, problem, weights = make(900, weighted=weighted)
    store = convert(ArrayBlocks(X, y, weights, block_rows=100), tmp_path / "rows.arrow")
    memory = hold_out(problem, 0.2, np.random.default_rng(5))
    stored = hold_out(store.problem(), 0.2, np.random.default_rng(5))
    for a, b in zip(memory, stored, strict=True):
        for side in ("positives", "negatives"):
            rows = np.asarray(getattr(b, side))
            assert np.array_equal(store.original_rows(rows), getattr(a, side))
        if weighted:
            assert np.array_equal(a.negative_weights, b.negative_weights)
    w = np.random.default_rng(2).standard_normal(4)
    for side in ("positives", "negatives"):
        scores = [_score_places(part[0].rows, w, getattr(part[0], side)) for part in (memory, stored)]
        assert scores[0].tobytes() == scores[1].tobytes()
    exact = [fit_exact(part[0], 10.0, "squared_hinge", tol=1e-8, max_iter=100, seed=0).w for part in (memory, stored)]
    assert np.allclose(*exact, rtol=1e-6)


@pytest.mark.parametrize("limit", [None, 40])
def test_equal_rows_stay_together_and_a_weight_of_two_is_the_row_twice(limit):
    X, y, _, _ = make(400)
    times = np.random.default_rng(2).integers(1, 4, 400)
    weighted = make_problem(as_rows(X), y > 0, times.astype(float))
    twice = make_problem(as_rows(np.repeat(X, times, axis=0)), np.repeat(y, times) > 0)
    _, one = hold_out(weighted, 0.25, np.random.default_rng(5), limit)
    kept, other = hold_out(twice, 0.25, np.random.default_rng(5), limit)
    rows_of = [set(map(tuple, part.rows.values[part.positives])) for part in (kept, other, one)]
    assert not rows_of[0] & rows_of[1]
    if limit is None:
        assert rows_of[1] == rows_of[2]
    else:
        assert max(other.n_positive, other.n_negative) <= limit


def test_huge_classes_cost_no_memory():
    problem = Problem(as_rows(np.eye(2)), RowRange(0, 10**12), RowRange(10**12, 10**13))
    tracemalloc.start()
    training, validation = hold_out(problem, 0.1, np.random.default_rng(0))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20e6
    assert validation.n_positive == validation.n_negative == 20_000
    assert training.n_negative == 9 * 10**12 - 20_000
    assert training.negatives[len(training.negatives) - 1] in (10**13 - 1, 10**13 - 2)


def test_same_seed_same_parts():
    _, _, problem, _ = make()
    first, again, other = (hold_out(problem, 0.2, np.random.default_rng(seed))[1].positives for seed in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize("share", [0, 1, -0.1, 1.5, True])
def test_share_must_be_between(share):
    _, _, problem, _ = make(50)
    with pytest.raises(ValueError, match="above 0 and below 1; got"):
        hold_out(problem, share, np.random.default_rng(0))


def test_one_row_of_a_class_is_refused():
    problem = make_problem(as_rows(np.eye(4)), np.array([True, False, False, False]))
    with pytest.raises(ValueError, match=r"at least 2 rows of each class .* got 1 positive and 3 negative"):
        hold_out(problem, 0.5, np.random.default_rng(0))
