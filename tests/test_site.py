"""What the site is made of: every public name has a page, docstrings agree with signatures, examples are there.

`make docs` builds the site itself, with warnings as errors.
"""

import doctest
import inspect
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from test_docs_printed import load_tool
from test_layers import LAYERS

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
sys.path.insert(0, str(DOCS / "_ext"))

from gallery_style import ORDER  # noqa: E402
from pages_of_the_repository import turned, unplaced  # noqa: E402
from public_names import members_by_class, names_of_extras, public_names, public_object  # noqa: E402
from whole_options import with_whole_options  # noqa: E402

NAMES = public_names()
check_site = load_tool("check_site")
draw_diagrams = load_tool("draw_diagrams")


def test_every_public_name_is_on_the_page_once():
    listed = re.findall(r"^   ~(pairsift\.[\w.]+)$", (DOCS / "reference" / "api.rst").read_text(), flags=re.MULTILINE)
    assert sorted(listed) == sorted(NAMES + names_of_extras())


def described():
    """Every public function, class and method with parameters: (name, object whose docstring tells, signature)."""
    for name in NAMES:
        thing = public_object(name)
        if inspect.isclass(thing):
            for member in members_by_class()[name]:
                if inspect.isfunction(getattr(thing, member)):
                    yield f"{name}.{member}", getattr(thing, member)
        if inspect.isclass(thing) or inspect.isfunction(thing):
            yield name, thing


DESCRIBED = dict(described())


@pytest.mark.parametrize("name", DESCRIBED)
def test_everything_public_has_a_docstring_of_its_own(name):
    doc = DESCRIBED[name].__doc__
    assert doc
    assert not doc.startswith(f"{name.rsplit('.', 1)[1]}("), (
        "that is what dataclasses and named tuples write themselves"
    )


def documented_parameters(doc):
    """Return {name: (type, whole line)} of a NumPy-style section "Parameters", in its order."""
    found = re.search(r"^Parameters\n-+\n(.*?)(?=^\w[\w ]*\n-+\n|\Z)", inspect.cleandoc(doc), re.MULTILINE | re.DOTALL)
    if found is None:
        return None
    lines = [line for line in found.group(1).splitlines() if line and not line.startswith(" ")]
    return {
        name.strip().lstrip("*"): line.partition(" : ")[2]
        for line in lines
        for name in line.partition(" : ")[0].split(",")
    }


@pytest.mark.parametrize("name", DESCRIBED)
def test_docstring_agrees_with_signature(name):
    documented = documented_parameters(DESCRIBED[name].__doc__)
    if documented is None:
        return
    parameters = {key: value for key, value in inspect.signature(DESCRIBED[name]).parameters.items() if key != "self"}
    assert list(documented) == [key for key in parameters if key in documented], "names or their order differ"
    required = [key for key, value in parameters.items() if value.default is value.empty]
    assert set(required) <= set(documented), "a parameter without default is not described"
    for key, text in documented.items():
        stated = re.search(r"default=(.+)$", text)
        if stated:
            assert eval(stated.group(1), {}) == parameters[key].default, f"{key}: the docstring states another default"


@pytest.mark.parametrize("name", [name for name in NAMES if name.startswith("pairsift.") and name.count(".") == 1])
def test_parameters_of_what_pairsift_exports_are_all_described(name):
    thing = DESCRIBED[name]
    parameters = [key for key in inspect.signature(thing).parameters if key != "self"]
    if hasattr(thing, "__dataclass_fields__"):  # its fields are described as attributes
        return
    assert list(documented_parameters(thing.__doc__) or []) == parameters


@pytest.mark.parametrize("name", [name for name, thing in DESCRIBED.items() if ">>>" in thing.__doc__])
def test_examples_in_docstrings(name):
    finder = doctest.DocTestFinder(recurse=False)
    failed, tried = doctest.DocTestRunner().run(finder.find(DESCRIBED[name], name)[0])
    assert tried > 0
    assert failed == 0


def test_there_are_examples_for_the_gallery_and_each_says_what_it_shows():
    examples = sorted((ROOT / "examples").glob("plot_*.py"))
    assert len(examples) >= 10
    assert sorted(ORDER) == [path.stem.removeprefix("plot_") for path in examples]
    for path in examples:
        assert re.match(r'"""\n[^\n]+\n=+\n\n[A-Z`]', path.read_text()), (
            f"{path.name} must begin with a title and a text"
        )


def test_links_of_pages_lead_somewhere_in_a_clone():
    """A clone has no built site, and people read its pages as they are."""
    seen = 0
    for page in [*ROOT.glob("*.md"), *DOCS.glob("*.md"), *DOCS.glob("[!_]*/*.md")]:
        text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
        for target in re.findall(r"\]\(([^)\s#]+)(?:#[^)\s]*)?\)", text):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page}: {target}"
                seen += 1
    assert seen > 100


def test_pictures_are_those_of_the_script():
    assert (DOCS / "guide" / "choosing.svg").read_text() == draw_diagrams.choosing()
    assert (DOCS / "contributing" / "architecture.svg").read_text() == draw_diagrams.architecture()


def test_the_picture_of_the_layers_keeps_their_order():
    level = {name: number for number, names in enumerate(LAYERS) for name in names}
    drawn = [re.findall(r"(\w+)(?:/|\.py)", lines[0]) for lines, _ in draw_diagrams.LAYERS[:-1]]
    for above, below in pairwise(drawn):
        assert min(level[name] for name in above) >= max(level[name] for name in below), (above, below)
    folders = {path.parent.name for path in (ROOT / "src" / "pairsift").glob("*/__init__.py")}
    assert folders <= {name for names in drawn for name in names}, "a folder is not drawn"
    table = (ROOT / "CONTRIBUTING.md").read_text()
    assert [name for name in sorted(folders) if f"`{name}/" not in table] == [], "a folder is not in CONTRIBUTING.md"


def test_links_out_of_the_docs_lead_to_pages_of_the_site():
    assert turned("[a](../RESULTS.md) [b](data.md#x)", "docs", "") == "[a](results.md) [b](data.md#x)"
    assert turned("[a](docs/data.md), [l](LICENSE)", "", "contributing") == "[a](../data.md), l"
    assert turned("[a](https://example.org/x.md)", "docs", "") == "[a](https://example.org/x.md)"
    assert turned("![p](docs/roc.svg)", "", "") == "![p](roc.svg)"
    assert turned("[g](../examples) [p](../examples/plot_a.py)", "docs", "") == (
        "[g](gallery/index.rst) [p](gallery/plot_a.rst)"
    )


def test_options_in_commands_are_kept_in_one_piece():
    space = '<span class="w"> </span>'  # as Pygments has it
    block = (
        f'<div class="highlight-sh notranslate"><div><pre>a{space}--C{space}auto -o x-y <span class="m">0</span></pre>'
    )
    whole = with_whole_options(f"<p>--x</p>{block}<p>--y</p>")
    assert whole.count('<span class="whole">') == 2
    assert f'a{space}<span class="whole">--C</span>{space}auto <span class="whole">-o</span> x-y <span' in whole
    assert re.sub(r"<[^>]+>", "", whole) == "--xa --C auto -o x-y 0--y"


def test_a_page_that_no_table_of_contents_names_is_seen(tmp_path):
    (tmp_path / "guide").mkdir()
    (tmp_path / "index.md").write_text("```{toctree}\nstart\nGuide <guide/index>\n```\n")
    (tmp_path / "guide" / "index.md").write_text("```{toctree}\n:hidden:\n\n../fit\n```\n")
    for name in ("start", "fit", "new"):
        (tmp_path / f"{name}.md").write_text("# Page\n")
    assert unplaced(tmp_path) == ["new"]


def test_the_check_of_the_site_sees_faults(tmp_path):
    (tmp_path / "a.html").write_text('<h1 id="top">a</h1><a href="b.html#here">b</a><a href="#top">up</a>')
    (tmp_path / "b.html").write_text('<p id="here">b</p><a href="https://example.org">out</a>')
    assert check_site.faults(tmp_path) == ([], 3)
    (tmp_path / "c.html").write_text(
        '<a href="b.html#there">1</a><a href="d.html">2</a><img src="p.png"><script src="https://example.org/s.js">'
    )
    found, _ = check_site.faults(tmp_path)
    assert [line.split(": ", 1)[1] for line in found] == [
        "b.html#there names a place that is not on that page",
        "d.html is not there",
        "p.png is not there",
        "https://example.org/s.js is fetched from a server",
    ]
    assert "has no pages" in check_site.faults(tmp_path / "nothing")[0][0]


def test_make_docs_is_what_contributors_are_told():
    assert "make docs" in (ROOT / "CONTRIBUTING.md").read_text()
    done = subprocess.run(["make", "-n", "docs"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert "sphinx -W" in done.stdout
