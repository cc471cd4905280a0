"""Measure the row store at size: make 20,000,000 x 50 rows (4 GB), read them, and fit `ActiveRankSVM` on them.

    python tools/measure_store.py [--rows 20000000] [--small 200000] [--folder FOLDER]

Prints how long making and opening take, how many random rows a second are scored (warm, and cold where the system lets
the cache be dropped), and the time of a fit beside the same fit on a store of `--small` rows (warm, the two take turns,
the least of `--repeat` runs), with the private (anonymous) memory of each, and the same by ``pairsift fit``. Every
fit runs in a process of its own. The folder (by default a temporary one) needs 5 GB; the files are deleted at the
end.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np

from anonymous_memory import anonymous_bytes, anonymous_peak
from pairsift.data.generate import make_ranking
from pairsift.data.store import RowStore

MOST_MEMORY = 1e9
MOST_RATIO = 1.5


def main() -> int:
    """Run the measurement, or one step of it in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--small", type=int, default=200_000)
    parser.add_argument("--features", type=int, default=50)
    parser.add_argument("--budget", type=int, default=8000)
    parser.add_argument("--sampling", default="soft-correct")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--json", action="store_true", help="end with one line for machines")
    parser.add_argument("--step", choices=["make", "read", "fit", "command"], help=argparse.SUPPRESS)
    parser.add_argument("--store", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.step:
        steps = {"make": make, "read": read, "fit": fit, "command": command}
        print(json.dumps(steps[options.step](options)))
        return 0
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        return compare(options, Path(folder))


def compare(options: argparse.Namespace, folder: Path) -> int:
    """Make both stores, measure, print; return 0 when the bounds hold."""
    stores = {size: folder / f"{size}.arrow" for size in (options.small, options.rows)}
    for size, path in stores.items():
        made = run(options, "make", path, "--rows", str(size))
        print(
            f"{size} x {options.features} rows made in {made['seconds']:.1f} s, {made['bytes'] / 1e9:.2f} GB, ", end=""
        )
        print(f"{made['private'] / 1e6:.0f} MB of private memory")
    for size, path in stores.items():
        found = run(options, "read", path)
        print(f"{size} rows: opened in {1e3 * found['open']:.1f} ms, ", end="")
        print(", ".join(f"{name} {rate:,.0f} rows/s" for name, rate in found["rates"].items()))
    fits: dict[int, list[dict[str, Any]]] = {size: [] for size in stores}
    commands: dict[int, list[dict[str, Any]]] = {size: [] for size in stores}
    for _ in range(options.repeat):
        for size, path in stores.items():
            fits[size].append(run(options, "fit", path))
            commands[size].append(run(options, "command", path))
    best = {size: min(runs, key=lambda one: one["seconds"]) for size, runs in fits.items()}
    for size, one in best.items():
        print(f"fit on {size} rows: {one['seconds']:.2f} s ({one['cpu']:.2f} s of CPU), ", end="")
        print(
            f"{one['private'] / 1e6:.0f} MB of private memory, {one['grown'] / 1e6:.0f} MB of it by the fit, ", end=""
        )
        print(f"{one['pairs']} pairs, AUC {one['auc']:.4f}")
    ratio = best[options.rows]["seconds"] / best[options.small]["seconds"]
    cpu_ratio = min(one["cpu"] for one in fits[options.rows]) / min(one["cpu"] for one in fits[options.small])
    memory = max(one["private"] for one in fits[options.rows])
    if options.json:
        print(json.dumps({**best[options.rows], "ratio": ratio, "cpu_ratio": cpu_ratio, "private": memory}))
        return 0
    seconds = {size: min(one["seconds"] for one in runs) for size, runs in commands.items()}
    through = seconds[options.rows] / seconds[options.small]
    private = max(one["private"] for one in commands[options.rows])
    print(f"pairsift fit: {seconds[options.small]:.2f} s and {seconds[options.rows]:.2f} s, ", end="")
    print(f"ratio {through:.2f}, {private / 1e6:.0f} MB of private memory")
    good = max(ratio, through) <= MOST_RATIO and max(memory, private) < MOST_MEMORY
    print(f"time ratio {ratio:.2f} (at most {MOST_RATIO}), of CPU time {cpu_ratio:.2f}; ", end="")
    print(f"private memory {memory / 1e6:.0f} MB (below 1000): ", end="")
    print("good" if good else "NOT GOOD")
    return 0 if good else 1


def run(options: argparse.Namespace, step: str, store: Path, *more: str) -> dict[str, Any]:
    """Run a step in a process of its own."""
    command = [sys.executable, __file__, "--step", step, "--store", str(store), "--features", str(options.features)]
    command += ["--budget", str(options.budget), "--sampling", options.sampling, *more]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def make(options: argparse.Namespace) -> dict[str, Any]:
    """Make a store."""
    start = time.perf_counter()
    with anonymous_peak() as peak:
        make_ranking(options.rows, options.features, dtype="float32", random_state=0, path=options.store)
    return {"seconds": time.perf_counter() - start, "bytes": options.store.stat().st_size, "private": peak[0]}


def read(options: argparse.Namespace) -> dict[str, Any]:
    """Score random rows, with the file out of the cache and in it; leave it in the cache."""
    handle = os.open(options.store, os.O_RDONLY)
    rng = np.random.default_rng(0)
    os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
    start = time.perf_counter()
    store = RowStore(options.store)
    rates = {"open": time.perf_counter() - start}
    w, rows = rng.normal(size=store.n_features), rng.integers(0, store.n_rows, 20_000)
    cold = _rate(store, w, rows)
    while os.read(handle, 2**24):
        pass
    os.close(handle)
    warm = _rate(store, w, rows)
    start = time.perf_counter()
    store.scores_between(w, 0, store.n_rows)
    scan = store.n_rows / (time.perf_counter() - start)
    return {"open": rates["open"], "rates": {"random cold": cold, "random warm": warm, "scan": scan}}


def _rate(store: RowStore, w: Any, rows: Any) -> float:
    start = time.perf_counter()
    store.scores(w, rows)
    return len(rows) / (time.perf_counter() - start)


def fit(options: argparse.Namespace) -> dict[str, Any]:
    """Fit once; the AUC is that over a million rows of the store."""
    from pairsift import ActiveRankSVM, auc

    store = RowStore(options.store)
    model = ActiveRankSVM(budget=options.budget, sampling=options.sampling, random_state=0)
    before = anonymous_bytes()
    start, cpu = time.perf_counter(), time.process_time()
    with anonymous_peak() as peak:
        model.fit(store)
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    rows = np.random.default_rng(0).integers(0, store.n_rows, 1_000_000)
    scores = store.scores(np.ascontiguousarray(model.coef_[0], dtype=np.float64), rows)
    return {
        "seconds": seconds,
        "cpu": cpu,
        "private": peak[0],
        "grown": peak[0] - before,
        "pairs": int(model.n_pairs_),
        "auc": float(auc(rows < store.n_positive, scores)),
    }


def command(options: argparse.Namespace) -> dict[str, Any]:
    """Fit once by ``pairsift fit``: opening, fitting, and the threshold, without the start of Python."""
    from pairsift.cli import pairsift

    line = ["fit", str(options.store), "-o", f"{options.store}.model", "--method", "active"]
    line += ["--budget", str(options.budget), "--sampling", options.sampling, "--random-state", "0", "--json"]
    with anonymous_peak() as peak, redirect_stdout(StringIO()) as printed:
        pairsift.main(line, prog_name="pairsift", standalone_mode=False)
    facts = json.loads(printed.getvalue())
    return {"seconds": facts["seconds_reading"] + facts["seconds_fitting"], "private": peak[0]}


if __name__ == "__main__":
    sys.exit(main())
