"""``pairsift split``: one file of labelled rows as two, to train and to test on."""

from __future__ import annotations

import json
from typing import Any

import click

from pairsift.cli.options import FORMAT, JSON


def _two_files(context: click.Context, parameter: click.Parameter, names: tuple[str, str]) -> tuple[str, str]:
    if names[1].startswith("-"):
        raise click.BadParameter(
            f"two files are required, one to train and one to test on; got {names[0]} and then {names[1]}."
        )
    return names


@click.command()
@click.argument("data", metavar="DATA", type=click.Path())
@click.option(
    "-o",
    "--output",
    "outputs",
    nargs=2,
    metavar="TRAIN TEST",
    type=click.Path(),
    required=True,
    callback=_two_files,
    help="Files to write.",
)
@click.option(
    "--test",
    "share",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.25,
    show_default=True,
    help="Share of the rows of each label to test on.",
)
@click.option("--random-state", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the draw.")
@click.option("--label", help="Column of the labels (tables).")
@FORMAT
@click.option("--delimiter", help="What separates the columns of a CSV file, as ';'.  [default: a comma]")
@JSON
def split(data: str, outputs: tuple[str, str], share: float, random_state: int, as_json: bool, **options: Any) -> None:
    """Split the rows of DATA into two files, one to train and one to test on.

    DATA is svmlight / LIBSVM text, CSV, Parquet or Arrow. Rows are drawn at random, of each label the same share, and
    stay as they are and in their order. Where several rows belong together (visits of one patient, days of one shop),
    split by hand, so that they are on one side: else the test tells what was learned by heart.
    """
    from pairsift.data.labelled import LabelOptions
    from pairsift.data.labels import show
    from pairsift.data.replacing import check_writable
    from pairsift.data.split import split_file
    from pairsift.words import counted

    for name in outputs:
        check_writable(name)
    counts = split_file(data, outputs, share, random_state, LabelOptions(**options))
    if as_json:
        parts = [
            {"file": name, "rows": sum(part.values()), "labels": [[label, n] for label, n in part.items()]}
            for name, part in zip(outputs, counts, strict=True)
        ]
        click.echo(json.dumps({"train": parts[0], "test": parts[1]}))
        return
    for name, part in zip(outputs, counts, strict=True):
        labels = ", ".join(f"{n:,} with label {show(label)}" for label, n in list(part.items())[:10])
        click.echo(f"{name}: {counted(sum(part.values()), 'row')}: {labels}{', ...' if len(part) > 10 else ''}.")
