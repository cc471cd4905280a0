"""What must be set before anything is imported, and: in CI no test may skip."""

import os

import pytest

# scikit-learn leaves one of its estimator checks out unless SciPy's array API is on; here none is left out.
os.environ.setdefault("SCIPY_ARRAY_API", "1")


def pytest_sessionfinish(session):
    """Fail a run in CI that skipped a test: there everything that tests need is installed."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if os.environ.get("CI") == "true" and "PAIRSIFT_DATA" in os.environ and reporter.stats.get("skipped"):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
