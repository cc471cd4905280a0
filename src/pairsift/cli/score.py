"""``pairsift score``: one score a row, or the best rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from pairsift.cli.options import DELIMITER, FORMAT, output_option
from pairsift.cli.streams import STANDARD_OUTPUT, check_output, open_output

if TYPE_CHECKING:
    from pairsift._typing import FloatArray, IntArray
    from pairsift.model import LinearModel


class _Scored(NamedTuple):
    """Some rows: their numbers, scores and, where they were asked for, ids."""

    rows: IntArray
    scores: FloatArray
    ids: Sequence[str | None] | None


@click.command()
@click.argument("model", metavar="MODEL", type=click.Path())
@click.argument("data", metavar="DATA", type=click.Path())
@output_option("Where the scores go; - is standard output.")
@click.option(
    "--top",
    type=click.IntRange(min=1),
    metavar="K",
    help="Only the K highest scores, best first, with the number of the row, from 0 on.",
)
@click.option("--ids", metavar="COLUMN", help="Column of a table to put before each score.")
@click.option("--rows", "with_rows", is_flag=True, help="Put the number of the row, from 0 on, before each score.")
@click.option("--probability", is_flag=True, help="Probabilities in place of scores, if the model is calibrated.")
@click.option("--base-rate", type=float, help="Share of positives in DATA, if it is not that of the calibration.")
@FORMAT
@DELIMITER
def score(
    model: str,
    data: str,
    output: str,
    top: int | None,
    ids: str | None,
    with_rows: bool,
    probability: bool,
    base_rate: float | None,
    format: str | None,
    delimiter: str | None,
) -> None:
    """Score the rows of DATA with MODEL, block by block: the higher, the more positive.

    DATA may be any format that `pairsift fit` reads; - is standard input. One score a line; with --ids, --rows or --top
    CSV with a header. Rows have numbers from 0 on: the first row of data (of a table, the line after the names) is row
    0. --top lists equal scores in the order of the rows. The rows of a row store come in the order of the store, their
    numbers are the original ones.
    """
    from pairsift.data.scoring import ScoringOptions
    from pairsift.model import load_model

    check_output(output, model, data)
    linear = load_model(model)
    value = _value_of(linear, probability, base_rate)
    scored = _scored(data, linear, ScoringOptions(ids=ids, format=format, delimiter=delimiter))
    if top is not None:
        scored = iter([_highest(scored, top)])
    names = [
        *(["row"] if with_rows or top else []),
        *(["id"] if ids else []),
        "probability" if probability else "score",
    ]
    written = 0
    with open_output(output) as file:
        for place, part in enumerate(scored):  # the header comes with the first rows: a fault before them prints none
            if place == 0 and len(names) > 1:
                file.write(_csv([names]))
            values = value(part.scores).tolist()
            written += len(values)
            if len(names) == 1:
                file.write("".join(f"{number!r}\n" for number in values).encode())
            else:
                columns = [part.rows.tolist()] * ("row" in names) + [part.ids or []] * ("id" in names)
                file.write(_csv(zip(*columns, values, strict=True)))
    if output != STANDARD_OUTPUT:
        from pairsift.words import counted

        probabilities = "1 probability" if written == 1 else f"{written:,} probabilities"
        click.echo(f"{output}: {probabilities if probability else counted(written, 'score')}.")


def _value_of(model: LinearModel, probability: bool, base_rate: float | None) -> Callable[[FloatArray], FloatArray]:
    """Return what is shown of a score: itself, or the probability."""
    if not probability:
        if base_rate is not None:
            raise click.UsageError("--base-rate corrects probabilities; give --probability too.")
        return lambda scores: scores
    if model.calibration is None:
        raise ValueError(
            "The model gives scores, not probabilities; train it with pairsift fit --calibration logistic or isotonic."
        )
    if base_rate is None:
        return model.calibration.probabilities
    try:
        return model.calibration.with_base_rate(base_rate).probabilities
    except ValueError as error:
        raise click.UsageError(str(error)) from error


def _scored(data: str, model: LinearModel, options: Any) -> Iterator[_Scored]:
    from pairsift.data.scoring import open_scoring_blocks

    for block in open_scoring_blocks(data, model, options):
        yield _Scored(block.original_rows, model.decision_function(block.rows), block.ids)


def _highest(parts: Iterable[_Scored], count: int) -> _Scored:
    """Return the rows with the highest scores, best first, holding no more than `count` rows and a block."""
    import numpy as np

    rows, scores = np.empty(0, dtype=np.int64), np.empty(0)
    ids: list[str | None] = []
    for part in parts:
        rows, scores = np.concatenate([rows, part.rows]), np.concatenate([scores, part.scores])
        best = np.lexsort((rows, -scores))[:count]
        if part.ids is not None:
            ids = [ids[k] if k < len(ids) else part.ids[k - len(ids)] for k in best.tolist()]
        rows, scores = rows[best], scores[best]
    return _Scored(rows, scores, ids)


def _csv(lines: Iterable[Iterable[Any]]) -> bytes:
    import csv
    import io

    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(lines)
    return text.getvalue().encode()
