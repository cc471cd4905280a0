"""The weighted point-wise SVM."""

from __future__ import annotations

from typing import Any, Literal

from pairsift.data.problem import Problem
from pairsift.estimators.base import LinearRanker, make_generator, warn_unconverged
from pairsift.parameters import AUTO, check_count, check_flag, check_positive, check_strength
from pairsift.search.strength import Strength, choose_pointwise
from pairsift.solvers.pointwise import fit_pointwise


class WeightedSVM(LinearRanker):
    """Linear SVM on single rows in which both classes weigh the same (the paper's WSVM).

    Minimises ``1/2 |w|^2 + C * (mean of the two class means of the hinge)``; with a threshold, theta is part of w.

    Parameters
    ----------
    C : float or "auto", default=800.0
        Weight of the loss: C+ = C / (2 N+) and C- = C / (2 N-). "auto": chosen on
        held-out rows, in the time of one or two more fits (docs/strength.md); the default where there are no more than
        8000 pairs, or fewer than 25 rows of a class.
    threshold : bool, default=False
        Learn a threshold; otherwise rows are classified around zero.
    tol : float, default=1e-3
        Relative duality gap (primal - dual) / primal. With fewer than 2,000 rows the problem is solved to 1e-12.
    max_iter : int, default=1000
        Passes over the rows at most; reaching it warns.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the order of the passes. It changes the result within `tol` only.

    Attributes
    ----------
    coef_ : array of shape (1, n_features)
    intercept_ : array of shape (1,)
        Minus the threshold.
    classes_ : array of shape (2,)
        The negative and the positive label.
    C_ : float
        The C of the fit.
    C_path_ : list of Tried
        ``(C, auc, low, high)`` on the held-out rows for each C that "auto" tried, with the 95 % interval.
    gap_ : float
        Relative duality gap that was reached.
    objective_ : float
        The value that was minimised.
    n_iter_ : int

    Examples
    --------
    >>> from pairsift import WeightedSVM, make_ranking
    >>> X, y = make_ranking(n_rows=5_000, n_features=10, random_state=0)
    >>> model = WeightedSVM(random_state=0).fit(X, y)
    >>> bool(model.gap_ <= 1e-3)
    True
    """

    def __init__(
        self,
        C: float | Literal["auto"] = 800.0,
        threshold: bool = False,
        tol: float = 1e-3,
        max_iter: int = 1000,
        random_state: Any = None,
    ) -> None:
        self.C = C
        self.threshold = threshold
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def _check_parameters(self) -> None:
        check_strength("C", self.C)
        check_flag("threshold", self.threshold)
        check_positive("tol", self.tol)
        check_count("max_iter", self.max_iter)

    def _fit_problem(self, problem: Problem) -> None:
        rng, threshold = make_generator(self.random_state), bool(self.threshold)
        strength = choose_pointwise(problem, threshold, rng) if self.C == AUTO else Strength(float(self.C))
        found = fit_pointwise(
            problem,
            strength.C,
            threshold=threshold,
            tol=float(self.tol),
            max_iter=int(self.max_iter),
            seed=int(rng.integers(2**63)),
        )
        if not found.converged:
            gap = f"a relative duality gap of {found.relative_gap:.2g}"
            warn_unconverged(gap, self.tol, found.n_passes, self.max_iter)
        self._set_strength(strength)
        self._set_weights(found.w, found.theta)
        self.gap_, self.objective_ = found.relative_gap, found.primal
        self.n_iter_ = max(found.n_passes, 1)
