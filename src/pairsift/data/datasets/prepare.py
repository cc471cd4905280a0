"""From published files to the layout of `store`: LIBSVM text with labels +1 and -1, compressed, and a description.

Text is rewritten line by line: the label becomes +1 if it is one of the positive labels and -1 otherwise, query ids and
comments are left out (ids go to ``<name>.<part>.qid``), features are kept as they are published.
"""

from __future__ import annotations

import csv
import io
import json
import lzma
import os
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any

from pairsift.data.compressed import open_binary
from pairsift.data.datasets.download import file_sha256
from pairsift.data.datasets.registry import Dataset, DatasetError, Part
from pairsift.data.datasets.store import path_in
from pairsift.data.svmlight import scan_svmlight

Row = tuple[bytes, bytes, bytes]  # label, query id or nothing, features

BANK_NUMERIC = ("age", "balance", "day", "duration", "campaign", "pdays", "previous")
BANK_CATEGORIES = ("job", "marital", "education", "default", "housing", "loan", "contact", "month", "poutcome")


def prepare(dataset: Dataset, raw: dict[Part, list[Path]], folder: Path) -> None:
    """Write the parts of a data set and its description into ``<folder>/<name>/`` from its raw files."""
    counts = {}
    for part, paths in raw.items():
        rows = _bank_rows(paths[0]) if dataset.format == "bank" else _svmlight_rows(paths)
        counts[part] = _write_part(dataset, part, rows, folder)
    width = max(count["max_index"] for count in counts.values())
    meta = {
        "name": dataset.name,
        "parts": {part: count | {"dim": width} for part, count in counts.items()},
        "source": dataset.published,
        "licence": dataset.licence,
        "processing": f"positive: {dataset.positive}; prepared by pairsift",
        "raw_sha256": {path.name: file_sha256(path) for paths in raw.values() for path in paths},
    }
    path = folder / dataset.name / f"{dataset.name}.meta.json"
    _replace(path, json.dumps(meta, indent=1).encode())


def _write_part(dataset: Dataset, part: Part, rows: Iterable[Row], folder: Path) -> dict[str, Any]:
    target = path_in(folder, dataset, part)
    target.parent.mkdir(parents=True, exist_ok=True)
    beside = target.with_name(f".{part}.tmp.xz")
    ids: list[bytes] = []
    positives = 0
    try:
        with lzma.open(beside, "wb", preset=1) as file:
            for label, qid, features in rows:
                positive = _number(label, dataset) in dataset.positive_labels
                positives += positive
                file.write((b"+1 " if positive else b"-1 ") + features + b"\n")
                if qid:
                    ids.append(qid)
        summary = scan_svmlight(beside, zero_based=False)
        os.replace(beside, target)
    finally:
        beside.unlink(missing_ok=True)
    if ids:
        _replace(target.with_name(f"{dataset.name}.{part}.qid"), b"\n".join(ids) + b"\n")
    return {
        "file": target.name,
        "rows": summary.n_rows,
        "positives": positives,
        "negatives": summary.n_rows - positives,
        "max_index": summary.n_features,
        "nnz": summary.n_stored,
        "sha256_xz": file_sha256(target),
    }


def _number(label: bytes, dataset: Dataset) -> float:
    try:
        return float(label)
    except ValueError:
        raise DatasetError(
            f"A raw file of {dataset.name} has the label {label[:40]!r}, which is not a number."
        ) from None


def _svmlight_rows(paths: list[Path]) -> Iterator[Row]:
    for path in paths:
        with open_binary(path) as stream:
            for line in stream:
                words = line.partition(b"#")[0].split(None, 2)
                if not words:
                    continue
                if len(words) > 1 and words[1].startswith(b"qid:"):
                    yield words[0], words[1][4:], b"".join(words[2:]).strip()
                else:
                    yield words[0], b"", b" ".join(words[1:]).strip()


def _bank_rows(path: Path) -> Iterator[Row]:
    """UCI's bank-full.csv: numeric columns to [0, 1], categories one-hot, their values sorted; y = yes is label 1."""
    with _open_bank(path) as stream:
        records = list(csv.DictReader(io.TextIOWrapper(stream, encoding="utf-8"), delimiter=";"))
    missing = {*BANK_NUMERIC, *BANK_CATEGORIES, "y"} - set(records[0] if records else ())
    if missing:
        raise DatasetError(f"{path.name} has no column {', '.join(sorted(missing))}.")
    ranges = {}
    for name in BANK_NUMERIC:
        numbers = [float(record[name]) for record in records]
        ranges[name] = (min(numbers), max(numbers))
    values = [(name, value) for name in BANK_CATEGORIES for value in sorted({record[name] for record in records})]
    place = {key: len(BANK_NUMERIC) + 1 + k for k, key in enumerate(values)}
    for record in records:
        features = []
        for index, (name, (low, high)) in enumerate(ranges.items(), start=1):
            value = (float(record[name]) - low) / (high - low) if high > low else 0.0
            if value:
                features.append(f"{index}:{value:.6g}")
        features += [f"{place[name, record[name]]}:1" for name in BANK_CATEGORIES]
        yield (b"1" if record["y"] == "yes" else b"0"), b"", " ".join(features).encode()


def _open_bank(path: Path) -> IO[bytes]:
    """Return bank-full.csv itself, or out of UCI's archive (an archive within an archive)."""
    if path.suffix != ".zip":
        return path.open("rb")
    try:
        with zipfile.ZipFile(path) as outer:
            if "bank-full.csv" in outer.namelist():
                return io.BytesIO(outer.read("bank-full.csv"))
            with zipfile.ZipFile(io.BytesIO(outer.read("bank.zip"))) as inner:
                return io.BytesIO(inner.read("bank-full.csv"))
    except (zipfile.BadZipFile, KeyError) as error:
        raise DatasetError(f"{path.name} is not UCI's archive of the bank data ({error}).") from None


def _replace(path: Path, content: bytes) -> None:
    beside = path.with_name(f".{path.name}.tmp")
    beside.write_bytes(content)
    os.replace(beside, path)
