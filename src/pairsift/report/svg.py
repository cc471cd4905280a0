"""A panel as inline SVG. Everything is drawn here, so that a page without scripts shows the same picture.

``page.js`` reads values back from the drawing: the corners of the plot and the range of the axes are attributes of the
``<svg>``, so that no number is in the page twice. Coordinates have two decimals: a plot of height 180 over a range of
0.05 AUC gives values back to 0.000003.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from math import ceil, floor, isfinite, log10

from pairsift.experiments.figures import Panel, Series, label

WIDTH, HEIGHT = 360, 250
LEFT, RIGHT, TOP, BOTTOM = 50, 10, 20, 42

DEPTH = 3  # times the range of all methods but the lowest

# Okabe and Ito's colours without the yellow, which is too light for lines on white, and with a grey.
COLOURS = {
    "random": "#000000",
    "soft-close": "#0072B2",
    "soft-correct": "#D55E00",
    "hard-close": "#56B4E9",
    "hard-correct": "#E69F00",
    "wsvm": "#009E73",
    "eranksvm": "#CC79A7",
    "crr": "#8C8C8C",
}
DASHES = {"wsvm": "7 3", "eranksvm": "2 2", "crr": "8 3 2 3"}
SQUARES = ("wsvm", "eranksvm", "crr")


@dataclass(frozen=True)
class Axis:
    """A range of values on a range of places; `low` and `high` are logarithms when `log`."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def place(self, value: float) -> float:
        """Return where a value is."""
        at = log10(value) if self.log else value
        return self.start + (at - self.low) / (self.high - self.low) * (self.end - self.start)

    def ticks(self, wanted: int) -> list[tuple[float, str]]:
        """Return round values within the axis, with what to print."""
        if self.log:
            decades = range(ceil(self.low - 1e-9), floor(self.high + 1e-9) + 1)
            powers = [10.0**power for power in decades]
            if len(powers) < 3:  # a short axis: 2 and 5 as well
                powers = [10.0**power * k for power in range(floor(self.low), ceil(self.high)) for k in (1, 2, 5)]
            inside = (value for value in powers if self.low - 1e-9 <= log10(value) <= self.high + 1e-9)
            return [(value, f"{value:g}" if value < 1 else f"{value:,.0f}") for value in inside]
        step = _round_step((self.high - self.low) / wanted)
        digits = max(0, -floor(log10(step) + 1e-9))
        first = ceil(self.low / step - 1e-9)
        values = [step * k for k in range(first, floor(self.high / step + 1e-9) + 1)]
        return [(value, f"{value:,.{digits}f}") for value in values]


def _round_step(rough: float) -> float:
    unit = 10.0 ** floor(log10(rough))
    return next(unit * factor for factor in (1, 2, 5, 10) if unit * factor >= rough * 0.999)


def draw(panel: Panel) -> str:
    """Return a panel as ``<svg>``."""
    x, y = _axes(panel)
    inside = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
    parts = [
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{_attribute(_aloud(panel))}" '
        f'data-x="{_range(x)}" data-y="{_range(y)}">',
        _grid(x, y, panel),
        # An inner <svg> with the same coordinates clips what leaves the frame.
        f'<svg x="{LEFT}" y="{TOP}" width="{inside[0]}" height="{inside[1]}" '
        f'viewBox="{LEFT} {TOP} {inside[0]} {inside[1]}">',
        *(_series(series, x, y) for series in panel.series),
        "</svg>",
        f'<line class="cursor" y1="{TOP}" y2="{HEIGHT - BOTTOM}" visibility="hidden"/>',
        "</svg>",
    ]
    return "".join(parts)


def _axes(panel: Panel) -> tuple[Axis, Axis]:
    xs = [value for series in panel.series for value in series.x]
    ys = [value for series in panel.series for value in _heights(series) if isfinite(value)]
    log_x, log_y = panel.log_x, panel.log_y
    x_low, x_high = (log10(min(xs)), log10(max(xs))) if log_x else (0.0, max(xs, default=1.0))
    y_low, y_high = (log10(min(ys)), log10(max(ys))) if log_y else (min(ys, default=0.0), max(ys, default=1.0))
    if log_x:
        x_low, x_high = x_low - 0.1, x_high + 0.1
    if not log_y:
        y_low = max(y_low, _lowest_worth(panel, y_high))
    margin = 0.05 * (y_high - y_low) or 0.05 * abs(y_high) or 0.05
    return (
        Axis(x_low, x_high, LEFT, WIDTH - RIGHT, log_x),
        Axis(y_low - margin, y_high + margin, HEIGHT - BOTTOM, TOP, log_y),
    )


def _lowest_worth(panel: Panel, high: float) -> float:
    """Return how far down the frame goes: one method far below all others must not press them into one line."""
    lows = sorted(min(heights) for series in panel.series if (heights := _heights(series)))
    if len(lows) < 3 or high <= lows[1]:
        return lows[0] if lows else 0.0
    return high - DEPTH * (high - lows[1])


def _heights(series: Series) -> list[float]:
    """Return the values that the frame must hold: not the first twentieth of a curve, which would flatten the rest."""
    if series.kind != "curve":
        return series.y
    start = 0.05 * series.x[-1]
    return [y for x, y in zip(series.x, series.y, strict=True) if x >= start]


def _range(axis: Axis) -> str:
    return f"{axis.low!r} {axis.high!r} {axis.start} {axis.end} {'log' if axis.log else 'linear'}"


def _grid(x: Axis, y: Axis, panel: Panel) -> str:
    right, bottom = WIDTH - RIGHT, HEIGHT - BOTTOM
    parts = ['<g class="grid">']
    for value, text in y.ticks(5):
        at = y.place(value)
        parts.append(f'<line x1="{LEFT}" x2="{right}" y1="{at:.1f}" y2="{at:.1f}"/>')
        parts.append(f'<text x="{LEFT - 5}" y="{at + 4:.1f}" text-anchor="end">{text}</text>')
    for value, text in x.ticks(4):
        at = x.place(value)
        parts.append(f'<line x1="{at:.1f}" x2="{at:.1f}" y1="{TOP}" y2="{bottom}"/>')
        anchor = "end" if at > right - 12 else "middle"
        parts.append(f'<text x="{at:.1f}" y="{bottom + 14}" text-anchor="{anchor}">{text}</text>')
    parts.append(f'<rect class="frame" x="{LEFT}" y="{TOP}" width="{right - LEFT}" height="{bottom - TOP}"/>')
    middle = (LEFT + right) / 2
    parts.append(f'<text x="{middle}" y="{HEIGHT - 8}" text-anchor="middle">{escape(panel.x_label)}</text>')
    parts.append(f'<text x="{LEFT}" y="{TOP - 7}">{escape(panel.y_label)}</text></g>')
    return "".join(parts)


def _series(series: Series, x: Axis, y: Axis) -> str:
    colour = COLOURS.get(series.method, "#000000")
    head = (
        f'<g class="series" data-method="{_attribute(series.method)}" data-label="{_attribute(label(series.method))}"'
    )
    if series.kind == "points":
        marks = [_mark(series, i, x, y) for i in range(len(series.x))]
        return f'{head} fill="{colour}">{"".join(marks)}</g>'
    dash = f' stroke-dasharray="{DASHES[series.method]}"' if series.method in DASHES else ""
    if series.kind == "line":
        at = y.place(series.y[0])
        points = f"{x.start},{at:.2f} {x.end},{at:.2f}"
    else:
        places = zip(series.x, series.y, strict=True)
        points = " ".join(f"{x.place(a):.2f},{y.place(b):.2f}" for a, b in places if isfinite(b))
    return f'{head} stroke="{colour}"{dash}><polyline data-kind="{series.kind}" points="{points}"/></g>'


def _mark(series: Series, i: int, x: Axis, y: Axis) -> str:
    across, up = x.place(series.x[i]), y.place(series.y[i])
    title = f"<title>{escape(label(series.method))}, {escape(series.names[i])}: {series.y[i]:.3g}</title>"
    if series.method in SQUARES:
        return f'<rect class="mark" x="{across - 3:.2f}" y="{up - 3:.2f}" width="6" height="6">{title}</rect>'
    return f'<circle class="mark" cx="{across:.2f}" cy="{up:.2f}" r="3.5">{title}</circle>'


def swatch(method: str) -> str:
    """Return the sample of a line that a legend shows."""
    colour = COLOURS.get(method, "#000000")
    dash = f' stroke-dasharray="{DASHES[method]}"' if method in DASHES else ""
    return (
        f'<svg class="swatch" width="26" height="8" aria-hidden="true">'
        f'<line x1="0" x2="26" y1="4" y2="4" stroke="{colour}" stroke-width="3"{dash}/></svg>'
    )


def _aloud(panel: Panel) -> str:
    methods = ", ".join(label(series.method) for series in panel.series)
    return f"{panel.name}: {panel.y_label} against {panel.x_label}, for {methods}"


def _attribute(text: str) -> str:
    return escape(text, quote=True)
