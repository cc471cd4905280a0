"""Draw the diagrams of the docs as SVG: how to choose a method, and the layers of the code.

python tools/draw_diagrams.py docs
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from html import escape
from pathlib import Path

LINE = 19
QUESTION, ANSWER, LAYER, PLAIN = "#fff4d6", "#dcebfa", "#eef2f6", "#ffffff"


@dataclass(frozen=True)
class Box:
    """Lines of text in a frame; the first line is bold."""

    x: float
    y: float
    width: float
    lines: tuple[str, ...]
    fill: str = PLAIN

    @property
    def height(self) -> float:
        """What the lines need."""
        return LINE * len(self.lines) + 18

    @property
    def middle(self) -> float:
        """Height of the middle of the frame."""
        return self.y + self.height / 2

    def svg(self) -> str:
        """Return the frame and its text."""
        parts = [
            f'<rect x="{self.x}" y="{self.y}" width="{self.width}" height="{self.height}" rx="6" fill="{self.fill}" '
            'stroke="#5b6b7b"/>'
        ]
        for number, line in enumerate(self.lines):
            weight = ' font-weight="bold"' if number == 0 else ""
            parts.append(f'<text x="{self.x + 12}" y="{self.y + 24 + LINE * number}"{weight}>{escape(line)}</text>')
        return "\n".join(parts)


def arrow(*points: tuple[float, float], text: str = "", at: tuple[float, float] = (0, 0)) -> str:
    """Return a line with a head, and a word beside it."""
    path = " ".join(f"{x},{y}" for x, y in points)
    line = f'<polyline points="{path}" fill="none" stroke="#33424f" stroke-width="1.5" marker-end="url(#head)"/>'
    return line + (f'\n<text x="{at[0]}" y="{at[1]}" font-style="italic">{escape(text)}</text>' if text else "")


def picture(width: float, height: float, title: str, parts: list[str]) -> str:
    """Return a whole SVG file, on white, readable without styles from elsewhere."""
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
            'font-family="Helvetica, Arial, sans-serif" font-size="14" fill="#1c2730" role="img">',
            f"<title>{escape(title)}</title>",
            '<defs><marker id="head" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" '
            'orient="auto">'
            '<path d="M0,0 L10,5 L0,10 z" fill="#33424f"/></marker></defs>',
            f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
            *parts,
            "</svg>\n",
        ]
    )


# Question, the answer that leads to the right, and what is on the right.
CHOICES: list[tuple[tuple[str, ...], str, tuple[str, ...]]] = [
    (
        ("Is the relation far from linear?", "(compare with the scores of trees once)"),
        "yes",
        ("Gradient boosting", "LightGBM, XGBoost; not pairsift"),
    ),
    (
        ("Do the rows fit into memory?",),
        "no",
        ("AutoRanker on a RowStore", "reads only the rows it draws; budget in seconds"),
    ),
    (
        ("Dense rows, thousands of columns,", "or probabilities are all you need?"),
        "yes",
        ("Logistic regression", "tuned; on most data it is as good a ranker"),
    ),
    (
        ("Must it be the exact solution", "over all pairs, with a certificate?"),
        "yes",
        ('RankSVM(C="auto")', "hinge or squared hinge over all pairs"),
    ),
]
LAST = ("AutoRanker()", "pairs or points; then pairsift compare", "against the tuned logistic regression")


def choosing() -> str:
    """Return the picture of how to choose a method."""
    parts, y, left, right = [], 16.0, 300.0, 400.0
    questions = []
    for lines, _, _ in CHOICES:
        questions.append(Box(16, y, left, lines, QUESTION))
        y += 98
    last = Box(16, y, left + 20, LAST, ANSWER)
    below = [*questions[1:], last]
    for question, (_, word, answer), following in zip(questions, CHOICES, below, strict=True):
        box = Box(right, question.middle - 28, 374, answer, ANSWER)
        other = "no" if word == "yes" else "yes"
        parts += [question.svg(), box.svg()]
        parts.append(
            arrow((16 + left, question.middle), (right, question.middle), text=word, at=(340, question.middle - 7))
        )
        foot = question.y + question.height
        parts.append(arrow((120, foot), (120, following.y), text=other, at=(130, (foot + following.y) / 2 + 5)))
    return picture(790, y + last.height + 16, "How to choose a method", [*parts, last.svg()])


LAYERS: list[tuple[tuple[str, ...], str]] = [
    (("cli/", "one file a command"), "faults become one line"),
    (("experiments/, report/", "the paper's tables and figures, the bench, the page"), "cells in SQLite, then pages"),
    (("estimators/", "the scikit-learn face; below it nothing imports scikit-learn"), "X, y become a Problem"),
    (("engines/, search/", "Spark and Dask; what is chosen on held-out rows"), "a Problem"),
    (("model.py, certificates.py, export/, inspection/", "a trained model, what it is worth and what is in it"), "w"),
    (("training_run.py, checkpoint.py, validation.py", "consumers of the loop: budgets, curves, resuming"), "states"),
    (
        ("calibration.py, model_file.py, linear_model.py, stats/", "the linear model, its file; AUC and its intervals"),
        "w and the threshold",
    ),
    (("active.py, threshold.py", "Algorithm 1 as a generator of states"), "one state a round"),
    (("solvers/", "dual descent, exact RankSVM, stochastic gradient; each returns a certificate"), "terms, bounds"),
    (("pairs.py, sampling/, all_pairs.py", "the chosen pool L*, Sample(U*, w), sums over all pairs"), "places, scores"),
    (("data/", "rows come in: memory, text, tables, the row store"), "rows, scores of rows"),
    (("cpp/", "the loops that NumPy cannot do fast: plain headers that know arrays"), ""),
]


def architecture() -> str:
    """Return the picture of the layers."""
    parts, y, width = [], 16.0, 560.0
    for (lines, given), following in zip(LAYERS, [*LAYERS[1:], None], strict=True):
        box = Box(16, y, width, lines, LAYER)
        parts.append(box.svg())
        if following is not None:
            foot = y + box.height
            parts.append(arrow((60, foot), (60, foot + 22)))
            parts.append(f'<text x="{width + 28}" y="{y + 33}" font-style="italic">{escape(given)}</text>')
        y += box.height + 22
    parts.append(f'<text x="{width + 28}" y="{y - 50}" font-style="italic">imports go down, never up</text>')
    return picture(790, y, "The layers of pairsift: a module imports only from layers below its own", parts)


def main() -> None:
    """Write the pictures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    (folder / "guide" / "choosing.svg").write_text(choosing())
    (folder / "contributing" / "architecture.svg").write_text(architecture())


if __name__ == "__main__":
    main()
