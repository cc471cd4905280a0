"""
The frontier: AUC against time
==============================

What does a method reach, and how long does it take? This is the small form of ``pairsift bench --frontier``
(:doc:`../bench`), on generated rows: wall-clock seconds on whatever machine built this page, the same
machine for all.
"""

import time

import matplotlib.pyplot as plt
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from pairsift import ActiveRankSVM, AutoRanker, RankSVM, WeightedSVM, auc, make_ranking

X, y = make_ranking(200_000, 30, positive_rate=0.1, auc=0.85, random_state=0)
X, X_test, y, y_test = X[:100_000], X[100_000:], y[:100_000], y[100_000:]


def measure(model):
    """Return the least seconds of three fits, and AUC on fresh rows."""
    times = []
    for _ in range(3):
        started = time.perf_counter()
        model.fit(X, y)
        times.append(time.perf_counter() - started)
    return min(times), auc(y_test, model.decision_function(X_test))


fig, ax = plt.subplots()
models = [
    # The total weight C * budget is 8 for all, as for the others.
    ActiveRankSVM(C=8 / budget, budget=budget, random_state=0)
    for budget in (500, 1000, 2000, 4000, 8000, 16_000)
]
ax.plot(*zip(*map(measure, models), strict=True), marker=".", label="ActiveRankSVM, 500 to 16,000 pairs")
for name, model in (
    ("AutoRanker, C chosen", AutoRanker(random_state=0)),
    ("RankSVM, all pairs", RankSVM(C=8)),
    ("WeightedSVM", WeightedSVM(C=8)),
    ("LogisticRegression", LogisticRegression(class_weight="balanced")),
    ("LinearSVC", LinearSVC(class_weight="balanced", C=0.001)),
):
    ax.plot(*measure(model), "o", label=name)
ax.axhline(0.85, color="black", linestyle=":", label="expected AUC of the best model")
ax.set(xscale="log", xlabel="seconds of training", ylabel="AUC on fresh rows")
ticks = [0.03, 0.1, 0.3, 1]
ax.set_xticks(ticks, ticks)
ax.minorticks_off()
ax.legend(loc="lower right")
plt.show()

# %%
# On these rows every method gets there in the end, because each class is a cloud of the same shape: that is the case
# that a point-wise model is made for. Real data differ (:doc:`../guide/choosing`).
