"""Print the AUC of soft-tolerant beside soft-close and soft-correct, with labels as they are and with flipped ones.

C = 0.1, B = 8000, gamma = 1; the test file or the first fold held out, whose labels stay as they are. Of the training
rows each label is flipped with the given chance; samplers of one seed see the same labels. The better rival of a set is
that with the higher mean. Differences are paired over seeds; t is their mean over its standard error. With --along,
instead, the AUC of soft-tolerant after each 2,000 pairs, mean over seeds, each seed with a fold of its own where the
paper has folds: the last beside the best. With --keep, values are written to a file as they come, and those that are
there are not computed again. Needs the data sets (PAIRSIFT_DATA).

    python tools/measure_noise.py --seeds 10 --keep noise.json
    python tools/measure_noise.py --along 50000 --seeds 5 --sets letter,bank
"""

from __future__ import annotations

import argparse
import json
import warnings
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from pairsift import ActiveRankSVM, auc
from pairsift.active import Settings, State, active_sampling, finish, make_settings
from pairsift.data.problem import make_problem
from pairsift.data.rows import as_rows
from pairsift.experiments.sets import Split, fold_count, holdout, split
from pairsift.model import score_rows

SETS = "letter,shuttle,MQ2008,a9a,bank,ijcnn1,connect-4,covtype,mnist,news20"
RIVALS = ("soft-close", "soft-correct")
OURS = "soft-tolerant"
EVERY = 2000
load = lru_cache(maxsize=1)(holdout)


def flipped(y: np.ndarray, chance: float, seed: int) -> np.ndarray:
    """Return the labels, each turned round with a chance."""
    return np.where(np.random.default_rng(seed).random(len(y)) < chance, -y, y)


class Areas:
    """Test AUC by set, sampler, chance and seed; kept in a file when one is given."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._known: dict[str, float] = json.loads(path.read_text()) if path and path.exists() else {}

    def of(self, name: str, sampling: str, chance: float, seeds: range) -> np.ndarray:
        """Return one AUC a seed."""
        keys = [f"{name} {sampling} {chance} {seed}" for seed in seeds]
        for seed, key in zip(seeds, keys, strict=True):
            if key not in self._known:
                split = load(name)
                model = ActiveRankSVM(sampling=sampling, random_state=seed).fit(split.X, flipped(split.y, chance, seed))
                self._known[key] = auc(split.y_test, model.decision_function(split.X_test))
        if self._path:
            self._path.write_text(json.dumps(self._known))
        return np.array([self._known[key] for key in keys])


def t_value(differences: np.ndarray) -> float:
    """Return the mean over its standard error."""
    return float(np.mean(differences) / (np.std(differences, ddof=1) / np.sqrt(len(differences))))


def compare(names: list[str], chances: list[float], seeds: range, areas: Areas) -> None:
    """Print one line a set and chance, and the totals of each chance."""
    print(f"| set | flipped | {' | '.join((*RIVALS, OURS))} | minus the better | t |")
    print("|---|---|---|---|---|---|---|")
    against: dict[tuple[float, str], list[np.ndarray]] = {}
    for name in names:
        for chance in chances:
            values = {sampling: areas.of(name, sampling, chance, seeds) for sampling in (*RIVALS, OURS)}
            better = max(RIVALS, key=lambda rival: float(np.mean(values[rival])))
            for rival in (*RIVALS, "the better"):
                other = values[better if rival == "the better" else rival]
                against.setdefault((chance, rival), []).append(values[OURS] - other)
            shown = " | ".join(f"{np.mean(found):.4f}" for found in values.values())
            difference = values[OURS] - values[better]
            print(
                f"| {name} | {chance:.0%} | {shown} | {np.mean(difference):+.4f} | {t_value(difference):+.1f} |",
                flush=True,
            )
    print("\n| flipped | soft-tolerant minus | mean over sets | t over seeds |\n|---|---|---|---|")
    for (chance, rival), found in sorted(against.items()):
        by_seed = np.mean(found, axis=0)
        print(f"| {chance:.0%} | {rival} | {np.mean(by_seed):+.4f} | {t_value(by_seed):+.1f} |")


def curve(split: Split, budget: int, seed: int) -> list[tuple[int, float]]:
    """Return the test AUC after each `EVERY` pairs of one training, each model solved as the last one is."""
    problem = make_problem(as_rows(split.X), split.y > 0)
    settings = make_settings(problem, sampling=OURS, gamma=1.0, budget=budget)
    rows, found = as_rows(split.X_test), []
    for state in active_sampling(problem, settings, np.random.default_rng(seed)):
        n = len(state.pool)
        if n % EVERY == 0 or state.stop_reason is not None:
            solved = state if state.stop_reason else as_last(state, settings)
            found.append((n, auc(split.y_test, score_rows(rows, solved.solution.w, 0.0))))
    return found


def as_last(state: State, settings: Settings) -> State:
    """Return the state as a budget that ends there would leave it; the training goes on from the old one."""
    ended = replace(settings, budget=len(state.pool))
    alpha, solved = state.pool.alpha, finish(state, ended, np.random.default_rng(0), "")
    state.pool.alpha = alpha
    return solved


def along(names: list[str], budget: int, seeds: range) -> None:
    """Print the best AUC along trainings, mean over seeds, and the last."""
    print("| set | best | at pairs | last | at pairs | last minus best |")
    print("|---|---|---|---|---|---|")
    for name in names:
        curves = [curve(split(name, seed % fold_count(name)), budget, seed) for seed in seeds]
        areas = np.mean([[area for _, area in one] for one in curves], axis=0)
        means = list(zip(areas.tolist(), [n for n, _ in curves[0]], strict=True))
        best, last = max(means), means[-1]
        shown = f"{best[0]:.4f} | {best[1]:,} | {last[0]:.4f} | {last[1]:,} | {last[0] - best[0]:+.4f}"
        print(f"| {name} | {shown} |", flush=True)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sets", default=SETS)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--flipped", default="0,0.1,0.2")
    parser.add_argument("--along", type=int, metavar="PAIRS")
    parser.add_argument("--keep", type=Path, metavar="FILE")
    options = parser.parse_args()
    warnings.simplefilter("ignore", UserWarning)
    names, seeds = options.sets.split(","), range(options.first_seed, options.first_seed + options.seeds)
    if options.along:
        along(names, options.along, seeds)
    else:
        compare(names, [float(part) for part in options.flipped.split(",")], seeds, Areas(options.keep))


if __name__ == "__main__":
    main()
