"""The sampling protocol.

To write a sampler of your own, subclass `pairsift.sampling.SoftSampler` and give the probability of a margin, or
write a class with the one method `draw`, and pass an instance as ``ActiveRankSVM(sampling=...)``.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np

from pairsift._typing import FloatArray, IntArray
from pairsift.sampling.unchosen import Unchosen


class Draw(NamedTuple):
    """Terms drawn in one round.

    ``i`` and ``j`` are places within the class, -1 for none (see `pairsift.pairs`); ``probability`` is p, whose
    inverse weights the term when the bias is corrected; ``rejected`` is the number of candidates that were refused on
    the way. A draw that holds fewer terms than were asked for says that no further term can be drawn.
    """

    i: IntArray
    j: IntArray
    probability: FloatArray
    rejected: float


@runtime_checkable
class Sampler(Protocol):
    """Anything that draws terms."""

    def draw(self, unchosen: Unchosen, count: int, rng: np.random.Generator) -> Draw:
        """Draw `count` different unchosen terms, or as many as can be drawn."""
