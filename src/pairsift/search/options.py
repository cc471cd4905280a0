"""What users say of a fit that chooses for itself, checked, and what may be chosen from then."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pairsift.budget import parse_budget
from pairsift.data.held_by import HeldBy
from pairsift.data.problem import Problem
from pairsift.losses import HINGE, LOGISTIC, SQUARED
from pairsift.parameters import AUTO, check_count, check_positive, check_strength, check_word
from pairsift.search.choice import PAIRS, POINTS
from pairsift.search.growing import AutoSettings
from pairsift.solvers.mixed_objective import Mix

AUTO_ROWS = 100_000
"""Rows of each class that are learned from by default."""
DEFAULT_C = 800.0
"""C where rows are too few to choose it: the paper's, as `RankSVM` has it."""
# With more columns, fits of pairs take many times as long as those of points: they are not tried.
PAIR_COLUMNS = 100
DEFAULTS: dict[str, Any] = {
    "C": AUTO,
    "terms": AUTO,
    "loss": AUTO,
    "budget": AUTO,
    "tol": 1e-3,
    "max_iter": 1000,
}
"""The parameters that decide what is learned, as `pairsift.AutoRanker` has them."""


def check_auto(*, C: Any, terms: Any, loss: Any, budget: Any, tol: Any, max_iter: Any) -> None:
    """Raise `ValueError` for a parameter that cannot be used; nothing has to be read for that."""
    check_strength("C", C)
    check_word("terms", terms, AUTO, PAIRS, POINTS)
    check_word("loss", loss, AUTO, HINGE, SQUARED, LOGISTIC)
    if terms == PAIRS and loss == LOGISTIC:
        raise ValueError(
            'loss="logistic" is for points: over all pairs it has no fast sum. Give terms="points", or '
            'loss="squared_hinge", which is the nearest that pairs have.'
        )
    parse_budget(budget, AUTO_ROWS)
    check_positive("tol", tol)
    check_count("max_iter", max_iter)


def make_auto_settings(
    problem: Problem,
    *,
    C: float | str,
    terms: str,
    loss: str,
    budget: int | str,
    tol: float,
    max_iter: int,
    population: int | None = None,
    held_by: HeldBy | None = None,
) -> AutoSettings:
    """Return checked parameters, under the names that users give them, as settings for a problem."""
    mixes = _mixes(terms, loss)
    settings = AutoSettings(
        mixes,
        None if isinstance(C, str) else float(C),
        (mixes[0], DEFAULT_C),
        parse_budget(budget, AUTO_ROWS).pairs,
        float(tol),
        int(max_iter),
        population=population,
        held_by=held_by,
    )
    n_features = problem.rows.n_features
    if terms == loss == AUTO and n_features > problem.n_points:
        return replace(settings, mixes=(Mix(HINGE, 0.0),), early=True)
    if terms == AUTO and n_features > PAIR_COLUMNS:
        points = tuple(mix for mix in settings.mixes if mix.gamma == 0)
        mixes = points or mixes
        return replace(settings, mixes=mixes, default=(mixes[0], DEFAULT_C))
    return settings


def _mixes(terms: str, loss: str) -> tuple[Mix, ...]:
    """Return what there is to choose from, the preferred one first."""
    if terms == AUTO and loss == AUTO:
        return Mix(LOGISTIC, 0.0), Mix(HINGE, 1.0)
    if terms == AUTO:
        return {
            HINGE: (Mix(HINGE, 1.0), Mix(HINGE, 0.0)),
            SQUARED: (Mix(SQUARED, 0.0), Mix(SQUARED, 1.0)),
            LOGISTIC: (Mix(LOGISTIC, 0.0),),
        }[loss]
    gamma = 1.0 if terms == PAIRS else 0.0
    if loss == AUTO:
        return Mix(HINGE if terms == PAIRS else LOGISTIC, gamma), Mix(SQUARED, gamma)
    return (Mix(loss, gamma),)
