"""``pairsift score``: one score a row."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

import click

from pairsift.cli.options import FORMATS, output_option


@click.command()
@click.argument("model", metavar="MODEL", type=click.Path())
@click.argument("data", metavar="DATA", type=click.Path())
@output_option("Where the scores go, one a line; - is standard output.")
@click.option("--format", "format_", type=click.Choice(FORMATS), help="Format of the data; by default from its name.")
@click.option("--delimiter", help="What separates the columns of a CSV file.")
def score(model: str, data: str, output: str, format_: str | None, delimiter: str | None) -> None:
    """Score the rows of DATA with MODEL, block by block: the higher, the more positive.

    DATA may be any format that `pairsift fit` reads; - is standard input. The rows of a row store come in the order
    of the store.
    """
    from pairsift.data.scoring import ScoringOptions, open_scoring_blocks
    from pairsift.model import load_model

    linear = load_model(model)
    with _open_output(output) as file:
        for block in open_scoring_blocks(data, linear, ScoringOptions(format=format_, delimiter=delimiter)):
            scores = linear.decision_function(block.rows).tolist()
            file.write("".join(f"{value!r}\n" for value in scores).encode())


@contextmanager
def _open_output(output: str) -> Iterator[BinaryIO]:
    from pairsift.data.replacing import replacing

    if output != "-":
        with replacing(output) as file:
            yield file
    else:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
