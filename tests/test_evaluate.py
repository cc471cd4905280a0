"""`pairsift evaluate`: numbers beside scikit-learn's, any labelled input, bounded memory, clear refusals."""

import json
import re
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics

from in_process import run
from pairsift import load_model, make_ranking
from pairsift.data.score_files import read_scores
from pairsift.report.ranking import STEPS, Ranking, draw_ranking, thinned
from pairsift.stats import auc_interval, average_precision, confusion, cut_counts, precision_at_k, recall_at_k
from test_cli import COMMAND, one_line, write_svmlight


@st.composite
def labelled_scores(draw):
    n = draw(st.integers(2, 40))
    y = np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    y[:2] = False, True
    # Few different values, so that there are many ties.
    scores = np.array(draw(st.lists(st.integers(-4, 4), min_size=n, max_size=n)), dtype=float)
    return y, scores


@settings(max_examples=100, deadline=None)
@given(labelled_scores(), st.integers(-5, 5))
def test_curves_are_scikit_learns(case, threshold):
    y, scores = case
    counts = cut_counts(y, scores)
    fpr, tpr, cuts = metrics.roc_curve(y, scores, drop_intermediate=False)
    np.testing.assert_allclose(counts.false_positive_rate, fpr)
    np.testing.assert_allclose(counts.recall, tpr)
    np.testing.assert_array_equal(counts.scores, cuts)
    assert average_precision(y, scores) == pytest.approx(metrics.average_precision_score(y, scores), abs=1e-12)
    tn, fp, fn, tp = metrics.confusion_matrix(y, scores > threshold, labels=[False, True]).ravel().tolist()
    assert confusion(y, scores, threshold) == (tp, fp, fn, tn)


@settings(max_examples=20, deadline=None)
@given(labelled_scores(), st.data())
def test_recall_at_k_is_the_mean_over_orders_of_the_ties(case, data):
    y, scores = case
    k = data.draw(st.integers(1, len(y)))
    rng = np.random.default_rng(0)
    found = []
    for _ in range(500):
        order = np.lexsort([rng.random(len(y)), -scores])
        found.append(y[order[:k]].sum() / y.sum())
    assert recall_at_k(y, scores, k) == pytest.approx(np.mean(found), abs=6 * np.std(found) / np.sqrt(500) + 1e-12)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=300))
def test_a_thinned_curve_shows_the_same_points(points):
    x, y = np.sort([a for a, _ in points]), np.sort([b for _, b in points])
    thin_x, thin_y = thinned(x, y)
    assert (thin_x[0], thin_y[0], thin_x[-1], thin_y[-1]) == (x[0], y[0], x[-1], y[-1])

    def cells(a, b):
        return {(p, q) for p, q in zip(np.round(a * STEPS), np.round(b * STEPS), strict=True)}

    assert cells(thin_x, thin_y) == cells(x, y)


def test_the_picture_of_many_rows_is_small(tmp_path):
    rng = np.random.default_rng(0)
    y = rng.random(300_000) < 0.1
    counts = cut_counts(y, rng.normal(size=len(y)) + y)
    draw_ranking(tmp_path / "a.svg", Ranking("many", counts, "AUC", "AP"))
    assert (tmp_path / "a.svg").stat().st_size < 200_000


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("evaluate")
    X, y = make_ranking(3000, 6, positive_rate=0.2, random_state=0)
    X = np.round(X, 1)  # so that scores tie now and then
    write_svmlight(folder / "train.svm", X[:2000], y[:2000])
    write_svmlight(folder / "test.svm", X[2000:], y[2000:])
    names = ",".join(f"f{k}" for k in range(6))
    for part, rows in (("train", slice(0, 2000)), ("test", slice(2000, 3000))):
        pairs = zip(X[rows].tolist(), y[rows], strict=True)
        lines = [",".join([*map(repr, x), "yes" if label else "no"]) for x, label in pairs]
        (folder / f"{part}.csv").write_text(f"{names},bought\n" + "\n".join(lines) + "\n")
    np.savez(folder / "test.npz", X=X[2000:], y=y[2000:])
    np.save(folder / "y.npy", y[2000:])
    assert run("fit", "train.svm", "-o", "m.safetensors", "--random-state", "0", cwd=folder).returncode == 0
    scored = run("score", "m.safetensors", "test.svm", "-o", "scores.csv", cwd=folder)
    assert scored.returncode == 0, scored.stderr
    return folder


def facts(*arguments, cwd, **options):
    done = run("evaluate", *arguments, "--json", cwd=cwd, **options)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_numbers_are_those_of_scikit_learn_and_delong(folder):
    found = facts("m.safetensors", "test.svm", "--at", "50", "--at", "1%", "--max-fpr", "0.2", cwd=folder)
    y, scores = np.load(folder / "y.npy"), np.loadtxt(folder / "scores.csv")
    assert (found["auc"], found["auc_low"], found["auc_high"]) == auc_interval(y, scores)
    assert found["auc"] == pytest.approx(metrics.roc_auc_score(y, scores), abs=1e-12)
    assert found["partial_auc"] == pytest.approx(metrics.roc_auc_score(y, scores, max_fpr=0.2), abs=1e-12)
    assert found["average_precision"] == pytest.approx(metrics.average_precision_score(y, scores), abs=1e-12)
    tn, fp, fn, tp = metrics.confusion_matrix(y, scores > 0).ravel().tolist()
    counts = {"true_positive": tp, "false_positive": fp, "false_negative": fn, "true_negative": tn}
    assert found["confusion"] == counts
    assert [top["rows"] for top in found["at"]] == [50, 10]
    for top in found["at"]:
        assert top["precision"] == precision_at_k(y, scores, top["rows"])
        assert top["recall"] == pytest.approx(top["precision"] * top["rows"] / y.sum())
    assert (found["rows"], found["positives"]) == (1000, y.sum())


def test_a_level_and_a_threshold(folder):
    wide = facts("m.safetensors", "test.svm", "--level", "0.99", "--threshold", "1", cwd=folder)
    y, scores = np.load(folder / "y.npy"), np.loadtxt(folder / "scores.csv")
    assert (wide["auc"], wide["auc_low"], wide["auc_high"]) == auc_interval(y, scores, 0.99)
    assert wide["confusion"]["true_positive"] == np.count_nonzero(y[scores > 1])


def test_every_input_gives_the_same_numbers(folder):
    text = facts("m.safetensors", "test.svm", cwd=folder)
    run("convert", "test.svm", "-o", "rows.arrow", cwd=folder)
    np.save(folder / "X.npy", np.load(folder / "test.npz")["X"])
    del text["data"]
    for data, options in (
        ("test.npz", []),
        ("X.npy", ["--label", "y.npy"]),
        ("rows.arrow", []),
        ("-", []),
    ):
        given = {"input": (folder / "test.svm").read_text()} if data == "-" else {}
        found = facts("m.safetensors", data, *options, cwd=folder, **given)
        assert found.pop("data") == data
        assert found == text


def test_a_table_in_words(folder):
    fit = ["fit", "train.csv", "-o", "t.safetensors", "--label", "bought", "--positive", "yes", "--random-state", "0"]
    assert run(*fit, cwd=folder).returncode == 0
    found = facts("t.safetensors", "test.csv", cwd=folder)
    assert found["labels"] == ["no", "yes"]
    scores = load_model(folder / "t.safetensors").decision_function(np.load(folder / "test.npz")["X"])
    assert found["auc"] == pytest.approx(metrics.roc_auc_score(np.load(folder / "y.npy"), scores), abs=1e-12)
    assert "label 'yes'" in run("evaluate", "t.safetensors", "test.csv", cwd=folder).stdout
    line = one_line(run("evaluate", "t.safetensors", "test.csv", "--positive", "no", cwd=folder), 1)
    assert "positive label is 'yes'" in line


def test_the_models_order_of_classes_counts(folder):
    assert run("fit", "train.svm", "-o", "r.safetensors", "--positive", "0", cwd=folder).returncode == 0
    found = facts("r.safetensors", "test.svm", cwd=folder)
    assert found["labels"] == [1, 0]
    assert found["positives"] > 500
    assert found["auc"] > 0.8


def test_a_file_of_scores_in_the_place_of_a_model(folder):
    model = facts("m.safetensors", "test.svm", cwd=folder)
    plain = (folder / "scores.csv").read_text()
    (folder / "named.csv").write_text("id,score\n" + "".join(f"a{k},{v}\n" for k, v in enumerate(plain.split())))
    (folder / "headed.txt").write_text("Score\n" + plain + "\n")
    np.save(folder / "s.npy", np.loadtxt(folder / "scores.csv"))
    for name in ("scores.csv", "named.csv", "headed.txt", "s.npy"):
        found = facts(name, "test.svm", cwd=folder)
        assert "confusion" not in found  # scores of another tool have no threshold of ours
        for key in ("auc", "auc_low", "auc_high", "average_precision", "at"):
            assert found[key] == model[key]
    assert facts("scores.csv", "test.svm", "--threshold", "0", cwd=folder)["confusion"] == model["confusion"]
    table = facts("scores.csv", "test.csv", "--label", "bought", "--positive", "yes", cwd=folder)
    assert table["auc"] == model["auc"]
    assert "--label" in one_line(run("evaluate", "scores.csv", "test.csv", cwd=folder), 1)
    assert facts("scores.csv", "test.csv", "--label", "bought", cwd=folder) == table  # no/yes needs no word
    text = (folder / "test.csv").read_text()
    (folder / "words.csv").write_text(text.replace(",yes", ",kept").replace(",no", ",lost"))
    for positive in ([], ["--positive", "kept"]):  # the rarer one, or what is said
        found = facts("scores.csv", "words.csv", "--label", "bought", *positive, cwd=folder)
        assert (found["labels"], found["auc"]) == (["lost", "kept"], model["auc"])
    found = facts("scores.csv", "words.csv", "--label", "bought", "--positive", "lost", cwd=folder)
    assert found["auc"] == pytest.approx(1 - model["auc"], abs=1e-12)
    run("convert", "test.svm", "-o", "order.arrow", cwd=folder)
    assert "another order" in one_line(run("evaluate", "scores.csv", "order.arrow", cwd=folder), 1)


def test_the_text_says_what_the_numbers_are(folder):
    text = run("evaluate", "m.safetensors", "test.svm", cwd=folder).stdout
    for words in ("1,000 rows", "AUC ", "(95 %: ", "false-positive rate up to 0.1", "chance", "precision", "not above"):
        assert words in text
    assert max(map(len, text.splitlines())) <= 100


def test_long_labels_keep_their_columns_apart(tmp_path):
    rows = "".join(f"{k % 7},{'malignant' if k % 7 + k % 3 > 4 else 'benign'}\n" for k in range(200))
    (tmp_path / "t.csv").write_text("size,kind\n" + rows)
    options = ("--label", "kind", "--positive", "malignant")
    assert run("fit", "t.csv", "-o", "m.safetensors", *options, cwd=tmp_path).returncode == 0
    lines = run("evaluate", "m.safetensors", "t.csv", "--label", "kind", cwd=tmp_path).stdout.splitlines()
    place = next(k for k, line in enumerate(lines) if line.startswith("score "))
    assert re.split(r"\s{2,}", lines[place]) == ["score", "label 'malignant'", "label 'benign'"]
    assert {len(line) for line in lines[place : place + 3]} == {len(lines[place])}


@pytest.mark.parametrize("kind", ["svg", "png", "pdf"])
def test_a_picture(folder, kind):
    found = facts("m.safetensors", "test.svm", "--plot", f"roc.{kind}", cwd=folder)
    content = (folder / f"roc.{kind}").read_bytes()
    assert found["plot"] == f"roc.{kind}"
    if kind == "svg":
        labels = ("False-positive rate", "True-positive rate", "Recall", "Precision", "score above 0", "AUC", "chance")
        for label in labels:
            assert label.encode() in content


@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        (["m.safetensors", "missing.svm"], 1, "missing.svm: No such file"),
        (["missing", "test.svm"], 1, "missing: No such file"),
        (["test.svm", "test.svm"], 1, "not a pairsift model"),
        (["m.safetensors", "one.svm"], 1, "one.svm: all 2 rows have one class, the label 1"),
        (["m.safetensors", "other.svm"], 1, "the label 2 occurs; the model knows the labels 0 and 1"),
        (["m.safetensors", "wide.npz"], 1, "the model expects 6 features"),
        (["m.safetensors", "nolabel.npz"], 1, "no labels"),
        (["m.safetensors", "test.svm", "--at", "1001"], 1, "only 1,000 rows"),
        (["m.safetensors", "test.svm", "--at", "0"], 2, "--at"),
        (["m.safetensors", "test.svm", "--at", "101%"], 2, "--at"),
        (["m.safetensors", "test.svm", "--at", "many"], 2, "neither a number of rows"),
        (["m.safetensors", "test.svm", "--max-fpr", "0"], 2, "--max-fpr"),
        (["m.safetensors", "test.svm", "--level", "95"], 2, "--level"),
        (["m.safetensors", "test.svm", "--plot", "roc.gif"], 2, ".svg, .png or .pdf"),
        (["m.safetensors", "test.svm", "--plot", "no/roc.svg"], 1, "no/roc.svg"),
        (["short.csv", "test.svm"], 1, "short.csv: has 2 scores, but the data have 1,000 rows"),
        (["words.csv", "test.svm"], 1, "words.csv, line 2: a number is required; got 'high'"),
        (["columns.csv", "test.svm"], 1, "one is 'score'"),
        (["nan.csv", "test.svm"], 1, "score number 2 is not finite"),
        (["m.safetensors"], 2, "DATA"),
    ],
)
def test_what_cannot_be_evaluated_is_one_line(folder, arguments, status, says):
    (folder / "one.svm").write_text("1 1:1\n1 2:1\n")
    (folder / "other.svm").write_text("1 1:1\n2 2:1\n")
    (folder / "short.csv").write_text("1.5\n2\n")
    (folder / "words.csv").write_text("1.5\nhigh\n")
    (folder / "columns.csv").write_text("a,b\n1,2\n")
    (folder / "nan.csv").write_text("1\nnan\n")
    np.savez(folder / "wide.npz", X=np.ones((2, 7)), y=[0, 1])
    np.savez(folder / "nolabel.npz", X=np.ones((2, 6)))
    assert says in one_line(run("evaluate", *arguments, cwd=folder), status)


def test_scores_files_keep_every_bit(tmp_path):
    scores = np.random.default_rng(0).normal(size=100)
    (tmp_path / "a.txt").write_text("".join(f"{value!r}\n" for value in scores.tolist()))
    (tmp_path / "b.tsv").write_text("row\tscore\n" + "".join(f"{k}\t{v!r}\n" for k, v in enumerate(scores.tolist())))
    np.testing.assert_array_equal(read_scores(tmp_path / "a.txt"), scores)
    np.testing.assert_array_equal(read_scores(tmp_path / "b.tsv", 100), scores)
    (tmp_path / "b.tsv").write_text("row\tscore\n0\t1.5\n1\tx\n")
    with pytest.raises(ValueError, match="line 3: no number in the column 'score'"):
        read_scores(tmp_path / "b.tsv")


def test_evaluate_does_not_import_scikit_learn(folder):
    code = (
        "import sys; from pairsift.cli import pairsift\n"
        "pairsift.main(['evaluate', 'm.safetensors', 'test.svm'], prog_name='pairsift', standalone_mode=False)\n"
        "assert not {'sklearn', 'pyarrow', 'matplotlib'} & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_memory_does_not_grow_with_the_features(tmp_path):
    """A text of 80 MB is evaluated in less memory than its rows would need: only labels and scores are kept."""
    rng = np.random.default_rng(0)
    row = " ".join(f"{k + 1}:{v:.3f}" for k, v in enumerate(rng.random(200)))
    with (tmp_path / "big.svm").open("w") as file:
        for start in range(0, 50_000, 1000):
            file.write("".join(f"{(start + k) % 3 // 2} 1:{rng.random():.4f} {row[8:]}\n" for k in range(1000)))
    (tmp_path / "train.svm").write_text("".join((tmp_path / "big.svm").read_text().splitlines(keepends=True)[:3000]))
    run("fit", "train.svm", "-o", "m", "--budget", "200", "--random-state", "0", cwd=tmp_path)
    code = COMMAND[-1].replace(
        "main()",
        "import atexit, resource; atexit.register(lambda: print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, "
        "file=sys.stderr)); main()",
    )
    peak = {}
    for data in ("train.svm", "big.svm"):
        command = [sys.executable, "-c", code, "evaluate", "m", data]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
        peak[data] = int(done.stderr) / 1024
    stored = 50_000 * 200 * 12 / 2**20  # a float64 and an int32 each
    assert peak["big.svm"] - peak["train.svm"] < stored / 4, peak
