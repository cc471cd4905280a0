"""The data sets of the experiments, split as the paper splits them.

Where the paper has a test file (a9a, mnist, shuttle among those that are free), there is one split: train on the train
file, test on the test file. Otherwise there are `N_FOLDS` folds, stratified and shuffled with one fixed seed, so that
every method, at any time, sees the same rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

from pairsift._typing import FloatArray
from pairsift.data.datasets import find_dataset, load_dataset

N_FOLDS = 5
FOLD_SEED = 0


@dataclass(frozen=True)
class Split:
    """Rows to train on and rows to test on; labels are +1 and -1. `fold` is 0 where there is a test file."""

    name: str
    fold: int
    X: Any
    y: FloatArray
    X_test: Any
    y_test: FloatArray


def fold_count(name: str) -> int:
    """Return how many splits a data set has: 1 with a test file, else `N_FOLDS`; the data need not be here."""
    return 1 if find_dataset(name).auc == "test" else N_FOLDS


def splits(name: str) -> Iterator[Split]:
    """Yield all splits of a data set."""
    for fold in range(fold_count(name)):
        yield split(name, fold)


def split(name: str, fold: int = 0) -> Split:
    """Return one split of a data set, by its name here or in the paper.

    Raises
    ------
    DatasetError
        A `ValueError`: no such data set, or it is not here.
    """
    dataset = find_dataset(name)
    if not 0 <= fold < fold_count(name):
        raise ValueError(f"{dataset.name} has the folds 0 to {fold_count(name) - 1}; got {fold}.")
    X, y = rows(dataset.name, "train")
    if dataset.auc == "test":
        return Split(dataset.name, fold, X, y, *rows(dataset.name, "test"))
    train, test = fold_rows(y)[fold]
    return Split(dataset.name, fold, X[train], y[train], X[test], y[test])


def holdout(name: str) -> Split:
    """Return the split with the test file, or with the first fold held out."""
    return split(name, 0)


def fold_rows(y: Any, n_folds: int = N_FOLDS) -> list[tuple[Any, Any]]:
    """Return the row numbers to train and to test on, one pair of arrays a fold."""
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=FOLD_SEED)
    return list(folds.split(np.zeros(len(y)), y))


# Two parts: the train and the test file of the set at hand. Folds are cut anew: five of them would fill the memory.
@lru_cache(maxsize=2)
def rows(name: str, part: Any) -> tuple[Any, FloatArray]:
    """Return the rows and labels of a part of a data set; the last two parts are kept."""
    X, y = load_dataset(name, part)
    X.indices = X.indices.astype(np.int32, copy=False)  # what every peer reads without converting
    X.indptr = X.indptr.astype(np.int32 if X.nnz < 2**31 else np.int64, copy=False)
    return X, y
