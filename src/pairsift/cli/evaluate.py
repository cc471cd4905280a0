"""``pairsift evaluate``: how good a model's ranking of labelled rows is."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import click

from pairsift.cli.options import JSON, label_options, plot_option, pop_label_options

if TYPE_CHECKING:
    from pairsift.data.labelled import Labelled, LabelOptions

DEFAULT_CUTS = ("100", "1%", "10%")


def _check_cuts(ctx: click.Context, param: click.Parameter, value: tuple[str, ...]) -> tuple[str, ...]:
    for text in value:
        try:
            good = 0 < float(text[:-1]) <= 100 if text.endswith("%") else int(text) >= 1
        except ValueError:
            good = False
        if not good:
            raise click.BadParameter(f"{text!r} is neither a number of rows, as 100, nor a share of them, as 1%.")
    return value


LEVEL = click.FloatRange(0, 1, min_open=True, max_open=True)


@click.command()
@click.argument("model", metavar="MODEL", type=click.Path())
@click.argument("data", metavar="DATA", type=click.Path())
@click.option(
    "--at",
    "cuts",
    metavar="ROWS|SHARE%",
    multiple=True,
    callback=_check_cuts,
    help="Precision and recall of so many rows at the top, as 100 or 1%; may be given several times.",
)
@click.option(
    "--max-fpr",
    type=click.FloatRange(0, 1, min_open=True),
    default=0.1,
    show_default=True,
    help="False-positive rate up to which the partial AUC looks.",
)
@click.option("--threshold", type=float, help="Score above which a row is called positive.  [default: 0, the model's]")
@click.option("--level", type=LEVEL, default=0.95, show_default=True, help="Confidence of the interval.")
@plot_option("Draw the ROC and the precision-recall curve (.svg, .png or .pdf).")
@label_options
@JSON
def evaluate(
    model: str,
    data: str,
    cuts: tuple[str, ...],
    max_fpr: float,
    threshold: float | None,
    level: float,
    plot: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Say how well MODEL ranks the labelled rows of DATA: AUC with its interval, and what the top of the list is worth.

    DATA may be any format that `pairsift fit` reads; - is standard input. Labels must be the model's two. Rows are read
    block by block; only labels and scores are kept, and every row counts once. In the place of MODEL a file of scores
    may stand (.csv, .txt or .npy: one score a row, or a column named score).
    """
    if plot is not None:
        from pairsift.report.plots import check_picture

        check_picture(plot)
    rows, is_model = _labelled_scores(model, data, pop_label_options(options))
    if threshold is None and is_model:
        threshold = 0.0
    facts = _facts(rows, cuts, max_fpr, threshold, level)
    facts = {"model": model, "data": data, **facts}
    if plot is not None:
        _draw(plot, rows, facts)
        facts["plot"] = plot
    click.echo(json.dumps(facts) if as_json else _text(facts))


def _labelled_scores(model: str, data: str, options: LabelOptions) -> tuple[Labelled, bool]:
    """Return labels and scores, and whether they are a model's."""
    from dataclasses import replace

    from pairsift.data.labelled import read_labels, score_labelled
    from pairsift.data.score_files import is_score_file, read_scores

    if not is_score_file(model):
        from pairsift.model import load_model

        return score_labelled(data, load_model(model), options), True
    labelled = read_labels(data, options)
    return replace(labelled, scores=read_scores(model, len(labelled.positive))), False


def _facts(
    rows: Labelled, cuts: tuple[str, ...], max_fpr: float, threshold: float | None, level: float
) -> dict[str, Any]:
    """Return all numbers, fit for JSON."""
    from pairsift.stats import auc_interval, average_precision, confusion, partial_auc

    y, scores = rows.positive, rows.scores
    interval = auc_interval(y, scores, level)
    n_positive = int(y.sum())
    facts = {
        "auc": interval.auc,
        "auc_low": interval.low,
        "auc_high": interval.high,
        "level": level,
        "rows": len(y),
        "positives": n_positive,
        "negatives": len(y) - n_positive,
        "labels": rows.labels.tolist(),
        "partial_auc": partial_auc(y, scores, max_fpr),
        "max_fpr": max_fpr,
        "average_precision": average_precision(y, scores),
        "at": _tops(rows, cuts),
    }
    if threshold is not None:
        facts |= {"threshold": threshold, "confusion": confusion(y, scores, threshold)._asdict()}
    return facts


def _tops(rows: Labelled, cuts: tuple[str, ...]) -> list[dict[str, Any]]:
    from pairsift.stats import precision_at_k, recall_at_k
    from pairsift.words import counted

    n = len(rows.positive)
    found = []
    for cut in cuts or DEFAULT_CUTS:
        k = max(1, round(n * float(cut[:-1]) / 100)) if cut.endswith("%") else int(cut)
        if k > n:
            if not cuts:
                continue  # the user did not ask for it
            raise ValueError(f"--at {cut}: there {'is' if n == 1 else 'are'} only {counted(n, 'row')}.")
        precision, recall = precision_at_k(rows.positive, rows.scores, k), recall_at_k(rows.positive, rows.scores, k)
        found.append({"at": cut, "rows": k, "precision": precision, "recall": recall})
    return found


def _draw(path: str, rows: Labelled, facts: dict[str, Any]) -> None:
    from pairsift.report.ranking import Ranking, draw_ranking
    from pairsift.stats import Confusion, cut_counts

    cut = facts.get("confusion")
    draw_ranking(
        path,
        Ranking(
            f"{os.path.basename(facts['model'])} on {os.path.basename(facts['data'])}: "
            f"{facts['rows']:,} rows, {facts['positives']:,} positive",
            cut_counts(rows.positive, rows.scores),
            f"AUC {_interval(facts)}",
            f"average precision {facts['average_precision']:.4f}",
            None if cut is None else Confusion(**cut),
            "" if cut is None else f"score above {facts['threshold']:g}",
        ),
    )


def _interval(facts: dict[str, Any]) -> str:
    return f"{facts['auc']:.4f} ({100 * facts['level']:g} %: {facts['auc_low']:.4f} to {facts['auc_high']:.4f})"


def _text(facts: dict[str, Any]) -> str:
    from pairsift.data.labels import show

    share = facts["positives"] / facts["rows"]
    negative, positive = (show(label) for label in facts["labels"])
    lines = [
        f"{facts['model']} on {facts['data']}: {facts['rows']:,} rows, {facts['positives']:,} of them positive "
        f"(label {positive}), {100 * share:.3g} %.",
        "",
        f"AUC                {_interval(facts)}",
        f"partial AUC        {facts['partial_auc']:.4f} for a false-positive rate up to {facts['max_fpr']:g} "
        "(McClish: 0.5 is chance, 1 perfect)",
        f"average precision  {facts['average_precision']:.4f} (chance: {share:.4f})",
        "",
        f"{'top of the list':<17}{'rows':>12}{'precision':>12}{'recall':>10}",
        *(f"  {top['at']:<15}{top['rows']:>12,}{top['precision']:>12.4f}{top['recall']:>10.4f}" for top in facts["at"]),
    ]
    if "confusion" in facts:
        cut = facts["confusion"]
        above = f"above {facts['threshold']:g}"
        heads = f"label {positive}", f"label {negative}"
        wide = max(14, *(len(head) + 2 for head in heads))
        lines += [
            "",
            f"{'score':<17}{heads[0]:>{wide}}{heads[1]:>{wide}}",
            f"  {above:<15}{cut['true_positive']:>{wide},}{cut['false_positive']:>{wide},}",
            f"  {'not above':<15}{cut['false_negative']:>{wide},}{cut['true_negative']:>{wide},}",
        ]
    if "plot" in facts:
        lines += ["", f"The curves are in {facts['plot']}."]
    return "\n".join(lines)
