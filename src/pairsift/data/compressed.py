"""Files that may be compressed, told by their ending: ``.gz``, ``.bz2``, ``.xz`` and ``.zst``."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import BinaryIO, cast

ENDINGS = (".gz", ".bz2", ".xz", ".zst")


def open_binary(path: str | Path) -> BinaryIO:
    """Open a file for reading bytes, decompressed by its ending."""
    path = Path(path)
    ending = path.suffix.lower()
    # One module a format, imported when it is needed: a plain file should not wait for four libraries.
    if ending == ".gz":
        return cast(BinaryIO, importlib.import_module("gzip").open(path, "rb"))
    if ending == ".bz2":
        return cast(BinaryIO, importlib.import_module("bz2").open(path, "rb"))
    if ending == ".xz":
        return cast(BinaryIO, importlib.import_module("lzma").open(path, "rb"))
    if ending == ".zst":
        return _open_zstd(path)
    return open(path, "rb")


def is_damage(error: Exception) -> bool:
    """Tell whether a reading error means that a compressed file is cut off or damaged."""
    if isinstance(error, EOFError):
        return True
    # BadGzipFile, and what bz2 and pyarrow raise, are OSErrors without a number; zlib, lzma and zstd have their own.
    if isinstance(error, OSError):
        return error.errno is None
    return type(error).__module__.partition(".")[0] in ("zlib", "_lzma", "lzma", "zstd", "compression", "backports")


def _open_zstd(path: Path) -> BinaryIO:
    # The package zstandard is not among them: it takes a file that is cut off for a whole one.
    for module in ("compression.zstd", "backports.zstd"):
        try:
            return cast(BinaryIO, importlib.import_module(module).open(path, "rb"))
        except ImportError:
            continue
    try:
        pyarrow = importlib.import_module("pyarrow")
    except ImportError:
        raise ValueError(
            f"Reading {path} needs a library for .zst: pip install 'pairsift[arrow]', or decompress the file first."
        ) from None
    return cast(BinaryIO, pyarrow.CompressedInputStream(pyarrow.OSFile(str(path), "rb"), "zstd"))
