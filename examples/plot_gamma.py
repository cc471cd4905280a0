"""
Pairs and points: gamma
=======================

With ``gamma`` below 1, single rows ("points") are drawn beside pairs, and the model also learns to separate the
classes (the paper's CRC). With few positives, pairs are many and points of the rare class are few. Which mix ranks
best?
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import StratifiedShuffleSplit, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pairsift import ActiveRankSVM

X, y = load_breast_cancer(return_X_y=True)
splits = StratifiedShuffleSplit(10, test_size=0.3, random_state=0)
GAMMAS = [0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0]


def areas(gamma):
    """Return the AUC on each of the splits; few pairs, so that it matters which."""
    ranker = ActiveRankSVM(C=0.01, gamma=gamma, budget=300, batch_size=50, sampling="soft-close", random_state=0)
    return cross_val_score(make_pipeline(StandardScaler(), ranker), X, y, cv=splits)


found = np.array([areas(gamma) for gamma in GAMMAS])
fig, ax = plt.subplots()
ax.errorbar(GAMMAS, found.mean(axis=1), found.std(axis=1) / np.sqrt(found.shape[1]), marker="o", capsize=3)
ax.set(xlabel="gamma: 0 is points only, 1 is pairs only", ylabel="AUC, mean of 10 splits ± standard error")
plt.show()

# %%
# The differences are small, as in the paper, where gamma = 1 is mostly among the best. ``gamma="uniform"`` draws
# kinds in proportion to how many terms there are of each, which is nearly pairs only.
