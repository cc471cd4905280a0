"""``pairsift score``: one score a row."""

from __future__ import annotations

import click

from pairsift.cli.options import OUTPUT


@click.command()
@click.argument("model", metavar="MODEL", type=click.Path())
@click.argument("data", metavar="DATA", type=click.Path())
@OUTPUT("Where the scores go, one a line; - is standard output.")
def score(model: str, data: str, output: str) -> None:
    """Score the rows of DATA (svmlight / LIBSVM text) with MODEL; the higher, the more positive."""
    from pairsift.data.replacing import replacing
    from pairsift.data.svmlight import read_svmlight_rows
    from pairsift.model import load_model

    linear = load_model(model)
    rows = read_svmlight_rows(data, n_features=linear.n_features_in_).rows
    text = "".join(f"{value!r}\n" for value in linear.decision_function(rows).tolist())
    if output == "-":
        click.echo(text, nl=False)
    else:
        with replacing(output) as file:
            file.write(text.encode())
