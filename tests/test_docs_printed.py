"""Pages that show commands with their output: every block runs, in its order, and prints what is printed there."""

import importlib.util
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = ("guide", "mathematics", "contributing")
PAGES = [
    *(ROOT / "docs" / name for name in ("evaluate.md", "start.md")),
    *(page for folder in FOLDERS for page in sorted((ROOT / "docs" / folder).glob("*.md"))),
]
NUMBER = re.compile(r"\d[\d.,e-]*")


def load_tool(name):
    path = ROOT / "tools" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


print_docs = load_tool("print_docs")


def comparable(text):
    """Leave out seconds, last digits of scores, and all numbers where BLAS, which rounds as it likes, had a hand."""
    text = re.sub(r"[\d.]+ s\b", "", text)
    text = re.sub(r"\d+\.\d{8,}", lambda number: f"{float(number.group()):.4f}", text)
    return NUMBER.sub("0", text) if "logistic regression" in text else text


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_what_is_printed_is_what_is_shown(page, tmp_path):
    shown = list(print_docs.run_page(page.read_text(), tmp_path))
    for block in shown:
        assert comparable(block.printed) == comparable(block.says), f"run tools/print_docs.py {page}"
    if page.name == "evaluate.md":
        assert len(shown) == 3
        assert (tmp_path / "roc.svg").stat().st_size > 10_000
        words = [re.findall(r"AUC 0[^<]*", (folder / "roc.svg").read_text()) for folder in (tmp_path, ROOT / "docs")]
        assert len(words[0]) == 1
        assert words[0] == words[1], "docs/roc.svg is not the picture of this page: copy what --plot drew"


def test_a_page_that_shows_something_else_is_seen(tmp_path):
    page = "```python\nprint(1 + 1)\n```\n```text\n3\n```\n"
    (shown,) = print_docs.run_page(page, tmp_path)
    assert (shown.says, shown.printed) == ("3\n", "2\n")
    assert print_docs.rewritten(page) == page.replace("3\n", "2\n")


def test_a_command_that_fails_is_seen(tmp_path):
    with pytest.raises(RuntimeError, match=r"nowhere\.svm"):
        list(print_docs.run_page("```sh\npairsift evaluate nowhere.safetensors nowhere.svm\n```\n", tmp_path))
    with pytest.raises(ValueError, match="bash"):
        list(print_docs.run_page("```sh\nrm -r folder\n```\n", tmp_path))
