"""Get a data set: download its published files, prepare them, and check the counts."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from pairsift.data.datasets.download import Progress, download, file_sha256
from pairsift.data.datasets.prepare import prepare
from pairsift.data.datasets.registry import Dataset, DatasetError, Part, RawFile, find_dataset
from pairsift.data.datasets.store import cache_folder, path_in
from pairsift.data.datasets.verify import Verification, verify_files


def fetch(
    name: str | Dataset,
    *,
    folder: Path | str | None = None,
    raw: Path | str | None = None,
    force: bool = False,
    unverified: bool = False,
    progress: Progress | None = None,
    **download_options: Any,
) -> Verification:
    """Download a data set and prepare it; what is there already in part is continued.

    Parameters
    ----------
    name
        Its name here or in the paper.
    folder
        The folder of data sets to write to; the user's cache folder by default.
    raw
        A folder that has the published files already, for sets that cannot be downloaded by everyone.
    force
        Fetch even if the data set is in `folder` already and right.
    unverified
        Download files whose checksum is not known too; without it they are refused.
    progress
        Called with (file name, bytes so far, bytes in all or None).
    **download_options
        Passed to `download`.

    Returns
    -------
    Verification
        How the counts compare with the paper's.
    """
    dataset = name if isinstance(name, Dataset) else find_dataset(name)
    folder = cache_folder() if folder is None else Path(folder)
    if not force and path_in(folder, dataset, "train").is_file():
        present = verify_files(dataset, folder)
        if present.status != "different":
            return present
    if raw is None:
        _check_downloads(dataset, unverified)
    downloads = folder / dataset.name / "raw"
    paths: dict[Part, list[Path]] = {}
    for file in dataset.files:
        if raw is not None:
            path = _given(Path(raw), file)
        else:
            assert file.url is not None, "checked above"
            options = {"max_bytes": dataset.max_bytes, "progress": progress} | download_options
            path = download(file.url, downloads / file.name, sha256=file.sha256, **options)
        paths.setdefault(file.part, []).append(path)
    prepare(dataset, paths, folder)
    if raw is None:
        shutil.rmtree(downloads, ignore_errors=True)
    return verify_files(dataset, folder)


def _check_downloads(dataset: Dataset, unverified: bool) -> None:
    """Refuse, before anything is downloaded, a set that cannot be, or whose files could not be verified."""
    if not dataset.fetchable:
        raise DatasetError(f"{dataset.name} cannot be downloaded freely. {dataset.obtain}")
    unknown = [file.name for file in dataset.files if file.sha256 is None]
    if unknown and not unverified:
        raise DatasetError(
            f"pairsift knows no checksum of {' and '.join(unknown)}, so that what arrives cannot be verified. Allow it "
            "with --unverified (unverified=True): then only its size is limited, and its counts are compared."
        )


def _given(folder: Path, file: RawFile) -> Path:
    path = folder / file.name
    if not path.is_file():
        raise DatasetError(f"The folder {folder} has no file {file.name}.")
    if file.sha256 is not None and (got := file_sha256(path)) != file.sha256:
        raise DatasetError(f"{path} has the wrong checksum (sha256 {got}, expected {file.sha256}).")
    return path
