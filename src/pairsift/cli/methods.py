"""The methods of ``pairsift fit``: which options belong to which, and how each learns. No scikit-learn is needed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    from pairsift._typing import FloatArray
    from pairsift.checkpoint import Checkpoint
    from pairsift.data.held_by import HeldBy
    from pairsift.data.problem import Problem
    from pairsift.training_run import Trained

DEFAULTS: dict[str, dict[str, Any]] = {
    "auto": {"C": "auto", "terms": "auto", "loss": "auto", "budget": "auto", "tol": 1e-3, "max_iter": 1000},
    "active": {
        "C": 0.1,
        "gamma": 1.0,
        "sampling": "soft-correct",
        "bias_correction": True,
        "threshold": False,
        "budget": 8000,
        "batch_size": 100,
        "tol": 1e-3,
        "max_iter": 1000,
        "validation": 0.0,
        "early_stopping": False,
    },
    "exact": {"C": 800.0, "loss": "hinge", "tol": 1e-3, "max_iter": 1000},
    "pointwise": {"C": 800.0, "threshold": False, "tol": 1e-3, "max_iter": 1000},
    "combined": {
        "C": 800.0,
        "point_loss": "hinge",
        "threshold": True,
        "pair_probability": 0.5,
        "n_steps": 100_000,
    },
}
"""The options of each method, named as the parameters of its estimator, with their defaults."""
_RUN = ("validation", "early_stopping")
_LONGEST_HISTORY = 500


@dataclass(frozen=True)
class Fitted:
    """Coefficients for the rows of the problem, the threshold, and facts fit for JSON."""

    w: FloatArray
    theta: float
    converged: bool
    facts: dict[str, Any]
    record: dict[str, Any]
    """What only the model file keeps: it is too long to be printed."""
    held_out: Problem | None = None
    """Rows that were not learned from."""


def options_of(method: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a method; those not given (None) have its defaults. A foreign one raises `ValueError`."""
    for name, value in given.items():
        if value is not None and name not in DEFAULTS[method]:
            others = " and ".join(other for other, defaults in DEFAULTS.items() if name in defaults)
            raise ValueError(f"--{name.replace('_', '-')} is for --method {others}; got --method {method}.")
    return {name: default if given.get(name) is None else given[name] for name, default in DEFAULTS[method].items()}


def check_options(method: str, options: Mapping[str, Any]) -> None:
    """Raise `ValueError` for an option that cannot be used; nothing has to be read for that."""
    from pairsift.parameters import check_count, check_positive, check_share, check_strength, check_word

    if method == "auto":
        from pairsift.search.options import check_auto

        check_auto(**options)
        return
    if method == "active":
        from pairsift.active import check_settings
        from pairsift.training_run import check_run

        check_settings(**_training(options))
        check_run(**{name: options[name] for name in _RUN})
        return
    check_strength("C", options["C"])
    if "loss" in options:
        check_word("loss", options["loss"], "hinge", "squared_hinge")
    if method == "combined":
        check_share("pair_probability", options["pair_probability"])
        from pairsift.solvers.combined import check_points

        check_count("n_steps", options["n_steps"])
        check_points(options["point_loss"], options["pair_probability"])
    else:
        check_positive("tol", options["tol"])
        check_count("max_iter", options["max_iter"])


def _training(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that decide what is learned."""
    return {name: value for name, value in options.items() if name not in _RUN}


def choose_strength(
    method: str, problem: Problem, options: Mapping[str, Any], random_state: int | None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the options with a number as C, and what the choice saw: nothing unless C is "auto".

    The method auto chooses for itself, as a part of its training. Without a seed the choice has one of its own, so that
    a training that is resumed has the C it began with.
    """
    from pairsift.parameters import AUTO

    if method == "auto" or options["C"] != AUTO:
        return dict(options), {}
    import numpy as np

    from pairsift.search import strength

    rng = np.random.default_rng(0 if random_state is None else random_state)
    if method == "active":
        found = strength.choose_active(problem, _training(options), rng)
    elif method == "exact":
        found = strength.choose_exact(problem, options["loss"], rng)
    elif method == "pointwise":
        found = strength.choose_pointwise(problem, options["threshold"], rng)
    else:
        found = strength.choose_combined(
            problem,
            options["point_loss"],
            options["threshold"],
            options["pair_probability"],
            options["n_steps"],
            rng,
        )
    return {**options, "C": found.C}, found.facts()


def fit_auto(
    problem: Problem,
    options: Mapping[str, Any],
    rng: np.random.Generator,
    consumers: Sequence[Callable[[Any], str | None]] = (),
    held_by: HeldBy | None = None,
) -> Fitted:
    """Everything is chosen on held-out rows."""
    from pairsift.budget import parse_budget
    from pairsift.search.options import AUTO_ROWS, make_auto_settings
    from pairsift.search.run import train_auto

    settings = make_auto_settings(problem, **options, held_by=held_by)
    trained = train_auto(problem, settings, parse_budget(options["budget"], AUTO_ROWS), rng, consumers=consumers)
    state, found = trained.state, trained.state.solution
    facts = {
        **state.facts(),
        "holdout": trained.holdout.facts(),
        "relative_gap": found.relative_gap,
        "converged": bool(found.converged),
        "stop_reason": state.stop_reason,
        **({} if trained.bytes_read is None else {"bytes_read": round(trained.bytes_read)}),
    }
    record = {"history": {"rows": [done.rows for done in state.history]}}
    # Where it was ended by a budget or Ctrl-C, the data are not at fault.
    return Fitted(found.w, trained.theta, found.converged or not found.done, facts, record)


def fit_active(
    problem: Problem,
    options: Mapping[str, Any],
    rng: np.random.Generator,
    consumers: Sequence[Callable[[Any], str | None]] = (),
    checkpoint: Checkpoint | None = None,
) -> Fitted:
    """Active sampling, with its budget, validation part and checkpoint."""
    from pairsift.active import make_settings
    from pairsift.budget import parse_budget
    from pairsift.training_run import train_active

    trained = train_active(
        problem,
        make_settings(problem, **_training(options)),
        parse_budget(options["budget"]),
        rng,
        validation=options["validation"],
        early_stopping=options["early_stopping"],
        consumers=consumers,
        checkpoint=checkpoint,
    )
    found = trained.state.solution
    facts, record = _active_facts(trained), _record(trained)
    return Fitted(found.w, trained.theta, found.converged, facts, record, trained.held_out)


def fit_exact(problem: Problem, options: Mapping[str, Any], rng: np.random.Generator) -> Fitted:
    """RankSVM over all pairs."""
    from pairsift.solvers.exact import fit_exact as solve
    from pairsift.threshold import balanced_threshold

    _check_norms(problem)
    seed = int(rng.integers(2**63))
    found = solve(problem, options["C"], options["loss"], options["tol"], options["max_iter"], seed)
    facts = {"relative_gap": found.gap, "converged": bool(found.converged), "iterations": found.n_iter}
    return Fitted(found.w, balanced_threshold(problem, found.w, rng), found.converged, facts, {})


def fit_pointwise(problem: Problem, options: Mapping[str, Any], rng: np.random.Generator) -> Fitted:
    """The weighted point-wise SVM."""
    from pairsift.solvers.pointwise import fit_pointwise as solve

    found = solve(
        problem,
        options["C"],
        threshold=options["threshold"],
        tol=options["tol"],
        max_iter=options["max_iter"],
        seed=int(rng.integers(2**63)),
    )
    facts = {"relative_gap": found.relative_gap, "converged": bool(found.converged), "iterations": found.n_passes}
    return Fitted(found.w, found.theta, found.converged, facts, {})


def fit_combined(problem: Problem, options: Mapping[str, Any], rng: np.random.Generator) -> Fitted:
    """Combined ranking and regression, by stochastic gradient steps."""
    from pairsift.solvers.combined import fit_combined as solve
    from pairsift.threshold import balanced_threshold

    _check_norms(problem)
    chance = options["pair_probability"]
    found = solve(problem, options["C"], options["point_loss"], options["threshold"], chance, options["n_steps"], rng)
    theta = found.theta if chance < 1 else balanced_threshold(problem, found.w, rng)
    facts: dict[str, Any] = {"steps": options["n_steps"], "steps_moved": found.n_moved}
    facts |= {"objective_ratio": found.objective_ratio, "converged": found.settled}
    return Fitted(found.w, theta, found.settled, facts, {})


FITS: dict[str, Callable[[Problem, Mapping[str, Any], np.random.Generator], Fitted]] = {
    "exact": fit_exact,
    "pointwise": fit_pointwise,
    "combined": fit_combined,
}


def _check_norms(problem: Problem) -> None:
    from pairsift.data.rows import MemoryRows

    if isinstance(problem.rows, MemoryRows):
        problem.rows.check_norms()


def _active_facts(trained: Trained) -> dict[str, Any]:
    state = trained.state
    facts: dict[str, Any] = {
        "pairs_used": state.history[-1].pairs,
        "pairs_rejected": round(sum(done.rejected for done in state.history)),
        "relative_gap": state.solution.relative_gap,
        "converged": bool(state.solution.converged),
        "stop_reason": state.stop_reason,
    }
    if trained.bytes_read is not None:
        facts["bytes_read"] = round(trained.bytes_read)
    if trained.validated is not None:
        facts["validation"] = dict(trained.validated._asdict())
    return facts


def _record(trained: Trained) -> dict[str, Any]:
    """Return acceptance by round and the validation curve; of very many rounds, sums over neighbours."""
    rounds = trained.state.history
    together = -(-len(rounds) // _LONGEST_HISTORY)
    groups = [rounds[start : start + together] for start in range(0, len(rounds), together)]
    history = {
        "pairs": [group[-1].pairs for group in groups],
        "rejected": [round(sum(done.rejected for done in group), 1) for group in groups],
    }
    step = -(-len(trained.curve) // _LONGEST_HISTORY) or 1
    return {"history": history, "validation_curve": [list(check) for check in trained.curve[::step]]}
