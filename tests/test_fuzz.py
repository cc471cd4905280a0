"""The fuzz targets in short; `make campaign` runs them in full. Regression tests of what they found stand here too."""

import subprocess
import sys
from pathlib import Path

import pytest

from made_up_store import Filler
from pairsift.data.csv_table import CsvTable
from pairsift.experiments.results import Results
from pairsift.report import build_report

TOOLS = Path(__file__).resolve().parent.parent / "tools"


def run_tool(tmp_path, name, *arguments):
    line = [sys.executable, str(TOOLS / name), *map(str, arguments)]
    done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=580)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert not list(tmp_path.glob("finding*"))
    return done.stdout


# A fixed seed and a fixed number of inputs, about a minute in all: every run tries the same. The limits in seconds are
# for machines that are far slower.
@pytest.mark.slow
@pytest.mark.parametrize("target", ["store", "model"])
def test_headers(tmp_path, target):
    options = ["--inputs", 40_000, "--guided", 0, "--seconds", 400, "--seed", 1]
    assert "0 findings" in run_tool(tmp_path, "fuzz_headers.py", target, *options)


@pytest.mark.slow
@pytest.mark.parametrize(("target", "runs"), [("csv", 1500), ("results", 800)])
def test_tables(tmp_path, target, runs):
    options = ["--runs", runs, "--seconds", 400, "--seed", 1]
    assert "0 findings" in run_tool(tmp_path, "fuzz_tables.py", target, *options)


@pytest.mark.slow
def test_svmlight(tmp_path):
    options = ["--inputs", 60_000, "--guided", 60_000, "--seconds", 200, "--numbers", 100_000, "--line-bytes", 10**6]
    said = run_tool(tmp_path, "fuzz_svmlight.py", *options, "--flips", 50, "--seed", 1)
    assert "no finding" in said
    assert "cleanly" in said


@pytest.mark.parametrize("names", ["a\rb,c\n1,2\n", 'a"\r,b\n'])
def test_a_line_of_names_that_no_reader_takes_is_refused(tmp_path, names):
    """Fuzzing found an exception of Python's csv module."""
    (tmp_path / "rows.csv").write_bytes(names.encode())
    with pytest.raises(ValueError, match=r"rows\.csv"):
        list(CsvTable(tmp_path / "rows.csv").batches(["a"]))


@pytest.mark.parametrize("delimiter", ["é", '"', "\n", "\x00", ",,", ""])
def test_a_delimiter_that_is_none_is_refused(tmp_path, delimiter):
    (tmp_path / "rows.csv").write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match="delimiter is one character"):
        CsvTable(tmp_path / "rows.csv", delimiter=delimiter)


SPOILT = {
    "dataset = x'ff'": "a text is required",
    "fold = 'x'": "whole numbers",
    "train_cpu = 'x'": "seconds must be numbers",
    "train_cpu = -1": "seconds must be numbers from 0",
    "train_wall = 1e300": "seconds must be numbers from 0",
    "result = '[]'": "JSON object is required",
    "result = '{\"auc\": NaN}'": "NaN is no number",
    'result = \'{"auc": "7"}\'': "an AUC is a number",
    "result = '{\"auc\": -0.1}'": "an AUC is a number from 0 to 1",
    "result = '{\"auc\": 1e300}'": "an AUC is a number from 0 to 1",
    f"result = '{{\"auc\": 1{'0' * 400}}}'": "an AUC is a number from 0 to 1; got 10",
    'result = \'{"auc": 0.5, "rejected": -1}\'': "rejected draws must be a number from 0",
    'result = \'{"auc": 0.5, "curve": {"pairs": [1], "auc": [2]}}\'': "an AUC is at most 1",
    'result = \'{"auc": 0.5, "curve": {"pairs": [-1], "auc": [0.5]}}\'': "a curve holds numbers from 0",
    'result = \'{"auc": 0.5, "curve": 3}\'': "a curve is an object",
    'settings = \'{"C": "x"}\'': "settings must be numbers",
    "settings = '{\"budget\": -8000}'": "settings must be numbers from 0",
    "settings = '{\"budget\": 1e300}'": "settings must be numbers from 0",
    f"settings = '{{\"budget\": 1{'0' * 400}}}'": "settings must be numbers from 0",
}


@pytest.mark.parametrize("change", SPOILT, ids=lambda change: change[:60])
def test_a_spoilt_store_of_results_is_refused(tmp_path, change):
    """Fuzzing found exceptions of every kind in the page and the tables, which took the rows as they were."""
    filler = Filler(tmp_path / "r.sqlite")
    filler.put_pools("auc", "a9a", "soft-close", [0.8, 0.81])
    filler.results._connection.execute(f"UPDATE cells SET {change}")
    filler.results._connection.commit()
    filler.results.close()
    with Results(tmp_path / "r.sqlite") as results, pytest.raises(ValueError, match=SPOILT[change]):
        build_report(results)


def test_facts_that_are_no_text_are_refused(tmp_path):
    filler = Filler(tmp_path / "r.sqlite")
    filler.results._connection.execute("UPDATE facts SET value = x'ff'")
    with pytest.raises(ValueError, match="facts are not text"):
        filler.results.facts  # noqa: B018 - reading is the test
    filler.results._connection.rollback()
    filler.results.close()
