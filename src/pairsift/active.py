"""Algorithm 1 of the paper: active sampling.

    w = linearSVM(L*, {C_ij}, 0)                    for an initial L* of b random terms
    repeat
        draw b terms from U* by Sample(U*, w), and move them to L*
        w = linearSVM(L*, {C_ij}, w)
    until |L*| >= B

`active_sampling` is a generator that yields its state after each round. Progress, learning curves, early stopping and
time budgets are consumers of it; nothing else hooks into the loop. `fit_active` is the consumer that runs it to the
end.

The w of a round only steers the next draw, so rounds before the last are solved to a gap of `STEERING_GAP`; the last
one is solved to `tol`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from pairsift._typing import FloatArray, IntArray
from pairsift.data.problem import Problem
from pairsift.pairs import NONE, Pool
from pairsift.parameters import check_count, check_flag, check_positive, check_share
from pairsift.sampling import make_sampler
from pairsift.sampling.protocol import Draw, Sampler
from pairsift.sampling.unchosen import Unchosen
from pairsift.solvers.dual import solve_dual, steer
from pairsift.solvers.terms import DualSolution, Terms

STEERING_GAP = 0.05
STEERING_PASSES = 30

BUDGET_REACHED = "budget reached"
ALL_TERMS_USED = "all terms used"
NO_TERM_LEFT = "no unchosen term has a probability above zero"


@dataclass(frozen=True)
class Settings:
    """The parameters of Algorithm 1, as `pairsift.ActiveRankSVM` explains them; gamma is a number here."""

    sampler: Sampler
    C: float = 0.1
    gamma: float = 1.0
    bias_correction: bool = True
    threshold: bool = False
    budget: int = 8000
    batch_size: int = 100
    tol: float = 1e-3
    max_iter: int = 1000


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
    C: float,
    gamma: float | str,
    sampling: str | Sampler,
    bias_correction: bool,
    threshold: bool,
    budget: int,
    batch_size: int,
    tol: float,
    max_iter: int,
) -> None:
    """Raise `ValueError` for a parameter that cannot be used; nothing has to be read for that."""
    check_positive("C", C)
    check_share("gamma", gamma, "uniform")
    check_flag("bias_correction", bias_correction)
    check_flag("threshold", threshold)
    check_count("batch_size", batch_size)
    check_count("budget", budget)
    if budget < batch_size:
        raise ValueError(
            "budget must be at least batch_size, the size of the first draw; "
            f"got budget={budget} and batch_size={batch_size}."
        )
    check_positive("tol", tol)
    check_count("max_iter", max_iter)
    make_sampler(sampling)


def make_settings(problem: Problem, *, sampling: str | Sampler, gamma: float | str, **others: Any) -> Settings:
    """Return checked parameters, under the names that users give them, as settings for a problem."""
    return Settings(sampler=make_sampler(sampling), gamma=resolve_gamma(gamma, problem), **others)


def resolve_gamma(gamma: float | str, problem: Problem) -> float:
    """Return gamma as a number; "uniform" is the share of pairs among all terms, N+N- / (N+N- + N+ + N-)."""
    if gamma == "uniform":
        return problem.n_pairs / (problem.n_pairs + problem.n_points)
    return float(gamma)


def fit_active(problem: Problem, settings: Settings, rng: np.random.Generator) -> State:
    """Run Algorithm 1 to its end and return the last state."""
    *_, last = active_sampling(problem, settings, rng)
    return last


def active_sampling(problem: Problem, settings: Settings, rng: np.random.Generator) -> Iterator[State]:
    """Yield the state after each round; the last state yielded is solved to ``settings.tol``.

    When there are no more terms than the budget, nothing is sampled: one round with all of them.
    """
    if _count_terms(problem, settings.gamma) <= settings.budget:
        yield _train_on_all(problem, settings, rng)
        return
    state = _first_round(problem, settings, rng)
    yield state
    while state.stop_reason is None:
        state = _next_round(state, settings, rng)
        yield state


def _first_round(problem: Problem, settings: Settings, rng: np.random.Generator) -> State:
    pool = Pool(problem, threshold=settings.threshold)
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
    wanted = min(settings.batch_size, settings.budget - len(pool))
    drawn = _checked(draw(wanted), wanted, pool.problem)
    pool.add(drawn.i, drawn.j, drawn.probability, round_number=number, correct_bias=settings.bias_correction)
    sampled = perf_counter()
    stop_reason = _stop_reason(len(drawn.i), wanted, pool, settings)
    solution, upper = _train(pool, state.solution, settings, rng, last=stop_reason is not None)
    trained = perf_counter()
    done = Round(number, len(pool), drawn.rejected, sampled - started, trained - sampled, solution.primal)
    return State(pool, solution, upper, (*state.history, done), stop_reason)


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
    return BUDGET_REACHED if len(pool) >= settings.budget else None


def _train(
    pool: Pool, before: DualSolution, settings: Settings, rng: np.random.Generator, *, last: bool
) -> tuple[DualSolution, FloatArray]:
    upper, factor = pool.bounds(settings.C * len(pool))
    terms = Terms(pool.kernel, upper, constants=pool.constants, norms=pool.norms)
    seed = int(rng.integers(2**63))
    if last:
        solution = solve_dual(terms, pool.alpha, tol=settings.tol, max_iter=settings.max_iter, seed=seed)
    else:
        start = before.w * factor, before.theta * factor
        passes = min(STEERING_PASSES, settings.max_iter)
        solution = steer(terms, pool.alpha, start, tol=STEERING_GAP, max_passes=passes, seed=seed)
    pool.alpha = solution.alpha
    return solution, upper


def _train_on_all(problem: Problem, settings: Settings, rng: np.random.Generator) -> State:
    """Small data: all terms at once. The pairs together carry the share gamma of C * budget, the points the rest."""
    started = perf_counter()
    pool = Pool(problem, threshold=settings.threshold)
    i, j = _all_terms(problem, settings.gamma)
    pool.add(i, j, np.ones(len(i)), round_number=0, correct_bias=False)
    for kind, share in ((pool.is_pair, settings.gamma), (~pool.is_pair, 1 - settings.gamma)):
        pool.value[kind] *= share / max(float(np.sum(pool.value[kind])), np.finfo(np.float64).tiny)
    sampled = perf_counter()
    full = replace(settings, C=settings.C * settings.budget / len(pool))
    solution, upper = _train(pool, _no_solution(problem), full, rng, last=True)
    done = Round(0, len(pool), 0.0, sampled - started, perf_counter() - sampled, solution.primal)
    return State(pool, solution, upper, (done,), ALL_TERMS_USED)


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
