"""Where people who used pairsift for the first time stumbled; each of them would stumble again without these."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import pairsift
from in_process import run
from pairsift import ActiveRankSVM, AutoRanker, RankSVM, RowStore, calibrate, load_model, make_ranking, save_model
from pairsift.cli.demo import _own_name
from pairsift.data.encoding import Encoding
from pairsift.words import all_rows_have, counted
from test_cli import one_line, write_svmlight


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """300 rows of which 90 are positive, as text and as a table with semicolons, ids and words as labels."""
    folder = tmp_path_factory.mktemp("first")
    X, _ = make_ranking(300, 3, random_state=0)
    y = (np.argsort(np.argsort(X[:, 0] + X[:, 1])) >= 210).astype(int)
    write_svmlight(folder / "rows.svm", X, y)
    states = np.where(y == 1, "gone", "here")
    lines = [f"{k};{row[0]:.4f};{row[1]:.4f};{states[k]}" for k, row in enumerate(X)]
    (folder / "t.csv").write_text("\n".join(["id;a;b;state", *lines]) + "\n")
    return folder


def fitted(folder, data, output, *options):
    done = run("fit", data, "-o", output, "--random-state", 0, *options, cwd=folder)
    assert done.returncode == 0, done.stderr
    return done


TABLE = ["--label", "state", "--positive", "gone", "--drop", "id", "--delimiter", ";"]


def test_the_model_remembers_what_separates_columns(folder):
    fitted(folder, "t.csv", "t", *TABLE)
    assert load_model(folder / "t").encoding.delimiter == ";"
    for command in (
        ["evaluate", "t", "t.csv"],
        ["score", "t", "t.csv", "--top", 3],
        ["inspect", "t", "--data", "t.csv"],
    ):
        done = run(*command, cwd=folder)
        assert done.returncode == 0, done.stderr
    commas = (folder / "t.csv").read_text().replace(";", ",")
    (folder / "commas.csv").write_text(commas)
    assert "--delimiter ','" in one_line(run("evaluate", "t", "commas.csv", cwd=folder), 1)
    said = run("evaluate", "t", "commas.csv", "--delimiter", ",", cwd=folder).stdout.split("\n", 1)
    assert said[1] == run("evaluate", "t", "t.csv", cwd=folder).stdout.split("\n", 1)[1]
    pd.read_csv(folder / "commas.csv").to_parquet(folder / "t.parquet")
    assert run("evaluate", "t", "t.parquet", cwd=folder).returncode == 0
    assert run("convert", "t.csv", "-o", "t.arrow", *TABLE, cwd=folder).returncode == 0
    fitted(folder, "t.arrow", "from-store")
    assert load_model(folder / "from-store").encoding.delimiter == ";"


def test_a_wrong_delimiter_is_named_where_columns_are_missing(folder):
    fitted(folder, "t.csv", "t", *TABLE)
    for command in (["score", "t", "t.csv", "--delimiter", ","], ["evaluate", "t", "t.csv", "--delimiter", ","]):
        line = one_line(run(*command, cwd=folder), 1)
        assert "is the delimiter right?" in line
        assert "--delimiter ';'" in line
    (folder / "scores.txt").write_text("0.5\n" * 300)
    assert "--delimiter ';'" in one_line(run("evaluate", "scores.txt", "t.csv", "--label", "state", cwd=folder), 1)


def test_an_encoding_without_a_delimiter_is_written_as_before(folder):
    fitted(folder, "t.csv", "t", *TABLE)
    content = load_model(folder / "t").encoding.to_json()
    assert content.pop("delimiter") == ";"
    old = Encoding.from_json(content)
    assert old.delimiter is None
    assert old.to_json() == content
    with pytest.raises(ValueError, match="delimiter must be text"):
        Encoding.from_json({**content, "delimiter": 7})


def test_what_the_user_must_decide_is_asked_at_once(tmp_path):
    (tmp_path / "t.csv").write_text("a,b,y\n" + "1,2,no\n,3,yes\n4,5,perhaps\n" * 5)
    line = one_line(run("fit", "t.csv", "-o", "m", "--label", "y", cwd=tmp_path), 1)
    assert "Say which one is positive with --positive; all others are then negative." in line
    assert "missing values in 1 column: 'a' (5 rows)" in line
    assert "--impute" in line
    rows = "".join(f"c{k},{'' if k == 9 else k},{k % 2}\n" for k in range(1200))
    (tmp_path / "ids.csv").write_text(f"id,a,y\n{rows}")
    line = one_line(run("fit", "ids.csv", "-o", "m", "--label", "y", cwd=tmp_path), 1)
    assert "--drop id" in line
    assert "missing values in 1 column: 'a' (1 row)" in line


def test_csv_text_of_another_name_is_explained(tmp_path):
    (tmp_path / "t.txt").write_text("a,y\n1,0\n2,1\n")
    assert "--format csv" in one_line(run("fit", "t.txt", "-o", "m", "--label", "y", cwd=tmp_path), 1)
    np.save(tmp_path / "X.npy", np.eye(3))
    assert "--format csv" not in one_line(run("fit", "X.npy", "-o", "m", "--weight", "w", cwd=tmp_path), 1)


@pytest.mark.parametrize("method", ["auto", "active", "exact", "pointwise"])
def test_the_line_of_fit_tells_what_was_held_out(folder, method):
    done = fitted(folder, "rows.svm", "m", "--method", method, "--calibration", "logistic")
    assert "(90 positive and 210 negative rows in the data; 30 of them held out, 9 positive)" in done.stdout
    trained = {
        "auto": "on 270 of 300 rows",
        "active": rf"on \d+ of {81 * 189:,} pairs",
        "exact": f"on all {81 * 189:,} pairs",
        "pointwise": "on 270 rows",
    }
    assert re.search(f"trained {trained[method]}", done.stdout)
    facts = json.loads(
        fitted(folder, "rows.svm", "m", "--method", method, "--calibration", "logistic", "--json").stdout
    )
    assert facts["held_out"] == {"rows": 30, "positives": 9}
    assert "held_out" not in json.loads(fitted(folder, "rows.svm", "m", "--method", method, "--json").stdout)
    in_all = " in the data" if method == "auto" else ""  # a budget may leave rows out
    found = fitted(folder, "rows.svm", "m", "--method", method).stdout
    assert f"(90 positive and 210 negative rows{in_all}) in" in found


def test_probabilities_from_few_rows_come_with_a_warning(folder):
    done = fitted(folder, "rows.svm", "m", "--calibration", "logistic")
    assert "wants 50 held-out rows of the rarer class and got 9 (9 positive and 21 negative)" in done.stderr
    assert "--validation" not in done.stderr  # that is not an option of this method
    done = fitted(folder, "rows.svm", "m", "--calibration", "logistic", "--method", "active")
    assert "wants 50 held-out rows of the rarer class and got 9 (9 positive and 21 negative)" in done.stderr
    assert "--validation" in done.stderr
    done = fitted(folder, "rows.svm", "m", "--calibration", "isotonic", "--method", "exact")
    assert "wants 1,000 held-out rows of the rarer class and got 9" in done.stderr
    assert "--validation" not in done.stderr
    enough = ["--method", "active", "--validation", "0.6"]
    assert fitted(folder, "rows.svm", "m", "--calibration", "logistic", *enough).stderr == ""
    X, y = make_ranking(3000, 3, positive_rate=0.1, random_state=0)
    model = RankSVM(random_state=0).fit(X[:1000], y[:1000])
    with pytest.warns(UserWarning, match="wants 50 held-out rows") as caught:
        calibrate(model, X[1000:1100], y[1000:1100])
    assert caught[0].filename == __file__
    calibrate(model, X[1000:], y[1000:])  # enough: a warning would be an error here


FRAMES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "arrow": pa.table}


@pytest.mark.parametrize("kind", FRAMES)
def test_a_column_of_text_is_named(kind):
    y = np.arange(60) % 2
    content = {"age": np.arange(60.0) + 50 * y, "city": ["Oslo", "Rome"] * 30, "fine": y * 1.0, "plan": ["A"] * 60}
    frame = FRAMES[kind](content)
    with pytest.raises(ValueError, match=r"2 columns cannot be read as such: 'city', 'plan'.*OneHotEncoder"):
        RankSVM().fit(frame, y)
    numbers = FRAMES[kind]({name: content[name] for name in ("age", "fine")})
    model = RankSVM().fit(numbers, y)
    wrong = FRAMES[kind]({"age": ["old"] * 60, "fine": content["fine"]})
    with pytest.raises(ValueError, match=r"1 column cannot be read as such: 'age'\."):
        model.decision_function(wrong)


def test_several_columns_in_one_word_are_explained(folder):
    line = one_line(run("fit", "t.csv", "-o", "m", *TABLE[:4], "--delimiter", ";", "--drop", "id,a", cwd=folder), 1)
    assert "give --drop several times" in line


@pytest.mark.parametrize("estimator", [AutoRanker, ActiveRankSVM, RankSVM])
def test_asking_for_probabilities_says_where_they_come_from(estimator):
    X, y = make_ranking(200, 3, random_state=0)
    model = estimator(random_state=0).fit(X, y)
    assert not hasattr(model, "predict_proba")
    with pytest.raises(AttributeError, match=f"{estimator.__name__} gives scores.*calibrate"):
        model.predict_proba(X)


def test_the_place_of_a_missing_value_is_counted_as_said():
    X, y = make_ranking(200, 3, random_state=0)
    X[7, 2] = np.nan
    with pytest.raises(ValueError, match=r"Row 7 of X contains NaN in column 2 \(both counted from 0\)"):
        RankSVM().fit(X, y)


def test_other_faults_of_a_frame_keep_their_words():
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        RankSVM().fit(pd.DataFrame({"a": [1.0, 2.0, 3.0]}), [0, 1])


def test_a_model_of_points_does_not_claim_pairs(tmp_path):
    X, y = make_ranking(2000, 5, random_state=0)
    model = AutoRanker(terms="points", loss="logistic", random_state=0).fit(X, y)
    save_model(model, tmp_path / "points")
    assert "on 2,000 rows, as points" in run("inspect", tmp_path / "points").stdout
    save_model(AutoRanker(terms="pairs", loss="squared_hinge", random_state=0).fit(X, y), tmp_path / "pairs")
    assert "on 2,000 rows, by all their pairs" in run("inspect", tmp_path / "pairs").stdout
    save_model(ActiveRankSVM(sampling="random", budget=500, random_state=0).fit(X, y), tmp_path / "drawn")
    assert "on 500 pairs" in run("inspect", tmp_path / "drawn").stdout


def test_the_fit_line_says_why_C_is_none_of_those_tried(tmp_path):
    X, y = make_ranking(30_000, 5, positive_rate=0.3, random_state=0)
    np.savez(tmp_path / "rows.npz", X=X, y=y)
    facts = json.loads(fitted(tmp_path, "rows.npz", "m", "--json").stdout)
    assert facts["C"] not in [C for _, _, C, *_ in facts["trials"]]
    assert "trials, C rescaled to all rows learned from." in fitted(tmp_path, "rows.npz", "m").stdout
    assert "rescaled" not in fitted(tmp_path, "rows.npz", "m", "--C", "800").stdout


@pytest.mark.parametrize(("target", "kind"), [("python", "Python"), ("sql", "SQL"), ("json", "JSON"), ("onnx", "ONNX")])
def test_export_says_what_it_wrote(folder, target, kind):
    fitted(folder, "rows.svm", "m")
    done = run("export", "m", "--to", target, "-o", f"e.{target}", cwd=folder)
    size = (folder / f"e.{target}").stat().st_size
    assert done.stdout == f"e.{target}: m as {kind}, {size:,} bytes.\n"
    if target != "onnx":
        printed = run("export", "m", "--to", target, cwd=folder).stdout
        assert printed == (folder / f"e.{target}").read_text()  # and nothing else


def test_score_says_what_it_wrote(folder):
    fitted(folder, "rows.svm", "m", "--calibration", "logistic", "--method", "active", "--validation", "0.6")
    assert run("score", "m", "rows.svm", "-o", "s.txt", cwd=folder).stdout == "s.txt: 300 scores.\n"
    assert run("score", "m", "rows.svm", "--top", 1, "-o", "s.csv", cwd=folder).stdout == "s.csv: 1 score.\n"
    done = run("score", "m", "rows.svm", "--probability", "-o", "p.txt", cwd=folder)
    assert done.stdout == "p.txt: 300 probabilities.\n"
    assert len(run("score", "m", "rows.svm", cwd=folder).stdout.splitlines()) == 300


def test_rows_are_said_to_count_from_zero(folder):
    for command in (["score", "--help"], ["inspect", "--help"]):
        assert "from 0 on" in run(*command).stdout.replace("\n", " ").replace("  ", " ")
    fitted(folder, "t.csv", "t", *TABLE)
    text = (folder / "t.csv").read_text().splitlines()
    first = text[1].rsplit(";", 1)
    flipped = [text[0], f"{first[0]};{'here' if first[1] == 'gone' else 'gone'}", *text[2:]]
    (folder / "flipped.csv").write_text("\n".join(flipped) + "\n")
    said = run("inspect", "t", "--suspects", "flipped.csv", cwd=folder).stdout
    assert "The first row\nof the data is row 0." in said


def test_words_have_their_number():
    assert [counted(n, "row") for n in (0, 1, 2, 20_000)] == ["0 rows", "1 row", "2 rows", "20,000 rows"]
    assert [all_rows_have(n) for n in (1, 3)] == ["the only row has", "all 3 rows have"]


def test_one_is_one_in_messages(tmp_path):
    (tmp_path / "t.csv").write_text("a,b,y\n1,2,no\n,3,yes\n4,5,no\n")
    line = one_line(run("fit", "t.csv", "-o", "m", "--label", "y", "--positive", "yes", cwd=tmp_path), 1)
    assert "1 column: 'a' (1 row)" in line
    wrong = ["--label", "y", "--positive", "maybe", "--impute", "mean"]
    assert "'yes' (1 row)" in one_line(run("fit", "t.csv", "-o", "m", *wrong, cwd=tmp_path), 1)
    (tmp_path / "one.svm").write_text("1 1:1\n")
    assert "the only row has one class" in one_line(run("fit", "one.svm", "-o", "m", cwd=tmp_path), 1)


def test_nobody_is_ahead_by_nothing(tmp_path):
    X, y = make_ranking(4000, 3, random_state=0)
    write_svmlight(tmp_path / "rows.svm", X, y)
    scores = np.round(X[:, 0], 3)
    other = scores.copy()
    order = np.argsort(scores)
    negatives = [(a, b) for a, b in pairwise(order.tolist()) if y[a] == y[b] == 0 and scores[a] < scores[b]]
    a, b = negatives[0]  # two negatives change places, which changes no AUC
    other[[a, b]] = scores[[b, a]]
    for name, values in (("a.txt", scores), ("b.txt", other)):
        np.savetxt(tmp_path / name, values)
    said = run("compare", "rows.svm", "a.txt", "b.txt", cwd=tmp_path).stdout
    assert "no difference can be shown" in said
    assert "ahead by 0.000000" not in said


def test_a_list_of_choices_ends_with_a_full_stop(folder):
    fitted(folder, "rows.svm", "m")
    line = one_line(run("export", "m", cwd=folder), 2)
    assert re.search(r"python\. See pairsift export --help\.$", line)


def test_evaluate_does_not_ask_for_what_the_model_knows(folder):
    said = " ".join(run("evaluate", "--help").stdout.split())
    assert "--positive TEXT The positive label. [default: the model's" in said
    assert "else the rarer one" not in said
    assert "else the rarer one" in " ".join(run("fit", "--help").stdout.split())


def test_only_public_names_are_listed():
    assert {name for name in dir(pairsift) if not name.startswith("__")} == set(pairsift.__all__)
    assert "__version__" in dir(pairsift)
    assert pairsift.RankSVM is RankSVM


def test_the_demo_ends_with_commands_that_run_as_they_are(tmp_path, monkeypatch):
    """Called as `make demo` calls it, by a path that the shell would not find by itself."""
    program = tmp_path / "place with spaces" / "pairsift"
    program.parent.mkdir()
    program.write_text(f"#!{sys.executable}\nfrom pairsift.cli import main\nmain()\n")
    program.chmod(0o755)
    environment = {**os.environ, "PATH": "/usr/bin:/bin"}
    command = [program, "demo", "--rows", "2000"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()[-2:]
    assert [line.rsplit("pairsift", 1)[0] for line in lines] == [f"  '{program.parent}/"] * 2
    for line in lines:
        subprocess.run(line.strip(), shell=True, cwd=tmp_path, env=environment, capture_output=True, check=True)
    assert (tmp_path / "model.safetensors").is_file()
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    monkeypatch.setattr(sys, "argv", [str(program)])
    assert _own_name() == "pairsift"


def test_the_line_that_messages_give_installs_extras_of_what_is_installed():
    """`pip install "pairsift[arrow]"` takes the extra from the installed pairsift: no index has to know pairsift."""
    said = re.search(r"pip install (.+)$", _message_without("pyarrow"))
    command = [sys.executable, "-m", "pip", "install", "--dry-run", "--no-index", *shlex.split(said.group(1))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if "No module named pip" in done.stderr:
        pytest.skip("this Python has no pip")
    assert done.returncode == 0, done.stderr
    assert "pyarrow" in done.stdout


def _message_without(module):
    code = (
        f"import sys; sys.modules[{module!r}] = None\nfrom pairsift.data.tables import import_pyarrow\nimport_pyarrow()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    return done.stderr.strip().splitlines()[-1]


def test_one_form_of_installing_extras_is_told():
    root = Path(__file__).parents[1]
    pages = [root / "README.md", *(root / "docs").glob("*.md"), *(root / "docs").glob("[!_]*/*.*")]
    for page in pages:
        if page.suffix in (".md", ".rst") and "generated" not in page.parts and "gallery" not in page.parts:
            for form in re.findall(r"pip install \"\.\[[^\"]*\"", page.read_text()):
                assert page.name == "start.md", f"{page}: {form}; only the first installation is from the folder"


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_killed_bench_leaves_no_folder(tmp_path):
    code = (
        "from pairsift.experiments.process import CellProcess\n"
        "cell = CellProcess({'set': 'nothing', 'method': 'wsvm'})\n"
        "print('ready', flush=True); import time; time.sleep(600)"
    )
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, env=environment, text=True) as process:
        assert process.stdout.readline() == "ready\n"
        assert list(tmp_path.glob("pairsift-*"))
        process.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 120  # the process of the cell has to see that its input ended
    while list(tmp_path.glob("pairsift-*")) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert list(tmp_path.glob("pairsift-*")) == []


def test_the_demo_may_write_the_same_files_again_but_no_others(tmp_path):
    assert run("demo", "--write", ".", cwd=tmp_path).returncode == 0
    before = (tmp_path / "train.svm").read_bytes()
    assert run("demo", "--write", ".", cwd=tmp_path).returncode == 0
    assert (tmp_path / "train.svm").read_bytes() == before
    (tmp_path / "test.svm").write_text("1 1:1\n")
    assert "is there already, and is left as it is" in one_line(run("demo", "--write", ".", cwd=tmp_path), 1)
    assert (tmp_path / "test.svm").read_text() == "1 1:1\n"


def test_the_line_of_fit_names_the_loss_and_what_ended_it(tmp_path):
    X, y = make_ranking(3000, 120, random_state=0)
    np.savez(tmp_path / "wide.npz", X=X, y=y)
    given = ["--terms", "points", "--loss", "logistic", "--C", "800"]
    assert fitted(tmp_path, "wide.npz", "m", *given).stdout.endswith(" Logistic points, C = 800.\n")
    assert " Logistic points and C = " in fitted(tmp_path, "wide.npz", "m").stdout
    assert "The budget of seconds ended it." in fitted(tmp_path, "wide.npz", "m", "--budget", "1ms").stdout


def test_inspect_says_which_rows_it_counts(folder):
    X, y = make_ranking(1000, 3, random_state=0)
    np.savez(folder / "held.npz", X=X, y=y)
    fitted(folder, "held.npz", "held", "--method", "active", "--validation", "0.1")
    line = run("inspect", "held", cwd=folder).stdout
    assert f"({int(y.sum())} positive and {1000 - int(y.sum())} other rows in the data)" in line
    fitted(folder, "held.npz", "whole", "--method", "active")
    assert "other rows);" in run("inspect", "whole", cwd=folder).stdout


def test_a_model_that_python_learns_from_the_store_of_a_table_scores_tables(tmp_path):
    rng = np.random.default_rng(0)
    people = zip(rng.integers(20, 70, 400), rng.choice(["Oslo", "Rome"], 400), strict=True)
    rows = [f"{age},{city},{int(age + 5 * (city == 'Oslo') + rng.normal(0, 5) > 45)}" for age, city in people]
    (tmp_path / "t.csv").write_text("\n".join(["age,city,y", *rows]) + "\n")
    assert run("convert", "t.csv", "-o", "t.arrow", "--label", "y", cwd=tmp_path).returncode == 0
    model = AutoRanker(random_state=0).fit(RowStore(tmp_path / "t.arrow"))
    save_model(model, tmp_path / "python")
    fitted(tmp_path, "t.arrow", "command")
    lines = [run("evaluate", name, "t.csv", cwd=tmp_path).stdout.splitlines() for name in ("python", "command")]
    assert lines[0][1:] == lines[1][1:]
    frame = pd.read_csv(tmp_path / "t.csv").drop(columns="y")
    by_name = [load_model(tmp_path / name).decision_function(frame) for name in ("python", "command")]
    assert by_name[0] == pytest.approx(by_name[1], rel=1e-12)
    model.fit(frame[["age"]], np.arange(400) % 2)
    save_model(model, tmp_path / "other")
    assert load_model(tmp_path / "other").encoding is None
