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

from pairsift.data.drawn_rows import Piece
from pairsift.judge import Judge, Verdict
from pairsift.losses import SQUARED
from pairsift.search.choice import Choice, Trial, terms_of
from pairsift.search.parts import rows_of
from pairsift.search.rule import is_shown
from pairsift.search.walk import tried
from pairsift.solvers.mixed import solve_mixed
from pairsift.solvers.mixed_objective import Mix

EARLY = Mix(SQUARED, 0.0)
STRENGTHS = (80_000.0, 800_000.0, 8000.0)  # the first is the best one known, and its first step the first model
MOST_STEPS = 3
TOL = 1e-3


def stopping_early(learning: Sequence[Piece], judge: Judge) -> Generator[Choice, None, tuple[Choice, Verdict]]:
    """Yield what would be chosen after each step; return it with its verdict."""
    seen: list[tuple[Choice, Verdict]] = []
    trials: list[Trial] = []
    for C in STRENGTHS:
        last: Verdict | None = None
        for found in solve_mixed(learning, C, EARLY, tol=TOL, max_iter=MOST_STEPS, precision=math.inf):
            if not (found.n_passes or found.done):
                continue  # where it begins; it ends there too where no column tells the classes apart
            verdict = judge(found.w)
            if last is not None and verdict.auc <= last.auc:
                break
            last = verdict
            seen.append((Choice(EARLY, C, tuple(trials), found, found.n_passes, rows_of(learning)), verdict))
            yield _chosen(seen)[0]
        if last is not None:
            trials.append(Trial(terms_of(EARLY), EARLY.loss, *tried(C, [last])))
    choice, verdict = _chosen(seen)
    return replace(choice, trials=tuple(trials)), verdict


def _chosen(seen: Sequence[tuple[Choice, Verdict]]) -> tuple[Choice, Verdict]:
    """Return the first that cannot be told from the best: the default C, and the fewest steps."""
    _, best = max(seen, key=lambda one: one[1].auc)
    return next(one for one in seen if not is_shown(*best.gain_over(one[1])))
