"""
Rejected draws
==============

Soft sampling draws a candidate and accepts it by chance: ``soft-correct`` likes pairs that are ordered wrong,
``soft-close`` pairs whose scores are close. The better the model, the fewer pairs are wrong, and the more candidates
are refused for each that is accepted. Handwritten digits are an easy set: is this an 8? After a while nearly every
pair is right.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

from pairsift import ActiveRankSVM

digits = load_digits()
X, y = digits.data / 16, digits.target == 8

fig, ax = plt.subplots()
for sampling in ("random", "soft-close", "soft-correct"):
    model = ActiveRankSVM(sampling=sampling, budget=4000, random_state=0).fit(X, y)
    rounds = model.history_[1:]  # the first round is drawn uniformly
    per_pair = [
        done.rejected / (done.pairs - before.pairs) for before, done in zip(model.history_, rounds, strict=False)
    ]
    ax.plot([done.pairs for done in rounds], per_pair, label=f"{sampling}: {model.n_rejected_:,} in all")

ax.set(xlabel="pairs chosen so far", ylabel="candidates refused for each accepted", yscale="symlog", ylim=(0, None))
ax.legend(title="rejected")
plt.show()

# %%
# Refused candidates cost little here: once most would be refused, pairs are proposed from sorted scores in proportion
# to a bound on their probability, and what is counted is an unbiased estimate of what the paper's way would have
# refused (:doc:`../method`). The law of what is drawn stays the paper's.
