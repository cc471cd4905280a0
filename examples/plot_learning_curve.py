"""
Learning curves
===============

How good is the model after how many pairs? ``validation`` holds out a part of the rows and looks at it as training
goes on; the curve comes with the interval of each AUC. The best that any model can reach on this data is known,
because it is generated.
"""

import matplotlib.pyplot as plt

from pairsift import ActiveRankSVM, make_ranking

BEST = 0.9
X, y = make_ranking(200_000, 20, positive_rate=0.02, auc=BEST, random_state=0)
model = ActiveRankSVM(budget=8000, validation=0.1, random_state=0).fit(X, y)

# %%
# 8,000 of the pairs are enough to come near the best of all linear models.

print(f"{model.n_pairs_:,} of {int(y.sum()) * int((1 - y).sum()):,} pairs: {model.stop_reason_}")

pairs, auc, low, high = zip(*model.validation_curve_, strict=True)
fig, ax = plt.subplots()
ax.fill_between(pairs, low, high, alpha=0.2, label="95 % interval")
ax.plot(pairs, auc, marker=".", label="held-out rows")
ax.axhline(BEST, color="black", linestyle=":", label="expected AUC of the best model")
ax.set(xscale="log", xlabel="pairs trained on", ylabel="AUC", ylim=(None, 0.93))
ax.legend(loc="lower right")
plt.show()
