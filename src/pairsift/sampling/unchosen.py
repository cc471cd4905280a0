"""The unchosen pool U*, seen with the current w. It is never written out: it is all terms but the chosen ones.

A candidate is a pair or a point with equal chance, uniform within its kind. A kind whose weight (gamma for pairs, 1 -
gamma for points) is zero is never a candidate; when a kind is used up, the other goes on.
"""

from __future__ import annotations

import numpy as np

from pairsift._typing import BoolArray, FloatArray, IntArray
from pairsift.data.holdout import RangeWithout
from pairsift.data.problem import Places, RowRange
from pairsift.data.remembered_rows import RememberedRows
from pairsift.data.rows import RowSource
from pairsift.pairs import NONE, Pool

_SCORING_BLOCK = 1 << 18
_BALANCED_BLOCK = 1 << 14
_LEAST_BALANCED = 100  # rows of a class; of fewer, what came before would tell too much of what comes next


class Unchosen:
    """What a sampler may ask in one round, for fixed w, theta and chosen pool.

    Attributes
    ----------
    pool : Pool
        The chosen terms.
    n_pairs, n_points : int
        How many unchosen terms of each kind may be drawn.
    gamma : float
        The weight of pairs; that of points is 1 - gamma.
    acceptance : float
        Share of the candidates that was accepted in the last round: what to expect of this one.
    balanced : bool
        Candidate pairs take the rows of a class in turn, all in random order before one comes again, where there are
        many of them; otherwise each is independent.
    """

    def __init__(self, pool: Pool, w: FloatArray, theta: float, gamma: float, *, acceptance: float = 1.0) -> None:
        self.pool, self.problem = pool, pool.problem
        self.w, self.theta, self.gamma, self.acceptance = w, theta, gamma, acceptance
        chosen_pairs = int(np.count_nonzero(pool.is_pair))
        self.n_pairs = self.problem.n_pairs - chosen_pairs if gamma > 0 else 0
        self.n_points = self.problem.n_points - (len(pool) - chosen_pairs) if gamma < 1 else 0
        self.balanced = False
        self._scores: tuple[FloatArray, FloatArray] | None = None

    @property
    def is_scored(self) -> bool:
        """Whether every row has been scored."""
        return self._scores is not None

    def score_all(self) -> tuple[FloatArray, FloatArray]:
        """Return w . x of all positives and of all negatives, by place; they are computed once a round."""
        if self._scores is None:
            rows, positives, negatives = self.problem.rows, self.problem.positives, self.problem.negatives
            by_number = isinstance(positives, np.ndarray) and isinstance(negatives, np.ndarray)
            if by_number and 2 * self.problem.n_points > rows.n_rows:
                scores = rows.scores_between(self.w, 0, rows.n_rows)  # reading in order pays for a few rows too many
                self._scores = scores[np.asarray(positives)], scores[np.asarray(negatives)]
            else:
                self._scores = _score_places(rows, self.w, positives), _score_places(rows, self.w, negatives)
        return self._scores

    def margins(self, i: IntArray, j: IntArray) -> FloatArray:
        """Return the margin w . x_ij of each term; that of a point includes the threshold."""
        plus = np.where(i == NONE, self.theta, self._side_scores(i, 0))
        return plus - np.where(j == NONE, self.theta, self._side_scores(j, 1))

    def is_chosen(self, i: IntArray, j: IntArray) -> BoolArray:
        """Return whether each term is in L*."""
        found = np.empty(len(i), dtype=bool)
        self.pool.chosen.contains(i, j, found)
        return found

    def pair_chance(self, n_pairs: int, n_points: int) -> float:
        """Return the chance that a candidate is a pair, when so many terms of each kind are left."""
        return 0.5 if n_pairs and n_points else float(n_pairs > 0)

    def candidates(self, count: int, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
        """Draw `count` candidates from U*, with repetition."""
        pair_chance = self.pair_chance(self.n_pairs, self.n_points)
        if pair_chance == 1:
            return self._candidate_pairs(count, rng)
        is_pair = rng.random(count) < pair_chance
        i, j = np.empty(count, dtype=np.int64), np.empty(count, dtype=np.int64)
        i[is_pair], j[is_pair] = self._candidate_pairs(int(np.count_nonzero(is_pair)), rng)
        i[~is_pair], j[~is_pair] = self.uniform_points(int(np.count_nonzero(~is_pair)), rng)
        return i, j

    def put_back(self, i: IntArray, j: IntArray) -> None:
        """Leave the last candidates, which nothing has depended on, to the next round."""
        pairs = (i != NONE) & (j != NONE)
        unseen_i, unseen_j = self.pool.unseen
        self.pool.unseen = np.append(i[pairs], unseen_i), np.append(j[pairs], unseen_j)
        if isinstance(self.pool.reader, RememberedRows):
            self.pool.reader.put_back(int(np.count_nonzero(pairs)))

    def _candidate_pairs(self, count: int, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
        """Draw as `uniform_pairs` does, those first that were put back: they are independent and uniform as well.

        Balanced ones are made by the block, put back, and taken from there.
        """
        found_i, found_j = self._put_back_pairs(count)
        if self.balanced and self._has_many_pairs and self._has_many_rows:
            while len(found_i) < count:
                self.pool.unseen = self._balanced_pairs(rng)
                more_i, more_j = self._put_back_pairs(count - len(found_i))
                found_i, found_j = np.append(found_i, more_i), np.append(found_j, more_j)
        fresh_i, fresh_j = self.uniform_pairs(count - len(found_i), rng)
        return np.append(found_i, fresh_i), np.append(found_j, fresh_j)

    def _put_back_pairs(self, count: int) -> tuple[IntArray, IntArray]:
        """Take up to `count` unchosen pairs from those that were put back."""
        found_i, found_j = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
        i, j = self.pool.unseen
        while len(i) and len(found_i) < count:
            step = count - len(found_i)
            free = ~self.is_chosen(i[:step], j[:step])
            found_i, found_j = np.append(found_i, i[:step][free]), np.append(found_j, j[:step][free])
            i, j = i[step:], j[step:]
        self.pool.unseen = i, j
        return found_i, found_j

    def _balanced_pairs(self, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
        """Draw a block of pairs, each uniform for itself, which take the rows of a class in turn."""
        n_positive, n_negative = self.problem.n_positive, self.problem.n_negative
        return _in_turn(n_positive, _BALANCED_BLOCK, rng), _in_turn(n_negative, _BALANCED_BLOCK, rng)

    @property
    def _has_many_rows(self) -> bool:
        return min(self.problem.n_positive, self.problem.n_negative) >= _LEAST_BALANCED

    @property
    def _has_many_pairs(self) -> bool:
        """Whether a pair drawn at random is probably not chosen yet."""
        return 2 * self.n_pairs >= self.problem.n_pairs

    def uniform_pairs(self, count: int, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
        """Draw unchosen pairs uniformly, with repetition."""
        n_positive, n_negative = self.problem.n_positive, self.problem.n_negative
        if not self._has_many_pairs:  # there are at most twice as many as were chosen
            all_i, all_j = np.repeat(np.arange(n_positive), n_negative), np.tile(np.arange(n_negative), n_positive)
            return self._uniform_free(all_i, all_j, count, rng)
        i, j = rng.integers(n_positive, size=count), rng.integers(n_negative, size=count)
        again = np.flatnonzero(self.is_chosen(i, j))
        while len(again):
            i[again] = rng.integers(n_positive, size=len(again))
            j[again] = rng.integers(n_negative, size=len(again))
            again = again[self.is_chosen(i[again], j[again])]
        return i, j

    def uniform_points(self, count: int, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
        """Draw unchosen points uniformly, with repetition."""
        if 2 * self.n_points < self.problem.n_points:
            return self._uniform_free(*self._as_terms(np.arange(self.problem.n_points)), count, rng)
        i, j = self._as_terms(rng.integers(self.problem.n_points, size=count))
        again = np.flatnonzero(self.is_chosen(i, j))
        while len(again):
            i[again], j[again] = self._as_terms(rng.integers(self.problem.n_points, size=len(again)))
            again = again[self.is_chosen(i[again], j[again])]
        return i, j

    def free_points(self) -> tuple[IntArray, IntArray]:
        """Return all unchosen points, positives first."""
        i, j = self._as_terms(np.arange(self.problem.n_points if self.n_points else 0))
        free = ~self.is_chosen(i, j)
        return i[free], j[free]

    def _as_terms(self, points: IntArray) -> tuple[IntArray, IntArray]:
        n_positive = self.problem.n_positive
        return np.where(points < n_positive, points, NONE), np.where(points < n_positive, NONE, points - n_positive)

    def _uniform_free(
        self, i: IntArray, j: IntArray, count: int, rng: np.random.Generator
    ) -> tuple[IntArray, IntArray]:
        free = np.flatnonzero(~self.is_chosen(i, j))
        drawn = free[rng.integers(len(free), size=count)] if count else free[:0]
        return i[drawn], j[drawn]

    def _side_scores(self, places: IntArray, side: int) -> FloatArray:
        """Scores by place; what stands where there is no row is for the caller to overwrite."""
        real = places != NONE
        if self._scores is not None:
            return self._scores[side][np.where(real, places, 0)]
        rows = (self.problem.positives, self.problem.negatives)[side]
        if np.all(real):
            return self.pool.reader.scores(self.w, rows[places])
        out = np.zeros(len(places))
        out[real] = self.pool.reader.scores(self.w, rows[places[real]])
        return out


def _in_turn(n: int, count: int, rng: np.random.Generator) -> IntArray:
    """Return `count` of 0, ..., n - 1, all of them in random order before one comes again."""
    orders = [rng.permutation(n) for _ in range(count // n)]
    return np.concatenate([*orders, rng.choice(n, count % n, replace=False)])


def _score_places(rows: RowSource, w: FloatArray, places: Places) -> FloatArray:
    if isinstance(places, RowRange):
        return rows.scores_between(w, places.start, places.stop)
    if isinstance(places, RangeWithout):  # one pass in order, not row by row
        return np.delete(rows.scores_between(w, places.all_rows.start, places.all_rows.stop), places.left_out)
    out = np.empty(len(places))
    for start in range(0, len(places), _SCORING_BLOCK):
        stop = min(start + _SCORING_BLOCK, len(places))
        out[start:stop] = rows.scores(w, places[start:stop])
    return out
