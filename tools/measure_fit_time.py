"""Print the CPU time of one soft-correct fit at the paper's settings beside LIBLINEAR's weighted SVM (WSVM).

C = 0.1, B = 8000; LIBLINEAR has C+ = B C / (2 N+), C- = B C / (2 N-) and its own default tolerance, and its problem is
built before. Both take turns in one process, one thread, input in memory; the minimum of the repeats counts. The limit
is 4 times LIBLINEAR's time or 0.15 s, whichever is more. Needs liblinear-official and the data sets (PAIRSIFT_DATA).

    python tools/measure_fit_time.py --repeats 3
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np

from pairsift import ActiveRankSVM, auc
from pairsift.experiments.methods import Setting, find_method
from pairsift.experiments.sets import holdout

SETS = "letter,shuttle,MQ2008,a9a,bank,ijcnn1,connect-4,covtype,mnist,news20"
TIMES, SECONDS = 4, 0.15


def cpu_seconds(call: Callable[[], object]) -> float:
    """Return the CPU time of a call."""
    started = time.process_time()
    call()
    return time.process_time() - started


def measure(name: str, repeats: int) -> str:
    """Return one line of the table."""
    split = holdout(name)
    peer = find_method("liblinear-wsvm").prepare(split.X, split.y, Setting())
    ours = ActiveRankSVM(sampling="soft-correct", random_state=0)
    turns = [(cpu_seconds(lambda: ours.fit(split.X, split.y)), cpu_seconds(peer.train)) for _ in range(repeats)]
    mine, theirs = np.array(turns).min(axis=0)
    sampling = sum(done.sampling_seconds for done in ours.history_)
    training = sum(done.training_seconds for done in ours.history_)
    within = "yes" if mine <= max(TIMES * theirs, SECONDS) else "no"
    area = auc(split.y_test, ours.decision_function(split.X_test))
    shares = f"{sampling / (sampling + training):.0%} | {training / (sampling + training):.0%}"
    return f"| {name} | {mine:.3f} | {theirs:.3f} | {mine / theirs:.2f} | {within} | {shares} | {area:.4f} |"


def main() -> None:
    """Print one line a set."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sets", default=SETS)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    print("| set | soft-correct s | LIBLINEAR s | ratio | within | sampling | training | test AUC |")
    print("|---|---|---|---|---|---|---|---|")
    for name in options.sets.split(","):
        print(measure(name, options.repeats), flush=True)


if __name__ == "__main__":
    main()
