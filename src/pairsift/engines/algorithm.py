"""Active sampling on an engine: one text for Spark, Dask and this machine.

    count the rows of each class                                                one pass
    for each share of the budget, growing
        broadcast w; draw rows of each class, keyed by (seed, pass, row key)    one pass
        rounds of Algorithm 1 over all rows that came so far, until the share is reached
    the threshold, from the rows of the driver

The law
-------
The rows of a pass are a uniform sample of each class without replacement, so that a pair of them is a uniform pair of
all N+ N-, whatever partitions its two rows lie in. The samplers accept such pairs by their own law; what differs from
the same fit in memory is that two pairs share a row more often. With `ROWS_PER_TERM` rows of each class for a term of
the budget that is rare, and as the rows grow in number the law becomes the paper's.

For the samplers that never choose a pair with a margin of 1 or more, a pass leaves rows at home that no such pair can
contain, by bounds on the scores of all rows: for w' = a w + r and a > 0,

    max over negatives of w' . x  <=  a max (w . x) + |r| max |x|

and likewise for the lowest positive. Rows that stay home would only have been refused.

With ``method="auto"`` there is one draw, of as many rows of each class as the budget says, and the driver trains on
them as `AutoRanker` does on rows in memory; a part of them is held out.

Everything that decides is independent of the partitions: counts are whole numbers, extremes are extremes, rows come in
the order of their keyed draw, and scores are summed in one order. So the coefficients have the same bits for any
number of workers and partitions, whatever fails and is run again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pairsift._typing import FloatArray
from pairsift.active import (
    ALL_TERMS_USED,
    BUDGET_REACHED,
    Settings,
    State,
    active_sampling,
    check_settings,
    make_settings,
)
from pairsift.budget import Budget, parse_budget
from pairsift.data.labels import choose_labels
from pairsift.data.problem import Problem
from pairsift.engines.columns import Columns
from pairsift.engines.drawn import Reservoir, merge_draws
from pairsift.engines.keys import order_limit, seed_words
from pairsift.engines.passes import CountRows, DrawRows, Reach, Seen, checked
from pairsift.engines.protocol import Engine
from pairsift.pairs import COLUMNS, Pool, term_weights
from pairsift.parameters import AUTO, check_count
from pairsift.search.growing import AutoState
from pairsift.search.holdout import NOT_MEASURED, Holdout
from pairsift.search.options import AUTO_ROWS, check_auto, make_auto_settings
from pairsift.search.run import train_auto
from pairsift.search.strength import Strength, choose_active
from pairsift.threshold import model_threshold

ROWS_PER_TERM = 6
SHARES = (1 / 16, 1 / 16, 1 / 8, 1 / 4, 1 / 2)
"""Of the rows and of the budget, pass by pass."""
SHARES_AUTO = (1 / 2, 1 / 2)
"""Where C is chosen: the first rows must be many enough to tell strengths apart."""
_REACHING = ("soft-correct", "hard-correct")
_SLACK = 1e-9  # rounding of scores and lengths


@dataclass(frozen=True)
class Counts:
    """What the first pass found."""

    labels: tuple[Any, Any]
    n_rows: int
    n_negative: int
    n_positive: int
    n_features: int
    sparse: bool


@dataclass(frozen=True)
class EngineFit:
    """A model that was trained on an engine, and what it took.

    Attributes
    ----------
    w, theta : coefficients and threshold
    counts : Counts
    problem : Problem
        Rows on the driver that are a uniform sample of each class.
    state : State or AutoState
        Of Algorithm 1, or of `AutoRanker`.
    strength : Strength
    holdout : Holdout
        The AUC on rows used neither for training nor for choosing; NaN for Algorithm 1, which has none.
    n_passes : int
        Passes over the data, the first included.
    rows_moved : int
        Rows that came to the driver.
    stayed_home : int
        Drawn rows that did not come, because no pair that matters can contain them.
    """

    w: FloatArray
    theta: float
    counts: Counts
    problem: Problem
    state: State | AutoState
    strength: Strength
    holdout: Holdout
    n_passes: int
    rows_moved: int
    stayed_home: int

    def facts(self) -> dict[str, Any]:
        """Return what a model file keeps of the training."""
        found = self.state.solution
        return {
            "rows": self.counts.n_rows,
            "positives": self.counts.n_positive,
            "pairs": self.counts.n_positive * self.counts.n_negative,
            "relative_gap": found.relative_gap,
            "converged": bool(found.converged),
            "stop_reason": self.state.stop_reason,
            "passes": self.n_passes,
            "rows_moved": self.rows_moved,
            "rows_stayed_home": self.stayed_home,
            **self._method_facts(),
        }

    def attributes(self) -> dict[str, Any]:
        """Return what only one of the methods has, named as its estimator names it."""
        if isinstance(self.state, AutoState):
            choice = self.state.choice
            return {
                "terms_": choice.terms,
                "loss_": choice.mix.loss,
                "trials_": list(choice.trials),
                "n_rows_": np.array(self.state.n_rows),
                "holdout_": self.holdout,
            }
        return {
            "C_path_": list(self.strength.path),
            "n_pairs_": len(self.state.pool),
            "n_rejected_": round(sum(done.rejected for done in self.state.history)),
        }

    def _method_facts(self) -> dict[str, Any]:
        if isinstance(self.state, AutoState):
            return self.state.facts() | {"holdout": self.holdout.facts()}
        return {"pairs_used": len(self.state.pool), **(self.strength.facts() if self.strength.path else {})}


def count_classes(engine: Engine, columns: Columns, positive: Any = None, *, by_meaning: bool = False) -> Counts:
    """Count the rows of each class, in one pass."""
    _check_columns(engine, columns)
    rows: Counter[Any] = Counter()
    weighted: Counter[Any] = Counter()
    widths: set[int] = set()
    n_stored = 0
    for table in map(checked, engine.map(CountRows(columns), columns.small)):
        for line in table.to_pylist():
            rows[line["label"]] += line["rows"]
            weighted[line["label"]] += line["weighted"]
        widths.update(int(width) for width in table.schema.metadata[b"widths"].split())
        n_stored += int(table.schema.metadata[b"n_stored"])
    if len(rows) > 2:
        raise ValueError(f"On an engine labels must have exactly two values; got {len(rows):,}.")
    labels = choose_labels(rows, positive, by_meaning=by_meaning)
    if len(widths) != 1:
        raise ValueError(f"All rows must have one number of features; got rows of {min(widths)} and of {max(widths)}.")
    n_negative, n_positive = (weighted[label] for label in labels)
    if not n_negative or not n_positive:
        raise ValueError(
            "Rows of both classes are required (with a weight above zero); "
            f"got {n_positive} positive and {n_negative} negative rows."
        )
    n_features, n_rows = widths.pop(), sum(rows.values())
    return Counts(labels, n_rows, n_negative, n_positive, n_features, 0 <= 2 * n_stored < n_rows * n_features)


def fit_on_engine(
    engine: Engine,
    columns: Columns,
    method: str,
    options: Mapping[str, Any],
    random_state: int | None = None,
    positive: Any = None,
    *,
    by_meaning: bool = False,
) -> EngineFit:
    """Train where the data are.

    Parameters
    ----------
    engine : Engine
    columns : Columns
        With a key.
    method : "auto" or "active"
    options : mapping
        The parameters of `pairsift.AutoRanker` or `pairsift.ActiveRankSVM` that decide what is learned; the budget is
        in rows of each class, or in pairs.
    random_state : int, optional
        The same seed and the same keys give the same bits.
    positive : optional
        The positive label; by default the larger one.
    by_meaning : bool
        Whether the affirmative or rarer label is positive, as in files, and not the larger one.
    """
    check_engine_options(method, options)
    if random_state is not None:
        check_count("random_state", random_state, least=0)
    counts = count_classes(engine, columns, positive, by_meaning=by_meaning)
    return _Training(engine, columns, counts, options, random_state).run(method)


def check_engine_options(method: str, options: Mapping[str, Any]) -> None:
    """Raise `ValueError` for parameters that cannot be used on an engine."""
    (check_auto if method == AUTO else check_settings)(**options)
    if _budget(method, options).pairs is None:
        raise ValueError(f"On an engine the budget is a number of pairs or rows; got {options['budget']!r}.")


def _budget(method: str, options: Mapping[str, Any]) -> Budget:
    return parse_budget(options["budget"], AUTO_ROWS if method == AUTO else None)


class _Training:
    """One training: the rows on the driver, the bounds on scores, and the state of Algorithm 1."""

    def __init__(
        self,
        engine: Engine,
        columns: Columns,
        counts: Counts,
        options: Mapping[str, Any],
        random_state: int | None,
    ) -> None:
        self._engine, self._columns, self._counts, self._options = engine, columns, counts, dict(options)
        self._seed = seed_words(random_state)
        self._rng = np.random.default_rng(random_state if random_state is not None else list(self._seed))
        self._reservoir = Reservoir(weighted=columns.weight is not None)
        self._scores = _Scores()
        self._uniform_draws = 0  # the first draws, up to the one where rows stayed home
        self._stayed_home, self._rows_moved, self._n_passes = 0, 0, 1

    def run(self, method: str) -> EngineFit:
        """Make all passes."""
        return self._auto() if method == AUTO else self._pairs()

    def _auto(self) -> EngineFit:
        rows = _budget(AUTO, self._options).pairs
        assert rows is not None
        self._draw(0, rows, 1.0, None)
        problem = self._reservoir.problem()
        settings = make_auto_settings(problem, **self._options, population=self._counts.n_rows)
        trained = train_auto(problem, settings, Budget(pairs=rows), self._rng)
        state = trained.state
        return self._finished(state, trained.theta, problem, Strength(state.choice.C), trained.holdout)

    def _pairs(self) -> EngineFit:
        budget = parse_budget(self._options["budget"]).pairs
        assert budget is not None
        wanted = ROWS_PER_TERM * budget
        shares: tuple[float, ...] = SHARES_AUTO if self._options["C"] == AUTO else SHARES
        if max(self._counts.n_positive, self._counts.n_negative) <= wanted:
            shares = (1.0,)  # all rows come
        state: State | None = None
        for number, done in enumerate(np.cumsum(shares).tolist()):
            last = number == len(shares) - 1
            self._draw(number, wanted, done, None if state is None else state.solution.w)
            problem = self._reservoir.problem()
            if number == 0:
                strength = self._strength(problem)
                settings = make_settings(problem, **{**self._options, "C": strength.C})
            state = self._rounds(problem, settings, state, budget if last else round(budget * done))
            if state.stop_reason == BUDGET_REACHED:
                break
        assert state is not None
        sample = self._reservoir.problem(self._uniform_draws)
        theta = model_threshold(sample, settings, state.solution, self._rng)
        return self._finished(state, theta, sample, strength)

    def _finished(
        self,
        state: State | AutoState,
        theta: float,
        problem: Problem,
        strength: Strength,
        holdout: Holdout = NOT_MEASURED,
    ) -> EngineFit:
        return EngineFit(
            state.solution.w,
            theta,
            self._counts,
            problem,
            state,
            strength,
            holdout,
            self._n_passes,
            self._rows_moved,
            self._stayed_home,
        )

    def _strength(self, problem: Problem) -> Strength:
        C = self._options["C"]
        return choose_active(problem, self._options, self._rng) if C == AUTO else Strength(float(C))

    def _draw(self, number: int, wanted: int, done: float, w: FloatArray | None) -> None:
        """Bring rows of each class until their share is here; a small class comes as a whole at first."""
        available = (self._counts.n_negative, self._counts.n_positive)
        goals = [n if n <= wanted else round(wanted * done) for n in available]
        missing = [max(goal - self._reservoir.count(side), 0) for side, goal in enumerate(goals)]
        limits = [order_limit(count, n) if count else 0 for count, n in zip(missing, available, strict=True)]
        reach = self._scores.reach(w) if w is not None and self._may_stay_home() else Reach()
        work = DrawRows(
            self._columns,
            self._counts.labels,
            self._counts.sparse,
            self._seed,
            number,
            (missing[0], missing[1]),
            (limits[0], limits[1]),
            w if self._may_stay_home() else None,
            reach,
        )
        tables = [checked(table) for table in self._engine.map(work, self._columns.all)]
        self._n_passes += 1
        self._rows_moved += sum(table.num_rows for table in tables)
        seen = Seen()
        for table in tables:
            seen.merge(table.schema.metadata)
        self._scores.update(w, seen)
        self._stayed_home += seen.stayed_home
        if any(table.num_rows for table in tables):
            self._reservoir.add(merge_draws(tables, work.wanted, self._counts.n_features))
            if not self._stayed_home:
                self._uniform_draws += 1

    def _may_stay_home(self) -> bool:
        """Whether the sampler looks at nothing but pairs with a margin below 1."""
        return self._options.get("sampling") in _REACHING and self._options["gamma"] == 1

    def _rounds(self, problem: Problem, settings: Settings, before: State | None, until: int) -> State:
        """Run rounds until so many terms are chosen."""
        # All terms of the rows so far were used at once: with more rows there are others to choose from.
        anew = before is None or before.stop_reason == ALL_TERMS_USED
        start = None if before is None or anew else _moved(before, problem, settings)
        state = start
        for state in active_sampling(problem, settings, self._rng, start):
            if len(state.pool) >= until:
                break
        assert state is not None
        return state


class _Scores:
    """Bounds on the scores of all rows for a new w, from those seen with the one before."""

    def __init__(self) -> None:
        self._w: FloatArray | None = None
        self._seen = Seen()

    def update(self, w: FloatArray | None, seen: Seen) -> None:
        """Remember what a pass saw with w."""
        self._w, self._seen = w, seen

    def reach(self, w: FloatArray) -> Reach:
        """Return the bounds for w."""
        if self._w is None or not np.any(self._w):
            return Reach()
        a = float(np.sum(w * self._w)) / float(np.sum(self._w * self._w))
        if a <= 0:
            return Reach()
        rest = w - a * self._w  # no BLAS here: its sums depend on the number of threads
        slack = float(np.sqrt(np.sum(rest * rest))) * self._seen.longest
        low, high = a * self._seen.lowest_positive - slack, a * self._seen.highest_negative + slack
        room = _SLACK * (1 + abs(low) + abs(high))
        return Reach(low - room, high + room)


def _moved(state: State, problem: Problem, settings: Settings) -> State:
    """Return a state among more rows; places stay, and weights become relative to the new mean."""
    pool = state.pool
    columns = {name: getattr(pool, name).copy() for name in COLUMNS}
    if problem.positive_weights is not None:
        value = 1 / pool.probability if settings.bias_correction else np.ones(len(pool))
        value = value * term_weights(problem, pool.i, pool.j)
        columns["alpha"] *= value / pool.value
        columns["value"] = value
    moved = Pool.of(problem, columns, pool.scale, threshold=settings.threshold)
    history = state.history
    while len(history) > 1 and history[-1].pairs == history[-2].pairs:  # a round that found nothing among the old rows
        history = history[:-1]
    return replace(state, pool=moved, history=history, stop_reason=None)


def _check_columns(engine: Engine, columns: Columns) -> None:
    unknown = [name for name in columns.all if name not in engine.names]
    if unknown:
        shown = ", ".join(map(repr, engine.names[:20]))
        raise ValueError(f"There is no column {unknown[0]!r}; the columns are {shown}.")
