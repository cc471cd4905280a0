"""
Mislabelled rows, found by their pairs
======================================

A row whose label is wrong is on the wrong side of most of its pairs. ``find_suspects`` lists such rows, the most
doubtful first: here on handwritten digits, where we flip the labels of a few and see whether they are found by a
model that was trained on the flipped labels.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from pairsift import RankSVM
from pairsift.inspection import find_suspects

digits = load_digits()
X, true = digits.data / 16, digits.target == 8
rng = np.random.default_rng(0)
flipped = rng.choice(len(true), 30, replace=False)
y = true.copy()
y[flipped] = ~y[flipped]

model = RankSVM(C=10).fit(X, y)
suspects = find_suspects(model.decision_function(X), y, count=20)
found = [suspect.row in flipped for suspect in suspects]
print(f"{sum(found)} of the {len(found)} rows listed are among the {len(flipped)} flipped ones.")

# %%
# The first sixteen. A green title is a label that was flipped; a red one is a false alarm.

fig, axes = plt.subplots(2, 8, figsize=(9, 2.8))
for ax, suspect, right in zip(axes.flat, suspects, found, strict=False):
    ax.imshow(digits.images[suspect.row], cmap="Greys")
    ax.set_title("8" if y[suspect.row] else "not 8", color="green" if right else "red", fontsize=10)
    ax.set_axis_off()
fig.suptitle("rows whose label contradicts the ranking, with the label they carry")
plt.show()
