r"""The solver for pairs and points over drawn rows: Newton's method, with a certificate and a stopping rule.

The certificate is the length of the gradient of F relative to that where all scores are zero; for the hinge it is the
relative duality gap (`pairsift.solvers.exact`). `tol` bounds it where the rows are all rows there are. Where they are a
sample, solving further than the sample can tell is wasted: the gradient over m of N rows differs from that over all
rows by a random vector with the covariance S (1 - m / N), and

    optimisation error  g^T M^-1 g   <=   `SMALL_PART` * z^T M^-1 z (1 - m / N)

ends the solve, where z = C sum_k e_k s_k x_k with random signs e_k has the expectation z^T M^-1 z = trace(M^-1 S): the
same quadratic form of the sampling error. s_k is the slope of the loss by the score of row k, M the preconditioner,
which is near the Hessian.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from pairsift import _core
from pairsift._typing import AnyArray, FloatArray
from pairsift.all_pairs import AllPairs
from pairsift.data.drawn_rows import Piece
from pairsift.data.rows import CsrRows, DenseRows, MemoryRows
from pairsift.losses import HINGE, SQUARED
from pairsift.solvers.exact import HingeBounds, narrower
from pairsift.solvers.full_objective import dot
from pairsift.solvers.hinge_points import solve_hinge_points
from pairsift.solvers.mixed_objective import Mix, MixedObjective, MixedPoint
from pairsift.solvers.mixed_solution import MixedSolution
from pairsift.solvers.newton import Iterate, newton_iterates
from pairsift.solvers.preconditioner import Preconditioner
from pairsift.solvers.thinned_curvature import ThinnedCurvature, can_be_thinned

SMALL_PART = 0.02
FORCING = 0.3
# How well the squared hinge is solved that leads to the hinge.
LOOSE = 1e-2
# Rows of each class that the preconditioner is made of.
SAMPLE_ROWS = 5000
# Multiplications that take about 0.1 s; and those that the pairs of a sample may take at each step.
CHEAP_WORK = 1.5e8
PAIR_WORK = 5e6
TINY = 1e-300


def solve_mixed(
    pieces: Sequence[Piece],
    C: float,
    mix: Mix,
    start: MixedSolution | None = None,
    *,
    tol: float,
    max_iter: int,
    share_drawn: float = 1.0,
    signs: np.random.Generator | None = None,
    precision: float | None = None,
) -> Iterator[MixedSolution]:
    """Yield better and better solutions; the last one is converged, or `max_iter` steps were made.

    Parameters
    ----------
    pieces : sequence of Piece
    C : float
        Weight of the mean loss.
    mix : Mix
    start : MixedSolution, optional
        Where to begin.
    tol : float
    max_iter : int
    share_drawn : float
        m / N; 1 when these are all rows.
    signs : numpy.random.Generator, optional
        Draws the e_k; without it only `tol` counts.
    precision : float, optional
        How far above its minimum F may be, as a share of it, as far as the preconditioner tells; `tol` by default.
        A large C leaves a small gradient, relative to that at zero, before w has moved at all.
    """
    if mix.loss == HINGE and mix.gamma == 0:
        return solve_hinge_points(pieces, C, tol=tol, max_iter=max_iter)
    solver = _Solver(MixedObjective(pieces, C, mix), tol, max_iter, share_drawn, signs, precision)
    return solver.hinge_steps(start) if mix.loss == HINGE else solver.steps(start)


class _Solver:
    """One call of `solve_mixed`."""

    def __init__(
        self,
        objective: MixedObjective,
        tol: float,
        max_iter: int,
        share_drawn: float,
        signs: np.random.Generator | None,
        precision: float | None = None,
    ) -> None:
        self._objective, self._tol, self._max_iter = objective, tol, max_iter
        self._precondition = Preconditioners(objective)
        thinned = not self._precondition.written and can_be_thinned(objective)
        self._curved = ThinnedCurvature(objective.pieces, objective.C, objective.mix) if thinned else objective
        self._precision = tol if precision is None else precision
        self._left_out = 1 - share_drawn
        self._signs = signs
        self._statistical: float | None = None

    def steps(self, start: MixedSolution | None) -> Iterator[MixedSolution]:
        """Yield the iterates on a smooth loss; the gap is that of the gradient."""
        objective, tol = self._objective, self._tol
        at_zero = objective.gradient(objective.at_zero())
        scale = math.sqrt(dot(at_zero, at_zero))
        if scale <= 1e-13 * objective.C * _typical_norm(objective):
            scale = 0.0  # the classes have one mean: the gradient is rounding from the start, and zero the solution
        found: MixedSolution | None = None
        for n_iter, at in enumerate(self._newton(objective.at(_start(objective, start)))):
            gap = at.norm / scale if scale > 0 else 0.0
            left, settled = self._errors(at, n_iter)
            near = left <= 2 * self._precision * at.point.value or n_iter >= self._max_iter
            converged = settled or (gap <= tol and near)
            found = self._solution(at.point.w, at.point.value, gap, n_iter, converged, settled)
            yield found
            if found.done:
                return
        # No step makes F smaller: this is the minimum as far as numbers can tell.
        assert found is not None
        yield replace(found, converged=found.relative_gap <= tol, done=True)

    def hinge_steps(self, start: MixedSolution | None) -> Iterator[MixedSolution]:
        """Yield the iterates on the smoothed hinge, made narrower until the duality gap of the hinge is small enough.

        Half of the gap is left to the smoothing, half to the gradient, as in `pairsift.solvers.exact`.
        """
        objective, halves = self._objective, 0.5 * self._tol
        bounds, n_iter, mix = HingeBounds(objective.C), 0, objective.mix
        point = objective.at(_start(objective, start), mix)
        if start is None:  # far away the smoothed hinge is nearly linear: the squared hinge leads there
            squared = MixedObjective(objective.pieces, objective.C, Mix(SQUARED, 1.0))
            *_, near = _Solver(squared, LOOSE, self._max_iter, 1.0, None).steps(None)
            n_iter, point = near.n_passes, objective.at(near.w, mix)
        while True:
            moved = False
            for at in self._newton(point):
                n_iter, moved, point = n_iter + moved, True, at.point
                bounds.see(at)
                _, settled = self._errors(at, n_iter)
                # On the way the smoothed loss decides, whose minimum may lie where the hinge itself is not least yet.
                w = bounds.w if bounds.gap <= self._tol else at.point.w
                converged = settled or bounds.gap <= self._tol
                found = self._solution(w, bounds.primal, bounds.gap, n_iter, converged, settled)
                yield found
                if found.done:
                    return
                if 0.5 * at.norm**2 <= halves * bounds.primal:
                    break
            if bounds.slack <= halves * bounds.primal:
                yield replace(found, done=True)
                return
            mix = replace(mix, width=narrower(mix.width, halves, bounds))
            point = objective.from_scores(point.w, point.p, point.q, mix)

    def _newton(self, point: MixedPoint) -> Iterator[Iterate[MixedPoint]]:
        return newton_iterates(self._curved, point, self._precondition, lambda at: FORCING * at.norm)

    def _errors(self, at: Iterate[MixedPoint], n_iter: int) -> tuple[float, bool]:
        """Return the optimisation error, and whether it is below the stated part of the sampling error."""
        divide = self._precondition(at.point.w, at.point.loss)
        left = dot(at.gradient, divide(at.gradient))
        if self._signs is None or self._left_out <= 0 or n_iter == 0:
            return left, False
        if self._statistical is None:
            error = _sampling_error(self._objective, at.point, divide, self._signs)
            self._statistical = self._left_out * error
        return left, left <= SMALL_PART * self._statistical

    def _solution(
        self, variables: FloatArray, primal: float, gap: float, n_iter: int, converged: bool, settled: bool
    ) -> MixedSolution:
        objective = self._objective
        theta = float(variables[-1]) if objective.has_threshold else 0.0
        w, done = variables[: objective.n_features], converged or n_iter >= self._max_iter
        return MixedSolution(w, theta, primal, gap, n_iter, converged, settled, done)


def _typical_norm(objective: MixedObjective) -> float:
    rows = objective.pieces[0].rows
    norms = np.empty(rows.n_rows)
    rows.kernel.squared_norms(0, rows.n_rows, norms)
    return float(np.sqrt(np.mean(norms)))


def _start(objective: MixedObjective, start: MixedSolution | None) -> FloatArray:
    if start is None:
        return np.zeros(objective.n_variables)
    return np.append(start.w, start.theta) if objective.has_threshold else start.w


def _sampling_error(
    objective: MixedObjective, point: MixedPoint, divide: Preconditioner, signs: np.random.Generator
) -> float:
    """Return z^T M^-1 z for random signs."""
    e = [signs.integers(2, size=len(slopes)) * 2.0 - 1.0 for slopes in (point.positive, point.negative)]
    z = objective.C * objective.combine(e[0] * point.positive, e[1] * point.negative)
    return dot(z, divide(z))


class Preconditioners:
    """(w, mix) -> something that divides by an approximate Hessian, made of the first rows.

    The Hessian is written out and factorised where that is cheap (`written`); otherwise its diagonal is taken.
    """

    def __init__(self, objective: MixedObjective) -> None:
        pieces, taken = [], 0
        for piece in objective.pieces:
            if taken < SAMPLE_ROWS:
                pieces.append(_evenly(piece, SAMPLE_ROWS - taken))
                taken += max(piece.n_positive, piece.n_negative)
        self.written = _work(pieces, objective.mix) <= CHEAP_WORK
        if self.written and objective.mix.gamma > 0:
            pieces = _few_rows(pieces)
        self._sample = MixedObjective(pieces, objective.C, objective.mix)
        self._squares = None if self.written else [_squares(piece) for piece in pieces]
        self._last: tuple[FloatArray, Preconditioner] | None = None

    def __call__(self, w: FloatArray, mix: Mix) -> Preconditioner:
        """Return the preconditioner at w."""
        if self._last is None or self._last[0] is not w:
            point = self._sample.at(w, mix)
            if self._squares is None:
                divide: Preconditioner = _Written(self._sample, point)
            else:
                divide = _diagonal(self._sample, point, self._squares)
            self._last = w, divide
        return self._last[1]


class _Written:
    """The Hessian over the sample, by Cholesky."""

    def __init__(self, sample: MixedObjective, point: MixedPoint) -> None:
        hessian = sample.C * _hessian(sample, point)
        np.einsum("ii->i", hessian)[: sample.n_features] += 1.0
        lift = 0.0
        while True:
            self._factor = hessian.copy()
            np.einsum("ii->i", self._factor)[:] += lift
            if _core.cholesky(self._factor):
                return
            # Rounding has spoilt a matrix of enormous scale: lift it by that scale's rounding.
            lift = max(10 * lift, 1e-14 * float(np.max(np.abs(hessian))), TINY)

    def __call__(self, r: FloatArray) -> FloatArray:
        """Return M^-1 r."""
        x = r.copy()
        _core.cholesky_solve(self._factor, x)
        return x


def _diagonal(sample: MixedObjective, point: MixedPoint, squares: Sequence[MemoryRows]) -> Preconditioner:
    diagonal = np.zeros(sample.n_variables)
    for rows, a, b in zip(squares, *_by_piece(sample, point.positive_curvature, point.negative_curvature), strict=True):
        rows.add_between(np.concatenate([a, b]), 0, rows.n_rows, diagonal[: sample.n_features])
    diagonal *= sample.C
    diagonal[: sample.n_features] += 1.0
    if point.points_curvature is not None:
        diagonal[-1] = sample.C * float(np.sum(point.points_curvature[0]) + np.sum(point.points_curvature[1])) + TINY
    return lambda r: r / diagonal


def _hessian(sample: MixedObjective, point: MixedPoint) -> FloatArray:
    """Return the second derivative of the mean loss over the sample."""
    d = sample.n_features
    hessian = np.zeros((sample.n_variables, sample.n_variables))
    gram = np.zeros((d, d))
    if point.points_curvature is not None:
        for piece, a, b in zip(sample.pieces, *_by_piece(sample, *point.points_curvature), strict=True):
            piece.rows.kernel.add_weighted_gram(np.concatenate([a, b]), gram)
        gram += np.tril(gram, -1).T
        border = sample.combine(*point.points_curvature)
        hessian[d, :d] = hessian[:d, d] = -border[:d]
        hessian[d, d] = -border[d]
    if point.pairs is not None:
        gram += sample.mix.gamma * _pair_hessian(sample, point)
    hessian[:d, :d] = gram
    return hessian


def _pair_hessian(sample: MixedObjective, point: MixedPoint) -> FloatArray:
    """Return the second derivative of the mean loss over the pairs within pieces: a sample of all pairs."""
    d = sample.n_features
    loss, total, out = point.loss.pair_loss, np.zeros((d, d)), np.empty((d, d))
    n_pairs = sum(piece.n_positive * piece.n_negative for piece in sample.pieces)
    for piece, p, q in zip(sample.pieces, *_by_piece(sample, point.p, point.q), strict=True):
        if not (len(p) and len(q)):
            continue
        pairs = AllPairs(p, q, piece.positive_weights, piece.negative_weights)
        sums = pairs.sums(loss)
        piece.rows.kernel.pair_gram(
            np.arange(len(p)),
            np.arange(len(p), len(p) + len(q)),
            *pairs.sorted_scores(),
            loss.width,
            sums.positive_curvature / pairs.scale,
            sums.negative_curvature / pairs.scale,
            out,
        )
        total += out * (pairs.scale * (len(p) * len(q) / n_pairs))
    return total


def _by_piece(
    sample: MixedObjective, positive: FloatArray, negative: FloatArray
) -> tuple[list[FloatArray], list[FloatArray]]:
    """Cut numbers by place into those of each piece."""
    i = np.cumsum([piece.n_positive for piece in sample.pieces])[:-1]
    j = np.cumsum([piece.n_negative for piece in sample.pieces])[:-1]
    return np.split(positive, i), np.split(negative, j)


def _few_rows(pieces: Sequence[Piece]) -> list[Piece]:
    """Return rows of the largest piece, evenly spread, so few that the pairs among them take about `PAIR_WORK`."""
    piece = max(pieces, key=lambda piece: min(piece.n_positive, piece.n_negative))
    rows = piece.rows
    per_row = max(rows.n_stored / max(rows.n_rows, 1), 1.0) * rows.n_features
    return [_evenly(piece, max(int(PAIR_WORK / per_row / 2), rows.n_features))]


def _evenly(piece: Piece, count: int) -> Piece:
    """Return at most so many rows of each class, evenly spread."""
    i, j = min(count, piece.n_positive), min(count, piece.n_negative)
    if i + j == piece.rows.n_rows:
        return piece
    s, t = piece.positive_weights, piece.negative_weights
    a = np.arange(i) * piece.n_positive // max(i, 1)
    b = np.arange(j) * piece.n_negative // max(j, 1)
    taken = piece.rows.take(np.concatenate([a, piece.n_positive + b]))
    return Piece(taken, i, None if s is None else s[a], None if t is None else t[b])


def _work(pieces: Sequence[Piece], mix: Mix) -> float:
    """Return how many multiplications it takes to write the Hessian out and to factorise it."""
    d, work = pieces[0].rows.n_features, 0.0
    for piece in pieces:
        stored = float(piece.rows.n_stored)
        work += stored * (d if mix.gamma > 0 else stored / max(piece.rows.n_rows, 1))
    return work + d**3 / 3


def _squares(piece: Piece) -> MemoryRows:
    squared = _values(piece).astype(np.float64) ** 2
    rows = piece.rows
    return (
        CsrRows(squared, rows.columns, rows.starts, rows.n_features)
        if isinstance(rows, CsrRows)
        else DenseRows(squared)
    )


def _values(piece: Piece) -> AnyArray:
    assert isinstance(piece.rows, CsrRows | DenseRows)
    return piece.rows.values
