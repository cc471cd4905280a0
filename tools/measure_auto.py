"""AutoRanker() beside tuned linear peers, on the paper's data sets: test AUC, CPU time, and how the chosen C varies.

Each set is cut into the 5 stratified folds of `pairsift.experiments.sets.fold_rows` of its train file, also where the
paper has a test file: seeds alone would say little of methods that end at one optimum. Every peer has its C chosen on a
validation part of the training rows of each split (`pairsift.experiments.tuning`), and is then trained on all of them.
The differences of a split have DeLong's paired standard error; the mean of the five has the root of the sum of their
squares, divided by five. CPU times are the least of `--repeats`, ours and one fit of LIBLINEAR's WSVM at the paper's
strength in turns, on the first split; ours without the measurement on held-out rows, and with it. `seeds` fits ten
seeds on all training rows and prints which C they choose. Fits are kept in `--state`, and one that is there is not made
again.

    python tools/measure_auto.py --state auto-peers --what peers --sets a9a,bank
    python tools/measure_auto.py --state auto-peers --what ours,table
    python tools/measure_auto.py --state auto-peers --what seeds
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import norm

from pairsift import AutoRanker, auc, compare_auc
from pairsift.experiments.methods import LiblinearRun, Setting, find_method
from pairsift.experiments.sets import fold_rows, rows

SETS = ("MQ2008", "letter", "a9a", "bank", "shuttle", "ijcnn1", "connect-4", "mnist", "covtype", "news20")
PEERS = ("logistic-regression", "linear-svc", "sgd-classifier", "liblinear-wsvm", "eranksvm", "ranksvm-squared")
SPLITS = range(5)
SEEDS = range(10)
OURS = "ours"
TIMES = "times"
SEEDED = "seeds"
LEVEL_95 = float(norm.ppf(0.975))
Fit = dict[str, Any]


class State:
    """Fits in a folder, one file each."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def get(self, name: str, method: str, split: int) -> Fit | None:
        """Return a fit, None if it is not there."""
        path = self._path(name, method, split)
        if not path.exists():
            return None
        with np.load(path) as kept:
            return {key: kept[key] for key in kept.files}

    def put(self, name: str, method: str, split: int, fit: Fit) -> None:
        """Keep a fit."""
        np.savez(self._path(name, method, split), **fit)

    def _path(self, name: str, method: str, split: int) -> Path:
        return self._folder / f"{name}.{method}.{split}.npz"


def split_of(name: str, split: int) -> tuple[Any, ...]:
    """Return the rows to train and to test on."""
    X, y = rows(name, "train")
    train, test = fold_rows(y)[split]
    return X[train], y[train], X[test], y[test]


def fit_peer(method: str, data: tuple[Any, ...], patience: float) -> Fit:
    """Choose C, train on all rows, and score the test rows."""
    X, y, X_test, y_test = data
    peer = find_method(method)
    tuned = peer.tune(X, y, Setting(), patience)
    run = peer.prepare(X, y, Setting(scale_C=tuned.scale))
    started = time.process_time()
    run.train()
    cpu = time.process_time() - started
    return {"scores": run.scores(X_test), "y": y_test > 0, "C": 800 * tuned.scale, "cpu": cpu, "cpu_tuning": tuned.cpu}


def fit_ours(data: tuple[Any, ...], seed: int) -> Fit:
    """Train with everything chosen by itself, and score the test rows."""
    X, y, X_test, y_test = data
    model = AutoRanker(random_state=seed)
    started = time.process_time()
    model.fit(X, y)
    cpu = time.process_time() - started
    chosen = f"{model.loss_} {model.terms_}"
    return {
        "scores": model.decision_function(X_test),
        "y": y_test > 0,
        "C": model.C_,
        "cpu": cpu,
        "by": chosen,
        "holdout": np.array(model.holdout_),
    }


def choose_ten_times(name: str) -> Fit:
    """Return the C, terms and loss that ten seeds choose on all training rows."""
    X, y = rows(name, "train")
    models = [AutoRanker(random_state=seed).fit(X, y) for seed in SEEDS]
    by = [f"{model.loss_} {model.terms_}" for model in models]
    return {"C": np.array([model.C_ for model in models]), "by": np.array(by)}


def print_seeds(sets: list[str], state: State) -> None:
    """Print how far apart the chosen C are."""
    print("| set | least C | largest C | ratio | chosen |\n|---|---|---|---|---|")
    for name in sets:
        fit = state.get(name, SEEDED, 0)
        if fit is not None:
            low, high = float(np.min(fit["C"])), float(np.max(fit["C"]))
            words, counts = np.unique(fit["by"], return_counts=True)
            chosen = ", ".join(f"{count} x {word}" for word, count in zip(words, counts, strict=True))
            print(f"| {name} | {low:.3g} | {high:.3g} | {high / low:.1f} | {chosen} |")


def time_beside_liblinear(name: str, repeats: int) -> Fit:
    """Return the least CPU seconds of ours and of one fit of LIBLINEAR's WSVM, in turns, on the first split."""
    X, y, _, _ = split_of(name, 0)
    ours, measuring, theirs = [], [], []
    for _ in range(repeats):
        for holds_out, times in ((False, ours), (True, measuring)):
            model = AutoRanker(random_state=0)
            model._holds_out = holds_out
            started = time.process_time()
            model.fit(X, y)
            times.append(time.process_time() - started)
        peer = LiblinearRun(X, y, 800.0, 0.1)
        started = time.process_time()
        peer.train()
        theirs.append(time.process_time() - started)
    return {"ours": min(ours), "measuring": min(measuring), "theirs": min(theirs)}


def print_table(sets: list[str], state: State) -> None:
    """Print a line a set for ours and the peers whose fits on all splits are there."""
    head = [
        "set",
        "ours",
        "chosen",
        *PEERS,
        "ours - best peer",
        "95 %",
        "CPU s",
        "with holdout_",
        "LIBLINEAR s",
        "ratio",
    ]
    print("| " + " | ".join(head) + " |\n" + "|---" * len(head) + "|")
    for name in sets:
        fits = {method: [state.get(name, method, k) for k in SPLITS] for method in (OURS, *PEERS)}
        fits = {method: made for method, made in fits.items() if all(fit is not None for fit in made)}
        if OURS not in fits or len(fits) == 1:
            continue
        print("| " + " | ".join([name, *_cells(fits, state.get(name, TIMES, 0))]) + " |")


def _cells(fits: dict[str, list[Any]], times: Fit | None) -> list[str]:
    means = {method: float(np.mean([auc(f["y"], f["scores"]) for f in made])) for method, made in fits.items()}
    best = max((method for method in fits if method != OURS), key=lambda method: means[method])
    compared = [compare_auc(a["y"], a["scores"], b["scores"]) for a, b in zip(fits[OURS], fits[best], strict=True)]
    difference = float(np.mean([one.difference for one in compared]))
    errors = [(one.high - one.low) / (2 * LEVEL_95) for one in compared]
    reach = LEVEL_95 * float(np.sqrt(np.sum(np.square(errors)))) / len(errors)
    chosen = ", ".join(dict.fromkeys(f"{fit['by']} C={float(fit['C']):.3g}" for fit in fits[OURS]))
    peers = [f"{means[method]:.4f}" if method in means else "" for method in PEERS]
    verdict = "below" if difference + reach < 0 else "above" if difference - reach > 0 else "open"
    interval = f"{difference - reach:+.4f} to {difference + reach:+.4f}: {verdict}"
    timed = ["", "", "", ""]
    if times is not None:
        timed = [
            f"{times['ours']:.3f}",
            f"{times['measuring']:.3f}",
            f"{times['theirs']:.3f}",
            f"{times['ours'] / times['theirs']:.2f}",
        ]
    return [f"{means[OURS]:.4f}", chosen, *peers, f"{difference:+.4f}", interval, *timed]


def main() -> None:
    """Make fits, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--state", type=Path, required=True, help="folder of the fits made so far")
    parser.add_argument("--what", default="peers,ours,times,table", help="which of peers, ours, times, table, seeds")
    parser.add_argument("--sets", default=SETS, type=lambda text: text.split(","))
    parser.add_argument("--peers", default=PEERS, type=lambda text: text.split(","))
    parser.add_argument("--patience", type=float, default=20.0, help="CPU seconds of a training above which C stops")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    what, state = options.what.split(","), State(options.state)
    warnings.simplefilter("ignore")  # strong fits of peers may stop short of their tolerance
    wanted = [*(options.peers if "peers" in what else ()), *([OURS] if "ours" in what else ())]
    for name in options.sets if wanted else ():
        for split in SPLITS:
            for method in wanted:
                if state.get(name, method, split) is None:
                    data = split_of(name, split)
                    made = fit_ours(data, split) if method == OURS else fit_peer(method, data, options.patience)
                    state.put(name, method, split, made)
    for name in options.sets if "times" in what else ():
        state.put(name, TIMES, 0, time_beside_liblinear(name, options.repeats))
    for name in options.sets if "seeds" in what else ():
        if state.get(name, SEEDED, 0) is None:
            state.put(name, SEEDED, 0, choose_ten_times(name))
    if "seeds" in what:
        print_seeds(list(options.sets), state)
    if "table" in what:
        print_table(list(options.sets), state)


if __name__ == "__main__":
    main()
