"""What must be set before anything is imported, and: in CI no test may skip."""

import os
from pathlib import Path

import pytest

ENGINES = Path(__file__).parent / "engines"

# scikit-learn leaves one of its estimator checks out unless SciPy's array API is on; here none is left out.
os.environ.setdefault("SCIPY_ARRAY_API", "1")


def pytest_sessionfinish(session):
    """Fail a run in CI that skipped a test: there everything that tests need is installed."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if os.environ.get("CI") == "true" and "PAIRSIFT_DATA" in os.environ and reporter.stats.get("skipped"):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_ignore_collect(collection_path, config):
    """Leave the engines' tests to `make test-engines`, which names their folder and installs what they need."""
    named = any(Path(argument.split("::")[0]).resolve().is_relative_to(ENGINES) for argument in config.args)
    return True if collection_path == ENGINES and not named else None
