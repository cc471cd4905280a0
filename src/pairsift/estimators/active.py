"""The paper's method: active sampling of pairs and points."""

from __future__ import annotations

import sys
from typing import Any, Literal

import numpy as np

from pairsift.active import DEFAULTS, State, check_settings, make_settings
from pairsift.budget import STRENGTH_PAIRS, parse_budget
from pairsift.data.problem import Problem
from pairsift.estimators.base import make_generator, warn_unconverged
from pairsift.estimators.callbacks import WatchedRanker
from pairsift.parameters import AUTO
from pairsift.sampling import Sampler
from pairsift.search.strength import Strength, choose_active
from pairsift.training_run import Trained, check_run, train_active


class ActiveRankSVM(WatchedRanker):
    """Active sampling of pairs and points for linear bipartite ranking: the method of Shen and Lin.

    A linear SVM on `budget` pairs of a positive and a negative row, out of the N+ * N- there are, drawn in rounds;
    those that the model of the round gets wrong, or nearly wrong, are more likely to be drawn. That is ASRankSVM; with
    ``gamma < 1``, where single rows ("points") are drawn too, it is ASCRC. The cost depends on the budget, hardly on
    the number of rows.

    Parameters
    ----------
    C : float or "auto", default=0.1
        Weight of a chosen pair, as the paper has it; the weight of the mean loss is ``C * budget``. So
        ``ActiveRankSVM(C=0.1, budget=8000)`` and ``RankSVM(C=800)`` are estimates of one problem. "auto": chosen on
        held-out rows, in about the time of one more fit: docs/strength.md. Where there are no more than 8000 pairs, or
        fewer than 25 rows of a class, "auto" is 0.1.
    gamma : float in [0, 1] or "uniform", default=1.0
        Weight of pairs against points: 1 has pairs only, 0 points only. "uniform" is N+N- / (N+N- + N+ + N-), the
        share of pairs among all terms.
    sampling : str or Sampler, default="soft-correct"
        "random", "soft-close", "soft-correct", "hard-close", "hard-correct" draw pairs as the paper does; so does an
        object with a method ``draw`` (see `pairsift.sampling`). "soft-tolerant" is ours, for labels of which some are
        wrong.
    bias_correction : bool, default=True
        Weight each term by the inverse of its probability of being drawn. Only soft samplings have other probabilities
        than 1; False is refused for the others.
    threshold : bool, default=False
        Learn a threshold from the points (CRC-threshold). In pairs it cancels: True is refused for ``gamma=1``.
    budget : int or str, default=8000
        Number of terms to train on; or seconds of training as ``"30s"`` (ms, s, m, h); or bytes of rows read as
        ``"2GB"`` (KB, MB, GB, TB; KiB and so on), a row counting each time that it is read. Where there are no more
        terms than the budget, all are used and nothing is sampled. With seconds or bytes the total weight is
        ``C * 8000``, and 8000 terms or fewer are all used at once. A fit in seconds that chose n terms has the `pairs_`
        of ``budget=n``, weights apart.
    batch_size : int, default=100
        Terms drawn a round.
    tol : float, default=1e-3
        Relative duality gap, (primal - dual) / primal, of the last round. Problems of fewer than 2,000 terms are
        solved to 1e-12.
    max_iter : int, default=1000
        Passes over the terms at most in the last round; reaching it warns.
    on_interrupt : "raise" or "keep", default="raise"
        What Ctrl-C does: end `fit` with `KeyboardInterrupt`, or end the sampling after the first round and keep the
        model of the terms chosen so far (those of the best check, with a validation part).
    random_state : int, RandomState, Generator or None, default=None
        The same seed gives the same bits.
    verbose : int, default=0
        1 writes each tenth round to standard error, 2 each round.
    validation : float in [0, 1), default=0.0
        Share of each class (20,000 rows of it at most) to hold out from training and to look at from time to time; see
        `validation_curve_`. 0 holds out nothing.
    early_stopping : bool, default=False
        End when doubling the terms has shown no gain on the validation part: the 95 % interval of the gain (DeLong's
        paired test, with the weights of the rows) reached zero at three checks in a row. The terms of the check with
        the highest AUC are kept, and solved to `tol`.

    Attributes
    ----------
    coef_ : array of shape (1, n_features)
    intercept_ : array of shape (1,)
        Minus the threshold. Without a threshold of its own (gamma = 1) it is where balanced accuracy is best on
        training rows: all up to 100,000, beyond that 10,000 of each class.
    classes_ : array of shape (2,)
        The negative and the positive label.
    C_ : float
        The C of the fit.
    C_path_ : list of Tried
        ``(C, auc, low, high)`` on the held-out rows for each C that "auto" tried, with the 95 % interval.
    gamma_ : float
        The gamma of the fit, as a number.
    n_iter_ : int
        Passes of the last training.
    n_pairs_ : int
        Number of chosen terms, points included.
    n_rejected_ : int
        Candidates that were drawn and refused, as the paper counts them; where draws were skipped because nearly all
        would have been refused, an unbiased estimate.
    history_ : list of Round
        One record a round: terms so far, rejected, seconds for sampling and for training, objective.
    pairs_ : structured array
        The chosen terms: row numbers ``i`` and ``j`` (-1 for none: a point), ``round``, ``probability``, ``weight``.
    gap_ : float
        What `tol` bounds, as it was reached.
    stop_reason_ : str
        Why the sampling ended: "budget reached" (of pairs), "budget of seconds reached", "budget of bytes reached",
        "all terms used", "no unchosen term has a probability above zero", "no more gain on the validation part",
        "interrupted", or "stopped by a callback".
    validation_curve_ : list of Check
        ``(pairs, auc, low, high)`` on the validation part as training went on, with the 95 % interval; empty without
        one.

    Notes
    -----
    With scikit-learn 1.9 or newer, `set_callbacks` takes its callbacks (progress bar, scoring monitor); a task is a
    round.

    See Also
    --------
    AutoRanker : what to try first.
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
        gamma: float | Literal["uniform"] = 1.0,
        sampling: str | Sampler = "soft-correct",
        bias_correction: bool = True,
        threshold: bool = False,
        budget: int | str = STRENGTH_PAIRS,
        batch_size: int = 100,
        tol: float = 1e-3,
        max_iter: int = 1000,
        on_interrupt: Literal["raise", "keep"] = "raise",
        random_state: Any = None,
        verbose: int = 0,
        validation: float = 0.0,
        early_stopping: bool = False,
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
        self.on_interrupt = on_interrupt
        self.random_state = random_state
        self.verbose = verbose
        self.validation = validation
        self.early_stopping = early_stopping

    def _check_parameters(self) -> None:
        check_settings(**self._settings())
        check_run(validation=self.validation, early_stopping=self.early_stopping, on_interrupt=self.on_interrupt)

    def _max_rounds(self) -> int | None:
        pairs = parse_budget(self.budget).pairs
        return None if pairs is None else -(-pairs // self.batch_size)

    def _settings(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in DEFAULTS}

    def _fit_problem(self, problem: Problem) -> None:
        rng, options = make_generator(self.random_state), self._settings()
        strength = choose_active(problem, options, rng) if self.C == AUTO else Strength(float(self.C))
        settings = make_settings(problem, **{**options, "C": strength.C})
        trained = train_active(
            problem,
            settings,
            parse_budget(self.budget),
            rng,
            validation=self.validation,
            early_stopping=bool(self.early_stopping),
            consumers=[self._report],
            on_interrupt=self.on_interrupt,
        )
        self._set_strength(strength)
        self.gamma_ = settings.gamma
        self._keep(trained)

    def _report(self, state: Any) -> str | None:
        done = state.history[-1]
        if self.verbose > 1 or (self.verbose == 1 and (done.round % 10 == 0 or state.stop_reason)):
            sys.stderr.write(
                f"round {done.round}: {done.pairs:,} terms, {done.rejected:.0f} rejected, objective "
                f"{done.objective:.6g}\n"
            )
        return self._callbacks(state)

    def _keep(self, trained: Trained) -> None:
        state, found = trained.state, trained.state.solution
        if not found.converged:
            gap = f"a relative duality gap of {found.relative_gap:.2g}"
            warn_unconverged(gap, self.tol, found.n_passes, self.max_iter)
        self._set_weights(found.w, trained.theta)
        self.pairs_ = _pairs_table(state)
        self.n_pairs_ = len(state.pool)
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
