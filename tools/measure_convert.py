"""Measure that `convert` keeps to its memory: a text that is ten and forty times larger than the bound.

    python tools/measure_convert.py [--memory 16MB]

Each input is converted in a process of its own; what counts is the growth of private (anonymous) memory from before the
call to its peak, watched every 2 ms.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from anonymous_memory import anonymous_bytes, anonymous_peak
from pairsift.data.blocks import SvmlightBlocks
from pairsift.data.convert import block_bytes_for, convert, parse_size
from pairsift.data.generate import make_ranking


def main() -> None:
    """Run the comparison, or one conversion of it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--memory", default="16MB", help="the bound")
    parser.add_argument("--convert", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.convert:
        _convert(options.convert, options.memory)
        return
    limit = parse_size(options.memory)
    print(f"bound {limit / 1e6:.0f} MB")
    with tempfile.TemporaryDirectory() as folder:
        for factor in (10, 40):
            text = Path(folder) / "rows.svm"
            _write_text(text, factor * limit)
            print(f"text of {text.stat().st_size / 1e6:.0f} MB: ", end="", flush=True)
            subprocess.run([sys.executable, __file__, "--memory", options.memory, "--convert", text], check=True)


def _convert(text: Path, memory: str) -> None:
    import pyarrow.ipc  # noqa: F401 - 30 MB of a library are not what the bound is about

    before = anonymous_bytes()
    start = time.perf_counter()
    with anonymous_peak() as peak:
        source = SvmlightBlocks(text, dtype="float32", threads=1, block_bytes=block_bytes_for(memory))
        store = convert(source, text.with_suffix(".arrow"), memory=memory)
    seconds = time.perf_counter() - start
    size = Path(store.path).stat().st_size
    grown = peak[0] - before
    verdict = "within the bound" if grown <= parse_size(memory) else "TOO MUCH"
    print(
        f"store of {size / 1e6:.0f} MB, {store.n_rows} rows in {seconds:.1f} s, "
        f"{grown / 1e6:.1f} MB of private memory at the peak: {verdict}"
    )


def _write_text(path: Path, size: int) -> None:
    X, y = make_ranking(2000, 300, density=0.1, dtype="float32", random_state=0)
    lines = [
        f"{label} " + " ".join(f"{c + 1}:{v:.6g}" for c, v in zip(X[[k]].indices, X[[k]].data, strict=True))
        for k, label in enumerate(y)
    ]
    part = ("\n".join(lines) + "\n").encode()
    with open(path, "wb") as file:
        for _ in range(-(-size // len(part))):
            file.write(part)


if __name__ == "__main__":
    main()
