"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

JSON: Decorator = click.option("--json", "as_json", is_flag=True, help="Print one JSON object, for machines.")


def _check_output(ctx: click.Context, param: click.Parameter, value: str) -> str:
    if not value:
        raise click.BadParameter("a file name is required, got an empty one; name the file to write.")
    return value


def output_option(text: str, *, required: bool = False) -> Decorator:
    """Return the option ``-o FILE``."""
    need: dict[str, Any] = {"required": True} if required else {"default": "-"}
    return click.option("-o", "--output", metavar="FILE", type=click.Path(), callback=_check_output, help=text, **need)


def _check_picture_name(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    if value is not None and not value.lower().endswith((".svg", ".png", ".pdf")):
        raise click.BadParameter(f"{value}: a picture is .svg, .png or .pdf; give a name with one of these endings.")
    return value


def plot_option(text: str) -> Decorator:
    """Return the option ``--plot FILE``; the command asks `pairsift.report.plots.check_picture` before its work."""
    return click.option("--plot", metavar="FILE", type=click.Path(), callback=_check_picture_name, help=text)


FORMATS = ["svmlight", "npy", "npz", "csv", "tsv", "parquet", "arrow"]

FORMAT: Decorator = click.option(
    "--format", type=click.Choice(FORMATS), help="Format of the data; by default from the file's name."
)
DELIMITER: Decorator = click.option(
    "--delimiter", help="What separates the columns of a CSV file, as ';'.  [default: the model's, or a comma]"
)

_DATA_OPTIONS: tuple[Decorator, ...] = (
    click.option("--label", help="Column of the labels (tables), or a .npy file of labels beside a .npy file."),
    click.option(
        "--positive",
        help="The positive label; others are negative.  [default: 1, yes, true or positive, else the rarer one]",
    ),
    click.option("--weight", help="Column of sample weights (tables)."),
    click.option("--drop", multiple=True, help="Column to leave out (tables); may be given several times."),
    click.option("--categorical", multiple=True, help="Numeric column that names categories (tables)."),
    click.option(
        "--impute", type=click.Choice(["mean", "median", "zero"]), help="How to fill missing values (tables)."
    ),
    click.option("--max-categories", type=int, default=1000, show_default=True, help="Categories of a column at most."),
    FORMAT,
    click.option("--delimiter", help="What separates the columns of a CSV file, as ';'.  [default: a comma]"),
    click.option("--n-features", type=int, help="Number of features (svmlight); by default the largest index."),
    click.option(
        "--zero-based", type=click.Choice(["auto", "yes", "no"]), default="auto", help="First index of svmlight text."
    ),
)
_DATA_NAMES = (
    "label",
    "positive",
    "weight",
    "drop",
    "categorical",
    "impute",
    "max_categories",
    "format",
    "delimiter",
    "n_features",
    "zero_based",
)


_LABEL_NAMES = ("label", "positive", "format", "delimiter")


_LABEL_OPTIONS: tuple[Decorator, ...] = (
    click.option("--label", help="Column or .npy file of the labels.  [default: the column that the model was told]"),
    click.option(
        "--positive",
        help="The positive label.  [default: the model's; beside scores of a file see pairsift fit --help]",
    ),
    FORMAT,
    DELIMITER,
)


def label_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say where labels are; a model knows the rest."""
    for option in reversed(_LABEL_OPTIONS):
        command = option(command)
    return command


def pop_label_options(options: dict[str, Any]) -> Any:
    """Take the options of `label_options` out of a command's keywords."""
    from pairsift.data.labelled import LabelOptions

    return LabelOptions(**{name: options.pop(name) for name in _LABEL_NAMES})


def data_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say how a file of labelled rows is read."""
    for option in reversed(_DATA_OPTIONS):
        command = option(command)
    return command


def pop_data_options(options: dict[str, Any]) -> Any:
    """Take the options of `data_options` out of a command's keywords."""
    from pairsift.data.training import DataOptions

    given = {name: options.pop(name) for name in _DATA_NAMES}
    given["zero_based"] = {"auto": "auto", "yes": True, "no": False}[given["zero_based"]]
    return DataOptions(**given)
