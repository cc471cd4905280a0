"""Peak memory of a piece of work in this process."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

_STATUS = Path("/proc/self/status")
_CLEAR = Path("/proc/self/clear_refs")


def peak_growth() -> Callable[[], int]:
    """Start to watch; the function that comes back says by how many bytes resident memory has grown at its peak.

    On Linux the mark of the highest resident memory is set back first, and free memory of the heap is returned to the
    system, lest the work find room there that does not show. Elsewhere the mark cannot be set back: growth is then
    counted above the highest so far, so that only a first call in a fresh process means much.
    """
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
    with suppress(OSError):
        _CLEAR.write_text("5")
    before = _status("VmRSS") or _highest()
    return lambda: max(0, (_status("VmHWM") or _highest()) - before)


def _status(name: str) -> int | None:
    try:
        lines = _STATUS.read_text().splitlines()
    except OSError:
        return None
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith(name + ":")), None)


def _highest() -> int:
    try:
        import resource
    except ImportError:  # Windows
        return 0
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
