"""Checkpoints: a run that was killed and resumed equals one that was not, bit for bit."""

import json
import signal
import subprocess
import time

import numpy as np
import pytest

from pairsift import checkpoint as checkpoints
from pairsift import load_model, make_ranking
from pairsift.active import make_settings
from pairsift.budget import parse_budget
from pairsift.checkpoint import FILE, Checkpoint, CheckpointError, fingerprint
from pairsift.data.problem import make_problem
from pairsift.data.rows import as_rows
from pairsift.sampling import SAMPLERS
from pairsift.training_run import INTERRUPTED, train_active
from test_cli import COMMAND, one_line, run, write_svmlight

OPTIONS = {
    "C": 0.1,
    "gamma": 1.0,
    "sampling": "soft-correct",
    "bias_correction": True,
    "threshold": False,
    "budget": 600,
    "batch_size": 50,
    "tol": 1e-3,
    "max_iter": 1000,
}


class Killed(Exception):
    pass


@pytest.fixture(scope="module")
def problem():
    X, y = make_ranking(3000, 6, random_state=0)
    return make_problem(as_rows(X), y == 1)


@pytest.fixture(autouse=True)
def every_round(monkeypatch):
    monkeypatch.setattr(checkpoints, "_SECONDS_BETWEEN", 0.0)
    monkeypatch.setattr(checkpoints, "_SHARE_OF_TIME", 1e9)


def train(problem, folder=None, resume=False, consumers=(), seed=1, run=None, **options):
    options, run = {**OPTIONS, **options}, run or {}
    kept = None if folder is None else Checkpoint(folder, {**options, **run}, resume=resume)
    rng = np.random.default_rng(seed)
    settings = make_settings(problem, **options)
    budget = parse_budget(options["budget"])
    return train_active(problem, settings, budget, rng, consumers=consumers, checkpoint=kept, **run)


def killer(at):
    def consumer(state):
        if len(state.history) == at:
            raise Killed

    return consumer


def same(a, b):
    for name in ("i", "j", "round", "probability", "value", "alpha"):
        np.testing.assert_array_equal(getattr(a.state.pool, name), getattr(b.state.pool, name))
    np.testing.assert_array_equal(a.state.solution.w, b.state.solution.w)
    assert a.theta == b.theta
    assert a.curve == b.curve
    assert a.state.stop_reason == b.state.stop_reason
    assert [done[:3] for done in a.state.history] == [done[:3] for done in b.state.history]


@pytest.mark.parametrize("at", [2, 7, 12])
@pytest.mark.parametrize("sampling", SAMPLERS)
def test_resumed_equals_undisturbed(problem, tmp_path, sampling, at):
    options = {"sampling": sampling, "gamma": 0.7, "threshold": True}
    whole = train(problem, **options)
    with pytest.raises(Killed):
        train(problem, tmp_path, consumers=[killer(at)], **options)
    same(train(problem, tmp_path, resume=True, **options), whole)


@pytest.mark.parametrize(
    ("options", "watched"),
    [
        ({}, {"validation": 0.2}),
        ({"budget": 3000}, {"validation": 0.2, "early_stopping": True}),
        ({"budget": "400KB"}, {}),
        ({"budget": "600KB"}, {"validation": 0.2}),
        ({"bias_correction": False, "sampling": "soft-close"}, {}),
    ],
)
def test_checks_and_bytes_are_resumed_too(problem, tmp_path, options, watched):
    rounds = []
    whole = train(problem, run=watched, consumers=[lambda state: rounds.append(len(state.history))], **options)
    last = rounds[-1]  # with early stopping the state of an earlier round is kept
    for at in {min(3, last), min(6, last), last - 1, last}:
        folder = tmp_path / str(at)
        with pytest.raises(Killed):
            train(problem, folder, consumers=[killer(at)], run=watched, **options)
        same(train(problem, folder, resume=True, run=watched, **options), whole)


class Steps:
    """Notes what the last rounds took of the limit, after each round."""

    def __init__(self):
        self.after = {}

    def begin(self, watch, limit):
        self.limit = limit

    def __call__(self, state):
        self.after[len(state.history)] = list(self.limit.steps)


def test_a_limit_remembers_the_last_rounds(problem, tmp_path):
    whole, resumed = Steps(), Steps()
    train(problem, budget="400KB", consumers=[whole])
    with pytest.raises(Killed):
        train(problem, tmp_path, budget="400KB", consumers=[killer(4)])
    train(problem, tmp_path, resume=True, budget="400KB", consumers=[resumed])
    assert list(resumed.after) == list(whole.after)[3:]
    assert all(steps == whole.after[at] for at, steps in resumed.after.items())


def test_a_run_without_a_seed_goes_on_with_its_own(problem, tmp_path):
    with pytest.raises(Killed):
        train(problem, tmp_path / "a", consumers=[killer(5)], seed=7, run={"validation": 0.2})
    resumed = train(problem, tmp_path / "a", resume=True, seed=None, run={"validation": 0.2})
    same(resumed, train(problem, seed=7, run={"validation": 0.2}))


def test_killed_in_the_last_solve(problem, tmp_path, monkeypatch):
    """The rounds were at their end by a limit: none may follow when it goes on."""
    from pairsift import training_run

    whole = train(problem, budget="400KB")

    def killed(*arguments):
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(training_run, "finish", killed)
        with pytest.raises(Killed):
            train(problem, tmp_path, budget="400KB")
    same(train(problem, tmp_path, resume=True, budget="400KB"), whole)


def test_an_interrupted_run_goes_on(problem, tmp_path):
    ended = train(problem, tmp_path, consumers=[lambda s: INTERRUPTED if len(s.history) == 4 else None])
    assert ended.state.stop_reason == INTERRUPTED
    assert len(ended.state.pool) == 200
    same(train(problem, tmp_path, resume=True), train(problem))


def test_an_interrupted_run_keeps_the_best_check(problem):
    """Without early stopping too: what was drawn after it is dropped, and the rest solved."""
    kept = set()
    for at in range(6, 31, 6):
        stop = [lambda s, at=at: INTERRUPTED if len(s.history) == at else None]
        ended = train(problem, consumers=stop, budget=3000, run={"validation": 0.2})
        best = max(ended.curve, key=lambda check: check.auc)
        assert len(ended.state.pool) == ended.state.history[-1].pairs == ended.validated.pairs
        assert len(ended.state.pool) == min(best.pairs, 50 * at)
        assert ended.state.solution.relative_gap <= 1e-3
        kept.add(len(ended.state.pool) == 50 * at)
    assert False in kept, "the best check was always the last one"


def test_what_does_not_fit_is_refused(problem, tmp_path):
    with pytest.raises(Killed):
        train(problem, tmp_path, consumers=[killer(5)])
    with pytest.raises(CheckpointError, match=r"did not end. Add --resume"):
        train(problem, tmp_path)
    with pytest.raises(CheckpointError, match=r"a run with C = 0.1; now it is 0.2"):
        train(problem, tmp_path, resume=True, C=0.2)
    X, y = make_ranking(3000, 6, random_state=1)
    with pytest.raises(CheckpointError, match="other data"):
        train(make_problem(as_rows(X), y == 1), tmp_path, resume=True)
    assert not (tmp_path / (FILE + ".partial")).exists()


def test_damaged_files_are_refused(problem, tmp_path):
    with pytest.raises(Killed):
        train(problem, tmp_path, consumers=[killer(5)])
    good = (tmp_path / FILE).read_bytes()
    rng = np.random.default_rng(0)
    for cut in [0, 5, 9, 100, len(good) // 2, len(good) - 1]:
        (tmp_path / FILE).write_bytes(good[:cut])
        with pytest.raises(CheckpointError, match="damaged checkpoint"):
            train(problem, tmp_path, resume=True)
    for _ in range(60):
        place = int(rng.integers(len(good)))
        flipped = good[:place] + bytes([good[place] ^ (1 << int(rng.integers(8)))]) + good[place + 1 :]
        (tmp_path / FILE).write_bytes(flipped)
        with pytest.raises(CheckpointError, match="damaged checkpoint"):
            train(problem, tmp_path, resume=True)


def test_the_fingerprint_sees_rows_and_weights():
    X, y = make_ranking(400, 6, random_state=0)
    weights = np.ones(400)
    prints = [fingerprint(make_problem(as_rows(X), y == 1))]
    assert fingerprint(make_problem(as_rows(X.copy()), y == 1)) == prints[0]
    X = X.copy()
    X[7, 3] += 1e-9
    prints.append(fingerprint(make_problem(as_rows(X), y == 1)))
    prints.append(fingerprint(make_problem(as_rows(X), y == 1, weights)))
    weights[11] = 2
    prints.append(fingerprint(make_problem(as_rows(X), y == 1, weights)))
    assert len({json.dumps(one) for one in prints}) == 4


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("checkpoint")
    X, y = make_ranking(6000, 20, random_state=0)
    write_svmlight(folder / "train.svm", X, y)
    return folder


def test_the_command_refuses_in_one_line_and_removes_what_is_done(folder, tmp_path):
    arguments = [
        "fit",
        folder / "train.svm",
        "--method",
        "active",
        "-o",
        tmp_path / "m",
        "--checkpoint",
        tmp_path / "c",
        "--budget",
        "300",
    ]
    assert "--checkpoint DIR" in one_line(run("fit", folder / "train.svm", "-o", tmp_path / "m", "--resume"), 2)
    done = run(*arguments)
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "c" / FILE).exists()
    (tmp_path / "c" / FILE).write_bytes(b"other")
    assert "Add --resume" in one_line(run(*arguments), 1)
    assert "damaged checkpoint" in one_line(run(*arguments, "--resume"), 1)


@pytest.mark.slow
def test_twenty_kills(folder, tmp_path):
    """SIGKILL at random moments of the whole process, each time resumed until it ends: the bits of one run."""
    options = ["--budget", "6000", "--random-state", "4", "--validation", "0.1"]
    started = time.monotonic()
    whole = run("fit", folder / "train.svm", "--method", "active", "-o", tmp_path / "whole", *options)
    took = time.monotonic() - started
    assert whole.returncode == 0, whole.stderr
    expected = load_model(tmp_path / "whole")
    rng = np.random.default_rng(0)
    killed_with_checkpoint = 0
    for k in range(20):
        home, model = tmp_path / f"run{k}", tmp_path / f"model{k}"
        line = ["fit", folder / "train.svm", "--method", "active", "-o", model, *options, "--checkpoint", home]
        process = subprocess.Popen([*COMMAND, *map(str, line)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(float(rng.uniform(0, took)))
        process.send_signal(signal.SIGKILL)
        process.wait()
        killed_with_checkpoint += (home / FILE).exists()
        done = run(*line, "--resume")
        assert done.returncode == 0, done.stderr
        found = load_model(model)
        np.testing.assert_array_equal(found.coef_, expected.coef_)
        np.testing.assert_array_equal(found.intercept_, expected.intercept_)
        assert found.details["training"]["validation_curve"] == expected.details["training"]["validation_curve"]
    assert killed_with_checkpoint >= 3, "the kills came too early or too late to say something"
