"""Print what it costs and gains to do more, or less, in the rounds before the last, whose w only steers the next draw.

    python tools/measure_steering.py --sets letter,bank,mnist --seeds 5

Test AUC on the first split; differences are paired over seeds, with their standard error.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any
from unittest import mock

import numpy as np

import pairsift.active
from pairsift import ActiveRankSVM, auc
from paper_auc import splits

Change = Callable[[], Any]
CASES: dict[str, Change] = {
    "as it is": nullcontext,
    "all terms each round": lambda: mock.patch.object(pairsift.active, "steer", _visit_all),
    "gap 0.001, 300 passes": lambda: mock.patch.multiple(pairsift.active, STEERING_GAP=0.001, STEERING_PASSES=300),
    "gap 0.1": lambda: mock.patch.multiple(pairsift.active, STEERING_GAP=0.1),
}
_steer = pairsift.active.steer


def _visit_all(*arguments: Any, **options: Any) -> Any:
    return _steer(*arguments, **{**options, "known": 0})


def main() -> None:
    """Print one line a set, sampler and case."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sets", default="letter,bank,mnist")
    parser.add_argument("--samplings", default="soft-close,soft-correct")
    parser.add_argument("--cases", type=int, default=len(CASES), help="how many of the cases, from the first")
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    print("| set | sampling | rounds before the last | test AUC | minus the first ± error | CPU relative to it |")
    print("|---|---|---|---|---|---|")
    for name in options.sets.split(","):
        X, y, X_test, y_test = next(splits(name))
        for sampling in options.samplings.split(","):
            first: tuple[Any, float] | None = None
            for case in list(CASES)[: options.cases]:
                with CASES[case]():
                    started = time.process_time()
                    models = [ActiveRankSVM(sampling=sampling, random_state=s).fit(X, y) for s in range(options.seeds)]
                    seconds = time.process_time() - started
                found = np.array([auc(y_test, model.decision_function(X_test)) for model in models])
                first = first or (found, seconds)
                gain = found - first[0]
                error = float(np.std(gain, ddof=1)) / np.sqrt(options.seeds)
                print(
                    f"| {name} | {sampling} | {case} | {np.mean(found):.4f} "
                    f"| {np.mean(gain):+.4f} ± {error:.4f} | {seconds / first[1]:.2f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
