"""Ranking data of any size, made from a seed, with a known best AUC.

The law
-------
Every row belongs to a hidden class h in {0, 1} and stores k values in k columns (k = n_features when dense); column c
holds

    x_c = e_c + h * s_c * delta / sqrt(k),    e_c standard normal, s_c = +1 or -1, fixed by the seed.

Given the columns, the likelihood ratio of the two classes grows with ``sum_c s_c x_c`` alone, so the best scoring
function is *linear*, ``w = s``, and its scores are N(0, k) and N(delta sqrt(k), k): its AUC against the hidden class is
``A = Phi(delta / sqrt(2))``. A fraction `label_noise` of the rows then has its label drawn anew, whatever its hidden
class, which leaves the best scoring function as it is and its AUC at

    auc = 1/2 + (1 - label_noise) (A - 1/2).

So `auc` is what no model can pass but by chance; delta follows from it. No other parameter changes it.

Rows are made in grains of `GRAIN` rows, each from its own child seed: the data do not depend on how they are cut into
blocks, and any part can be made without what comes before it. The positives are ``floor(n_rows * positive_rate + 1/2)``
in number, spread evenly over the grains, at random places inside a grain.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist
from typing import Any

import numpy as np

from pairsift._typing import AnyArray, BoolArray, FloatArray
from pairsift.data.rows import CsrRows, DenseRows, MemoryRows
from pairsift.data.store import RowStore
from pairsift.data.store_header import StoreHeader
from pairsift.data.store_writer import StoreWriter

GRAIN = 4096

_SIGNS, _LABELS, _VALUES = 0, 1, 2  # what a child seed is for


@dataclass(frozen=True)
class RankingLaw:
    """The parameters of `make_ranking`, checked; makes any grain of the data."""

    n_rows: int
    n_features: int
    positive_rate: float
    auc: float
    label_noise: float
    density: float | None
    dtype: Any
    seed: np.random.SeedSequence

    def __post_init__(self) -> None:
        for name in ("n_rows", "n_features"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1; got {getattr(self, name)}.")
        if not 0 < self.positive_rate < 1 or not 0 < self.n_positive < self.n_rows:
            raise ValueError(
                "positive_rate must be between 0 and 1 and leave at least one row to each class; "
                f"got {self.positive_rate} of {self.n_rows} rows."
            )
        if not 0 <= self.label_noise < 1:
            raise ValueError(f"label_noise must be at least 0 and below 1; got {self.label_noise}.")
        if not 0.5 <= self.auc < 1 - self.label_noise / 2:
            raise ValueError(
                "auc must be at least 0.5 and below 1 - label_noise / 2, which is "
                f"{1 - self.label_noise / 2}; got {self.auc}."
            )
        if self.density is not None and not 0 < self.density <= 1:
            raise ValueError(f"density must be above 0 and at most 1, or None for dense rows; got {self.density}.")
        if np.dtype(self.dtype) not in (np.dtype(np.float32), np.dtype(np.float64)):
            raise ValueError(f"dtype must be float32 or float64; got {np.dtype(self.dtype)}.")

    @property
    def n_positive(self) -> int:
        """N+, known before any row is made."""
        return self._positives_before(self.n_rows)

    @property
    def n_stored(self) -> int:
        """k, the number of values that a row stores."""
        return self.n_features if self.density is None else max(1, round(self.density * self.n_features))

    @property
    def index_dtype(self) -> type[np.signedinteger[Any]]:
        """What column numbers are stored in: int32 where it is enough."""
        return np.int32 if self.n_features < 2**31 else np.int64

    @cached_property
    def signs(self) -> FloatArray:
        """The best weights s."""
        return self._rng(_SIGNS).choice(np.array([-1.0, 1.0]), self.n_features)

    @cached_property
    def _shift(self) -> AnyArray:
        hidden_auc = 0.5 + (self.auc - 0.5) / (1 - self.label_noise)
        delta = math.sqrt(2) * NormalDist().inv_cdf(hidden_auc)
        return (self.signs * (delta / math.sqrt(self.n_stored))).astype(self.dtype)

    def grains(self) -> Iterator[tuple[int, int, int]]:
        """Yield the number, first row and last row + 1 of each grain."""
        for number, start in enumerate(range(0, self.n_rows, GRAIN)):
            yield number, start, min(start + GRAIN, self.n_rows)

    def labels(self, number: int) -> BoolArray:
        """Return whether each row of a grain is positive; costs a thousandth of making the rows."""
        start = number * GRAIN
        stop = min(start + GRAIN, self.n_rows)
        positive = np.zeros(stop - start, dtype=np.bool_)
        positive[: self._positives_before(stop) - self._positives_before(start)] = True
        return self._rng(_LABELS, number).permutation(positive)

    def class_rows(self, number: int, positive: bool) -> MemoryRows:
        """Return the positive or the negative rows of a grain; each class has its own child seed."""
        n = int(np.count_nonzero(self.labels(number) == positive))
        values = np.empty((n, self.n_stored), dtype=self.dtype)
        columns = self._fill(number, positive, values)
        return self._as_rows(values, columns)

    def between(self, first_grain: int, last_grain: int) -> tuple[MemoryRows, BoolArray]:
        """Return the rows of grains first_grain <= g < last_grain, and whether each is positive."""
        positive = np.concatenate([self.labels(number) for number in range(first_grain, last_grain)])
        values = np.empty((len(positive), self.n_stored), dtype=self.dtype)
        columns = None if self.density is None else np.empty(values.shape, dtype=self.index_dtype)
        for number in range(first_grain, last_grain):
            start = (number - first_grain) * GRAIN
            for kind in (False, True):
                rows = start + np.flatnonzero(positive[start : start + GRAIN] == kind)
                part = np.empty((len(rows), self.n_stored), dtype=self.dtype)
                part_columns = self._fill(number, kind, part)
                values[rows] = part
                if columns is not None:
                    columns[rows] = part_columns
        return self._as_rows(values, columns), positive

    def _fill(self, number: int, positive: bool, values: AnyArray) -> AnyArray | None:
        """Write the values (rows, k) of one class of a grain; return their columns where the data are sparse."""
        rng = self._rng(_VALUES, number, int(positive))
        n = len(values)
        noisy = rng.random(n) < self.label_noise
        hidden = np.where(noisy, rng.random(n) < self.positive_rate, positive)
        rng.standard_normal(dtype=self.dtype, out=values)
        if self.density is None:
            values[hidden] += self._shift
            return None
        # One column from each of k equal parts: different and ascending without a sort.
        edges = np.arange(self.n_stored + 1) * self.n_features // self.n_stored
        columns = (edges[:-1] + rng.integers(0, np.diff(edges), size=values.shape)).astype(self.index_dtype)
        values[hidden] += self._shift[columns[hidden]]
        return columns

    def _as_rows(self, values: AnyArray, columns: AnyArray | None) -> MemoryRows:
        if columns is None:
            return DenseRows(values)
        wide = self.index_dtype if values.size < 2**31 else np.int64
        starts = np.arange(0, values.size + 1, self.n_stored, dtype=wide)
        columns = columns.astype(wide, copy=False)
        return CsrRows(values.reshape(-1), columns.reshape(-1), starts, self.n_features)

    def _positives_before(self, row: int) -> int:
        return math.floor(row * self.positive_rate + 0.5)

    def _rng(self, *key: int) -> np.random.Generator:
        return np.random.default_rng(np.random.SeedSequence(self.seed.entropy, spawn_key=(*self.seed.spawn_key, *key)))


def make_ranking(
    n_rows: int = 10_000,
    n_features: int = 20,
    *,
    positive_rate: float = 0.1,
    auc: float = 0.9,
    label_noise: float = 0.05,
    density: float | None = None,
    dtype: Any = np.float64,
    random_state: int | np.random.Generator | None = None,
    path: str | os.PathLike[str] | None = None,
) -> Any:  # a union would make every caller ask which
    """Make data for bipartite ranking whose best AUC is known and reached by a linear model.

    Parameters
    ----------
    n_rows, n_features : int
        Size of the data.
    positive_rate : float
        Share of positive rows; ``floor(n_rows * positive_rate + 1/2)`` rows are positive, mixed among the negatives.
    auc : float in [0.5, 1 - label_noise / 2)
        AUC of the best scoring function, label noise included. It is linear: weights of equal size, signs by the seed.
    label_noise : float in [0, 1)
        Share of rows whose label says nothing about the row.
    density : float, optional
        Share of columns that each row stores; the data are then sparse. By default they are dense.
    dtype : float32 or float64
        Type of the values.
    random_state : int, Generator or None
        The same integer gives the same data.
    path : str or path, optional
        Write the same rows to a row store instead, grain by grain, in memory that does not grow with `n_rows`.

    Returns
    -------
    X : ndarray or scipy.sparse.csr_array, (n_rows, n_features)
    y : ndarray of int64
        1 for a positive row, 0 for a negative one.
    store : RowStore
        Instead of `X` and `y`, when `path` is given.
    """
    law = RankingLaw(
        int(n_rows), int(n_features), positive_rate, auc, label_noise, density, dtype, seed_from(random_state)
    )
    if path is not None:
        return write_ranking(law, path)
    rows, positive = law.between(0, -(-law.n_rows // GRAIN))
    y = positive.astype(np.int64)
    if isinstance(rows, CsrRows):
        from scipy import sparse

        return sparse.csr_array((rows.values, rows.columns, rows.starts), shape=(law.n_rows, law.n_features)), y
    return rows.values, y  # type: ignore[attr-defined]


def write_ranking(law: RankingLaw, path: str | os.PathLike[str]) -> RowStore:
    """Write the data of a law to a row store: the positives of all grains, then the negatives of all grains."""
    index = None if law.density is None else np.dtype(law.index_dtype).name
    header = StoreHeader(
        law.n_positive, law.n_rows - law.n_positive, law.n_features, np.dtype(law.dtype).name, index=index
    )
    with StoreWriter(path, header) as store:
        for positive in (True, False):
            for number, start, _ in law.grains():
                original = start + np.flatnonzero(law.labels(number) == positive)
                if len(original):
                    store.write(law.class_rows(number, positive), original)
    return RowStore(path)


def seed_from(random_state: int | np.random.Generator | None) -> np.random.SeedSequence:
    """Return a seed: of an integer always the same, of a generator the next one, of None a fresh one."""
    if random_state is None:
        return np.random.SeedSequence()
    if isinstance(random_state, np.random.Generator):
        return np.random.SeedSequence(random_state.integers(0, 2**32, size=4).tolist())
    if isinstance(random_state, (int, np.integer)) and random_state >= 0:
        return np.random.SeedSequence(int(random_state))
    raise ValueError(
        f"random_state must be a non-negative integer, a numpy.random.Generator or None; got {random_state!r}."
    )
