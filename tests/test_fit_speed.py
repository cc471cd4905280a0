"""`pairsift fit` beside LIBLINEAR's `train`, in wall time from process start to model file."""

import importlib.util
import os
from pathlib import Path

import pytest

TOOL = Path(__file__).parents[1] / "tools" / "measure_fit_command.py"


@pytest.mark.slow
@pytest.mark.skipif("PAIRSIFT_DATA" not in os.environ, reason="PAIRSIFT_DATA is not set")
def test_fit_takes_at_most_twice_the_time_of_liblinear():
    spec = importlib.util.spec_from_file_location("measure_fit_command", TOOL)
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    peer = tool.liblinear()
    if peer is None:
        pytest.skip("neither liblinear-train nor liblinear-official is installed")
    ours, theirs = tool.compare(peer, repeat=5)
    assert ours <= tool.MOST_RATIO * theirs
