"""
Is it better?
=============

Two AUCs on the same rows rise and fall together, so that the difference is far surer than the two intervals suggest.
``compare_auc`` tests it. How many rows does it take to see a small difference?
"""

import matplotlib.pyplot as plt
from sklearn.linear_model import LogisticRegression

from pairsift import RankSVM, auc_interval, compare_auc, make_ranking

X, y = make_ranking(220_000, 20, positive_rate=0.05, auc=0.85, random_state=0)
few = slice(0, 2000)
ours = RankSVM(C=1).fit(X[few], y[few])
theirs = LogisticRegression(C=1e-4).fit(X[few][:, :18], y[few])  # it has not been given two of the columns
a, b = ours.decision_function(X[2000:]), theirs.decision_function(X[2000:, :18])
y_test = y[2000:]

SIZES = [1000, 3000, 10_000, 30_000, 100_000, 200_000]
fig, (left, right) = plt.subplots(1, 2, figsize=(8, 3.8))
for shift, scores, name in ((0.93, a, "all columns"), (1.07, b, "two columns fewer")):
    found = [auc_interval(y_test[:n], scores[:n]) for n in SIZES]
    middle = [interval.auc for interval in found]
    reach = [[it.auc - it.low for it in found], [it.high - it.auc for it in found]]
    left.errorbar([n * shift for n in SIZES], middle, reach, fmt="o", markersize=4, capsize=3, label=name)
differences = [compare_auc(y_test[:n], a[:n], b[:n]) for n in SIZES]
middle = [it.difference for it in differences]
reach = [[it.difference - it.low for it in differences], [it.high - it.difference for it in differences]]
right.errorbar(SIZES, middle, reach, fmt="o", markersize=4, capsize=3, color="C2")
right.axhline(0, color="black", linestyle=":")
left.set(xscale="log", xlabel="test rows", ylabel="AUC, 95 %", title="each by itself")
right.set(xscale="log", xlabel="test rows", ylabel="difference, 95 %", title="the paired difference")
left.legend()
plt.show()

# %%
# The intervals of the two overlap long after the difference is beyond doubt.

for n, found in zip(SIZES, differences, strict=True):
    print(f"{n:7,} rows: {found.difference:+.4f} ({found.low:+.4f} to {found.high:+.4f}), p = {found.p_value:.2g}")
