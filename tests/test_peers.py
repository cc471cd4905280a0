"""Peers of the bench: external programs (through stand-ins), boosted trees, and the tuning that all methods share."""

import os
import time
import types

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import roc_auc_score
from sklearn.tree import DecisionTreeClassifier

from pairsift import make_ranking
from pairsift.experiments import programs
from pairsift.experiments.bench import Plan, run_bench, with_tuned
from pairsift.experiments.methods import METHODS, Setting, find_method
from pairsift.experiments.process import CellFailed, CellProcess
from pairsift.experiments.tuning import SCALES, choose_scale, search
from stand_ins import write_stand_in
from test_bench import write_part

STAND_INS = {"svm_perf": "svm_perf_learn", "sofia_ml": "sofia-ml", "ranksvm": "ranksvm-train", "vw": "vw"}


@pytest.fixture(scope="module")
def rows():
    X, y = make_ranking(600, 6, positive_rate=0.3, random_state=0)
    X[:, 5] = 0  # a column that programs never see
    X[7] = 0  # a row without features
    return sp.csr_array(np.round(X, 3)), np.where(y > 0, 1.0, -1.0)


@pytest.fixture
def places(tmp_path, monkeypatch):
    """Stand-ins under their names, on PATH or named by the user."""
    monkeypatch.setattr(programs, "_places", {})
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    logs = {key: write_stand_in(tmp_path, name)[1] for key, name in STAND_INS.items()}
    programs.name_places({"ranksvm": str(tmp_path / "ranksvm-train")})
    return logs


METHOD_OF = {method.program: name for name, method in METHODS.items() if method.program}


@pytest.mark.parametrize("program", STAND_INS)
def test_a_program_gets_the_rows_and_its_weights_come_back(program, rows, places):
    X, y = rows
    method = find_method(METHOD_OF[program])
    assert method.skip() is None
    assert (method.origin, method.linear) == ("peer", True)
    run = method.prepare(X, y, Setting(scale_C=2.0))
    run.train()
    dense = X.toarray()
    expected = dense @ (dense[y > 0].mean(axis=0) - dense[y < 0].mean(axis=0))
    np.testing.assert_allclose(run.scores(X), expected, rtol=1e-6, atol=1e-6)
    folder = run.folder
    assert folder.is_dir()
    del run
    assert not folder.exists()


def test_programs_have_the_strength_of_all(rows, places):
    X, y = rows
    n_positive = int(np.sum(y > 0))
    for program in STAND_INS:
        find_method(METHOD_OF[program]).prepare(X, y, Setting(scale_C=2.0, seed=4)).train()
    called = {program: log.read_text().splitlines()[-1].split()[1:] for program, log in places.items()}
    assert called["svm_perf"] == ["-l", "10", "-w", "3", "-c", "16.0", "train", "model"]
    sofia = dict(zip(called["sofia_ml"][::2], called["sofia_ml"][1::2], strict=True))
    assert float(sofia["--lambda"]) == pytest.approx(1 / 1600)
    assert (sofia["--dimensionality"], sofia["--random_seed"], sofia["--iterations"]) == ("7", "5", "100000")
    assert (sofia["--learner_type"], sofia["--loop_type"]) == ("sgd-svm", "combined-ranking")
    strength = float(called["ranksvm"][called["ranksvm"].index("-c") + 1])
    assert strength == pytest.approx(1600 / (n_positive * (600 - n_positive)))
    assert float(called["vw"][called["vw"].index("--l2") + 1]) == pytest.approx(1 / 1600)


def test_time_of_a_program_is_without_reading(rows, places):
    X, y = rows
    seconds = {}
    for program in ("svm_perf", "sofia_ml", "ranksvm"):
        run = find_method(METHOD_OF[program]).prepare(X, y)
        run.train()
        seconds[program] = run.spent.cpu
    assert (seconds["svm_perf"], seconds["sofia_ml"]) == (0.25, 0.125)  # what they print of themselves
    assert 0.2 < seconds["ranksvm"] < 0.8  # 0.4 of learning; starting and reading is subtracted


def test_a_program_that_is_not_there_is_named(rows, tmp_path, monkeypatch):
    monkeypatch.setattr(programs, "_places", {})
    monkeypatch.setenv("PATH", str(tmp_path))
    for name in ("svm-perf", "sofia-ml"):
        assert "was not found; say where it is with --program" in find_method(name).skip()
    assert "no name is given" in find_method("liblinear-ranksvm").skip()
    with pytest.raises(ValueError, match="svm_perf is not here: svm_perf_learn was not found"):
        find_method("svm-perf").prepare(*rows)
    with pytest.raises(ValueError, match="no program 'svm'; there are: svm_perf"):
        programs.name_places({"svm": "x"})


def test_a_program_that_fails_says_what_it_said(rows, places):
    places["svm_perf"].with_name("svm_perf_learn").write_text("#!/bin/sh\necho no licence >&2\nexit 3\n")
    run = find_method("svm-perf").prepare(*rows)
    with pytest.raises(ValueError, match="svm_perf_learn ended with status 3: no licence"):
        run.train()


def test_a_program_that_takes_too_long_is_ended(rows, places, tmp_path, monkeypatch):
    X, y = rows
    write_part(tmp_path, "letter", "train", X, y > 0)
    monkeypatch.setenv("PAIRSIFT_DATA", str(tmp_path))
    with CellProcess({"set": "letter", "method": "svm-perf"}) as cell:
        cell.ready()
        places["svm_perf"].with_name("svm_perf_learn.log.sleep").touch()
        cell._limit = 3.0
        with pytest.raises(CellFailed, match="over 3 s"):
            cell.train()
    pid = int(places["svm_perf"].read_text().split()[0])
    until = time.monotonic() + 5
    while time.monotonic() < until and _is_alive(pid):
        time.sleep(0.05)
    assert not _is_alive(pid)


def _is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.slow
def test_programs_run_in_the_bench_with_c_tuned(places, tmp_path, monkeypatch):
    X, y = make_ranking(900, 5, positive_rate=0.3, random_state=1)
    write_part(tmp_path, "letter", "train", sp.csr_array(np.round(X, 3)), y > 0)
    monkeypatch.setenv("PAIRSIFT_DATA", str(tmp_path))
    methods = with_tuned(["sofia-ml", "linear-svc-as-is"])
    assert methods == ["sofia-ml", "sofia-ml:C=tuned", "linear-svc-as-is"]
    (tuned,) = run_bench(Plan(["letter"], methods[1:2], repeats=1))["cells"]
    assert (tuned["status"], tuned["reason"], tuned["cpu"], tuned["memory"]) == ("done", None, 0.125, None)
    assert tuned["auc"] > 0.8
    assert len(set(tuned["tuning"].values())) == 1  # the stand-in does not look at C
    assert tuned["scale_C"] == pytest.approx(10**-6.5)  # of equals the smallest, three decades beyond the grid
    assert tuned["tuning_cpu"] == pytest.approx(0.125 * len(tuned["tuning"]))


@pytest.mark.parametrize(("package", "name"), [("lightgbm", "LGBMClassifier"), ("xgboost", "XGBClassifier")])
def test_trees_by_stand_ins_of_their_packages(package, name, rows, monkeypatch):
    """A single tree stands in for both: what is tested is the wiring."""
    given = {}

    class StandIn:
        def __init__(self, **parameters):
            given.update(parameters)

        def fit(self, X, y):
            assert y.dtype == bool
            self.inner = DecisionTreeClassifier(max_depth=6, random_state=0).fit(X, y)
            return self

        def predict(self, X, raw_score=False, output_margin=False):
            assert raw_score or output_margin
            return self.inner.predict_proba(X)[:, 1]

    module = types.ModuleType(package)
    setattr(module, name, StandIn)
    monkeypatch.setitem(__import__("sys").modules, package, module)
    X, y = rows
    method = find_method(package)
    assert not method.linear
    run = method.prepare(X, y, Setting(scale_C=0.3, seed=2))
    run.train()
    assert (given["n_estimators"], given["random_state"]) == (30, 2)
    assert roc_auc_score(y, run.scores(X)) > 0.9


@pytest.mark.parametrize("power", [-5.4, -3, -1.5, 0, 0.4, 3, 4.9])
def test_the_search_finds_the_top(power):
    tried = []

    def value(scale):
        tried.append(scale)
        return -abs(np.log10(scale) - power)

    assert abs(np.log10(search(value, SCALES)) - power) <= 0.25 + 1e-9
    assert len(tried) <= len(SCALES) + 5
    assert len(set(tried)) == len(tried)


def test_of_equals_the_smallest_is_chosen_and_other_grids_stay():
    assert search(lambda scale: 1.0, (1.0, 3.0, 10.0)) == 1.0
    assert search(lambda scale: scale, (1.0, 3.0, 10.0)) == 10.0


def test_c_is_chosen_on_rows_that_were_not_trained_on(rows):
    X, y = rows
    X = sp.csr_array(np.hstack([X.toarray(), np.arange(600.0)[:, None]]))  # the last column names the row
    seen = []

    class Run:
        def __init__(self, X_fit, scale):
            self.fitted, self.scale = set(X_fit.toarray()[:, -1]), scale

        def scores(self, X_held):
            held = X_held.toarray()[:, -1]
            seen.append((self.fitted, set(held)))
            assert not self.fitted & set(held)
            return y[held.astype(int)] if self.scale == 10 else np.zeros(len(held))

    tuned = choose_scale(X, y, lambda X_fit, y_fit, scale: Run(X_fit, scale), SCALES, 60.0)
    assert tuned.scale == 10
    assert tuned.values[10.0] == 1
    fitted, held = seen[0]
    assert fitted | held == set(range(600))
    assert len(held) == 120
    assert all(pair == seen[0] for pair in seen)  # every C sees the same parts


def test_no_larger_c_after_one_that_took_too_long(rows):
    X, y = rows

    class Run:
        def __init__(self, scale):
            self.scale = scale
            self.spent = programs.Spent(100.0 if scale >= 10 else 1.0, 0.0)

        def scores(self, X_held):
            return np.full(X_held.shape[0], self.scale)

    tuned = choose_scale(X, y, lambda X_fit, y_fit, scale: Run(scale), SCALES, 60.0)
    assert max(tuned.values) == 10
    assert tuned.cpu == pytest.approx(100 + len(tuned.values) - 1)


def test_a_tuned_method_is_at_least_as_good_on_its_validation_part(rows):
    X, y = rows
    tuned = find_method("ranksvm-squared").tune(X, y, Setting())
    assert tuned.values[tuned.scale] == max(tuned.values.values()) >= tuned.values[1.0]
    with pytest.raises(ValueError, match="not to be tuned"):
        find_method("linear-svc-as-is").tune(X, y, Setting())
    with pytest.raises(ValueError, match="cannot be tuned"):
        Plan(["letter"], ["linear-svc-as-is:C=tuned"]).check()
