"""Options and defaults are the same wherever they are told: in the code, in --help, in the README and in the docs."""

import ast
import inspect
import math
import re

import click
import pytest

import pairsift
from pairsift import active, budget, calibration, estimators, model_file, pair_features, threshold, validation
from pairsift.cli.fit import CALIBRATION_SHARE
from pairsift.cli.methods import DEFAULTS
from pairsift.data import holdout, learn_encoding, rows
from pairsift.sampling.registry import SAMPLERS
from pairsift.search import choosing, parts, sizes, strength
from pairsift.search import options as auto_options
from pairsift.search.options import AUTO_ROWS
from pairsift.solvers import dual
from test_docs import PAGES, ROOT, name_of
from test_help_and_completion import every_command

ESTIMATORS = {
    "auto": estimators.AutoRanker,
    "active": estimators.ActiveRankSVM,
    "exact": estimators.RankSVM,
    "pointwise": estimators.WeightedSVM,
    "combined": estimators.CombinedRankingRegression,
}
# What the command line has in its own way: a seed is an option of every method, a column is one of the
# data, a terminal shows progress, and Ctrl-C keeps the model.
ELSEWHERE = {"random_state", "verbose", "holdout_by", "on_interrupt"}
# Options of other programs that the pages name.
FOREIGN = {"--no-build-isolation", "--ff-only"}


def find(path):
    command = pairsift_command()
    for name in path:
        command = command.get_command(click.Context(command), name)
    return command


def pairsift_command():
    from pairsift.cli import pairsift as command

    return command


OPTIONS = {
    " ".join(path): {
        option
        for parameter in find(path).params
        if isinstance(parameter, click.Option)
        for option in (*parameter.opts, *parameter.secondary_opts)
    }
    | {"-h", "--help"}
    for path in every_command()
}


@pytest.mark.parametrize("method", ESTIMATORS)
def test_the_command_line_has_the_parameters_and_defaults_of_the_estimator(method):
    signature = inspect.signature(ESTIMATORS[method]).parameters
    expected = {name: parameter.default for name, parameter in signature.items() if name not in ELSEWHERE}
    assert DEFAULTS[method] == expected


def test_every_parameter_is_an_option_of_fit():
    for defaults in DEFAULTS.values():
        for name in defaults:
            assert "--" + name.replace("_", "-") in OPTIONS["fit"]


def test_help_states_the_defaults_of_the_code():
    """An option whose default depends on the method is None to click, and its help says the default in words."""
    stated = 0
    for parameter in find(["fit"]).params:
        found = re.search(r"\[default: (.+)\]$", getattr(parameter, "help", None) or "")
        if found is None:
            continue
        defaults = {method: values[parameter.name] for method, values in DEFAULTS.items() if parameter.name in values}
        if not defaults or parameter.name in ("C", "budget"):
            continue  # an option of the data, and not of a method; or one of the next test
        said = found.group(1)
        if said == "yes":
            assert set(defaults.values()) == {True}
        elif said.startswith("only "):
            assert {method for method, value in defaults.items() if value is True} == {said.removeprefix("only ")}
        elif re.fullmatch(r"[\d.]+", said):
            assert {float(value) for value in defaults.values()} == {float(said)}
        else:
            assert set(defaults.values()) == {said}
        stated += 1
    assert stated >= 10


def help_of(name):
    return next(parameter.help for parameter in find(["fit"]).params if parameter.name == name)


def test_help_states_all_defaults_of_C_budget_and_loss():
    (others,) = {values["C"] for method, values in DEFAULTS.items() if method not in ("auto", "active")}
    assert DEFAULTS["auto"]["C"] == "auto"
    assert f"auto for auto, {DEFAULTS['active']['C']:g} for active, {others:g} for the others]" in help_of("C")
    assert DEFAULTS["auto"]["budget"] == "auto"
    assert f"[default: {AUTO_ROWS} rows, {DEFAULTS['active']['budget']} pairs]" in help_of("budget")
    said = help_of("loss")
    assert f"Of auto (the default is {DEFAULTS['auto']['loss']}), and of exact" in said
    assert f"the default is {DEFAULTS['exact']['loss']})." in said


def test_help_offers_every_sampler():
    sampling = next(parameter for parameter in find(["fit"]).params if parameter.name == "sampling")
    assert list(sampling.type.choices) == list(SAMPLERS)


def mentions(page):
    """Yield (command or None, option) for everything that looks like an option in the code of a page."""
    text = page.read_text()
    for block in re.findall(r"^```(?:sh|bash)?\n(.*?)^```|(`[^`\n]+`)", text, flags=re.MULTILINE | re.DOTALL):
        for line in "".join(block).strip("`").splitlines():
            yield from _of_line(line.split(" # ")[0])


def _of_line(line):
    words = re.findall(r"[^\s\[\]()|,;=\"']+", line)
    if words and (words[0].startswith("python") or words[0] in ("pip", "make", "git", "cmake", ".venv/bin/pip")):
        return  # options of others
    command = None
    if words and (words[0] == "pairsift" or words[0] in OPTIONS):
        words = words[1:] if words[0] == "pairsift" else words
        command = " ".join(words[:2]) if " ".join(words[:2]) in OPTIONS else words[0] if words else ""
        command = command if command in OPTIONS else None
    for word in words:
        if re.fullmatch(r"--[A-Za-z][\w-]*", word):
            yield command, word


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"], ids=name_of)
def test_options_that_a_page_names_are_there(page):
    known = set().union(*OPTIONS.values()) | FOREIGN | options_of_tools()
    for command, option in mentions(page):
        there = OPTIONS[command] if command is not None else known
        assert option in there, f"pairsift {command or ''} has no {option}"


def options_of_tools():
    """Return what tools/*.py take, and our own options of pytest; the pages tell how to run them."""
    found = set()
    for path in [*(ROOT / "tools").glob("*.py"), *(ROOT / "tests").glob("*.py")]:
        found |= set(re.findall(r'(?:add_argument|addoption)\(\s*"(--[\w-]+)"', path.read_text()))
    return found


def test_the_test_sees_options():
    assert list(_of_line("pairsift fit train.svm --C auto -o x --budget 30s")) == [("fit", "--C"), ("fit", "--budget")]
    assert list(_of_line("--calibration logistic")) == [(None, "--calibration")]
    assert list(_of_line("datasets list --json")) == [("datasets list", "--json")]
    assert list(_of_line("python tools/x.py --sets a")) == []
    assert sum(1 for page in PAGES for _ in mentions(page)) > 100


def calls(page):
    """Yield the calls of public names in the code of a page, as syntax trees; what is no Python is left out."""
    pieces = re.findall(r"^```python\n(.*?)^```", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    pieces += [piece for piece in re.findall(r"`([^`\n]+)`", page.read_text()) if re.match(r"\w+\(", piece)]
    for piece in pieces:
        try:
            tree = ast.parse(piece.replace("...", "0"))
        except SyntaxError:
            continue  # words with brackets
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in pairsift.__all__:
                yield node


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_parameters_that_a_page_names_are_there(page):
    for call in calls(page):
        known = inspect.signature(getattr(pairsift, call.func.id)).parameters
        for keyword in call.keywords:
            assert keyword.arg is None or keyword.arg in known, f"{call.func.id} has no {keyword.arg}"


def test_the_test_sees_calls():
    assert sum(len(call.keywords) for page in PAGES for call in calls(page)) > 30


def stated_defaults():
    """Defaults that pages state in words, where they state them."""
    strength, fit = (ROOT / "docs" / name for name in ("strength.md", "fit.md"))
    found = re.search(
        r'"auto" is the default: ([\d.]+) for `ActiveRankSVM`, ([\d.]+) for the others', strength.read_text()
    )
    yield "strength.md", float(found.group(1)), DEFAULTS["active"]["C"]
    yield "strength.md", float(found.group(2)), DEFAULTS["exact"]["C"]
    found = re.search(r"\| pairs \| `(\d+)` \|", fit.read_text())
    yield "fit.md", int(found.group(1)), DEFAULTS["active"]["budget"]
    found = re.search(r"\| rows of each class \| `(\d+)` \|", fit.read_text())
    yield "fit.md", int(found.group(1)), AUTO_ROWS


def test_defaults_that_pages_state_are_those_of_the_code():
    for page, said, default in stated_defaults():
        assert said == default, page


# Numbers that pages state in prose, each with the constant that it is; {} stands for the number.
STATED = [
    ("data.md", r"more than\s+{} different values is refused", learn_encoding.MAX_CATEGORIES),
    ("data.md", r"exact up to {} million values", learn_encoding.MEDIAN_VALUES // 2**20),
    ("fit.md", r"holds out a tenth of each class \({} rows of it at most\)", holdout.VALIDATION_ROWS),
    ("fit.md", r"whenever at least {} rounds", validation.ROUNDS_BETWEEN),
    ("fit.md", r"keep the total weight at C \* {}", budget.STRENGTH_PAIRS),
    ("models.md", r"of `--validation` \({} unless given", CALIBRATION_SHARE),
    ("models.md", r"at most {} rows of each class\)", holdout.VALIDATION_ROWS),
    ("models.md", r"Logistic wants {} held-out rows", calibration.WANTED["logistic"]),
    ("models.md", r"isotonic {}; with fewer", calibration.WANTED["isotonic"]),
    ("models.md", r"those of up to {} training rows of each class", pair_features.SAMPLED_ROWS),
    ("models.md", r"which the model remembers \(up to {} features\)", pair_features.WIDEST),
    ("models.md", r"\| `format` \| {}\.", model_file.FORMAT),
    ("guide/probabilities.md", r"wants {} held-out rows of the rarer class", calibration.WANTED["logistic"]),
    ("guide/probabilities.md", r"rising curve and wants {}\.", calibration.WANTED["isotonic"]),
    ("strength.md", r"`RankSVM\(C={}\)` estimate one problem", DEFAULTS["exact"]["C"]),
    ("strength.md", r"`ActiveRankSVM\(C={}, budget=8000\)`", DEFAULTS["active"]["C"]),
    ("guide/large.md", r"up to 2\^{} values all", math.log2(rows.FULL_CHECK_VALUES)),
    ("method.md", r"up to\s+{}, beyond that", threshold.ALL_ROWS),
    ("method.md", r"beyond that {} of each class drawn", threshold.SAMPLED_ROWS),
    ("method.md", r"when there are at most 2\^{} of them", math.log2(rows.FULL_CHECK_VALUES)),
    ("method.md", r"Problems of fewer than {} terms", dual.SMALL_PROBLEM),
    ("method.md", r"with at most {} passes; the last", active.STEERING_PASSES),
    ("mathematics/complexity.md", r"with at most {} passes but for the last", active.STEERING_PASSES),
    ("strength.md", r"With more than {} columns pairs are not tried", auto_options.PAIR_COLUMNS),
    ("guide/choosing.md", r"\(up to {} columns\) hinge pairs", auto_options.PAIR_COLUMNS),
    ("method.md", r"validation rows \(up to {} of each class\)", parts.JUDGING_ROWS),
    ("method.md", r"The default stays C = {}, as stated", DEFAULTS["active"]["C"]),
    ("strength.md", r"Up to {} rows of each class, a fifth at most, validate", parts.JUDGING_ROWS),
    ("strength.md", r"up to {} others are learned from", parts.LEARNING_ROWS),
    ("strength.md", r"leaves fewer than {} validation rows", sizes.ROWS_TO_SEE),
    ("strength.md", r"points are tried at C = {} and", choosing.START),
    ("strength.md", r"A fifth of each class, at most {} rows of it, is held out", strength.HELD_OUT_ROWS),
    ("strength.md", r"that is fewer than {} rows of a class, up to five", strength.ROWS_TO_SEE),
    ("strength.md", r"With no more than {} pairs", strength.FEW_PAIRS),
    ("strength.md", r"fewer than {} rows of a class, nothing is held out", strength.FEW_ROWS),
    ("strength.md", r"With fewer than {} different rows of a class", sizes.LEAST_TO_CHOOSE),
    ("strength.md", r"From {} rows of the rarer class on", sizes.LEAST_TO_SPARE),
    ("strength.md", r"logistic points, C = {}\.", auto_options.DEFAULT_C),
    ("fit.md", r"at most a {} above its minimum; `--tol` bounds it", DEFAULTS["active"]["tol"]),
]
WORDS = {"thousandth": 1e-3}


@pytest.mark.parametrize(("page", "pattern", "constant"), STATED, ids=[f"{page}: {words}" for page, words, _ in STATED])
def test_numbers_in_prose_are_those_of_the_code(page, pattern, constant):
    text = " ".join((ROOT / "docs" / page).read_text().split())
    found = re.findall(pattern.replace("{}", r"(thousandth|\d[\d,]*(?:\.\d+)?)"), text)
    assert found, f"{page} no longer says this; change the list with it"
    for said in found:
        number = WORDS[said] if said in WORDS else float(said.replace(",", ""))
        assert number == constant
