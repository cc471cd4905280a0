"""Where data sets are: ``<folder>/<name>/<name>.<part>.svm.xz``, in PAIRSIFT_DATA or in the user's cache folder."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from pairsift._typing import FloatArray
from pairsift.data.datasets.registry import DATASETS, Dataset, DatasetError, Part, find_dataset
from pairsift.data.svmlight import SvmlightRows, read_svmlight, read_svmlight_rows, scan_svmlight

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def cache_folder() -> Path:
    """Return the folder that `fetch` writes to by default."""
    if os.environ.get("XDG_CACHE_HOME"):
        return Path(os.environ["XDG_CACHE_HOME"], "pairsift", "datasets")
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home()), "pairsift", "datasets")
    caches = Path.home() / ("Library/Caches" if sys.platform == "darwin" else ".cache")
    return caches / "pairsift" / "datasets"


def search_folders() -> list[Path]:
    """Return the folders that are searched, first one first."""
    given = os.environ.get("PAIRSIFT_DATA")
    return [*([Path(given)] if given else []), cache_folder()]


def path_in(folder: Path, dataset: Dataset, part: Part) -> Path:
    """Return where a part of a data set is in a folder of data sets."""
    return folder / dataset.name / f"{dataset.name}.{part}.svm.xz"


def part_path(name: str, split: Part = "train") -> Path | None:
    """Return the file of a part, or None if it is in none of the folders."""
    dataset = find_dataset(name)
    for folder in search_folders():
        path = path_in(folder, dataset, split)
        if path.is_file():
            return path
    return None


def list_here() -> list[str]:
    """Return the names of the data sets that are here."""
    return [name for name in DATASETS if part_path(name) is not None]


def read_meta(path: Path, dataset: Dataset) -> dict[str, Any]:
    """Return what ``<name>.meta.json`` beside a part says; empty if there is none."""
    meta = path.with_name(f"{dataset.name}.meta.json")
    try:
        content = json.loads(meta.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (ValueError, OSError) as error:
        raise DatasetError(f"{meta} cannot be read ({error}); fetch the data set again.") from error
    return cast(dict[str, Any], content) if isinstance(content, dict) else {}


def load_dataset(name: str, split: Part = "train") -> tuple[csr_array, FloatArray]:
    """Load a data set of the paper: rows in a sparse array, labels +1 and -1.

    Parameters
    ----------
    name
        Its name here or in the paper, e.g. ``"a9a"``, ``"MQ-08"``.
    split
        ``"train"``, or ``"test"`` where there is a test file. Both have the same number of columns.

    Raises
    ------
    DatasetError
        A `ValueError`: no such data set, or it is not in the folder PAIRSIFT_DATA nor in the cache.
    """
    path, width = _locate(name, split)
    result = read_svmlight(path, n_features=width, zero_based=False)
    return result[0], result[1]


def load_dataset_rows(name: str, split: Part = "train") -> SvmlightRows:
    """Load like `load_dataset`, into rows for the kernels, without importing scipy."""
    path, width = _locate(name, split)
    return read_svmlight_rows(path, n_features=width, zero_based=False)


def _locate(name: str, split: Part) -> tuple[Path, int | None]:
    if split not in ("train", "test"):
        raise DatasetError(f"split must be 'train' or 'test'; got {split!r}.")
    dataset = find_dataset(name)
    path = part_path(name, split)
    if path is None:
        raise DatasetError(_not_here(dataset, split))
    return path, _width(dataset, path, split)


def _width(dataset: Dataset, path: Path, split: Part) -> int | None:
    """Return the number of columns of all parts: a test file need not use the last ones."""
    stated = read_meta(path, dataset).get("parts", {}).get(split, {}).get("dim")
    if isinstance(stated, int) and stated > 0:
        return stated
    train = path_in(path.parent.parent, dataset, "train")
    return scan_svmlight(train, zero_based=False).n_features if split == "test" and train.is_file() else None


def _not_here(dataset: Dataset, split: Part) -> str:
    if split == "test" and part_path(dataset.name) is not None:
        rule = (
            "the paper uses 5-fold cross-validation on its rows"
            if dataset.auc == "CV"
            else "only its train part is here"
        )
        return f"There is no test part of {dataset.name}: {rule}."
    way = dataset.obtain or f"Run: pairsift datasets fetch {dataset.name}"
    here = ", ".join(list_here()) or "none"
    searched = " and ".join(str(folder) for folder in search_folders())
    return f"The data set {dataset.name} is not here (searched {searched}; here are: {here}). {way}"
