"""The report as one HTML page: styles, script and drawings are in it, and it asks for nothing else."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from importlib.resources import files

from pairsift.experiments.figures import Figure, Panel, label
from pairsift.experiments.paper import paper
from pairsift.experiments.results import STATUSES
from pairsift.experiments.table import Entry, Table
from pairsift.experiments.table_fair import SURVIVAL_RULE
from pairsift.report.document import OUTCOMES, Report
from pairsift.report.svg import draw, swatch

# The browser itself refuses whatever the page might ask for.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"
_MARKS = {"reproduced": "✓", "differs": "≠", "not run": "–", "": ""}


def page(report: Report) -> str:
    """Return the whole report as an HTML document."""
    return "\n".join(
        [
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n<link rel="icon" href="data:,">',
            "<title>pairsift: the paper, reproduced</title>",
            f"<style>\n{_resource('page.css')}</style>\n</head>\n<body>\n<main>",
            _top(report),
            _claims(report),
            _conclusions(report),
            *map(_table, report.tables),
            *map(_figure, report.figures),
            _contradictions(report),
            _run(report),
            f"</main>\n<script>\n{_resource('page.js')}</script>\n</body>\n</html>\n",
        ]
    )


def _resource(name: str) -> str:
    return files("pairsift.report").joinpath(name).read_text(encoding="utf-8")


def _top(report: Report) -> str:
    outcomes = report.outcomes
    tiles = "".join(
        f'<div class="tile {_class(name)}"><b>{outcomes[name]}</b><span>{_MARKS[name]} {name}</span></div>'
        for name in OUTCOMES
    )
    banner = (
        '<p class="banner"><b>Quick run.</b> Smaller budgets, one pool and one fold: it shows that everything works, '
        "not what the paper measured.</p>"
        if report.quick
        else ""
    )
    return (
        f"<header><h1>The paper, reproduced</h1><p>{escape(paper()['authors'])}: “{escape(paper()['title'])}”, run "
        f"again by pairsift. Made by <code>pairsift report {escape(report.store)}</code>.</p></header>{banner}"
        f'<section id="summary"><h2>Summary</h2><p>{escape(report.headline)}</p><div class="tiles">{tiles}</div>'
        f"{_summary(report)}{_contents(report)}</section>"
    )


def _summary(report: Report) -> str:
    rows = []
    for table in report.tables:
        outcomes = table.outcomes()
        if outcomes:
            cells = "".join(f"<td>{outcomes.count(name)}</td>" for name in OUTCOMES)
            link = f'<a href="#{escape(table.key)}">{escape(table.title)}</a>'
            rows.append(f'<tr><th scope="row">{link}</th>{cells}<td class="words">{escape(table.rule)}</td></tr>')
    return _scroll("Summary by table", _head(("table", *OUTCOMES, "rule")) + f"<tbody>{''.join(rows)}</tbody>")


def _contents(report: Report) -> str:
    items = [("claims", "Claims"), ("fair-words", "With C tuned")]
    items += [(table.key, table.title) for table in report.tables]
    items += [(figure.key, figure.title) for figure in report.figures]
    items += [("contradictions", "Where the paper contradicts itself"), ("run", "How it was run")]
    links = "".join(f'<li><a href="#{escape(key)}">{escape(title)}</a></li>' for key, title in items)
    return f'<nav aria-label="Contents"><ol>{links}</ol></nav>'


def _claims(report: Report) -> str:
    items = (_item(claim.claim, claim.support, claim.sentence, f"Rule: {claim.rule}") for claim in report.claims)
    return f'<section id="claims"><h2>Claims of the paper’s text</h2><ul class="claims">{"".join(items)}</ul></section>'


def _conclusions(report: Report) -> str:
    items = (_item(one.about, one.survival, one.sentence) for one in report.conclusions)
    return (
        '<section id="fair-words"><h2>What survives when C is tuned</h2>'
        f'<p class="small">{escape(SURVIVAL_RULE)}</p><ul class="claims">{"".join(items)}</ul></section>'
    )


def _item(name: str, verdict: str, sentence: str, rule: str = "") -> str:
    small = f'<p class="small">{escape(rule)}</p>' if rule else ""
    return (
        f'<li><h3>{escape(name)} <span class="verdict {_class(verdict)}">{escape(verdict)}</span></h3>'
        f"<p>{escape(sentence)}</p>{small}</li>"
    )


def _class(words: str) -> str:
    return words.replace(" ", "-")


def _head(names: Iterable[str]) -> str:
    heads = "".join(f'<th scope="col">{escape(name)}</th>' for name in names)
    return f"<thead><tr>{heads}</tr></thead>"


def _scroll(name: str, inside: str) -> str:
    # A table wider than the window scrolls by itself; the page does not. It can be reached by keyboard.
    return f'<div class="scroll" role="region" aria-label="{escape(name)}" tabindex="0"><table>{inside}</table></div>'


def _table(table: Table) -> str:
    rows = "".join(
        f'<tr><th scope="row">{escape(name)}</th>{"".join(map(_entry, entries))}</tr>' for name, entries in table.rows
    )
    beside = any(entry.paper for _, entries in table.rows for entry in entries)
    key = "An entry is ours, then the paper’s, then the difference. " if beside else ""
    notes = "".join(f'<p class="small">{escape(note)}</p>' for note in table.notes)
    return (
        f'<section id="{escape(table.key)}"><h2>{escape(table.title)}</h2>'
        f'<p class="small">{escape(table.source)}. {key}{escape(table.rule)} {escape(table.counts)}</p>'
        f"{_scroll(table.title, _head(('Data', *table.columns)) + f'<tbody>{rows}</tbody>')}{notes}</section>"
    )


def _entry(entry: Entry) -> str:
    pieces = entry.pieces or ((entry.ours, entry.strong),)
    ours = ", ".join(_piece(text, strong, bool(entry.pieces)) for text, strong in pieces if text)
    parts = [f'<span class="ours">{ours}</span>'] if ours else []
    if entry.paper:
        theirs = f"<b>{escape(entry.paper)}</b>" if entry.paper_strong else escape(entry.paper)
        parts.append(f'<span class="paper"><i>paper</i> {theirs}</span>')
    change = f"{entry.difference} {_MARKS[entry.outcome] if entry.outcome != 'not run' else ''}".strip()
    if change:
        parts.append(f'<span class="difference">{escape(change)}</span>')
    title = f' title="{escape(entry.note)}"' if entry.note else ""
    name = "missing" if entry.missing else _class(entry.outcome)
    style = f' class="{name}"' if name else ""
    return f"<td{style}{title}>{''.join(parts)}</td>"


def _piece(text: str, strong: bool, of_several: bool) -> str:
    inside = f"<b>{escape(text)}</b>" if strong else escape(text)
    return f'<span class="piece">{inside}</span>' if of_several else inside


def _figure(figure: Figure) -> str:
    methods = dict.fromkeys(series.method for panel in figure.panels for series in panel.series)
    keys = "".join(
        f'<button type="button" class="key" data-method="{escape(method)}" aria-pressed="true">{swatch(method)} '
        f"{escape(label(method))}</button>"
        for method in methods
    )
    notes = "".join(f'<p class="small">{escape(note)}</p>' for note in figure.notes)
    curves = any(series.kind == "curve" for panel in figure.panels for series in panel.series)
    cut = " The frame may cut off the start of a curve and a method far below the others; hover for values." * curves
    legend = (
        f'<div class="legend" role="group" aria-label="Methods; press to hide or show">{keys}</div>' if keys else ""
    )
    return (
        f'<section id="{escape(figure.key)}" class="figure"><h2>{escape(figure.title)}</h2>'
        f'<p class="small">{escape(figure.source)}.{cut}</p>{notes}{legend}'
        f'<div class="panels">{"".join(map(_panel, figure.panels))}</div></section>'
    )


def _panel(panel: Panel) -> str:
    return (
        f"<figure><figcaption><b>{escape(panel.name)}</b> <span>{escape(panel.note)}</span></figcaption>{draw(panel)}"
        '<output class="values" aria-live="off"></output></figure>'
    )


def _contradictions(report: Report) -> str:
    rows = "".join(
        f'<tr><th scope="row" class="words">{escape(one["about"])}</th><td class="words">{escape(one["table"])}</td>'
        f'<td class="words">{escape(one["text"])}</td></tr>'
        for one in report.contradictions
    )
    inside = _head(("about", "its table", "its text")) + f"<tbody>{rows}</tbody>"
    return (
        '<section id="contradictions"><h2>Where the paper contradicts itself</h2>'
        f"{_scroll('Contradictions', inside)}</section>"
    )


def _run(report: Report) -> str:
    items = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in report.run)
    rows = "".join(
        f'<tr><th scope="row">{escape(name)}</th>{"".join(f"<td>{found[status]}</td>" for status in STATUSES)}</tr>'
        for name, found in report.cells.items()
    )
    inside = _head(("cells of", *STATUSES)) + f"<tbody>{rows}</tbody>"
    return (
        f'<section id="run"><h2>How it was run</h2><dl>{items}</dl>{_scroll("Cells by experiment", inside)}</section>'
    )
