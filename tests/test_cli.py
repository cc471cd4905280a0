"""The command line, run as a user runs it."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from pairsift import auc, load_model, make_ranking

COMMAND = [sys.executable, "-c", "import sys; from pairsift.cli import main; sys.argv[0] = 'pairsift'; main()"]


def run(*arguments, cwd=None, text=True, **options):
    return subprocess.run(
        [*COMMAND, *map(str, arguments)], cwd=cwd, capture_output=True, text=text, check=False, **options
    )


def write_svmlight(path, X, y):
    rows = (" ".join(f"{c + 1}:{v!r}" for c, v in enumerate(row) if v) for row in X.tolist())
    path.write_text("".join(f"{label} {row}\n" for label, row in zip(y.tolist(), rows, strict=True)))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cli")
    X, y = make_ranking(3000, 6, random_state=0)
    write_svmlight(folder / "train.svm", X[:2000], y[:2000])
    write_svmlight(folder / "test.svm", X[2000:], y[2000:])
    np.save(folder / "y.npy", y[2000:])
    return folder


def one_line(result, status):
    assert result.returncode == status, result.stderr
    assert "Traceback" not in result.stderr
    lines = result.stderr.strip().splitlines()
    assert len(lines) == 1, result.stderr
    return lines[0]


def test_fit_then_score_gives_the_scores_of_the_model(folder):
    done = run("fit", "train.svm", "-o", "model.safetensors", "--random-state", "3", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "2,000 of 2,000 rows" in done.stdout
    scored = run("score", "model.safetensors", "test.svm", cwd=folder)
    assert scored.returncode == 0, scored.stderr
    scores = np.array([float(line) for line in scored.stdout.split()])
    assert auc(np.load(folder / "y.npy"), scores) > 0.85
    model = load_model(folder / "model.safetensors")
    assert model.details["settings"]["random_state"] == 3
    assert model.classes_.tolist() == [0.0, 1.0]


def test_the_command_and_the_estimator_learn_the_same_model(folder):
    from pairsift import ActiveRankSVM, AutoRanker, read_svmlight

    X, y = read_svmlight(folder / "train.svm")
    for method, estimator in (("auto", AutoRanker), ("active", ActiveRankSVM)):
        options = ["--method", method, "--random-state", "5", "--budget", "500"]
        run("fit", "train.svm", "-o", "same.safetensors", *options, cwd=folder)
        model = estimator(random_state=5, budget=500).fit(X, y)
        loaded = load_model(folder / "same.safetensors")
        np.testing.assert_array_equal(loaded.coef_, model.coef_)
        np.testing.assert_array_equal(loaded.intercept_, model.intercept_)


def test_a_store_gives_the_bits_of_the_text_it_was_made_from(folder):
    done = run("convert", "train.svm", "-o", "rows.arrow", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "2,000" not in done.stdout
    assert "6 features" in done.stdout
    for source, model in (("train.svm", "text"), ("rows.arrow", "store")):
        assert run("fit", source, "-o", model, "--random-state", "1", cwd=folder).returncode == 0
    np.testing.assert_array_equal(load_model(folder / "text").coef_, load_model(folder / "store").coef_)
    assert run("score", "text", "test.svm", cwd=folder).stdout == run("score", "store", "test.svm", cwd=folder).stdout


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(0)
    lines = ["age,city,bought"]
    for _ in range(600):
        age, city = rng.integers(18, 80), rng.choice(["Oslo", "Rome"])
        yes = (age - 50) / 20 + (city == "Oslo") + rng.normal() > 1
        lines.append(f"{age},{city},{'yes' if yes else 'no'}")
    (tmp_path / "table.csv").write_text("\n".join(lines) + "\n")
    return tmp_path


def test_a_table_from_fit_to_scores_through_a_pipe(table):
    options = ["--label", "bought", "--positive", "yes", "--scale", "standard", "--random-state", "0"]
    done = run("fit", "table.csv", "-o", "m", *options, cwd=table)
    assert done.returncode == 0, done.stderr
    scored = run("score", "m", "table.csv", cwd=table)
    text = (table / "table.csv").read_text()
    assert run("score", "m", "-", cwd=table, input=text).stdout == scored.stdout
    y = [line.endswith("yes") for line in text.splitlines()[1:]]
    assert auc(y, [float(line) for line in scored.stdout.split()]) > 0.85


def test_a_model_of_a_table_does_not_score_rows_without_names(table, folder):
    run("fit", "table.csv", "-o", "m", "--label", "bought", "--positive", "yes", cwd=table)
    assert "trained on a table" in one_line(run("score", "m", folder / "test.svm", cwd=table), 1)


def test_labels_in_words_say_themselves_which_is_positive_or_the_rarer_one_is(table):
    done = run("fit", "table.csv", "-o", "m", "--label", "bought", cwd=table)
    assert (done.returncode, done.stderr) == (0, "")
    assert load_model(table / "m").classes_.tolist() == ["no", "yes"]
    text = (table / "table.csv").read_text()
    n_yes, n_no = (sum(line.endswith(word) for line in text.splitlines()) for word in (",yes", ",no"))
    assert n_yes < n_no
    (table / "other.csv").write_text(text.replace(",yes", ",buyer").replace(",no", ",visitor"))
    done = run("fit", "other.csv", "-o", "m", "--label", "bought", cwd=table)
    assert done.returncode == 0
    (said,) = done.stderr.splitlines()
    assert said.startswith(f"Positive label: 'buyer', the rarer one ({n_yes} of 600 rows).")
    assert said.endswith("--positive visitor.")
    assert load_model(table / "m").classes_.tolist() == ["visitor", "buyer"]
    done = run("fit", "other.csv", "-o", "m", "--label", "bought", "--positive", "visitor", cwd=table)
    assert (done.returncode, done.stderr) == (0, "")
    assert load_model(table / "m").classes_.tolist() == ["buyer", "visitor"]
    assert "bought" in one_line(run("fit", "table.csv", "-o", "m", cwd=table), 1)


@pytest.mark.parametrize("options", [[], ["--method", "active", "--sampling", "soft-close"]])
def test_json_is_one_object(folder, options):
    done = run("fit", "train.svm", "-o", "j.safetensors", "--json", *options, cwd=folder)
    facts = json.loads(done.stdout)
    if options:
        assert facts["pairs_used"] == 8000
    else:
        assert sum(facts["rows_used"].values()) == 2000
        assert facts["holdout"]["low"] < facts["holdout"]["value"] < facts["holdout"]["high"]
        assert len(facts["trials"]) >= 2
    assert facts["relative_gap"] <= 1e-3


def test_scores_go_to_a_file(folder):
    run("fit", "train.svm", "-o", "o.safetensors", "--random-state", "0", cwd=folder)
    done = run("score", "o.safetensors", "test.svm", "-o", "scores.txt", cwd=folder)
    assert done.stdout == "scores.txt: 1,000 scores.\n"
    assert len((folder / "scores.txt").read_text().split()) == 1000


@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        (["fit", "missing.svm", "-o", "m"], 1, "missing.svm: No such file"),
        (["fit", ".", "-o", "m"], 1, "directory"),
        (["fit", "train.svm"], 2, "--output"),
        (["fit", "train.svm", "-o", "m", "--budget", "-1"], 2, "budget must be"),
        (["fit", "train.svm", "-o", "m", "--method", "active", "--budget", "50"], 2, "at least batch_size"),
        (["fit", "train.svm", "-o", "m", "--method", "active", "--gamma", "2"], 2, r"gamma must be a number in [0, 1]"),
        (["fit", "train.svm", "-o", "m", "--gamma", "1"], 2, "--gamma is for --method active; got --method auto"),
        (["fit", "train.svm", "-o", "m", "--method", "active", "--sampling", "hope"], 2, "'soft-correct'"),
        (["fit", "train.svm", "-o", "m", "--random-state", "-1"], 2, "--random-state"),
        (["fit", "train.svm", "-o", "m", "--format", "xls"], 2, "--format"),
        (["fit", "train.svm", "-o", "."], 1, ".: Is a directory"),
        (["convert", "train.svm", "-o", "train.svm"], 2, "is also an input; choose another output name"),
        (["convert", "train.svm", "-o", "no/such/m"], 1, "no/such/m: No such file or directory"),
        (["fit", "train.svm", "-o", "m", "--nonsense"], 2, "--nonsense"),
        (["fit", "train.svm", "-o", "no/such/folder/m"], 1, "No such file or directory"),
        (["score", "train.svm", "test.svm"], 1, "not a pairsift model"),
        (["score", "missing", "test.svm"], 1, "missing: No such file"),
        (["nonsense"], 2, "nonsense"),
    ],
)
def test_bad_usage_and_bad_files_are_one_line(folder, arguments, status, says):
    assert says in one_line(run(*arguments, cwd=folder), status)
    assert not (folder / "m").exists()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "the file is empty"),
        ("1 1:1\n1 1:2\n", "one class"),
        ("1 1:1\n0 1:2\n2 1:3\n", "exactly two values"),
        ("1 1:1\n0 1:nan\n", "line 2"),
        ("1 1:1\n0 2:1 1:1\n", "line 2"),
        ("1 2000000000:1\n-1 1:1\n", "--n-features"),
    ],
)
def test_bad_rows_are_one_line(tmp_path, text, says):
    (tmp_path / "bad.svm").write_text(text)
    assert says in one_line(run("fit", "bad.svm", "-o", "m", cwd=tmp_path), 1)


def test_a_failed_fit_leaves_the_old_model(folder, tmp_path):
    old = tmp_path / "m"
    old.write_bytes(b"old")
    run("fit", folder / "missing.svm", "-o", old)
    assert old.read_bytes() == b"old"


@pytest.mark.parametrize(
    "command", [[], ["fit"], ["score"], ["demo"], ["convert"], ["datasets"], ["bench"], ["inspect"], ["export"]]
)
def test_help_is_shown_without_scikit_learn(command):
    code = (
        "import sys; from pairsift.cli import pairsift\n"
        f"pairsift.main({[*command, '--help']!r}, prog_name='pairsift', standalone_mode=False)\n"
        "assert not {'sklearn', 'pyarrow', 'scipy', 'matplotlib'} & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Usage: pairsift" in done.stdout


def test_fit_and_score_do_not_import_scikit_learn(folder):
    code = (
        "import sys; from pairsift.cli import pairsift\n"
        "for line in (['fit', 'train.svm', '-o', 'n', '--budget', '200'], ['score', 'n', 'test.svm', '-o', 's']):\n"
        "    pairsift.main(line, prog_name='pairsift', standalone_mode=False)\n"
        "assert 'sklearn' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_demo_writes_files_to_try_and_never_over_others(tmp_path):
    from pairsift import read_svmlight

    done = run("demo", "--write", tmp_path)
    assert done.returncode == 0, done.stderr
    X, y = read_svmlight(tmp_path / "test.svm")
    assert X.shape == (20_000, 10)
    assert np.unique(y).tolist() == [0, 1]
    before = (tmp_path / "train.svm").read_bytes()
    assert "train.svm is there already" in one_line(run("demo", "--write", tmp_path, "--random-state", 1), 1)
    assert (tmp_path / "train.svm").read_bytes() == before


def test_demo_ends_with_a_table(tmp_path):
    done = run("demo", "--rows", "20000", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "AutoRanker" in done.stdout
    assert "logistic regression" in done.stdout
    assert "16,000 of 16,000 rows" in done.stdout
    tables = json.loads(run("demo", "--rows", "20000", "--json", cwd=tmp_path).stdout)
    for table in tables:
        for method in table["methods"]:
            assert 0.7 < method["low"] <= method["auc"] <= method["high"] <= 1


def test_version():
    from pairsift import __version__

    assert run("--version").stdout.strip() == f"pairsift, version {__version__}"
    text = Path(__file__).parents[1].joinpath("pyproject.toml").read_text()
    assert f'version = "{__version__}"' in text
