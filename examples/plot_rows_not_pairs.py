"""
Rows are the cost, pairs are free
=================================

Eight thousand pairs touch up to sixteen thousand rows. The same rows have 64 million pairs among each other, which can
all be used at the price of a sort (:doc:`../mathematics/exact`). So ``AutoRanker`` draws rows, uses all their pairs or
the rows themselves, and draws more until more promise no gain. The data are easy, as handwritten digits are: nearly
every pair is right already, and the paper's soft-correct has to look at many to find one that is not.
"""

import time

import matplotlib.pyplot as plt
import numpy as np

from pairsift import ActiveRankSVM, AutoRanker, make_ranking

X, y = make_ranking(260_000, 40, positive_rate=0.2, auc=0.995, label_noise=0.0, random_state=0)
X, X_test, y, y_test = X[:200_000], X[200_000:], y[:200_000], y[200_000:]
BUDGETS = [500, 1000, 2000, 4000, 8000, 16_000]


def measure(estimator, **options):
    """Return mean CPU seconds of a fit and mean AUC on fresh rows over three seeds."""
    seconds, areas = [], []
    for seed in range(3):
        started = time.process_time()
        model = estimator(random_state=seed, **options).fit(X, y)
        seconds.append(time.process_time() - started)
        areas.append(model.score(X_test, y_test))
    return np.mean(seconds), np.mean(areas)


# %%
# A budget is a number of pairs for the paper's samplings, and of rows of each class for ``AutoRanker``. C counts for a
# pair there and for the mean loss here, so that the loss has one total weight in all fits. Numbers in the picture are
# budgets.

curves = {
    sampling: [measure(ActiveRankSVM, budget=budget, C=8 / budget, sampling=sampling) for budget in BUDGETS]
    for sampling in ("random", "soft-correct")
}
curves["AutoRanker, pairs"] = [
    measure(AutoRanker, budget=budget, C=8, terms="pairs", loss="squared_hinge") for budget in BUDGETS
]

fig, ax = plt.subplots()
for name, points in curves.items():
    ax.plot(*zip(*points, strict=True), marker=".", label=name)
    for place in (0, 3, 5):
        ax.annotate(f"{BUDGETS[place]:,}", points[place], textcoords="offset points", xytext=(4, -11), fontsize=8)
ax.axhline(0.995, color="black", linestyle=":", label="expected AUC of the best model")
ax.set(xscale="log", xlabel="CPU seconds of training", ylabel="AUC on fresh rows", ylim=(0.9935, None))
ticks = [0.01, 0.03, 0.1, 0.3, 1]
ax.set_xticks(ticks, ticks)
ax.minorticks_off()
ax.legend()
plt.show()

# %%
# By default ``AutoRanker`` chooses pairs or points, the loss and C on held-out rows, and measures its AUC on others.

model = AutoRanker(random_state=0).fit(X, y)
print(f"{model.loss_} {model.terms_}, C = {model.C_:g}: {model.stop_reason_}")
print(f"AUC {model.score(X_test, y_test):.4f}; on held-out rows {model.holdout_.value:.4f}")
