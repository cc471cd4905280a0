"""What directives that generate reStructuredText share."""

import re

from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective
from sphinx.util.nodes import nested_parse_with_titles


def plain(text):
    """Return text from code as reStructuredText that shows it as it is; `words` in backquotes become literals."""
    parts = re.split(r"`+([^`]+)`+", text)
    escaped = [re.sub(r"([\\*|_`])", r"\\\1", part) for part in parts[::2]]
    literals = [f"``{part}``" for part in parts[1::2]] + [""]
    return "".join(part for pair in zip(escaped, literals, strict=True) for part in pair)


class GeneratedText(SphinxDirective):
    """A directive whose content is the reStructuredText that `lines` yields."""

    has_content = False

    def lines(self):
        """Yield lines of reStructuredText."""
        raise NotImplementedError

    def run(self):
        """Parse the lines where the directive stands."""
        from docutils import nodes

        parent = nodes.Element()
        nested_parse_with_titles(self.state, StringList(list(self.lines()), source=self.name), parent)
        return parent.children
