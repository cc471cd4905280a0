"""Formulas as inline SVG, drawn by matplotlib when the site is built.

MathJax would be fetched from a server, and MathML looks right only where a mathematical font is installed. The glyphs
are outlines in the colour of the text, so that they need no font and follow the theme; what TeX says is kept as label.
"""

from functools import lru_cache
from html import escape

from docutils import nodes

_SIZE = 12.0  # points; the outlines are scaled to the size of the text around them


@lru_cache(maxsize=1000)
def svg(tex):
    """Return a formula as an SVG element whose baseline is that of the line it stands in."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(size=_SIZE, math_fontfamily="stix")
    text = f"${' '.join(tex.split())}$"
    width, height, descent = text_to_path.get_text_width_height_descent(text, font, ismath=True)
    scale = _SIZE / text_to_path.FONT_SCALE
    vertices, codes = text_to_path.get_text_path(font, text, ismath=True)
    outline = _outline([(x * scale, -y * scale) for x, y in vertices], codes)
    return (
        f'<svg class="formula" role="img" aria-label="{escape(tex, quote=True)}" '
        f'viewBox="0 {descent - height:.2f} {width:.2f} {height:.2f}" '
        f'style="width:{width / _SIZE:.3f}em;height:{height / _SIZE:.3f}em;vertical-align:{-descent / _SIZE:.3f}em">'
        f'<path fill="currentColor" d="{outline}"/></svg>'
    )


def _outline(points, codes):
    """Return points and codes of a matplotlib path in the words of SVG."""
    from matplotlib.path import Path

    letters = {Path.MOVETO: ("M", 1), Path.LINETO: ("L", 1), Path.CURVE3: ("Q", 2), Path.CURVE4: ("C", 3)}
    words, place = [], 0
    while place < len(codes):
        if codes[place] == Path.CLOSEPOLY:
            words.append("Z")
            place += 1
            continue
        letter, count = letters[codes[place]]
        words.append(letter + " ".join(f"{x:.2f},{y:.2f}" for x, y in points[place : place + count]))
        place += count
    return "".join(words)


def _inline(translator, node):
    translator.body.append(svg(node.astext()))
    raise nodes.SkipNode


def _displayed(translator, node):
    r"""Show each line of a formula by itself; ``\\`` ends a line, as in TeX."""
    tall = node.astext().replace("\\frac", "\\dfrac")
    lines = "".join(f"<p>{svg(line)}</p>" for line in tall.split("\\\\"))
    translator.body.append(f'<div class="formulas">{lines}</div>')
    raise nodes.SkipNode


def setup(app):
    """Add the renderer; `html_math_renderer` in conf.py chooses it."""
    app.add_html_math_renderer("outlines", (_inline, None), (_displayed, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
