"""The transcription of the paper's values, against the LaTeX source where it is at hand, and against itself."""

import os
import re
from pathlib import Path

import pytest

from pairsift.data.datasets import DATASETS
from pairsift.experiments.paper import SETS, paper

BY_COLUMN = {
    "WSVM": "wsvm",
    "ERankSVM": "eranksvm",
    "CRR": "crr",
    "Random": "random",
    "Soft-Close": "soft-close",
    "Soft-Correct": "soft-correct",
    "Hard-Close": "hard-close",
    "Hard-Correct": "hard-correct",
}


@pytest.fixture(scope="module")
def latex():
    data = os.environ.get("PAIRSIFT_DATA")
    if not data:
        pytest.skip("PAIRSIFT_DATA is not set: the paper is looked for in the folder beside it")
    sources = sorted((Path(data).parent / "paper").glob("*.tex"))
    if not sources:
        pytest.skip("the paper's LaTeX source is not beside PAIRSIFT_DATA")
    lines = sources[0].read_text(encoding="utf-8").splitlines()
    return "\n".join(re.split(r"(?<!\\)%", line)[0] for line in lines)


def table(latex, label):
    """Yield the rows of a table as lists of texts, heads included."""
    environment = next(
        part
        for part in re.findall(r"\\begin\{table\*?\}.*?\\end\{table\*?\}", latex, re.DOTALL)
        if f"{{{label}}}" in part
    )
    for tabular in re.findall(r"\\begin\{tabular\}\{.*?\}\n(.*?)\\end\{tabular\}", environment, re.DOTALL):
        for row in re.sub(r"\\hline|\\cline\{.*?\}", "", tabular).split("\\\\"):
            if "&" in row:
                yield [field.strip().replace("\\_", "_") for field in row.split("&")]


def name_of(printed):
    printed = printed.rstrip("*")
    return paper()["printed_as"].get(printed, printed)


def test_statistics(latex):
    head, *rows = table(latex, "tab:data")
    assert head == ["Data", "Positive", "Negative", "Points", "Pairs", "Dimension", "AUC"]
    ours = paper()["statistics"]["rows"]
    assert [name_of(row[0]) for row in rows] == list(ours)
    for row in rows:
        values = ours[name_of(row[0])]
        keys = ("positive", "negative", "points", "pairs", "dimension")
        assert [values[key] for key in keys] == [int(text) for text in row[1:6]]
        assert (values["auc"], values["multiclass"]) == (row[6], row[0].endswith("*"))


def test_auc(latex):
    rows = [row for row in table(latex, "tab:auc") if len(row) == 7]
    heads = next(row for row in rows if row[0] == "Data")
    columns = [BY_COLUMN[name] for name in heads[1:]]
    values = paper()["auc"]
    assert columns == values["columns"]
    body = [row for row in rows if re.search(r"\.\d", row[1])]
    assert [row[0] for row in body] == list(values["rows"])
    for row in body:
        for column, text in zip(columns, row[1:], strict=True):
            printed = re.sub(r"[\s${}]|\\textbf|\(\*\)", "", text).split("\\pm")
            ours = values["rows"][row[0]][column]
            assert [ours["mean"], ours.get("std")] == [float(printed[0]), *map(float, printed[1:]), None][:2]
            assert bool(ours.get("significant")) == ("(*)" in text)
            assert bool(ours.get("bold")) == ("\\textbf" in text)
    totals = next(row for row in rows if row[0].startswith("Total"))
    printed = {column: text for column, text in zip(columns, totals[1:], strict=True) if "/" in text}
    assert {column: "/".join(map(str, total)) for column, total in values["totals"].items()} == printed


def test_soft_against_hard(latex):
    head, row = table(latex, "tab:hard")
    printed = dict(zip(head[1:], row[1:], strict=True))
    for key in ("Close", "Correct"):
        assert "/".join(map(str, paper()["hard"][key.lower()])) == printed[key]


def test_bias(latex):
    printed, names = {}, []
    for row in table(latex, "tab:biased"):
        if row[0] == "":
            names = row[1:]
        for name, text in zip(names, row[1:], strict=True):
            if row[0]:
                printed.setdefault(name, {})[f"soft-{row[0].lower()}"] = float(text)
    assert printed == paper()["bias"]["rows"]


def test_time(latex):
    head, *rows = table(latex, "tab:time")
    columns = [BY_COLUMN[name] for name in head[1:]]
    assert columns == paper()["time"]["columns"]
    printed = {name_of(row[0]): dict(zip(columns, map(float, row[1:]), strict=True)) for row in rows}
    assert printed == paper()["time"]["rows"]
    assert list(printed) == list(paper()["time"]["rows"])


def test_gamma(latex):
    rows = [row for row in table(latex, "tab:gamma") if row[1] != "Soft-Close"]
    assert [row[0] for row in rows] == list(paper()["gamma"]["rows"])
    for name, *fields in rows:
        for sampler, text in zip(("soft-close", "soft-correct"), fields, strict=True):
            settings = [one.strip() for one in text.split(",")]
            ours = paper()["gamma"]["rows"][name][sampler]
            assert ours["best"] == [one.removeprefix("\\textbf{").removesuffix("}") for one in settings]
            assert {one.startswith("\\textbf") for one in settings} == {ours["bold"]}


def test_quotes_are_in_the_text(latex):
    flat = " ".join(latex.split())
    for one in paper()["contradictions"]:
        assert " ".join(one["quote"].split()) in flat


def test_rows_are_the_registry():
    for name, row in paper()["statistics"]["rows"].items():
        dataset = DATASETS[SETS[name]]
        assert (row["points"], row["positive"], row["auc"]) == (dataset.points, dataset.positives, dataset.auc)
        assert row["pairs"] == 2 * row["positive"] * row["negative"]
        assert row["points"] == row["positive"] + row["negative"]
    assert list(paper()["statistics"]["rows"]) == list(SETS)


def test_stars_are_the_wins_of_the_totals():
    values = paper()["auc"]
    for rival, (wins, losses, ties) in values["totals"].items():
        assert sum(bool(row[rival].get("significant")) for row in values["rows"].values()) == wins
        assert wins + losses + ties == 20


def test_contradictions_count_what_the_tables_show():
    said = {one["about"]: one["table"] for one in paper()["contradictions"]}
    bias, time, auc = (paper()[key]["rows"].values() for key in ("bias", "time", "auc"))
    worse = sum(row["soft-close"] < 0 for row in bias)
    better = sum(row["soft-correct"] > 0 for row in bias)
    faster = sum(row["soft-correct"] < row["eranksvm"] for row in time)
    best = sum(bool(row["soft-correct"].get("bold")) for row in auc)
    assert said["Bias correction of soft-close is worse on"] == f"{worse} of 15 data sets"
    assert said["Bias correction of soft-correct is better on"] == f"{better} of 15 data sets"
    assert said["Soft-correct is faster than ERankSVM on"] == f"{faster} of 20 data sets"
    assert said["Soft-correct is the best of all on"] == f"{best} of 20 data sets (in bold)"
    wins = [paper()["auc"]["totals"][rival][0] for rival in ("eranksvm", "wsvm", "crr")]
    assert said["Soft-correct against ERankSVM, WSVM and CRR: wins"] == "{}, {} and {}".format(*wins)
