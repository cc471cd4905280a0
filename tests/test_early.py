"""Rows of more columns than rows: few Newton steps, where held-out rows show that they are better than the minimum."""

import json

import numpy as np
import pytest
from scipy.sparse import csr_array, random_array
from sklearn.datasets import dump_svmlight_file
from sklearn.preprocessing import normalize

from in_process import run
from pairsift import AutoRanker, auc, load_model, read_svmlight
from pairsift.data.drawn_rows import Drawing
from pairsift.data.problem import make_problem
from pairsift.data.rows import as_rows
from pairsift.search import choosing, early
from pairsift.solvers.mixed import solve_mixed


@pytest.fixture(scope="module")
def text():
    """8,000 texts of 9,000 words, each of length one; rare words tell as much as frequent ones. 7,000 to learn from."""
    rng = np.random.default_rng(0)
    frequency = 1 / (1 + np.arange(9000))
    drawn = random_array((8000, 9000), density=0.008, format="csr", rng=rng)
    words = rng.choice(9000, drawn.nnz, p=frequency / frequency.sum())
    X = csr_array((np.ones(drawn.nnz), words, drawn.indptr), shape=drawn.shape)
    X.sum_duplicates()
    X = normalize(X)
    score = X @ (rng.normal(size=9000) / np.sqrt(frequency))
    y = (score > np.median(score)).astype(int)
    return (X[:7000], y[:7000]), (X[7000:], y[7000:])


@pytest.fixture(scope="module")
def model(text):
    return AutoRanker(random_state=0).fit(*text[0])


def test_few_steps_are_chosen_and_are_better_than_the_minimum(text, model):
    assert (model.loss_, model.terms_) == ("squared_hinge", "points")
    assert 1 <= model.n_iter_ <= early.MOST_STEPS
    assert {trial.C for trial in model.trials_ if trial.loss == "squared_hinge"} == set(early.STRENGTHS)
    assert any(trial.loss == "hinge" for trial in model.trials_)
    others = [{"loss": "hinge", "terms": "points"}, {"loss": "squared_hinge", "terms": "points"}, {"loss": "logistic"}]
    for options in others:
        rival = AutoRanker(random_state=0, max_iter=20_000, **options).fit(*text[0])
        assert model.score(*text[1]) > rival.score(*text[1])


def test_the_model_is_that_of_as_many_steps_over_all_rows(text):
    X, y = text[0]
    model = AutoRanker(random_state=0)
    model._holds_out = False
    model.fit(X, y)
    assert model.n_rows_.sum() == len(y)
    problem = make_problem(as_rows(X), y == 1)
    drawing = Drawing(problem, np.random.default_rng(0))
    pieces = [drawing.draw(len(y), len(y))]
    steps = solve_mixed(pieces, model.C_, early.EARLY, tol=1e-3, max_iter=model.n_iter_)
    *_, last = steps
    assert model.coef_[0] == pytest.approx(last.w, rel=1e-6, abs=1e-9)
    assert model.intercept_[0] == pytest.approx(-last.theta, rel=1e-6, abs=1e-9)


def test_same_seed_same_bits(text, model):
    assert np.array_equal(AutoRanker(random_state=0).fit(*text[0]).coef_, model.coef_)


def test_the_hinge_stays_where_few_steps_are_not_shown_to_be_better(text, monkeypatch):
    monkeypatch.setattr(choosing, "is_shown", lambda gain, error: False)
    model = AutoRanker(random_state=0, max_iter=20_000).fit(*text[0])
    assert (model.loss_, model.terms_) == ("hinge", "points")
    assert model.gap_ <= 1e-3


@pytest.mark.parametrize("options", [{"C": 800.0}, {"loss": "hinge", "terms": "points"}])
def test_what_is_given_is_solved_to_its_minimum(text, options):
    model = AutoRanker(random_state=0, max_iter=20_000, **options).fit(*text[0])
    assert model.loss_ == "hinge"
    assert model.gap_ <= 1e-3


def test_there_is_a_model_after_the_first_step(text, model):
    seen = []
    watched = AutoRanker(random_state=0)
    watched._report = lambda state: seen.append(state)
    watched.fit(*text[0])
    X, y = text[1]
    assert seen[0].choice.steps == 1
    assert auc(y, X @ seen[0].solution.w) > model.score(X, y) - 0.05


def test_the_command_says_how_many_steps(text, tmp_path):
    X, y = text[0]
    short = csr_array((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), shape=X.shape)
    dump_svmlight_file(short, y, str(tmp_path / "text.svm"), zero_based=False)
    command = ["fit", "text.svm", "-o", "m", "--random-state", 0, "--n-features", 9000]
    line = run(*command, cwd=tmp_path)
    # The text has not all bits of the numbers, and by them rows are held out.
    model = AutoRanker(random_state=0).fit(*read_svmlight(tmp_path / "text.svm", n_features=9000))
    assert line.returncode == 0, line.stderr
    plural = "" if model.n_iter_ == 1 else "s"
    assert f"Squared hinge points and C = {model.C_:g}, with {model.n_iter_} Newton step{plural}, chosen" in line.stdout
    assert json.loads(run(*command, "--json", cwd=tmp_path).stdout)["steps"] == model.n_iter_
    assert load_model(tmp_path / "m").coef_ == pytest.approx(model.coef_, rel=1e-9)


def test_rows_that_are_all_equal_are_no_fault():
    X = csr_array((np.ones(6000), np.zeros(6000, dtype=int), np.arange(6001)), shape=(6000, 7000))
    model = AutoRanker(random_state=0).fit(X, np.arange(6000) % 2)
    assert np.all(np.isfinite(model.coef_))
    assert model.score(X, np.arange(6000) % 2) == 0.5
