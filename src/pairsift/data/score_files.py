"""Scores from a file, one for each row of the data in their order: what another tool says, to be evaluated or compared.

A text file has one number a line, with or without a line of names, or several columns with names of which one is
``score``. A ``.npy`` file holds a one-dimensional array. Text may be compressed.
"""

from __future__ import annotations

import csv
import io
import os
from pathlib import Path
from typing import Any

import numpy as np

from pairsift._typing import FloatArray
from pairsift.data.compressed import ENDINGS, is_damage, open_binary
from pairsift.data.file_state import naming
from pairsift.data.formats import check_file
from pairsift.words import counted

SCORE = "score"
_TEXT = (".csv", ".tsv", ".txt", ".scores")


def is_score_file(path: str | os.PathLike[str]) -> bool:
    """Tell whether a file is one of scores by its name; everything else is taken for a model."""
    name = Path(path)
    ending = Path(name.stem).suffix if name.suffix.lower() in ENDINGS else name.suffix
    return ending.lower() in (*_TEXT, ".npy")


def read_scores(path: str | os.PathLike[str], n_rows: int | None = None) -> FloatArray:
    """Read a file of scores.

    Parameters
    ----------
    path : str or path
    n_rows : int, optional
        How many scores there must be: one for each row of the data.

    Raises
    ------
    ValueError
        The file is no file of scores, a score is not finite, or there are more or fewer than `n_rows`.
    """
    check_file(path)
    scores = _from_npy(path) if Path(path).suffix.lower() == ".npy" else _from_text(path)
    bad = np.flatnonzero(~np.isfinite(scores))
    if len(bad):
        raise ValueError(f"{path}: score number {bad[0] + 1} is not finite; every row needs a number.")
    if n_rows is not None and len(scores) != n_rows:
        raise ValueError(
            f"{path}: has {counted(len(scores), 'score')}, but the data have {counted(n_rows, 'row')}; one score for "
            "each row is required, in the order of the rows."
        )
    return scores


def _from_npy(path: Any) -> FloatArray:
    from pairsift.data.numpy_files import _load

    scores = _load(path)
    if scores.ndim != 1 or scores.dtype.kind not in "biuf":
        raise ValueError(
            f"{path}: scores are numbers in one dimension; got {scores.dtype} of shape {scores.shape}. "
            "Of class probabilities save the column of the positive class, proba[:, 1]."
        )
    return scores.astype(np.float64)


def _from_text(path: Any) -> FloatArray:
    try:
        with naming(path), open_binary(Path(path)) as file:
            content = file.read()
    except Exception as error:
        if is_damage(error):
            raise ValueError(f"{path}: the compressed file is cut off or damaged ({error}).") from error
        raise
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: not a text of scores; one number a line is required.") from error
    head, _, rest = text.partition("\n")
    names = [name.strip().strip('"').lower() for name in head.replace("\t", ",").split(",")]
    if len(names) == 1 and _is_number(names[0]):
        return _one_column(path, text, 1)
    if len(names) == 1 and names[0]:
        return _one_column(path, rest, 2)
    if names.count(SCORE) != 1:
        raise ValueError(
            f"{path}: has {len(names)} columns; a file of scores has one, or names in its first line of which one is "
            f"{SCORE!r}. The first line is {head.strip()[:60]!r}."
        )
    return _one_of_many(path, rest, names.index(SCORE), "\t" if "\t" in head else ",")


def _one_column(path: Any, text: str, first_line: int) -> FloatArray:
    lines = text.splitlines()
    while lines and not lines[-1].strip():
        lines.pop()
    try:
        return np.array(lines, dtype=np.float64) if lines else np.empty(0)
    except ValueError:
        number = next(k for k, line in enumerate(lines) if not _is_number(line))
        raise ValueError(
            f"{path}, line {number + first_line}: a number is required; got {lines[number].strip()[:40]!r}."
        ) from None


def _one_of_many(path: Any, text: str, place: int, delimiter: str) -> FloatArray:
    reader = csv.reader(io.StringIO(text), delimiter=delimiter)
    try:
        scores = [float(fields[place]) for fields in reader if fields]
    except (ValueError, IndexError, csv.Error):
        raise ValueError(f"{path}, line {reader.line_num + 1}: no number in the column {SCORE!r}.") from None
    return np.array(scores, dtype=np.float64)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
