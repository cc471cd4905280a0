"""``pairsift bench``: data sets x methods x peers, side by side."""

from __future__ import annotations

import json
import sys
from typing import Any

import click

from pairsift.cli.options import JSON, output_option

_DEFAULT_METHODS = "wsvm,eranksvm,ranksvm-squared,crr,random,soft-close,soft-correct"
_DEFAULT_PEER = "liblinear-wsvm"


def _names(ctx: click.Context, param: click.Parameter, value: str | None) -> list[str]:
    return [name.strip() for name in (value or "").split(",") if name.strip()]


def _programs(ctx: click.Context, param: click.Parameter, value: tuple[str, ...]) -> dict[str, str]:
    for text in value:
        if not all(text.partition("=")):
            raise click.BadParameter(f"must be NAME=PATH, as svm_perf=/opt/svm_perf_learn; got {text!r}.")
    return {name: place for name, _, place in (text.partition("=") for text in value)}


@click.command()
@click.option("--sets", callback=_names, help="Data sets, comma-separated; by default all that are here.")
@click.option("--methods", callback=_names, help=f"What to measure.  [default: {_DEFAULT_METHODS}]")
@click.option("--peer", "peers", callback=_names, help=f"What to compare with.  [default: {_DEFAULT_PEER}]")
@click.option("--tune", is_flag=True, help="Each method also with its C chosen on a validation part.")
@click.option("--frontier", is_flag=True, help="AUC against time: curves of anytime methods, points of all peers.")
@click.option("--curves", callback=_names, help="Anytime methods of the frontier.")
@click.option(
    "--program",
    "programs",
    multiple=True,
    callback=_programs,
    metavar="NAME=PATH",
    help="Where an external program is: svm_perf, sofia_ml, ranksvm (LIBLINEAR's train with RankSVM) or vw.",
)
@click.option("--from", "sources", multiple=True, type=click.Path(exists=True, dir_okay=False), metavar="FILE",
              help="JSON of an earlier run: measure nothing. Several are put together.")  # fmt: skip
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
@output_option(
    "Where the record goes: Markdown, JSON with --json or a name that ends in .json, or, with --frontier, a picture "
    "(.svg, .png, .pdf) with the JSON beside it."
)
def bench(
    programs: dict[str, str], list_methods: bool, sources: tuple[str, ...], frontier: bool, output: str, **options: Any
) -> None:
    """Measure training time, memory and held-out AUC of METHODS beside peers, on the paper's data sets.

    A method may carry parameters: soft-correct:gamma=0.5:threshold=true. Everything has the paper's C,
    C = 0.1 a pair with 8000 pairs, or 800 for the mean loss; soft-correct:C=tuned has its C chosen on a validation
    part of the training rows.
    """
    from pairsift.experiments.frontier import join
    from pairsift.experiments.programs import name_places

    try:
        name_places(programs)
        if list_methods:
            click.echo(_list_methods())
            return
        _check_output(output, frontier)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    check, as_json = options.pop("check"), options.pop("as_json")
    record = join([_read(path) for path in sources]) if sources else _measure(frontier, check, **options)
    _write(record, frontier, as_json, output)
    _end(record, check)


def _measure(
    frontier: bool,
    check: bool,
    sets: list[str],
    methods: list[str],
    peers: list[str],
    curves: list[str],
    tune: bool,
    repeats: int,
    threads: int,
    time_limit: float | None,
    **setting: Any,
) -> dict[str, Any]:
    from pairsift.data.datasets import find_dataset, list_here
    from pairsift.experiments import frontier as default
    from pairsift.experiments.bench import Plan, run_bench, with_tuned
    from pairsift.experiments.bench_table import LIMIT_PEER
    from pairsift.experiments.methods import Setting

    if frontier:
        methods, peers, curves = methods or [*default.OURS], peers or [*default.PEERS], curves or [*default.CURVES]
    else:
        methods, peers = methods or _DEFAULT_METHODS.split(","), peers or [_DEFAULT_PEER]
    if check and LIMIT_PEER not in peers:
        peers = [*peers, LIMIT_PEER]
    try:
        sets = [find_dataset(name).name for name in sets or list_here()]
        if tune or frontier:
            # Trees are drawn as a ceiling only, and a thousand of them take longer than all the rest.
            methods, peers, curves = (with_tuned(names, trees=tune) for names in (methods, peers, curves))
        plan = Plan(sets, methods, peers, repeats, threads, Setting(**setting), time_limit, curves)
        plan.check()
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    if not sets:
        raise click.ClickException("No data set is here; run: pairsift datasets list")
    return run_bench(plan, progress=lambda line: click.echo(line, err=True) if sys.stderr.isatty() else None)


def _read(path: str) -> dict[str, Any]:
    try:
        with open(path, encoding="utf-8") as file:
            record: dict[str, Any] = json.load(file)
        if not all(isinstance(record[key], list) for key in ("cells", "peers", "methods")):
            raise ValueError
    except (ValueError, KeyError, TypeError) as error:
        raise click.ClickException(
            f"{path}: not a record of pairsift bench; write one with: bench -o x.json"
        ) from error
    return {"curves": [], **record}


def _is_picture(output: str) -> bool:
    return output.lower().endswith((".svg", ".png", ".pdf"))


def _check_output(output: str, frontier: bool) -> None:
    """Refuse a picture that cannot be written before hours of measuring."""
    if not _is_picture(output):
        return
    if not frontier:
        raise ValueError("A picture is drawn with --frontier.")
    from pairsift.report.plots import check_picture

    check_picture(output)


def _write(record: dict[str, Any], frontier: bool, as_json: bool, output: str) -> None:
    from pathlib import Path

    from pairsift.data.replacing import replacing
    from pairsift.experiments import bench_table
    from pairsift.experiments import frontier as front

    table = bench_table.markdown(record)
    if frontier:
        table = f"{front.markdown(record)}\n{table}"
    text = json.dumps(record, indent=1) + "\n"
    picture = _is_picture(output)
    as_json = as_json or output.endswith(".json")
    if output == "-":
        click.echo(text if as_json else table, nl=False)
        return
    place = Path(output).with_suffix(".json") if picture else Path(output)
    with replacing(place) as file:
        file.write((text if as_json or picture else table).encode())
    if picture:
        from pairsift.report.frontier import draw

        draw(record, output)
    if as_json or picture:
        click.echo(table, nl=False)


def _end(record: dict[str, Any], check: bool) -> None:
    from pairsift.experiments.bench_table import missed_limits

    missed = missed_limits(record) if check else []
    for line in missed:
        click.echo(f"over the limit: {line}", err=True)
    if missed:
        raise click.exceptions.Exit(1)


def _list_methods() -> str:
    from pairsift.experiments.methods import METHODS

    lines = [f"{'name':<27}{'paper':<15}{'origin':<10}here"]
    for method in METHODS.values():
        here = method.skip() or "yes"
        lines.append(f"{method.name:<27}{method.paper_name or '':<15}{method.origin:<10}{here}")
    return "\n".join(lines)
