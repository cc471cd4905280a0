"""Compare C="auto" with the best of its own grid, 10^-3 to 10^3 times the default C, on the paper's data sets.

Each set is split into the 5 stratified folds of `pairsift.experiments.sets.fold_rows` of its train file, also where the
paper has a test file: seeds alone would say nothing of a method that ends at one optimum. Every fit of a split has the
same seed. The CPU time of an "auto" fit is divided by that of a fit at the default C beside it, in the same process.

Every fit is a line of the state file, and a fit that is there is not made again, so that the table may be made in
pieces, of parts, and printed at any time:

    python tools/measure_c_auto.py --state c-auto.jsonl --what grid --sets a9a,bank
    python tools/measure_c_auto.py --state c-auto.jsonl --what auto
    python tools/measure_c_auto.py --state c-auto.jsonl --what table
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from pairsift import ActiveRankSVM, RankSVM, auc
from pairsift.experiments.sets import fold_rows, rows

SETS = ("MQ2008", "letter", "a9a", "bank", "shuttle", "ijcnn1", "connect-4", "mnist", "covtype", "news20")
METHODS: dict[str, tuple[Callable[..., Any], float]] = {
    "active": (partial(ActiveRankSVM, sampling="soft-correct"), 0.1),
    "exact": (RankSVM, 800.0),
}
FACTORS = tuple(10.0**k for k in range(-3, 4))
Key = tuple[str, str, int, str]


def fit_once(method: str, C: Any, seed: int, data: tuple[Any, ...]) -> dict[str, Any]:
    """Return what one fit took and reached."""
    X, y, X_test, y_test = data
    model = METHODS[method][0](C=C, random_state=seed)
    started = time.process_time()
    model.fit(X, y)
    cpu = time.process_time() - started
    return {"cpu": cpu, "auc": auc(y_test, model.decision_function(X_test)), "C": float(getattr(model, "C_", 0) or C)}


def measure(name: str, wanted_words: list[str], options: Any, done: dict[Key, Any]) -> None:
    """Make the fits of one set, at the given factors or "auto", that are not in the state file."""
    X, y = rows(name, "train")
    folds = fold_rows(y)
    for split in options.splits:
        every = [(name, method, split, word) for method in options.methods for word in wanted_words]
        wanted = [key for key in every if key not in done]
        if not wanted:
            continue
        train, test = folds[split]
        data = X[train], y[train], X[test], y[test]
        for key in wanted:
            default = METHODS[key[1]][1]
            if key[3] == "auto":
                beside = fit_once(key[1], default, split, data)["cpu"]
                found = {**fit_once(key[1], "auto", split, data), "cpu_default": beside}
            else:
                found = fit_once(key[1], default * float(key[3]), split, data)
            done[key] = found
            with options.state.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"key": key, **found}) + "\n")


def read_state(state: Path) -> dict[Key, Any]:
    """Return the fits made so far."""
    lines = state.read_text(encoding="utf-8").splitlines() if state.exists() else []
    return {tuple(entry.pop("key")): entry for entry in map(json.loads, lines)}


def print_table(sets: list[str], methods: list[str], splits: list[int], done: dict[Key, Any]) -> None:
    """Print one line a set and method for which every "auto" fit is there, and the means."""
    print("| set | method | default | best of grid | at | auto | auto - best | C chosen / default | CPU / one fit |")
    print("|---|---|---|---|---|---|---|---|---|")
    for method in methods:
        gaps, ratios = [], []
        for name in sets:
            autos = [done.get((name, method, split, "auto")) for split in splits]
            means = {f: _mean([done.get((name, method, split, repr(f))) for split in splits]) for f in FACTORS}
            known = {f: mean for f, mean in means.items() if mean is not None}
            if _mean(autos) is None or not known:
                continue
            best = max(known, key=lambda factor: known[factor])
            gaps.append(_mean(autos) - known[best])
            ratios.append(sum(a["cpu"] for a in autos) / sum(a["cpu_default"] for a in autos))
            chosen = " ".join(f"{a['C'] / METHODS[method][1]:.3g}" for a in autos)
            lacking = "" if len(known) == len(FACTORS) else f" (of {len(known)})"
            print(
                f"| {name} | {method} | {known.get(1.0, np.nan):.4f} | {known[best]:.4f} | {best:g}{lacking} | "
                f"{_mean(autos):.4f} | {gaps[-1]:+.4f} | {chosen} | {ratios[-1]:.2f} |"
            )
        if gaps:
            print(
                f"| mean of {len(gaps)} | {method} |  |  |  |  | {np.mean(gaps):+.5f} | least {min(gaps):+.4f} | "
                f"most {max(ratios):.2f} |"
            )


def _mean(fits: list[Any]) -> Any:
    return None if any(fit is None for fit in fits) else float(np.mean([fit["auc"] for fit in fits]))


def main() -> None:
    """Make fits, or print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--state", type=Path, required=True, help="file of the fits made so far")
    parser.add_argument("--what", choices=["grid", "auto", "table", "all"], default="all")
    parser.add_argument("--sets", default=SETS, type=lambda text: text.split(","))
    parser.add_argument("--methods", default=list(METHODS), type=lambda text: text.split(","))
    parser.add_argument("--splits", default=range(5), type=lambda text: [int(split) for split in text.split(",")])
    parser.add_argument("--factors", default=FACTORS, type=lambda text: [float(factor) for factor in text.split(",")])
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)  # strong fits of the grid may stop short of tol
    words = {"grid": [repr(factor) for factor in options.factors], "auto": ["auto"], "table": []}
    done = read_state(options.state)
    for name in options.sets if options.what != "table" else ():
        measure(name, words["grid"] + words["auto"] if options.what == "all" else words[options.what], options, done)
    print_table(options.sets, options.methods, options.splits, done)


if __name__ == "__main__":
    main()
