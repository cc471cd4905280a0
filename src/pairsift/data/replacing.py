"""Files that are either old or new, never half: written beside, forced to disk, renamed into place."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

PARTIAL = ".partial"


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open ``path + ".partial"`` for writing and rename it to `path` when the block ends without an error.

    What a killed run leaves is that partial file; the next run for the same path takes it over from the start. A lock,
    which a killed process loses, keeps two live runs from writing the same file.
    """
    final = Path(path)
    check_writable(final)
    partial = final.with_name(final.name + PARTIAL)
    file = _open_locked(partial)
    try:
        file.truncate(0)
        yield file
        file.flush()
        os.fsync(file.fileno())
        os.replace(partial, final)  # the lock is held until after this
    except BaseException as error:
        with suppress(OSError):
            partial.unlink()
        if isinstance(error, OSError) and error.filename is None and error.errno is not None:
            error.filename = os.fspath(path)  # a full disk does not say which file it has no room for
        raise
    finally:
        with suppress(OSError):  # what could not be written is still in the buffer
            file.close()
    _sync_folder(final.parent)


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raise `OSError` when `path` cannot become a file; long work asks before it begins."""
    final = Path(path)
    if final.is_dir() or os.fspath(path).endswith(os.sep):
        raise IsADirectoryError(errno.EISDIR, "Is a directory; give the name of a file", os.fspath(path))
    folder = final.absolute().parent
    if not folder.is_dir():
        raise FileNotFoundError(errno.ENOENT, f"No such file or directory: {folder} is not there", os.fspath(path))
    if not os.access(folder, os.W_OK):
        raise PermissionError(errno.EACCES, f"Permission denied: {folder} is not writable", os.fspath(path))


def _open_locked(partial: Path) -> BinaryIO:
    while True:
        file = os.fdopen(os.open(partial, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o666), "r+b")
        try:
            _lock(file, partial)
            # Another run may have renamed or removed the file between the opening and the lock.
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(file.fileno()), os.stat(partial)):
                    return file
        except BaseException:
            file.close()
            raise
        file.close()


def _lock(file: BinaryIO, partial: Path) -> None:
    try:
        import fcntl
    except ImportError:  # not a POSIX system: two runs for one file are then the user's affair
        return
    try:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise ValueError(f"{partial} is being written by another run; wait for it or choose another file.") from error


def _sync_folder(folder: Path) -> None:
    """Force the new name to disk; some file systems cannot, and then it is as safe as they are."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
