"""Compare a data set on disk with the paper's table and with its own description."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from pairsift.data.datasets.download import file_sha256
from pairsift.data.datasets.registry import Dataset, Part, find_dataset
from pairsift.data.datasets.store import part_path, path_in, read_meta
from pairsift.data.svmlight import SvmlightError, read_svmlight_rows

Status = Literal["equal", "stated difference", "different", "not here"]
COUNTS = ("points", "positives", "negatives", "dimension")
META_NAMES = {"rows": "points", "positives": "positives", "negatives": "negatives", "nnz": "stored values"}


@dataclass(frozen=True)
class Check:
    """One comparison; `expected` is the paper's number, or what the description says."""

    what: str
    expected: int | str
    here: int | str
    status: Status
    reason: str = ""


@dataclass(frozen=True)
class Verification:
    """The comparisons of one data set."""

    name: str
    status: Status
    checks: list[Check] = field(default_factory=list)
    folder: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain values, for JSON."""
        return asdict(self)


def verify(name: str) -> Verification:
    """Read all parts of a data set that are here and compare them.

    Points, positives, negatives and dimension of the train part are compared with the paper's table; a difference that
    the registry states, with the stated value, counts as such. Counts and checksums of all parts are compared with
    ``<name>.meta.json``.
    """
    dataset = find_dataset(name)
    path = part_path(dataset.name)
    if path is None:
        return Verification(dataset.name, "not here")
    return verify_files(dataset, path.parent.parent)


def verify_files(dataset: Dataset, folder: Path) -> Verification:
    """Verify the files of a data set in a given folder of data sets."""
    checks: list[Check] = []
    parts: tuple[Part, ...] = ("train", "test")
    for part in parts:
        path = path_in(folder, dataset, part)
        if not path.is_file():
            if part in dataset.parts and (part == "train" or dataset.auc == "test"):
                checks.append(Check(f"{part} part", "here", "missing", "different"))
            continue
        try:
            counts = _count(path)
        except SvmlightError as error:
            checks.append(Check(f"{part} part", "readable", "damaged", "different", str(error)))
            continue
        if part == "train":
            checks += [_with_paper(dataset, what, counts[what]) for what in COUNTS]
        checks += _with_meta(part, path, counts, read_meta(path, dataset).get("parts", {}).get(part, {}))
    return Verification(dataset.name, _overall(checks), checks, str(folder / dataset.name))


def _count(path: Path) -> dict[str, int]:
    rows, y, _ = read_svmlight_rows(path, zero_based=False)
    positives = int((y > 0).sum())
    return {
        "points": len(y),
        "positives": positives,
        "negatives": len(y) - positives,
        "dimension": rows.n_features,
        "stored values": len(rows.values),
    }


def _with_paper(dataset: Dataset, what: str, here: int) -> Check:
    expected = int(getattr(dataset, what))
    if here == expected:
        return Check(what, expected, here, "equal")
    stated = dataset.differs.get(what)
    if stated is not None and here == stated.value:
        return Check(what, expected, here, "stated difference", stated.reason)
    return Check(what, expected, here, "different", "not as in the paper's table")


def _with_meta(part: Part, path: Path, counts: dict[str, int], meta: dict[str, Any]) -> list[Check]:
    checks = []
    for key, what in META_NAMES.items():
        if key in meta and meta[key] != counts[what]:
            checks.append(
                Check(f"{part} {what}", meta[key], counts[what], "different", "not as described in meta.json")
            )
    if "sha256_xz" in meta:
        here = file_sha256(path)
        same = here == meta["sha256_xz"]
        reason = "" if same else "the file is not the one that meta.json describes"
        checks.append(Check(f"{part} sha256", meta["sha256_xz"], here, "equal" if same else "different", reason))
    return checks


def _overall(checks: list[Check]) -> Status:
    statuses = {check.status for check in checks}
    return (
        "different" if "different" in statuses else "stated difference" if "stated difference" in statuses else "equal"
    )
