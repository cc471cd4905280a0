"""Print the AUC of the three samplers beside the paper's Table "AUC", at the paper's settings.

C = 0.1, B = 8000, b = 100, gamma = 1. a9a, mnist and shuttle: the paper's test file. The others: 5 folds, stratified
and shuffled with one fixed seed, the mean over the folds. Every value is a mean over seeds. Needs the data sets
(PAIRSIFT_DATA).

    python tools/paper_auc.py --seeds 10
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
from scipy import sparse
from sklearn.model_selection import StratifiedKFold

from pairsift import ActiveRankSVM, auc, load_dataset

SAMPLERS = ("random", "soft-close", "soft-correct")
PAPER = {
    "MQ2008": (0.8587, 0.8621, 0.8599),
    "letter": (0.9883, 0.9883, 0.9874),
    "news20": (0.9828, 0.9836, 0.9903),
    "a9a": (0.9003, 0.9012, 0.9007),
    "bank": (0.9051, 0.9057, 0.9083),
    "ijcnn1": (0.9342, 0.9345, 0.9348),
    "shuttle": (0.9894, 0.9896, 0.9907),
    "mnist": (0.9967, 0.9979, 0.9976),
    "connect-4": (0.8594, 0.8604, 0.8603),
    "covtype": (0.8238, 0.8239, 0.8249),
}
WITH_TEST_FILE = ("a9a", "mnist", "shuttle")


def splits(name: str):
    """Yield (X_train, y_train, X_test, y_test) by the paper's rule."""
    X, y = load_dataset(name)
    if name in WITH_TEST_FILE:
        X_test, y_test = load_dataset(name, "test")
        width = max(X.shape[1], X_test.shape[1])
        yield _widen(X, width), y, _widen(X_test, width), y_test
        return
    for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(np.zeros(len(y)), y):
        yield X[train], y[train], X[test], y[test]


def _widen(X, width: int):
    return sparse.csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], width))


def measure(name: str, seeds: int, C: float) -> dict[str, np.ndarray]:
    """Return, for each sampler, one AUC a seed: the mean over folds."""
    values = {sampling: np.zeros((0, seeds)) for sampling in SAMPLERS}
    for X, y, X_test, y_test in splits(name):
        for sampling in SAMPLERS:
            row = []
            for seed in range(seeds):
                model = ActiveRankSVM(C=C, sampling=sampling, random_state=seed).fit(X, y)
                if model.gap_ > model.tol:
                    warnings.warn(f"{name} {sampling} seed {seed}: gap {model.gap_:.2g}", stacklevel=2)
                row.append(auc(y_test, model.decision_function(X_test)))
            values[sampling] = np.vstack([values[sampling], row])
    return {sampling: table.mean(axis=0) for sampling, table in values.items()}


def main() -> None:
    """Print one line a set."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sets", default=",".join(PAPER))
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--C", type=float, default=0.1)
    options = parser.parse_args()
    print("| set | " + " | ".join(f"{s}: ours ± sd, paper, difference" for s in SAMPLERS) + " | seconds |")
    print("|---|" + "---|" * (len(SAMPLERS) + 1))
    for name in options.sets.split(","):
        started = time.perf_counter()
        cells = []
        for (_, values), paper in zip(measure(name, options.seeds, options.C).items(), PAPER[name], strict=True):
            cells.append(f"{values.mean():.4f} ± {values.std():.4f}, {paper:.4f}, {values.mean() - paper:+.4f}")
        print(f"| {name} | " + " | ".join(cells) + f" | {time.perf_counter() - started:.0f} |", flush=True)


if __name__ == "__main__":
    main()
