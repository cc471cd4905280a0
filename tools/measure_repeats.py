"""How honest `holdout_` is where few different rows stand for most of the data: tables of a few small categories.

Columns of five categories, one-hot; labels drawn from a linear score. Prints for 20 seeds how often the 95 % interval
holds the AUC on all rows, and how far `holdout_` is from it.

    python tools/measure_repeats.py
"""

from __future__ import annotations

import numpy as np

from pairsift import AutoRanker

SEEDS = range(20)
SHARES = (0.6, 0.2, 0.1, 0.07, 0.03)
EFFECTS = (0.5, 0.3, 0.2, 0.1, 0.3, 0.2)


def main() -> None:
    """Print a line for each number of columns."""
    print("| columns | rows | different rows | covered | holdout - AUC | its deviation | width |\n" + "|---" * 7 + "|")
    for n_columns, n_rows in ((4, 50_000), (3, 30_000), (6, 30_000)):
        covered, apart, widths, different = 0, [], [], 0
        for seed in SEEDS:
            rng = np.random.default_rng(seed)
            codes = rng.choice(5, (n_rows, n_columns), p=SHARES)
            X = np.concatenate([np.eye(5)[codes[:, k]] for k in range(n_columns)], axis=1)
            score = codes @ np.array(EFFECTS[:n_columns]) - 2.0
            y = (rng.random(n_rows) < 1 / (1 + np.exp(-score))).astype(int)
            model = AutoRanker(C=50.0, terms="points", loss="logistic", random_state=seed).fit(X, y)
            truth, (value, low, high) = model.score(X, y), model.holdout_
            covered += low <= truth <= high
            apart.append(value - truth)
            widths.append(high - low)
            different = len(np.unique(codes, axis=0))
        print(
            f"| {n_columns} | {n_rows:,} | {different} | {covered} of {len(SEEDS)} | {np.mean(apart):+.3f} | "
            f"{np.std(apart):.3f} | {np.mean(widths):.3f} |"
        )


if __name__ == "__main__":
    main()
