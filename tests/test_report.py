"""The report of a store: the command, the Markdown, and the page in a real browser."""

import lzma
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

import chromium
from made_up_store import MACHINE, Filler, curve, fill_like_the_paper
from pairsift.experiments.figures import Panel, Series
from pairsift.experiments.paper import SETS, paper
from pairsift.experiments.results import Results
from pairsift.report import build_report, markdown, page
from pairsift.report.svg import draw
from test_cli import run

NASTY = '<script>alert("1")</script> & | `x` *y* [z](http://example.org)'
HERE = {name: SETS[name] for name in ("MQ-08", "letter", "news20", "a9a", "bank", "mnist", "covtype")}


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "results.sqlite"
    filler = fill_like_the_paper(path, HERE)
    for name in SETS.keys() - HERE.keys():
        filler.put("auc", SETS[name], "wsvm", status="data not here")
    for method in ("hard-close", "hard-correct"):
        filler.put_pools("hard", "bank", method, [0.88, 0.89], curve=curve(0.88))
    for method in ("soft-close", "soft-correct"):
        filler.put_pools("large_budget", "bank", method, [0.905, 0.906], curve=curve(0.9, size=45), budget=45000)
        filler.put_pools("large_problem", "letter", method, [0.98, 0.99], curve=curve(0.98, size=50), budget=50000)
        for gamma in ("uniform", 0.5):
            filler.put_pools("gamma", "bank", method, [0.90, 0.91], gamma=gamma, threshold=True)
    filler.put("fair", "bank", "crr", status="failed", reason=NASTY)
    filler.put("fair", "bank", "soft-correct", 0.91, scale_C=10.0)
    filler.results.set_fact("note", NASTY)
    filler.results.close()
    return path


@pytest.fixture(scope="module")
def made(store):
    with Results(store) as results:
        return build_report(results)


@pytest.fixture(scope="module")
def html(store):
    path = store.with_name("report.html")
    with Results(store) as results:
        path.write_text(page(build_report(results)), encoding="utf-8")
    return path


class Outline(HTMLParser):
    """What is in a page: elements with their attributes, identifiers and texts; unclosed elements are an error."""

    VOID = ("meta", "link", "line", "rect", "polyline", "circle", "br")

    def __init__(self, text):
        super().__init__()
        self.open, self.elements, self.text = [], [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        if tag not in self.VOID:
            assert self.open.pop() == tag

    def handle_data(self, text):
        self.text.append(text)


def test_the_page_is_well_formed_and_asks_for_nothing(html):
    outline = Outline(html.read_text())
    names = [attributes["id"] for _, attributes in outline.elements if "id" in attributes]
    assert len(names) == len(set(names))
    targets = {attributes["href"] for tag, attributes in outline.elements if tag == "a"}
    assert targets <= {f"#{name}" for name in names}
    loaded = [(tag, a) for tag, a in outline.elements if "src" in a or (tag == "link" and a["href"] != "data:,")]
    assert loaded == []
    assert sum(tag == "script" for tag, _ in outline.elements) == 1


def test_what_comes_from_the_store_is_escaped(html):
    text = html.read_text()
    assert "<script>alert" not in text
    assert MACHINE not in text
    assert NASTY in "".join(Outline(text).text)


def test_every_row_and_every_claim_is_on_the_page(html, made):
    text = " ".join(Outline(html.read_text()).text)
    for name in paper()["auc"]["rows"]:
        assert name in text
    for claim in made.claims:
        assert claim.sentence in text
        assert claim.rule in text
    for one in made.contradictions:
        assert one["text"] in text
    assert "data not here" in text
    assert made.headline in text


def test_counts_of_the_summary_are_those_of_the_entries(made, html):
    outcomes = made.outcomes
    # Of the times, soft-correct is what the others are compared with.
    assert sum(outcomes.values()) == 20 * 6 + 20 * 6 + 15 * 2 + 20 * 7 + 15 * 2
    tiles = re.findall(r'class="tile \S+"><b>(\d+)</b>', html.read_text())
    assert [int(tile) for tile in tiles] == [outcomes["reproduced"], outcomes["differs"], outcomes["not run"]]


def test_markdown_has_whole_tables_and_escapes(made):
    text = markdown(made)
    assert text.splitlines()[2].count("pairsift report results.sqlite --markdown RESULTS.md") == 1
    assert "<script>" not in text
    assert text.count("](http://example.org)") == text.count(r"\[z\](http://example.org)") > 0
    width = 0
    for line in text.splitlines():
        if line.startswith("|"):
            columns = len(re.findall(r"(?<!\\)\|", line))
            assert width in (0, columns), line
            width = columns
        else:
            width = 0
    assert "| MQ-08 |" in text
    for name in ("## Claims", "## What survives", "## Optimal gamma", "## How it was run"):
        assert name in text


def test_a_quick_store_says_so(tmp_path):
    filler = Filler(tmp_path / "quick.sqlite")
    filler.results.set_fact("mode", "quick")
    filler.results.close()
    with Results(tmp_path / "quick.sqlite") as results:
        report = build_report(results)
    assert "Quick run" in page(report)
    assert "Quick run" in markdown(report)


def fault(done):
    """Return the one line that a fault ends in."""
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    (line,) = (line for line in done.stderr.splitlines() if line.startswith("pairsift: "))
    return line


def test_command_writes_page_and_markdown(store, tmp_path):
    done = run("report", store, "-o", "out.html", "--markdown", "out.md", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out.html").read_text().startswith("<!doctype html>")
    assert (tmp_path / "out.md").read_text().startswith("# ")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.html", "out.md"]
    assert "reproduced" in done.stderr


def test_command_reads_a_compressed_store(store, tmp_path):
    packed = tmp_path / "results.sqlite.xz"
    packed.write_bytes(lzma.compress(store.read_bytes(), preset=0))
    done = run("report", packed, "-o", "-", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "pairsift report results.sqlite.xz" in done.stdout
    packed.write_bytes(packed.read_bytes()[:-100])
    done = run("report", packed, "-o", "-", cwd=tmp_path)
    assert "damaged" in fault(done)


def test_command_faults_are_one_line(tmp_path):
    done = run("report", "none.sqlite", cwd=tmp_path)
    assert "pairsift reproduce" in fault(done)
    (tmp_path / "text.sqlite").write_text("no database")
    done = run("report", "text.sqlite", cwd=tmp_path)
    assert "text.sqlite is no store" in fault(done)
    assert list(tmp_path.iterdir()) == [tmp_path / "text.sqlite"]


def test_drawings_give_their_values_back():
    series = Series("soft-close", [100.0, 4000.0, 8000.0], [0.87, 0.90, 0.9083])
    text = draw(Panel("bank", "x", "y", [series, Series("wsvm", [], [0.8932], "line")]))
    (low, high, start, end, _) = re.search(r'data-y="([^"]*)"', text)[1].split()
    places = [float(pair.split(",")[1]) for pair in re.search(r'data-kind="curve" points="([^"]*)"', text)[1].split()]
    scale = (float(high) - float(low)) / (float(end) - float(start))
    values = [float(low) + (place - float(start)) * scale for place in places]
    assert values == pytest.approx(series.y, abs=2e-6)


def test_one_method_far_below_does_not_flatten_the_others():
    def low(*values):
        panel = Panel("bank", "x", "y", [Series(f"m{k}", [1.0, 2.0], [v, v + 0.01]) for k, v in enumerate(values)])
        return float(re.search(r'data-y="([^ ]*)', draw(panel))[1])

    assert low(0.90, 0.91, 0.5) > 0.8
    assert low(0.90, 0.91, 0.89) < 0.89


def test_a_report_does_not_wait_for_scikit_learn(store):
    script = (
        "import sys; from pairsift.experiments.results import Results; from pairsift.report import build_report, page; "
        f"page(build_report(Results({str(store)!r}))); assert 'sklearn' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


# --- in Chromium


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    if chromium.EXECUTABLE is None:
        pytest.skip("Chromium is not installed (Debian: apt-get install chromium)")
    pytest.importorskip("websocket", reason="websocket-client is not installed; pip install 'pairsift[test]'")
    with chromium.Page(tmp_path_factory.mktemp("chromium")) as page:
        yield page


@pytest.fixture
def opened(browser, html):
    browser.open(html)
    return browser


VISIBLE = """[...document.querySelectorAll('{}')].filter(e => e.getClientRects().length > 0).length"""


def test_no_error_and_no_request(opened, html):
    assert opened.console == []
    assert set(opened.requests) == {html.absolute().as_uri()}


def test_plots_drew(opened):
    panels = opened.run("document.querySelectorAll('figure > svg').length")
    assert panels == 7 + 7 + 1 + 1 + 2 + 1
    assert opened.run(VISIBLE.format("#fig-auc polyline")) == 7 * 6
    assert opened.run(VISIBLE.format("#fig-time .mark")) == 7 * 8
    lengths = opened.run("[...document.querySelectorAll('#fig-auc polyline')].map(p => p.getTotalLength())")
    assert min(lengths) > 100


def test_a_click_on_the_legend_hides_and_shows(opened):
    curves = VISIBLE.format("#fig-auc .series[data-method=soft-correct] polyline")
    others = VISIBLE.format("#fig-auc .series[data-method=soft-close] polyline")
    assert opened.run(curves) == 7
    opened.click("#fig-auc .key[data-method=soft-correct]")
    assert opened.run(curves) == 0
    assert opened.run(others) == 7
    assert opened.run("document.querySelector('#fig-auc .key[data-method=soft-correct]').ariaPressed") == "false"
    opened.click("#fig-auc .key[data-method=soft-correct]")
    assert opened.run(curves) == 7
    assert opened.console == []


def test_hovering_shows_values(opened):
    x, y = opened.middle("#fig-auc figure:nth-child(5) > svg")
    assert opened.run("document.querySelector('#fig-auc figure:nth-child(5) figcaption b').textContent") == "bank"
    opened.hover(x, y)
    text = opened.run("document.querySelector('#fig-auc figure:nth-child(5) .values.shown').textContent")
    assert text.startswith("at ")
    assert f"{paper()['auc']['rows']['bank']['wsvm']['mean']:.4f}  WSVM" in text
    assert "Soft-Correct" in text
    opened.hover(5, 5)
    assert opened.run("document.querySelectorAll('.values.shown').length") == 0
    x, y = opened.middle("#fig-time .mark")
    opened.hover(x, y)
    assert re.search(r", \S+: [\d.]+", opened.run("document.querySelector('#fig-time .values.shown').textContent"))
    assert opened.console == []


@pytest.mark.parametrize("width", [1280, 400])
def test_nothing_is_wider_than_the_window(browser, html, width, tmp_path):
    browser.open(html, width)
    assert browser.run("innerWidth") == width
    assert browser.run("document.documentElement.scrollWidth") <= width
    wide = browser.run(
        f"""[...document.querySelectorAll('main *')].filter(e => !e.closest('.scroll') && !e.closest('svg')
        && e.getBoundingClientRect().right > {width}).map(e => e.outerHTML.slice(0, 80))"""
    )
    assert wide == []
    small = browser.run(
        """Math.min(...[...document.querySelectorAll('figure text')].map(e => e.getBoundingClientRect().height))"""
    )
    assert small >= 9
    browser.screenshot(tmp_path / "page.png")
    assert (tmp_path / "page.png").stat().st_size > 10_000


def test_tables_stand_without_scripts(html):
    text = Path(html).read_text()
    body = text[: text.rindex("<script>")]
    assert body.count("<table>") >= 9
    assert body.count("<polyline") > 50
