"""Run the commands and the Python of pages in their order, and write what they print into the blocks that show it.

A block ```text that follows a block ```sh or ```python shows what that printed. Times, and numbers that rest on another
library's BLAS, differ from machine to machine; tests/test_docs_printed.py leaves them out of its comparison.

python tools/print_docs.py docs/start.md docs/guide/*.md
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

BLOCK = re.compile(r"^```(sh|python|text)\n(.*?)^```", re.MULTILINE | re.DOTALL)
COMMAND = [sys.executable, "-c", "import sys; from pairsift.cli import main; sys.argv[0] = 'pairsift'; main()"]


class Shown(NamedTuple):
    """A block that shows output: its place in the page, what it says, and what was printed now."""

    start: int
    stop: int
    says: str
    printed: str


def run_page(text: str, folder: Path) -> Iterator[Shown]:
    """Run the blocks of a page in a folder and yield those that show output; a command that fails raises."""
    printed = ""
    for block in BLOCK.finditer(text):
        language, content = block.groups()
        if language == "text":
            yield Shown(block.start(2), block.end(2), content, printed)
        elif language == "python":
            printed = _run([sys.executable, "-c", content], folder)
        else:
            for line in content.splitlines():
                printed = _run([*COMMAND, *_arguments(line)], folder)


def _arguments(line: str) -> list[str]:
    name, *words = line.split()
    if name != "pairsift":
        raise ValueError(f"A block ```sh of these pages holds pairsift's commands; for others take ```bash: {line}")
    return words


def _run(command: list[str], folder: Path) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command[2:])}\nended with status {done.returncode}: {done.stderr}")
    return done.stdout


def rewritten(text: str) -> str:
    """Return the page with what its commands print now."""
    with tempfile.TemporaryDirectory() as name:
        for shown in reversed(list(run_page(text, Path(name)))):
            text = text[: shown.start] + shown.printed + text[shown.stop :]
    return text


def main() -> None:
    """Rewrite the pages that are named."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pages", nargs="+", type=Path)
    for page in parser.parse_args().pages:
        page.write_text(rewritten(page.read_text()))


if __name__ == "__main__":
    main()
