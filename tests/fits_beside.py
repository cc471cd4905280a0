"""Threads that fit models while the tests run (`pytest --fit-beside 2`): what they fit must be what is fitted alone.

The tests are as ever, but now they share the process, its kernels and its libraries with fits of every estimator. A
thread rests for as long as its last fit took, so that the tests get on. A test that changes the constants of a module
(`monkeypatch`) changes them for all threads: the fits wait until it has ended.
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
        self._fitting = [threading.Lock() for _ in range(n_threads)]
        self._stopped, self._allowed = threading.Event(), threading.Event()
        self.test = ""
        self.n_fits = 0
        self.faults: list[str] = []

    def start(self) -> None:
        """Begin."""
        self._allowed.set()
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """End, after the fits that are being made."""
        self._stopped.set()
        self._allowed.set()
        for thread in self._threads:
            thread.join()

    def hold(self) -> None:
        """Wait for the fits that are being made; no other begins until `go_on`."""
        self._allowed.clear()
        for fitting in self._fitting:
            with fitting:
                pass

    def go_on(self) -> None:
        """Let fits begin again."""
        self._allowed.set()

    def _work(self, place: int) -> None:
        k = place
        while not self._stopped.is_set():
            self._allowed.wait()
            started = time.monotonic()
            with self._fitting[place]:
                if not self._allowed.is_set():
                    continue
                self._fit(k % len(CASES))
            k += 1
            self._stopped.wait(time.monotonic() - started)

    def _fit(self, k: int) -> None:
        case: Any = CASES[k]
        before = self.test
        try:
            if fit_bits(case) != self._expected[k]:
                self.faults.append(f"{case}: other bits than alone, between {before} and {self.test}")
        except Exception as error:
            self.faults.append(f"{case}: {error!r}, between {before} and {self.test}")
        self.n_fits += 1
