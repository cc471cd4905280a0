"""The paper's values: what ``paper.toml`` beside this file holds, and the names of its rows."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from pairsift.data.datasets import DATASETS

SETS: dict[str, str] = {dataset.paper_name: dataset.name for dataset in DATASETS.values()}
"""Name of a set in the paper -> its name here, in the order of the paper's Table "Data Sets Statistics"."""

LABELS: dict[str, str] = {
    "wsvm": "WSVM",
    "eranksvm": "ERankSVM",
    "crr": "CRR",
    "random": "Random",
    "soft-close": "Soft-Close",
    "soft-correct": "Soft-Correct",
    "hard-close": "Hard-Close",
    "hard-correct": "Hard-Correct",
    "logistic-regression": "Logistic regression",
}
"""Name of a method here -> the one that tables and figures print, which is the paper's where it has one."""


@cache
def paper() -> dict[str, Any]:
    """Return the paper's values; the keys are described in ``paper.toml``."""
    with Path(__file__).with_name("paper.toml").open("rb") as file:
        return tomllib.load(file)
