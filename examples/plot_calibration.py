"""
Probabilities
=============

A ranker's scores are not probabilities. ``calibrate`` learns them on rows that were held out, and corrects for
another share of positives where the model will be used.
"""

import matplotlib.pyplot as plt
import numpy as np

from pairsift import AutoRanker, calibrate, make_ranking

X, y = make_ranking(90_000, 10, positive_rate=0.1, auc=0.88, random_state=0)
train, held_out, fresh = (slice(start, start + 30_000) for start in (0, 30_000, 60_000))
ranker = AutoRanker(random_state=0).fit(X[train], y[train])


def observed(p, y):
    """Return, for ten equally large groups of rows by probability, the mean probability and the share of positives."""
    groups = np.array_split(np.argsort(p), 10)
    return [p[group].mean() for group in groups], [y[group].mean() for group in groups]


squashed = 1 / (1 + np.exp(-ranker.decision_function(X[fresh])))
curves = {"scores squashed into [0, 1]": observed(squashed, y[fresh])}
for method in ("logistic", "isotonic"):
    model = calibrate(ranker, X[held_out], y[held_out], method=method)
    curves[method] = observed(model.predict_proba(X[fresh])[:, 1], y[fresh])

# %%
# Where positives are rarer, with 2 % in place of 10 %, the same model gives the right probabilities after
# ``with_base_rate``.

keep = (y[fresh] == 0) | (np.random.default_rng(0).random(30_000) < 0.02 / 0.1 * 0.9 / 0.98)
X_rare, y_rare = X[fresh][keep], y[fresh][keep]
rarer = {
    "as it is": observed(model.predict_proba(X_rare)[:, 1], y_rare),
    "with_base_rate(0.02)": observed(model.with_base_rate(0.02).predict_proba(X_rare)[:, 1], y_rare),
}

# %%
# Each point is a tenth of the rows. On the dotted line the probability is what happens.

fig, axes = plt.subplots(1, 2, figsize=(8, 3.8))
for ax, title, shown in ((axes[0], "10 % positive, as in training", curves), (axes[1], "2 % positive", rarer)):
    for label, (given, happened) in shown.items():
        ax.plot(given, happened, marker=".", linestyle="--" if "squashed" in label else "-", label=label)
    ax.axline((0, 0), slope=1, color="black", linestyle=":")
    ax.set(title=title, xlabel="probability given", ylabel="share of positives, fresh rows")
    ax.legend()
plt.show()
