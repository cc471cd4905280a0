"""The page on evaluation prints what its commands print."""

import re
from pathlib import Path

from in_process import run

PAGE = Path(__file__).parents[1] / "docs" / "evaluate.md"
NUMBER = re.compile(r"\d[\d.,e-]*")


def test_commands_run_in_their_order_and_print_what_is_printed(tmp_path):
    compared = 0
    printed = ""
    for language, content in re.findall(r"^```(\w+)\n(.*?)^```", PAGE.read_text(), flags=re.MULTILINE | re.DOTALL):
        if language == "text":
            if "logistic regression" in printed:  # rounding in BLAS may differ between machines
                assert NUMBER.sub("0", printed) == NUMBER.sub("0", content)
            else:
                assert printed == content
            compared += 1
            continue
        assert language == "sh"
        for line in content.splitlines():
            done = run(*line.split()[1:], cwd=tmp_path)
            assert done.returncode == 0, f"{line}: {done.stderr}"
            printed = done.stdout
    assert compared == 3
    assert (tmp_path / "roc.svg").stat().st_size > 10_000
