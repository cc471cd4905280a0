"""Logistic regression with its strength chosen by held-out AUC: the baseline of `pairsift compare`.

    min over w, b:   1/2 |w|^2 + C sum_k r_k log(1 + exp(-y_k (w . x_k + b)))

(scikit-learn's form; r_k are the sample weights, times N / (2 N_class) where the classes are balanced.) A fifth of each
class is held out. For every candidate (scaling x class weights) C goes up by powers of ten, each fit starting from the
last, until the held-out AUC has fallen behind its best or the fit no longer moves; around the best C the half powers
are tried too. The best few settings are tried on two more held-out fifths, and of those whose mean AUC is as good as
the best to within `ALIKE` the simplest is taken: the first candidate, the strongest penalty. Then all rows are fitted.
That is the care that our own C gets: a baseline with a poor strength would make any rival look good.

Candidates: dense rows are standardised; sparse rows are tried as they are and, unless they have more columns than rows,
divided by their columns' deviations; only so where some columns are `SPREAD` times as large as others, because each
fit to them as they are would run into its limit of steps. Rows of unit length are tried where the rival uses them. The
choice is made on at most `CHOICE_ROWS` rows, drawn class by class and weighted back, because it is a choice of three
numbers; the final fit has all rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from pairsift._typing import AnyArray, BoolArray, FloatArray
from pairsift.data.holdout import hold_out
from pairsift.data.problem import Problem
from pairsift.data.rows import CsrRows, DenseRows, MemoryRows
from pairsift.data.scaling import Moments, Scaling, ScalingKind, learn_scaling
from pairsift.stats import auc

CHOICE_ROWS = 40_000
SHARE = 0.2
POWERS = tuple(range(-5, 5))
GIVE_UP = 0.001  # of AUC behind the best, twice in a row
ALIKE = 0.0003
FINALISTS = 10
MORE_SPLITS = 2
MAX_ITER = 1000
# On the way to the choice: a strength whose fit is not there by then is judged as it is.
CHOICE_ITER = 200
SPREAD = 1000.0  # an income beside a yes or no, say


@dataclass(frozen=True)
class LogisticFit:
    """Coefficients for raw rows (or, with `scaling` "unit", for rows of unit length), and how they were chosen."""

    w: FloatArray
    intercept: float
    C: float
    balanced: bool
    scaling: ScalingKind
    held_out_auc: float
    held_out_rows: int
    n_settings: int
    converged: bool


@dataclass(frozen=True)
class _Sample:
    """Rows with labels and weights, as scikit-learn wants them."""

    rows: MemoryRows
    y: BoolArray
    weights: FloatArray

    def scaled(self, scaling: Scaling) -> Any:
        return _matrix(scaling.apply(self.rows))


class _Setting(NamedTuple):
    """What is chosen; the smaller of two is the simpler one."""

    scaling: ScalingKind
    balanced: bool
    C: float


class _Split:
    """Rows to learn from and held-out rows to look at."""

    def __init__(self, problem: Problem, rng: np.random.Generator) -> None:
        training, validation = hold_out(problem, SHARE, rng)
        self.part, self.held = _sample(training, rng, CHOICE_ROWS), _sample(validation, rng, None)

    def scaled(self, kind: ScalingKind) -> tuple[Any, Any]:
        scaling = _learn(kind, self.part)
        return self.part.scaled(scaling), self.held.scaled(scaling)

    def auc(self, model: LogisticRegression, X_held: Any) -> float:
        return auc(self.held.y, model.decision_function(X_held), self.held.weights)


def fit_logistic(problem: Problem, *, unit: bool = False, seed: int = 0) -> LogisticFit:
    """Fit logistic regression with C, class weights and scaling chosen by the AUC of held-out rows.

    Parameters
    ----------
    problem : Problem
        At least two rows of each class. Rows of a store are read into memory.
    unit : bool
        Whether rows scaled to unit length are tried too.
    seed : int
        Of the held-out parts.
    """
    rng = np.random.default_rng(seed)
    first = _Split(problem, rng)
    kinds = _scalings(first.part.rows, unit)
    tried: dict[_Setting, float] = {}
    for kind in kinds:
        X, X_held = first.scaled(kind)
        for balanced in (False, True):
            tried |= _path(first, X, X_held, kind, balanced)
    finalists = sorted(tried, key=lambda setting: -tried[setting])[:FINALISTS]
    others = [_areas(_Split(problem, rng), finalists) for _ in range(MORE_SPLITS)]
    means = {setting: (tried[setting] + sum(area[setting] for area in others)) / 3 for setting in finalists}
    alike = [setting for setting in finalists if means[setting] >= max(means.values()) - ALIKE]
    best = min(alike, key=lambda setting: (kinds.index(setting.scaling), setting.balanced, setting.C))
    everything = _sample(problem, rng, None)
    scaling, model = _learn(best.scaling, everything), _model(best.balanced, MAX_ITER)
    converged = _fit(model, best.C, everything.scaled(scaling), everything)
    w, intercept = scaling.fold(np.asarray(model.coef_[0], dtype=np.float64), float(model.intercept_[0]))
    return LogisticFit(
        w, intercept, best.C, best.balanced, best.scaling, means[best], len(first.held.y), len(tried), converged
    )


def _path(split: _Split, X: Any, X_held: Any, kind: ScalingKind, balanced: bool) -> dict[_Setting, float]:
    """Return the held-out AUC along a path of rising C, and half a power around its best."""
    found: dict[_Setting, float] = {}
    model = _model(balanced)

    def try_out(power: float) -> float:
        C = float(10.0**power)
        _fit(model, C, X, split.part)
        found[_Setting(kind, balanced, C)] = area = split.auc(model, X_held)
        return area

    behind, best, best_power = 0, 0.0, 0.0
    for power in POWERS:
        area = try_out(power)
        behind = behind + 1 if area < best - GIVE_UP else 0
        if area > best:
            best, best_power = area, float(power)
        if behind == 2 or np.max(model.n_iter_) == 0:
            break
    for step in (0.5, -0.5):
        try_out(best_power + step)
    return found


def _areas(split: _Split, settings: Sequence[_Setting]) -> dict[_Setting, float]:
    """Return the held-out AUC of each setting."""
    found = {}
    for kind in {setting.scaling for setting in settings}:
        X, X_held = split.scaled(kind)
        for setting in settings:
            if setting.scaling == kind:
                model = _model(setting.balanced)
                _fit(model, setting.C, X, split.part)
                found[setting] = split.auc(model, X_held)
    return found


def _model(balanced: bool, max_iter: int = CHOICE_ITER) -> LogisticRegression:
    return LogisticRegression(
        class_weight="balanced" if balanced else None, max_iter=max_iter, warm_start=True, random_state=0
    )


def _fit(model: LogisticRegression, C: float, X: Any, sample: _Sample) -> bool:
    """Fit from where the model is; return whether it converged (a far end of the path need not)."""
    model.set_params(C=C)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, sample.y, sample.weights)
    return bool(np.max(model.n_iter_) < model.max_iter)


def _scalings(rows: MemoryRows, unit: bool) -> list[ScalingKind]:
    kinds: list[ScalingKind] = ["standard"] if isinstance(rows, DenseRows) else ["none", "standard"]
    if rows.n_features > rows.n_rows and len(kinds) > 1:
        kinds = ["none"]  # text: to divide by the deviation of a word that occurs a few times would make it the loudest
    if len(kinds) > 1 and _spread(rows) > SPREAD:
        kinds = ["standard"]
    return [*kinds, "unit"] if unit else kinds


def _spread(rows: MemoryRows) -> float:
    """Return the ratio of the largest to the smallest of the columns' largest values."""
    assert isinstance(rows, (CsrRows, DenseRows))
    moments = Moments()
    moments.add(rows, np.ones(rows.n_rows))
    used = moments.largest[moments.largest > 0.0]
    return float(used.max() / used.min()) if len(used) else 1.0


def _learn(kind: ScalingKind, sample: _Sample) -> Scaling:
    return learn_scaling(kind, [(sample.rows, sample.weights)])


def _sample(problem: Problem, rng: np.random.Generator, limit: int | None) -> _Sample:
    """Return at most `limit` rows; all positives or half of them all, and weights of mean 1 that restore the shares."""
    n = (problem.n_negative, problem.n_positive)
    taken = list(n)
    if limit is not None and sum(n) > limit:
        few = 0 if n[0] < n[1] else 1
        taken[few] = min(n[few], limit // 2)
        taken[1 - few] = limit - taken[few]
    rows, weights = [], []
    for places, given, there, count in zip(
        (problem.negatives, problem.positives),
        (problem.negative_weights, problem.positive_weights),
        n,
        taken,
        strict=True,
    ):
        chosen = np.arange(there) if count == there else np.sort(rng.choice(there, count, replace=False))
        rows.append(np.asarray(places[chosen]))
        weights.append((there / count) * (np.ones(count) if given is None else given[chosen]))
    joined: FloatArray = np.concatenate(weights)
    if sum(taken) < sum(n):
        joined *= sum(taken) / sum(n)
    y = np.repeat([False, True], taken)
    return _Sample(problem.rows.take(np.concatenate(rows)), y, joined)


def _matrix(rows: MemoryRows) -> Any:
    if isinstance(rows, DenseRows):
        return rows.values
    from scipy.sparse import csr_array

    assert isinstance(rows, CsrRows)
    starts: AnyArray = rows.starts
    return csr_array((rows.values, rows.columns, starts), shape=(rows.n_rows, rows.n_features))
