"""Formulas as MathML, which browsers draw themselves: MathJax would be fetched from a server."""

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml


def _inline(translator, node):
    translator.body.append(tex2mathml(node.astext(), as_block=False))
    raise nodes.SkipNode


def _displayed(translator, node):
    translator.body.append(f'<div class="math">{tex2mathml(node.astext(), as_block=True)}</div>')
    raise nodes.SkipNode


def setup(app):
    """Add the renderer; `html_math_renderer` in conf.py chooses it."""
    app.add_html_math_renderer("mathml", (_inline, None), (_displayed, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
