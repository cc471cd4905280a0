"""The command that measures scaling, at a small size: it times, draws, and judges what was measured."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

TOOL = Path(__file__).parents[1] / "tools" / "measure_scaling.py"


def run(*arguments):
    return subprocess.run(
        [sys.executable, str(TOOL), *map(str, arguments)], capture_output=True, text=True, check=False
    )


def test_the_small_version_measures_and_draws(tmp_path):
    pytest.importorskip("pyarrow")
    pytest.importorskip("matplotlib")
    out, picture = tmp_path / "scaling.json", tmp_path / "scaling.svg"
    options = ("--small", "--sweeps", "rows", "--repeat", "1", "--folder", tmp_path)
    done = run(*options, "-o", out, "--picture", picture)
    assert done.returncode == 0, done.stderr
    measured = json.loads(out.read_text())
    assert [(one["sweep"], one["kind"], one["rows"]) for one in measured] == [
        ("rows", "memory", 3000),
        ("rows", "memory", 10_000),
        ("rows", "store", 3000),
        ("rows", "store", 10_000),
    ]
    for one in measured:
        assert min(one["cpu"]) > 0
        assert one["memory"] >= 0
        assert 0.75 < one["auc"] < 0.95
    assert done.stdout.startswith("| rows N | soft-correct, rows in memory | soft-correct, row store |\n")
    assert done.stdout.count(" MB") == len(measured)
    assert 1000 < picture.stat().st_size < 300_000
    assert sorted(path.name for path in tmp_path.iterdir()) == ["scaling.json", "scaling.svg"]


@pytest.mark.parametrize(
    ("large", "y", "verdicts", "status"),
    [(0.12, 0.1, ["good", "good"], 0), (0.14, 0.1, ["NOT GOOD", "good"], 1), (0.12, 0.2, ["good", "NOT GOOD"], 1)],
)
def test_the_promises_are_judged(tmp_path, large, y, verdicts, status):
    point = {
        "sweep": "rows", "kind": "memory", "features": 10, "stored": None, "budget": 8000, "noise": 0.05,
        "positive_rate": 0.1, "sampling": "soft-correct", "memory": 1e6, "auc": 0.9,
    }  # fmt: skip
    for rows, cpu in ((10**5, 0.1), (10**7, large)):
        content = [{**point, "rows": rows, "cpu": [cpu, 2 * cpu], "y_cpu": [y, 2 * y]}]
        (tmp_path / f"{rows}.json").write_text(json.dumps(content))
    done = run("--from", tmp_path / "100000.json", "--from", tmp_path / "10000000.json")
    assert done.returncode == status, done.stderr
    assert [line.rsplit(": ", 1)[1] for line in done.stdout.splitlines()[-2:]] == verdicts
