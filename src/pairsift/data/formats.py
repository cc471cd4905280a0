"""Which format a file has: by its ending, or as the user says."""

from __future__ import annotations

import os
from pathlib import Path

from pairsift.data.arrow_file import StoreFormatError, read_arrow_file
from pairsift.data.compressed import ENDINGS
from pairsift.data.file_state import naming
from pairsift.data.store_header import METADATA_KEY

STANDARD_INPUT = "-"
FORMATS = ("svmlight", "csv", "tsv", "parquet", "arrow", "npy", "npz")

_BY_ENDING = {
    **dict.fromkeys((".svm", ".libsvm", ".svmlight", ".txt", ".dat", ""), "svmlight"),
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".npy": "npy",
    ".npz": "npz",
    **dict.fromkeys((".arrow", ".feather", ".ipc"), "arrow"),
}
# Files that people try. All other endings are taken for svmlight text: LIBSVM's files are named a9a.t, mnist.scale.
_FOREIGN = frozenset(
    [
        ".xlsx",
        ".xls",
        ".json",
        ".jsonl",
        ".ndjson",
        ".pkl",
        ".pickle",
        ".joblib",
        ".h5",
        ".hdf5",
        ".zip",
        ".tar",
        ".safetensors",
        ".onnx",
        ".arff",
        ".orc",
        ".avro",
        ".db",
        ".sqlite",
        ".duckdb",
        ".mat",
        ".rds",
        ".sav",
        ".pt",
    ]
)
_COMPRESSIBLE = ("svmlight", "csv", "tsv")


def data_format(path: str | os.PathLike[str], given: str | None = None) -> str:
    """Return the format of a file of data: one of `FORMATS`.

    Parameters
    ----------
    path : str or path
        ``-`` is standard input, which is svmlight text unless `given` says otherwise.
    given : str, optional
        The format, whatever the ending is.
    """
    if given is not None:
        if given not in FORMATS:
            raise ValueError(f"The format must be one of {', '.join(FORMATS)}; got {given!r}.")
        if os.fspath(path) == STANDARD_INPUT and given not in _COMPRESSIBLE:
            raise ValueError(f"Standard input can be svmlight, csv or tsv; {given} must be a file.")
        return given
    if os.fspath(path) == STANDARD_INPUT:
        return "svmlight"
    name = Path(path)
    compressed = name.suffix.lower() in ENDINGS
    ending = Path(name.stem).suffix.lower() if compressed else name.suffix.lower()
    if ending in _FOREIGN:
        raise ValueError(
            f"{path}: files of the kind {ending} cannot be read. Use svmlight text (.svm, .libsvm, .txt), .csv, .tsv, "
            ".parquet, .arrow, .npy or .npz; --format names the format of another ending."
        )
    found = _BY_ENDING.get(ending, "svmlight")
    if compressed and found not in _COMPRESSIBLE:
        raise ValueError(f"{path}: {ending} files are read as they are; decompress this one first.")
    return found


def check_file(path: str | os.PathLike[str]) -> None:
    """Raise unless the path is a file that is there and not empty (a pipe will do)."""
    size = os.stat(path).st_size
    if os.path.isdir(path):
        raise ValueError(f"{path}: is a directory; a file of data is required.")
    if size == 0 and os.path.isfile(path):
        raise ValueError(f"{path}: the file is empty.")
    if os.path.isfile(path) and _is_model(path, size):
        raise ValueError(f"{path}: is a model file, and data are required here; were two arguments swapped?")


def _is_model(path: str | os.PathLike[str], size: int) -> bool:
    """Tell whether a file starts like safetensors: the length of a JSON object, then the object."""
    with naming(path), open(path, "rb") as file:
        start = file.read(10)
    return start[8:] == b'{"' and int.from_bytes(start[:8], "little") <= size - 8


def is_row_store(path: str | os.PathLike[str]) -> bool:
    """Tell whether an Arrow file is a row store, perhaps a damaged one."""
    with naming(path), open(path, "rb") as file:
        try:
            return METADATA_KEY in read_arrow_file(file.fileno(), os.fstat(file.fileno()).st_size, "").metadata
        except StoreFormatError:
            # A truncated store has lost its footer, but the schema stands at its beginning too.
            file.seek(0)
            return b"pairsift row store" in file.read(2**16)
