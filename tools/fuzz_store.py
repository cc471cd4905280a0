"""Feed damaged row stores to `RowStore`: every one must be read or refused by a ValueError, and take no more memory.

    python tools/fuzz_store.py [--runs 100000] [--seed 0]

Bytes are changed, swapped, set to extreme numbers, cut out or doubled, mostly in the footer, where the offsets and
lengths are. The process ends with status 1 at the first fault and keeps the file in the current folder.
"""

from __future__ import annotations

import argparse
import gc
import os
import random
import struct
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np

from anonymous_memory import anonymous_bytes
from pairsift.data.generate import make_ranking
from pairsift.data.rows import as_rows
from pairsift.data.store import RowStore
from pairsift.data.store_header import StoreHeader
from pairsift.data.store_writer import StoreWriter

EXTREMES = [0, 1, 7, 8, 2**7, 2**15, 2**31 - 1, 2**31, 2**32 - 1, 2**62, 2**63 - 1, 2**63, 2**64 - 1]
MOST_GROWTH = 50e6


def main() -> int:
    """Run; print the counts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    warnings.simplefilter("error")  # an overflow that NumPy only warns of is a finding
    chance = random.Random(options.seed)
    counts = {"read": 0, "refused": 0}
    with tempfile.TemporaryDirectory() as folder:
        seeds = [seed_store(Path(folder) / f"{k}.arrow", k) for k in range(4)]
        target = Path(folder) / "damaged.arrow"
        before = anonymous_bytes()
        for run in range(options.runs):
            content = damaged(chance, chance.choice(seeds))
            target.write_bytes(content)
            try:
                counts[read_store(target, chance)] += 1
            except BaseException:
                kept = Path(f"finding-{options.seed}-{run}.arrow")
                kept.write_bytes(content)
                print(f"finding in run {run}, kept as {kept}")
                raise
            if run % 1000 == 0:
                gc.collect()
                if anonymous_bytes() - before > MOST_GROWTH:
                    print(f"memory grew by {(anonymous_bytes() - before) / 1e6:.0f} MB until run {run}")
                    return 1
    print(f"{options.runs} damaged stores: {counts['read']} read, {counts['refused']} refused, 0 findings")
    return 0


def seed_store(path: Path, kind: int) -> bytes:
    """Return a small store: dense or sparse, with or without weights."""
    X, y = make_ranking(60, 3, density=0.5 if kind % 2 else None, dtype="float32", random_state=kind)
    order = np.argsort(-y, kind="stable")
    weights = np.ones(60) if kind >= 2 else None
    header = StoreHeader(
        int(y.sum()), 60 - int(y.sum()), 3, "float32", index="int32" if kind % 2 else None, has_weights=kind >= 2
    )
    with StoreWriter(path, header, batch_bytes=400) as store:
        store.write(as_rows(X[order]), order, weights)
    return path.read_bytes()


def damaged(chance: random.Random, seed: bytes) -> bytes:
    """Return a copy with something wrong in it."""
    content = bytearray(seed)
    (footer,) = struct.unpack("<i", content[-10:-6])
    for _ in range(chance.choice([1, 1, 1, 2, 4])):
        where = range(len(content) - 10 - footer, len(content)) if chance.random() < 0.6 else range(len(content))
        at = chance.choice(where) if len(where) else 0
        kind = chance.randrange(5)
        if kind == 0:
            content[at] = chance.randrange(256)
        elif kind == 1:
            size = chance.choice([2, 4, 8])
            number = chance.choice(EXTREMES) % 2 ** (8 * size)
            content[at : at + size] = number.to_bytes(size, "little")
        elif kind == 2:
            content[at] ^= 1 << chance.randrange(8)
        elif kind == 3:
            del content[at : at + chance.choice([1, 4, 8, 64])]
        else:
            other = chance.randrange(len(content))
            content[at : at + 8] = content[other : other + 8]
        if len(content) < 20:
            break
    return bytes(content)


def read_store(path: Path, chance: random.Random) -> str:
    """Read all of a store; return whether it was read or refused."""
    try:
        store = RowStore(path)
        repr(store)
        n = store.n_rows
        store.take(np.array([chance.randrange(n) for _ in range(5)]))
        store.between(0, n)
        store.original_between(0, n)
        store.problem()
    except ValueError:
        return "refused"
    return "read"


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.exit(main())
