"""A validation part during training: an AUC curve, and when to stop.

A check scores the held-out rows with the w of the round. It is made after the first round, then whenever at least
`ROUNDS_BETWEEN` rounds have passed and the pool has grown by a tenth. Held-out rows count by their weights.

Early stopping
--------------
A check is compared with the last one made with at most half the pairs, on the same rows, by DeLong's paired test. The
gain of doubling the pairs is not shown where its 95 % interval reaches down to zero; after `PATIENCE` such checks in a
row, training ends. The pool that is kept then, and whenever early stopping is asked for or the run is interrupted, is
that of the check with the highest AUC (the first of equals); it is solved to `tol` like any other.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pairsift._typing import AnyArray, FloatArray
from pairsift.data.problem import Problem
from pairsift.judge import LEVEL_95, Judge, auc_of_parts

NO_MORE_GAIN = "no more gain on the validation part"
ROUNDS_BETWEEN = 5
GROWTH = 1.1
PATIENCE = 3


class Check(NamedTuple):
    """The AUC on the validation part, with its 95 % interval, when so many pairs had been chosen."""

    pairs: int
    auc: float
    low: float
    high: float


class Validation:
    """A consumer of states: checks them now and then, and says when to stop if `early_stopping`."""

    def __init__(
        self,
        held_out: Problem,
        *,
        early_stopping: bool = False,
        rounds_between: int = ROUNDS_BETWEEN,
        patience: int = PATIENCE,
    ) -> None:
        self.early_stopping = early_stopping
        self._rounds_between, self._patience = rounds_between, patience
        self.curve: list[Check] = []
        self._last_round, self._without_gain = -rounds_between, 0
        self._older: list[tuple[int, FloatArray]] = []
        self._judge = Judge(held_out)

    @property
    def n_rows(self) -> int:
        """Number of held-out rows."""
        return self._judge.rows.n_rows

    @property
    def best(self) -> Check | None:
        """The check with the highest AUC, the first of equals."""
        return max(self.curve, key=lambda check: check.auc, default=None)

    def __call__(self, state: Any) -> str | None:
        """Check a state if it is time to; return why to stop, or None."""
        done = state.history[-1]
        ended = state.stop_reason is not None
        due = done.round - self._last_round >= self._rounds_between
        if not ended and self.curve and not (due and done.pairs >= GROWTH * self.curve[-1].pairs):
            return None
        self._last_round = done.round
        scores = self._scores(state.solution.w)
        self.curve.append(self._check(done.pairs, scores))
        return self._compare(done.pairs, scores) if self.early_stopping else None

    def check(self, pairs: int, w: FloatArray) -> Check:
        """Return the AUC of w on the held-out rows."""
        return self._check(pairs, self._scores(w))

    def _scores(self, w: FloatArray) -> FloatArray:
        return self._judge.scores(w)

    def _check(self, pairs: int, scores: FloatArray) -> Check:
        return Check(pairs, *auc_of_parts([self._judge.verdict(scores)]))

    def _compare(self, pairs: int, scores: FloatArray) -> str | None:
        half = [k for k, (older, _) in enumerate(self._older) if 2 * older <= pairs]
        if half:
            self._older = self._older[half[-1] :]
            gain, error = self._judge.verdict(scores).gain_over(self._judge.verdict(self._older[0][1]))
            self._without_gain = self._without_gain + 1 if gain - LEVEL_95 * error <= 0 else 0
        self._older.append((pairs, scores))
        return NO_MORE_GAIN if self._without_gain >= self._patience else None

    def to_arrays(self) -> dict[str, AnyArray]:
        """Return what has to be known to go on, as arrays."""
        scores = [scores for _, scores in self._older]
        return {
            "curve": np.array(self.curve, dtype=np.float64).reshape(-1, len(Check._fields)),
            "older_pairs": np.array([pairs for pairs, _ in self._older], dtype=np.int64),
            "older_scores": np.array(scores, dtype=np.float64).reshape(-1, self.n_rows),
            "counters": np.array([self._last_round, self._without_gain], dtype=np.int64),
        }

    def restore(self, arrays: dict[str, AnyArray]) -> None:
        """Go on from what `to_arrays` returned."""
        self.curve = [Check(int(row[0]), *row[1:]) for row in arrays["curve"].tolist()]
        if arrays["older_scores"].shape != (len(arrays["older_pairs"]), self.n_rows):
            raise ValueError("the scores of the validation part have the wrong shape")
        self._older = list(zip(arrays["older_pairs"].tolist(), arrays["older_scores"], strict=True))
        self._last_round, self._without_gain = arrays["counters"].tolist()
