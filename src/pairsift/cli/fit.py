"""``pairsift fit``: from a file of labelled rows to a model file."""

from __future__ import annotations

import json
import shlex
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from pairsift.cli.fit_text import engine_sentence, fit_sentence
from pairsift.cli.methods import DEFAULTS, FITS, check_options, choose_strength, fit_active, fit_auto, options_of
from pairsift.cli.options import JSON, data_options, output_option, pop_data_options
from pairsift.cli.streams import check_output, say_positive

if TYPE_CHECKING:
    from pairsift.cli.methods import Fitted
    from pairsift.data.problem import Problem
    from pairsift.data.training import TrainingData
    from pairsift.probabilities import Method

CALIBRATION_SHARE = 0.1
SAMPLINGS = ["random", "soft-close", "soft-correct", "soft-tolerant", "hard-close", "hard-correct"]


def _number_or_word(context: click.Context, parameter: click.Parameter, text: str | None) -> float | str | None:
    try:
        return None if text is None else float(text)
    except ValueError:
        return text


def _budget(context: click.Context, parameter: click.Parameter, text: str | None) -> int | str | None:
    return int(text) if text is not None and text.lstrip("+-").isdecimal() else text


@click.command()
@click.argument("data", metavar="DATA", type=click.Path())
@output_option("Model file to write (safetensors).", required=True)
@click.option(
    "--method",
    type=click.Choice(list(DEFAULTS)),
    default="auto",
    show_default=True,
    help="auto chooses everything on held-out rows; active samples pairs as the paper does; exact RankSVM over all "
    "pairs; point-wise SVM; combined ranking and regression.",
)
@click.option(
    "--C",
    "C",
    callback=_number_or_word,
    help='Weight of the mean loss (active: of a chosen pair), or "auto": chosen on held-out rows.  [default: auto for '
    "auto, 0.1 for active, 800 for the others]",
)
@click.option(
    "--terms",
    type=click.Choice(["auto", "pairs", "points"]),
    help="Of auto: learn from pairs of rows, or from single rows.  [default: auto]",
)
@click.option(
    "--loss",
    type=click.Choice(["auto", "hinge", "squared_hinge", "logistic"]),
    help="Of auto (the default is auto), and of exact (hinge or squared_hinge; the default is hinge).",
)
@click.option(
    "--holdout-by",
    metavar="COLUMN",
    help="Of auto: hold out the latest values of a date or number, or whole values of a column of words; the column is "
    "not learned from.",
)
@click.option(
    "--gamma", callback=_number_or_word, help='Of active: pairs against points, in [0, 1] or "uniform".  [default: 1]'
)
@click.option(
    "--sampling", type=click.Choice(SAMPLINGS), help="Of active: how pairs are drawn.  [default: soft-correct]"
)
@click.option(
    "--bias-correction/--no-bias-correction", default=None, help="Of active: weight pairs by 1 / p.  [default: yes]"
)
@click.option(
    "--threshold/--no-threshold", default=None, help="Learn a threshold from the points.  [default: only combined]"
)
@click.option(
    "--budget",
    callback=_budget,
    help="Rows of each class (active: pairs) as 8000, seconds as 30s, bytes as 2GB.  [default: 100000 rows, 8000 "
    "pairs]",
)
@click.option("--batch-size", type=int, help="Of active: pairs drawn a round.  [default: 100]")
@click.option("--point-loss", type=click.Choice(["hinge", "squared"]), help="Of combined.  [default: hinge]")
@click.option("--pair-probability", type=float, help="Chance that a step of combined takes a pair.  [default: 0.5]")
@click.option("--n-steps", type=int, help="Steps of combined.  [default: 100000]")
@click.option(
    "--tol", type=float, help="Relative gap to reach (auto: of the gradient; others: duality gap).  [default: 0.001]"
)
@click.option("--max-iter", type=int, help="Passes at most in the last solve.  [default: 1000]")
@click.option(
    "--validation", type=float, help="Of active: share of the rows to hold out and watch, as 0.1.  [default: 0]"
)
@click.option(
    "--early-stopping/--no-early-stopping", default=None, help="Of active: stop when validation shows no more gain."
)
@click.option(
    "--calibration",
    type=click.Choice(["logistic", "isotonic"]),
    help="Learn probabilities on a tenth of the rows, or on the validation part.",
)
@click.option("--base-rate", type=float, help="Share of positives where the probabilities will be used.")
@click.option(
    "--random-state", type=click.IntRange(min=0), default=None, help="Seed; the same seed gives the same model."
)
@click.option("--checkpoint", metavar="DIR", type=click.Path(), help="Of active: folder to keep the run in.")
@click.option(
    "--resume", is_flag=True, help="Resume from the checkpoint, if there is one; the model is the same to the bit."
)
@click.option(
    "--scale",
    type=click.Choice(["none", "unit", "standard", "max"]),
    default="none",
    show_default=True,
    help="Scale rows (unit) or columns; remembered in the model.",
)
@click.option(
    "--engine",
    metavar="ADDRESS",
    help="Train on a cluster, from Parquet: spark://HOST:PORT, dask://HOST:PORT, or local[N] for N processes here.",
)
@click.option("--ids", metavar="COLUMN", help="Column of row ids, with --engine; by default, row numbers in the files.")
@data_options
@JSON
def fit(
    data: str,
    output: str,
    engine: str | None,
    ids: str | None,
    method: str,
    calibration: Method | None,
    base_rate: float | None,
    random_state: int | None,
    checkpoint: str | None,
    resume: bool,
    scale: str,
    holdout_by: str | None,
    as_json: bool,
    **given: Any,
) -> None:
    """Learn a linear model that puts positives ahead of negatives.

    DATA is svmlight / LIBSVM text, a NumPy file, a table (CSV, Parquet, Arrow), or a row store made by `pairsift
    convert`. Ctrl-C ends the training, and writes the model that was learned so far.
    """
    reading = pop_data_options(given)
    if calibration is not None and method == "active" and given["validation"] is None:
        given["validation"] = CALIBRATION_SHARE
    options = _checked(method, given, checkpoint, resume, holdout_by)
    reading = replace(reading, holdout_by=holdout_by)
    _check_calibration(calibration, base_rate, options)
    from pairsift.data.training import open_training_data

    check_output(output, data)
    if engine is not None:
        from pairsift.cli.engine_fit import check_engine, fit_on

        others = [checkpoint, calibration, holdout_by, scale if scale != "none" else None]
        check_engine(engine, method, options, reading, others)
        facts = fit_on(engine, data, output, method, options, random_state, reading, ids)
        click.echo(json.dumps({"model": output, **facts}) if as_json else engine_sentence(output, facts))
        return
    if ids is not None:
        raise click.UsageError("--ids is for --engine.")
    if method == "auto":
        import pairsift.stats.delong  # noqa: F401 - it brings scipy, whose import hangs where the data took all memory
    started = time.perf_counter()
    rows = open_training_data(data, reading, scale=scale)
    if rows.has_qid:
        click.echo(f"{data} has query ids; they are not used: pairs are formed across queries.", err=True)
    _name_ids(rows)
    if reading.positive is None and rows.store is None:
        say_positive(rows.labels, rows.problem.n_positive, rows.problem.n_points)
    read = time.perf_counter()
    settings = {"method": method, **options, "random_state": random_state, "scale": scale}
    if calibration is not None:
        settings["calibration"] = calibration
    options, strength = choose_strength(method, rows.problem, options, random_state)

    def write(fitted: Fitted) -> dict[str, Any]:
        rows.check_unchanged()
        facts = _facts(rows.problem, fitted, read - started, time.perf_counter() - read) | strength
        if rows.held_by is not None:
            facts["held_out_by"] = rows.held_by.words
        _write(output, rows, fitted, settings, facts, calibration, base_rate)
        return facts

    if holdout_by is not None:
        settings["holdout_by"] = holdout_by
    if method in ("auto", "active"):
        fitted, facts = _train(rows, options, settings, checkpoint, resume, write)
    else:
        fitted = _fit_other(method, rows.problem, options, random_state, hold=calibration is not None)
        facts = write(fitted)
    if calibration is not None:
        _warn_of_few_rows(fitted, calibration, method)
    if not fitted.converged:
        click.echo(_unconverged(fitted, options), err=True)
    click.echo(json.dumps({"model": output, **facts}) if as_json else fit_sentence(output, method, facts))


def _name_ids(rows: TrainingData) -> None:
    """Say which columns are probably ids."""
    for column in () if rows.encoding is None else rows.encoding.columns:
        if column.looks_like_ids(rows.problem.n_points):
            found = f"has {len(column.categories):,} values in {rows.problem.n_points:,} rows"
        elif column.name in rows.row_numbers:
            found = "only numbers the rows"
        else:
            continue
        advice = f"If these are ids, leave them out: --drop {shlex.quote(column.name)}."
        click.echo(f"Column {column.name!r} {found}. {advice}", err=True)


def _unconverged(fitted: Fitted, options: dict[str, Any]) -> str:
    if "objective_ratio" in fitted.facts:
        return (
            f"The steps did not settle (the objective is {fitted.facts['objective_ratio']:.2g} times that of zero "
            "weights): scale the features (--scale standard), or raise --n-steps."
        )
    return (
        f"The gap is {fitted.facts['relative_gap']:.2g}, not --tol {options['tol']:g}: scale the features "
        "(--scale standard), or raise --max-iter."
    )


def _checked(
    method: str, given: dict[str, Any], checkpoint: str | None, resume: bool, holdout_by: str | None
) -> dict[str, Any]:
    try:
        options = options_of(method, given)
        check_options(method, options)
        if checkpoint is not None and method != "active":
            raise ValueError(f"--checkpoint is for --method active; got --method {method}.")
        if resume and checkpoint is None:
            raise ValueError("--resume needs the folder of the checkpoint: --checkpoint DIR.")
        if holdout_by is not None and method != "auto":
            raise ValueError(f"--holdout-by is for --method auto; got --method {method}.")
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    return options


def _check_calibration(calibration: str | None, base_rate: float | None, options: dict[str, Any]) -> None:
    from pairsift.probabilities import check_base_rate

    if base_rate is not None and calibration is None:
        raise click.UsageError("--base-rate is for probabilities; give --calibration logistic or isotonic too.")
    if calibration is not None and options.get("validation") == 0:
        raise click.UsageError("--calibration needs held-out rows; --validation must be above 0.")
    if base_rate is not None:
        try:
            check_base_rate(base_rate)
        except ValueError as error:
            raise click.UsageError(str(error)) from error


def _warn_of_few_rows(fitted: Fitted, calibration: Method, method: str) -> None:
    from pairsift.calibration import too_few

    assert fitted.held_out is not None
    warning = too_few(fitted.held_out.n_positive, fitted.held_out.n_negative, calibration)
    if warning is not None:
        more = "Hold out more (--validation 0.3, say), or give more rows." if method == "active" else "Give more rows."
        click.echo(f"{warning} {more}", err=True)


def _fit_other(
    method: str, problem: Problem, options: dict[str, Any], random_state: int | None, *, hold: bool
) -> Fitted:
    """Train by a method without rounds, on all rows or, if probabilities are wanted, without a held-out part."""
    rng = _generator(random_state)
    if not hold:
        return FITS[method](problem, options, rng)
    from pairsift.data.holdout import hold_out

    training, held_out = hold_out(problem, CALIBRATION_SHARE, rng)
    return replace(FITS[method](training, options, rng), held_out=held_out)


def _generator(random_state: int | None) -> Any:
    import numpy as np

    return np.random.default_rng(random_state)


def _train(
    rows: TrainingData,
    options: dict[str, Any],
    settings: dict[str, Any],
    checkpoint: str | None,
    resume: bool,
    write: Any,
) -> tuple[Fitted, dict[str, Any]]:
    """Train by a method that has states and write the model, with progress, checkpoints and Ctrl-C."""
    from pairsift.budget import parse_budget
    from pairsift.checkpoint import Checkpoint
    from pairsift.cli.interrupt import Interrupts
    from pairsift.cli.progress import Progress
    from pairsift.training_run import INTERRUPTED

    kept = None if checkpoint is None else Checkpoint(checkpoint, settings, resume=resume)
    rng, auto = _generator(settings["random_state"]), settings["method"] == "auto"
    try:
        with Interrupts(INTERRUPTED) as interrupts:
            with Progress(None if auto else parse_budget(options["budget"]).pairs) as progress:
                if auto:
                    fitted = _fit_auto(rows, options, settings, rng, [interrupts, progress])
                else:
                    fitted = fit_active(rows.problem, options, rng, [interrupts, progress], kept)
            facts = write(fitted)
    except KeyboardInterrupt:
        raise click.Abort from None  # click would print an empty line before ours
    if facts["stop_reason"] == INTERRUPTED:
        more = "" if kept is None else " Go on with --resume."
        what = f"{sum(facts['rows_used'].values()):,} rows" if auto else f"{facts['pairs_used']:,} pairs"
        click.echo(f"Interrupted: the model of {what} is written.{more}", err=True)
    elif interrupts.noted:
        click.echo("Interrupted while the AUC on held-out rows was measured; the model itself is complete.", err=True)
    if kept is not None and facts["stop_reason"] != INTERRUPTED:
        kept.remove()
    return fitted, facts


def _fit_auto(
    rows: TrainingData, options: dict[str, Any], settings: dict[str, Any], rng: Any, consumers: list[Any]
) -> Fitted:
    """Train by auto, with a part held out for probabilities if they are wanted."""
    if "calibration" not in settings:
        return fit_auto(rows.problem, options, rng, consumers, rows.held_by)
    from pairsift.data.holdout import hold_out, hold_out_by

    if rows.held_by is None:
        training, held_out = hold_out(rows.problem, CALIBRATION_SHARE, rng)
    else:
        training, held_out = hold_out_by(rows.held_by, rows.problem, CALIBRATION_SHARE, rng)
    return replace(fit_auto(training, options, rng, consumers, rows.held_by), held_out=held_out)


def _facts(problem: Problem, fitted: Fitted, reading: float, fitting: float) -> dict[str, Any]:
    held = fitted.held_out
    return {
        "rows": problem.n_points,
        "positives": problem.n_positive,
        "pairs": problem.n_pairs,
        **({} if held is None else {"held_out": {"rows": held.n_points, "positives": held.n_positive}}),
        **fitted.facts,
        "seconds_reading": round(reading, 3),
        "seconds_fitting": round(fitting, 3),
    }


def _write(
    output: str,
    rows: TrainingData,
    fitted: Fitted,
    settings: dict[str, Any],
    facts: dict[str, Any],
    calibration: Method | None,
    base_rate: float | None,
) -> None:
    from pairsift import __version__
    from pairsift.model import save_model, trained_model

    details = {"settings": settings, "training": {**facts, **fitted.record}, "pairsift_version": __version__}
    model = trained_model(rows, fitted.w, 0.0 - fitted.theta, details)
    if calibration is not None:
        from pairsift.calibration import calibrate_problem, positive_share

        assert fitted.held_out is not None
        # The held-out part has at most so many rows of each class; the data say how frequent positives are.
        rate = positive_share(rows.problem) if base_rate is None else base_rate
        model = calibrate_problem(model, fitted.held_out, fitted.w, 0.0 - fitted.theta, calibration, rate)
    save_model(model, output)
