"""Rows of more columns than rows: points with the squared hinge, and few Newton steps.

Such rows can be separated in many ways, and the minimum of any loss fits their chances too. What keeps w simple then is
less the C than where the solver stops: its first steps, preconditioned by the diagonal of the Hessian, bring in the
directions that many rows agree on, and weigh rare columns up. So steps are made while they gain AUC on held-out rows,
and the training on all rows makes as many.

It learns from all rows but those that judge: a few hundred rows do not show where to stop.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from dataclasses import replace

from pairsift.block.choice import Choice, Trial
from pairsift.data.drawn_rows import Piece
from pairsift.losses import SQUARED
from pairsift.solvers.mixed import solve_mixed
from pairsift.solvers.mixed_objective import Mix
from pairsift.strength.judge import Judge, Verdict
from pairsift.strength.walk import tried

EARLY = Mix(SQUARED, 0.0)
STRENGTHS = (10.0, 100.0, 1.0)  # the first is the best one known, and its first step the first model
MOST_STEPS = 3
TOL = 1e-3


def stopping_early(
    learning: Sequence[Piece], judge: Judge, total: float
) -> Generator[Choice, None, tuple[Choice, Verdict]]:
    """Yield the best so far after each step; return it with its verdict."""
    best: tuple[Choice, Verdict] | None = None
    trials: list[Trial] = []
    for C in STRENGTHS:
        last: Verdict | None = None
        for found in solve_mixed(learning, C * total, EARLY, tol=TOL, max_iter=MOST_STEPS, precision=math.inf):
            if not (found.n_passes or found.done):
                continue  # where it begins; it ends there too where no column tells the classes apart
            verdict = judge(found.w)
            if last is not None and verdict.auc <= last.auc:
                break
            last = verdict
            if best is None or verdict.auc > best[1].auc:
                best = Choice(EARLY, C, tuple(trials), found, steps=found.n_passes), verdict
                yield best[0]
        if last is not None:
            trials.append(Trial(EARLY.loss, EARLY.gamma, *tried(C, [last])))
    assert best is not None
    return replace(best[0], trials=tuple(trials)), best[1]
