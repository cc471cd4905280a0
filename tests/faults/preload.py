"""Commands in a process of their own with `shim.c` preloaded."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from faults.command import Ended

COMMAND = "import sys; from pairsift.cli import main; sys.argv[0] = 'pairsift'; main()"


def build_shim(folder: Path) -> Path:
    """Compile the shim into a folder."""
    library = folder / "shim.so"
    compiler = os.environ.get("CC", "cc")
    source = Path(__file__).with_name("shim.c")
    subprocess.run([compiler, "-O1", "-shared", "-fPIC", str(source), "-o", str(library), "-ldl"], check=True)
    return library


def run_with(shim: Path, line: tuple[str, ...], folder: Path, before: str = "", **variables: object) -> Ended:
    """Run a command with the shim and its variables; `before` is Python that the process runs first."""
    done = subprocess.run(
        [sys.executable, "-c", f"{before}\n{COMMAND}", *line],
        cwd=folder,
        env={**os.environ, "LD_PRELOAD": str(shim), **{name: str(value) for name, value in variables.items()}},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    return Ended(done.returncode, done.stdout, done.stderr)
