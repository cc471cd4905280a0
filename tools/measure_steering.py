"""Print what it costs and gains to solve the rounds before the last to a smaller gap.

python tools/measure_steering.py --sets letter,bank,mnist --seeds 5
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import pairsift.active
from pairsift import ActiveRankSVM, auc
from paper_auc import splits

CASES = ((0.05, 30), (0.001, 300), (0.1, 10))


def main() -> None:
    """Print one line a set, sampler and gap; the first split of each set."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sets", default="letter,bank,mnist")
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    print("| set | sampling | gap of a round | passes at most | test AUC ± sd | CPU relative to the first line |")
    print("|---|---|---|---|---|---|")
    for name in options.sets.split(","):
        X, y, X_test, y_test = next(splits(name))
        for sampling in ("soft-close", "soft-correct"):
            first = None
            for gap, passes in CASES:
                pairsift.active.STEERING_GAP, pairsift.active.STEERING_PASSES = gap, passes
                started = time.process_time()
                models = [ActiveRankSVM(sampling=sampling, random_state=s).fit(X, y) for s in range(options.seeds)]
                seconds = time.process_time() - started
                first = first or seconds
                values = [auc(y_test, model.decision_function(X_test)) for model in models]
                print(
                    f"| {name} | {sampling} | {gap} | {passes} | {np.mean(values):.4f} ± {np.std(values):.4f} "
                    f"| {seconds / first:.2f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
