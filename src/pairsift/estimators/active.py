"""The paper's method: active sampling of pairs and points."""

from __future__ import annotations

import logging
from typing import Any, Literal, Self

import numpy as np

from pairsift.active import State, resolve_gamma
from pairsift.all_pairs import HINGE
from pairsift.block_run import BlockTrained, check_options, is_block, settle_options, train
from pairsift.data.problem import Problem
from pairsift.estimators.base import LinearRanker, make_generator, warn_unconverged
from pairsift.estimators.callbacks import CallbackSupportMixin, RoundCallbacks, with_callbacks
from pairsift.parameters import AUTO
from pairsift.sampling import Sampler
from pairsift.solvers.mixed_solution import MixedSolution
from pairsift.strength import Strength, choose_active
from pairsift.training_run import Trained, check_run

_log = logging.getLogger("pairsift")
# What decides what is learned, apart from the data and the seed.
SETTINGS = (
    "C",
    "gamma",
    "sampling",
    "bias_correction",
    "threshold",
    "budget",
    "batch_size",
    "tol",
    "max_iter",
    "loss",
)


class ActiveRankSVM(CallbackSupportMixin, LinearRanker):
    """Linear bipartite ranking (AUC) from drawn rows or pairs: the cost depends on the budget, hardly on the rows.

    As it comes (``sampling="block"``) it draws up to `budget` rows of each class and learns from all their pairs, or
    from the rows themselves as logistic points, whichever ranks held-out rows better. ``ActiveRankSVM(C="auto")``
    chooses the strength too, and is what to try first.

    With ``sampling="soft-correct"`` and the like it is the paper's method: a linear SVM on `budget` pairs of a positive
    and a negative row, out of the N+ * N- there are, drawn in rounds; those that the model of the round gets wrong, or
    nearly wrong, are more likely to be drawn. That is ASRankSVM of Shen and Lin; with ``gamma < 1``, where single rows
    ("points") are drawn too, it is ASCRC.

    Parameters
    ----------
    C : float or "auto", default=0.1
        Strength: the weight of the mean loss is ``C * 8000`` for "block", and ``C * budget`` for the paper's samplings,
        where C is the weight of a chosen pair. So ``ActiveRankSVM(C=0.1)``, with 8000 pairs or any number of rows, and
        ``RankSVM(C=800)`` are estimates of one problem. "auto": chosen on held-out rows, in about
        the time of one more fit: docs/strength.md. Where there are no more than 8000 pairs, or fewer than 25 rows of a
        class, "auto" is the default.
    gamma : float in [0, 1], "uniform" or "auto", default="auto"
        Weight of pairs against points: 1 has pairs only, 0 points only. "uniform" is N+N- / (N+N- + N+ + N-), the
        share of pairs among all terms. "auto": 1 for the paper's samplings; for "block" chosen on held-out rows, 0 or
        1; 0 where there are more than 100 columns, whose pairs take too long; 1 where there are no more than 8000
        pairs.
    sampling : str or Sampler, default="block"
        "random", "soft-close", "soft-correct", "hard-close", "hard-correct" draw pairs as the paper does; so does an
        object with a method ``draw`` (see `pairsift.sampling`). "soft-tolerant" is ours, for labels of which some are
        wrong. "block" draws rows and uses all their pairs, or the rows themselves as points with a threshold of their
        own: docs/method.md.
    bias_correction : bool, default=True
        Weight each term by the inverse of its probability of being drawn.
    threshold : bool, default=False
        Learn a threshold from the points (CRC-threshold). In pairs it cancels; "block" always learns one from points.
    budget : int or str, default="auto"
        Number of terms to train on, 8000 by default; for "block" of rows drawn from each class, 100,000 by default. Or
        seconds of training as ``"30s"`` (ms, s, m, h); or bytes of rows read as ``"2GB"`` (KB, MB, GB, TB; KiB and so
        on), a row counting each time that it is read. Where there are no more terms than the budget, all are used and
        nothing is sampled. With seconds or bytes, and always for "block", the total weight is ``C * 8000``; 8000 terms
        or fewer are then all used at once. A fit in seconds that chose n terms has the `pairs_` of ``budget=n``,
        weights apart.
    batch_size : int, default=100
        Terms drawn a round.
    tol : float, default=1e-3
        Relative duality gap, (primal - dual) / primal, of the last round. Problems of fewer than 2,000 terms are
        solved to 1e-12. For "block": length of the gradient relative to that at zero when all rows are drawn; when they
        are a sample, it is solved as far as the sample can tell.
    max_iter : int, default=1000
        Passes over the terms at most in the last round; reaching it warns.
    random_state : int, RandomState, Generator or None, default=None
        The same seed gives the same bits.
    verbose : int, default=0
        1 logs each tenth round to the logger "pairsift" at level INFO, 2 each round.
    validation : float in [0, 1), default=0.0
        Share of each class (20,000 rows of it at most) to hold out from training and to look at from time to time; see
        `validation_curve_`. 0 holds out nothing.
    early_stopping : bool, default=False
        End when doubling the terms has shown no gain on the validation part: the 95 % interval of the gain (DeLong's
        paired test) reached zero at three checks in a row. The terms of the check with the highest AUC are kept, and
        solved to `tol`.
    loss : "auto", "hinge", "squared_hinge" or "logistic", default="auto"
        The paper's samplings have the hinge. "block" has the hinge for pairs alone or points alone, the squared hinge,
        or logistic points with squared-hinge pairs; "auto" chooses on held-out rows, and is the hinge where there are
        no more than 8000 pairs. With more columns than rows, and with ``C="auto"``, it chooses between the hinge over
        points and few Newton steps on the squared hinge over points.

    Attributes
    ----------
    coef_ : array of shape (1, n_features)
    intercept_ : array of shape (1,)
        Minus the threshold. Without a threshold of its own (gamma = 1) it is where balanced accuracy is best on
        training rows: all up to 100,000, beyond that 10,000 of each class.
    classes_ : array of shape (2,)
        The negative and the positive label.
    C_ : float
        The strength of the fit.
    C_path_ : list of Tried
        ``(C, auc, low, high)`` on the held-out rows for each strength that "auto" tried, with the 95 % interval.
    n_iter_ : int
        Passes of the last training.
    n_pairs_ : int
        Number of chosen terms, points included. For "block" the pairs that the drawn rows have among them, whether
        they were learned from (`gamma_` = 1) or the rows themselves were, as points (`gamma_` = 0); how many rows were
        drawn is in ``history_[-1].rows``.
    n_rejected_ : int
        Candidates that were drawn and refused, as the paper counts them; where draws were skipped because nearly all
        would have been refused, an unbiased estimate.
    history_ : list of Round
        One record a round: terms so far, rejected, seconds for sampling and for training, objective.
    pairs_ : structured array
        The chosen terms: row numbers ``i`` and ``j`` (-1 for none: a point), ``round``, ``probability``, ``weight``.
        Not there for "block".
    loss_, gamma_ : str, float
        The loss and gamma of the fit.
    trials_ : list of Trial
        ``(loss, gamma, C, auc, low, high)`` for all that "block" tried on held-out rows; empty where nothing was.
    gap_ : float
        What `tol` bounds, as it was reached.
    stop_reason_ : str
        Why the sampling ended: "budget reached" (of pairs), "budget of seconds reached", "budget of bytes reached",
        "all terms used", "no unchosen term has a probability above zero", "all rows used", "more rows promise no gain",
        "no more gain on the validation part", "interrupted", or "stopped by a callback".
    validation_curve_ : list of Check
        ``(pairs, auc, low, high)`` on the validation part as training went on, with the 95 % interval; empty without
        one.

    Notes
    -----
    Ctrl-C after the first round ends the sampling and not the program: the model of the terms chosen so far (those of
    the best check, with a validation part) is solved and kept. A second one is raised.

    With scikit-learn 1.9 or newer, `set_callbacks` takes its callbacks (progress bar, scoring monitor); a task is a
    round.

    See Also
    --------
    RankSVM : all pairs, exactly.

    References
    ----------
    Shen, W.-Y., and Lin, H.-T.: Active Sampling of Pairs and Points for Large-scale Linear Bipartite Ranking.

    Examples
    --------
    >>> from pairsift import ActiveRankSVM, make_ranking
    >>> X, y = make_ranking(n_rows=20_000, n_features=10, positive_rate=0.05, random_state=0)
    >>> model = ActiveRankSVM(random_state=0).fit(X[:10_000], y[:10_000])
    >>> bool(model.score(X[10_000:], y[10_000:]) > 0.85)
    True
    """

    def __init__(
        self,
        C: float | Literal["auto"] = 0.1,
        gamma: float | Literal["uniform", "auto"] = "auto",
        sampling: str | Sampler = "block",
        bias_correction: bool = True,
        threshold: bool = False,
        budget: int | str = "auto",
        batch_size: int = 100,
        tol: float = 1e-3,
        max_iter: int = 1000,
        random_state: Any = None,
        verbose: int = 0,
        validation: float = 0.0,
        early_stopping: bool = False,
        loss: str = "auto",
    ) -> None:
        self.C = C
        self.gamma = gamma
        self.sampling = sampling
        self.bias_correction = bias_correction
        self.threshold = threshold
        self.budget = budget
        self.batch_size = batch_size
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose
        self.validation = validation
        self.early_stopping = early_stopping
        self.loss = loss

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn to put rows of the larger label ahead.

        Parameters
        ----------
        X : array, CSR matrix, pandas, polars or Arrow table of shape (n_rows, n_features), or a `RowStore`
            Float32 and float64 are used as they are, without a copy. A store brings its own labels.
        y : array of shape (n_rows,)
            Two labels; the larger one is positive.
        sample_weight : array of shape (n_rows,), optional
            How many times each row counts; a weight of 2 is the row twice, rows of weight 0 are left out.

        Returns
        -------
        self
        """
        self._check_parameters()
        self._callbacks = RoundCallbacks(self, X, y, sample_weight)
        try:
            super().fit(X, y, sample_weight)
            self._callbacks.end()
        finally:
            del self._callbacks  # it holds the data
        return self

    def _check_parameters(self) -> None:
        check_options(self._settings())
        check_run(validation=self.validation, early_stopping=self.early_stopping)

    def _settings(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in SETTINGS}

    def _fit_problem(self, problem: Problem) -> None:
        rng, options = make_generator(self.random_state), settle_options(problem, self._settings())
        strength = None
        if not is_block(options["sampling"]):
            strength = choose_active(problem, options, rng) if self.C == AUTO else Strength(float(self.C))
            options["C"] = strength.C
        trained = train(
            problem,
            options,
            rng,
            validation=self.validation,
            early_stopping=bool(self.early_stopping),
            consumers=[self._report],
        )
        if isinstance(trained, BlockTrained):
            choice = trained.state.choice
            self._set_strength(Strength(choice.C, choice.path))
            self.loss_, self.gamma_ = choice.mix.loss, choice.mix.gamma
            self.trials_ = list(choice.trials)
            self.n_pairs_ = trained.state.history[-1].pairs
            self.__dict__.pop("pairs_", None)  # of an earlier fit
        else:
            assert strength is not None
            self._set_strength(strength)
            self.loss_, self.gamma_ = HINGE.name, resolve_gamma(self.gamma, problem)
            self.trials_ = []
            self.n_pairs_ = len(trained.state.pool)
            self.pairs_ = _pairs_table(trained.state)
        self._keep(trained)

    def _report(self, state: Any) -> str | None:
        done = state.history[-1]
        if self.verbose > 1 or (self.verbose == 1 and (done.round % 10 == 0 or state.stop_reason)):
            _log.info("round %d: %d terms, %.0f rejected, objective %.6g", *done[:3], done.objective)
        return self._callbacks(state)

    def _keep(self, trained: Trained | BlockTrained) -> None:
        state, found = trained.state, trained.state.solution
        cut_short = isinstance(found, MixedSolution) and not found.done  # by a budget, a callback or Ctrl-C
        if not found.converged and not cut_short:
            measure = "gradient" if isinstance(trained, BlockTrained) else "duality gap"
            gap = f"a relative {measure} of {found.relative_gap:.2g}"
            warn_unconverged(gap, self.tol, found.n_passes, self.max_iter)
        self._set_weights(found.w, trained.theta)
        self.gap_ = found.relative_gap
        self.n_iter_ = max(found.n_passes, 1)
        self.n_rejected_ = round(sum(done.rejected for done in state.history))
        self.history_ = list(state.history)
        self.stop_reason_ = state.stop_reason
        self.validation_curve_ = list(trained.curve)


def _pairs_table(state: State) -> Any:
    pool = state.pool
    i, j = pool.row_numbers()
    if hasattr(pool.problem.rows, "original_rows"):  # a row store, scaled or not
        i, j = pool.problem.rows.original_rows(i), pool.problem.rows.original_rows(j)
    fields = [("i", np.int64), ("j", np.int64), ("round", np.int64), ("probability", float), ("weight", float)]
    table = np.empty(len(pool), dtype=fields)
    for name, column in zip(table.dtype.names or (), (i, j, pool.round, pool.probability, state.upper), strict=True):
        table[name] = column
    return table
