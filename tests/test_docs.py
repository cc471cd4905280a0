"""Every command and every piece of Python in the README and the docs runs as written."""

import doctest
import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

from pairsift import make_ranking
from test_cli import run, write_svmlight
from test_docs_printed import PAGES as PRINTED_PAGES

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
GENERATED = {"_build", "gallery", "generated"}
PAGES = sorted(
    [
        README,
        *(page for page in ROOT.joinpath("docs").rglob("*.md") if not GENERATED & set(page.relative_to(ROOT).parts)),
    ]
)
# Their blocks build on each other; test_docs_printed.py runs them in their order.
WITHOUT_PRINTED = [page for page in PAGES if page not in PRINTED_PAGES]
DOCUMENTED = ["AutoRanker", "ActiveRankSVM", "RankSVM", "WeightedSVM", "CombinedRankingRegression"]


def name_of(page):
    return str(page.relative_to(ROOT))


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


@pytest.mark.parametrize("page", WITHOUT_PRINTED, ids=name_of)
def test_python_in_the_docs_runs(page, tmp_path):
    for block in blocks(page, "python"):
        done = subprocess.run([sys.executable, "-c", block], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


def test_commands_of_the_page_on_models_run_in_their_order(folder):
    ran = 0
    for page, line in commands():
        if page == "models.md" and line.startswith("pairsift "):
            done = run(*line.split()[1:], cwd=folder)
            assert done.returncode == 0, f"{line}: {done.stderr}"
            ran += 1
    assert ran >= 2


def test_blocks_of_the_readme_run_as_written_and_print_what_is_printed(tmp_path):
    if not (Path(sys.prefix) / "bin" / "activate").exists():
        pytest.skip("the README begins with a virtual environment, and this Python is not in one")
    (tmp_path / ".venv").symlink_to(sys.prefix)
    printed, compared = "", 0
    for language, content in re.findall(r"^```(sh|text)\n(.*?)^```", README.read_text(), re.MULTILINE | re.DOTALL):
        if language == "text":
            assert without_numbers_of_this_machine(printed) == without_numbers_of_this_machine(content)
            compared += 1
        elif not content.startswith("make"):  # .ci/run runs those
            script = f"set -e\n. .venv/bin/activate\n{content}"
            done = subprocess.run(["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
            assert done.returncode == 0, f"{content}: {done.stderr}"
            printed = done.stdout
    assert compared == 3


def without_numbers_of_this_machine(text):
    """Leave out seconds, and the numbers of a comparison with scikit-learn, whose BLAS rounds as it likes."""
    text = re.sub(r"[\d.]+ s\b", "", text)
    return re.sub(r"\d[\d.,e-]*", "", text) if "logistic" in text else text


def test_other_commands_name_what_is_there():
    for page, line in commands():
        words = line.split()
        if words[0] == "make":
            assert re.search(rf"^{words[1]}:", (ROOT / "Makefile").read_text(), flags=re.MULTILINE), line
        elif words[0].startswith("python") and words[1].startswith("tools/"):
            assert (ROOT / words[1]).exists(), f"{page}: {line}"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
        inside = (page.parent / target).resolve().relative_to(ROOT) if "://" not in target else None
        # What only the site has is checked when it is built.
        if inside is not None and inside.parts[:2] != ("docs", "gallery"):
            assert (ROOT / inside).exists(), target


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
