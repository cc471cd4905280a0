"""Bad input ends in one line with the documented exit status, without a traceback, and changes no file."""

import gzip
import json
import pickle
import shlex
import struct
import tomllib
from pathlib import Path

import numpy as np
import pytest

from pairsift import make_ranking
from test_cli import one_line, run, write_svmlight

CASES = tomllib.loads(Path(__file__).with_name("bad_inputs.toml").read_text())["case"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return make_files(tmp_path_factory.mktemp("bad"))


def make_files(folder):
    """Write what the cases name into an empty folder; the docs use it too, to print the messages."""
    _write_rows(folder)
    _write_tables(folder)
    _write_arrays(folder)
    _write_models(folder)
    (folder / "folder").mkdir()
    (folder / "notes.docx").write_bytes(b"PK\x03\x04 something else")
    (folder / "short-scores.csv").write_text("score\n0.5\n0.25\n")
    return folder


def _write_rows(folder):
    X, y = make_ranking(400, 4, random_state=0)
    write_svmlight(folder / "train.svm", X[:300], y[:300])
    write_svmlight(folder / "test.svm", X[300:], y[300:])
    write_svmlight(folder / "one-class.svm", X[y == 1], y[y == 1])
    write_svmlight(folder / "three.svm", X[:9], np.arange(9) % 3 + 5)
    (folder / "empty.svm").write_text("")
    (folder / "word.svm").write_text("1 1:0.5\n-1 1:often\n")
    (folder / "order.svm").write_text("1 2:0.5 1:0.5\n-1 1:1\n")
    (folder / "nan.svm").write_text("1 1:nan\n-1 1:1\n")
    whole = gzip.compress((folder / "train.svm").read_bytes())
    (folder / "cut.svm.gz").write_bytes(whole[: len(whole) // 2])


def _write_tables(folder):
    rows = [(20 + k % 50, "Oslo" if k % 3 else "Rome", "yes" if k % 4 else "no") for k in range(80)]
    lines = [f"{age},{city},{bought}" for age, city, bought in rows]
    (folder / "table.csv").write_text("\n".join(["age,city,bought", *lines]) + "\n")
    (folder / "holes.csv").write_text("\n".join(["age,city,bought", *lines, ",Oslo,yes"]) + "\n")
    (folder / "slip.csv").write_text("\n".join(["age,city,bought", *lines, "4o,Oslo,yes"]) + "\n")
    (folder / "ragged.csv").write_text("\n".join(["age,city,bought", *lines, "30,Oslo,yes,1,2"]) + "\n")
    (folder / "other.csv").write_text("age,town\n30,Oslo\n")
    (folder / "header.csv").write_text("age,city,bought\n")
    (folder / "empty.csv").write_text("")


def _write_arrays(folder):
    X, y = make_ranking(50, 3, random_state=0)
    np.save(folder / "X.npy", X)
    np.save(folder / "y.npy", y)
    np.save(folder / "wide.npy", np.ones((3, 99)))
    np.save(folder / "short.npy", y[:10])
    np.save(folder / "objects.npy", np.array([{"a": 1}] * 50, dtype=object), allow_pickle=True)
    X[3, 1] = np.inf
    np.savez(folder / "infinite.npz", X=X, y=y)


def _write_models(folder):
    fit = run("fit", "train.svm", "-o", "model.safetensors", "--random-state", 0, cwd=folder)
    assert fit.returncode == 0, fit.stderr
    options = ["--label", "bought", "--positive", "yes"]
    assert run("fit", "table.csv", "-o", "table.safetensors", *options, cwd=folder).returncode == 0
    assert run("convert", "train.svm", "-o", "rows.arrow", cwd=folder).returncode == 0
    (folder / "short.arrow").write_bytes((folder / "rows.arrow").read_bytes()[:-2000])
    model = (folder / "model.safetensors").read_bytes()
    (folder / "cut.safetensors").write_bytes(model[:-8])
    (folder / "pickled.safetensors").write_bytes(pickle.dumps({"coef": [1, 2, 3]}))
    (folder / "future.safetensors").write_bytes(_with_header(model, lambda header: header | {"format": 999}))
    other = json.dumps({"coef": {"dtype": "F64", "shape": [1], "data_offsets": [0, 8]}}).encode()
    (folder / "other.safetensors").write_bytes(struct.pack("<Q", len(other)) + other + bytes(8))


def _with_header(model, change):
    """Return the bytes of a model file whose pairsift header was changed."""
    length = struct.unpack("<Q", model[:8])[0]
    outer = json.loads(model[8 : 8 + length])
    outer["__metadata__"]["pairsift"] = json.dumps(change(json.loads(outer["__metadata__"]["pairsift"])))
    head = json.dumps(outer).encode()
    return struct.pack("<Q", len(head)) + head + model[8 + length :]


def _content(folder):
    return {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_there_are_at_least_forty_and_names_differ():
    assert len(CASES) >= 40
    assert len({case["name"] for case in CASES}) == len(CASES)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_bad_input(case, folder):
    before = _content(folder)
    done = run(*shlex.split(case["run"]), cwd=folder, stdin=-3)
    assert case["says"] in one_line(done, case["status"])
    assert done.stdout == ""
    assert _content(folder) == before
