"""The methods of ``pairsift fit``: which options belong to which, and how each learns. No scikit-learn is needed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    from pairsift._typing import FloatArray
    from pairsift.search.run import BlockTrained
    from pairsift.checkpoint import Checkpoint
    from pairsift.data.problem import Problem
    from pairsift.training_run import Trained

DEFAULTS: dict[str, dict[str, Any]] = {
    "active": {
        "C": 0.1,
        "gamma": "auto",
        "sampling": "block",
        "bias_correction": True,
        "threshold": False,
        "budget": "auto",
        "batch_size": 100,
        "tol": 1e-3,
        "max_iter": 1000,
        "loss": "auto",
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
    from pairsift.search.run import check_options as check_active
    from pairsift.parameters import check_count, check_positive, check_share, check_strength, check_word
    from pairsift.training_run import check_run

    if method == "active":
        check_active({name: value for name, value in options.items() if name not in _RUN})
        check_run(**{name: options[name] for name in _RUN})
        return
    check_strength("C", options["C"])
    if "loss" in options:
        check_word("loss", options["loss"], "hinge", "squared_hinge")
    if method == "combined":
        check_share("pair_probability", options["pair_probability"])
        check_count("n_steps", options["n_steps"])
    else:
        check_positive("tol", options["tol"])
        check_count("max_iter", options["max_iter"])


def choose_strength(
    method: str, problem: Problem, options: Mapping[str, Any], random_state: int | None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the options settled, with a number as C, and what the choice saw: nothing unless C is "auto".

    Block training chooses for itself, as a part of it. Without a seed the choice has one of its own, so that a
    training that is resumed has the strength it began with.
    """
    from pairsift.search.run import is_block, settle_options
    from pairsift.parameters import AUTO

    if method == "active":
        options = settle_options(problem, options)
    if options["C"] != AUTO or is_block(options.get("sampling")):
        return dict(options), {}
    import numpy as np

    from pairsift import strength

    rng = np.random.default_rng(0 if random_state is None else random_state)
    if method == "active":
        found = strength.choose_active(problem, {name: options[name] for name in options if name not in _RUN}, rng)
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


def fit_active(
    problem: Problem,
    options: Mapping[str, Any],
    rng: np.random.Generator,
    consumers: Sequence[Callable[[Any], str | None]] = (),
    checkpoint: Checkpoint | None = None,
) -> Fitted:
    """Active sampling or block training, with its budget, validation part and checkpoint."""
    from pairsift.search.run import train

    trained = train(
        problem,
        {name: value for name, value in options.items() if name not in _RUN},
        rng,
        validation=options["validation"],
        early_stopping=options["early_stopping"],
        consumers=consumers,
        checkpoint=checkpoint,
    )
    found = trained.state.solution
    facts, record = _active_facts(trained), _record(trained)
    cut_short = not getattr(found, "done", True)  # block training ended by a budget or Ctrl-C: no fault of the data
    return Fitted(found.w, trained.theta, found.converged or cut_short, facts, record, trained.held_out)


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


def _active_facts(trained: Trained | BlockTrained) -> dict[str, Any]:
    from pairsift.block import BlockState

    state = trained.state
    chosen = state.choice.facts() if isinstance(state, BlockState) else {}
    drawn = {"rows_used": state.history[-1].rows} if isinstance(state, BlockState) else {}
    facts: dict[str, Any] = {
        **chosen,
        **drawn,
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


def _record(trained: Trained | BlockTrained) -> dict[str, Any]:
    """Return acceptance by round and the validation curve; of very many rounds, sums over neighbours."""
    rounds: Sequence[Any] = trained.state.history
    together = -(-len(rounds) // _LONGEST_HISTORY)
    groups = [rounds[start : start + together] for start in range(0, len(rounds), together)]
    history = {"pairs": [group[-1].pairs for group in groups]}
    if trained.state.history and not hasattr(trained.state.history[-1], "rows"):  # block training refuses nothing
        history["rejected"] = [round(sum(done.rejected for done in group), 1) for group in groups]
    step = -(-len(trained.curve) // _LONGEST_HISTORY) or 1
    return {"history": history, "validation_curve": [list(check) for check in trained.curve[::step]]}
