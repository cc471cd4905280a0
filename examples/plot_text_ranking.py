"""
Ranking text
============

Text has a column for every word and a few stored values in each row. Sparse rows go in as they are. The messages are
generated: each is a bag of words in which a rare topic, the one we look for, uses a few words more often than the
rest of the world does.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

from pairsift import AutoRanker, auc_interval

rng = np.random.default_rng(0)
N_WORDS, TOPIC = 5000, np.array(["refund", "broken", "late", "angry", "cancel", "never", "waited", "return"])
words = np.concatenate([TOPIC, [f"word{k}" for k in range(N_WORDS - len(TOPIC))]])
usual = 1.0 / np.arange(30, N_WORDS + 30)
of_topic = usual.copy()
of_topic[: len(TOPIC)] *= 3


def messages(count, complaints):
    """Return texts of 20 to 60 words, and whether each is a complaint."""
    y = rng.random(count) < complaints
    chances = [usual / usual.sum(), of_topic / of_topic.sum()]
    return [" ".join(rng.choice(words, rng.integers(20, 60), p=chances[int(is_one)])) for is_one in y], y


texts, y = messages(6000, complaints=0.05)
vectorizer = TfidfVectorizer()
X, X_test = vectorizer.fit_transform(texts[:4000]), vectorizer.transform(texts[4000:])
model = AutoRanker(random_state=0).fit(X, y[:4000])
print(f"{X.shape[1]:,} columns, {X.nnz / X.shape[0]:.0f} stored values a row")
print(auc_interval(y[4000:], model.decision_function(X_test)))

# %%
# Which words move a message up? The model is linear, so its coefficients say.

names, coefficients = vectorizer.get_feature_names_out(), model.coef_[0]
top = np.argsort(-coefficients)[:15]
fig, ax = plt.subplots()
ax.barh(names[top], coefficients[top], color=np.where(np.isin(names[top], TOPIC), "C1", "C0"))
ax.invert_yaxis()
ax.set(xlabel="coefficient", title="the largest coefficients; words of the topic in orange")
plt.show()
