"""What must be set before anything is imported, and: in CI no test may skip."""

import os
from pathlib import Path

import pytest

ENGINES = Path(__file__).parent / "engines"

# scikit-learn leaves one of its estimator checks out unless SciPy's array API is on; here none is left out.
os.environ.setdefault("SCIPY_ARRAY_API", "1")


def pytest_addoption(parser):
    """Add the option of `tests/fits_beside.py`."""
    parser.addoption("--fit-beside", type=int, default=0, metavar="N", help="let N threads fit models meanwhile")


def pytest_collection_finish(session):
    """Start the threads that fit beside the tests, if there are to be any."""
    if session.config.option.fit_beside and not session.config.option.collectonly:
        from fits_beside import FitsBeside

        session.fits = FitsBeside(session.config.option.fit_beside)
        session.fits.start()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """Keep fits beside away from tests that change what all threads see."""
    fits = getattr(item.session, "fits", None)
    if fits is None:
        return (yield)
    fits.test = item.nodeid
    if "monkeypatch" not in item.fixturenames:
        return (yield)
    fits.hold()
    try:
        return (yield)
    finally:
        fits.go_on()


def pytest_sessionfinish(session):
    """Fail a run whose fits beside differ from those alone, and one in CI that skipped a test: CI has all they need."""
    fits = getattr(session, "fits", None)
    if fits is not None:
        fits.stop()
        print(f"\n{fits.n_fits} fits beside the tests, {len(fits.faults)} faults", *fits.faults[:20], sep="\n")
        if fits.faults or fits.n_fits == 0:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if os.environ.get("CI") == "true" and "PAIRSIFT_DATA" in os.environ and reporter.stats.get("skipped"):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_ignore_collect(collection_path, config):
    """Leave the engines' tests to `make test-engines`, which names their folder and installs what they need."""
    named = any(Path(argument.split("::")[0]).resolve().is_relative_to(ENGINES) for argument in config.args)
    return True if collection_path == ENGINES and not named else None
