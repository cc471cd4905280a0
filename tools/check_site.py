"""Check a built site without a network: every link, picture and script inside it is there, and none is on a server.

python tools/check_site.py docs/_build/html
"""

from __future__ import annotations

import argparse
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# What a browser fetches by itself, and what a reader follows.
_FETCHED = {"img": "src", "script": "src", "link": "href", "source": "src", "iframe": "src"}
_FOLLOWED = {"a": "href"}
# These links name the page for search engines; nothing is fetched.
_NAMES = {"canonical", "search", "author", "copyright", "license"}


class Page(HTMLParser):
    """The places of a page that can be linked to, and where it leads."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.targets: list[tuple[str, bool]] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note ids and targets."""
        given = {name: value for name, value in attrs if value is not None}
        self.anchors.update(given[name] for name in ("id", "name") if name in given)
        if tag == "link" and given.get("rel") in _NAMES:
            return
        for kinds, fetched in ((_FETCHED, True), (_FOLLOWED, False)):
            if tag in kinds and kinds[tag] in given:
                self.targets.append((given[kinds[tag]], fetched))


def faults(folder: Path) -> tuple[list[str], int]:
    """Return what is wrong with the pages of a folder, one line each, and how many targets were looked at."""
    # What the theme keeps in _static are templates, no pages.
    paths = sorted(path for path in folder.resolve().rglob("*.html") if "_static" not in path.parts)
    pages = {path: Page(path) for path in paths}
    if not pages:
        return [f"{folder} has no pages; build the site first: make docs"], 0
    found, seen = [], 0
    for path, page in pages.items():
        for target, fetched in page.targets:
            seen += 1
            fault = _fault(path, target, fetched, pages)
            if fault is not None:
                found.append(f"{path.relative_to(folder.resolve())}: {target} {fault}")
    return found, seen


def _fault(path: Path, target: str, fetched: bool, pages: dict[Path, Page]) -> str | None:
    parts = urlsplit(target)
    if parts.scheme or parts.netloc:
        return "is fetched from a server" if fetched and parts.scheme != "data" else None
    there = (path.parent / unquote(parts.path)).resolve() if parts.path else path.resolve()
    if not there.is_file():
        return "is not there"
    if parts.fragment and there in pages and unquote(parts.fragment) not in pages[there].anchors:
        return "names a place that is not on that page"
    return None


def main() -> int:
    """Print what is wrong and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    found, seen = faults(folder)
    print("\n".join(found) or f"{seen:,} links, pictures and scripts: all there, none on a server.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
