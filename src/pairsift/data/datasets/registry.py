"""The 20 rows of the paper's Table "Data Sets Statistics", read from ``registry.toml`` beside this file."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

Part = Literal["train", "test"]


class DatasetError(ValueError):
    """A data set that is unknown, not here, or could not be fetched or prepared."""


@dataclass(frozen=True)
class RawFile:
    """A published file of a part; without `url` it has to be brought by the user."""

    part: Part
    name: str
    url: str | None = None
    sha256: str | None = None


@dataclass(frozen=True)
class StatedDifference:
    """A count that is known to differ from the paper's: the value that is expected instead, and why."""

    value: int
    reason: str


@dataclass(frozen=True)
class Dataset:
    """One row of the table, where it is published, and how its files become the paper's two classes."""

    name: str
    paper_name: str
    points: int
    positives: int
    negatives: int
    dimension: int
    auc: Literal["CV", "test"]
    multiclass: bool
    positive: str
    positive_labels: tuple[float, ...]
    published: str
    licence: str
    files: tuple[RawFile, ...]
    format: Literal["svmlight", "bank"] = "svmlight"
    max_bytes: int = 2**30
    obtain: str | None = None
    differs: dict[str, StatedDifference] = field(default_factory=dict)

    @property
    def pairs(self) -> int:
        """Number of pairs as the paper counts them: both orders, 2 N+ N-."""
        return 2 * self.positives * self.negatives

    @property
    def parts(self) -> tuple[Part, ...]:
        """The parts that its published files make."""
        return ("train", "test") if any(file.part == "test" for file in self.files) else ("train",)

    @property
    def fetchable(self) -> bool:
        """Whether all its files can be downloaded by anyone."""
        return all(file.url for file in self.files)


def _raw_file(entry: dict[str, Any]) -> RawFile:
    url: str | None = entry.get("url")
    name = entry["name"] if url is None else urlsplit(url).path.rpartition("/")[2]
    return RawFile(entry["part"], name, url, entry.get("sha256"))


def _dataset(entry: dict[str, Any]) -> Dataset:
    files = tuple(_raw_file(file) for file in entry.pop("files"))
    differs = {name: StatedDifference(**value) for name, value in entry.pop("differs", {}).items()}
    labels = tuple(float(label) for label in entry.pop("positive_labels"))
    return Dataset(files=files, differs=differs, positive_labels=labels, **entry)


def _read_registry() -> dict[str, Dataset]:
    with Path(__file__).with_name("registry.toml").open("rb") as file:
        entries = tomllib.load(file)["dataset"]
    return {entry["name"]: _dataset(entry) for entry in entries}


DATASETS: dict[str, Dataset] = _read_registry()


def find_dataset(name: str) -> Dataset:
    """Return a data set by its name or by the paper's name for it, in any case.

    Only names of the registry are known, so that a name from a user can never be a path.
    """
    wanted = str(name).lower()
    for dataset in DATASETS.values():
        if wanted in (dataset.name.lower(), dataset.paper_name.lower()):
            return dataset
    raise DatasetError(f"There is no data set {str(name)!r}; the paper's are: {', '.join(DATASETS)}.")
