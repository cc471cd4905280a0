"""Commands wrap where the page is narrow, but never within an option: ``--`` at the end of a line reads as another."""

import re

_COMMANDS = re.compile(r'(<div class="highlight-(?:sh|bash) [^>]*>.*?</pre>)', re.DOTALL)
_OPTION = re.compile(r"(?<![\w-])(--?[A-Za-z][\w-]*)(?![^<]*>)")  # and not within a tag


def with_whole_options(body):
    """Return the HTML of a page whose options are kept in one piece; what is copied from it is the same."""
    return _COMMANDS.sub(lambda found: _OPTION.sub(r'<span class="whole">\1</span>', found.group(1)), body)


def _mend_page(app, pagename, templatename, context, doctree):
    if "body" in context:
        context["body"] = with_whole_options(context["body"])


def setup(app):
    """Look at every page before it is written."""
    app.connect("html-page-context", _mend_page)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
