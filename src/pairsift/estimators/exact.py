"""RankSVM over all pairs."""

from __future__ import annotations

from typing import Any, Literal

from pairsift.data.problem import Problem
from pairsift.data.rows import MemoryRows
from pairsift.estimators.base import LinearRanker, make_generator, warn_unconverged
from pairsift.parameters import AUTO, check_count, check_positive, check_strength, check_word
from pairsift.search.strength import Strength, choose_exact
from pairsift.solvers.exact import fit_exact
from pairsift.threshold import balanced_threshold


class RankSVM(LinearRanker):
    """Linear RankSVM over all N+ * N- pairs, exactly (the paper's ERankSVM).

    Minimises ``1/2 |w|^2 + C * (mean loss over all pairs)`` in O(N log N) a step, whatever the number of pairs is.

    Parameters
    ----------
    C : float or "auto", default=800.0
        Weight of the mean loss. 800 is the paper's B C = 8000 * 0.1. "auto": chosen on
        held-out rows, in the time of one or two more fits (docs/strength.md); the default where there are no more than
        8000 pairs, or fewer than 25 rows of a class.
    loss : "hinge" or "squared_hinge", default="hinge"
    tol : float, default=1e-3
        Hinge: relative duality gap (primal - dual) / primal. Squared hinge: gradient norm relative to that at w = 0.
        Problems of fewer than 2,000 pairs are solved to 1e-12.
    max_iter : int, default=1000
        Steps at most; reaching it warns.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the sample of rows that gives the first guess. It changes the result within `tol` only.

    Attributes
    ----------
    coef_ : array of shape (1, n_features)
    intercept_ : array of shape (1,)
        Minus the threshold where balanced accuracy is best on training rows: all up to 100,000, beyond that 10,000 of
        each class. Pairs do not see a threshold.
    classes_ : array of shape (2,)
        The negative and the positive label.
    C_ : float
        The C of the fit.
    C_path_ : list of Tried
        ``(C, auc, low, high)`` on the held-out rows for each C that "auto" tried, with the 95 % interval.
    gap_ : float
        What `tol` bounds, as it was reached.
    objective_ : float
        The value that was minimised.
    lower_bound_ : float
        No w has a smaller value than this.
    n_iter_ : int

    Examples
    --------
    >>> from pairsift import RankSVM, make_ranking
    >>> X, y = make_ranking(n_rows=5_000, n_features=10, random_state=0)
    >>> model = RankSVM(random_state=0).fit(X, y)
    >>> bool(model.gap_ <= 1e-3)
    True
    """

    def __init__(
        self,
        C: float | Literal["auto"] = 800.0,
        loss: str = "hinge",
        tol: float = 1e-3,
        max_iter: int = 1000,
        random_state: Any = None,
    ) -> None:
        self.C = C
        self.loss = loss
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def _check_parameters(self) -> None:
        check_strength("C", self.C)
        check_word("loss", self.loss, "hinge", "squared_hinge")
        check_positive("tol", self.tol)
        check_count("max_iter", self.max_iter)

    def _fit_problem(self, problem: Problem) -> None:
        if isinstance(problem.rows, MemoryRows):
            problem.rows.check_norms()
        rng = make_generator(self.random_state)
        strength = choose_exact(problem, self.loss, rng) if self.C == AUTO else Strength(float(self.C))
        seed = int(rng.integers(2**63))
        found = fit_exact(problem, strength.C, self.loss, float(self.tol), int(self.max_iter), seed)
        if not found.converged:
            measure = "duality gap" if self.loss == "hinge" else "gradient"
            warn_unconverged(f"a relative {measure} of {found.gap:.2g}", self.tol, found.n_iter, self.max_iter)
        self._set_strength(strength)
        self._set_weights(found.w, balanced_threshold(problem, found.w, rng))
        self.gap_, self.objective_, self.lower_bound_ = found.gap, found.primal, found.dual
        self.n_iter_ = max(found.n_iter, 1)
