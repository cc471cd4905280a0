"""Fit a row store in seconds: how long `fit --method active --budget 2s` trains, and its AUC beside that of 8000 pairs.

    python tools/measure_time_budget.py --rows 20000000

Makes the store in a temporary folder (4 GB for 20,000,000 rows of 50 float32 values), unless one is given with --store.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from pairsift import auc, load_model, make_ranking
from pairsift.data.store import RowStore

PAIRSIFT = [sys.executable, "-c", "import sys; from pairsift.cli import main; sys.argv[0] = 'pairsift'; main()"]
OVERRUN = 0.5
MOST_LOSS = 0.01


def main() -> int:
    """Measure, print; return 0 when the bounds hold."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--features", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--store", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = options.store or Path(folder) / "rows.arrow"
        if options.store is None:
            make_ranking(options.rows, options.features, dtype="float32", random_state=0, path=path)
        store = RowStore(path)
        print(repr(store))
        counted = fit(store, path, folder, "8000")
        timed = [fit(store, path, folder, f"{options.seconds}s") for _ in range(options.repeat)]
    longest = max(seconds for seconds, _ in timed)
    loss = max(counted[1] - area for _, area in timed)
    good = longest <= options.seconds + OVERRUN and loss <= MOST_LOSS
    print(
        f"longest {longest:.2f} s (at most {options.seconds + OVERRUN}), AUC lost {loss:.4f} (at most {MOST_LOSS}): ",
        end="",
    )
    print("good" if good else "NOT GOOD")
    return 0 if good else 1


def fit(store: RowStore, path: Path, folder: str, budget: str) -> tuple[float, float]:
    """Fit by the command; return the seconds of training and the AUC on 300,000 rows."""
    line = [*PAIRSIFT, "fit", str(path), "-o", f"{folder}/model", "--method", "active", "--budget", budget]
    line += ["--random-state", "0", "--json"]
    facts = json.loads(subprocess.run(line, check=True, stdout=subprocess.PIPE, text=True).stdout)
    rows = np.random.default_rng(1).integers(0, store.n_rows, 300_000)
    scores = store.scores(np.ascontiguousarray(load_model(f"{folder}/model").coef_[0]), rows)
    area = float(auc(rows < store.n_positive, scores))
    print(f"--budget {budget}: {facts['seconds_fitting']:.2f} s, {facts['pairs_used']} pairs, AUC {area:.4f}; ", end="")
    print(facts["stop_reason"], flush=True)
    return facts["seconds_fitting"], area


if __name__ == "__main__":
    sys.exit(main())
