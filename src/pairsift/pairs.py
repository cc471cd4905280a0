"""The chosen pool L*: pairs and points, with their probabilities, weights and dual variables.

A term is (i, j): places of a positive and a negative within their class, or -1 for none, so that (i, -1) is a
positive point and (-1, j) a negative one (the paper's pseudo-pairs). A pair is two numbers and never one: N+ * N-
passes 2^63.

Each term has a value v = 1 / p, or 1 where there is nothing to correct, multiplied by its sample weight. The bound of
a term is ``C_k = total * v_k / Z`` with Z the sum of all v, so that the bounds add up to `total`, which is C |L*|.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from pairsift import _core
from pairsift._typing import AnyArray, BoolArray, FloatArray, IntArray
from pairsift.data.problem import Places, Problem
from pairsift.data.remembered_rows import remembering
from pairsift.data.rows import CsrRows, DenseRows, MemoryRows, refuse_overflow

NONE = -1
COLUMNS = ("i", "j", "round", "probability", "value", "alpha")
"""What a pool knows of its terms, besides what follows from the rows."""
_GROWTH, _GROWTH_TO_EXPECTED = 2, 100
_LONGER_TERMS = 1.1  # terms that come may store a little more than those before


class Pool:
    """Chosen terms of a problem, in the order in which they were chosen.

    Parameters
    ----------
    problem : Problem
    threshold : bool
        Whether terms have the constant column of the extended vectors.
    expected : int
        How many terms will come, as far as is known: memory for them is asked for at once, and no copy is made on the
        way.

    Attributes
    ----------
    unseen : tuple of two arrays
        Pairs that were drawn as candidates and not looked at, because the round had its terms: the next one begins
        with them.
    reader : RowSource or RememberedRows
        The rows; those of candidates that were scored are not read again when they are chosen.
    """

    def __init__(self, problem: Problem, *, threshold: bool = False, expected: int = 0) -> None:
        self.problem = problem
        self.reader = remembering(problem.rows)
        self.unseen = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
        self.threshold = threshold
        self.i = np.empty(0, dtype=np.int64)
        self.j = np.empty(0, dtype=np.int64)
        self.round = np.empty(0, dtype=np.int64)
        self.probability = np.empty(0)
        self.value = np.empty(0)
        self.alpha = np.empty(0)
        self.norms = np.empty(0)
        self.chosen = _core.PairSet()
        self._rows: _DenseTerms | _SparseTerms | None = None
        self._expected = expected
        self._last_scale = 1.0

    def __len__(self) -> int:
        return len(self.i)

    @property
    def is_pair(self) -> BoolArray:
        """Whether each term is a pair, not a point."""
        pairs: BoolArray = (self.i != NONE) & (self.j != NONE)
        return pairs

    @property
    def kernel(self) -> _core._RowKernels:
        """The terms' vectors x_ij, as the solvers take them."""
        assert self._rows is not None
        return self._rows.kernel()

    @property
    def constants(self) -> FloatArray | None:
        """The constant column of the extended vectors: -1 for a positive point, +1 for a negative one, 0 for a pair."""
        if not self.threshold:
            return None
        column: FloatArray = (self.i == NONE).astype(np.float64) - (self.j == NONE).astype(np.float64)
        return column

    def add(self, i: IntArray, j: IntArray, probability: FloatArray, *, round_number: int, correct_bias: bool) -> None:
        """Move terms from U* to L*."""
        fresh = np.empty(len(i), dtype=bool)
        self.chosen.insert(i, j, fresh)
        if not np.all(fresh):
            raise ValueError("A sampler returned a term that is chosen already; a term may be drawn only once.")
        value = (1 / probability if correct_bias else np.ones(len(i))) * term_weights(self.problem, i, j)
        self.i, self.j = np.append(self.i, i), np.append(self.j, j)
        self.round = np.append(self.round, np.full(len(i), round_number, dtype=np.int64))
        self.probability = np.append(self.probability, probability)
        self.value = np.append(self.value, value)
        self.alpha = np.append(self.alpha, np.zeros(len(i)))
        self._append_rows(i, j)

    def bounds(self, total: float) -> tuple[FloatArray, float]:
        """Return C_k for a total weight, and the factor by which the bounds of older terms have changed.

        When Z changes, all bounds change by one factor. The dual variables are scaled by it too, which keeps each at
        the same part of its bound, where clipping alone would move those at the bound into the inside. w scales
        alike.
        """
        scale = total / float(np.sum(self.value))
        factor = scale / self._last_scale
        upper = scale * self.value
        # Rounded apart, a term at its bound would leave it by a bit, and cost an update to come back.
        at_bound = self.alpha >= self._last_scale * self.value
        self.alpha = np.where(at_bound, upper, self.alpha * factor)
        self._last_scale = scale
        return upper, factor

    def is_whole(self, n: int) -> bool:
        """Whether the pool holds n terms, all of them with everything that belongs to a term."""
        columns = (self.i, self.j, self.round, self.probability, self.value, self.alpha, self.norms)
        return all(len(column) == n for column in columns)

    def first(self, n: int) -> Pool:
        """Return a pool of the first n terms; their rows are read again."""
        columns = {name: getattr(self, name)[:n] for name in COLUMNS}
        return Pool.of(self.problem, columns, self._last_scale, threshold=self.threshold)

    @classmethod
    def of(cls, problem: Problem, columns: Mapping[str, AnyArray], scale: float, *, threshold: bool) -> Pool:
        """Return a pool of known terms, as it was with these `COLUMNS` and this `scale`, bit for bit."""
        pool = cls(problem, threshold=threshold)
        i, j = columns["i"].copy(), columns["j"].copy()
        pool.add(i, j, columns["probability"], round_number=0, correct_bias=False)
        for name in COLUMNS:
            setattr(pool, name, columns[name].copy())
        pool._last_scale = scale
        return pool

    @property
    def scale(self) -> float:
        """What values were multiplied by to give the last bounds; 1 before there are any."""
        return self._last_scale

    def row_numbers(self) -> tuple[IntArray, IntArray]:
        """Return i and j as row numbers of the data, -1 for none."""
        return _rows_of(self.problem.positives, self.i), _rows_of(self.problem.negatives, self.j)

    def _append_rows(self, i: IntArray, j: IntArray) -> None:
        row_i, row_j = _rows_of(self.problem.positives, i), _rows_of(self.problem.negatives, j)
        source = self.problem.rows
        if not isinstance(source, MemoryRows):
            needed, position = np.unique(np.concatenate([row_i, row_j]), return_inverse=True)
            missing = int(np.any(needed == NONE))
            source = self.reader.take(needed[missing:])
            position = position - missing
            row_i, row_j = position[: len(i)], position[len(i) :]
        else:
            source.check_rows(np.concatenate([row_i[row_i != NONE], row_j[row_j != NONE]]))
        if self._rows is None:
            kind = _DenseTerms if isinstance(source, DenseRows) else _SparseTerms
            self._rows = kind(source, self._expected)
        self._rows.append(source, row_i, row_j)
        norms = np.empty(len(i))
        self.kernel.squared_norms(len(self) - len(i), len(self), norms)
        refuse_overflow(norms)
        if self.threshold:
            norms += (i == NONE) | (j == NONE)
        self.norms = np.append(self.norms, norms)


def term_weights(problem: Problem, i: IntArray, j: IntArray) -> FloatArray:
    """Return the sample weight of each term, relative to the mean.

    s_i s_j / (mean of s over positives * mean of s over negatives) for a pair and s_k / (mean of s over all rows) for
    a point, so that multiplying all weights by a number changes nothing.
    """
    if problem.positive_weights is None or problem.negative_weights is None:
        return np.ones(len(i))
    positive, negative = problem.positive_weights, problem.negative_weights
    mean_point = (np.sum(positive) + np.sum(negative)) / problem.n_points
    plus = np.where(i == NONE, 1.0, positive[i])
    minus = np.where(j == NONE, 1.0, negative[j])
    is_pair = (i != NONE) & (j != NONE)
    return plus * minus / np.where(is_pair, np.mean(positive) * np.mean(negative), mean_point)


def _room(used: int, needed: int, expected: float) -> int:
    """Return how much room to ask for when `needed` is more than there is.

    Room that is never written costs nothing but a promise of the system; that of a careless budget is bounded by what
    was used so far.
    """
    return max(needed, _GROWTH * used, int(min(expected, _GROWTH_TO_EXPECTED * used)))


class _DenseTerms:
    """x_ij as rows of one float64 array that grows."""

    def __init__(self, source: MemoryRows, expected: int) -> None:
        self._values = np.empty((0, source.n_features))
        self._n, self._expected = 0, expected

    def append(self, source: MemoryRows, i: IntArray, j: IntArray) -> None:
        assert isinstance(source, DenseRows)
        end = self._n + len(i)
        if end > len(self._values):
            grown = np.empty((_room(self._n, end, self._expected), self._values.shape[1]))
            grown[: self._n] = self._values[: self._n]
            self._values = grown
        source.kernel.write_differences(i, j, self._values[self._n : end])
        self._n = end

    def kernel(self) -> _core._RowKernels:
        return _core.DenseF64(self._values[: self._n])


class _SparseTerms:
    """x_ij as rows of one float64 CSR matrix that grows; indices turn to int64 when int32 is too short."""

    def __init__(self, source: MemoryRows, expected: int) -> None:
        assert isinstance(source, CsrRows)
        self._values = np.empty(0)
        self._columns = np.empty(0, dtype=source.columns.dtype)
        self._starts = np.zeros(1, dtype=source.columns.dtype)
        self._n_features = source.n_features
        self._expected = expected

    def append(self, source: MemoryRows, i: IntArray, j: IntArray) -> None:
        assert isinstance(source, CsrRows)
        used = int(self._starts[-1])
        self._reserve(used, used + int(np.sum(source.count_stored(i)) + np.sum(source.count_stored(j))))
        starts = np.zeros(len(i) + 1, dtype=source.columns.dtype)
        columns = self._columns[used:].astype(source.columns.dtype, copy=False)
        source.kernel.write_differences(i, j, self._values[used:], columns, starts)
        self._columns[used:] = columns  # a copy only when this pool has outgrown int32 and its source has not
        self._starts = np.append(self._starts, starts[1:].astype(self._starts.dtype) + used)

    def _reserve(self, used: int, needed: int) -> None:
        if needed > np.iinfo(self._columns.dtype).max:
            self._columns, self._starts = self._columns.astype(np.int64), self._starts.astype(np.int64)
        if needed > len(self._values):
            terms = max(1, len(self._starts) - 1)
            size = _room(used, needed, _LONGER_TERMS * used / terms * self._expected)
            values, columns = np.empty(size), np.empty(size, dtype=self._columns.dtype)
            values[:used], columns[:used] = self._values[:used], self._columns[:used]
            self._values, self._columns = values, columns

    def kernel(self) -> _core._RowKernels:
        kernel = _core.CsrF64I32 if self._columns.dtype == np.int32 else _core.CsrF64I64
        return kernel(self._values, self._columns, self._starts, self._n_features)


def _rows_of(places: Places, at: IntArray) -> IntArray:
    rows = np.full(len(at), NONE, dtype=np.int64)
    real = at != NONE
    rows[real] = places[at[real]]
    return rows
