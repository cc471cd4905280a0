"""`pairsift report results.sqlite -o report.html`: what the store of a reproduction says, as a page and as Markdown."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from pairsift.data.compressed import ENDINGS, is_damage, open_binary
from pairsift.data.replacing import replacing


@click.command()
@click.argument("results", type=click.Path(path_type=Path), default=Path("results.sqlite"))
@click.option("-o", "--output", default="report.html", show_default=True, help="The HTML page; - is standard output.")
@click.option(
    "--markdown", "markdown_path", metavar="FILE", help="Also write the report as Markdown; - is standard output."
)
def report(results: Path, output: str, markdown_path: str | None) -> None:
    """Make a page of RESULTS, a store of pairsift reproduce (results.sqlite unless named; also .xz, .gz, .bz2, .zst).

    The page holds every table beside the paper's, every figure as an interactive plot, and what our numbers say of the
    paper's claims. It is one file that works offline.
    """
    if output == "-" and markdown_path == "-":
        raise click.UsageError("The page and the Markdown cannot both go to standard output.")
    # The tables need NumPy and SciPy: only who makes a report waits for them.
    from dataclasses import replace

    from pairsift.experiments.results import Results
    from pairsift.report import build_report, markdown, page

    with _decompressed(results) as path, Results(path) as opened:
        made = replace(build_report(opened), store=results.name)
    _write(output, page(made))
    if markdown_path is not None:
        _write(markdown_path, markdown(made))
    click.echo(made.headline, err=True)


@contextmanager
def _decompressed(path: Path) -> Iterator[Path]:
    if path.suffix.lower() not in ENDINGS:
        yield path
        return
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder) / path.stem
        try:
            with open_binary(path) as packed, plain.open("wb") as file:
                shutil.copyfileobj(packed, file)
        except Exception as error:
            if is_damage(error):
                raise ValueError(f"{path} is cut off or damaged: {error}.") from error
            raise
        yield plain


def _write(path: str, text: str) -> None:
    if path == "-":
        click.echo(text, nl=False)
        return
    with replacing(path) as file:
        file.write(text.encode())
    click.echo(f"wrote {path}", err=True)
