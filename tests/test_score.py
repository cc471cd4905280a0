"""``pairsift score``: every format in, scores, ids, best rows and probabilities out, in bounded memory, in a pipe."""

import csv
import io
import subprocess
import sys

import numpy as np
import pytest

from pairsift import LinearModel, calibrate, load_model, make_ranking, save_model
from pairsift.cli import pairsift as command
from pairsift.data.blocks import SvmlightBlocks
from pairsift.data.convert import convert
from test_cli import COMMAND, one_line, run, write_svmlight


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("score")
    X, y = make_ranking(500, 3, positive_rate=0.3, random_state=0)
    X = np.round(X, 1)  # so that scores are tied
    write_svmlight(folder / "rows.svm", X, y)
    np.save(folder / "rows.npy", X)
    np.savez(folder / "rows.npz", X=X, y=y)
    plain = LinearModel(np.array([[1.0, -0.5, 0.25]]), np.array([0.5]), np.array([0.0, 1.0]), zero_based=False)
    save_model(plain, folder / "plain")
    save_model(calibrate(plain, X, y), folder / "calibrated")
    names = [f'he said "{k}", twice' if k % 7 == 0 else f"id {k}" for k in range(500)]
    with open(folder / "table.csv", "w", newline="") as file:
        csv.writer(file).writerows(
            [["a", "name", "b", "c"], *([x, n, y, z] for (x, y, z), n in zip(X, names, strict=True))]
        )
    named = LinearModel(plain.coef_, plain.intercept_, plain.classes_, np.array(["a", "b", "c"], dtype=object))
    save_model(named, folder / "named")
    np.save(folder / "expected.npy", plain.decision_function(X))
    return folder


def score(folder, *arguments):
    """Run the command in this process and return what it wrote."""
    out = folder / "out"
    command.main(["score", *map(str, arguments), "-o", str(out)], prog_name="pairsift", standalone_mode=False)
    return out.read_text()


def numbers(text):
    return np.array([float(line) for line in text.splitlines()])


@pytest.mark.parametrize("ending", ["svm", "npy", "npz"])
def test_scores_are_those_of_the_model_bit_for_bit(folder, ending):
    scores = numbers(score(folder, folder / "plain", folder / f"rows.{ending}"))
    assert scores.tobytes() == np.load(folder / "expected.npy").tobytes()


def test_tables_of_all_kinds_give_the_same_lines(folder):
    pandas = pytest.importorskip("pandas")
    frame = pandas.read_csv(folder / "table.csv")
    frame.to_parquet(folder / "table.parquet")
    frame.to_feather(folder / "table.arrow")
    lines = {
        score(folder, folder / "named", folder / f"table.{end}", "--ids", "name") for end in ("csv", "parquet", "arrow")
    }
    (text,) = lines
    rows = list(csv.reader(io.StringIO(text)))
    assert rows[0] == ["id", "score"]
    assert rows[1][0] == 'he said "0", twice'
    assert [row[0] for row in rows[1:]] == frame["name"].tolist()
    assert [float(row[1]) for row in rows[1:]] == np.load(folder / "expected.npy").tolist()


@pytest.mark.parametrize("k", [1, 40, 499, 10_000])
def test_top_is_the_head_of_the_sorted_scores(folder, k, monkeypatch):
    monkeypatch.setattr("pairsift.data.blocks.BLOCK_BYTES", 24 * 30)  # 30 rows a block
    scores = np.load(folder / "expected.npy")
    order = sorted(range(500), key=lambda row: (-scores[row], row))[:k]
    assert len(set(scores[order[:40]])) < 40  # ties are there
    rows = list(csv.reader(io.StringIO(score(folder, folder / "plain", folder / "rows.npy", "--top", k))))
    assert rows[0] == ["row", "score"]
    assert [int(row[0]) for row in rows[1:]] == order
    assert [float(row[1]) for row in rows[1:]] == scores[order].tolist()


def test_top_carries_ids(folder):
    rows = list(
        csv.DictReader(io.StringIO(score(folder, folder / "named", folder / "table.csv", "--top", 30, "--ids", "name")))
    )
    for row in rows:
        assert str(row["row"]) in row["id"]


def test_rows_of_a_store_are_named_by_their_original_numbers(folder):
    pytest.importorskip("pyarrow")
    convert(SvmlightBlocks(folder / "rows.svm"), folder / "rows.arrow")
    scores = np.load(folder / "expected.npy")
    rows = list(csv.DictReader(io.StringIO(score(folder, folder / "plain", folder / "rows.arrow", "--rows"))))
    assert sorted(int(row["row"]) for row in rows) == list(range(500))
    assert [float(row["score"]) for row in rows] == [scores[int(row["row"])] for row in rows]
    top = score(folder, folder / "plain", folder / "rows.arrow", "--top", 20)
    assert top == score(folder, folder / "plain", folder / "rows.svm", "--top", 20)


def test_probabilities(folder):
    model = load_model(folder / "calibrated")
    scores = np.load(folder / "expected.npy")
    found = numbers(score(folder, folder / "calibrated", folder / "rows.svm", "--probability"))
    assert found.tolist() == model.calibration.probabilities(scores).tolist()
    rare = numbers(score(folder, folder / "calibrated", folder / "rows.svm", "--probability", "--base-rate", 0.01))
    assert rare.mean() < found.mean() / 5
    assert "row,probability" in score(folder, folder / "calibrated", folder / "rows.svm", "--probability", "--top", 3)


@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        (["plain", "rows.svm", "--probability"], 1, "--calibration logistic"),
        (["calibrated", "rows.svm", "--base-rate", "0.1"], 2, "--probability"),
        (["calibrated", "rows.svm", "--probability", "--base-rate", "10"], 2, "between 0 and 1"),
        (["plain", "rows.svm", "--top", "0"], 2, "--top"),
        (["plain", "rows.svm", "--ids", "name"], 1, "only tables"),
        (["named", "table.csv", "--ids", "nobody"], 1, "no column 'nobody'"),
        (["plain", "rows.svm", "-o", "no/such/file"], 1, "no/such is not there"),
    ],
)
def test_faults_are_one_line(folder, arguments, status, says):
    assert says in one_line(run("score", *arguments, cwd=folder), status)


def test_a_fault_late_in_the_data_leaves_the_old_file(folder):
    (folder / "bad.svm").write_text((folder / "rows.svm").read_text() + "1 1:nonsense\n")
    (folder / "old.txt").write_text("old")
    one_line(run("score", "plain", "bad.svm", "-o", "old.txt", cwd=folder), 1)
    assert (folder / "old.txt").read_text() == "old"


def test_a_pipe_through_and_a_reader_that_has_seen_enough(folder):
    text = (folder / "rows.svm").read_text()
    done = run("score", "plain", "-", cwd=folder, input=text)
    assert done.stdout == score(folder, folder / "plain", folder / "rows.svm")
    (folder / "long.svm").write_text(text * 200)
    process = subprocess.Popen(
        [*COMMAND, "score", "plain", "long.svm"], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout.readline()
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait() == 0


@pytest.mark.skipif(sys.platform != "linux", reason="VmHWM is Linux")
def test_memory_does_not_grow_with_the_data(folder):
    code = (
        "import sys; from pairsift.cli import pairsift\n"
        "pairsift.main(sys.argv[1:], prog_name='pairsift', standalone_mode=False)\n"
        "print([int(line.split()[1]) for line in open('/proc/self/status') if 'VmHWM' in line][0], file=sys.stderr)"
    )
    text, peaks = (folder / "rows.svm").read_text(), []
    for times in (2000, 4000):
        (folder / "big.svm").write_text(text * times)
        call = [sys.executable, "-c", code, "score", "plain", "big.svm", "--top", "100"]
        done = subprocess.run(call, cwd=folder, capture_output=True, text=True, check=True)
        peaks.append(int(done.stderr))
    assert peaks[1] < peaks[0] + 6000, peaks  # the scores of a million more rows are 8 MB
