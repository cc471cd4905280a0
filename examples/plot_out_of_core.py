"""
Data larger than memory
=======================

A row store is a file from which single rows are read by number. ``ActiveRankSVM`` and ``AutoRanker`` read the rows
they draw and no others, so time and memory hardly depend on how many rows there are. Here the stores are small, so that
this page is built quickly; ``tools/measure_store.py`` does the same with 20 million rows (:doc:`../measured`).
"""

import tempfile
import time
from pathlib import Path

import matplotlib.pyplot as plt

from pairsift import ActiveRankSVM, RankSVM, make_ranking

folder = tempfile.TemporaryDirectory()
SIZES = [5_000, 20_000, 80_000, 320_000]


def seconds_of_fit(model, data):
    """Return the least time of three fits."""
    times = []
    for _ in range(3):
        started = time.perf_counter()
        model.fit(*data)
        times.append(time.perf_counter() - started)
    return min(times)


active, exact = [], []
for size in SIZES:
    store = make_ranking(
        size, 20, positive_rate=0.05, dtype="float32", random_state=0, path=Path(folder.name) / f"{size}.arrow"
    )
    active.append(seconds_of_fit(ActiveRankSVM(budget=2000, sampling="soft-close", random_state=0), [store]))
    exact.append(seconds_of_fit(RankSVM(), [store]))
print(f"the largest: {store.n_rows:,} rows of {store.n_features} columns, {store.row_bytes:.0f} bytes each")

# %%
# Relative to the smallest store:

fig, ax = plt.subplots()
ax.plot(SIZES, [time / active[0] for time in active], marker="o", label="ActiveRankSVM, 2,000 pairs")
ax.plot(SIZES, [time / exact[0] for time in exact], marker="o", label="RankSVM, all pairs")
ax.set(xscale="log", yscale="log", xlabel="rows in the store", ylabel="time of a fit / that of 5,000 rows")
ax.legend()
plt.show()
folder.cleanup()
