"""A file of data as it was when it was opened.

A file that changes while it is read gives rows that never belonged together. So its size, time stamp and identity are
compared with what they were, after each block of it is read and before the block is used.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple


class DataChangedError(ValueError):
    """A file of data is not what it was when it was opened."""


class _State(NamedTuple):
    size: int
    changed_at: int
    number: int
    device: int


class FileState:
    """What a file was when this was made; pipes and devices, which have no state, never change."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        self._state = _state_of(self.path)

    def check(self) -> None:
        """Raise `DataChangedError` if the file was changed, replaced or removed."""
        try:
            now = _state_of(self.path)
        except OSError as error:
            raise DataChangedError(f"{self.path} is gone since it was opened ({error.strerror}).") from error
        if now != self._state:
            raise DataChangedError(
                f"{self.path} was changed since it was opened, so its rows may not belong together. Read it again when "
                "nobody writes it."
            )


def name_file(error: BaseException, path: str | os.PathLike[str]) -> None:
    """Put the name of a file into a system error that has none: a failed read does not say of which file."""
    if isinstance(error, OSError) and error.errno is not None and error.filename is None:
        error.filename = os.fspath(path)


@contextmanager
def naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Name a file in the system errors of what is done with it."""
    try:
        yield
    except OSError as error:
        name_file(error, path)
        raise


def _state_of(path: str) -> _State | None:
    found = os.stat(path)
    if not stat.S_ISREG(found.st_mode):
        return None
    return _State(found.st_size, found.st_mtime_ns, found.st_ino, found.st_dev)
