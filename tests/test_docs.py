"""Every command and every piece of Python in the README and the docs runs as written."""

import doctest
import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

from pairsift import make_ranking
from test_cli import write_svmlight

ROOT = Path(__file__).parents[1]
PAGES = sorted([ROOT / "README.md", *ROOT.joinpath("docs").glob("*.md")])
DOCUMENTED = ["ActiveRankSVM", "RankSVM", "WeightedSVM", "CombinedRankingRegression"]


def blocks(page, language):
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), flags=re.MULTILINE | re.DOTALL)


def commands():
    for page in PAGES:
        for block in blocks(page, "sh"):
            yield from ((page.name, line.split("#")[0].strip()) for line in block.splitlines() if line.strip())


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("docs")
    X, y = make_ranking(3000, 6, random_state=0)
    write_svmlight(folder / "train.svm", X[:2000], y[:2000])
    write_svmlight(folder / "test.svm", X[2000:], y[2000:])
    return folder


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_in_the_docs_runs(page, tmp_path):
    for block in blocks(page, "python"):
        done = subprocess.run([sys.executable, "-c", block], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", ["README.md", "models.md"])
def test_commands_of_the_readme_run_in_their_order(name, folder):
    ran = 0
    for page, line in commands():
        if page == name and line.startswith("pairsift "):
            script = "import sys; from pairsift.cli import main; sys.argv[0] = 'pairsift'; main()"
            done = subprocess.run(
                [sys.executable, "-c", script, *line.split()[1:]],
                cwd=folder,
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 0, f"{line}: {done.stderr}"
            ran += 1
    assert ran >= 2


def test_other_commands_name_what_is_there():
    for page, line in commands():
        words = line.split()
        if words[0] == "make":
            assert re.search(rf"^{words[1]}:", (ROOT / "Makefile").read_text(), flags=re.MULTILINE), line
        elif words[0].startswith("python") and words[1].startswith("tools/"):
            assert (ROOT / words[1]).exists(), f"{page}: {line}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), target


@pytest.mark.parametrize("name", DOCUMENTED)
def test_examples_in_docstrings(name):
    module = importlib.import_module("pairsift.estimators")
    examples = doctest.DocTestFinder(recurse=False).find(getattr(module, name), name)
    failed, tried = doctest.DocTestRunner().run(examples[0])
    assert tried > 0
    assert failed == 0


def test_no_tracked_file_is_large():
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode != 0:
        pytest.skip("not a git checkout")
    for name in filter(None, listed.stdout.split("\0")):
        size = (ROOT / name).stat().st_size
        most = 5_000_000 if name == "results.sqlite.xz" else 300_000
        assert size < most, f"{name} has {size} bytes; keep what a script can make out of the repository"
