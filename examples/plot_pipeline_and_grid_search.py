"""
In a pipeline and a grid search
===============================

The estimators are scikit-learn classifiers whose ``score`` is the AUC, so that pipelines, cross-validation and
searches work as they are. Here C of the exact ranker is searched together with the scaling, and compared with
what ``C="auto"`` chooses.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import RobustScaler, StandardScaler

from pairsift import RankSVM

X, y = load_breast_cancer(return_X_y=True)
pipeline = make_pipeline(StandardScaler(), RankSVM(loss="squared_hinge", max_iter=2000))
VALUES = np.logspace(-2, 3, 11)
search = GridSearchCV(
    pipeline,
    {"standardscaler": [StandardScaler(), RobustScaler()], "ranksvm__C": VALUES},
    cv=StratifiedKFold(5, shuffle=True, random_state=0),
)
search.fit(X, y)
print(f"best: {search.best_params_}, AUC {search.best_score_:.4f}")

auto = make_pipeline(StandardScaler(), RankSVM(C="auto", loss="squared_hinge", random_state=0)).fit(X, y)
print(f'C="auto" chose {auto[-1].C_:g}')

# %%
# On a set of 569 rows a search over several folds sees more than ``C="auto"``, which keeps the default unless the
# held-out rows clearly say otherwise (:doc:`../strength`).

results = search.cv_results_
fig, ax = plt.subplots()
for scaler in (StandardScaler, RobustScaler):
    chosen = [isinstance(given["standardscaler"], scaler) for given in results["params"]]
    mean, deviation = results["mean_test_score"][chosen], results["std_test_score"][chosen]
    ax.errorbar(VALUES, mean, deviation / np.sqrt(5), marker=".", capsize=3, label=scaler.__name__)
ax.axvline(auto[-1].C_, color="black", linestyle=":", label='C="auto"')
ax.set(xscale="log", xlabel="C", ylabel="AUC (5 folds, ± one standard error)")
ax.legend(loc="lower right")
plt.show()
