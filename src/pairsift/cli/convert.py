"""``pairsift convert``: labelled rows of any format to a row store."""

from __future__ import annotations

import json
import os
from typing import Any

import click

from pairsift.cli.options import JSON, data_options, output_option, pop_data_options
from pairsift.cli.streams import check_output, say_positive


@click.command()
@click.argument("data", metavar="INPUT", type=click.Path())
@output_option("Row store to write (Arrow).", required=True)
@click.option("--memory", default="256MB", show_default=True, help="About how much memory may be used.")
@data_options
@JSON
def convert(data: str, output: str, memory: str, as_json: bool, **options: Any) -> None:
    """Convert INPUT to a row store: a file from which `pairsift fit` reads only the rows that it draws.

    INPUT is svmlight / LIBSVM text, a NumPy file or a table (CSV, Parquet, Arrow). An older OUTPUT is replaced only
    when the new one is complete.
    """
    from pairsift.data.convert import convert as write_store
    from pairsift.data.formats import is_row_store
    from pairsift.data.training import open_convert_source
    from pairsift.words import counted

    check_output(output, data)
    reading = pop_data_options(options)
    with open_convert_source(data, reading) as source:
        store = write_store(
            source.blocks, output, memory=memory, positive=source.positive, extra=source.extra, by_meaning=True
        )
    if reading.positive is None and not (os.path.isfile(data) and is_row_store(data)):
        say_positive(store.labels, store.n_positive, store.n_rows)
    facts = {
        "store": output,
        "positives": store.n_positive,
        "negatives": store.n_negative,
        "features": store.n_features,
        "labels": store.labels.tolist(),
    }
    wide = counted(store.n_features, "feature")
    counts = f"{store.n_positive:,} positive and {store.n_negative:,} negative rows x {wide}"
    click.echo(json.dumps(facts) if as_json else f"{output}: {counts}.")
