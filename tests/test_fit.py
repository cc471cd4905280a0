"""``pairsift fit`` in everyday use: methods, validation, Ctrl-C, progress, full disks."""

import json
import os
import pty
import select
import shlex
import signal
import subprocess
import time
from itertools import pairwise

import numpy as np
import pytest

from pairsift import (
    ActiveRankSVM,
    AutoRanker,
    CombinedRankingRegression,
    RankSVM,
    WeightedSVM,
    __version__,
    load_model,
    make_ranking,
    read_svmlight,
)
from pairsift.data.holdout import hold_out
from pairsift.data.problem import make_problem
from pairsift.data.rows import as_rows
from pairsift.data.suspect_columns import RowNumbers
from pairsift.estimators.base import make_generator
from pairsift.stats import auc_interval, compare_auc
from pairsift.validation import GROWTH, NO_MORE_GAIN, PATIENCE, ROUNDS_BETWEEN, Validation
from test_cli import COMMAND, one_line, run, write_svmlight


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fit")
    X, y = make_ranking(3000, 10, random_state=0)
    write_svmlight(folder / "train.svm", X, y)
    return folder


@pytest.mark.parametrize(
    ("options", "model"),
    [
        (["--method", "exact"], RankSVM()),
        (["--method", "exact", "--loss", "squared_hinge", "--C", "10"], RankSVM(loss="squared_hinge", C=10.0)),
        (["--method", "pointwise", "--threshold"], WeightedSVM(threshold=True)),
        (["--method", "combined", "--n-steps", "500"], CombinedRankingRegression(n_steps=500)),
        (["--method", "combined", "--pair-probability", "1"], CombinedRankingRegression(pair_probability=1.0)),
        (
            ["--method", "combined", "--point-loss", "squared", "--no-threshold", "--pair-probability", "0.9"],
            CombinedRankingRegression(point_loss="squared", threshold=False, pair_probability=0.9),
        ),
        (
            ["--budget", "900", "--loss", "squared_hinge", "--terms", "points", "--C", "10", "--tol", "1e-6"],
            AutoRanker(budget=900, loss="squared_hinge", terms="points", C=10.0, tol=1e-6),
        ),
        (["--method", "auto", "--max-iter", "50"], AutoRanker(max_iter=50)),
        (
            [
                "--method",
                "active",
                "--budget",
                "900",
                "--validation",
                "0.2",
                "--early-stopping",
                "--gamma",
                "0.5",
                "--threshold",
            ],
            ActiveRankSVM(
                sampling="soft-correct", budget=900, validation=0.2, early_stopping=True, gamma=0.5, threshold=True
            ),
        ),
    ],
)
def test_every_method_learns_the_model_of_its_estimator(folder, tmp_path, options, model):
    done = run("fit", folder / "train.svm", "-o", tmp_path / "m", "--random-state", "5", *options)
    assert done.returncode == 0, done.stderr
    assert "trained on" in done.stdout
    loaded = load_model(tmp_path / "m")
    model.set_params(random_state=5).fit(*read_svmlight(folder / "train.svm"))
    np.testing.assert_array_equal(loaded.coef_, model.coef_)
    np.testing.assert_array_equal(loaded.intercept_, model.intercept_)
    for name, value in model.get_params().items():
        if name not in ("verbose", "on_interrupt", "holdout_by"):  # the command has Ctrl-C in its own way
            assert loaded.details["settings"][name] == value, name


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--method", "exact", "--budget", "100"], "--budget is for --method auto and active; got --method exact"),
        (["--method", "pointwise", "--loss", "hinge"], "--loss is for --method auto and exact; got --method pointwise"),
        (["--method", "combined", "--tol", "0.1"], "--tol is for --method auto and active and exact and pointwise"),
        (["--n-steps", "5"], "--n-steps is for --method combined"),
        (["--method", "exact", "--no-bias-correction"], "--bias-correction is for --method active"),
        (["--method", "exact", "--checkpoint", "c"], "--checkpoint is for --method active"),
        (["--method", "combined", "--n-steps", "0"], "n_steps must be"),
        (["--method", "exact", "--C", "-1"], "C must be"),
        (["--early-stopping"], "--early-stopping is for --method active; got --method auto"),
        (["--gamma", "1"], "--gamma is for --method active; got --method auto"),
        (["--sampling", "random"], "--sampling is for --method active; got --method auto"),
        (["--validation", "0.1"], "--validation is for --method active; got --method auto"),
        (["--checkpoint", "c"], "--checkpoint is for --method active; got --method auto"),
        (["--method", "active", "--terms", "pairs"], "--terms is for --method auto; got --method active"),
        (["--method", "active", "--loss", "hinge"], "--loss is for --method auto and exact; got --method active"),
        (["--method", "exact", "--holdout-by", "day"], "--holdout-by is for --method auto; got --method exact"),
        (["--method", "active", "--early-stopping"], "early_stopping needs a validation part"),
        (["--budget", "3 parsecs"], "budget must be"),
    ],
)
def test_an_option_of_another_method_is_wrong_usage(folder, tmp_path, options, says):
    assert says in one_line(run("fit", folder / "train.svm", "-o", tmp_path / "m", *options, cwd=tmp_path), 2)
    assert os.listdir(tmp_path) == []


def test_the_model_file_says_how_it_was_trained(folder, tmp_path):
    options = ["--budget", "800", "--validation", "0.2", "--random-state", "0"]
    done = run("fit", folder / "train.svm", "--method", "active", "-o", tmp_path / "m", *options, "--json")
    printed, details = json.loads(done.stdout), load_model(tmp_path / "m").details
    assert details["pairsift_version"] == __version__
    training = details["training"]
    assert training["stop_reason"] == printed["stop_reason"] == "budget reached"
    assert training["history"]["pairs"] == list(range(100, 900, 100))
    assert round(sum(training["history"]["rejected"])) == training["pairs_rejected"] == printed["pairs_rejected"]
    assert [check[0] for check in training["validation_curve"]] == [100, 600, 800]
    assert training["validation"]["auc"] == training["validation_curve"][-1][1] > 0.8
    assert "history" not in printed


def test_a_long_history_is_kept_short(folder, tmp_path):
    run(
        "fit",
        folder / "train.svm",
        "--method",
        "active",
        "-o",
        tmp_path / "m",
        "--budget",
        "1100",
        "--batch-size",
        "1",
    )
    history = load_model(tmp_path / "m").details["training"]["history"]
    assert len(history["pairs"]) == len(history["rejected"]) <= 500
    assert history["pairs"][-1] == 1100


def test_the_curve_is_that_of_the_held_out_rows():
    X, y = make_ranking(2000, 6, random_state=1)
    model = ActiveRankSVM(sampling="soft-correct", budget=500, validation=0.3, random_state=2).fit(X, y)
    _, held = hold_out(make_problem(as_rows(X), y == 1), 0.3, make_generator(2))
    rows = np.concatenate([held.positives, held.negatives])
    assert not np.intersect1d(rows, np.concatenate([model.pairs_["i"], model.pairs_["j"]])).size
    expected = auc_interval(y[rows], X[rows] @ model.coef_[0])
    assert model.validation_curve_[-1].pairs == 500
    np.testing.assert_allclose(model.validation_curve_[-1][1:], expected)
    assert model.stop_reason_ == "budget reached"
    assert ActiveRankSVM(sampling="soft-correct", budget=500).fit(X, y).validation_curve_ == []


def test_early_stopping_keeps_to_its_rule():
    X, y = make_ranking(12000, 40, random_state=1)  # slow enough to learn that doubling the pairs shows a gain
    options = {"batch_size": 20, "random_state": 2, "validation": 0.5}
    model = ActiveRankSVM(sampling="soft-correct", budget=8000, early_stopping=True, **options).fit(X, y)
    curve = model.validation_curve_
    assert model.stop_reason_ == NO_MORE_GAIN
    assert model.n_pairs_ == max(curve, key=lambda check: check.auc).pairs <= curve[-1].pairs < 8000
    assert model.gap_ <= 1e-3
    pairs = [check.pairs for check in curve]
    for before, after in pairwise(pairs):
        assert after >= max(before * GROWTH, before + 20 * ROUNDS_BETWEEN)
    # The same checks by hand, from the states of a run that is not stopped.
    from pairsift.active import active_sampling, make_settings

    rng = make_generator(2)
    training, held = hold_out(make_problem(as_rows(X), y == 1), 0.5, rng)
    settings = {name: getattr(model, name) for name in ("C", "gamma", "sampling", "bias_correction", "threshold")}
    settings |= {"budget": 8000, "batch_size": 20, "tol": 1e-3, "max_iter": 1000}
    scores, without, gains = {}, 0, 0
    rows = np.concatenate([held.positives, held.negatives])
    for state in active_sampling(training, make_settings(training, **settings), rng):
        n = state.history[-1].pairs
        if n not in pairs:
            continue
        scores[n] = X[rows] @ state.solution.w
        half = [k for k in scores if 2 * k <= n]
        if half:
            gained = compare_auc(y[rows], scores[n], scores[max(half)]).low > 0
            without, gains = (0, gains + 1) if gained else (without + 1, gains)
        assert (without >= PATIENCE) == (n == pairs[-1])
        if n == pairs[-1]:
            break
    assert gains >= 3, "the data do not tell the rule from others"


def test_validation_wants_no_store_twice():
    """Held-out rows are read once, however many checks there are."""
    from pairsift.data.counted_rows import CountedRows

    X, y = make_ranking(500, 4, random_state=0)
    rows = CountedRows(as_rows(X))
    _, held = hold_out(make_problem(rows, y == 1), 0.2, make_generator(0))
    watch = Validation(held)
    for _ in range(3):
        watch.check(1, np.ones(4))
    assert rows.rows_read == watch.n_rows == held.n_points


LONG = ["--budget", "10m", "--random-state", "0"]


def start(folder, output, *options, **more):
    line = ["fit", folder / "train.svm", "--method", "active", "-o", output, *options]
    return subprocess.Popen(
        [*COMMAND, *map(str, line)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more
    )


def wait_for(path, process):
    for _ in range(600):
        if path.exists():
            return
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    raise AssertionError(f"{path} did not come")


def test_ctrl_c_writes_the_model_and_says_so(folder, tmp_path):
    process = start(folder, tmp_path / "m", *LONG, "--checkpoint", tmp_path / "c")
    wait_for(tmp_path / "c" / "checkpoint.safetensors", process)
    process.send_signal(signal.SIGINT)
    printed, said = process.communicate(timeout=60)
    assert process.returncode == 0, said
    assert len(said.splitlines()) == 1
    assert said.startswith("Interrupted: the model of ")
    assert "--resume" in said
    assert "trained on" in printed
    training = load_model(tmp_path / "m").details["training"]
    assert training["stop_reason"] == "interrupted"
    assert training["pairs_used"] == training["history"]["pairs"][-1]
    assert training["relative_gap"] <= 1e-3
    assert (tmp_path / "c" / "checkpoint.safetensors").exists()


def test_a_second_ctrl_c_ends_it_and_leaves_the_old_file(folder, tmp_path):
    """The last solve never ends here: it waits in Python, where a real one may be in a kernel for a while."""
    (tmp_path / "m").write_bytes(b"old")
    code = (
        "import sys, time; from pathlib import Path; import pairsift.training_run as run\n"
        "def finish(*arguments):\n"
        "    Path('solving').touch()\n"
        "    while True: time.sleep(0.05)\n"
        "run.finish = finish\n"
        "from pairsift.cli import main; sys.argv[0] = 'pairsift'; main()"
    )
    line = [
        COMMAND[0],
        "-c",
        code,
        "fit",
        folder / "train.svm",
        "--method",
        "active",
        "-o",
        "m",
        *LONG,
        "--checkpoint",
        "c",
    ]
    process = subprocess.Popen(
        list(map(str, line)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path
    )
    wait_for(tmp_path / "c" / "checkpoint.safetensors", process)
    process.send_signal(signal.SIGINT)
    wait_for(tmp_path / "solving", process)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 1
    assert said == "pairsift: interrupted\n"
    assert (tmp_path / "m").read_bytes() == b"old"
    assert sorted(os.listdir(tmp_path)) == ["c", "m", "solving"]


def read_terminal(handle, process):
    """Read what a terminal shows, until the process ends."""
    shown = b""
    while True:
        ready, _, _ = select.select([handle], [], [], 0.1)
        if ready:
            try:
                part = os.read(handle, 65536)
            except OSError:  # Linux: nobody has the other end any more
                break
            if not part:
                break
            shown += part
        elif process.poll() is not None:
            break
    return shown.decode()


def test_progress_on_a_terminal_and_none_elsewhere(folder, tmp_path):
    options = ["--budget", "1s", "--validation", "0.2", "--random-state", "0"]
    master, slave = pty.openpty()
    line = [*COMMAND, "fit", folder / "train.svm", "--method", "active", "-o", tmp_path / "m", *options]
    process = subprocess.Popen(
        list(map(str, line)), stdout=subprocess.PIPE, stderr=slave, env={**os.environ, "COLUMNS": "100"}
    )
    os.close(slave)
    shown = read_terminal(master, process)
    os.close(master)
    process.communicate(timeout=60)
    assert process.returncode == 0, shown
    lines = [text.split("\x1b")[0] for text in shown.split("\r") if "pairs" in text]
    assert len(lines) >= 3
    for word in ("[", "% rejected", "AUC 0.", " left"):
        assert word in lines[-1], lines[-1]
    counts = [int(text.split("] ")[1].split(" ")[0].replace(",", "")) for text in lines]
    assert counts == sorted(counts)
    assert counts[-1] > counts[0]
    assert max(map(len, lines)) < 100
    assert shown.endswith("\r\x1b[K"), "the line is gone at the end"
    quiet = run("fit", folder / "train.svm", "--method", "active", "-o", tmp_path / "m", "--budget", "300")
    assert quiet.stderr == ""


def test_a_full_disk_is_one_line_and_leaves_the_old_model(folder, tmp_path):
    """A limit on the size of files fails as a full disk does: in the middle of writing."""
    (tmp_path / "m").write_bytes(b"old")
    code = (
        "import resource, signal, sys; import pairsift.training_run, pairsift.model; from pairsift.cli import main\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN); resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n"
        "sys.argv[0] = 'pairsift'; main()"
    )
    for options, name in ((["--budget", "300"], "m"), (["--checkpoint", "c"], "c/checkpoint.safetensors")):
        line = [
            COMMAND[0],
            "-c",
            code,
            "fit",
            str(folder / "train.svm"),
            "--method",
            "active",
            "-o",
            "m",
            *options,
        ]
        done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert one_line(done, 1) == f"pairsift: {name}: File too large"
        assert done.stdout == ""
        assert (tmp_path / "m").read_bytes() == b"old"
    assert sorted(os.listdir(tmp_path)) == ["c", "m"]
    assert os.listdir(tmp_path / "c") == []


def test_help_of_fit_is_quick_and_light():
    code = (
        "import sys; from pairsift.cli import pairsift\n"
        "pairsift.main(['fit', '--help'], prog_name='pairsift', standalone_mode=False)\n"
        "assert not {'sklearn', 'pyarrow', 'scipy', 'numpy', 'matplotlib'} & set(sys.modules)"
    )
    done = subprocess.run([COMMAND[0], "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "--early-stopping" in done.stdout


@pytest.mark.parametrize(("first", "warned"), [("C{}", True), ("kind {}", False)])
def test_a_column_that_looks_like_ids_is_named(tmp_path, first, warned):
    pytest.importorskip("pyarrow")
    rows = [f"{first.format(k if warned else k % 3)},{k % 7},{k % 2}" for k in range(60)]
    (tmp_path / "rows.csv").write_text("\n".join(["customer,age,bought", *rows]) + "\n")
    done = run("fit", "rows.csv", "--label", "bought", "-o", "model.safetensors", cwd=tmp_path)
    assert done.returncode == 0
    assert ("leave them out: --drop customer." in done.stderr) == warned


@pytest.mark.parametrize(
    ("name", "number", "warned"),
    [
        ("", lambda k: k, True),
        ("", lambda k: k + 1, True),
        ("", lambda k: 3 * k * 7 % 180, True),  # rows of a frame that were shuffled, and some left out
        ("Unnamed: 0", lambda k: k, True),
        ("id", lambda k: 5000 + k, True),
        ("", lambda k: k % 59, False),
        ("", lambda k: k + 0.5, False),
        ("", lambda k: "" if k == 7 else k, False),
        ("id", lambda k: k % 59, False),
        ("id", lambda k: 2 * k, False),
        ("id", lambda k: k + 0.5, False),
        ("id", lambda k: "" if k == 7 else k, False),
        ("id", lambda k: 59 - k, False),
    ],
)
def test_a_column_that_numbers_the_rows_is_named(tmp_path, name, number, warned):
    pytest.importorskip("pyarrow")
    rows = [f"{number(k)},{k % 7},{k % 2}" for k in range(60)]
    (tmp_path / "rows.csv").write_text("\n".join([f"{name},age,bought", *rows]) + "\n")
    line = ["fit", "rows.csv", "--label", "bought", "--impute", "mean", "-o", "model.safetensors", "--budget", "50"]
    done = run(*line, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    told = f"Column {name!r} only numbers the rows. If these are ids, leave them out: --drop {shlex.quote(name)}."
    assert (told in done.stderr) == warned
    if warned:  # and the advice can be followed
        done = run(*line, "--drop", name, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert "leave them out" not in done.stderr


@pytest.mark.parametrize(("n_rows", "warned"), [(20, False), (21, True), (150_000, True)])
def test_row_numbers_are_seen_from_block_to_block(n_rows, warned):
    found = RowNumbers()
    for start in range(0, n_rows, 2**16):
        found.add(np.arange(start, min(n_rows, start + 2**16), dtype=float))
    assert found.found == warned
    found.add(np.array([n_rows + 1.0]))  # one was left out
    assert not found.found


def test_infinite_numbers_number_no_rows():
    for numbers in ([np.inf] * 30, [*range(10), *[np.inf] * 10, *range(20, 30)]):
        found = RowNumbers()
        found.add(np.array(numbers, dtype=float))
        assert not found.found
