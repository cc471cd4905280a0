"""The directive ``error-messages``: the bad inputs of the tests, run, with the one line that each ends in."""

import shlex
import sys
import tempfile
from pathlib import Path

from generated_text import GeneratedText, plain

ROOT = Path(__file__).parents[2]


class ErrorMessages(GeneratedText):
    """What was wrong, the command, its message and exit status."""

    def lines(self):
        """Yield a definition list."""
        self.env.note_dependency(str(ROOT / "tests" / "bad_inputs.toml"))
        for case, message in run_cases():
            yield plain(case["name"].capitalize())
            yield from ("   .. code-block:: text", "", f"      $ pairsift {case['run']}", f"      {message}", "")
            if case["status"] == 2:
                yield from ("   Exit status 2: wrong usage.", "")


def run_cases():
    """Yield each case of tests/bad_inputs.toml with the line it printed."""
    sys.path.insert(0, str(ROOT / "tests"))
    try:
        import in_process
        import test_bad_inputs
    finally:
        sys.path.pop(0)
    with tempfile.TemporaryDirectory() as name:
        folder = test_bad_inputs.make_files(Path(name))
        for case in test_bad_inputs.CASES:
            done = in_process.run(*shlex.split(case["run"]), cwd=folder)
            if done.returncode != case["status"] or case["says"] not in done.stderr:
                raise RuntimeError(f"{case['name']}: status {done.returncode}, {done.stderr}")
            yield case, done.stderr.strip()


def setup(app):
    """Add the directive."""
    app.add_directive("error-messages", ErrorMessages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
