"""NumPy's own files as rows: ``.npy`` (a dense array) and ``.npz``. Nothing in them is ever unpickled.

An ``.npz`` holds the array ``X``, or a CSR matrix as `scipy.sparse.save_npz` writes it (``data``, ``indices``,
``indptr``, ``shape``), and may hold ``y`` and ``sample_weight``. Labels that are not in the file come from another one,
``y.npy``. A ``.npy`` is memory-mapped, so that rows are read when they are needed.
"""

from __future__ import annotations

import errno
import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pairsift._typing import AnyArray
from pairsift.data.file_state import FileState, name_file
from pairsift.data.mapped_rows import MappedRows
from pairsift.data.rows import CsrRows, DenseRows, MemoryRows, as_rows

_CSR = ("data", "indices", "indptr", "shape")


class NumpyRows(NamedTuple):
    """Rows, and labels and weights where the file has them."""

    rows: MemoryRows
    y: AnyArray | None
    weights: AnyArray | None


def read_numpy(path: str | os.PathLike[str], label: str | None = None) -> NumpyRows:
    """Read rows from a ``.npy`` or ``.npz`` file.

    Parameters
    ----------
    path : str or path
    label : str, optional
        A ``.npy`` file with the labels, or the name of an array in the ``.npz``. By default ``y``, if it is there.
    """
    if Path(path).suffix.lower() == ".npy":
        y = None if label is None else _load(label)
        state = FileState(path)
        rows = _as_rows(path, _load(path))
        state.check()
        return _checked(path, MappedRows(rows.values, state) if isinstance(rows, DenseRows) else rows, y, None)
    state = FileState(path)
    with _open_archive(path) as arrays:
        known = {name: _member(path, arrays, name) for name in arrays}
    state.check()
    rows = _rows(path, known)
    if label is not None and label not in known and not label.endswith(".npy"):
        raise ValueError(f"{path}: there is no array {label!r}; the arrays are {', '.join(sorted(known))}.")
    name = label or "y"
    y = _load(name) if label is not None and label not in known else known.get(name)
    return _checked(path, rows, y, known.get("sample_weight"))


def _rows(path: Any, known: Mapping[str, AnyArray]) -> MemoryRows:
    if "X" in known:
        return _as_rows(path, known["X"])
    if not all(name in known for name in _CSR):
        raise ValueError(
            f"{path}: an .npz needs the array X, or data, indices, indptr and shape of a CSR matrix; "
            f"it has {', '.join(sorted(known)) or 'nothing'}."
        )
    if "format" in known and known["format"].item() not in (b"csr", "csr"):
        raise ValueError(f"{path}: a sparse matrix in CSR is required; got {known['format'].item()!r}.")
    values, columns, starts, shape = (known[name] for name in _CSR)
    if shape.shape != (2,) or shape.dtype.kind not in "iu" or not (shape >= 0).all():
        raise ValueError(f"{path}: shape must be two whole numbers; got {shape!r}.")
    if columns.dtype.kind not in "iu" or starts.dtype.kind not in "iu" or values.dtype.kind not in "biuf":
        raise ValueError(f"{path}: data must be numbers, indices and indptr whole numbers.")
    if values.ndim != 1 or starts.shape != (int(shape[0]) + 1,) or values.shape != columns.shape:
        raise ValueError(f"{path}: the sizes of data, indices and indptr do not agree with shape.")
    if starts[0] != 0 or int(starts[-1]) != len(values) or (np.diff(starts) < 0).any():
        raise ValueError(f"{path}: indptr must ascend from 0 to the number of values, {len(values)}.")
    index = np.int32 if columns.dtype == starts.dtype == np.int32 else np.int64
    kept = values if values.dtype in (np.float32, np.float64) else values.astype(np.float64)
    return CsrRows(kept, columns.astype(index, copy=False), starts.astype(index, copy=False), int(shape[1]))


def _as_rows(path: Any, array: AnyArray) -> MemoryRows:
    try:
        return as_rows(array)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def _checked(path: Any, rows: MemoryRows, y: AnyArray | None, weights: AnyArray | None) -> NumpyRows:
    if y is not None and y.shape != (rows.n_rows,):
        raise ValueError(f"{path}: y must have one label for each of the {rows.n_rows} rows; got shape {y.shape}.")
    return NumpyRows(rows, y, weights)


def _load(path: str | os.PathLike[str]) -> AnyArray:
    try:
        # numpy.load would take a zip or a pickle for what it is; this takes .npy or nothing.
        return np.lib.format.open_memmap(path, mode="r")
    except (ValueError, EOFError, TypeError) as error:
        raise ValueError(f"{path}: not a .npy file of numbers ({_short(error)}).") from error
    except OSError as error:
        name_file(error, path)
        if error.errno == errno.ENOMEM:
            size = os.stat(path).st_size / 1e6
            raise MemoryError(f"{path}: Unable to map its {size:,.1f} MB into memory") from error
        raise


def _open_archive(path: str | os.PathLike[str]) -> Any:
    if not zipfile.is_zipfile(path):
        with open(path, "rb"):  # a missing file says so itself
            raise ValueError(f"{path}: not an .npz file (it is no zip archive, or it is cut off).")
    try:
        return np.load(path, allow_pickle=False)
    except OSError as error:
        name_file(error, path)
        raise
    except (ValueError, EOFError, zipfile.BadZipFile) as error:  # it was whole a moment ago
        raise ValueError(f"{path}: the archive cannot be read ({_short(error)}).") from error


def _member(path: Any, arrays: Any, name: str) -> AnyArray:
    try:
        array = arrays[name]
    except (ValueError, EOFError, OSError, zipfile.BadZipFile, TypeError) as error:
        raise ValueError(f"{path}: the array {name!r} cannot be read ({_short(error)}).") from error
    if not isinstance(array, np.ndarray):
        raise ValueError(f"{path}: {name!r} is no array.")
    return array


def _short(error: Exception) -> str:
    return " ".join(str(error).split())
