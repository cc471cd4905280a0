"""``pairsift fit``: from a file of labelled rows to a model file."""

from __future__ import annotations

import json
import time
from typing import Any

import click

from pairsift.cli.options import JSON, data_options, output_option, pop_data_options

SAMPLINGS = ["random", "soft-close", "soft-correct", "hard-close", "hard-correct"]


@click.command()
@click.argument("data", metavar="DATA", type=click.Path())
@output_option("Model file to write (safetensors).", required=True)
@click.option("--C", "C", type=float, default=0.1, show_default=True, help="Weight of a chosen pair.")
@click.option("--gamma", default="1.0", show_default=True, help='Pairs against points: in [0, 1], or "uniform".')
@click.option("--sampling", type=click.Choice(SAMPLINGS), default="soft-correct", show_default=True, help="Sampler.")
@click.option("--bias-correction/--no-bias-correction", default=True, show_default=True, help="Weight pairs by 1 / p.")
@click.option("--threshold/--no-threshold", default=False, show_default=True, help="Learn a threshold from the points.")
@click.option("--budget", type=int, default=8000, show_default=True, help="Number of pairs to train on.")
@click.option("--batch-size", type=int, default=100, show_default=True, help="Pairs drawn a round.")
@click.option("--tol", type=float, default=1e-3, show_default=True, help="Relative duality gap to reach.")
@click.option("--max-iter", type=int, default=1000, show_default=True, help="Passes at most in the last round.")
@click.option(
    "--random-state", type=click.IntRange(min=0), default=None, help="Seed; the same seed gives the same model."
)
@click.option(
    "--scale",
    type=click.Choice(["none", "unit", "standard", "max"]),
    default="none",
    show_default=True,
    help="Scale rows (unit) or columns; remembered in the model.",
)
@data_options
@JSON
def fit(data: str, output: str, random_state: int | None, scale: str, as_json: bool, **options: Any) -> None:
    """Learn a linear model that puts positives ahead of negatives.

    DATA is svmlight / LIBSVM text, a NumPy file, a table (CSV, Parquet, Arrow), or a row store made by `pairsift
    convert`.
    """
    import numpy as np

    from pairsift.active import check_settings, fit_active, make_settings
    from pairsift.data.replacing import check_writable
    from pairsift.data.training import open_training_data
    from pairsift.model import save_model, trained_model
    from pairsift.threshold import model_threshold

    reading = pop_data_options(options)
    options["gamma"] = _gamma(options["gamma"])
    try:
        check_settings(**options)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    check_writable(output)
    started = time.perf_counter()
    rows = open_training_data(data, reading, scale=scale)
    if rows.has_qid:
        click.echo(f"{data} has query ids; they are not used: pairs are formed across queries.", err=True)
    read = time.perf_counter()
    problem = rows.problem
    settings = make_settings(problem, **options)
    rng = np.random.default_rng(random_state)
    state = fit_active(problem, settings, rng)
    theta = model_threshold(problem, settings, state.solution, rng)
    facts = {
        "rows": problem.n_points,
        "positives": problem.n_positive,
        "pairs": problem.n_pairs,
        "pairs_used": len(state.pool),
        "pairs_rejected": round(sum(done.rejected for done in state.history)),
        "relative_gap": state.solution.relative_gap,
        "converged": state.solution.converged,
        "stop_reason": state.stop_reason,
        "seconds_reading": round(read - started, 3),
        "seconds_fitting": round(time.perf_counter() - read, 3),
    }
    details = {"settings": {**options, "random_state": random_state}, "training": facts}
    save_model(trained_model(rows, state.solution.w, 0.0 - theta, details), output)
    if not state.solution.converged:
        click.echo(
            f"The gap is {state.solution.relative_gap:.2g}, not --tol {options['tol']:g}: scale the features, "
            "or raise --max-iter.",
            err=True,
        )
    click.echo(json.dumps({"model": output, **facts}) if as_json else _sentence(output, facts))


def _gamma(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def _sentence(output: str, facts: dict[str, Any]) -> str:
    return (
        f"{output}: trained on {facts['pairs_used']:,} of {facts['pairs']:,} pairs "
        f"({facts['positives']:,} positive and {facts['rows'] - facts['positives']:,} negative rows) "
        f"in {facts['seconds_fitting']:.2f} s after {facts['seconds_reading']:.2f} s of reading; "
        f"relative gap {facts['relative_gap']:.1e}."
    )
