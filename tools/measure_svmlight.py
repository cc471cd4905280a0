"""Measure `read_svmlight` beside scikit-learn's `load_svmlight_file`: CPU seconds, peak memory, and exact equality.

Each reader runs in a process of its own, from an uncompressed file, on one thread. Seconds are the least of several
runs; the two readers take turns. Peak memory is the growth of the largest resident size over that before reading,
as a multiple of the bytes of the result.

    PAIRSIFT_DATA=... python tools/measure_svmlight.py mnist covtype
"""

from __future__ import annotations

import argparse
import json
import lzma
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def read_and_report(reader: str, path: str) -> dict[str, object]:
    """Read once in this process; return seconds, bytes and a digest of the bits that were read."""
    import hashlib

    import numpy as np

    if reader == "pairsift":
        import scipy.sparse  # noqa: F401 - so that its import is not counted as reading

        from pairsift.data.svmlight import read_svmlight

        call = lambda: read_svmlight(path, threads=1)  # noqa: E731
    else:
        from sklearn.datasets import load_svmlight_file

        call = lambda: load_svmlight_file(path)  # noqa: E731
    before = resident_bytes()
    start = time.process_time()
    X, y = call()
    seconds = time.process_time() - start
    peak = peak_bytes() - before
    arrays = [X.data, X.indices.astype(np.int64), X.indptr.astype(np.int64), y]
    digest = hashlib.sha256(repr(X.shape).encode())
    for array in arrays:
        digest.update(np.ascontiguousarray(array).tobytes())
    result = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes + y.nbytes
    return {"seconds": seconds, "peak": peak, "result": result, "digest": digest.hexdigest()}


def peak_bytes() -> int:
    """Return the largest resident size of this process so far."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def resident_bytes() -> int:
    """Return the resident size now (Linux), or the largest so far where that is all there is to be had."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return peak_bytes()
    return pages * resource.getpagesize()


def run(reader: str, path: Path) -> dict[str, object]:
    """Read in a fresh process with one thread."""
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, __file__, "--child", reader, str(path)]
    output = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout
    return json.loads(output.splitlines()[-1])


def measure(name: str, path: Path, repeats: int) -> bool:
    """Print one line of results; return whether the limits are kept."""
    runs = {reader: [] for reader in ("pairsift", "scikit-learn")}
    for _ in range(repeats):
        for reader, results in runs.items():
            results.append(run(reader, path))
    ours, theirs = (min(r["seconds"] for r in results) for results in runs.values())
    memory = max(r["peak"] / r["result"] for r in runs["pairsift"])
    their_memory = max(r["peak"] / r["result"] for r in runs["scikit-learn"])
    equal = len({r["digest"] for results in runs.values() for r in results}) == 1
    kept = equal and ours <= theirs / 3 and memory <= 2.5
    print(
        f"{name:10s} {path.stat().st_size / 1e6:8.1f} MB   pairsift {ours:6.3f} s   scikit-learn {theirs:6.3f} s   "
        f"ratio {ours / theirs:5.3f} (limit 0.333)   "
        f"peak / result {memory:4.2f} (limit 2.50; scikit-learn {their_memory:4.2f})   "
        f"{'equal' if equal else 'DIFFERENT'}   {'kept' if kept else 'NOT KEPT'}"
    )
    return kept


def main() -> int:
    """Measure the named data sets; exit status 1 if a limit is not kept."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=["mnist", "covtype"], help="data sets in the folder PAIRSIFT_DATA")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--child", nargs=2, metavar=("READER", "FILE"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(json.dumps(read_and_report(*options.child)))
        return 0
    if "PAIRSIFT_DATA" not in os.environ:
        parser.error("set PAIRSIFT_DATA to the folder with the data sets")
    kept = True
    with tempfile.TemporaryDirectory() as folder:
        for name in options.names:
            text = Path(folder, f"{name}.svm")
            packed = Path(os.environ["PAIRSIFT_DATA"], name, f"{name}.train.svm.xz")
            with lzma.open(packed) as source, text.open("wb") as target:
                shutil.copyfileobj(source, target, 2**20)
            kept = measure(name, text, options.repeats) and kept
            text.unlink()
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
