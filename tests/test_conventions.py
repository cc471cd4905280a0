"""What users of scikit-learn expect: interrupts, labels, scores, verbose, and no parameter that is ignored."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV

from in_process import run
from pairsift import (
    ActiveRankSVM,
    AutoRanker,
    CombinedRankingRegression,
    RankSVM,
    RowStore,
    WeightedSVM,
    auc,
    load_model,
    make_ranking,
)
from pairsift.search import holdout

EVERY = [ActiveRankSVM, AutoRanker, CombinedRankingRegression, RankSVM, WeightedSVM]
RANKERS = [ActiveRankSVM, AutoRanker]


@pytest.fixture(scope="module")
def data():
    return make_ranking(30_000, 8, positive_rate=0.3, random_state=0)


# --- interrupts ---


class Interrupted:
    """A ranker's `_report` that presses Ctrl-C at a state."""

    def __init__(self, model, moment):
        self.model, self.moment, self.states = model, moment, []
        model._report = self

    def __call__(self, state):
        self.states.append(state)
        if len(self.states) == self.moment:
            raise KeyboardInterrupt


@pytest.mark.parametrize("kind", RANKERS)
@pytest.mark.parametrize("moment", [1, 4])
def test_an_interrupt_leaves_fit_unless_the_model_is_to_be_kept(kind, moment, data):
    model = kind(random_state=0)
    Interrupted(model, moment)
    with pytest.raises(KeyboardInterrupt):
        model.fit(*data)
    assert not hasattr(model, "coef_")
    model = kind(random_state=0, on_interrupt="keep")
    seen = Interrupted(model, moment)
    model.fit(*data)
    assert model.stop_reason_ == "interrupted"
    assert len(seen.states) == moment
    assert model.score(*data) > 0.7


def test_an_interrupt_of_the_folds_keeps_the_model(monkeypatch):
    X, y = make_ranking(1500, 4, positive_rate=0.3, random_state=0)
    whole = AutoRanker(random_state=0).fit(X, y)
    original = holdout.auto_training
    for moment in (1, 2):
        started = []

        def interrupted(*args, moment=moment, started=started):
            started.append(args)
            if len(started) == moment:
                raise KeyboardInterrupt
            return original(*args)

        monkeypatch.setattr(holdout, "auto_training", interrupted)
        model = AutoRanker(random_state=0, on_interrupt="keep").fit(X, y)
        assert model.stop_reason_ == "all rows used"
        assert np.array_equal(model.coef_, whole.coef_)
        assert np.isnan(model.holdout_.value) == (moment == 1)
        started.clear()
        with pytest.raises(KeyboardInterrupt):
            AutoRanker(random_state=0).fit(X, y)


def test_an_interrupt_of_the_threshold_keeps_the_model(monkeypatch):
    X, y = make_ranking(1500, 4, positive_rate=0.3, random_state=0)

    def interrupted(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr("pairsift.search.run.balanced_threshold", interrupted)
    model = AutoRanker(random_state=0, terms="pairs", on_interrupt="keep").fit(X, y)
    assert model.score(X, y) > 0.8
    with pytest.raises(KeyboardInterrupt):
        AutoRanker(random_state=0, terms="pairs").fit(X, y)


def test_a_callback_and_verbose_see_the_fit_and_not_its_folds(capsys):
    X, y = make_ranking(1500, 4, positive_rate=0.3, random_state=0)
    states = []
    model = AutoRanker(random_state=0, verbose=2)
    original = model._report
    model._report = lambda state: states.append(state) or original(state)
    model.fit(X, y)
    assert not np.isnan(model.holdout_.value)
    assert max(sum(state.n_rows) for state in states) == 1500
    assert sum(state.stop_reason is not None for state in states) == 1
    assert len(capsys.readouterr().err.splitlines()) == len(states)


SEARCH = """
import sys
from sklearn.model_selection import GridSearchCV
from pairsift import AutoRanker, make_ranking
X, y = make_ranking(60_000, 30, positive_rate=0.3, random_state=0)
print("ready", flush=True)
try:
    GridSearchCV(AutoRanker(), {"budget": list(range(1000, 4000))}, cv=5).fit(X, y)
except KeyboardInterrupt:
    print("KeyboardInterrupt", flush=True)
    raise
"""


def test_sigint_ends_a_grid_search():
    with subprocess.Popen(
        [sys.executable, "-c", SEARCH],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    ) as search:
        assert search.stdout.readline() == "ready\n"
        time.sleep(1.0)
        assert search.poll() is None
        search.send_signal(signal.SIGINT)
        out, error = search.communicate(timeout=30)
    assert out == "KeyboardInterrupt\n"
    assert "KeyboardInterrupt" in error
    assert search.returncode != 0


@pytest.mark.parametrize("method", ["auto", "active"])
def test_the_command_keeps_the_model_at_sigint(tmp_path, method):
    X, y = make_ranking(150_000, 60, positive_rate=0.3, random_state=0)
    np.savez(tmp_path / "rows.npz", X=X, y=y)
    slow = {
        "auto": ["--C", "1e9", "--terms", "pairs", "--loss", "hinge", "--tol", "1e-9", "--budget", "200000"],
        "active": ["--budget", "5000000"],
    }
    command = ["fit", "rows.npz", "-o", "model", "--method", method, *slow[method]]
    code = f"import sys; from pairsift.cli import main; sys.argv = ['pairsift', *{command!r}]; main()"
    with subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    ) as fit:
        time.sleep(2.0)
        assert fit.poll() is None, fit.stderr.read()
        fit.send_signal(signal.SIGINT)
        out, error = fit.communicate(timeout=60)
    assert fit.returncode == 0, error
    assert "Interrupted: the model of" in error
    assert "trained on" in out
    assert auc(y, load_model(tmp_path / "model").decision_function(X)) > 0.7


# --- scores ---


@pytest.mark.parametrize("kind", EVERY)
def test_an_unfitted_model_has_no_score(kind, data):
    for call in (
        lambda: kind().score(*data),
        lambda: kind().decision_function(data[0]),
        lambda: kind().predict(data[0]),
    ):
        with pytest.raises(NotFittedError, match=f"This {kind.__name__} instance is not fitted yet"):
            call()


def test_the_score_of_a_row_store_uses_its_weights(tmp_path):
    X, y = make_ranking(3000, 4, positive_rate=0.3, random_state=0)
    w = np.random.default_rng(0).integers(0, 5, 3000).astype(float)
    np.savez(tmp_path / "rows.npz", X=X, y=y, sample_weight=w)
    assert run("convert", tmp_path / "rows.npz", "-o", tmp_path / "rows.arrow").returncode == 0
    store = RowStore(tmp_path / "rows.arrow")
    assert store.weights_between(0, 10) is not None
    model = RankSVM(random_state=0).fit(X, y)
    weighted, plain = model.score(X, y, w), model.score(X, y)
    assert model.score(store) == pytest.approx(weighted, abs=1e-12)
    assert abs(weighted - plain) > 1e-4


def test_early_stopping_uses_sample_weights():
    """Half of the rows have turned labels and no weight to speak of: they must not decide."""
    X, y = make_ranking(8000, 5, positive_rate=0.5, auc=0.9, random_state=0)
    turned = np.random.default_rng(0).random(8000) < 0.5
    y, w = np.where(turned, 1 - y, y), np.where(turned, 1e-6, 1.0)
    model = ActiveRankSVM(validation=0.3, early_stopping=True, budget=3000, random_state=0).fit(X, y, w)
    assert all(check.auc > 0.8 for check in model.validation_curve_)
    assert model.score(X[~turned], y[~turned]) > 0.87


# --- verbose ---


@pytest.mark.parametrize("kind", RANKERS)
def test_verbose_writes_lines_to_standard_error(kind, data, capsys):
    counts = []
    for verbose in (0, 1, 2):
        kind(random_state=0, verbose=verbose).fit(*data)
        out, error = capsys.readouterr()
        assert out == ""
        counts.append(len(error.splitlines()))
    assert counts[0] == 0 < counts[1] < counts[2]


# --- labels ---


@pytest.mark.parametrize("kind", EVERY)
def test_words_that_are_no_known_pair_give_a_warning_that_names_both(kind):
    X, y = make_ranking(300, 3, positive_rate=0.4, random_state=0)
    with pytest.warns(UserWarning, match="'fraud' is taken as the positive label and 'clean' as the negative one"):
        model = kind(random_state=0).fit(X, np.array(["clean", "fraud"])[y])
    assert model.classes_.tolist() == ["clean", "fraud"]
    assert model.score(X, np.array(["clean", "fraud"])[y]) > 0.6


@pytest.mark.parametrize(
    "pair", [("no", "yes"), ("No", "Yes"), ("n", "y"), ("false", "true"), ("negative", "positive"), (0, 1), (2, 5)]
)
def test_known_pairs_and_numbers_need_no_warning(pair):
    X, y = make_ranking(300, 3, positive_rate=0.4, random_state=0)
    model = AutoRanker(random_state=0).fit(X, np.array(pair)[y])
    assert model.classes_.tolist() == list(pair)


def test_a_known_pair_in_the_other_order_gives_a_warning():
    X, y = make_ranking(300, 3, positive_rate=0.4, random_state=0)
    with pytest.warns(UserWarning, match="'no' is taken as the positive label and 'Yes' as the negative one"):
        AutoRanker(random_state=0).fit(X, np.array(["no", "Yes"])[y])


@pytest.mark.parametrize("kind", EVERY)
def test_more_than_two_labels_are_refused(kind):
    X = np.random.default_rng(0).normal(size=(30, 2))
    with pytest.raises(ValueError, match="Only binary classification is supported"):
        kind().fit(X, np.arange(30) % 3)


def csv_of(tmp_path, labels, name="t.csv"):
    rng = np.random.default_rng(0)
    lines = [f"{rng.normal() + (label == labels[-1]):.4f},{rng.normal():.4f},{label}" for label in labels]
    (tmp_path / name).write_text("\n".join(["a,b,y", *lines]) + "\n", encoding="utf-8")
    return tmp_path / name


@pytest.mark.parametrize(
    ("values", "counts", "positive", "said"),
    [
        (("no", "yes"), (50, 60), "yes", False),
        (("Yes", "no"), (50, 60), "Yes", False),
        (("0", "1"), (50, 60), 1, False),
        (("1", "2"), (50, 60), 1, True),
        (("good", "bad"), (90, 20), "bad", True),
        (("bad", "good"), (90, 20), "good", True),
    ],
)
def test_the_command_takes_the_affirmative_or_the_rarer_label(tmp_path, values, counts, positive, said):
    path = csv_of(tmp_path, [value for value, count in zip(values, counts, strict=True) for _ in range(count)])
    done = run("fit", path, "--label", "y", "-o", tmp_path / "m", "--random-state", "0")
    assert done.returncode == 0, done.stderr
    assert load_model(tmp_path / "m").classes_[1] == positive
    assert ("Positive label:" in done.stderr) == said
    if said:
        other = next(value for value in values if value != str(positive))
        again = run("fit", path, "--label", "y", "--positive", other, "-o", tmp_path / "m", "--random-state", "0")
        assert again.returncode == 0
        assert "Positive label:" not in again.stderr
        assert str(load_model(tmp_path / "m").classes_[1]) == other


@pytest.mark.parametrize("form", ["csv", "npz", "svm"])
def test_with_more_than_two_labels_positive_makes_the_others_negative(tmp_path, form):
    labels = [k % 3 for k in range(300)]
    if form == "csv":
        path = csv_of(tmp_path, labels)
        extra = ["--label", "y"]
    else:
        rng, extra = np.random.default_rng(0), []
        X = rng.normal(size=(300, 2)) + (np.array(labels) == 2)[:, np.newaxis]
        path = tmp_path / f"rows.{form}"
        if form == "npz":
            np.savez(path, X=X, y=labels)
        else:
            lines = [f"{label} 1:{row[0]:.4f} 2:{row[1]:.4f}" for label, row in zip(labels, X, strict=True)]
            path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    refused = run("fit", path, *extra, "-o", tmp_path / "m")
    assert refused.returncode == 1
    assert "Say which one is positive with --positive; all others are then negative." in refused.stderr
    done = run("fit", path, *extra, "--positive", "2", "-o", tmp_path / "m", "--random-state", "0")
    assert done.returncode == 0, done.stderr
    assert load_model(tmp_path / "m").classes_.tolist() == ["(not 2)", "2"]
    evaluated = run("evaluate", tmp_path / "m", path)
    assert evaluated.returncode == 0, evaluated.stderr
    assert "300 rows, 100 of them positive (label '2')" in evaluated.stdout


# --- parameters ---


@pytest.mark.parametrize(
    ("model", "says"),
    [
        (ActiveRankSVM(threshold=True), "threshold=True needs points"),
        (ActiveRankSVM(sampling="random", bias_correction=False), "bias_correction=False is for soft samplings"),
        (ActiveRankSVM(sampling="hard-close", bias_correction=False), "bias_correction=False is for soft samplings"),
        (ActiveRankSVM(early_stopping=True), "early_stopping needs a validation part"),
        (ActiveRankSVM(on_interrupt="stop"), "on_interrupt must be one of 'raise', 'keep'"),
        (AutoRanker(terms="pairs", loss="logistic"), 'loss="logistic" is for points'),
        (AutoRanker(on_interrupt="stop"), "on_interrupt must be one of 'raise', 'keep'"),
        (AutoRanker(holdout_by="day"), "names a column of a frame"),
        (AutoRanker(holdout_by=3), "holdout_by must be the name of a column"),
        (CombinedRankingRegression(pair_probability=1.0, point_loss="squared"), 'point_loss="squared" needs points'),
    ],
)
def test_a_parameter_that_would_not_be_used_is_refused(model, says, data):
    with pytest.raises(ValueError, match=says):
        model.fit(*data)


@pytest.mark.parametrize("name", ["gamma", "sampling", "threshold", "batch_size", "bias_correction", "validation"])
def test_the_rankers_have_no_parameters_of_each_other(name):
    with pytest.raises(TypeError, match=name):
        AutoRanker(**{name: 1})
    for foreign in ("loss", "terms", "holdout_by"):
        with pytest.raises(TypeError, match=foreign):
            ActiveRankSVM(**{foreign: "auto"})


@pytest.mark.parametrize(
    ("options", "method"),
    [
        (["--gamma", "0.5"], "active"),
        (["--sampling", "random"], "active"),
        (["--batch-size", "10"], "active"),
        (["--validation", "0.1"], "active"),
        (["--no-bias-correction"], "active"),
        (["--n-steps", "10"], "combined"),
        (["--method", "active", "--terms", "pairs"], "auto"),
        (["--method", "active", "--loss", "hinge"], "auto and exact"),
        (["--method", "exact", "--holdout-by", "day"], "auto"),
    ],
)
def test_an_option_of_another_method_ends_with_status_2_and_names_it(tmp_path, options, method):
    path = csv_of(tmp_path, [0, 1] * 50)
    done = run("fit", path, "--label", "y", "-o", tmp_path / "m", *options)
    assert done.returncode == 2
    assert f"is for --method {method}; got --method" in done.stderr
    assert not (tmp_path / "m").exists()


def test_a_grid_search_in_a_few_lines(data):
    search = GridSearchCV(AutoRanker(random_state=0), {"terms": ["pairs", "points"]}, cv=3).fit(
        data[0][:3000], data[1][:3000]
    )
    assert search.best_score_ > 0.8
