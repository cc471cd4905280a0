"""Rows of a store that were read to be scored are not read again; candidates that no round has looked at are kept."""

import numpy as np
import pytest

from pairsift import ActiveRankSVM, make_ranking
from pairsift.data.counted_rows import CountedRows
from pairsift.data.problem import make_problem
from pairsift.data.remembered_rows import MOST_ROWS, RememberedRows, remembering
from pairsift.data.rows import CsrRows, as_rows
from pairsift.data.scaled_rows import ScaledStore
from pairsift.data.scaling import Scaling
from pairsift.pairs import Pool
from pairsift.sampling.unchosen import Unchosen
from pairsift.threshold import RUN, SAMPLED_ROWS, draw_runs


@pytest.fixture(params=[None, 0.5], ids=["dense", "sparse"])
def store(request, tmp_path):
    return make_ranking(20_000, 6, density=request.param, random_state=0, path=tmp_path / "rows.arrow")


def same(found, expected):
    if isinstance(found, CsrRows):
        assert np.array_equal(found.columns, expected.columns)
        assert np.array_equal(np.diff(found.starts), np.diff(expected.starts))
    assert np.array_equal(found.values, expected.values)


def test_what_was_scored_is_not_read_again(store):
    counted = CountedRows(store)
    rows, w = RememberedRows(counted), np.arange(6.0)
    first, second = np.array([5, 19_999, 7, 5]), np.array([100, 3])
    for numbers in (first, second):
        assert np.array_equal(rows.scores(w, numbers), store.scores(w, numbers))
    read = counted.rows_read
    same(rows.take(np.array([3, 7, 19_999])), store.take(np.array([3, 7, 19_999])))
    assert counted.rows_read == read == 6
    same(rows.take(np.array([7])), store.take(np.array([7])))  # forgotten by now
    assert counted.rows_read == read + 1


def test_some_are_remembered_and_some_are_not(store):
    counted = CountedRows(store)
    rows = RememberedRows(counted)
    rows.scores(np.ones(6), np.array([8, 2, 4]))
    wanted = np.array([9, 4, 0, 8])
    same(rows.take(wanted), store.take(wanted))
    assert counted.rows_read == 3 + 2


def test_what_was_put_back_is_remembered_for_a_round(store):
    counted = CountedRows(store)
    rows, w = RememberedRows(counted), np.ones(6)
    rows.scores(w, np.array([1, 2, 3]))
    rows.scores(w, np.array([11, 12, 13]))
    rows.put_back(2)
    rows.take(np.array([1, 11]))
    read = counted.rows_read
    for numbers in (np.array([2, 3, 4]), np.array([12, 13, 14, 15])):
        assert np.array_equal(rows.scores(2 * w, numbers), store.scores(2 * w, numbers))
    assert counted.rows_read == read + 3
    same(rows.take(np.array([3, 4, 13])), store.take(np.array([3, 4, 13])))
    assert counted.rows_read == read + 3


def test_many_candidates_are_not_kept(store):
    counted = CountedRows(store)
    rows, many = RememberedRows(counted), np.arange(MOST_ROWS + 1)
    rows.scores(np.ones(6), many)
    rows.put_back(3)
    rows.take(many[:2])
    assert counted.rows_read == len(many) + 2


def test_which_sources_have_a_memory(store):
    assert isinstance(remembering(store), RememberedRows)
    assert isinstance(remembering(ScaledStore(store, Scaling("none"))), RememberedRows)
    in_memory, counted = store.between(0, 10), CountedRows(store)
    assert remembering(in_memory) is in_memory
    assert remembering(counted) is counted


def test_a_fit_reads_each_candidate_once(store, monkeypatch):
    """Two rows for each candidate that was looked at, and no more than a round's of those that were not."""
    read, take = [], type(store).take
    monkeypatch.setattr(type(store), "take", lambda self, rows: read.append(len(rows)) or take(self, rows))
    model = ActiveRankSVM(sampling="soft-correct", budget=2000, gamma=1.0, random_state=0).fit(store)
    looked_at = model.n_pairs_ + model.n_rejected_
    last_round = 2 * (model.history_[-1].rejected + 200)
    assert 2 * looked_at <= sum(read) - store.n_rows <= 2 * looked_at + last_round  # all rows are the threshold's


def test_candidates_that_were_put_back_come_first_unless_they_are_chosen():
    problem = make_problem(as_rows(np.ones((60, 1))), np.arange(60) < 20)
    pool, rng = Pool(problem), np.random.default_rng(0)
    unchosen = Unchosen(pool, np.ones(1), 0.0, 1.0)
    i, j = unchosen.candidates(10, rng)
    unchosen.put_back(i[4:], j[4:])
    pool.add(i[5:6], j[5:6], np.ones(1), round_number=0, correct_bias=True)
    left = [(a, b) for a, b in zip(i[4:], j[4:], strict=True) if (a, b) != (i[5], j[5])]
    next_i, next_j = Unchosen(pool, np.ones(1), 0.0, 1.0).candidates(3, rng)
    assert list(zip(next_i, next_j, strict=True)) == left[:3]
    next_i, next_j = Unchosen(pool, np.ones(1), 0.0, 1.0).candidates(20, rng)
    assert list(zip(next_i, next_j, strict=True))[: len(left) - 3] == left[3:]
    assert len(next_i) == 20
    assert len(pool.unseen[0]) == 0


def test_runs_of_the_threshold_reach_every_place_alike():
    n, rng = 3 * SAMPLED_ROWS + 7, np.random.default_rng(0)
    counts, repeats = np.zeros(n), 300
    for _ in range(repeats):
        at = draw_runs(n, rng)
        assert len(np.unique(at)) == SAMPLED_ROWS
        assert np.all(np.diff(at.reshape(-1, RUN), axis=1) == 1)
        assert at[0] >= 0
        assert at[-1] < n
        counts[at] += 1
    expected = repeats * SAMPLED_ROWS / n
    inner = counts[RUN:-RUN]
    assert np.mean(inner) == pytest.approx(expected, rel=1e-2)
    assert np.max(np.abs(inner - expected)) < 5.5 * np.sqrt(expected * (1 - SAMPLED_ROWS / n))
    assert counts[0] > 0
    assert counts[-1] > 0
