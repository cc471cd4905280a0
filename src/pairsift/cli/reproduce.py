"""``pairsift reproduce``: the paper's experiments, into a store that a later run goes on with."""

from __future__ import annotations

import json
import shlex
import sys
from time import monotonic
from typing import TYPE_CHECKING, Any

import click

from pairsift.cli.options import JSON

if TYPE_CHECKING:
    from pairsift.experiments.progress import Progress
    from pairsift.experiments.results import Results

_SECONDS_BETWEEN_LINES = 5.0
_SHOWN_REASONS = 20


def _names(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[str, ...]:
    return () if value is None else tuple(name.strip() for name in value.split(",") if name.strip())


@click.command()
@click.option("--only", callback=_names, metavar="NAME,...", help="Experiments, as auc,time; all by default.")
@click.option(
    "--sets", callback=_names, metavar="NAME,...", help="Data sets, as a9a,bank; all of the paper by default."
)
@click.option("--seeds", type=click.IntRange(1), help="Initial pools a sampler.  [default: 10; 1 with --quick]")
@click.option("--jobs", type=click.IntRange(1), default=1, show_default=True, help="Cells at once; times run alone.")
@click.option(
    "--quick", is_flag=True, help="1 pool, 1 fold, B = 2000, fewer settings, 30 s a cell: some minutes in all."
)
@click.option("--retry", is_flag=True, help="Try cells again that failed or ran out of time.")
@click.option("--time-limit", type=click.FloatRange(0, min_open=True), help="Seconds a cell may take.")
@click.option("-o", "--output", default="results.sqlite", show_default=True, metavar="FILE", help="The store.")
@JSON
def reproduce(
    only: tuple[str, ...],
    sets: tuple[str, ...],
    seeds: int | None,
    jobs: int,
    quick: bool,
    retry: bool,
    time_limit: float | None,
    output: str,
    as_json: bool,
) -> None:
    """Run the paper's experiments; every finished cell is kept, and only what is missing is run.

    Stop it whenever you like: the same command goes on. Make the page of it with: pairsift report FILE -o report.html
    """
    from pairsift.data.datasets import DATASETS, find_dataset
    from pairsift.experiments.grids import EXPERIMENTS
    from pairsift.experiments.grids.plan import N_POOLS, Plan
    from pairsift.experiments.results import Results
    from pairsift.experiments.runner import reproduce as run

    unknown = [name for name in only if name not in EXPERIMENTS]
    if unknown:
        raise click.UsageError(f"There is no experiment {unknown[0]!r}; there are: {', '.join(EXPERIMENTS)}.")
    try:
        wanted = {find_dataset(name).name for name in sets} or set(DATASETS)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    chosen = tuple(name for name in DATASETS if name in wanted)  # in the order of the tables
    plan = Plan(sets=chosen, seeds=seeds or (1 if quick else N_POOLS), quick=quick, time_limit=time_limit)
    line = _Line()
    with Results(output, create=True) as results:
        try:
            progress = run(plan, results, only=only, jobs=jobs, retry=retry, show=line.show)
        except KeyboardInterrupt:
            line.end()
            click.echo(f"Stopped; finished cells are in {output}. To go on: {_command()}", err=True)
            raise click.exceptions.Exit(1) from None
        line.end()
        click.echo(json.dumps(_facts(progress, output)) if as_json else _text(results, progress, only))


def _command() -> str:
    return shlex.join(["pairsift", *sys.argv[1:]])


def _facts(progress: Progress, output: str) -> dict[str, Any]:
    return {"store": output, "run": progress.ended, "cells": dict(progress.statuses)}


def _text(results: Results, progress: Progress, only: tuple[str, ...]) -> str:
    counts = ", ".join(f"{count} {status}" for status, count in sorted(progress.statuses.items()))
    return "\n\n".join(filter(None, [_tables(results, only), _faults(results), _next(results, counts)]))


def _next(results: Results, counts: str) -> str:
    return f"{results.path}: cells {counts}. The page, with the figures: pairsift report {results.path} -o report.html"


def _tables(results: Results, only: tuple[str, ...]) -> str:
    """Return the tables of the experiments in Markdown; figures are for the page."""
    from pairsift.experiments.samples import Cells
    from pairsift.experiments.tables import all_tables
    from pairsift.report.markdown import tables_markdown

    return tables_markdown(table for table in all_tables(Cells(results)) if not only or table.key in only)


def _faults(results: Results) -> str:
    """Return what failed or ran out of time, with the reason; the first ones if there are many."""
    faults = [*results.rows(status="failed"), *results.rows(status="out of time")]
    lines = [
        f"{row.status}: {row.experiment} {row.dataset} {row.method} fold {row.fold} pool {row.pool} "
        f"{json.dumps(row.settings)}: {row.reason}"
        for row in faults[:_SHOWN_REASONS]
    ]
    if len(faults) > _SHOWN_REASONS:
        lines.append(f"and {len(faults) - _SHOWN_REASONS} more")
    return "\n".join([*lines, "Try them again with --retry."]) if faults else ""


class _Line:
    """Progress on standard error: one line that changes on a terminal, a line every few seconds elsewhere."""

    def __init__(self) -> None:
        self._terminal = sys.stderr.isatty()
        self._last = monotonic()
        self._width = 0

    def show(self, progress: Progress) -> None:
        """Show how far a run is, if the last time is long enough ago."""
        now = monotonic()
        if now - self._last < (0.2 if self._terminal else _SECONDS_BETWEEN_LINES):
            return
        self._last = now
        text = str(progress)
        if self._terminal:
            click.echo("\r" + text.ljust(self._width), nl=False, err=True)
            self._width = len(text)
        else:
            click.echo(text, err=True)

    def end(self) -> None:
        """End the line."""
        if self._width:
            click.echo(err=True)
