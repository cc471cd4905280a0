"""Where a command's output goes: a file that is written whole or not at all, or standard output."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO

import click

STANDARD_OUTPUT = "-"


def check_output(output: str, *inputs: str) -> None:
    """Raise unless FILE can be written and is none of the files that the command reads; long work asks first."""
    if output == STANDARD_OUTPUT:
        return
    from pairsift.data.replacing import check_writable

    check_writable(output)
    for name in inputs:
        if os.path.exists(name) and os.path.exists(output) and os.path.samefile(name, output):
            raise click.UsageError(f"-o {output} is also an input; choose another output name.")


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


def say_positive(labels: Any, n_positive: int, n_rows: int) -> None:
    """Say which label is positive where the labels themselves do not; the user did not either."""
    from pairsift.data.labels import is_known_pair, show

    negative, positive = labels
    if not is_known_pair(negative, positive):
        why = "the rarer one" if 2 * n_positive < n_rows else "the last of two that are as frequent"
        click.echo(
            f"Positive label: {show(positive)}, {why} ({n_positive:,} of {n_rows:,} rows). If it is "
            f"{show(negative)}, say so: --positive {shlex.quote(str(negative))}.",
            err=True,
        )
