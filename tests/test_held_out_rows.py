"""Which rows are held out, what is measured on them, and that nothing else sees them."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.sparse import csr_array

from in_process import run
from pairsift import AutoRanker, RowStore, auc_interval, load_model, make_ranking
from pairsift.budget import parse_budget
from pairsift.data.drawn_rows import Drawing
from pairsift.data.held_by import held_by
from pairsift.data.holdout import hold_out_by
from pairsift.data.problem import make_problem
from pairsift.data.rows import as_rows
from pairsift.judge import Judge, auc_of_parts
from pairsift.reference import row_key
from pairsift.search import growing, parts, sizes
from pairsift.search.growing import auto_training
from pairsift.search.options import DEFAULTS, make_auto_settings
from pairsift.search.rule import LEAST_GAIN, is_shown
from pairsift.search.run import train_auto
from pairsift.search.walk import Walk

GIVEN = {"C": 50.0, "terms": "points", "loss": "logistic", "tol": 1e-9, "random_state": 0}


def keys(X, seed=3):
    return as_rows(X).keys(seed)


def test_keys_of_rows_are_those_of_the_reference():
    rng = np.random.default_rng(0)
    X = np.where(rng.random((50, 7)) < 0.5, 0.0, rng.normal(size=(50, 7)))
    X[3], X[4, 2] = 0.0, -0.0
    assert keys(X).tolist() == [row_key(row, 3) for row in X]
    assert np.array_equal(keys(csr_array(X)), keys(X))
    single = X.astype(np.float32)
    assert np.array_equal(keys(single), keys(single.astype(np.float64)))
    assert not np.any(keys(X) == keys(X, seed=4))
    assert keys(X[:, ::-1].copy()).tolist() != keys(X).tolist()


def test_different_rows_have_different_keys_that_are_uniform():
    X = np.random.default_rng(0).integers(0, 40, (100_000, 4)).astype(float)
    different = np.unique(X, axis=0)
    found = keys(different)
    assert len(np.unique(found)) == len(different)
    counts = np.histogram(found.astype(np.float64) / 2**64, bins=50, range=(0, 1))[0]
    assert np.sum((counts - counts.mean()) ** 2 / counts.mean()) < 49 + 5 * np.sqrt(2 * 49)


def cut(X, y, held_share=0.0, weights=None, seed=0):
    problem = make_problem(as_rows(X), y == 1, weights)
    order = parts.RowOrder(seed)
    rows = parts.LearningRows(Drawing(problem, np.random.default_rng(seed), order=order), order, held_share)
    return rows, rows.parts(10**6)


@pytest.mark.parametrize("n", [120, 2000, 60_000])
def test_equal_rows_are_on_one_side(n):
    X, y = make_ranking(n // 3, 4, positive_rate=0.4, random_state=0)
    X, y = np.tile(X, (3, 1)), np.tile(y, 3)
    rows, found = cut(X, y, held_share=0.1 if n > 10_000 else 0.0)
    held = np.concatenate([piece.order for piece in rows.held_out]) if rows.held_out else np.empty(0)
    assert bool(len(held)) == (n > 10_000)
    for part in found:
        learned = np.concatenate([piece.order for piece in part.learning])
        judged = part.judging.order
        assert not np.isin(judged, learned).any()
        assert not np.isin(held, np.concatenate([learned, judged])).any()
        if n <= 2000:  # all rows take part, each three times
            assert np.all(np.unique(judged, return_counts=True)[1] == 3)


@pytest.mark.parametrize(("n", "folds"), [(150, 5), (6000, 1)])
def test_parts_have_the_stated_shares(n, folds):
    X, y = make_ranking(n, 4, positive_rate=0.5, random_state=0)
    _, found = cut(X, y)
    assert len(found) == folds
    for part in found:
        share = part.judging.rows.n_rows / n
        assert share == pytest.approx(parts.JUDGING_SHARE, abs=0.1 if folds > 1 else 0.02)
        n_learned = sum(piece.rows.n_rows for piece in part.learning)
        assert part.judging.rows.n_rows + n_learned == n
        assert sum(part.weight) == pytest.approx(n_learned, rel=0.15)


def test_the_larger_class_judges_with_more_rows_than_it_is_learned_from():
    X, y = make_ranking(100_000, 3, positive_rate=0.03, random_state=0)
    _, (part,) = cut(X, y)
    assert part.judging.n_negative > 4000
    (learned,) = part.learning
    assert learned.n_negative <= parts.LEARNING_ROWS + 10
    assert learned.n_positive == pytest.approx(0.8 * np.sum(y == 1), rel=0.02)


def test_rows_that_are_all_equal_cannot_be_held_out():
    X, y = np.ones((8000, 3)), np.arange(8000) % 2
    model = AutoRanker(random_state=0).fit(X, y)
    assert np.isnan(model.holdout_).all()
    assert model.n_rows_.tolist() == [4000, 4000]
    assert model.trials_ == []


def last_state(X, y, weights=None, **options):
    problem = make_problem(as_rows(X), y == 1, weights)
    settings = make_auto_settings(problem, **{**DEFAULTS, **options})
    *_, state = auto_training(problem, settings, np.random.default_rng(0))
    return problem, state


def test_a_part_of_its_own_is_neither_learned_from_nor_chosen_by(monkeypatch):
    monkeypatch.setattr(growing, "LEAST_LEFT", -1.0)  # all rows are used
    X, y = make_ranking(20_000, 4, positive_rate=0.4, random_state=0)
    _, state = last_state(X, y, C=50.0, terms="points", loss="logistic")
    held = parts.joined(state.held_out)
    assert held.rows.n_rows + sum(state.n_rows) == len(y)
    assert held.n_positive >= sizes.ROWS_TO_SEE
    model = AutoRanker(**GIVEN).fit(X, y)
    (seed,) = (int(np.random.default_rng(0).integers(2**63)),)
    rest = ~np.isin(as_rows(X).keys(seed), held.order)
    assert model.n_rows_.tolist() == [np.sum(rest & (y == 0)), np.sum(rest & (y == 1))]
    alone = AutoRanker(**GIVEN)
    alone._holds_out = False
    alone.fit(X[rest], y[rest])
    assert model.coef_ == pytest.approx(alone.coef_, rel=1e-5)
    on_held = auc_interval(y[~rest], model.decision_function(X[~rest]))
    assert model.holdout_ == pytest.approx(on_held, abs=1e-12)


def test_with_few_rows_the_model_learns_from_all_of_them():
    X, y = make_ranking(2000, 4, positive_rate=0.4, random_state=0)
    model, alone = AutoRanker(random_state=0), AutoRanker(random_state=0)
    alone._holds_out = False
    model.fit(X, y)
    alone.fit(X, y)
    assert model.n_rows_.sum() == 2000
    assert np.array_equal(model.coef_, alone.coef_)
    assert np.array_equal(model.intercept_, alone.intercept_)
    assert np.isnan(alone.holdout_.value)
    assert model.holdout_.low < model.holdout_.value < model.holdout_.high


@pytest.mark.slow
@pytest.mark.parametrize(("n", "least"), [(400, 33), (12_000, 33)])
def test_the_interval_covers_the_auc_on_new_rows(n, least):
    """Of 40 intervals of 95 % at least 33 (0.3 % of the time fewer, were the coverage 93 %)."""
    X, y = make_ranking(40 * n + 200_000, 6, positive_rate=0.3, auc=0.85, random_state=0)
    covered = 0
    for seed in range(40):
        part = slice(seed * n, (seed + 1) * n)
        model = AutoRanker(random_state=seed).fit(X[part], y[part])
        covered += model.holdout_.low <= model.score(X[40 * n :], y[40 * n :]) <= model.holdout_.high
    assert covered >= least


@pytest.mark.parametrize("n", [300, 1200])
def test_copies_of_rows_do_not_leak(n):
    """Labels that are noise, each row five times: a split of copies would give an AUC far above one half."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(n, 60)), rng.integers(0, 2, n)
    model = AutoRanker(random_state=0).fit(np.repeat(X, 5, axis=0), np.repeat(y, 5))
    assert model.score(X, y) > 0.6
    assert model.holdout_.value == pytest.approx(0.5, abs=4 * 0.6 / np.sqrt(n))
    assert max(abs(trial.value - 0.5) for trial in model.trials_) < 4 * 0.6 / np.sqrt(n)


def test_parts_together_are_the_share_of_pairs_in_order():
    rng = np.random.default_rng(0)
    verdicts, right, pairs = [], 0.0, 0
    for n, m in ((5, 9), (20, 4)):
        X, y = rng.normal(size=(n + m, 1)), np.arange(n + m) < n
        drawn = Drawing(make_problem(as_rows(X), y), rng).draw(n, m)
        verdicts.append(Judge.of(drawn)(np.ones(1)))
        right += np.sum(X[y] > X[~y].T)
        pairs += n * m
    value, low, high = auc_of_parts(verdicts)
    assert value == pytest.approx(right / pairs)
    assert 0 <= low < value < high <= 1


def test_the_auc_of_one_part_is_auc_interval_and_only_proportions_of_weights_count():
    X, y = make_ranking(500, 1, positive_rate=0.3, random_state=0)
    drawn = Drawing(make_problem(as_rows(X), y == 1), np.random.default_rng(0)).draw(500, 500)
    assert auc_of_parts([Judge.of(drawn)(np.ones(1))]) == pytest.approx(auc_interval(y, X[:, 0]), abs=1e-12)
    w, found = np.random.default_rng(1).random(500), []
    for scale in (1.0, 7.0):
        problem = make_problem(as_rows(X), y == 1, scale * w)
        drawn = Drawing(problem, np.random.default_rng(0)).draw(500, 500)
        found.append(auc_of_parts([Judge.of(drawn)(np.ones(1))]))
    assert found[0] == pytest.approx(found[1])


# --- the rule ---


class _At:
    """A verdict with an AUC and a given error of every difference."""

    def __init__(self, auc, error):
        self.auc, self.error = auc, error

    def gain_over(self, other):
        return self.auc - other.auc, self.error


def walk_of(aucs, error, default):
    walk = Walk([(lambda C: np.array([C]), lambda w: _At(aucs[float(w[0])], error))])
    walk._default = default
    for C in aucs:
        for _ in walk._try(C):
            pass
    return walk


def test_a_gain_is_shown_beyond_chance_and_beyond_what_anybody_cares_for():
    assert is_shown(0.0013, 0.001)
    assert not is_shown(0.0011, 0.001)
    assert not is_shown(LEAST_GAIN, 0.0)


@pytest.mark.parametrize(
    ("aucs", "error", "chosen"),
    [
        ({1.0: 0.9, 10.0: 0.9003, 0.1: 0.8}, 0.001, 1.0),
        ({1.0: 0.9, 10.0: 0.9013, 0.1: 0.8}, 0.001, 10.0),
        ({1.0: 0.9, 10.0: 0.9013, 100.0: 0.9014}, 0.001, 10.0),
        ({1.0: 0.9, 10.0: 0.9, 0.1: 0.9021, 0.01: 0.9022}, 0.001, 0.1),
    ],
)
def test_the_value_nearest_the_default_that_cannot_be_told_from_the_best(aucs, error, chosen):
    assert walk_of(aucs, error, 1.0).chosen() == chosen


# --- hold out by a column ---


def frame_data(n=12_000):
    """Rows of 200 customers over 400 days; what customers have in common, and the drift, cannot be learned."""
    rng = np.random.default_rng(0)
    X, y = make_ranking(n, 3, positive_rate=0.4, random_state=0)
    customer = rng.integers(0, 200, n)
    day = rng.permutation(np.arange(n) * 400 // n)
    return pd.DataFrame(X, columns=["a", "b", "c"]), y, customer, day


FRAMES = {
    "pandas": lambda frame: frame,
    "polars": pl.from_pandas,
    "arrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
}


@pytest.fixture
def seen(monkeypatch):
    """The rows that each training held out and learned from, as (first column of a row)."""
    states = []
    original = growing.auto_training

    def watched(problem, settings, rng):
        for state in original(problem, settings, rng):
            yield state
        states.append((problem, settings, state))

    monkeypatch.setattr("pairsift.search.run.auto_training", watched)
    return states


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("kind", ["numbers", "dates", "words"])
def test_hold_out_by_a_column(frame, kind, seen):
    rows, y, customer, day = frame_data()
    values = {
        "numbers": day,
        "dates": pd.to_datetime("2024-01-01") + pd.to_timedelta(day, unit="D"),
        "words": np.array([f"customer {k}" for k in customer]),
    }[kind]
    made = FRAMES[frame](rows.assign(when=values))
    model = AutoRanker(holdout_by="when", random_state=0).fit(made, y)
    ((_, _, state),) = seen
    held = np.isin(rows["a"].to_numpy(), parts.joined(state.held_out).rows.values[:, 0])
    assert 0.05 < held.mean() < 0.25
    if kind == "words":
        assert not set(customer[held]) & set(customer[~held])
    else:
        assert day[held].min() > day[~held].max()
    assert model.coef_.shape == (1, 3)
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    scores = model.decision_function(rows)
    assert np.array_equal(model.decision_function(made), scores)
    assert model.holdout_ == pytest.approx(auc_interval(y[held], scores[held]), abs=1e-12)


def test_the_choice_holds_out_by_the_column_too(monkeypatch):
    rows, y, _, day = frame_data()
    found = []
    original = parts.LearningRows.parts
    monkeypatch.setattr(parts.LearningRows, "parts", lambda self, most: found.append(original(self, most)) or found[-1])
    AutoRanker(holdout_by="day", random_state=0).fit(rows.assign(day=day), y)
    ((part,),) = found
    day_of = dict(zip(rows["a"], day, strict=True))
    learned = [day_of[value] for piece in part.learning for value in piece.rows.values[:, 0]]
    judged = [day_of[value] for value in part.judging.rows.values[:, 0]]
    assert max(learned) < min(judged)


def test_in_time_both_classes_are_learned_from_over_the_same_period(monkeypatch):
    """Thinning the larger class to its oldest rows would let a drifting column tell the classes apart."""
    X, y = make_ranking(120_000, 3, positive_rate=0.03, random_state=0)
    day = np.random.default_rng(0).integers(0, 400, len(y))
    found = []
    original = parts.LearningRows.parts
    monkeypatch.setattr(parts.LearningRows, "parts", lambda self, most: found.append(original(self, most)) or found[-1])
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    AutoRanker(holdout_by="day", random_state=0).fit(frame.assign(day=day), y)
    ((part,),) = found
    (learned,) = part.learning
    day_of = dict(zip(X[:, 0], day, strict=True))
    days = np.array([day_of[value] for value in learned.rows.values[:, 0]])
    assert learned.n_negative < 5000
    assert days[: learned.n_positive].mean() == pytest.approx(days[learned.n_positive :].mean(), abs=15)


def test_few_rows_by_words_are_cut_into_folds_of_whole_values(monkeypatch):
    rows, y, customer, _ = frame_data(800)
    seen = []
    from pairsift.search import holdout

    original = holdout._folds

    def watched(*args):
        for training, column, judging in original(*args):
            seen.append((training.rows.values[np.concatenate([training.positives, training.negatives])], judging))
            yield training, column, judging

    monkeypatch.setattr(holdout, "_folds", watched)
    model = AutoRanker(holdout_by="who", random_state=0).fit(rows.assign(who=customer.astype(str)), y)
    assert model.n_rows_.sum() == 800
    of = dict(zip(rows["a"], customer, strict=True))
    assert len(seen) == parts.FOLDS
    for learned, judging in seen:
        assert not {of[value] for value in learned[:, 0]} & {of[value] for value in judging.rows.values[:, 0]}


def test_customers_that_can_be_told_apart_do_not_flatter():
    """Each customer has one label, and a column tells customers apart: by rows .9 and more, by customers chance."""
    rng = np.random.default_rng(0)
    customer = rng.integers(0, 60, 6000)
    label = rng.integers(0, 2, 60)
    X = pd.DataFrame(np.eye(60)[customer] + 0.01 * rng.normal(size=(6000, 60)), columns=[f"x{k}" for k in range(60)])
    by_rows = AutoRanker(random_state=0).fit(X, label[customer])
    by_customers = AutoRanker(holdout_by="who", random_state=0).fit(
        X.assign(who=[f"c{k}" for k in customer]), label[customer]
    )
    assert by_rows.holdout_.value > 0.95
    assert by_customers.holdout_.value < 0.8


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda frame: frame.drop(columns="when"), "There is no column 'when'; the columns are 'a', 'b', 'c'"),
        (lambda frame: frame.to_numpy(), "names a column of a frame"),
        (lambda frame: frame.assign(when=frame["when"].mask(frame["a"] > 1)), "is empty in .* rows"),
        (lambda frame: frame.assign(when=1), "has one value in all rows"),
        (lambda frame: frame.assign(when=[None, *["x"] * (len(frame) - 1)]), "is empty in 1 row;"),
    ],
)
def test_a_column_that_cannot_be_held_out_by(change, says):
    rows, y, _, day = frame_data(600)
    with pytest.raises(ValueError, match=says):
        AutoRanker(holdout_by="when").fit(change(rows.assign(when=day)), y)


def test_the_latest_rows_of_one_class_are_an_error():
    rows, y, _, _ = frame_data(600)
    with pytest.raises(ValueError, match=r"The latest values of 'when' cannot be held out: .* of one class only"):
        AutoRanker(holdout_by="when").fit(rows.assign(when=y), y)


def test_values_that_tell_the_class_are_an_error():
    rows, y, _, _ = frame_data(12_000)
    with pytest.raises(ValueError, match=r"The values of 'when' cannot be held out: .* of one class only"):
        AutoRanker(holdout_by="when").fit(rows.assign(when=np.where(y == 1, "a", "b")), y)


def test_few_values_are_held_out_whole(seen):
    rows, y, customer, _ = frame_data(12_000)
    region = np.array(["north", "south", "west"])[customer % 3]
    model = AutoRanker(holdout_by="region", random_state=0).fit(rows.assign(region=region), y)
    ((_, _, state),) = seen
    held = np.isin(rows["a"].to_numpy(), parts.joined(state.held_out).rows.values[:, 0])
    assert len(set(region[held])) == 1
    assert not set(region[held]) & set(region[~held])
    assert not np.isnan(model.holdout_.value)


def test_a_row_store_has_no_column_to_hold_out_by(tmp_path):
    X, y = make_ranking(200, 2, positive_rate=0.5, random_state=0)
    np.savez(tmp_path / "rows.npz", X=X, y=y)
    assert run("convert", tmp_path / "rows.npz", "-o", tmp_path / "rows.arrow").returncode == 0
    with pytest.raises(ValueError, match="names a column of a frame"):
        AutoRanker(holdout_by="day").fit(RowStore(tmp_path / "rows.arrow"))


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("kind", ["day", "date", "who"])
def test_the_command_holds_out_by_a_column_as_python_does(tmp_path, ending, kind):
    rows, y, customer, day = frame_data()
    values = {
        "day": day,
        "date": (pd.to_datetime("2024-01-01") + pd.to_timedelta(day, unit="D")).strftime("%Y-%m-%d"),
        "who": np.array([f"customer {k}" for k in customer]),
    }[kind]
    frame = rows.round(6).assign(**{kind: values})
    path = tmp_path / f"rows.{ending}"
    table = frame.assign(y=y)
    table.to_csv(path, index=False) if ending == "csv" else table.to_parquet(path)
    done = run("fit", path, "--label", "y", "--holdout-by", kind, "-o", tmp_path / "m", "--random-state", "0")
    assert done.returncode == 0, done.stderr
    assert "AUC on held-out rows" in done.stdout
    model = AutoRanker(holdout_by=kind, random_state=0).fit(frame, y)
    kept = load_model(tmp_path / "m")
    assert kept.coef_ == pytest.approx(model.coef_, rel=1e-9)
    assert kept.details["training"]["holdout"]["value"] == pytest.approx(model.holdout_.value, abs=1e-12)
    assert kept.feature_names_in_.tolist() == ["a", "b", "c"]


@pytest.mark.parametrize("kind", ["day", "who"])
def test_rows_for_probabilities_are_held_out_by_the_column_too(kind):
    rows, y, customer, day = frame_data(3000)
    values = {"day": day, "who": customer.astype(str)}[kind]
    problem = make_problem(as_rows(rows.to_numpy()), y == 1)
    training, held = hold_out_by(held_by(kind, values), problem, 0.1, np.random.default_rng(0))
    kept, out = (np.concatenate([part.positives, part.negatives]) for part in (training, held))
    assert len(kept) + len(out) == 3000
    assert len(out) == pytest.approx(300, abs=40)
    assert not set(values[kept]) & set(values[out])
    if kind == "day":
        assert day[out].min() > day[kept].max()


@pytest.mark.parametrize("column", ["y", "w"])
def test_rows_are_not_held_out_by_the_label_or_the_weight(tmp_path, column):
    rows, y, _, _ = frame_data(600)
    rows.assign(y=y, w=1.0).to_csv(tmp_path / "t.csv", index=False)
    done = run("fit", tmp_path / "t.csv", "--label", "y", "--weight", "w", "--holdout-by", column, "-o", tmp_path / "m")
    assert done.returncode == 1
    assert f"Rows cannot be held out by '{column}': it is the label or the weight." in done.stderr


# --- rows that repeat, values that are few or uneven, columns as people have them ---


def test_with_rows_that_repeat_all_of_them_are_measured(monkeypatch):
    """Four columns of five categories: some rows stand a thousand times, a share of different ones is no sample."""
    monkeypatch.setattr(growing, "LEAST_LEFT", -1.0)
    rng = np.random.default_rng(0)
    codes = rng.choice(5, (30_000, 4), p=[0.6, 0.2, 0.1, 0.07, 0.03])
    X = np.concatenate([np.eye(5)[codes[:, k]] for k in range(4)], axis=1)
    chance = 1 / (1 + np.exp(2.0 - codes @ [0.5, 0.3, 0.2, 0.1]))
    y = (rng.random(30_000) < chance).astype(int)
    for seed in range(5):
        model = AutoRanker(C=50.0, terms="points", loss="logistic", random_state=seed).fit(X, y)
        assert model.n_rows_.sum() == 30_000
        assert model.holdout_.value == pytest.approx(model.score(X, y), abs=0.05)
        assert model.holdout_.high - model.holdout_.low > 0.02  # that of 30,000 rows of their own is 0.015


def test_an_interval_of_clusters_is_wider():
    """Each row ten times is worth no more than once."""
    X, y = make_ranking(300, 1, positive_rate=0.4, random_state=0)

    def interval(times):
        problem = make_problem(as_rows(np.repeat(X, times, axis=0)), np.repeat(y, times) == 1)
        piece = Drawing(problem, np.random.default_rng(0), order=parts.RowOrder(0)).draw(10**6, 10**6)
        return auc_of_parts([Judge.of(piece)(np.ones(1))], clusters=[piece.order])

    once, ten = interval(1), interval(10)
    assert ten[0] == pytest.approx(once[0])
    assert ten[2] - ten[1] == pytest.approx(once[2] - once[1], rel=0.05)


@pytest.mark.slow
def test_the_interval_by_customer_covers_new_customers():
    """300 customers of 20 visits, whose chance is their own: of 40 intervals at least 33 hold the AUC of new ones."""
    rng = np.random.default_rng(0)

    def visits(n):
        taste = rng.normal(size=n)
        traits = taste[:, np.newaxis] * [1.0, 0.5] + rng.normal(size=(n, 2))
        label = (taste + rng.normal(size=n) > 0.8).astype(int)
        who = np.repeat(np.arange(n), 20)
        frame = pd.DataFrame(traits[who] + 0.3 * rng.normal(size=(20 * n, 2)), columns=["a", "b"])
        return frame.assign(who=[f"c{k}" for k in who]), label[who]

    X_new, y_new = visits(4000)
    covered = 0
    for seed in range(40):
        model = AutoRanker(holdout_by="who", terms="points", loss="logistic", random_state=seed).fit(*visits(300))
        covered += model.holdout_.low <= model.score(X_new, y_new) <= model.holdout_.high
    assert covered >= 33


def test_the_latest_rows_that_are_most_of_all_are_an_error():
    rows, y, _, _ = frame_data(12_000)
    year = np.where(np.arange(12_000) % 20 == 0, 2023, 2024)
    with pytest.raises(ValueError, match=r"The latest values of 'year' cannot be held out: .* more than 67% of all"):
        AutoRanker(holdout_by="year").fit(rows.assign(year=year), y)


@pytest.mark.parametrize("seed", range(4))
def test_a_word_of_most_rows_is_not_held_out(seed, seen):
    rows, y, _, _ = frame_data(12_000)
    size = np.where(np.arange(12_000) % 20 == 0, "small", "big")
    model = AutoRanker(holdout_by="size", random_state=seed).fit(rows.assign(size=size), y)
    assert model.n_rows_.sum() == np.sum(size == "big")
    assert model.trials_ == []  # no other value is left to choose by


def test_few_periods_are_enough_to_choose_by():
    rows, y, _, _ = frame_data(12_000)
    model = AutoRanker(holdout_by="year", random_state=0).fit(rows.assign(year=2015 + np.arange(12_000) % 3), y)
    assert model.trials_
    assert model.n_rows_.sum() == 8000


@pytest.mark.parametrize(
    "change",
    [
        lambda day: pd.Series(day.strftime("%Y-%m-%d")),
        lambda day: pd.Series(day.strftime("%Y-%m-%d %H:%M:%S")),
        lambda day: pd.Series(day.tz_localize("Europe/Zurich")),
        lambda day: pd.Series(day.strftime("%Y-%m-%d"), dtype="string"),
    ],
)
def test_dates_as_people_have_them(change, seen):
    rows, y, _, day = frame_data()
    dates = pd.to_datetime("2024-01-01") + pd.to_timedelta(day, unit="D")
    AutoRanker(holdout_by="when", random_state=0).fit(rows.assign(when=change(dates)), y)
    ((_, _, state),) = seen
    held = np.isin(rows["a"].to_numpy(), parts.joined(state.held_out).rows.values[:, 0])
    assert day[held].min() > day[~held].max()


def test_months_are_in_time_and_categories_of_numbers_are_words():
    assert held_by("month", np.array(["2024-02", "2023-11"])).in_time
    rows, y, customer, _ = frame_data(3000)
    as_words = rows.assign(who=pd.Categorical(customer))
    as_text = rows.assign(who=customer.astype(str))
    models = [AutoRanker(holdout_by="who", random_state=0).fit(frame, y) for frame in (as_words, as_text)]
    assert np.array_equal(models[0].coef_, models[1].coef_)


@pytest.mark.parametrize("shown", ["01.05.2024", "5/31/2024", "31-05-2024"])
def test_dates_in_another_order_are_refused(shown):
    with pytest.raises(ValueError, match="looks like dates that are not in ISO order"):
        held_by("day", np.array([shown, shown.replace("5", "6")]))


@pytest.mark.parametrize("dtype", ["string", "boolean", "Int64"])
def test_missing_values_of_pandas_are_named(dtype):
    rows, y, _, _ = frame_data(600)
    when = pd.Series([True, False] * 300).astype(dtype)
    when[3] = pd.NA
    with pytest.raises(ValueError, match="is empty in 1 row;"):
        AutoRanker(holdout_by="when").fit(rows.assign(when=when), y)


def test_a_column_that_occurs_twice_and_a_series_are_refused():
    rows, y, _, day = frame_data(600)
    twice = pd.concat([rows.assign(when=day), pd.DataFrame({"when": day})], axis=1)
    with pytest.raises(ValueError, match="'when' occurs more than once"):
        AutoRanker(holdout_by="when").fit(twice, y)
    with pytest.raises(ValueError, match="names a column of a frame"):
        AutoRanker(holdout_by="when").fit(pl.Series(day), y)


@pytest.mark.parametrize("budget", ["20MB", "4MB"])
def test_a_budget_of_bytes_bounds_all_that_is_read(budget):
    X, y = make_ranking(600_000, 8, positive_rate=0.002, random_state=0)
    read = []
    rows = as_rows(X)
    take = rows.take
    rows.take = lambda numbers: read.append(len(numbers)) or take(numbers)
    problem = make_problem(rows, y == 1)
    settings = make_auto_settings(problem, **{**DEFAULTS, "budget": budget})
    done = train_auto(problem, settings, parse_budget(budget), np.random.default_rng(0))
    most = parse_budget(budget).bytes
    assert sum(read) * 64 <= most
    assert done.bytes_read <= most
    assert done.state.stop_reason == "budget of bytes reached"


def test_a_budget_of_seconds_that_is_used_up_measures_nothing(monkeypatch):
    X, y = make_ranking(2000, 5, positive_rate=0.3, random_state=0)
    monkeypatch.setattr("pairsift.search.holdout._folds", lambda *args: pytest.fail("folds were drawn"))
    model = AutoRanker(budget="1ms", random_state=0).fit(X, y)
    assert np.isnan(model.holdout_.value)
