"""``pairsift bench``: data sets x methods x peers, side by side."""

from __future__ import annotations

import json
import sys
from typing import Any

import click

from pairsift.cli.options import JSON, output_option

_DEFAULT_METHODS = "wsvm,eranksvm,ranksvm-squared,crr,random,soft-close,soft-correct"


def _names(ctx: click.Context, param: click.Parameter, value: str | None) -> list[str]:
    return [name.strip() for name in (value or "").split(",") if name.strip()]


@click.command()
@click.option("--sets", callback=_names, help="Data sets, comma-separated; by default all that are here.")
@click.option("--methods", callback=_names, default=_DEFAULT_METHODS, show_default=True, help="What to measure.")
@click.option(
    "--peer", "peers", callback=_names, default="liblinear-wsvm", show_default=True, help="What to compare with."
)
@click.option("--repeats", type=click.IntRange(min=1), default=3, show_default=True, help="The least time counts.")
@click.option("--threads", type=click.IntRange(min=1), default=1, show_default=True, help="Threads of libraries.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of every method.")
@click.option("--scale-C", "scale_C", type=float, default=1.0, show_default=True, help="Times the paper's C.")
@click.option("--budget", type=click.IntRange(min=1), default=8000, show_default=True, help="Pairs to train on.")
@click.option("--batch-size", type=click.IntRange(min=1), default=100, show_default=True, help="Pairs a round.")
@click.option("--time-limit", type=click.FloatRange(min=0, min_open=True), help="Seconds that one training may take.")
@click.option("--check", is_flag=True, help="End with status 1 if a method misses pairsift's own limit in time.")
@click.option("--list", "list_methods", is_flag=True, help="List the methods and end.")
@JSON
@output_option("Where the record goes: Markdown, or JSON with --json or a name that ends in .json.")
def bench(
    sets: list[str],
    methods: list[str],
    peers: list[str],
    repeats: int,
    threads: int,
    time_limit: float | None,
    check: bool,
    list_methods: bool,
    as_json: bool,
    output: str,
    **setting: Any,
) -> None:
    """Measure training time, memory and held-out AUC of METHODS beside peers, on the paper's data sets.

    A method may carry parameters: soft-correct:gamma=0.5:threshold=true. Everything has the paper's strength,
    C = 0.1 a pair with 8000 pairs, or 800 for the mean loss.
    """
    from pairsift.data.datasets import find_dataset, list_here
    from pairsift.experiments.bench import Plan, run_bench
    from pairsift.experiments.bench_table import LIMIT_PEER, markdown, missed_limits
    from pairsift.experiments.methods import Setting, find_method

    if list_methods:
        click.echo(_list_methods())
        return
    if check and LIMIT_PEER not in peers:
        peers = [*peers, LIMIT_PEER]
    try:
        sets = [find_dataset(name).name for name in sets or list_here()]
        plan = Plan(sets, methods, peers, repeats, threads, Setting(**setting), time_limit)
        for name in plan.all_methods:
            find_method(name)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    if not sets:
        raise click.ClickException("No data set is here; run: pairsift datasets list")
    record = run_bench(plan, progress=lambda line: click.echo(line, err=True) if sys.stderr.isatty() else None)
    _write(record, markdown(record), as_json, output)
    missed = missed_limits(record) if check else []
    for line in missed:
        click.echo(f"over the limit: {line}", err=True)
    if missed:
        raise click.exceptions.Exit(1)


def _write(record: dict[str, Any], table: str, as_json: bool, output: str) -> None:
    from pairsift.data.replacing import replacing

    as_json = as_json or output.endswith(".json")
    text = json.dumps(record, indent=1) + "\n" if as_json else table
    if output == "-":
        click.echo(text, nl=False)
        return
    with replacing(output) as file:
        file.write(text.encode())
    if as_json:
        click.echo(table, nl=False)


def _list_methods() -> str:
    from pairsift.experiments.methods import METHODS

    lines = [f"{'name':<27}{'paper':<15}{'origin':<10}here"]
    for method in METHODS.values():
        here = method.skip() or "yes"
        lines.append(f"{method.name:<27}{method.paper_name or '':<15}{method.origin:<10}{here}")
    return "\n".join(lines)
