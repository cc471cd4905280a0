"""``pairsift compare``: is one ranking better than another on the same rows?"""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from pairsift.cli.evaluate import LEVEL
from pairsift.cli.options import JSON, label_options, pop_label_options

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pairsift._typing import FloatArray
    from pairsift.data.labelled import Labelled, LabelOptions
    from pairsift.model import LinearModel
    from pairsift.stats import PairedDifference

BASELINE = "logistic regression"


class Entrant(NamedTuple):
    """A ranking of the rows: its name, where it comes from, its scores, and what is to be said of its training."""

    name: str
    path: str
    scores: FloatArray
    training: dict[str, Any] | None = None


@click.command()
@click.argument("data", metavar="DATA", type=click.Path())
@click.argument("entrants", metavar="MODEL|SCORES...", nargs=-1, required=True, type=click.Path())
@click.option("--baseline", type=click.Choice(["logistic"]), help="Train a rival on the spot, from --train.")
@click.option("--train", metavar="DATA", type=click.Path(), help="Labelled rows that the baseline learns from.")
@click.option("--random-state", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the baseline.")
@click.option("--level", type=LEVEL, default=0.95, show_default=True, help="One minus the risk of any wrong claim.")
@label_options
@JSON
def compare(
    data: str,
    entrants: tuple[str, ...],
    baseline: str | None,
    train: str | None,
    random_state: int,
    level: float,
    as_json: bool,
    **options: Any,
) -> None:
    """Say which of several rankings of the labelled rows of DATA is better, and whether that can be more than chance.

    A ranking is a MODEL, or SCORES of another tool: a .csv, .txt or .npy file with one score for each row of DATA, in
    their order (or a column named score). Every pair is tested (DeLong, paired; corrected after Holm if there are
    several). Exit status 0 whichever wins.

    --baseline logistic trains logistic regression on the rows of --train, with the features of the first MODEL; its
    C, class weights and scaling are chosen by the AUC of held-out rows.
    """
    if (baseline is None) != (train is None):
        raise click.UsageError("--baseline and --train belong together: the baseline learns from --train.")
    if len(entrants) + (baseline is not None) < 2:
        raise click.UsageError("Two rankings are required: give another model or scores, or --baseline with --train.")
    if "-" in (data, train, *entrants):
        raise click.UsageError("Standard input is read once, but DATA is read for each model; give files.")
    if data.endswith(".safetensors"):
        raise click.UsageError(f"The labelled rows come first, but {data} is a model: compare DATA {data} ...")
    from pairsift.stats import auc_interval, compare_several

    reading = pop_label_options(options)
    labelled, rankings = _rankings(data, entrants, train, random_state, reading)
    y = labelled.positive
    found = compare_several(y, [entrant.scores for entrant in rankings], level)
    n_positive = int(y.sum())
    names = [entrant.name for entrant in rankings]
    facts = {
        "data": data,
        "rows": len(y),
        "positives": n_positive,
        "negatives": len(y) - n_positive,
        "labels": labelled.labels.tolist(),
        "level": level,
        "rankings": [
            {"name": entrant.name, "path": entrant.path}
            | dict(zip(("auc", "auc_low", "auc_high"), auc_interval(y, entrant.scores, level), strict=True))
            | ({} if entrant.training is None else {"training": entrant.training})
            for entrant in rankings
        ],
        "comparisons": [_comparison(pair, names, len(y)) for pair in found],
    }
    click.echo(json.dumps(facts) if as_json else _text(facts))


def _rankings(
    data: str, paths: Sequence[str], train: str | None, seed: int, options: LabelOptions
) -> tuple[Labelled, list[Entrant]]:
    """Return the labels of the data and all scores for its rows."""
    from pairsift.data.labelled import check_row_order, read_labels, score_labelled
    from pairsift.data.score_files import is_score_file, read_scores
    from pairsift.model import load_model

    models = {path: load_model(path) for path in paths if not is_score_file(path)}
    if len(models) < len(paths):
        check_row_order(data, options)
    first = next(iter(models.values()), None)
    trained = None if train is None else _baseline(train, first, seed, options)  # what takes long comes last
    scored = {path: score_labelled(data, model, options) for path, model in models.items()}
    labelled = next(iter(scored.values())) if scored else read_labels(data, options)
    for path, other in scored.items():
        _check_same_labels(data, labelled, other, path)
    rankings = []
    for name, path in zip(_names(paths), paths, strict=True):
        scores = scored[path].scores if path in scored else read_scores(path, len(labelled.positive))
        rankings.append(Entrant(name, path, scores))
    if trained is not None:
        assert train is not None
        own = score_labelled(data, trained, options)
        _check_same_labels(data, labelled, own, train)
        rankings.append(Entrant(BASELINE, train, own.scores, dict(trained.details)))
    return labelled, rankings


def _check_same_labels(data: str, first: Labelled, other: Labelled, path: str) -> None:
    if (first.positive != other.positive).any():
        from pairsift.data.labels import show

        raise ValueError(
            f"{path}: its positive label is {show(other.labels[1])}, that of the first model is "
            f"{show(first.labels[1])}, so that they rank the rows of {data} to different ends."
        )


def _baseline(train: str, like: LinearModel | None, seed: int, options: LabelOptions) -> LinearModel:
    """Train logistic regression with the features of a model or, where there is none, by the rules of training."""
    from dataclasses import asdict, replace

    import numpy as np

    from pairsift.data.labelled import read_labelled_rows
    from pairsift.data.training import DataOptions, open_training_data
    from pairsift.estimators.logistic import fit_logistic
    from pairsift.model import LinearModel

    if like is not None:
        problem = read_labelled_rows(train, like, options)
    else:
        made = open_training_data(train, DataOptions(**asdict(options)))
        problem = made.problem
    if sys.stderr.isatty():
        click.echo(f"Training logistic regression on {problem.n_points:,} rows, several tens of settings ...", err=True)
    try:
        fitted = fit_logistic(problem, unit=like is not None and like.scaling == "unit", seed=seed)
    except ValueError as error:
        raise ValueError(f"{train}: {error}") from error
    details = {
        "C": fitted.C,
        "class_weight": "balanced" if fitted.balanced else None,
        "scaling": fitted.scaling,
        "rows": problem.n_points,
        "held_out_auc": fitted.held_out_auc,
        "held_out_rows": fitted.held_out_rows,
        "settings_tried": fitted.n_settings,
        "converged": fitted.converged,
    }
    w, intercept = fitted.w[np.newaxis].copy(), np.array([fitted.intercept])
    if like is None:
        names = None if made.feature_names is None else np.array(made.feature_names, dtype=object)
        like = LinearModel(w, intercept, made.labels, names, encoding=made.encoding, zero_based=made.zero_based)
    return replace(like, coef_=w, intercept_=intercept, details=details, scaling=fitted.scaling, calibration=None)


def _names(paths: Sequence[str]) -> list[str]:
    """Return the names of the files, with their folders where the names alone are the same."""
    short = [os.path.basename(path) for path in paths]
    return list(short if len(set(short)) == len(short) else paths)


def _comparison(pair: PairedDifference, names: list[str], rows: int) -> dict[str, Any]:
    facts = pair._asdict()
    better = (pair.a if pair.difference > 0 else pair.b) if pair.differs else None
    return {
        **facts,
        "a": names[pair.a],
        "b": names[pair.b],
        "better": None if better is None else names[better],
        "sentence": _sentence(pair, names[pair.a], names[pair.b], rows),
    }


def _sentence(pair: PairedDifference, a: str, b: str, rows: int) -> str:
    if pair.difference == pair.low == pair.high:
        return f"Between {a} and {b} no difference can be shown on these {rows:,} rows: they rank them alike."
    better, worse = (a, b) if pair.difference > 0 else (b, a)
    difference, low, high = abs(pair.difference), pair.low, pair.high
    if pair.difference < 0:
        low, high = 0.0 - high, 0.0 - low
    digits = 4 if difference >= 0.0005 else 6
    ahead = f"{better} is ahead by {difference:.{digits}f}" if difference >= 5e-7 else "their AUCs agree to six digits"
    interval = f"{100 * pair.level:.4g} %: {low:.{digits}f} to {high:.{digits}f}"
    if pair.differs:
        return f"{better} is better by {difference:.{digits}f} ({interval}) than {worse}."
    return f"Between {a} and {b} no difference can be shown on these {rows:,} rows ({ahead}; {interval})."


def _text(facts: dict[str, Any]) -> str:
    from pairsift.data.labels import show

    width = max(len("AUC"), *(len(ranking["name"]) for ranking in facts["rankings"]))
    lines = [
        f"{facts['data']}: {facts['rows']:,} rows, {facts['positives']:,} of them positive "
        f"(label {show(facts['labels'][1])}).",
        "",
        f"{'':<{width}}  AUC     {100 * facts['level']:g} % interval",
    ]
    for ranking in facts["rankings"]:
        interval = f"{ranking['auc_low']:.4f} to {ranking['auc_high']:.4f}"
        lines.append(f"{ranking['name']:<{width}}  {ranking['auc']:.4f}  {interval}")
    lines += ["", *(pair["sentence"] for pair in facts["comparisons"])]
    for ranking in facts["rankings"]:
        if "training" in ranking:
            lines += ["", _training_words(ranking["path"], ranking["training"])]
    if len(facts["comparisons"]) > 1:
        lines += [
            "",
            f"{len(facts['comparisons'])} pairs were tested: the risk of any wrong claim among them is at most "
            f"{100 * (1 - facts['level']):.3g} % (Holm). Their\nintervals are made wider for it, by as much as it "
            "takes to leave out zero exactly where a difference is shown.",
        ]
    return "\n".join(lines)


def _training_words(path: str, facts: dict[str, Any]) -> str:
    weights = "balanced classes" if facts["class_weight"] else "classes as they are"
    scaling = {"none": "unscaled columns", "standard": "standardised columns", "unit": "rows of unit length"}
    end = "" if facts["converged"] else " Its last fit did not converge: scale the features."
    return (
        f"{BASELINE} was trained on the {facts['rows']:,} rows of {path}: C = {facts['C']:.3g}, {weights},\n"
        f"{scaling[facts['scaling']]}, the best of {facts['settings_tried']} settings by the AUC of "
        f"{facts['held_out_rows']:,} held-out rows.{end}"
    )
