"""What one round has drawn so far."""

from __future__ import annotations

import numpy as np

from pairsift._typing import IntArray
from pairsift.pairs import NONE
from pairsift.sampling.protocol import Draw
from pairsift.sampling.unchosen import Unchosen

Term = tuple[int, int]


class Collected:
    """Terms accepted in this round, in order; they have left U* though the pool does not hold them yet."""

    def __init__(self, unchosen: Unchosen, count: int) -> None:
        self._wanted = count
        self._terms: dict[Term, float] = {}
        self.rejected = 0.0
        self.n_pairs, self.n_points = unchosen.n_pairs, unchosen.n_points

    def __contains__(self, term: Term) -> bool:
        return term in self._terms

    @property
    def missing(self) -> int:
        """How many terms are still to be drawn; 0 also when none is left."""
        return min(self._wanted - len(self._terms), self.n_pairs + self.n_points)

    @property
    def acceptance(self) -> float:
        """Share of candidates accepted so far, slightly drawn towards one half so that it is never 0."""
        return (len(self._terms) + 0.5) / (len(self._terms) + self.rejected + 1)

    @property
    def terms(self) -> tuple[IntArray, IntArray]:
        """The accepted terms as arrays i and j, in order."""
        terms = np.array(list(self._terms), dtype=np.int64).reshape(-1, 2)
        return np.ascontiguousarray(terms[:, 0]), np.ascontiguousarray(terms[:, 1])

    def accept(self, term: Term, probability: float) -> None:
        """Take a term out of U*."""
        self._terms[term] = probability
        if NONE in term:
            self.n_points -= 1
        else:
            self.n_pairs -= 1

    def result(self) -> Draw:
        """Return what was drawn."""
        return Draw(*self.terms, np.array(list(self._terms.values()), dtype=np.float64), self.rejected)
