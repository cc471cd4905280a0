"""Algorithm 1 of the paper: active sampling.

    w = linearSVM(L*, {C_ij}, 0)                    for an initial L* of b random terms
    repeat
        draw b terms from U* by Sample(U*, w), and move them to L*
        w = linearSVM(L*, {C_ij}, w)
    until |L*| >= B

`active_sampling` is a generator that yields its state after each round. Progress, learning curves, early stopping,
checkpoints, Ctrl-C and budgets of seconds or bytes are consumers of it (`pairsift.training_run`); nothing else hooks
into the loop. `fit_active` is the consumer that runs it to the end.

The w of a round only steers the next draw, so rounds before the last are solved to a gap of `STEERING_GAP`; the last
one is solved to `tol`. Where a consumer ends the loop, `finish` makes the last solve.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from pairsift._typing import FloatArray, IntArray
from pairsift.budget import STRENGTH_PAIRS, parse_budget
from pairsift.data.problem import Problem
from pairsift.pairs import NONE, Pool
from pairsift.parameters import check_count, check_flag, check_positive, check_share, check_strength
from pairsift.sampling import make_sampler
from pairsift.sampling.protocol import Draw, Sampler
from pairsift.sampling.unchosen import Unchosen
from pairsift.solvers.dual import solve_dual, steer
from pairsift.solvers.terms import DualSolution, Terms

WITHOUT_BIAS = ("random", "hard-close", "hard-correct")
STEERING_GAP = 0.05
STEERING_PASSES = 10

DEFAULTS: dict[str, Any] = {
    "C": 0.1,
    "gamma": 1.0,
    "sampling": "soft-correct",
    "bias_correction": True,
    "threshold": False,
    "budget": STRENGTH_PAIRS,
    "batch_size": 100,
    "tol": 1e-3,
    "max_iter": 1000,
}
"""The parameters that decide what is learned, as `pairsift.ActiveRankSVM` has them."""

BUDGET_REACHED = "budget reached"
ALL_TERMS_USED = "all terms used"
NO_TERM_LEFT = "no unchosen term has a probability above zero"


@dataclass(frozen=True)
class Settings:
    """The parameters of Algorithm 1, as `pairsift.ActiveRankSVM` explains them; gamma is a number here.

    ``budget`` is in terms; None goes on until a consumer ends it.
    """

    sampler: Sampler
    C: float = 0.1
    gamma: float = 1.0
    bias_correction: bool = True
    threshold: bool = False
    budget: int | None = STRENGTH_PAIRS
    batch_size: int = 100
    tol: float = 1e-3
    max_iter: int = 1000

    @property
    def total(self) -> float:
        """What the bounds of a finished model add up to."""
        return self.C * (STRENGTH_PAIRS if self.budget is None else self.budget)


class Round(NamedTuple):
    """What one round did.

    ``pairs`` counts all chosen terms so far, points included. ``objective`` is the primal value over the chosen
    terms: exact in the last round, an estimate from the margins of the last pass before.
    """

    round: int
    pairs: int
    rejected: float
    sampling_seconds: float
    training_seconds: float
    objective: float


@dataclass(frozen=True)
class State:
    """Where the algorithm is after a round; ``stop_reason`` is None until the last one."""

    pool: Pool
    solution: DualSolution
    upper: FloatArray
    history: tuple[Round, ...] = field(default=())
    stop_reason: str | None = None

    @property
    def acceptance(self) -> float:
        """Share of the last round's candidates that was accepted."""
        before = self.history[-2].pairs if len(self.history) > 1 else 0
        accepted = self.history[-1].pairs - before
        return accepted / (accepted + self.history[-1].rejected)


def check_settings(
    *,
    C: float | str,
    gamma: float | str,
    sampling: str | Sampler,
    bias_correction: bool,
    threshold: bool,
    budget: int | str,
    batch_size: int,
    tol: float,
    max_iter: int,
) -> None:
    """Raise `ValueError` for a parameter that cannot be used, or that would not be; nothing has to be read for that."""
    check_strength("C", C)
    check_share("gamma", gamma, "uniform")
    check_flag("bias_correction", bias_correction)
    check_flag("threshold", threshold)
    check_count("batch_size", batch_size)
    pairs = parse_budget(budget).pairs
    if pairs is not None and pairs < batch_size:
        raise ValueError(
            "budget must be at least batch_size, the size of the first draw; "
            f"got budget={budget} and batch_size={batch_size}."
        )
    check_positive("tol", tol)
    check_count("max_iter", max_iter)
    make_sampler(sampling)
    if threshold and gamma == 1:
        raise ValueError("threshold=True needs points, in which a threshold counts: give gamma below 1.")
    if not bias_correction and sampling in WITHOUT_BIAS:
        raise ValueError(
            f"bias_correction=False is for soft samplings; with sampling={sampling!r} every pair has the probability "
            "1, and there is no bias."
        )


def make_settings(
    problem: Problem,
    *,
    sampling: str | Sampler,
    gamma: float | str,
    budget: int | str,
    **others: Any,
) -> Settings:
    """Return checked parameters, under the names that users give them, as settings for a problem."""
    pairs = parse_budget(budget).pairs
    return Settings(sampler=make_sampler(sampling), gamma=resolve_gamma(gamma, problem), budget=pairs, **others)


def resolve_gamma(gamma: float | str, problem: Problem) -> float:
    """Return gamma as a number; "uniform" is the share of pairs among all terms, N+N- / (N+N- + N+ + N-)."""
    if gamma == "uniform":
        return problem.n_pairs / (problem.n_pairs + problem.n_points)
    return float(gamma)


def fit_active(problem: Problem, settings: Settings, rng: np.random.Generator) -> State:
    """Run Algorithm 1 to its end and return the last state."""
    *_, last = active_sampling(problem, settings, rng)
    return last


def active_sampling(
    problem: Problem, settings: Settings, rng: np.random.Generator, start: State | None = None
) -> Iterator[State]:
    """Yield the state after each round; a state with a stop reason is the last one, and solved to ``settings.tol``.

    When there are no more terms than the budget, nothing is sampled: one round with all of them. Without a budget in
    terms that is so from the beginning when there are at most `STRENGTH_PAIRS`, and otherwise as soon as one round
    would choose all that are left.

    Parameters
    ----------
    problem : Problem
    settings : Settings
    rng : numpy.random.Generator
    start : State, optional
        A state that was yielded before, to go on from; `rng` must be as it was then.
    """
    state = start
    if state is None:
        if _count_terms(problem, settings.gamma) <= (settings.budget or STRENGTH_PAIRS):
            yield _train_on_all(problem, settings, rng)
            return
        state = _first_round(problem, settings, rng)
        yield state
    while state.stop_reason is None:
        left = _count_terms(problem, settings.gamma) - len(state.pool)
        if settings.budget is None and left <= settings.batch_size:
            state = _train_on_all(problem, settings, rng, state.history)
        else:
            state = _next_round(state, settings, rng)
        yield state


def finish(state: State, settings: Settings, rng: np.random.Generator, reason: str) -> State:
    """Return the state with its terms solved to ``settings.tol`` and bounds that add up to ``settings.total``.

    An exception may have left a begun round in the pool; such terms are dropped.
    """
    started = perf_counter()
    *before, last = state.history
    pool = state.pool if state.pool.is_whole(last.pairs) else state.pool.first(last.pairs)
    solution, upper = _train(pool, state.solution, settings, rng, last=True, total=settings.total)
    seconds = last.training_seconds + perf_counter() - started
    done = last._replace(training_seconds=seconds, objective=solution.primal)
    return State(pool, solution, upper, (*before, done), reason)


def rehearse(state: State, settings: Settings) -> float:
    """Return the seconds that `finish` takes now; the state stays as it is, and nothing is drawn."""
    started = perf_counter()
    pool = copy(state.pool)
    pool.alpha = state.pool.alpha.copy()
    _train(pool, state.solution, settings, np.random.default_rng(0), last=True, total=settings.total)
    return perf_counter() - started


def _first_round(problem: Problem, settings: Settings, rng: np.random.Generator) -> State:
    pool = Pool(problem, threshold=settings.threshold, expected=settings.budget or 0)
    empty = State(pool, _no_solution(problem), np.empty(0))
    return _grow(empty, lambda count: _draw_first(pool, settings, count, rng), settings, rng)


def _next_round(state: State, settings: Settings, rng: np.random.Generator) -> State:
    found = state.solution
    unchosen = Unchosen(state.pool, found.w, found.theta, settings.gamma, acceptance=state.acceptance)
    return _grow(state, lambda count: settings.sampler.draw(unchosen, count, rng), settings, rng)


def _grow(state: State, draw: Callable[[int], Draw], settings: Settings, rng: np.random.Generator) -> State:
    """Move drawn terms from U* to L* and train."""
    started = perf_counter()
    pool, number = state.pool, len(state.history)
    if settings.budget is None:
        wanted = settings.batch_size
        drawn = _repeatable(lambda count: _checked(draw(count), count, pool.problem), wanted, pool, rng)
    else:
        wanted = min(settings.batch_size, settings.budget - len(pool))
        drawn = _checked(draw(wanted), wanted, pool.problem)
    pool.add(drawn.i, drawn.j, drawn.probability, round_number=number, correct_bias=settings.bias_correction)
    sampled = perf_counter()
    stop_reason = _stop_reason(len(drawn.i), wanted, pool, settings)
    last = stop_reason is not None
    total = settings.total if last and settings.budget is None else settings.C * len(pool)
    solution, upper = _train(pool, state.solution, settings, rng, last=last, total=total)
    trained = perf_counter()
    done = Round(number, len(pool), drawn.rejected, sampled - started, trained - sampled, solution.primal)
    return State(pool, solution, upper, (*state.history, done), stop_reason)


def _repeatable(draw: Callable[[int], Draw], wanted: int, pool: Pool, rng: np.random.Generator) -> Draw:
    """Draw terms as a budget that ends with them would: samplers draw otherwise when they are asked for more."""
    before, unseen = rng.bit_generator.state, pool.unseen
    drawn = draw(wanted)
    while 0 < len(drawn.i) < wanted:
        wanted = len(drawn.i)
        rng.bit_generator.state, pool.unseen = before, unseen
        drawn = draw(wanted)
    return drawn


def _draw_first(pool: Pool, settings: Settings, count: int, rng: np.random.Generator) -> Draw:
    """Draw the initial pool: p = 1, the kind by gamma, uniform within the kind; a kind used up leaves the other."""
    unchosen = Unchosen(pool, np.zeros(pool.problem.rows.n_features), 0.0, settings.gamma)
    is_pair = rng.random(count) < settings.gamma
    is_pair[np.flatnonzero(is_pair)[unchosen.n_pairs :]] = False
    is_pair[np.flatnonzero(~is_pair)[unchosen.n_points :]] = True
    i, j = np.empty(count, dtype=np.int64), np.empty(count, dtype=np.int64)
    for kind, draw in ((is_pair, unchosen.uniform_pairs), (~is_pair, unchosen.uniform_points)):
        i[kind], j[kind] = _distinct(draw, int(np.count_nonzero(kind)), rng)
    return Draw(i, j, np.ones(count), 0.0)


def _distinct(
    draw: Callable[[int, np.random.Generator], tuple[IntArray, IntArray]], count: int, rng: np.random.Generator
) -> tuple[IntArray, IntArray]:
    """Draw until so many different terms have come, and return them in the order of their first coming."""
    terms: dict[tuple[int, int], None] = {}
    while len(terms) < count:
        i, j = draw(count - len(terms), rng)
        terms.update(dict.fromkeys(zip(i.tolist(), j.tolist(), strict=True)))
    drawn = np.array(list(terms), dtype=np.int64).reshape(-1, 2)
    return drawn[:, 0], drawn[:, 1]


def _checked(drawn: Draw, wanted: int, problem: Problem) -> Draw:
    """Refuse what a sampler of the user's own must not return; terms chosen already are refused by the pool."""
    i, j, p = np.array(drawn.i, np.int64), np.array(drawn.j, np.int64), np.array(drawn.probability, np.float64)
    if not (i.ndim == 1 and i.shape == j.shape == p.shape and len(i) <= wanted):
        raise ValueError(
            f"A sampler must return at most the {wanted} terms it was asked for, with one i, j and probability each; "
            f"got shapes {i.shape}, {j.shape} and {p.shape}."
        )
    if np.any((i < NONE) | (i >= problem.n_positive) | (j < NONE) | (j >= problem.n_negative) | ((i < 0) & (j < 0))):
        raise ValueError(
            f"A sampler must return places 0 <= i < {problem.n_positive} and 0 <= j < {problem.n_negative}, "
            "or -1 for one of the two."
        )
    if not np.all((p > 0) & (p <= 1)):
        raise ValueError("A sampler must return probabilities in (0, 1].")
    return Draw(i, j, p, float(drawn.rejected))


def _stop_reason(n_drawn: int, wanted: int, pool: Pool, settings: Settings) -> str | None:
    if n_drawn < wanted:
        return NO_TERM_LEFT
    return BUDGET_REACHED if settings.budget is not None and len(pool) >= settings.budget else None


def _train(
    pool: Pool, before: DualSolution, settings: Settings, rng: np.random.Generator, *, last: bool, total: float
) -> tuple[DualSolution, FloatArray]:
    upper, factor = pool.bounds(total)
    terms = Terms(pool.kernel, upper, constants=pool.constants, norms=pool.norms)
    seed = int(rng.integers(2**63))
    if last:
        solution = solve_dual(terms, pool.alpha, tol=settings.tol, max_iter=settings.max_iter, seed=seed)
    else:
        start = before.w * factor, before.theta * factor, before.squared_length * factor**2
        passes = min(STEERING_PASSES, settings.max_iter)
        turns = {"known": len(before.alpha), "turn": len(pool) // settings.batch_size}
        solution = steer(terms, pool.alpha, start, tol=STEERING_GAP, max_passes=passes, seed=seed, **turns)
    pool.alpha = solution.alpha
    return solution, upper


def _train_on_all(
    problem: Problem, settings: Settings, rng: np.random.Generator, history: tuple[Round, ...] = ()
) -> State:
    """Small data: all terms at once. The pairs together carry the share gamma of C * budget, the points the rest."""
    started = perf_counter()
    pool = Pool(problem, threshold=settings.threshold)
    i, j = _all_terms(problem, settings.gamma)
    pool.add(i, j, np.ones(len(i)), round_number=0, correct_bias=False)
    for kind, share in ((pool.is_pair, settings.gamma), (~pool.is_pair, 1 - settings.gamma)):
        pool.value[kind] *= share / max(float(np.sum(pool.value[kind])), np.finfo(np.float64).tiny)
    sampled = perf_counter()
    # Through C per term, because the product below has other bits than the total itself.
    total = settings.total / len(pool) * len(pool)
    solution, upper = _train(pool, _no_solution(problem), settings, rng, last=True, total=total)
    done = Round(len(history), len(pool), 0.0, sampled - started, perf_counter() - sampled, solution.primal)
    return State(pool, solution, upper, (*history, done), ALL_TERMS_USED)


def _no_solution(problem: Problem) -> DualSolution:
    return DualSolution(np.zeros(problem.rows.n_features), 0.0, np.empty(0), 0.0, 0.0, 0, False)


def _count_terms(problem: Problem, gamma: float) -> int:
    return (problem.n_pairs if gamma > 0 else 0) + (problem.n_points if gamma < 1 else 0)


def _all_terms(problem: Problem, gamma: float) -> tuple[IntArray, IntArray]:
    i, j = [], []
    positive, negative = np.arange(problem.n_positive), np.arange(problem.n_negative)
    if gamma > 0:
        i.append(np.repeat(positive, problem.n_negative))
        j.append(np.tile(negative, problem.n_positive))
    if gamma < 1:
        i += [positive, np.full(problem.n_negative, NONE)]
        j += [np.full(problem.n_positive, NONE), negative]
    return np.concatenate(i), np.concatenate(j)
