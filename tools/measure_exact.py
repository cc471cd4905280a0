"""Time exact RankSVM beside LIBLINEAR's weighted SVM, on the data sets in the folder PAIRSIFT_DATA.

    python tools/measure_exact.py a9a shuttle --repeats 3

Training CPU seconds, minimum of the repeats, one thread; LIBLINEAR is timed around its train call, with its problem
built before. AUC is of the test file where the set has one, else of one stratified fifth that training does not see.
"""

from __future__ import annotations

import argparse
import lzma
import os
import sys
import time
from pathlib import Path

import numpy as np
from sklearn.datasets import load_svmlight_file
from sklearn.model_selection import train_test_split

from pairsift.data.problem import Problem, make_problem
from pairsift.data.rows import as_rows
from pairsift.solvers.exact import fit_exact
from pairsift.stats import auc

SETS = ["a9a", "bank", "connect-4", "shuttle", "mnist", "covtype"]
# Bounds for these sets: times LIBLINEAR's time, or seconds, whichever is more. Of other sets only tol is asked.
LIMITS = {"squared_hinge": (2.0, 0.1), "hinge": (6.0, 0.2)}
TEST_FILES = {"a9a", "mnist", "shuttle"}


def read(folder: Path, name: str, part: str, n_features: int | None = None):
    """Return X and y of one file."""
    with lzma.open(folder / name / f"{name}.{part}.svm.xz") as file:
        return load_svmlight_file(file, n_features=n_features)


def load(folder: Path, name: str):
    """Return training and test rows."""
    X, y = read(folder, name, "train")
    if name in TEST_FILES:
        return X, y, *read(folder, name, "test", X.shape[1])
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.2, stratify=y, random_state=0)
    return X, y, X_test, y_test


def least_cpu_seconds(function, repeats: int):
    """Return the minimum CPU time of some calls, and the last result."""
    best, result = np.inf, None
    for _ in range(repeats):
        start = time.process_time()
        result = function()
        best = min(best, time.process_time() - start)
    return best, result


def time_liblinear(X, y, problem: Problem, C: float, repeats: int) -> float:
    """Return the CPU time of LIBLINEAR's train call for the weighted SVM (-s 3, no bias, default tolerance)."""
    from liblinear.liblinearutil import parameter, train
    from liblinear.liblinearutil import problem as liblinear_problem

    built = liblinear_problem(y, X)
    positive, negative = C / (2 * problem.n_positive), C / (2 * problem.n_negative)
    options = f"-s 3 -c 1 -w1 {positive!r} -w-1 {negative!r} -q"
    return least_cpu_seconds(lambda: train(built, parameter(options)), repeats)[0]


def measure(folder: Path, name: str, C: float, tol: float, repeats: int) -> bool:
    """Print the lines of one data set; return whether every one is within its limit."""
    X, y, X_test, y_test = load(folder, name)
    problem = make_problem(as_rows(X), y > 0)
    reference = time_liblinear(X, y, problem, C, repeats)
    all_good = True
    for loss, (times, seconds) in LIMITS.items():
        took, found = least_cpu_seconds(lambda loss=loss: fit_exact(problem, C, loss, tol=tol), repeats)
        good = found.converged and (name not in SETS or took <= max(times * reference, seconds))
        area = auc(y_test, X_test @ found.w)
        verdict = "NO" if not good else "yes" if name in SETS else "no limit"
        numbers = f"{reference:.3f} | {took:.3f} | {took / reference:.2f} | {found.gap:.1e} | {found.n_iter}"
        print(f"| {name} | {loss} | {numbers} | {found.primal:.5g} | {area:.4f} | {verdict} |", flush=True)
        all_good &= good
    return all_good


def main() -> int:
    """Measure the named sets; exit status 1 when one misses its limit."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", default=SETS)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("-C", type=float, default=800.0)
    parser.add_argument("--tol", type=float, default=1e-3)
    arguments = parser.parse_args()
    if "PAIRSIFT_DATA" not in os.environ:
        parser.error("set PAIRSIFT_DATA to the folder of the data sets")
    print("| set | loss | WSVM LIBLINEAR, s | RankSVM, s | ratio | gap | steps | objective | test AUC | within limit |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    folder = Path(os.environ["PAIRSIFT_DATA"])
    results = [measure(folder, name, arguments.C, arguments.tol, arguments.repeats) for name in arguments.sets]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
