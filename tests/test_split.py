"""`pairsift split`: every row is in one of the two files, as it was, and each label in both by its share."""

import gzip
import json

import numpy as np
import pandas as pd
import pytest

from in_process import run
from pairsift.data.labelled import LabelOptions
from pairsift.data.split import rows_to_test, split_file
from test_cli import one_line


def parts(folder, data, ending, *options):
    done = run("split", data, "-o", f"a{ending}", f"b{ending}", *options, cwd=folder)
    assert done.returncode == 0, done.stderr
    return (folder / f"a{ending}").read_bytes(), (folder / f"b{ending}").read_bytes(), done.stdout


@pytest.mark.parametrize("share", [0.25, 0.5, 0.01])
def test_each_label_has_its_share(share):
    y = np.array(["a"] * 400 + ["b"] * 80 + ["c"] * 2 + ["d"])
    test = rows_to_test(y, share, np.random.default_rng(0))
    counts = {label: int(np.count_nonzero(test & (y == label))) for label in "abcd"}
    assert counts == {"a": round(400 * share), "b": max(1, round(80 * share)), "c": 1, "d": 0}
    other = rows_to_test(y, share, np.random.default_rng(1))
    assert share == 0.01 or not np.array_equal(test, other)


RECORDS = [
    b'1,"two\nlines, and ""quotes""",yes\r\n',
    b'2,5" pipe,no\r\n',
    b"3,\xc3\xa9,yes\r\n",
    b'4,"",no\r\n',
    b"5,x,yes\r\n",
    b"6,y,no\n",
]
CSV = b"id,note,y\r\n" + b"".join(RECORDS[:3]) + b"\r\n" + b"".join(RECORDS[3:]).rstrip()


@pytest.mark.parametrize("ending", [".csv", ".csv.gz"])
def test_records_of_csv_stay_as_they_are(tmp_path, ending):
    (tmp_path / f"t{ending}").write_bytes(gzip.compress(CSV) if ending.endswith("gz") else CSV)
    train, test, said = parts(tmp_path, f"t{ending}", ".csv", "--label", "y", "--test", "0.34")
    names = b"id,note,y\r\n"
    assert train.startswith(names)
    assert test.startswith(names)
    kept = [train.removeprefix(names), test.removeprefix(names)]
    places = [[RECORDS.index(r) for r in RECORDS if r in part] for part in kept]
    assert sorted(places[0] + places[1]) == [0, 1, 2, 3, 4, 5]
    assert [b"".join(RECORDS[k] for k in rows) for rows in places] == kept
    assert [len(rows) for rows in places] == [4, 2]
    assert said.splitlines() == [
        "a.csv: 4 rows: 2 with label 'no', 2 with label 'yes'.",
        "b.csv: 2 rows: 1 with label 'no', 1 with label 'yes'.",
    ]


def test_lines_of_svmlight_stay_as_they_are_and_the_seed_decides(tmp_path):
    lines = [f"{k % 3 == 0:d} 1:{k} 3:0.50 # row {k}\n".encode() for k in range(60)]
    (tmp_path / "t.svm").write_bytes(b"# a comment\n\n" + b"".join(lines))
    train, test, _ = parts(tmp_path, "t.svm", ".svm")
    assert sorted(train.splitlines() + test.splitlines()) == sorted(line.strip() for line in lines)
    assert [line for line in lines if line in test] == test.splitlines(keepends=True)
    assert sum(line.startswith(b"1 ") for line in test.splitlines()) == 5
    assert len(test.splitlines()) == 15
    assert parts(tmp_path, "t.svm", ".svm")[:2] == (train, test)
    assert parts(tmp_path, "t.svm", ".svm", "--random-state", 1)[1] != test


@pytest.mark.parametrize("ending", [".parquet", ".arrow"])
def test_tables_with_types_keep_them(tmp_path, ending):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "when": pd.date_range("2026-01-01", periods=100_000, freq="min"),
            "city": pd.Categorical(rng.choice(["Oslo", "Rome"], 100_000)),
            "y": rng.random(100_000) < 0.1,
        }
    )
    write, read = (frame.to_parquet, pd.read_parquet) if ending == ".parquet" else (frame.to_feather, pd.read_feather)
    write(tmp_path / f"t{ending}")
    parts(tmp_path, f"t{ending}", ending, "--label", "y")
    train, test = (read(tmp_path / f"{name}{ending}") for name in "ab")
    assert len(test) == round(frame.y.sum() / 4) + round((~frame.y).sum() / 4)
    joined = pd.concat([train, test]).sort_values("when").reset_index(drop=True)
    assert joined.when.equals(frame.when)
    assert joined.city.astype(str).equals(frame.city.astype(str))
    assert joined.y.equals(frame.y)
    assert test.y.sum() == round(frame.y.sum() / 4)


def test_a_file_with_semicolons_from_one_file_to_an_answer(tmp_path):
    rng = np.random.default_rng(0)
    rows = [f"{x:.3f};{'A' if x + rng.normal() > 0 else 'B'}" for x in rng.normal(size=400)]
    (tmp_path / "t.csv").write_text("\n".join(["x;kind", *rows]) + "\n")
    parts(tmp_path, "t.csv", ".csv", "--label", "kind", "--delimiter", ";")
    done = run("fit", "a.csv", "-o", "m", "--label", "kind", "--positive", "A", "--delimiter", ";", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "100 rows" in run("evaluate", "m", "b.csv", cwd=tmp_path).stdout  # the model knows label and delimiter
    facts = json.loads(run("split", "t.csv", "-o", "c.csv", "d.csv", "--label", "kind", "--delimiter", ";", "--json",
                           cwd=tmp_path).stdout)  # fmt: skip
    assert (facts["train"]["rows"], facts["test"]["rows"]) == (300, 100)
    assert (tmp_path / "c.csv").read_bytes() == (tmp_path / "a.csv").read_bytes()


@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        (["t.csv", "-o", "a.csv", "b.csv"], 1, "say which column is the label with --label"),
        (["t.csv", "-o", "a.csv", "b.csv", "--label", "nothing"], 1, "no column 'nothing'"),
        (["t.csv", "-o", "a.csv", "b.csv", "--label", "y", "--delimiter", ";"], 1, "--delimiter ','"),
        (["t.csv", "-o", "a.csv", "b.svm", "--label", "y"], 1, "b.svm: the parts of t.csv are csv"),
        (["t.csv", "-o", "a.csv", "b.csv.gz", "--label", "y"], 1, "not compressed"),
        (["t.csv", "-o", "a.csv", "t.csv", "--label", "y"], 1, "three names"),
        (["X.npy", "-o", "a.npy", "b.npy"], 1, "train_test_split"),
        (["-", "-o", "a.csv", "b.csv", "--format", "csv"], 1, "give a file"),
        (["t.csv", "-o", "a.csv", "b.csv", "--label", "y", "--test", "1"], 2, "--test"),
        (["t.csv", "-o", "a.csv"], 2, "-o"),
    ],
)
def test_what_cannot_be_split_is_one_line_and_writes_nothing(tmp_path, arguments, status, says):
    (tmp_path / "t.csv").write_bytes(CSV)
    np.save(tmp_path / "X.npy", np.eye(3))
    assert says in one_line(run("split", *arguments, cwd=tmp_path), status)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["X.npy", "t.csv"]


def test_a_field_longer_than_the_reader_takes_is_one_line(tmp_path):
    (tmp_path / "t.csv").write_text("x,y\n" + "a" * 200_000 + ",1\nb,0\nc,1\nd,0\n")
    done = run("split", "t.csv", "-o", "a.csv", "b.csv", "--label", "y", cwd=tmp_path)
    assert "t.csv: " in one_line(done, 1)
    assert "field larger" in done.stderr


def test_lines_that_the_reader_counts_otherwise_are_refused(tmp_path, monkeypatch):
    (tmp_path / "t.csv").write_bytes(CSV)
    monkeypatch.setattr("pairsift.data.split.label_values", lambda *_: np.array(["yes", "no"] * 4))
    outputs = str(tmp_path / "a.csv"), str(tmp_path / "b.csv")
    with pytest.raises(ValueError, match="6 rows were copied, but 8 have labels"):
        split_file(str(tmp_path / "t.csv"), outputs, 0.5, 0, LabelOptions(label="y"))
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]
