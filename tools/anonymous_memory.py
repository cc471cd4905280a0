"""How much private (anonymous) memory a process takes: the pages that no file stands behind."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


def anonymous_bytes() -> int:
    """Return the anonymous resident memory of this process (Linux)."""
    with open("/proc/self/status") as status:
        return next(1024 * int(line.split()[1]) for line in status if line.startswith("RssAnon"))


@contextmanager
def anonymous_peak(every: float = 0.002) -> Iterator[list[int]]:
    """Watch this process while the block runs; the list holds the largest size that was seen."""
    peak, done = [anonymous_bytes()], threading.Event()

    def watch() -> None:
        while not done.wait(every):
            peak[0] = max(peak[0], anonymous_bytes())

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield peak
    finally:
        done.set()
        watcher.join()
        peak[0] = max(peak[0], anonymous_bytes())
