"""The sorted path of soft sampling: proposals instead of candidates.

A candidate is accepted with probability Gamma p. Let e >= p be a bound and M its mean over candidates from U*, Gamma
included. Drawing from U* in proportion to Gamma e and accepting with p / e gives the same terms with the same law,
without the candidates that the bound alone would have refused. A proposal stands for 1 / M candidates: of r proposals
for one acceptance, r / M candidates is an unbiased estimate of their number, since E r = M / (mean of Gamma p).

Points are few enough to be listed, and so are pairs when few have p > 0; for these the bound is p itself. A listed
kind is put into the order in which it will be drawn by exponential clocks: the smallest of Exp(1) / p_k comes first
with probability p_k / sum p, and so on for the rest, which is drawing without replacement.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pairsift._typing import FloatArray, IntArray
from pairsift.pairs import NONE
from pairsift.sampling.collect import Collected, Term
from pairsift.sampling.envelopes import Envelope
from pairsift.sampling.unchosen import Unchosen

Probability = Callable[[FloatArray], FloatArray]
Proposal = tuple[Term, float, float, bool]
"""A term, its p, its bound, and whether it is accepted."""

LEAST_PROBABILITY = 1e-200
"""Smaller probabilities count as zero, so that 1 / p and sums of it stay finite, also times the number of pairs."""

_FRUITLESS = 1_000_000  # proposals in a row without an acceptance: what is left of p is out of reach
_LIST_PER_CHOSEN = 4
_LIST_AT_LEAST = 10_000
LIST_AT_MOST = 2**22
_LEAST_FREE = 1e-3
_ROUNDING = 1e-12


def draw_by_proposals(
    probability: Probability, unchosen: Unchosen, envelope: Envelope, found: Collected, rng: np.random.Generator
) -> None:
    """Fill `found` with accepted terms, until it is full or no term with p > 0 is left."""
    pairs = _pair_source(probability, unchosen, envelope, found, rng)
    points = _points(probability, unchosen, found, rng)
    fruitless = 0
    while found.missing and fruitless < _FRUITLESS:
        chance = unchosen.pair_chance(found.n_pairs, found.n_points)
        pair_share = chance * unchosen.gamma / max(found.n_pairs, 1)
        point_share = (1 - chance) * (1 - unchosen.gamma) / max(found.n_points, 1)
        pair_mass, point_mass = pair_share * pairs.mass, point_share * points.mass
        if not pair_mass + point_mass > 0:
            break
        is_point = rng.random() * (pair_mass + point_mass) >= pair_mass and point_mass > 0
        source = points if is_point else pairs
        proposal = source.next()
        fruitless += 1
        if proposal is None:  # a chosen term: not in U*, so no proposal at all
            continue
        free_mass = pair_share * pairs.free_mass + point_share * points.free_mass
        found.rejected += 1 / max(free_mass, _ROUNDING * (pair_mass + point_mass))
        term, p, bound, accept = proposal
        if accept:
            found.accept(term, p)
            found.rejected -= 1
            source.taken(bound)
            fruitless = 0


class _Listed:
    """Terms written out, in the order in which they will be drawn."""

    def __init__(self, i: IntArray, j: IntArray, p: FloatArray, rng: np.random.Generator) -> None:
        possible = p > 0
        i, j, p = i[possible], j[possible], p[possible]
        order = np.argsort(rng.exponential(size=len(p)) / p, kind="stable")
        self._terms = list(zip(i[order].tolist(), j[order].tolist(), strict=True))
        self._p = p[order]
        # Summed from the end, so that what is left is exact down to the last term.
        self._left = np.append(np.cumsum(self._p[::-1])[::-1], 0.0)
        self._at = 0

    @property
    def mass(self) -> float:
        return float(self._left[self._at])

    free_mass = mass

    def next(self) -> Proposal:
        p = float(self._p[self._at])
        return self._terms[self._at], p, p, True

    def taken(self, bound: float) -> None:
        self._at += 1


class _Enveloped:
    """Pairs proposed by the envelope and accepted with p / e."""

    def __init__(
        self,
        probability: Probability,
        unchosen: Unchosen,
        envelope: Envelope,
        found: Collected,
        rng: np.random.Generator,
    ) -> None:
        self._probability, self._unchosen, self._envelope, self._found = probability, unchosen, envelope, found
        self._rng = rng
        self.mass = envelope.mass
        # What is not in U*: the pool, and what this round has drawn before it came to sorting.
        self.free_mass = self.mass - self._bounds_of(unchosen.pool.i, unchosen.pool.j) - self._bounds_of(*found.terms)
        self._batch: list[tuple[Proposal, bool]] = []

    def next(self) -> Proposal | None:
        if not self._batch:
            self._fill(2 * self._found.missing + 16)
        proposal, chosen = self._batch.pop()
        return None if chosen or proposal[0] in self._found else proposal

    def taken(self, bound: float) -> None:
        self.free_mass -= bound

    def _bounds_of(self, i: IntArray, j: IntArray) -> float:
        pairs = (i != NONE) & (j != NONE)
        return float(np.sum(self._envelope.bound(self._unchosen.margins(i[pairs], j[pairs]))))

    def _fill(self, count: int) -> None:
        i, j = self._envelope.draw(count, self._rng)
        margins = self._unchosen.margins(i, j)
        p, bound = self._probability(margins), self._envelope.bound(margins)
        accept = self._rng.random(count) * bound < p
        chosen = self._unchosen.is_chosen(i, j)
        terms = zip(i.tolist(), j.tolist(), strict=True)
        proposals = zip(terms, p.tolist(), bound.tolist(), accept.tolist(), strict=True)
        self._batch = list(zip(proposals, chosen.tolist(), strict=True))[::-1]


def _pair_source(
    probability: Probability, unchosen: Unchosen, envelope: Envelope, found: Collected, rng: np.random.Generator
) -> _Listed | _Enveloped:
    if not unchosen.n_pairs or not envelope.n_pairs or envelope.mass < LEAST_PROBABILITY:
        return _Listed(*_nothing(), rng)
    if envelope.n_pairs > max(_LIST_PER_CHOSEN * len(unchosen.pool), _LIST_AT_LEAST):
        source = _Enveloped(probability, unchosen, envelope, found, rng)
        # Where nearly all of the bound is on pairs that are gone, proposals are in vain and the difference is inexact.
        if envelope.n_pairs > LIST_AT_MOST or source.free_mass > _LEAST_FREE * source.mass:
            return source
    return _listed(*envelope.pairs(), probability, unchosen, found, rng)


def _points(probability: Probability, unchosen: Unchosen, found: Collected, rng: np.random.Generator) -> _Listed:
    return _listed(*unchosen.free_points(), probability, unchosen, found, rng)


def _listed(
    i: IntArray, j: IntArray, probability: Probability, unchosen: Unchosen, found: Collected, rng: np.random.Generator
) -> _Listed:
    gone = unchosen.is_chosen(i, j)
    gone |= np.fromiter((term in found for term in zip(i.tolist(), j.tolist(), strict=True)), dtype=bool, count=len(i))
    i, j = i[~gone], j[~gone]
    return _Listed(i, j, probability(unchosen.margins(i, j)), rng)


def _nothing() -> tuple[IntArray, IntArray, FloatArray]:
    return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), np.empty(0)
