"""`pairsift datasets list | fetch NAME | verify [NAME]`: the paper's data sets."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from pairsift.data.datasets import Dataset, Verification
    from pairsift.data.datasets.verify import Check


def _find(ctx: click.Context, param: click.Parameter, value: str) -> Dataset:
    from pairsift.data.datasets import DatasetError, find_dataset

    try:
        return find_dataset(value)
    except DatasetError as error:
        raise click.BadParameter(str(error), ctx, param) from None


def _find_all(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> list[Dataset]:
    return [_find(ctx, param, value) for value in values]


@click.group()
def datasets() -> None:
    """List, fetch and verify the paper's data sets."""


@datasets.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print for machines.")
def list_command(as_json: bool) -> None:
    """Show the paper's data sets, and which of them are here."""
    from pairsift.data.datasets import DATASETS

    records = [_describe(dataset) for dataset in DATASETS.values()]
    if as_json:
        click.echo(json.dumps(records, indent=1))
        return
    click.echo(f"{'name':10s} {'points':>9s} {'positives':>9s} {'dimension':>9s}  AUC   here  positive")
    for dataset, record in zip(DATASETS.values(), records, strict=True):
        here = "yes" if record["here"] else "no" if dataset.fetchable else "ask"
        click.echo(
            f"{dataset.name:10s} {dataset.points:9d} {dataset.positives:9d} {dataset.dimension:9d}  {dataset.auc:4s}  "
            f"{here:4s}  {dataset.positive}"
        )
    click.echo("here: yes; no (pairsift datasets fetch NAME gets it); ask (licensed: fetch NAME says how to obtain it)")


@datasets.command("fetch")
@click.argument("dataset", metavar="NAME", callback=_find)
@click.option("--folder", type=click.Path(path_type=Path), help="Where to write; the user's cache folder by default.")
@click.option(
    "--raw",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="A folder with the published files, for sets that cannot be downloaded freely.",
)
@click.option("--force", is_flag=True, help="Fetch even what is there and right.")
@click.option("--unverified", is_flag=True, help="Download files whose checksum is not known too.")
@click.option("--json", "as_json", is_flag=True, help="Print for machines.")
def fetch_command(
    dataset: Dataset, folder: Path | None, raw: Path | None, force: bool, unverified: bool, as_json: bool
) -> None:
    """Download a data set, prepare it and compare it with the paper's table. A download that was cut off goes on."""
    from pairsift.data.datasets import fetch

    try:
        progress = _Bar() if sys.stderr.isatty() else None
        result = fetch(dataset, folder=folder, raw=raw, force=force, unverified=unverified, progress=progress)
    except (ValueError, OSError) as error:
        raise click.ClickException(str(error)) from error
    _report([result], as_json)


@datasets.command("verify")
@click.argument("chosen", metavar="[NAME]...", nargs=-1, callback=_find_all)
@click.option("--json", "as_json", is_flag=True, help="Print for machines.")
def verify_command(chosen: list[Dataset], as_json: bool) -> None:
    """Compare data sets that are here with the paper's table; by default all of them."""
    from pairsift.data.datasets import DATASETS, verify

    try:
        results = [verify(dataset.name) for dataset in chosen or DATASETS.values()]
    except (ValueError, OSError) as error:
        raise click.ClickException(str(error)) from error
    _report(results, as_json, missing_is_fault=bool(chosen))


def _describe(dataset: Dataset) -> dict[str, Any]:
    from pairsift.data.datasets import part_path

    path = part_path(dataset.name)
    return {
        "name": dataset.name,
        "paper_name": dataset.paper_name,
        "points": dataset.points,
        "positives": dataset.positives,
        "negatives": dataset.negatives,
        "pairs": dataset.pairs,
        "dimension": dataset.dimension,
        "auc": dataset.auc,
        "multiclass": dataset.multiclass,
        "positive": dataset.positive,
        "published": dataset.published,
        "licence": dataset.licence,
        "obtain": dataset.obtain or f"pairsift datasets fetch {dataset.name}",
        "here": path is not None,
        "folder": None if path is None else str(path.parent),
    }


def _report(results: list[Verification], as_json: bool, missing_is_fault: bool = True) -> None:
    if as_json:
        click.echo(json.dumps([result.as_dict() for result in results], indent=1))
    else:
        for result in results:
            click.echo(_one_line(result))
    faults = ("different", "not here") if missing_is_fault else ("different",)
    if any(result.status in faults for result in results):
        raise click.exceptions.Exit(1)


def _one_line(result: Verification) -> str:
    notes = [_note(check) for check in result.checks if check.status != "equal"]
    return f"{result.name:10s} {result.status}" + (": " + "; ".join(notes) if notes else "")


def _note(check: Check) -> str:
    from pairsift.data.datasets.verify import COUNTS

    source = "in the paper" if check.what in COUNTS else "expected"
    return f"{check.what} {check.here}, {source} {check.expected}" + (f" ({check.reason})" if check.reason else "")


class _Bar:
    """A line on standard error that shows how far a download is."""

    def __init__(self) -> None:
        self.file = ""

    def __call__(self, name: str, done: int, total: int | None) -> None:
        if self.file and name != self.file:
            click.echo(err=True)
        self.file = name
        share = f"{100 * done / total:5.1f} % of {total / 1e6:.1f} MB" if total else f"{done / 1e6:.1f} MB"
        click.echo(f"\r{name}: {share}", nl=total is not None and done >= total, err=True)
        if total is not None and done >= total:
            self.file = ""
