"""How many of the rows that ``pairsift inspect --suspects`` lists first really are mislabelled.

    python tools/measure_suspects.py                # a9a and bank, 5 % of the labels flipped, seeds 0 to 4

Labels are flipped at random, a model is trained on the flipped data themselves, and the first 100 rows of the list are
compared with those that were flipped. Everything goes through the commands, as a user has it.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from pairsift.data.datasets import part_path


def main() -> None:
    """Print a line for each data set and seed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("sets", nargs="*", default=["a9a", "bank"])
    parser.add_argument("--share", type=float, default=0.05)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--count", type=int, default=100)
    options = parser.parse_args()
    print(f"{'set':<12} {'seed':>4} {'flipped':>8} {'of rows':>8}   of the first {options.count} listed")
    for name in options.sets:
        for seed in range(options.seeds):
            n_flipped, n_rows, hits = measure(name, options.share, seed, options.count)
            print(f"{name:<12} {seed:>4} {n_flipped:>8,} {n_rows:>8,}   {hits} are flipped ones", flush=True)


def measure(name: str, share: float, seed: int, count: int) -> tuple[int, int, int]:
    """Return the number of flipped rows, of all rows, and of flipped ones among the first `count` suspects."""
    with tempfile.TemporaryDirectory() as folder:
        data, model = Path(folder) / "flipped.svm", Path(folder) / "model.safetensors"
        flipped = write_flipped(name, data, share, np.random.default_rng(seed))
        pairsift("fit", data, "-o", model, "--random-state", seed)
        found = json.loads(pairsift("inspect", model, "--suspects", data, "--count", count, "--json"))["suspects"]
    return int(flipped.sum()), len(flipped), sum(bool(flipped[suspect["row"]]) for suspect in found)


def write_flipped(name: str, path: Path, share: float, rng: np.random.Generator) -> np.ndarray:
    """Write the training rows of a set with labels flipped at random; return which."""
    import lzma

    source = part_path(name)
    if source is None:
        raise SystemExit(f"{name} is not here; set PAIRSIFT_DATA or run: pairsift datasets fetch {name}")
    with lzma.open(source, "rt") as file:
        rows = [line.split(" ", 1) for line in file]
    labels = sorted({label for label, _ in rows})
    other = dict(zip(labels, reversed(labels), strict=True))
    flipped = rng.random(len(rows)) < share
    path.write_text(
        "".join(f"{other[label] if flip else label} {rest}" for (label, rest), flip in zip(rows, flipped, strict=True))
    )
    return flipped


def pairsift(*arguments: object) -> str:
    """Run a command and return what it prints."""
    code = "from pairsift.cli import main; main()"
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)], capture_output=True, text=True, check=True
    ).stdout


if __name__ == "__main__":
    main()
