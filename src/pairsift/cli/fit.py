"""``pairsift fit``: from a file of labelled rows to a model file."""

from __future__ import annotations

import json
import shlex
import time
from typing import TYPE_CHECKING, Any

import click

from pairsift.cli.methods import DEFAULTS, FITS, check_options, choose_strength, fit_active, options_of
from pairsift.cli.options import JSON, data_options, output_option, pop_data_options
from pairsift.cli.streams import check_output

if TYPE_CHECKING:
    from pairsift.cli.methods import Fitted
    from pairsift.data.problem import Problem
    from pairsift.data.training import TrainingData
    from pairsift.probabilities import Method

CALIBRATION_SHARE = 0.1
SAMPLINGS = ["block", "random", "soft-close", "soft-correct", "soft-tolerant", "hard-close", "hard-correct"]


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
    default="active",
    show_default=True,
    help="Active sampling of pairs; exact RankSVM over all pairs; point-wise SVM; combined ranking and regression.",
)
@click.option(
    "--C",
    "C",
    callback=_number_or_word,
    help='Strength: how much errors on the training rows count against large coefficients. Give "auto" to have it '
    "chosen on held-out rows. Without a word it is 0.1 for active and 800 for the others, the same weight in all.",
)
@click.option(
    "--gamma",
    callback=_number_or_word,
    help='Pairs against points: in [0, 1], "uniform" or "auto" (block: chosen; else 1).  [default: auto]',
)
@click.option(
    "--sampling",
    type=click.Choice(SAMPLINGS),
    help="block draws rows, the others are the paper's and draw pairs.  [default: block]",
)
@click.option("--bias-correction/--no-bias-correction", default=None, help="Weight pairs by 1 / p.  [default: yes]")
@click.option(
    "--threshold/--no-threshold", default=None, help="Learn a threshold from the points.  [default: only combined]"
)
@click.option(
    "--budget",
    callback=_budget,
    help="Pairs (block: rows of a class) as 8000, seconds as 30s, bytes as 2GB, or auto: 8000 pairs, 100000 rows.  "
    "[default: auto]",
)
@click.option("--batch-size", type=int, help="Pairs drawn a round.  [default: 100]")
@click.option(
    "--loss",
    type=click.Choice(["auto", "hinge", "squared_hinge", "logistic"]),
    help="Of exact: hinge (the default) or squared_hinge; of block: hinge, squared_hinge, logistic or auto (the "
    "default).",
)
@click.option("--point-loss", type=click.Choice(["hinge", "squared"]), help="Of combined.  [default: hinge]")
@click.option("--pair-probability", type=float, help="Chance that a step of combined takes a pair.  [default: 0.5]")
@click.option("--n-steps", type=int, help="Steps of combined.  [default: 100000]")
@click.option("--tol", type=float, help="Relative duality gap to reach.  [default: 0.001]")
@click.option("--max-iter", type=int, help="Passes at most in the last solve.  [default: 1000]")
@click.option("--validation", type=float, help="Share of the rows to hold out and watch, as 0.1.  [default: 0]")
@click.option("--early-stopping/--no-early-stopping", default=None, help="Stop when validation shows no more gain.")
@click.option(
    "--calibration",
    type=click.Choice(["logistic", "isotonic"]),
    help="Learn probabilities on the validation part, which is then 0.1 unless given.",
)
@click.option("--base-rate", type=float, help="Share of positives where the probabilities will be used.")
@click.option(
    "--random-state", type=click.IntRange(min=0), default=None, help="Seed; the same seed gives the same model."
)
@click.option("--checkpoint", metavar="DIR", type=click.Path(), help="Folder to keep the run in, so that it can go on.")
@click.option("--resume", is_flag=True, help="Go on from the checkpoint, if there is one; the same bits come out.")
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
@click.option("--ids", metavar="COLUMN", help="Column of row ids, with --engine; without it, places in the files.")
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
    as_json: bool,
    **given: Any,
) -> None:
    """Learn a linear model that puts positives ahead of negatives.

    DATA is svmlight / LIBSVM text, a NumPy file, a table (CSV, Parquet, Arrow), or a row store made by `pairsift
    convert`. Ctrl-C ends the sampling, and writes the model that was learned so far.
    """
    reading = pop_data_options(given)
    if calibration is not None and method == "active" and given["validation"] is None:
        given["validation"] = CALIBRATION_SHARE
    options = _checked(method, given, checkpoint, resume)
    _check_calibration(calibration, base_rate, options)
    from pairsift.data.training import open_training_data

    check_output(output, data)
    if engine is not None:
        from pairsift.cli.engine_fit import check_engine, fit_on

        check_engine(engine, method, options, reading, [checkpoint, calibration, scale if scale != "none" else None])
        facts = fit_on(engine, data, output, options, random_state, reading, ids)
        click.echo(json.dumps({"model": output, **facts}) if as_json else _engine_sentence(output, facts))
        return
    if ids is not None:
        raise click.UsageError("--ids is for --engine.")
    started = time.perf_counter()
    rows = open_training_data(data, reading, scale=scale)
    if rows.has_qid:
        click.echo(f"{data} has query ids; they are not used: pairs are formed across queries.", err=True)
    _name_ids(rows)
    read = time.perf_counter()
    settings = {"method": method, **options, "random_state": random_state, "scale": scale}
    if calibration is not None:
        settings["calibration"] = calibration
    options, strength = choose_strength(method, rows.problem, options, random_state)

    def write(fitted: Fitted) -> dict[str, Any]:
        rows.check_unchanged()
        facts = _facts(rows.problem, fitted, read - started, time.perf_counter() - read) | strength
        _write(output, rows, fitted, settings, facts, calibration, base_rate)
        return facts

    if method == "active":
        fitted, facts = _train(rows.problem, options, settings, checkpoint, resume, write)
    else:
        fitted = _fit_other(method, rows.problem, options, random_state, hold=calibration is not None)
        facts = write(fitted)
    if calibration is not None:
        _warn_of_few_rows(fitted, calibration, method)
    if not fitted.converged:
        click.echo(_unconverged(fitted, options), err=True)
    click.echo(json.dumps({"model": output, **facts}) if as_json else _sentence(output, method, facts))


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


def _checked(method: str, given: dict[str, Any], checkpoint: str | None, resume: bool) -> dict[str, Any]:
    try:
        options = options_of(method, given)
        check_options(method, options)
        if checkpoint is not None and method != "active":
            raise ValueError(f"--checkpoint is for --method active; got --method {method}.")
        if checkpoint is not None and options["sampling"] == "block":
            raise ValueError("--checkpoint is for the samplings of pairs, as --sampling soft-correct; got block.")
        if resume and checkpoint is None:
            raise ValueError("--resume needs the folder of the checkpoint: --checkpoint DIR.")
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
    from dataclasses import replace

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
    problem: Problem,
    options: dict[str, Any],
    settings: dict[str, Any],
    checkpoint: str | None,
    resume: bool,
    write: Any,
) -> tuple[Fitted, dict[str, Any]]:
    """Train by active sampling and write the model, with progress, checkpoints and Ctrl-C."""
    from pairsift.budget import parse_budget
    from pairsift.checkpoint import Checkpoint
    from pairsift.cli.interrupt import Interrupts
    from pairsift.cli.progress import Progress
    from pairsift.training_run import INTERRUPTED

    kept = None if checkpoint is None else Checkpoint(checkpoint, settings, resume=resume)
    rng = _generator(settings["random_state"])
    try:
        with Interrupts(INTERRUPTED) as interrupts:
            pairs = None if options["sampling"] == "block" else parse_budget(options["budget"]).pairs
            with Progress(pairs) as progress:
                fitted = fit_active(problem, options, rng, [interrupts, progress], kept)
            facts = write(fitted)
    except KeyboardInterrupt:
        raise click.Abort from None  # click would print an empty line before ours
    if facts["stop_reason"] == INTERRUPTED:
        more = "" if kept is None else " Go on with --resume."
        what = f"{facts['rows_used']:,} rows" if "rows_used" in facts else f"{facts['pairs_used']:,} pairs"
        click.echo(f"Interrupted: the model of {what} is written.{more}", err=True)
    elif kept is not None:
        kept.remove()
    return fitted, facts


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


def _engine_sentence(output: str, facts: dict[str, Any]) -> str:
    return (
        f"{output}: trained on {facts['pairs_used']:,} of {facts['pairs']:,} pairs "
        f"({facts['positives']:,} positive rows of {facts['rows']:,}) in {facts['seconds_fitting']:.2f} s and "
        f"{facts['passes']} passes; {facts['rows_moved']:,} rows came here; relative gap {facts['relative_gap']:.1e}."
    )


def _chosen(facts: dict[str, Any]) -> str:
    """Return what block training learned from, and how it came to that."""
    from pairsift.words import counted

    what = "pairs" if facts["gamma"] == 1 else "points" if facts["gamma"] == 0 else "pairs and points"
    settled = " " + f"{facts['loss'].replace('_', ' ')} {what}".capitalize()
    if not facts["trials"]:
        return f"{settled}."
    given = len({trial[2] for trial in facts["trials"]}) == 1  # one C was tried: the user's
    strength = "" if given else f" and C = {facts['C']:g}"
    grown = "" if given or facts["C"] in {trial[2] for trial in facts["trials"]} else ", C grown with the rows"
    steps = f", with {counted(facts['steps'], 'Newton step')}" if "steps" in facts else ""
    return f"{settled}{strength}{steps}, chosen from {counted(len(facts['trials']), 'trial')}{grown}."


def _sentence(output: str, method: str, facts: dict[str, Any]) -> str:
    held = facts.get("held_out", {"rows": 0, "positives": 0})
    rows, positives = facts["rows"] - held["rows"], facts["positives"] - held["positives"]
    there_are = positives * (rows - positives)
    pairs = f"{facts.get('pairs_used', 0):,} of {there_are:,} pairs"
    learned = {
        "active": f"{facts['rows_used']:,} of {facts['rows']:,} rows" if "rows_used" in facts else pairs,
        "exact": f"all {there_are:,} pairs",
        "pointwise": f"{rows:,} rows",
        "combined": f"{facts.get('steps', 0):,} random pairs and rows",
    }[method]
    from pairsift.training_run import BYTES_USED, SECONDS_USED
    from pairsift.words import counted

    gap = f"; relative gap {facts['relative_gap']:.1e}" if "relative_gap" in facts else ""
    watched = (
        f" C = {facts['C']:g}, chosen from {counted(len(facts['C_path']), 'trial')}." if facts.get("C_path") else ""
    )
    if "trials" in facts:
        watched = _chosen(facts)
    if facts.get("stop_reason") in (SECONDS_USED, BYTES_USED):
        watched += f" It ended by the {facts['stop_reason'].removesuffix(' reached')}."
    if "validation" in facts:
        check = facts["validation"]
        watched += f" AUC on the validation part {check['auc']:.4f} (95 %: {check['low']:.4f} to {check['high']:.4f})."
    kept = f"; {held['rows']:,} of them held out, {held['positives']:,} positive" if held["rows"] else ""
    in_all = " in the data" if facts.get("rows_used", facts["rows"]) != facts["rows"] or kept else ""
    return (
        f"{output}: trained on {learned} "
        f"({facts['positives']:,} positive and {facts['rows'] - facts['positives']:,} negative rows{in_all}{kept}) "
        f"in {facts['seconds_fitting']:.2f} s after {facts['seconds_reading']:.2f} s of reading{gap}.{watched}"
    )
