"""The methods and data sets of the experiments, and `pairsift bench` end to end on small data."""

import json
import lzma
import math
import os
import signal

import numpy as np
import pytest
import scipy.sparse as sp
from click.testing import CliRunner
from sklearn.datasets import dump_svmlight_file
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import roc_auc_score

from pairsift import make_ranking
from pairsift.cli.bench import bench as command
from pairsift.experiments import bench, process, sets
from pairsift.experiments.bench import Measured, Plan, run_bench
from pairsift.experiments.bench_table import markdown, missed_limits
from pairsift.experiments.memory import peak_growth
from pairsift.experiments.methods import METHODS, PAPER_METHODS, Method, Setting, find_method
from pairsift.experiments.process import CellFailed, CellProcess


def write_part(folder, name, part, X, y):
    (folder / name).mkdir(exist_ok=True)
    with lzma.open(folder / name / f"{name}.{part}.svm.xz", "wb", preset=0) as file:
        dump_svmlight_file(X, np.where(y, 1, -1), file, zero_based=False)


@pytest.fixture(scope="module")
def rows():
    X, y = make_ranking(3000, 5, positive_rate=0.3, random_state=0)
    return sp.csr_array(np.round(X, 3)), np.where(y > 0, 1.0, -1.0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory, rows):
    folder = tmp_path_factory.mktemp("data")
    X, y = rows
    write_part(folder, "letter", "train", X, y > 0)  # 5 folds
    write_part(folder, "a9a", "train", X[:2000], y[:2000] > 0)
    write_part(folder, "a9a", "test", X[2000:], y[2000:] > 0)
    return folder


@pytest.fixture
def data(folder, tmp_path, monkeypatch):
    monkeypatch.setenv("PAIRSIFT_DATA", str(folder))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    sets.rows.cache_clear()
    yield folder
    sets.rows.cache_clear()


def test_a_test_file_is_the_only_split(data, rows):
    assert sets.fold_count("a9a") == 1
    found = sets.holdout("a9a")
    np.testing.assert_array_equal(found.X_test.toarray(), rows[0][2000:].toarray())
    np.testing.assert_array_equal(found.y, rows[1][:2000])
    with pytest.raises(ValueError, match="folds 0 to 0; got 1"):
        sets.split("a9a", 1)


def test_folds_share_out_the_rows_and_are_stratified(data, rows):
    assert sets.fold_count("letter") == 5
    folds = list(sets.splits("letter"))
    seen = np.concatenate([test for _, test in sets.fold_rows(rows[1])])
    np.testing.assert_array_equal(np.sort(seen), np.arange(3000))
    for fold in folds:
        assert fold.X.shape[0] + fold.X_test.shape[0] == 3000
        assert abs(np.mean(fold.y_test > 0) - np.mean(rows[1] > 0)) < 0.002
        assert fold.X.indices.dtype == fold.X.indptr.dtype == np.int32
    again = sets.split("letter", 3)
    np.testing.assert_array_equal(again.X_test.toarray(), folds[3].X_test.toarray())
    assert not np.array_equal(folds[0].y_test, folds[1].y_test)


def test_the_paper_compares_eight_methods():
    names = "wsvm eranksvm crr random soft-close soft-correct hard-close hard-correct"
    assert " ".join(PAPER_METHODS) == names
    assert all(METHODS[name].skip() is None for name in PAPER_METHODS)


# Peers that are not installed are tested through stand-ins: see test_peers.py.
@pytest.mark.parametrize("name", [name for name, method in METHODS.items() if method.skip() is None])
@pytest.mark.filterwarnings(f"ignore::{ConvergenceWarning.__module__}.{ConvergenceWarning.__name__}")
def test_every_method_ranks_and_trains_again_from_the_start(name, rows):
    X, y = rows
    method = find_method(name)
    run = method.prepare(X[:2000], y[:2000], Setting(budget=800))
    run.train()
    first = run.scores(X[2000:])
    # hard-correct keeps to the pairs it gets most wrong, noise above all: nothing is promised of its AUC.
    assert roc_auc_score(y[2000:], first) > (0.0 if name == "hard-correct" else 0.75)
    run.train()
    np.testing.assert_allclose(run.scores(X[2000:]), first, rtol=0.1, atol=0.1 * np.abs(first).max())


def test_strength_is_one_for_all(rows):
    """Both WSVMs solve one problem; C a pair times budget is the C of the others; balanced rows sum to N."""
    X, y = rows
    setting = Setting(scale_C=0.5, budget=400)
    assert setting.total_C == pytest.approx(0.1 * 0.5 * 400)
    peer = find_method("liblinear-wsvm").prepare(X, y, setting, tol=1e-6)
    peer.train()
    ours = find_method("wsvm").prepare(X, y, setting, tol=1e-8)
    assert setting.total_C == ours.train().C
    np.testing.assert_allclose(peer.scores(X), ours.scores(X), atol=1e-3)
    active = find_method("soft-close").prepare(X, y, setting).train()
    assert (active.C, active.budget, active.n_pairs_, active.sampling) == (0.05, 400, 400, "soft-close")
    assert pytest.approx(20 / 3000) == find_method("logistic-regression").prepare(X, y, setting).train().C


def test_liblinear_scores_point_to_the_positives_whichever_comes_first(rows):
    X, y = rows
    for order in (np.argsort(y, kind="stable"), np.argsort(-y, kind="stable")):
        run = find_method("liblinear-wsvm").prepare(X[order], y[order])
        run.train()
        assert roc_auc_score(y, run.scores(X)) > 0.75


def test_names_carry_parameters():
    method = find_method("Soft-Correct:gamma=0.5:threshold=true")
    assert method.name == "soft-correct:gamma=0.5:threshold=true"
    assert method.options == {"sampling": "soft-correct", "gamma": 0.5, "threshold": True}
    assert find_method("random:gamma=uniform").options["gamma"] == "uniform"
    with pytest.raises(ValueError, match="no method 'svm'; there are: wsvm"):
        find_method("svm")
    with pytest.raises(ValueError, match="must be key=value"):
        find_method("random:gamma")


def test_a_peer_that_is_not_installed_says_how_to_get_it(data, monkeypatch):
    absent = Method("absent", None, METHODS["wsvm"].make, origin="peer", needs=("no_such_module", "no-such-package"))
    assert absent.skip() == "no_such_module is not installed; run: pip install no-such-package"
    monkeypatch.setattr(bench, "find_method", lambda name: absent)
    (cell,) = run_bench(Plan(["letter"], ["absent"]))["cells"]
    assert (cell["status"], cell["reason"]) == ("not here", absent.skip())


def test_a_run_gives_numbers_and_shows_what_failed(data, tmp_path):
    out = tmp_path / "bench.json"
    methods = "wsvm,soft-correct:gamma=7,random:budget=300:batch_size=100"
    arguments = ["--sets", "letter,bank", "--methods", methods, "--repeats", "2", "--peer", "liblinear-wsvm"]
    done = CliRunner().invoke(command, [*arguments, "--json", "-o", str(out)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    record = json.loads(out.read_text())
    cells = {(cell["set"], cell["method"]): cell for cell in record["cells"]}
    assert len(cells) == 8
    peer = cells["letter", "liblinear-wsvm"]
    for method in ("liblinear-wsvm", "wsvm", "random:budget=300:batch_size=100"):
        cell = cells["letter", method]
        assert (cell["status"], cell["rows"], cell["columns"]) == ("done", 2400, 5)
        assert 0 < cell["cpu"] == min(cell["cpu_repeats"])
        assert len(cell["cpu_repeats"]) == 2
        assert 0 < cell["wall"] < math.inf
        assert 0 <= cell["memory"] < 2**30
        assert 0.75 < cell["auc"] < 1
        assert cell["ratios"]["liblinear-wsvm"]["cpu"] == pytest.approx(cell["cpu"] / peer["cpu"])
        assert cell["ratios"]["liblinear-wsvm"]["auc_difference"] == pytest.approx(cell["auc"] - peer["auc"])
    assert cells["letter", "wsvm"]["facts"]["gap"] <= 1e-3
    failed = cells["letter", "soft-correct:gamma=7"]
    assert failed["status"] == "failed"
    assert "gamma must be a number in [0, 1]" in failed["reason"]
    assert failed["ratios"]["liblinear-wsvm"] == dict.fromkeys(("cpu", "wall", "memory", "auc_difference"))
    assert cells["bank", "wsvm"]["status"] == "data not here"
    assert done.output == markdown(record)  # the file has the JSON, and the table is printed
    assert "| letter | liblinear-wsvm |" in done.output
    assert "failed: ValueError: gamma" in done.output


def test_the_auc_is_of_the_rows_held_out(data):
    split = sets.holdout("letter")
    model = find_method("wsvm").prepare(split.X, split.y).train()
    expected = roc_auc_score(split.y_test, model.decision_function(split.X_test))
    (cell,) = run_bench(Plan(["letter"], ["wsvm"], repeats=1))["cells"]
    assert cell["auc"] == pytest.approx(expected, abs=1e-12)


def test_a_cell_that_takes_too_long_or_crashes_ends_alone(data, monkeypatch):
    late = CellProcess({"set": "letter", "method": "wsvm"}, time_limit=0.01)
    with late, pytest.raises(CellFailed, match=r"over 0\.01 s") as caught:
        late.ready()
    assert caught.value.status == "out of time"
    with CellProcess({"set": "letter", "method": "wsvm"}) as cell:
        assert cell.ready() == {"rows": 2400, "columns": 5}
        os.kill(cell._process.pid, signal.SIGKILL)
        with pytest.raises(CellFailed, match="SIGKILL"):
            cell.train()


def test_one_thread_is_what_the_process_gets(data, monkeypatch):
    seen = {}

    class Stop(Exception):
        pass

    def start(command, env, **options):
        seen.update(env)
        raise Stop

    monkeypatch.setattr(process.subprocess, "Popen", start)
    with pytest.raises(Stop):
        CellProcess({"set": "letter", "method": "wsvm", "threads": 1})
    assert {seen[name] for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")} == {"1"}


def test_peak_memory_sees_what_is_taken_and_given_back():
    growth = peak_growth()
    block = np.ones(8_000_000)
    del block
    assert 55e6 < growth() < 100e6
    assert peak_growth()() < 10e6


def test_limits_are_the_larger_of_times_and_seconds():
    def record(method, cpu, ratio, name="a9a"):
        cell = Measured(name, method, cpu=cpu, ratios={"liblinear-wsvm": {"cpu": ratio}})
        return {"cells": [vars(cell)]}

    assert missed_limits(record("wsvm", 0.04, 9.0)) == []
    assert missed_limits(record("wsvm", 4.0, 1.4)) == []
    assert missed_limits(record("soft-correct", 40.0, 100.0)) == []
    assert missed_limits(record("wsvm", 4.0, 9.0, "news20")) == []
    (line,) = missed_limits(record("wsvm", 4.0, 1.6))
    assert "1.60 times liblinear-wsvm; the limit is 1.5 times or 0.05 s" in line
    (line,) = missed_limits(record("eranksvm", 4.0, None))
    assert "no ratio" in line


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--sets", "nowhere"], "no data set 'nowhere'"),
        (["--methods", "svm"], "no method 'svm'"),
        (["--peer", "svm"], "no method 'svm'"),
        (["--repeats", "0"], "x>=1"),
    ],
)
def test_wrong_usage_is_status_2(data, arguments, words):
    done = CliRunner().invoke(command, arguments)
    assert done.exit_code == 2
    assert words in done.output


def test_the_list_names_every_method():
    listed = CliRunner().invoke(command, ["--list"], catch_exceptions=False).output
    assert all(name in listed for name in METHODS)
