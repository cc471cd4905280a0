"""Wall time of `pairsift fit` on a9a's text, from process start to model file, beside LIBLINEAR's `train`.

LIBLINEAR is `liblinear-train` (Debian: liblinear-tools) or `train` where it is installed, otherwise the Python package
liblinear-official, which reads the same file; default solver, output off. Both run in turn, on the same core, and the
best time of each counts. Also printed: the median time of `pairsift fit --help`. Needs PAIRSIFT_DATA.
"""

from __future__ import annotations

import argparse
import importlib.util
import lzma
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

MOST_RATIO = 2.0
MOST_HELP = 0.35
PAIRSIFT = [sys.executable, "-c", "import sys; from pairsift.cli import main; sys.argv[0] = 'pairsift'; main()"]


def main() -> int:
    """Measure, print; return 0 when the bounds hold."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=5)
    options = parser.parse_args()
    peer = liblinear()
    if peer is None or "PAIRSIFT_DATA" not in os.environ:
        print("LIBLINEAR or PAIRSIFT_DATA is missing")
        return 2
    help_time = statistics.median(wall([*PAIRSIFT, "fit", "--help"]) for _ in range(10))
    ours, theirs = compare(peer, options.repeat)
    print(
        f"pairsift fit {ours:.3f} s, LIBLINEAR ({Path(peer[0]).name}) {theirs:.3f} s: ratio {ours / theirs:.2f} ",
        end="",
    )
    print(f"(at most {MOST_RATIO}); fit --help {help_time:.3f} s (below {MOST_HELP})")
    return 0 if ours <= MOST_RATIO * theirs and help_time < MOST_HELP else 1


def liblinear() -> list[str] | None:
    """Return the command that trains: the file and the model's name are to be added."""
    for name in ("liblinear-train", "train"):
        found = shutil.which(name)
        if found:
            return [found, "-q"]
    if importlib.util.find_spec("liblinear") is None:
        return None
    code = (
        "import sys; from liblinear.liblinearutil import svm_read_problem, train, save_model\n"
        "y, x = svm_read_problem(sys.argv[1], return_scipy=True); save_model(sys.argv[2], train(y, x, '-q'))"
    )
    return [sys.executable, "-c", code]


def compare(peer: list[str], repeat: int) -> tuple[float, float]:
    """Return the best wall time of both, run in turn."""
    packed = Path(os.environ["PAIRSIFT_DATA"]) / "a9a" / "a9a.train.svm.xz"
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder) / "a9a.svm"
        text.write_bytes(lzma.decompress(packed.read_bytes()))
        ours, theirs = [], []
        for _ in range(repeat):
            ours.append(wall([*PAIRSIFT, "fit", str(text), "-o", f"{folder}/ours"]))
            theirs.append(wall([*peer, str(text), f"{folder}/theirs"]))
    return min(ours), min(theirs)


def wall(command: list[str]) -> float:
    """Return the seconds that a command takes."""
    started = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - started


if __name__ == "__main__":
    sys.exit(main())
