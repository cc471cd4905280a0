"""Pictures of one style, written by matplotlib (the extra ``[plot]``) as SVG, PNG or PDF.

The colours are those of Okabe and Ito, which colour-blind readers tell apart; every further line has also another dash
and another mark, so that a picture survives a printer without colour. Matplotlib is imported when a picture is drawn,
through its object interface: pyplot would choose a window system and keep figures alive.

    with picture("roc.svg", panels=2) as (left, right):
        left.plot(fpr, tpr, **line_style(0), label="model")
        label_axes(left, "False-positive rate", "True-positive rate")

The file is written beside and renamed, so that a fault leaves the old picture as it was. The same data gives the same
bytes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

from pairsift.data.replacing import check_writable, replacing

FORMATS = ("svg", "png", "pdf")

# Okabe and Ito's colours in the order of contrast with white; their yellow is too light for lines.
BLUE, ORANGE, GREEN, PINK, SKY, GOLD, BLACK = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#CC79A7",
    "#56B4E9",
    "#E69F00",
    "#000000",
)
COLOURS = (BLUE, ORANGE, GREEN, PINK, SKY, GOLD, BLACK)
DASHES = ("-", (0, (6, 2)), (0, (2, 1.5)), (0, (7, 2, 1.5, 2)), (0, (4, 1, 1, 1, 1, 1)), (0, (10, 3)), (0, (1, 1)))
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
GREY = "#6E6E6E"  # for what is not data: the line of chance, notes

_STYLE: dict[str, Any] = {
    # Verdana and DejaVu Sans have about the same widths, so that an SVG keeps its layout where the latter is not there.
    "font.family": ["DejaVu Sans"],
    "font.size": 11.0,
    "axes.titlesize": 12.0,
    "axes.titleweight": "normal",
    "axes.titlelocation": "left",
    "axes.labelsize": 11.0,
    "xtick.labelsize": 10.0,
    "ytick.labelsize": 10.0,
    "legend.fontsize": 10.0,
    "legend.frameon": True,
    "legend.framealpha": 0.9,
    "legend.edgecolor": "#D0D0D0",
    "lines.linewidth": 2.0,
    "lines.markersize": 6.0,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#E4E4E4",
    "grid.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#404040",
    "figure.constrained_layout.w_pad": 0.1,
    "figure.constrained_layout.h_pad": 0.08,
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "savefig.dpi": 150,
    # Text stays text, which can be searched, read aloud and edited.
    "svg.fonttype": "none",
    "svg.hashsalt": "pairsift",
    "pdf.fonttype": 42,
}


def import_matplotlib() -> Any:
    """Import matplotlib, or say in one line how to get it."""
    try:
        import matplotlib
    except ImportError as error:
        raise ValueError('Pictures need matplotlib; install it with: pip install "pairsift[plot]"') from error
    return matplotlib


def check_picture(path: str | os.PathLike[str]) -> None:
    """Raise unless a picture can be written to `path`; a command asks before its long work.

    Raises
    ------
    ValueError
        The ending is none of .svg, .png and .pdf, or matplotlib is not installed.
    OSError
        The folder is missing or cannot be written to.
    """
    _format(path)
    check_writable(path)
    import_matplotlib()


@contextmanager
def picture(
    path: str | os.PathLike[str],
    *,
    panels: int = 1,
    size: tuple[float, float] | None = None,
    columns: int | None = None,
) -> Iterator[Sequence[Any]]:
    """Yield `panels` axes; what was drawn into them is written when the block ends without an error.

    Parameters
    ----------
    path : str or path
        Its ending says the format: .svg, .png or .pdf.
    panels : int
        Number of axes.
    size : (width, height) in inches, optional
        Of the whole picture; by default 5.2 x 4.6 for each panel.
    columns : int, optional
        Panels of one line; by default all stand side by side.
    """
    check_picture(path)
    matplotlib = import_matplotlib()
    from matplotlib.figure import Figure

    kind = _format(path)
    with matplotlib.rc_context(_settings(matplotlib)):
        across = min(columns or panels, panels)
        down = -(-panels // across)
        figure = Figure(figsize=size or (5.2 * across, 4.6 * down), layout="constrained")
        places = figure.subplots(down, across, squeeze=False).ravel().tolist()
        for unused in places[panels:]:
            unused.set_axis_off()
        yield places[:panels]
        # Drawn into memory first: a fault of drawing then leaves no partial file, and the disk is touched once.
        drawn = BytesIO()
        figure.savefig(drawn, format=kind, metadata=_METADATA[kind])
    with replacing(path) as file:
        file.write(drawn.getvalue())


def line_style(number: int, *, marks: bool = False) -> dict[str, Any]:
    """Return colour, dash and, if wanted, mark of the line with this number, as keywords of ``Axes.plot``."""
    k = number % len(COLOURS)
    return {"color": COLOURS[k], "linestyle": DASHES[k], **({"marker": MARKERS[k]} if marks else {})}


def label_axes(axes: Any, x: str, y: str, title: str = "") -> None:
    """Name both axes (with their units, if they have any) and the panel."""
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    if title:
        axes.set_title(title)


# Without the date, so that the same data gives the same bytes.
_METADATA: dict[str, dict[str, Any]] = {
    "svg": {"Date": None, "Creator": "pairsift"},
    "png": {"Software": "pairsift"},
    "pdf": {"CreationDate": None, "Creator": "pairsift"},
}


def _format(path: str | os.PathLike[str]) -> str:
    ending = Path(path).suffix.lower().removeprefix(".")
    if ending not in FORMATS:
        raise ValueError(f"{os.fspath(path)}: a picture is .svg, .png or .pdf; give a name with one of these endings.")
    return ending


def _settings(matplotlib: Any) -> dict[str, Any]:
    """Return matplotlib's defaults with our style over them, whatever the user's own file of settings says."""
    # Setting the backend, even to what it is, would import pyplot.
    defaults = {key: value for key, value in matplotlib.rcParamsDefault.items() if not key.startswith("backend")}
    return {**defaults, **_STYLE}
