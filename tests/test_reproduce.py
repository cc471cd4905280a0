"""`pairsift reproduce`: the protocol, the store, and runs that are stopped at any moment.

The data set is generated and registered under a name of its own, in this process and, by a small program that stands
for the worker's, in the worker processes.
"""

import json
import lzma
import os
import random
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

from pairsift import ActiveRankSVM, auc, make_ranking
from pairsift.data.datasets import DATASETS
from pairsift.experiments import measure, runner
from pairsift.experiments.grids import EXPERIMENTS, fair, gamma
from pairsift.experiments.grids.plan import SAMPLERS, Plan, cell_seed
from pairsift.experiments.methods import METHODS, find_method
from pairsift.experiments.progress import Progress, duration
from pairsift.experiments.results import Cell, Outcome, Results, settings_key
from pairsift.experiments.sets import split

NAME, ABSENT = "generated", "elsewhere"

SETUP = textwrap.dedent(
    """
    import time
    from pairsift.data.datasets import DATASETS, Dataset
    from pairsift.experiments.methods import METHODS, Method

    def entry(name):
        return Dataset(name, name, 300, 90, 210, 5, "CV", False, "", (1.0,), "", "", (), obtain="It was generated.")

    for name in ("generated", "elsewhere"):
        DATASETS[name] = entry(name)

    def fail(X, y, setting, options):
        raise RuntimeError("cannot be trained")

    class Slow:
        def train(self):
            time.sleep(60)

    def die(X, y, setting, options):
        import os
        os.write(2, b"last words")
        os._exit(7)

    METHODS.update(bad=Method("bad", None, fail), slow=Method("slow", None, lambda *given: Slow()),
                   dead=Method("dead", None, die))
    from pairsift.experiments import methods
    methods._LIST += [METHODS["bad"], METHODS["slow"], METHODS["dead"]]
    """
)
WORKER = (sys.executable, "-c", SETUP + "\nfrom pairsift.experiments.worker import main\nmain()")
RUN = f"""
{SETUP}
import sys
from pairsift.experiments.grids.plan import Plan
from pairsift.experiments.results import Results
from pairsift.experiments.runner import reproduce
with Results(sys.argv[1], create=True) as results:
    reproduce(Plan(sets=("generated", "elsewhere"), seeds=3, quick=True), results, only=("data", "auc", "bias", "fair"),
              jobs=2, worker_command={WORKER!r})
"""


@pytest.fixture(scope="module", autouse=True)
def data(tmp_path_factory):
    """A data set that is here, and one that is not."""
    folder = tmp_path_factory.mktemp("data")
    X, y = make_ranking(300, 5, positive_rate=0.3, random_state=0)
    lines = (
        f"{1 if label > 0 else -1} " + " ".join(f"{c + 1}:{v!r}" for c, v in enumerate(row))
        for row, label in zip(X.tolist(), y, strict=True)
    )
    (folder / NAME).mkdir()
    (folder / NAME / f"{NAME}.train.svm.xz").write_bytes(lzma.compress("\n".join(lines).encode() + b"\n"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PAIRSIFT_DATA", str(folder))
        patch.setenv("XDG_CACHE_HOME", str(folder / "none"))
        before = list(METHODS)
        exec(SETUP, {})
        yield
        from pairsift.experiments import methods

        for name in (NAME, ABSENT):
            del DATASETS[name]
        for name in [name for name in METHODS if name not in before]:
            methods._LIST.remove(METHODS.pop(name))


def run(path, *, sets=(NAME,), only=("auc",), **options):
    plan = Plan(sets=sets, seeds=options.pop("seeds", 1), quick=True, time_limit=options.pop("time_limit", None))
    with Results(path, create=True) as results:
        return runner.reproduce(plan, results, only=only, worker_command=WORKER, **options)


def content(path):
    """All of a store but times."""
    with Results(path) as results:
        return [(row.cell, row.status, row.reason, row.result, row.seed) for row in results.rows()]


def cell_of(method, *, experiment="auc", pool=0, fold=0, **settings):
    return Cell(experiment, NAME, fold, method, pool, Plan(quick=True).settings(**settings))


class TestProtocol:
    def test_seeds_are_of_the_set_the_fold_and_the_pool(self):
        # Fixed numbers: a change would part new cells from the pools of old ones.
        assert cell_seed("a9a", 0, 0) == 0xF8BA19FC
        seeds = {cell_seed(name, fold, pool) for name in ("a9a", "bank") for fold in range(5) for pool in range(10)}
        assert len(seeds) == 100

    def test_samplers_share_the_initial_pool(self):
        here = split(NAME, 0)
        pools = []
        for name in (*SAMPLERS, "hard-close", "hard-correct"):
            setting, options, _ = measure._read_settings(cell_of(name, pool=3))
            model = find_method(name).prepare(here.X, here.y, setting, **options).train()
            first = model.pairs_[model.pairs_["round"] == 0]
            pools.append(list(zip(first["i"], first["j"], strict=True)))
        assert len(pools[0]) == 100
        assert all(pool == pools[0] for pool in pools[1:])

    def test_another_pool_is_another_one(self):
        one, other = (measure.prepare(cell_of("random", pool=pool))().result["auc"] for pool in (0, 1))
        assert one != other

    @pytest.mark.parametrize("name", SAMPLERS)
    def test_a_curve_ends_where_the_estimator_does(self, name):
        outcome = measure.prepare(cell_of(name))()
        here = split(NAME, 0)
        seed = cell_seed(NAME, 0, 0)
        model = ActiveRankSVM(sampling=name, budget=2000, random_state=seed).fit(here.X, here.y)
        assert outcome.result["auc"] == auc(here.y_test, here.X_test @ model.coef_[0])
        assert outcome.result["rejected"] == model.n_rejected_
        curve = outcome.result["curve"]
        assert curve["pairs"] == tuple(range(100, 2001, 100))
        assert curve["auc"][-1] == pytest.approx(outcome.result["auc"], abs=1e-6)
        assert 100 * sum(curve["rejected"]) == pytest.approx(model.n_rejected_, abs=1)
        assert curve["rejected"][0] == 0
        assert outcome.train_cpu > 0

    def test_tuning_is_the_mean_over_inner_folds(self):
        outcome = measure.prepare(cell_of("wsvm", experiment="tune", scale_C=10.0, inner_folds=3))()
        assert len(outcome.result["inner"]) == 3
        assert outcome.result["auc"] == pytest.approx(np.mean(outcome.result["inner"]))
        here = split(NAME, 0)
        assert len(here.y) == 240  # of the first outer fold, whose test rows are not looked at

    def test_statistics_are_counted(self):
        y = np.concatenate([split(NAME, fold).y_test for fold in range(5)])
        positives = int(np.sum(y > 0))
        counted = measure.statistics(NAME)
        assert counted["points"] == len(y) == 300
        assert counted["pairs"] == 2 * positives * (300 - positives)
        assert counted["dimension"] == 5


class TestGrids:
    def count(self, name, tmp_path, dataset, **plan):
        with Results(tmp_path / "r.sqlite", create=True) as results:
            cells = list(EXPERIMENTS[name].cells(Plan(sets=(dataset,), **plan), results))
        assert len(set(cells)) == len(cells)
        return len(cells)

    @pytest.mark.parametrize(
        ("name", "dataset", "expected"),
        [
            ("auc", "letter", 5 * (2 + 4 * 10)),
            ("auc", "a9a", 2 + 4 * 10),
            ("bias", "bank", 5 * (20 + 20)),
            ("hard", "bank", 5 * (20 + 20)),
            ("time", "a9a", 8 * 10),
            ("time", "covtype", 5 * 8 * 10),
            ("gamma", "bank", 5 * (1 + 2 * 3 + 2 * 3 * 20)),
            ("gamma", "news20", 2 * (1 + 2 * 3 + 2 * 3 * 20)),
            ("large_budget", "bank", 2 + 4 * 3),
            ("large_budget", "letter", 0),
            ("large_problem", "mnist", 2 + 4 * 3),
            ("hard_curves", "news20", 5 * (1 + 40)),
            ("hard_curves", "mnist", 0),
        ],
    )
    def test_size_of_the_full_grid(self, tmp_path, name, dataset, expected):
        assert self.count(name, tmp_path, dataset) == expected

    def test_the_paper_settings_are_in_the_cells(self):
        full, quick = (json.loads(Plan(quick=quick).settings()) for quick in (False, True))
        assert full == {"C": 0.1, "budget": 8000, "batch_size": 100, "scale_C": 1.0}
        assert quick == {**full, "budget": 2000}
        large = json.loads(Plan(quick=True).settings(budget=45000, batch_size=1125))
        assert (large["budget"], large["batch_size"]) == (4500, 112)
        assert len(gamma.GAMMAS) == 11
        assert fair.SCALES[0] == pytest.approx(1e-3)
        assert fair.SCALES[-1] == pytest.approx(1e3)

    def test_limits(self):
        tune, other = cell_of("wsvm", experiment="tune"), cell_of("wsvm")
        assert Plan().limit(tune) == 120
        assert Plan().limit(other) > 120
        assert Plan(quick=True).limit(tune) == Plan(quick=True).limit(other) == 30

    def test_the_fair_table_takes_the_best_C_and_the_smallest_of_equal_ones(self, tmp_path):
        plan = Plan(sets=(NAME,), seeds=1, quick=True)
        with Results(tmp_path / "r.sqlite", create=True) as results:
            assert {cell.experiment for cell in EXPERIMENTS["fair"].cells(plan, results)} == {"tune"}
            for scale, value in ((0.1, 0.8), (1.0, 0.9), (10.0, 0.9)):
                cell = cell_of("crr", experiment="tune", scale_C=scale, inner_folds=0)
                assert fair.chosen_scale(plan, results, NAME, "crr")[0] is False
                results.put(cell, Outcome("done", result={"auc": value}))
            assert fair.chosen_scale(plan, results, NAME, "crr") == (True, 1.0)
            chosen = [cell for cell in EXPERIMENTS["fair"].cells(plan, results) if cell.experiment == "fair"]
            assert [(cell.method, json.loads(cell.settings)["scale_C"]) for cell in chosen] == [("crr", 1.0)]


class TestRuns:
    def test_only_what_is_missing_is_run(self, tmp_path):
        path = tmp_path / "r.sqlite"
        first = run(path)
        assert first.ended == 6
        assert first.statuses == {"done": 6}
        with Results(path) as results:
            before = results.rows()
            results_of_sampler = results.rows("auc", NAME, "soft-close", budget=2000)
        assert results_of_sampler[0].seed == cell_seed(NAME, 0, 0)
        assert run(path).ended == 0
        with Results(path, create=True) as results:
            assert results.rows() == before
            results.remove([cell_of("crr")])
        assert run(path).ended == 1
        # The second pool of the samplers and CRR; two pools without correction: those with it are there.
        assert run(path, seeds=2, only=("auc", "bias")).ended == 4 + 4

    @pytest.mark.slow
    def test_statuses(self, tmp_path, monkeypatch):
        """A method that fails, one that takes too long, one that kills its process; the others are run all the same."""
        from pairsift.experiments.grids import auc as grid

        monkeypatch.setattr(grid, "SAMPLERS", ("bad", "slow", "dead", "random"))
        path = tmp_path / "r.sqlite"
        started = time.monotonic()
        assert run(path, sets=(NAME, ABSENT), time_limit=3.0, jobs=2).statuses == {
            "done": 4,
            "failed": 2,
            "out of time": 1,
            "data not here": 7,
        }
        assert time.monotonic() - started < 50
        with Results(path) as results:
            reasons = {row.method: (row.status, row.reason) for row in results.rows(dataset=NAME) if row.reason}
            absent = results.rows(dataset=ABSENT)
        assert reasons["bad"] == ("failed", "RuntimeError: cannot be trained")
        assert reasons["slow"] == ("out of time", "ended after 3 s")
        assert reasons["dead"] == ("failed", "the worker process died with status 7: last words")
        assert {row.reason for row in absent} == {"It was generated."}
        assert run(path, sets=(NAME, ABSENT), time_limit=1.0).ended == 0
        assert run(path, sets=(NAME, ABSENT), time_limit=1.0, retry=True).ended == 3

    def test_rows_of_absent_data_go_when_the_data_comes(self, tmp_path):
        path = tmp_path / "r.sqlite"
        with Results(path, create=True) as results:
            results.put(cell_of("wsvm"), Outcome("data not here"))
        assert run(path).statuses == {"done": 6}

    def test_cells_of_the_table_of_times_run_alone(self, tmp_path, monkeypatch):
        running, most = set(), {"time": 0, "other": 0}
        from pairsift.experiments import workers

        give, end = workers.Worker.give, workers.Worker._end

        def counted_give(self, cell, limit):
            running.add(cell)
            kind = "time" if any(one.experiment == "time" for one in running) else "other"
            most[kind] = max(most[kind], len(running))
            give(self, cell, limit)

        def counted_end(self, outcome):
            running.discard(self.cell)
            return end(self, outcome)

        monkeypatch.setattr(workers.Worker, "give", counted_give)
        monkeypatch.setattr(workers.Worker, "_end", counted_end)
        assert run(tmp_path / "r.sqlite", only=("auc", "time", "large_budget", "gamma"), jobs=2).statuses == {
            "done": 22
        }
        assert most == {"time": 1, "other": 2}

    def test_quick_and_full_do_not_mix(self, tmp_path):
        path = tmp_path / "r.sqlite"
        run(path, only=("data",))
        with Results(path, create=True) as results, pytest.raises(ValueError, match="holds a quick run"):
            runner.reproduce(Plan(sets=(NAME,)), results, only=("data",))

    def counts_after_kills(self, killed, moments, seconds):
        """Return how many cells the store holds after each of ten kills."""
        counts = []
        for _ in range(10):
            process = subprocess.Popen([sys.executable, "-c", RUN, str(killed)])
            time.sleep(moments.uniform(0.3, 0.6) * seconds)
            process.send_signal(signal.SIGKILL)
            process.wait()
            if killed.is_file():
                counts.append(len(content(killed)))
        return counts

    @pytest.mark.slow
    def test_killed_at_ten_moments_and_run_again_it_is_the_same(self, tmp_path):
        started = time.monotonic()
        whole = tmp_path / "whole.sqlite"
        subprocess.run([sys.executable, "-c", RUN, str(whole)], check=True, timeout=300)
        seconds = time.monotonic() - started
        expected = content(whole)
        assert {status for _, status, *_ in expected} == {"done", "data not here"}
        assert {cell.experiment for cell, *_ in expected} == {"data", "auc", "bias", "tune", "fair"}
        moments, counts, tries = random.Random(0), [], 0
        while not counts or counts[0] == len(expected):  # the machine has changed its pace
            tries += 1
            assert tries < 8
            killed = tmp_path / f"killed-{tries}.sqlite"
            counts = self.counts_after_kills(killed, moments, seconds)
            seconds *= 0.5 if counts else 3
        assert counts == sorted(counts)  # nothing that was finished is lost
        assert counts[0] < len(expected)
        subprocess.run([sys.executable, "-c", RUN, str(killed)], check=True, timeout=300)
        assert content(killed) == expected


def test_a_worker_ends_with_the_run_that_started_it(tmp_path):
    """In the middle of a cell, too."""
    worker = subprocess.Popen(WORKER, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    worker.stdin.write(json.dumps(cell_of("slow")) + "\n")
    worker.stdin.flush()
    assert "started" in worker.stdout.readline()
    worker.stdin.close()
    assert worker.wait(timeout=20) == 0
    worker.stdout.close()


class TestStore:
    def test_rows_by_settings(self, tmp_path):
        with Results(tmp_path / "r.sqlite", create=True) as results:
            for value in (0.5, "uniform"):
                results.put(cell_of("soft-close", gamma=value), Outcome("done", result={"auc": 0.5}))
            results.put(cell_of("soft-close"), Outcome("failed", reason="why"))
            assert [row.settings["gamma"] for row in results.rows(gamma=0.5)] == [0.5]
            assert [row.reason for row in results.rows(gamma=None)] == ["why"]
            assert len(results.rows("auc", NAME, "soft-close", "done")) == 2
            assert results.rows(method="wsvm") == []
            row = results.rows(status="failed")[0]
            assert row.cell == cell_of("soft-close")

    def test_the_same_settings_have_one_key(self):
        assert settings_key({"a": 1, "b": 2.0}) == settings_key({"b": 2.0, "a": 1}) == '{"a":1,"b":2.0}'

    def test_what_is_no_store(self, tmp_path):
        (tmp_path / "text").write_text("not a database " * 100)
        with pytest.raises(ValueError, match="no store"):
            Results(tmp_path / "text")
        with pytest.raises(ValueError, match="is not there"):
            Results(tmp_path / "none")


class TestProgress:
    def test_the_estimate_is_of_cells_like_it(self):
        progress = Progress([], jobs=2, alone="time")
        progress.plan([cell_of("wsvm", pool=pool) for pool in range(5)])
        progress.plan([cell_of("wsvm", experiment="time", pool=pool) for pool in range(3)])
        progress.end(cell_of("wsvm"), "done", 2.0)
        assert progress.seconds_left() == pytest.approx(4 * 2 / 2 + 3 * 2)
        assert "1 of 8 cells, about 10 s left" in str(progress)

    @pytest.mark.parametrize(("seconds", "text"), [(4.4, "4 s"), (600, "10 min"), (7500, "2 h 5 min")])
    def test_durations(self, seconds, text):
        assert duration(seconds) == text


class TestCommand:
    def call(self, *arguments, cwd, **options):
        program = f"{SETUP}\nfrom pairsift.experiments import workers\nworkers.COMMAND = {WORKER!r}\n"
        program += "import sys; from pairsift.cli import main; main()"
        command = [sys.executable, "-c", program, "reproduce", *arguments]
        return subprocess.Popen(
            command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ}, **options
        )

    def test_it_runs_and_says_how_cells_ended(self, tmp_path):
        process = self.call("--quick", "--sets", NAME, "--only", "data,auc", "--json", cwd=tmp_path)
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
        assert json.loads(out) == {"store": "results.sqlite", "run": 7, "cells": {"done": 7}}

    @pytest.mark.parametrize("wrong", [("--only", "nothing"), ("--sets", "nothing"), ("--jobs", "0")])
    def test_wrong_usage_is_one_line(self, tmp_path, wrong):
        process = self.call(*wrong, cwd=tmp_path)
        out, err = process.communicate(timeout=60)
        assert (process.returncode, out, len(err.strip().splitlines())) == (2, "", 1)
        assert not list(tmp_path.iterdir())

    @pytest.mark.slow
    def test_ctrl_c_stops_and_says_how_to_go_on(self, tmp_path):
        process = self.call("--sets", NAME, "--only", "gamma", cwd=tmp_path)
        store = tmp_path / "results.sqlite"
        for _ in range(300):
            time.sleep(0.1)
            if store.is_file() and len(content(store)) >= 2:
                break
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
        assert (process.returncode, out) == (1, "")
        assert f"To go on: pairsift reproduce --sets {NAME} --only gamma" in err.splitlines()[-1]
        assert len(content(store)) >= 2
