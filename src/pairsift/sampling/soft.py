"""Soft sampling: a candidate is accepted with probability q = Gamma p.

Gamma is gamma for pairs and 1 - gamma for points; p depends on the margin m = w . x_ij:

    random        p = 1
    soft-close    p = 2 / (1 + exp |m|)
    soft-correct  p = 1 - 2 / (1 + exp [1 - m]_+)

The paper draws candidates until one is accepted. Three code paths have that same law:

* *lazy*: candidates in batches, whose rows are scored as they come. So few rows are met twice that a cache would not
  pay.
* *scored*: when the candidates to be expected would read about as many rows as there are, all rows are scored at once.
* *sorted*: when besides so many candidates would be refused that sorting costs less, pairs are proposed in proportion
  to a bound on p that is at most twice p, from the sorted scores, and accepted with p / bound
  (`pairsift.sampling.propose`).
"""

from __future__ import annotations

from math import ceil

import numpy as np

from pairsift import _core
from pairsift._typing import BoolArray, FloatArray, IntArray
from pairsift.data.rows import MemoryRows
from pairsift.pairs import NONE
from pairsift.sampling.collect import Collected, Term
from pairsift.sampling.envelopes import CloseEnvelope, CorrectEnvelope, Envelope, FlatEnvelope
from pairsift.sampling.propose import LEAST_PROBABILITY, LIST_AT_MOST, draw_by_proposals
from pairsift.sampling.protocol import Draw
from pairsift.sampling.unchosen import Unchosen

_SCATTERED_READ = 6  # a row read out of order from memory costs about that many rows read in order,
_SCATTERED_LONG_READ, _LONG_ROW = 2.5, 4000  # one of so many bytes that many,
_SCATTERED_READ_ELSEWHERE = 1.5  # and where bytes cost more than their order, as on a disk, that many
_SORT_BELOW = 0.2  # acceptance below which sorting pays,
_SORT_FROM = 10_000  # when there are so many candidates to be expected, and one more for
_ROWS_A_CANDIDATE = 3  # each three rows
_LARGEST_BATCH = 1 << 16
_FRUITLESS = 10**6  # candidates refused in a row after which terms are listed, to see whether one is left at all
_GIVE_UP = 10**8  # and after which a sampler without envelope stops where there are too many pairs to be listed


class SoftSampler:
    """Rejection sampling by a probability of the margin; subclass it and give `probability`."""

    def probability(self, margins: FloatArray) -> FloatArray:
        """Return p in [0, 1] for each margin w . x_ij."""
        raise NotImplementedError

    def envelope(self, unchosen: Unchosen) -> Envelope | None:
        """Return a bound on p from which pairs can be drawn, or None when there is none."""
        return None

    def draw(self, unchosen: Unchosen, count: int, rng: np.random.Generator) -> Draw:
        """Draw `count` different unchosen terms, or as many as have p > 0."""
        found = Collected(unchosen, count)
        acceptance = max(unchosen.acceptance, 1e-9)
        refused_in_a_row = 0.0
        while found.missing and refused_in_a_row < _GIVE_UP:
            if not unchosen.is_scored and _scoring_all_is_cheaper(unchosen, found.missing / acceptance):
                unchosen.score_all()
            if unchosen.is_scored and _sorting_is_cheaper(unchosen, found.missing, acceptance):
                envelope = self.envelope(unchosen)
                if envelope is None and refused_in_a_row >= _FRUITLESS and unchosen.problem.n_pairs <= LIST_AT_MOST:
                    envelope = FlatEnvelope(unchosen.problem.n_positive, unchosen.problem.n_negative)
                if envelope is not None:
                    draw_by_proposals(self.checked_probability, unchosen, envelope, found, rng)
                    break
            refused_in_a_row = self._reject(unchosen, found, acceptance, refused_in_a_row, rng)
            acceptance = found.acceptance
        return found.result()

    def checked_probability(self, margins: FloatArray) -> FloatArray:
        """Return p, with what is too small to be inverted set to zero."""
        p = np.asarray(self.probability(margins), dtype=np.float64)
        if p.shape != margins.shape or not np.all((p >= 0) & (p <= 1)):
            raise ValueError(
                f"{type(self).__name__}.probability must return one number in [0, 1] for each of the {len(margins)} "
                f"margins; got an array of shape {p.shape}" + (", with others." if p.shape == margins.shape else ".")
            )
        return np.where(p < LEAST_PROBABILITY, 0.0, p)

    def _reject(
        self, unchosen: Unchosen, found: Collected, acceptance: float, refused_in_a_row: float, rng: np.random.Generator
    ) -> float:
        """Try one batch of candidates. Returns how many have been refused since the last accepted one."""
        size = min(_LARGEST_BATCH, ceil(1.1 * found.missing / acceptance) + 16)
        i, j = unchosen.candidates(size, rng)
        p = self.checked_probability(unchosen.margins(i, j))
        share = np.where((i == NONE) | (j == NONE), 1 - unchosen.gamma, unchosen.gamma)
        accepted = rng.random(size) < share * p
        next_one = 0
        for k in _worth_a_look(i, j, accepted, found):
            found.rejected += k - next_one  # the candidates between are refused, and nothing else
            refused_in_a_row += k - next_one
            next_one = k + 1
            term, probability, accept = (int(i[k]), int(j[k])), float(p[k]), bool(accepted[k])
            if term in found:  # drawn before in this round: it is no longer in U*
                term, probability, accept = self._another_of_its_kind(term, unchosen, found, rng)
            if accept:
                found.accept(term, probability)
                refused_in_a_row = 0
                if not found.missing:
                    unchosen.put_back(i[next_one:], j[next_one:])
                    return refused_in_a_row
            else:
                found.rejected += 1
                refused_in_a_row += 1
        found.rejected += size - next_one
        return refused_in_a_row + size - next_one

    def _another_of_its_kind(
        self, term: Term, unchosen: Unchosen, found: Collected, rng: np.random.Generator
    ) -> tuple[Term, float, bool]:
        want_pair = found.n_pairs > 0 and (NONE not in term or found.n_points == 0)
        while term in found:
            i, j = (unchosen.uniform_pairs if want_pair else unchosen.uniform_points)(1, rng)
            term = (int(i[0]), int(j[0]))
        p = float(self.checked_probability(unchosen.margins(i, j))[0])
        share = unchosen.gamma if want_pair else 1 - unchosen.gamma
        return term, p, bool(rng.random() < share * p)


class RandomSampler(SoftSampler):
    """p = 1: candidates are refused by gamma alone."""

    def probability(self, margins: FloatArray) -> FloatArray:
        """Return 1."""
        return np.ones(len(margins))


class SoftClose(SoftSampler):
    """``p = 2 / (1 + exp |m|)``."""

    def probability(self, margins: FloatArray) -> FloatArray:
        """Return ``2 / (1 + exp |m|)``, written with ``exp(-|m|)``, which cannot overflow."""
        decay = np.exp(-np.abs(margins))
        p: FloatArray = 2 * decay / (1 + decay)
        return p

    def envelope(self, unchosen: Unchosen) -> Envelope:
        """Return the bound ``2 exp(-|m|)``."""
        return CloseEnvelope(*unchosen.score_all())


class SoftCorrect(SoftSampler):
    """``p = 1 - 2 / (1 + exp [1 - m]_+)``."""

    def probability(self, margins: FloatArray) -> FloatArray:
        """Return ``tanh([1 - m]_+ / 2)``, which is the same number without cancellation."""
        return np.tanh(np.maximum(1 - margins, 0) / 2)

    def envelope(self, unchosen: Unchosen) -> Envelope:
        """Return the bound ``min(1, [1 - m]_+ / 2)``."""
        return CorrectEnvelope(*unchosen.score_all())


def _worth_a_look(i: IntArray, j: IntArray, accepted: BoolArray, found: Collected) -> list[int]:
    """Places of the candidates that are accepted, or equal to one that is or was in this round."""
    drawn, found_i, found_j = _core.PairSet(), *found.terms
    for some_i, some_j in ((found_i, found_j), (i[accepted], j[accepted])):
        drawn.insert(some_i, some_j, np.empty(len(some_i), dtype=bool))
    look = np.empty(len(i), dtype=bool)
    drawn.contains(i, j, look)
    places: list[int] = np.flatnonzero(look).tolist()
    return places


def _sorting_is_cheaper(unchosen: Unchosen, missing: int, acceptance: float) -> bool:
    cost = _SORT_FROM + unchosen.problem.n_points / _ROWS_A_CANDIDATE
    return acceptance < _SORT_BELOW and missing / acceptance > cost


def _scoring_all_is_cheaper(unchosen: Unchosen, candidates: float) -> bool:
    scattered, rows = _SCATTERED_READ_ELSEWHERE, unchosen.problem.rows
    if isinstance(rows, MemoryRows):
        scattered = _SCATTERED_READ if rows.row_bytes < _LONG_ROW else _SCATTERED_LONG_READ
    return 2 * scattered * candidates > unchosen.problem.n_points
