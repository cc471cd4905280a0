"""Soft-tolerant: a sampler for data with mislabelled rows. It is not in the paper.

    p = 1                    where m < 1
    p = 0                    where m >= 1, commonly
    p = exp(-(m - 1) / 2)    where m >= 1, in rounds that look beyond the margin

Soft-correct draws a pair just short of the margin with a small p, and the bias correction then gives it the weight
1 / p, without limit: a few such pairs can outweigh all others. Here all pairs with a loss are drawn alike and weigh
alike, which is what a hinge wants: the length of its gradient does not depend on the margin.

Pairs beyond the margin have no loss, but they take weight from the others, so that w follows those less. They are
drawn in two cases: where many labels are wrong, and where hardly a pair has a loss (then those few alone would weigh
hundreds of times what they weigh among all pairs). This is asked anew in each round: of `LOOK` terms drawn uniformly
from U*, more than `NOISY` are in the wrong order, or fewer than `FEW` have a loss. Given the answer, each draw has the
law above, and 1 / p undoes it.

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
FEW = 0.015
DECAY = 0.5


class SoftTolerant(SoftSampler):
    """p = 1 where m < 1; elsewhere 0, or exp(-(m - 1) / 2) in a round that looks beyond the margin."""

    beyond = False
    """Whether the round at hand does."""

    def draw(self, unchosen: Unchosen, count: int, rng: np.random.Generator) -> Draw:
        """Draw `count` different unchosen terms, or as many as have p > 0."""
        self.beyond = looks_beyond(unchosen, rng)
        unchosen.balanced = True
        return super().draw(unchosen, count, rng)

    def probability(self, margins: FloatArray) -> FloatArray:
        """Return p."""
        beyond = np.exp(-DECAY * np.maximum(margins - 1, 0)) if self.beyond else 0.0
        return np.where(margins < 1, 1.0, beyond)

    def envelope(self, unchosen: Unchosen) -> Envelope | None:
        """Return p itself where it is 0 or 1; otherwise none is needed, for then many candidates are accepted."""
        return None if self.beyond else LossEnvelope(*unchosen.score_all())


def looks_beyond(unchosen: Unchosen, rng: np.random.Generator) -> bool:
    """Whether many unchosen terms are in the wrong order, or few have a loss, by a look at some of them."""
    look = unchosen.uniform_pairs if unchosen.n_pairs else unchosen.uniform_points
    margins = unchosen.margins(*look(LOOK, rng))
    wrong = float(np.mean(margins < 0) + np.mean(margins == 0) / 2)
    return wrong > NOISY or float(np.mean(margins < 1)) < FEW
