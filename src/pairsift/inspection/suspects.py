r"""Rows whose label contradicts the ranking: probably mislabelled.

A row with a wrong label turns up in one high-loss pair after another. Its mean hinge loss over all its pairs,

.. math:: \ell_i = \frac{1}{N_-} \sum_j \max(0, 1 - (s_i - s_j)) \quad\text{(positive i; a negative likewise)},

costs O(N log N) for all rows together: one sort and prefix sums. Within a class the loss grows with the depth on the
wrong side, but between classes it says little: where positives are rare, a negative among the positives is nothing
special, a positive among the negatives is. So rows of both classes are compared by the chance that a row of
such a score has the other label,

.. math:: d_i = 1 - p(s_i) \text{ for a positive}, \quad p(s_i) \text{ for a negative},

p being the isotonic regression of the labels on the scores (the share of positives among rows that score alike), and
the loss orders those of equal chance.

The model may have been trained on these very rows, wrong labels included: a linear model with far fewer features than
rows cannot learn single rows by heart.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pairsift._typing import BoolArray, FloatArray, IntArray
from pairsift.calibration import fit_curve


class Suspect(NamedTuple):
    """A row that is probably mislabelled.

    Attributes
    ----------
    row : int
        Its number in the data, from 0 on.
    positive : bool
        Its label.
    score : float
    doubt : float
        The chance that a row of this score has the other label.
    loss : float
        Its mean hinge loss over all its pairs.
    wrong_side : float
        The share of its pairs that are ordered wrong: how deep it is among the rows of the other label.
    """

    row: int
    positive: bool
    score: float
    doubt: float
    loss: float
    wrong_side: float


def find_suspects(
    scores: FloatArray, positive: BoolArray, count: int = 100, rows: IntArray | None = None
) -> list[Suspect]:
    """Return the rows that are most probably mislabelled, the worst first; only rows with a doubt above one half.

    Parameters
    ----------
    scores : array of shape (n,)
        What a model gives to the rows.
    positive : bool array of shape (n,)
        Their labels, some of which may be wrong; both classes must be there.
    count : int
        How many rows to return at most.
    rows : int array of shape (n,), optional
        The numbers of the rows; by default 0, 1, ...
    """
    rows = np.arange(len(scores)) if rows is None else rows
    p = fit_curve(scores, positive, "isotonic")[0](scores)
    doubt = np.where(positive, 1 - p, p)
    losses = mean_pair_losses(scores, positive)
    order = np.lexsort((rows, -losses, -doubt))[:count]
    order = order[doubt[order] > 0.5]
    wrong = _wrong_sides(scores[order], positive[order], scores, positive)
    return [
        Suspect(int(rows[k]), bool(positive[k]), float(scores[k]), float(doubt[k]), float(losses[k]), float(share))
        for k, share in zip(order.tolist(), wrong.tolist(), strict=True)
    ]


def mean_pair_losses(scores: FloatArray, positive: BoolArray) -> FloatArray:
    """Return the mean hinge loss of each row over all its pairs with rows of the other class."""
    losses = np.empty(len(scores))
    # A negative j among positives is a positive among negatives when all signs are turned.
    for mine, sign in ((positive, 1.0), (~positive, -1.0)):
        margin, other = sign * scores[mine], np.sort(sign * scores[~mine])
        above = np.append(np.cumsum(other[::-1])[::-1], 0.0)
        first = np.searchsorted(other, margin - 1.0, side="right")
        losses[mine] = ((len(other) - first) * (1.0 - margin) + above[first]) / len(other)
    return np.maximum(losses, 0.0)


def _wrong_sides(some: FloatArray, some_positive: BoolArray, scores: FloatArray, positive: BoolArray) -> FloatArray:
    """Return the share of the other class on the wrong side of each of some rows, ties counting one half."""
    shares = np.empty(len(some))
    for mine, other, sign in ((some_positive, ~positive, 1.0), (~some_positive, positive, -1.0)):
        ordered, at = np.sort(sign * scores[other]), sign * some[mine]
        below = (np.searchsorted(ordered, at, side="left") + np.searchsorted(ordered, at, side="right")) / 2
        shares[mine] = 1 - below / len(ordered)
    return shares
