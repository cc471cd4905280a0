"""Budgets of pairs, seconds and bytes, and what ends a training."""

import numpy as np
import pytest

from pairsift import ActiveRankSVM, make_ranking
from pairsift.active import ALL_TERMS_USED, BUDGET_REACHED, NO_TERM_LEFT
from pairsift.budget import Budget, parse_budget
from pairsift.data.counted_rows import CountedRows, row_bytes
from pairsift.data.rows import as_rows
from pairsift.sampling import SAMPLERS, Draw
from pairsift.training_run import BYTES_USED, INTERRUPTED, SECONDS_USED, Limit, follow

CHOSEN = ["i", "j", "round", "probability"]


@pytest.fixture(scope="module")
def data():
    return make_ranking(4000, 8, random_state=0)


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        (8000, Budget(pairs=8000)),
        (np.int32(5), Budget(pairs=5)),
        ("8000", Budget(pairs=8000)),
        ("30s", Budget(seconds=30.0)),
        ("500ms", Budget(seconds=0.5)),
        ("2m", Budget(seconds=120.0)),
        ("1.5s", Budget(seconds=1.5)),
        (".5 h", Budget(seconds=1800.0)),
        ("2GB", Budget(bytes=2_000_000_000)),
        ("1.5kb", Budget(bytes=1500)),
        ("3MiB", Budget(bytes=3 * 2**20)),
        ("7B", Budget(bytes=7)),
    ],
)
def test_words(given, meant):
    assert parse_budget(given) == meant


@pytest.mark.parametrize(
    "given", [0, -1, 1.5, True, None, "", "s", "-3s", "0s", "3 parsecs", "2M", "0.1B", "1.5", "nan", "infs", "8000 9"]
)
def test_other_words_are_refused(given):
    with pytest.raises(ValueError, match="budget must be a whole number of at least 1"):
        parse_budget(given)


@pytest.mark.parametrize("gamma", [1.0, 0.6])
@pytest.mark.parametrize("sampling", SAMPLERS)
def test_seconds_choose_the_pairs_of_as_many_pairs(data, sampling, gamma):
    timed = ActiveRankSVM(sampling=sampling, gamma=gamma, budget="80ms", random_state=3).fit(*data)
    assert timed.stop_reason_ == SECONDS_USED
    counted = ActiveRankSVM(sampling=sampling, gamma=gamma, budget=timed.n_pairs_, random_state=3).fit(*data)
    assert counted.stop_reason_ == BUDGET_REACHED
    np.testing.assert_array_equal(timed.pairs_[CHOSEN], counted.pairs_[CHOSEN])
    assert timed.pairs_["weight"].sum() == pytest.approx(0.1 * 8000)


def test_bytes_choose_the_pairs_of_as_many_pairs_and_the_same_bits_each_time(data):
    models = [ActiveRankSVM(sampling="soft-correct", budget="300KB", random_state=3).fit(*data) for _ in range(2)]
    assert models[0].stop_reason_ == BYTES_USED
    np.testing.assert_array_equal(models[0].coef_, models[1].coef_)
    counted = ActiveRankSVM(sampling="soft-correct", budget=models[0].n_pairs_, random_state=3).fit(*data)
    np.testing.assert_array_equal(models[0].pairs_[CHOSEN], counted.pairs_[CHOSEN])
    assert 100 < models[0].n_pairs_ < 300_000 / (2 * 8 * 8)


def test_the_model_of_seconds_is_about_that_of_8000_pairs(data):
    X, y = data
    timed = ActiveRankSVM(sampling="soft-correct", budget="300ms", random_state=3).fit(X[:2000], y[:2000])
    counted = ActiveRankSVM(sampling="soft-correct", random_state=3).fit(X[:2000], y[:2000])
    assert abs(timed.score(X[2000:], y[2000:]) - counted.score(X[2000:], y[2000:])) < 0.02


@pytest.mark.parametrize("sampling", SAMPLERS)
def test_few_terms_are_all_used(data, sampling):
    """At most 8000 at once; a few more when sampling has left fewer than a round."""
    X, y = data
    positives, negatives = np.flatnonzero(y)[:90], np.flatnonzero(~y.astype(bool))
    for n_negative in (60, 93):
        rows = np.concatenate([positives, negatives[:n_negative]])
        options = {"sampling": sampling, "batch_size": 2000, "random_state": 0}
        timed = ActiveRankSVM(budget="60s", **options).fit(X[rows], y[rows])
        never_right = sampling in ("soft-correct", "soft-tolerant")  # they draw no pairs that are right already
        if not never_right or n_negative == 60:
            assert timed.n_pairs_ == 90 * n_negative
            assert timed.stop_reason_ == ALL_TERMS_USED
        counted = ActiveRankSVM(budget=timed.n_pairs_, **options).fit(X[rows], y[rows])
        np.testing.assert_array_equal(timed.pairs_[CHOSEN], counted.pairs_[CHOSEN])


def test_no_term_left_is_what_a_budget_of_so_many_gives():
    """Soft-correct runs out of pairs below the margin; what it then reports is what budget=n draws."""
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.uniform(0.0, 2.0, (300, 1)), rng.uniform(-2.0, 0.4, (300, 1))])
    y = np.repeat([1, 0], 300)
    timed = ActiveRankSVM(sampling="soft-correct", C=10.0, budget="60s", batch_size=500, random_state=0).fit(X, y)
    assert timed.stop_reason_ == NO_TERM_LEFT
    counted = ActiveRankSVM(sampling="soft-correct", C=10.0, budget=timed.n_pairs_, batch_size=500, random_state=0).fit(
        X, y
    )
    np.testing.assert_array_equal(timed.pairs_[CHOSEN], counted.pairs_[CHOSEN])


class Scarce:
    """Draws among few terms, and otherwise when it is asked for more."""

    def draw(self, unchosen, count, rng):
        i, j = np.divmod(np.arange(9100), 91)
        free = np.flatnonzero(~unchosen.is_chosen(i, j))
        rng.random(count)
        drawn = rng.permutation(free)[:count]
        return Draw(i[drawn], j[drawn], np.ones(len(drawn)), 0.0)


def test_a_draw_that_comes_short_is_made_again_as_a_budget_would(data):
    timed = ActiveRankSVM(sampling=Scarce(), budget="60s", batch_size=2000, random_state=0).fit(*data)
    assert timed.stop_reason_ == NO_TERM_LEFT
    assert 9100 <= timed.n_pairs_ <= 9100 + 2000
    counted = ActiveRankSVM(sampling=Scarce(), budget=timed.n_pairs_, batch_size=2000, random_state=0).fit(*data)
    np.testing.assert_array_equal(timed.pairs_[CHOSEN], counted.pairs_[CHOSEN])


def test_counted_rows_are_the_rows_and_count():
    X = np.random.default_rng(0).normal(size=(50, 4))
    counted, plain, w = CountedRows(as_rows(X)), as_rows(X), np.arange(4.0)
    some = np.array([3, 3, 9])
    np.testing.assert_array_equal(counted.scores(w, some), plain.scores(w, some))
    np.testing.assert_array_equal(counted.scores_between(w, 5, 15), plain.scores_between(w, 5, 15))
    np.testing.assert_array_equal(counted.take(some).values, X[some])
    assert counted.rows_read == 3 + 10 + 3
    assert counted.bytes_read == 16 * 4 * 8
    assert row_bytes(plain) == 32


class Loop:
    """States that are not of active sampling."""

    def __init__(self, number, stop_reason=None):
        self.number, self.stop_reason = number, stop_reason


def test_follow_knows_nothing_of_the_training():
    seen, kept = [], []
    states = (Loop(k, "done" if k == 4 else None) for k in range(5))
    last, reason = follow(states, [lambda state: seen.append(state.number)], lambda s, r: kept.append((s.number, r)))
    assert (last.number, reason) == (4, None)
    assert seen == [0, 1, 2, 3, 4]
    assert kept == [(0, None), (1, None), (2, None), (3, None)]
    last, reason = follow(map(Loop, range(9)), [lambda s: "enough" if s.number == 2 else None, lambda s: "late"][:1])
    assert (last.number, reason) == (2, "enough")


def test_an_interrupt_keeps_the_last_state_once_there_is_one_where_that_is_wanted():
    def states(n):
        for k in range(n):
            yield Loop(k)
        raise KeyboardInterrupt

    last, reason = follow(states(3), [], on_interrupt="keep")
    assert (last.number, reason) == (2, INTERRUPTED)
    for count, wish in ((0, "keep"), (3, "raise")):
        with pytest.raises(KeyboardInterrupt):
            follow(states(count), [], on_interrupt=wish)
    with pytest.raises(KeyboardInterrupt):
        follow(states(3), [])


def test_a_limit_leaves_room_for_the_next_round_and_the_end():
    spent = [0.0]
    limit = Limit(10.0, lambda: spent[0], "spent", lambda state: 2.0)
    answers = []
    for spent[0] in (1.0, 4.0, 5.0, 5.5):
        answers.append(limit(None))
    assert answers == [None, None, None, "spent"]  # 5.5 + 3, the longest step, + 2 is more than 10


@pytest.mark.parametrize("at", [2, 40])
def test_ctrl_c_in_a_notebook_keeps_the_model_where_that_is_wanted(data, monkeypatch, at):
    """The interrupt comes within a round, after its terms have come into the pool."""
    from pairsift import active

    train, calls = active._train, []

    def interrupted(*arguments, **options):
        calls.append(1)
        if len(calls) == at:
            raise KeyboardInterrupt
        return train(*arguments, **options)

    monkeypatch.setattr(active, "_train", interrupted)
    with pytest.raises(KeyboardInterrupt):
        ActiveRankSVM(random_state=0).fit(*data)
    calls.clear()
    model = ActiveRankSVM(on_interrupt="keep", random_state=0).fit(*data)
    assert model.stop_reason_ == INTERRUPTED
    assert model.n_pairs_ == len(model.pairs_) == 100 * (at - 1)
    assert len(model.history_) == at - 1
    assert model.gap_ <= 1e-3
    assert model.pairs_["weight"].sum() == pytest.approx(800)
    calls[:] = [1] * (at - 1)
    if at == 2:
        calls.clear()
        monkeypatch.setattr(active, "_train", lambda *a, **k: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            ActiveRankSVM(on_interrupt="keep", random_state=0).fit(*data)
