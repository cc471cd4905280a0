"""Print the CPU time of one soft-correct fit at the paper's settings beside scikit-learn's LinearSVC with WSVM weights.

Both take turns in one process, one thread, input in memory; the minimum of the repeats counts.

    python tools/measure_fit_time.py --sets covtype,mnist --repeats 3
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from pairsift import ActiveRankSVM
from pairsift.experiments.sets import holdout


def cpu_seconds(call: Callable[[], object]) -> float:
    """Return the CPU time of a call."""
    started = time.process_time()
    call()
    return time.process_time() - started


def main() -> None:
    """Print one line a set."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sets", default="covtype,mnist")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)  # LinearSVC at tol=0.1 is what the comparison asks for
    print("| set | ActiveRankSVM s | LinearSVC s | ratio | sampling | training |")
    print("|---|---|---|---|---|---|")
    for name in options.sets.split(","):
        split = holdout(name)
        X, y = split.X, split.y
        n_positive = int(np.sum(y > 0))
        weights = np.where(y > 0, 400 / n_positive, 400 / (len(y) - n_positive))
        peer = LinearSVC(loss="hinge", dual=True, fit_intercept=False, tol=0.1)
        ours = ActiveRankSVM(random_state=0)
        times = np.array(
            [
                (cpu_seconds(lambda: ours.fit(X, y)), cpu_seconds(lambda: peer.fit(X, y, sample_weight=weights)))  # noqa: B023
                for _ in range(options.repeats)
            ]
        ).min(axis=0)
        sampling = sum(done.sampling_seconds for done in ours.history_)
        training = sum(done.training_seconds for done in ours.history_)
        shares = f"{sampling / (sampling + training):.0%} | {training / (sampling + training):.0%}"
        print(f"| {name} | {times[0]:.3f} | {times[1]:.3f} | {times[0] / times[1]:.2f} | {shares} |", flush=True)


if __name__ == "__main__":
    main()
