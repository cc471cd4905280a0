"""Pages that are files of the repository (RESULTS.md and its like) are included, and links to them lead to their pages.

The files keep links that work where people read them: in the repository. Here they are turned before Sphinx reads them.
"""

import posixpath
import re
from pathlib import PurePosixPath

# A file of the repository, and the page of the site that shows it.
PAGES = {
    "README.md": "index.md",
    "RESULTS.md": "results.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing/index.md",
}
# In the repository an example is a script; on the site it is a page of the gallery, which is made from it.
_EXAMPLE = re.compile(r"^examples(?:/(plot_\w+)\.py)?$")
# The page whose table of contents takes in pages of docs/ that no other one names, so that a new page is never lost.
CATCH_ALL = "guide/index"
_TOCTREE = re.compile(r"^```\{toctree\}\n(.*?)^```", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(!?\[[^\]]*\])\(([^)\s#]+)(#[^)\s]*)?\)")


def turned(text, folder, site):
    """Return Markdown whose links lead within the site.

    Parameters
    ----------
    text : str
        Markdown of a file in `folder` of the repository.
    folder : str
        As "docs/guide", or "" for the root.
    site : str
        The folder, relative to docs/, of the page that shows it.
    """

    def turn(found):
        words, target, anchor = found.group(1), found.group(2), found.group(3) or ""
        if "://" in target:
            return found.group(0)
        path = posixpath.normpath(posixpath.join(folder, target))
        if path in PAGES:
            path = f"docs/{PAGES[path]}"
        if example := _EXAMPLE.match(path):
            path = f"docs/gallery/{example.group(1) or 'index'}.rst"
        if not path.startswith("docs/"):  # LICENSE and the like have no page
            return words.strip("[]") if not words.startswith("!") else found.group(0)
        inside = PurePosixPath(path).relative_to("docs").as_posix()
        return f"{words}({posixpath.relpath(inside, site or '.')}{anchor})"

    return _LINK.sub(turn, text)


def unplaced(folder):
    """Return the names of the pages of a folder that no table of contents in it or below it names, without .md."""
    named = {"index"}
    for page in [*folder.glob("*.md"), *folder.glob("[!_]*/index.md")]:
        for entries in _TOCTREE.findall(page.read_text()):
            named |= {posixpath.basename(entry.strip().rstrip(">").split("<")[-1]) for entry in entries.splitlines()}
    return sorted(page.stem for page in folder.glob("*.md") if page.stem not in named)


def _read_source(app, docname, content):
    if docname == CATCH_ALL:
        more = "".join(f"../{name}\n" for name in unplaced(app.srcdir))
        content[0] = _TOCTREE.sub(lambda found: found.group(0).removesuffix("```") + more + "```", content[0], count=1)
    if app.env.doc2path(docname).suffix == ".md":
        folder = posixpath.dirname(docname)
        content[0] = turned(content[0], posixpath.join("docs", folder).rstrip("/"), folder)


def _read_include(app, path, docname, content):
    if path.suffix == ".md":
        whole = (app.srcdir / path).resolve()
        folder = whole.parent.relative_to(app.srcdir.parent.resolve()).as_posix()
        content[0] = turned(content[0], "" if folder == "." else folder, posixpath.dirname(docname))


def setup(app):
    """Listen to what Sphinx reads."""
    app.connect("source-read", _read_source)
    app.connect("include-read", _read_include)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
