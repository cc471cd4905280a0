"""Where a command's output goes: a file that is written whole or not at all, or standard output."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

STANDARD_OUTPUT = "-"


@contextmanager
def open_output(output: str) -> Iterator[BinaryIO]:
    """Open FILE, or standard output for ``-``.

    Whoever reads our output may have seen enough (``| head``): that is no fault, and the command ends there with
    status 0 and without a word.
    """
    if output != STANDARD_OUTPUT:
        from pairsift.data.replacing import replacing

        with replacing(output) as file:
            yield file
        return
    try:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        # Python flushes standard output once more when it ends, and would complain then.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
