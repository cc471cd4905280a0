"""Soft-tolerant: a sampler for data with mislabelled rows. It is not in the paper.

    p = 1                    where m < 1
    p = 0                    where m >= 1, when the order of few pairs is wrong
    p = exp(-(m - 1) / 2)    where m >= 1, when that of many is

Soft-correct draws a pair just short of the margin with a small p, and the bias correction then gives it the weight
1 / p, without limit: a few such pairs can outweigh all others. Here all pairs with a loss are drawn alike and weigh
alike, which is what a hinge wants: the length of its gradient does not depend on the margin.

Where many labels are wrong, pairs beyond the margin are drawn too. They have no loss, so that the others weigh less in
the total and w follows their noise less. Which of the two it is, is asked anew in each round: of `LOOK` terms drawn
uniformly from U*, more or fewer than `NOISY` are in the wrong order. Given the answer, each draw has the law above,
and 1 / p undoes it.

Candidates are balanced: they take the rows of a class in turn, all in random order before one comes again. Each is
still uniform over the pairs. x_i - x_j is a sum of what i and j bring, so chance that takes one mislabelled row five
times and another one never is noise without need (a balanced incomplete U-statistic: Blom, Biometrika 1976). With
fewer than 100 rows of a class they are independent.
"""

from __future__ import annotations

import numpy as np

from pairsift._typing import FloatArray
from pairsift.sampling.envelopes import Envelope, LossEnvelope
from pairsift.sampling.protocol import Draw
from pairsift.sampling.soft import SoftSampler
from pairsift.sampling.unchosen import Unchosen

LOOK = 500
NOISY = 0.25
DECAY = 0.5


class SoftTolerant(SoftSampler):
    """p = 1 where m < 1; elsewhere 0, or exp(-(m - 1) / 2) in a round that finds labels to be noisy."""

    noisy = False
    """What the round at hand has found."""

    def draw(self, unchosen: Unchosen, count: int, rng: np.random.Generator) -> Draw:
        """Draw `count` different unchosen terms, or as many as have p > 0."""
        self.noisy = is_noisy(unchosen, rng)
        unchosen.balanced = True
        return super().draw(unchosen, count, rng)

    def probability(self, margins: FloatArray) -> FloatArray:
        """Return p."""
        beyond = np.exp(-DECAY * np.maximum(margins - 1, 0)) if self.noisy else 0.0
        return np.where(margins < 1, 1.0, beyond)

    def envelope(self, unchosen: Unchosen) -> Envelope | None:
        """Return p itself where it is 0 or 1; otherwise none is needed, for then many candidates are accepted."""
        return None if self.noisy else LossEnvelope(*unchosen.score_all())


def is_noisy(unchosen: Unchosen, rng: np.random.Generator) -> bool:
    """Whether more than a quarter of the unchosen terms are in the wrong order, by a look at some of them."""
    look = unchosen.uniform_pairs if unchosen.n_pairs else unchosen.uniform_points
    margins = unchosen.margins(*look(LOOK, rng))
    return float(np.mean(margins < 0) + np.mean(margins == 0) / 2) > NOISY
