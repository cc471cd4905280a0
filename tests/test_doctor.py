"""`pairsift doctor`: says what is there, and is not well when something needed is broken."""

import json
import platform
import re
import sys
from importlib import metadata

import numpy as np
import pytest

from in_process import run
from pairsift import __version__, _core, self_check
from pairsift.cli.doctor import _numbers

LISTED = [
    "numpy>=1.26",
    "click>=8.1",
    'pyarrow>=16; extra == "arrow"',
    'matplotlib>=3.8; extra == "plot"',
    'no-such-package>=1; extra == "spark"',
    'pairsift[arrow,plot]; extra == "test"',
    'ruff>=0.9; extra == "lint"',
]


@pytest.fixture
def listed(monkeypatch):
    monkeypatch.setattr(metadata, "requires", lambda name: LISTED)


def facts(status=0):
    done = run("doctor", "--json")
    assert done.returncode == status, done.stderr
    return json.loads(done.stdout)


def test_everything_is_well(listed, tmp_path, monkeypatch):
    monkeypatch.setenv("PAIRSIFT_DATA", str(tmp_path))
    (tmp_path / "a9a").mkdir()
    (tmp_path / "a9a" / "a9a.train.svm.xz").write_bytes(b"")
    found = facts()
    assert found["usable"]
    assert found["faults"] == []
    assert found["pairsift"] == __version__
    assert found["python"] == platform.python_version()
    assert found["required"]["numpy"] == {"version": np.__version__, "fault": None}
    assert set(found["extras"]) == {"arrow", "plot", "spark"}
    assert found["extras"]["plot"]["installed"]
    assert not found["extras"]["spark"]["installed"]
    assert found["extras"]["spark"]["install"] == 'pip install "pairsift[spark]"'
    assert found["kernels"]["optimised"]
    assert re.match(r"(GCC|Clang|MSVC) \d+", found["kernels"]["compiler"])
    assert found["kernels"]["standard"] >= 201703
    assert set(found["kernels"]["checks"].values()) == {""}
    assert found["data"]["folders"][0] == {"folder": str(tmp_path), "is_cache": False, "sets": ["a9a"]}
    text = run("doctor").stdout
    for words in (
        f"pairsift {__version__}",
        "[spark]",
        'pip install "pairsift[spark]"',
        "5 of 5 checks",
        "a9a",
        "works.",
    ):
        assert words in text


def test_the_real_list_of_requirements_is_understood():
    found = facts()
    assert {"numpy", "scipy", "scikit-learn", "safetensors", "click"} <= set(found["required"])
    assert "arrow" in found["extras"]
    assert not {"test", "lint"} & set(found["extras"])


def test_a_missing_or_old_package_is_a_fault(monkeypatch):
    monkeypatch.setattr(metadata, "requires", lambda name: ["numpy>=99.1", "no-such-package>=1"])
    found = facts(1)
    assert not found["usable"]
    assert f"numpy: is {np.__version__}, but 99.1 is needed" in found["faults"][0]
    assert "no-such-package: is not installed; run: pip install no-such-package" in found["faults"][1]
    done = run("doctor")
    assert done.returncode == 1
    assert "fault: numpy: is" in done.stdout


def test_a_broken_package_is_a_fault(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy", None)
    monkeypatch.setattr(metadata, "requires", lambda name: ["scipy>=1"])
    assert "scipy: cannot be imported" in facts(1)["faults"][0]


def test_missing_kernels_are_a_fault(listed, monkeypatch):
    monkeypatch.delitem(sys.modules, "pairsift.self_check")
    monkeypatch.setitem(sys.modules, "pairsift.self_check", None)
    assert "the compiled kernels cannot be imported" in facts(1)["faults"][0]


def test_a_kernel_that_computes_something_else_is_a_fault(listed, monkeypatch):
    true = self_check.reference.scores
    monkeypatch.setattr(self_check.reference, "scores", lambda X, w: true(X, w) + 1e-6)
    assert "'scores of dense and sparse rows': differs from the reference by 1e-06" in facts(1)["faults"][0]


@pytest.mark.parametrize("name", ["differences", "primal_value"])
def test_every_check_can_fail(name, monkeypatch):
    true = getattr(self_check.reference, name)
    monkeypatch.setattr(self_check.reference, name, lambda *given: true(*given) + 1e-3)
    assert sum(bool(fault) for _, fault in self_check.self_check()) == 1


def test_a_check_that_raises_is_told(monkeypatch):
    def fail(*given):
        raise RuntimeError("no luck")

    monkeypatch.setattr(self_check, "mean_loss", fail)
    assert ("sums over all pairs", "RuntimeError: no luck") in list(self_check.self_check())


def test_build_facts():
    assert set(_core.build_facts()) == {"compiler", "standard", "build_type", "optimised"}


@pytest.mark.parametrize(("version", "numbers"), [("1.26.4", (1, 26, 4)), ("2.0.0rc1", (2, 0, 0)), ("25", (25,))])
def test_versions(version, numbers):
    assert _numbers(version) == numbers
