"""The frontier: curves of anytime methods, who is ahead, the picture, and `pairsift bench --frontier`."""

import json
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from click.testing import CliRunner

from pairsift import ActiveRankSVM, make_ranking
from pairsift.cli.bench import bench as command
from pairsift.experiments import frontier
from pairsift.experiments.anytime import watch
from pairsift.experiments.bench import Curve, Plan
from pairsift.report.frontier import draw
from test_bench import write_part


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    X, y = make_ranking(1500, 5, positive_rate=0.3, random_state=0)
    write_part(folder, "letter", "train", sp.csr_array(np.round(X, 3)), y > 0)
    return folder


def cell(name, method, cpu, auc, status="done", reason=None):
    return {
        "set": name, "method": method, "status": status, "reason": reason, "cpu": cpu, "auc": auc, "wall": cpu,
        "memory": 1, "warnings": [], "ratios": {}, "scale_C": None,
    }  # fmt: skip


@pytest.fixture
def record():
    return {
        "machine": {"processor": "p", "cores": 1, "system": "s", "python": "3", "versions": {}, "date": "d"},
        "repeats": 1, "threads": 1, "peers": [], "methods": [],
        "setting": {"C": 0.1, "scale_C": 1.0, "budget": 8000, "seed": 0},
        "cells": [
            cell("letter", "liblinear-wsvm", 0.15, 0.9006),
            cell("letter", "linear-svc:C=tuned", 0.15, 0.9004),
            cell("letter", "logistic-regression", 0.9, 0.9208),
            cell("letter", "sgd-classifier", 0.05, 0.7),
            cell("letter", "lightgbm", 5.0, 0.99),
            cell("letter", "ranksvm-squared", 0.5, 0.921),
            cell("letter", "svm-perf", None, None, "not here", "svm_perf_learn was not found"),
        ],
        "curves": [
            {"set": "letter", "method": "soft-correct", "status": "done",
             "cpu": [0.1, 0.2, 0.4], "auc": [0.9, 0.89, 0.92]},
        ],
    }  # fmt: skip


def test_who_is_ahead(record):
    """The envelope is 0.5 before 0.1 s, then 0.9, and 0.92 from 0.4 s; the margin is 0.0005."""
    found = frontier.ahead(record, "letter")
    assert [(one.point.method, round(one.by, 6), one.covered) for one in found] == [
        ("sgd-classifier", 0.2, False),
        ("logistic-regression", 0.0008, True),  # which ranksvm-squared, at 0.5 s, makes up for
        ("liblinear-wsvm", 0.0006, False),
    ]


def test_the_table_names_who_is_ahead_and_what_is_not_here(record):
    text = frontier.markdown(record)
    assert "| letter | 0.9000 at 0.1 s | 0.9200 at 0.4 s | logistic-regression 0.9208 at 0.9 s | lightgbm" in text
    assert "sgd-classifier (0.05 s) by 0.2000; logistic-regression (0.9 s) by 0.0008, which our other" in text
    assert "Not here: svm-perf: svm_perf_learn was not found." in text
    record["curves"][0]["auc"] = [0.95, 0.95, 0.95]
    record["cells"] = [one for one in record["cells"] if one["method"] != "sgd-classifier"]
    assert frontier.markdown(record).splitlines()[2].endswith("| none |")


def test_records_are_put_together(record):
    other = {**record, "cells": [cell("letter", "sgd-classifier", 0.3, 0.8), cell("bank", "wsvm", 1.0, 0.8)]}
    joined = frontier.join([record, {**other, "curves": [], "peers": ["wsvm"]}])
    assert len(joined["cells"]) == 8
    assert len(joined["curves"]) == 1
    assert [one["cpu"] for one in joined["cells"] if one["method"] == "sgd-classifier"] == [0.3]
    assert frontier.sets(joined) == ["letter", "bank"]
    assert joined["cells"][0]["ratios"] == {"wsvm": {"cpu": None}}


def test_a_watched_fit_is_the_fit(folder):
    X, y = make_ranking(3000, 4, random_state=0)
    model = ActiveRankSVM(budget=600, batch_size=100, sampling="soft-correct", random_state=3)
    moments = watch(model, X, y)
    plain = ActiveRankSVM(budget=600, batch_size=100, sampling="soft-correct", random_state=3).fit(X, y)
    assert len(moments) == len(plain.history_) == 6
    np.testing.assert_array_equal(moments[-1].w, plain.coef_[0])
    assert all(before.cpu < after.cpu for before, after in pairwise(moments))
    assert not np.array_equal(moments[0].w, moments[1].w)
    assert "_report" not in vars(model)


def test_the_least_time_of_each_moment_counts():
    curve = Curve("letter", "soft-correct")
    curve.add({"cpu": [1.0, 2.0], "auc": [0.7, 0.8]})
    curve.add({"cpu": [0.9, 2.5], "auc": [0.7, 0.8]})
    assert (curve.cpu, curve.auc) == ([0.9, 2.0], [0.7, 0.8])
    curve.add({"cpu": [1.5], "auc": [0.9]})
    assert (curve.cpu, curve.auc) == ([1.5], [0.9])


def test_a_method_without_rounds_has_no_curve():
    with pytest.raises(ValueError, match="wsvm has no curve"):
        Plan(["letter"], [], curves=["wsvm"]).check()


def test_the_picture_has_everybody_and_is_the_same_again(record, tmp_path):
    draw(record, tmp_path / "a.svg")
    draw(record, tmp_path / "b.svg")
    text = (tmp_path / "a.svg").read_text()
    assert text == (tmp_path / "b.svg").read_text()
    for words in ("letter", "liblinear-wsvm, untuned", "linear-svc, C tuned", "not linear: lightgbm .9900", ".7000"):
        assert words in text, words
    with pytest.raises(ValueError, match="no result to draw"):
        draw({**record, "cells": []}, tmp_path / "c.svg")


def test_the_command_draws_a_record(record, tmp_path):
    kept, out = tmp_path / "kept.json", tmp_path / "again.svg"
    kept.write_text(json.dumps(record))
    done = CliRunner().invoke(command, ["--frontier", "--from", str(kept), "-o", str(out)], catch_exceptions=False)
    assert done.output.startswith(frontier.markdown(record))
    assert "soft-correct, paper's C" in out.read_text()
    assert json.loads((tmp_path / "again.json").read_text())["cells"] == record["cells"]


@pytest.mark.slow
def test_the_command_measures_and_draws_again_without_measuring(folder, tmp_path, monkeypatch):
    monkeypatch.setenv("PAIRSIFT_DATA", str(folder))
    out = tmp_path / "frontier.svg"
    given = ["--frontier", "--sets", "letter", "--methods", "wsvm", "--peer", "wsvm", "--repeats", "1"]
    done = CliRunner().invoke(command, [*given, "--budget", "300", "-o", str(out)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    measured = json.loads((tmp_path / "frontier.json").read_text())
    names = ["wsvm", "wsvm:C=tuned", "auto", "soft-correct", "soft-correct:C=tuned"]
    assert [one["method"] for one in measured["cells"]] == names
    assert all(one["status"] == "done" for one in measured["cells"])
    *_, curve, tuned = measured["curves"]
    assert (curve["method"], tuned["method"]) == tuple(names[-2:])
    assert len(curve["cpu"]) == len(curve["auc"]) == 3
    assert curve["auc"][-1] == pytest.approx(measured["cells"][3]["auc"])
    assert tuned["auc"][-1] == pytest.approx(measured["cells"][4]["auc"])
    assert tuned["scale_C"] == measured["cells"][4]["scale_C"]
    first = out.read_text()
    out.unlink()
    again = CliRunner().invoke(command, ["--frontier", "--from", str(tmp_path / "frontier.json"), "-o", str(out)])
    assert again.exit_code == 0, again.output
    assert out.read_text() == first
    assert again.output == done.output
    assert "| letter | 0." in done.output


@pytest.mark.parametrize(
    ("arguments", "words", "status"),
    [
        (["-o", "x.svg"], "drawn with --frontier", 2),
        (["--frontier", "--curves", "wsvm", "--sets", "letter"], "wsvm has no curve", 2),
        (["--program", "svm_perf"], "must be NAME=PATH", 2),
        (["--program", "svm=x"], "no program 'svm'", 2),
        (["--methods", "linear-svc-as-is:C=tuned", "--sets", "letter"], "cannot be tuned", 2),
        (["--from", __file__], "not a record of pairsift bench", 1),
    ],
)
def test_wrong_usage_is_one_line(folder, arguments, words, status, monkeypatch):
    monkeypatch.setenv("PAIRSIFT_DATA", str(folder))
    done = CliRunner().invoke(command, arguments)
    assert (done.exit_code, words in done.output) == (status, True), done.output
