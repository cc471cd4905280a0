"""``pairsift inspect``: what is in a model, and which rows contradict it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from pairsift.cli.options import JSON, label_options, plot_option, pop_label_options

if TYPE_CHECKING:
    from pairsift.data.labelled import LabelOptions
    from pairsift.inspection import Contribution, Suspect
    from pairsift.inspection.rounds import RoundAcceptance
    from pairsift.model import LinearModel
    from pairsift.pair_features import PairFeatures


@click.command()
@click.argument("model", metavar="MODEL", type=click.Path())
@click.option("--top", type=click.IntRange(min=1), default=20, show_default=True, help="Features to list.")
@click.option("--data", metavar="DATA", type=click.Path(), help="Labelled rows to take the contributions from.")
@click.option(
    "--suspects",
    metavar="DATA",
    type=click.Path(),
    help="List the rows of DATA that are probably mislabelled, by number, from 0 on.",
)
@click.option("--count", type=click.IntRange(min=1), default=100, show_default=True, help="Suspects to list at most.")
@plot_option("Draw the largest contributions and the acceptance by round (.svg, .png or .pdf).")
@label_options
@JSON
def inspect(
    model: str,
    top: int,
    data: str | None,
    suspects: str | None,
    count: int,
    plot: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Show what MODEL learned: its features by their part in the ranking, how it was trained, its probabilities.

    A feature's margin is what it adds, on average, to the margin of a pair of a positive and a negative row: its
    coefficient times the difference of the class means. They are those of training rows, or with --data of these.
    --suspects lists the rows whose label contradicts the ranking, by their number: the first row of data is row 0.
    """
    from pairsift.inspection import acceptance_by_round, contributions
    from pairsift.model import load_model

    if plot is not None:
        from pairsift.report.plots import check_picture

        check_picture(plot)
    reading = pop_label_options(options)
    linear = load_model(model)
    facts = linear.pair_features if data is None else _pair_features(data, linear, reading)
    features = contributions(linear, facts, top)
    rounds = acceptance_by_round(linear.details)
    found = None if suspects is None else _suspects(suspects, linear, reading, count)
    if plot is not None:
        from pairsift.report.inspection import draw_inspection

        draw_inspection(plot, features, rounds, linear.n_features_in_)
    if as_json:
        click.echo(json.dumps(_object(model, linear, facts, features, rounds, found)))
    elif found is not None:
        click.echo(_suspect_text(suspects or "", found, linear))
    else:
        click.echo("\n".join(_lines(model, linear, facts, features, rounds)))


def _pair_features(data: str, model: LinearModel, options: LabelOptions) -> PairFeatures:
    from pairsift.data.scaling import Scaling
    from pairsift.pair_features import pair_features

    scaling = Scaling("unit" if model.scaling == "unit" else "none")
    return pair_features(
        (scaling.apply(block.rows), block.positive, block.weights) for block in _labelled_blocks(data, model, options)
    )


def _suspects(data: str, model: LinearModel, options: LabelOptions, count: int) -> list[Suspect]:
    import numpy as np

    from pairsift.inspection import find_suspects

    scores, positive, rows = [], [], []
    for block in _labelled_blocks(data, model, options):
        scores.append(model.decision_function(block.rows))
        positive.append(block.positive)
        rows.append(block.original_rows)
    try:
        return find_suspects(np.concatenate(scores), np.concatenate(positive), count, np.concatenate(rows))
    except ValueError as error:
        raise ValueError(f"{data}: {error}") from error


def _labelled_blocks(data: str, model: LinearModel, options: LabelOptions) -> Any:
    from pairsift.data.labelled import check_positive
    from pairsift.data.scoring import ScoringOptions, open_scoring_blocks

    check_positive(model.classes_, options.positive)
    reading = ScoringOptions(with_labels=True, label=options.label, format=options.format, delimiter=options.delimiter)
    return open_scoring_blocks(data, model, reading)


def _object(
    path: str,
    model: LinearModel,
    facts: PairFeatures | None,
    features: list[Contribution],
    rounds: list[RoundAcceptance],
    suspects: list[Suspect] | None,
) -> dict[str, Any]:
    found: dict[str, Any] = {
        "model": path,
        "n_features": model.n_features_in_,
        "labels": model.classes_.tolist(),
        "intercept": float(model.intercept_[0]),
        "scaling": model.scaling,
        "settings": model.details.get("settings"),
        "training": model.details.get("training"),
        "pairsift_version": model.details.get("pairsift_version"),
        "calibration": None if model.calibration is None else model.calibration.to_json(),
        "contributions_of_rows": None
        if facts is None
        else {"positive": facts.n_positive, "negative": facts.n_negative},
        "features": [feature._asdict() for feature in features],
        "rounds": [record._asdict() for record in rounds],
    }
    if suspects is not None:
        found["suspects"] = [
            {**suspect._asdict(), "label": model.classes_[int(suspect.positive)].item()} for suspect in suspects
        ]
    return found


def _lines(
    path: str,
    model: LinearModel,
    facts: PairFeatures | None,
    features: list[Contribution],
    rounds: list[RoundAcceptance],
) -> list[str]:
    from pairsift.cli.inspect_text import calibration_line, feature_lines, heading, rounds_line, training_lines

    return [
        *heading(path, model),
        *training_lines(model.details),
        *rounds_line(rounds),
        *calibration_line(model.calibration),
        "",
        *feature_lines(features, facts, model.n_features_in_),
    ]


def _suspect_text(data: str, suspects: list[Suspect], model: LinearModel) -> str:
    from pairsift.cli.inspect_text import suspect_lines

    return "\n".join(suspect_lines(data, suspects, model.classes_))
