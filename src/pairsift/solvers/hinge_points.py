"""The hinge over points (the WSVM) on drawn rows, for rows of more columns than there are rows.

Newton's method works on vectors as long as a row; dual coordinate descent on the values that a row stores, and a text
of a million words stores a few hundred of them. The threshold is one more column, regularised like w. The certificate
is the duality gap (`pairsift.solvers.dual`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from pairsift.data.block_rows import join_rows
from pairsift.data.drawn_rows import Piece
from pairsift.solvers.dual import SMALL_GAP, SMALL_PROBLEM, descend
from pairsift.solvers.mixed_solution import MixedSolution
from pairsift.solvers.pointwise import shares
from pairsift.solvers.terms import Terms

FIRST_PASSES = 2
MORE_PASSES = 3


def solve_hinge_points(pieces: Sequence[Piece], C: float, *, tol: float, max_iter: int) -> Iterator[MixedSolution]:
    """Yield better and better solutions; the last one has a relative gap of `tol`, or took `max_iter` passes.

    A small problem is solved as exactly as `pairsift.solvers.dual` solves all of them, as far as `max_iter` allows.
    """
    terms = point_terms(pieces, C)
    target = min(tol, SMALL_GAP) if len(terms) < SMALL_PROBLEM else tol
    alpha, n_passes, passes = np.zeros(len(terms)), 0, FIRST_PASSES
    while True:
        passes = min(passes, max_iter - n_passes)
        found = descend(terms, alpha, tol=target, max_passes=passes, seed=n_passes)
        alpha, n_passes, passes = found.alpha, n_passes + found.n_passes, MORE_PASSES * passes
        done = found.converged or n_passes >= max_iter
        gap = found.relative_gap
        yield MixedSolution(found.w, found.theta, found.primal, gap, n_passes, gap <= tol, False, done)
        if done:
            return


def point_terms(pieces: Sequence[Piece], C: float) -> Terms:
    """Return each row as a term with its bound; the rows of a class share half of C."""
    rows = pieces[0].rows if len(pieces) == 1 else join_rows([piece.rows for piece in pieces])
    sides = [
        (sign, n, given)
        for piece in pieces
        for sign, n, given in (
            (1.0, piece.n_positive, piece.positive_weights),
            (-1.0, piece.n_negative, piece.negative_weights),
        )
    ]
    signs = np.concatenate([np.full(n, sign) for sign, n, _ in sides])
    weights = np.concatenate([np.ones(n) if given is None else given for _, n, given in sides])
    upper = np.empty(len(signs))
    for side in (signs > 0, signs < 0):
        upper[side] = C / 2 * shares(weights[side], int(np.count_nonzero(side)))
    return Terms(rows.kernel, upper, signs=signs, constants=-signs)
