"""``pairsift export``: a model for where pairsift is not."""

from __future__ import annotations

import sys

import click

from pairsift.cli.options import output_option
from pairsift.cli.streams import STANDARD_OUTPUT, check_output, open_output

_KINDS = {"onnx": "ONNX", "json": "JSON", "sql": "SQL", "python": "Python"}
TARGETS = list(_KINDS)


@click.command()
@click.argument("model", metavar="MODEL", type=click.Path())
@click.option("--to", "target", type=click.Choice(TARGETS), required=True, help="What to write.")
@output_option("Where it goes; - is standard output.")
@click.option("--probability", is_flag=True, help="The SQL expression of the probability, if the model is calibrated.")
def export(model: str, target: str, output: str, probability: bool) -> None:
    """Write MODEL in a form that other programs can score with.

    onnx: a graph for onnxruntime, in double precision (needs the extra [onnx]). json: everything in the model file.
    sql: an expression over the columns of the table. python: a module with a function score(row) that needs nothing
    else.
    """
    if probability and target != "sql":
        raise click.UsageError("--probability is for --to sql; the others have both where the model is calibrated.")
    if target == "onnx" and output == STANDARD_OUTPUT and sys.stdout.isatty():
        raise click.UsageError("ONNX is not text; give a file with -o.")
    from pairsift.export import export_model
    from pairsift.model import load_model

    check_output(output, model)
    content = export_model(load_model(model), target, probability=probability)
    with open_output(output) as file:
        file.write(content)
    if output != STANDARD_OUTPUT:
        click.echo(f"{output}: {model} as {_KINDS[target]}, {len(content):,} bytes.")
