"""Threads that fit models while the tests run (`pytest --fit-beside 2`): what they fit must be what is fitted alone.

The tests are as ever, but now they share the process, its kernels and its libraries with fits of every estimator. A
thread rests for as long as its last fit took, so that the tests get on.
"""

from __future__ import annotations

import threading
import time
from typing import Any

from test_determinism import CASES, fit_bits


class FitsBeside:
    """Fits in the background: `start` knows the bits that each case has alone, `stop` says which were different."""

    def __init__(self, n_threads: int) -> None:
        self._expected = [fit_bits(case) for case in CASES]
        self._threads = [threading.Thread(target=self._work, args=(k,), daemon=True) for k in range(n_threads)]
        self._stopped = threading.Event()
        self.n_fits = 0
        self.faults: list[str] = []

    def start(self) -> None:
        """Begin."""
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """End, after the fits that are being made."""
        self._stopped.set()
        for thread in self._threads:
            thread.join()

    def _work(self, place: int) -> None:
        k = place
        while not self._stopped.is_set():
            case: Any = CASES[k % len(CASES)]
            started = time.monotonic()
            try:
                if fit_bits(case) != self._expected[k % len(CASES)]:
                    self.faults.append(f"{case}: other bits than alone")
            except Exception as error:
                self.faults.append(f"{case}: {error!r}")
            self.n_fits += 1
            k += 1
            self._stopped.wait(time.monotonic() - started)
