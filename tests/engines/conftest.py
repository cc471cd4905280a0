"""Every test in this folder starts real engines or belongs to them: `make test-engines`, not `make test`."""

from pathlib import Path

import pytest

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items):
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.engines)
