"""
A sampler of your own
=====================

A sampler says with which probability a pair of a given margin is accepted. Subclass ``SoftSampler``, give
``probability``, and pass an instance: rejection, weights and stopping are done for you. This one draws pairs that are
wrong or nearly wrong, but leaves out those that are hopelessly wrong, which are probably mislabelled.
"""

import matplotlib.pyplot as plt
import numpy as np

from pairsift import ActiveRankSVM, make_ranking
from pairsift.sampling import SoftClose, SoftCorrect, SoftSampler


class Forgiving(SoftSampler):
    """Like soft-correct, but a pair that is wrong by more than `patience` is drawn less and less."""

    def __init__(self, patience=2.0):
        self.patience = patience

    def probability(self, margins):
        wanted = np.tanh(np.maximum(1 - margins, 0) / 2)
        return wanted * np.exp(-np.maximum(-margins - self.patience, 0))


samplers = {"soft-correct": SoftCorrect(), "soft-close": SoftClose(), "forgiving": Forgiving()}

# %%
# The margin of a pair is how far its positive row is ahead. With a tenth of the labels drawn anew, what does each reach
# with 1,000 pairs?

X, y = make_ranking(40_000, 20, positive_rate=0.1, auc=0.9, label_noise=0.1, random_state=0)
X, X_test, y, y_test = X[:20_000], X[20_000:], y[:20_000], y[20_000:]
areas = {
    name: [
        ActiveRankSVM(sampling=sampler, budget=1000, C=0.02, random_state=seed).fit(X, y).score(X_test, y_test)
        for seed in range(8)
    ]
    for name, sampler in samplers.items()
}

fig, (left, right) = plt.subplots(1, 2, figsize=(8, 3.8))
margins = np.linspace(-6, 4, 400)
for name, sampler in samplers.items():
    left.plot(margins, sampler.probability(margins), label=name)
left.set(xlabel="margin of the pair", ylabel="probability of being accepted")
left.legend()
right.boxplot(areas.values(), tick_labels=areas.keys())
right.set(ylabel="AUC on fresh rows, 8 seeds")
plt.show()

# %%
# An idea is not yet a gain: on these rows none of the three is clearly ahead.
