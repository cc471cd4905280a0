"""Not enough memory (RLIMIT_AS): the right answer, or one line that says how much was needed; what was there stays."""

from __future__ import annotations

import contextlib
import random
import re
import resource
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from faults.command import run
from faults.jobs import OLD, write_rows
from faults.tally import Tally
from pairsift import LinearModel, save_model

_SIZE = re.compile(r"\d[\d.,]* ?([KMGT]i?B|bytes)|of size \d+")
_BY_THE_C_LIBRARY = "cannot allocate memory for thread-local data"  # it ends the process itself, with this line
_HELD: list[np.ndarray] = []
_LINES = {
    "m": ("fit", "rows.svm", "-o", "m", "--budget", "200", "--random-state", "0"),
    "exact": ("fit", "rows.svm", "-o", "exact", "--method", "exact"),
    "dense": ("fit", "rows.npy", "--label", "y.npy", "-o", "dense", "--scale", "standard", "--budget", "200"),
    "s.arrow": ("convert", "rows.svm", "-o", "s.arrow"),
    "scores": ("score", "model", "rows.svm", "-o", "scores"),
}


def starve(count: int, seed: int) -> Tally:
    """Give each command a random amount of memory more than it has at its start."""
    tally = Tally("out of memory (RLIMIT_AS)")
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _prepare(folder)
        for line in _LINES.values():
            ended = run(line, folder)
            assert ended.status == 0, ended.err
        for k in range(count):
            out, line = list(_LINES.items())[k % len(_LINES)]
            (folder / out).write_bytes(OLD)
            ended = run(line, folder, _limited(int(2 ** chance.uniform(18, 27))))
            by_the_c_library = _BY_THE_C_LIBRARY in ended.err
            tally.note(f"{out}: ended by the C library" if by_the_c_library else f"status {ended.status}")
            faults = []
            if ended.status != 0:
                if not by_the_c_library and not (ended.said_one_line and _SIZE.search(ended.err)):
                    faults.append(f"{' '.join(line[:2])}: status {ended.status}: {ended.err.strip()[-400:]}")
                if (folder / out).read_bytes() != OLD:
                    faults.append("the old file is gone")
            tally.tried(*faults)
    return tally


def _prepare(folder: Path) -> None:
    write_rows(folder / "rows.svm", 20_000, 30)
    rng = np.random.default_rng(0)
    save_model(LinearModel(rng.normal(size=(1, 30)), np.zeros(1), np.array([0.0, 1.0])), folder / "model")
    np.save(folder / "rows.npy", rng.normal(size=(20_000, 60)))
    np.save(folder / "y.npy", rng.integers(2, size=20_000))


def _limited(more: int) -> Callable[[], None]:
    def limit() -> None:
        import mmap  # noqa: F401 - all of these: an import under the limit fails in the dynamic linker's words

        import safetensors.numpy  # noqa: F401

        import pairsift.calibration
        import pairsift.checkpoint
        import pairsift.cli.methods
        import pairsift.data.blocks
        import pairsift.data.convert
        import pairsift.data.numpy_files
        import pairsift.data.scaled_rows
        import pairsift.data.scoring
        import pairsift.data.store_writer
        import pairsift.data.training
        import pairsift.model
        import pairsift.search.run
        import pairsift.solvers.exact
        import pairsift.stats.delong
        import pairsift.training_run  # noqa: F401

        size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        hard = resource.getrlimit(resource.RLIMIT_AS)[1]
        resource.setrlimit(resource.RLIMIT_AS, (size, hard))
        # What malloc has reserved and not used, 64 MB where a library has started a thread, is not in the way any more.
        with contextlib.suppress(MemoryError):
            while True:
                _HELD.append(np.empty(2**18, dtype=np.uint8))
        resource.setrlimit(resource.RLIMIT_AS, (size + more, size + more))

    return limit
