"""Combined ranking and regression."""

from __future__ import annotations

import warnings
from typing import Any, Literal

from sklearn.exceptions import ConvergenceWarning

from pairsift.data.problem import Problem
from pairsift.data.rows import MemoryRows
from pairsift.estimators.base import LinearRanker, make_generator
from pairsift.parameters import AUTO, check_count, check_flag, check_share, check_strength, check_word
from pairsift.search.strength import Strength, choose_combined
from pairsift.solvers.combined import check_points, fit_combined
from pairsift.threshold import balanced_threshold


class CombinedRankingRegression(LinearRanker):
    """Stochastic gradient on random pairs and random points (CRR), as sofia-ml runs it.

    Takes `n_steps` steps down ``1/2 |w|^2 + C * (q * mean loss of pairs + (1 - q) * mean loss of points)``, where q
    is `pair_probability`. There is no certificate: the result is where the steps end, and other seeds end elsewhere.
    Features should be scaled; steps that are too long for them end in a `ConvergenceWarning`.

    Parameters
    ----------
    C : float or "auto", default=800.0
        Weight of the loss; lambda of sofia-ml is 1 / C. "auto": chosen on
        held-out rows, in the time of three to six more fits (docs/strength.md); the default where there are no more
        than 8000 pairs, or fewer than 25 rows of a class.
    point_loss : "hinge" or "squared", default="hinge"
        "hinge" is what the paper ran (sofia-ml's sgd-svm), "squared" what its text describes.
    threshold : bool, default=True
        A constant feature, as sofia-ml has it.
    pair_probability : float in [0, 1], default=0.5
        Chance that a step takes a pair; otherwise it takes a point.
    n_steps : int, default=100_000
    random_state : int, RandomState, Generator or None, default=None
        The same seed gives the same bits.

    Attributes
    ----------
    coef_ : array of shape (1, n_features)
    intercept_ : array of shape (1,)
        Minus the threshold. With pairs alone, which do not see one, it is where balanced accuracy is best on training
        rows.
    classes_ : array of shape (2,)
        The negative and the positive label.
    C_ : float
        The C of the fit.
    C_path_ : list of Tried
        ``(C, auc, low, high)`` on the held-out rows for each C that "auto" tried, with the 95 % interval.
    n_moved_ : int
        Steps whose term had a loss.

    Examples
    --------
    >>> from pairsift import CombinedRankingRegression, make_ranking
    >>> X, y = make_ranking(n_rows=5_000, n_features=10, random_state=0)
    >>> model = CombinedRankingRegression(random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.8)
    True
    """

    def __init__(
        self,
        C: float | Literal["auto"] = 800.0,
        point_loss: Literal["hinge", "squared"] = "hinge",
        threshold: bool = True,
        pair_probability: float = 0.5,
        n_steps: int = 100_000,
        random_state: Any = None,
    ) -> None:
        self.C = C
        self.point_loss = point_loss
        self.threshold = threshold
        self.pair_probability = pair_probability
        self.n_steps = n_steps
        self.random_state = random_state

    def _check_parameters(self) -> None:
        check_strength("C", self.C)
        check_word("point_loss", self.point_loss, "hinge", "squared")
        check_flag("threshold", self.threshold)
        check_share("pair_probability", self.pair_probability)
        check_count("n_steps", self.n_steps)
        check_points(self.point_loss, self.pair_probability)

    def _fit_problem(self, problem: Problem) -> None:
        if isinstance(problem.rows, MemoryRows):
            problem.rows.check_norms()
        rng = make_generator(self.random_state)
        others = self.point_loss, bool(self.threshold), float(self.pair_probability), int(self.n_steps)
        strength = choose_combined(problem, *others, rng) if self.C == AUTO else Strength(float(self.C))
        found = fit_combined(problem, strength.C, *others, rng)
        if not found.settled:
            warnings.warn(
                f"The steps did not settle: the objective ended at {found.objective_ratio:.3g} times what it is at "
                "w = 0, so that the ranking may be worse than chance. Scale the features to one size, "
                "or raise n_steps.",
                ConvergenceWarning,
                stacklevel=3,
            )
        self._set_strength(strength)
        theta = found.theta if self.pair_probability < 1 else balanced_threshold(problem, found.w, rng)
        self._set_weights(found.w, theta)
        self.n_moved_ = found.n_moved
