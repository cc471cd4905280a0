"""Fuzz the headers that we read: of row stores and of model files.

    python tools/fuzz_headers.py store|model [--inputs 1000000] [--guided 1000000] [--seconds 60] [--seed 0]

Each input is damaged bytes, or a header that is well formed and wrong. It is a file in memory and read as any other;
it must be read, or refused by a ValueError. First seeds are damaged at random: the same seed gives the same inputs.
Then, with atheris (`pip install atheris`), the search is guided by coverage. A finding ends with a status that is not
0, and its bytes are kept in the current folder.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import struct
import sys
import tempfile
import time
import types
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import pairsift.data.arrow_file
import pairsift.data.encoding
import pairsift.data.store_file
import pairsift.data.store_header
import pairsift.linear_model
import pairsift.model_file
import pairsift.pair_features
import pairsift.probabilities
from fuzz_store import EXTREMES, damaged, seed_store
from pairsift import load_model
from pairsift.data.store import RowStore

CORPUS = Path(__file__).resolve().parent.parent / "tests" / "fuzz"
READERS: dict[str, list[types.ModuleType]] = {
    "store": [pairsift.data.arrow_file, pairsift.data.store_header, pairsift.data.store_file],
    "model": [
        pairsift.model_file,
        pairsift.linear_model,
        pairsift.probabilities,
        pairsift.pair_features,
        pairsift.data.encoding,
    ],
}
ODD: list[Any] = [None, True, -1, 0, 0.5, 2**31, 2**63, 1e308, float("inf"), float("nan"), "", "x", "none", [], {}]
ODD += [[0, 1], [1, 1], ["a", "b"], {"kind": "number"}, "\x00", "￿", [[[[]]]], -(2**70), [None, None], "float64"]


@dataclass(frozen=True)
class Target:
    """What is fuzzed: inputs to begin with, a damage that knows the format, and the reader."""

    seeds: list[bytes]
    damage: Callable[[random.Random, bytes], bytes]
    read: Callable[[str], object]


def main() -> int:
    """Run; print the counts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target", choices=list(READERS))
    parser.add_argument("--inputs", type=int, default=1_000_000, help="seeds damaged at random")
    parser.add_argument("--guided", type=int, default=1_000_000, help="inputs of atheris, where it is installed")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop then, even if inputs are left")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    warnings.simplefilter("error")  # an overflow that NumPy only warns of is a finding
    target = make_target(options.target)
    run = _Run(target, options)
    run.at_random()
    if options.guided:
        try:
            import atheris
        except ImportError:
            print("atheris is not installed: no search by coverage", file=sys.stderr)
        else:
            run.guided(atheris, READERS[options.target])
    run.report()
    return 0


def make_target(name: str) -> Target:
    """Return a target by its name."""
    kept = [path.read_bytes() for path in sorted((CORPUS / name).glob("*"))]
    if name == "store":
        with tempfile.TemporaryDirectory() as folder:
            seeds = [seed_store(Path(folder) / f"{k}.arrow", k) for k in range(4)]
        return Target(seeds + kept, _damaged_store, _read_store)
    return Target(kept, damaged_model, _read_model)


class _Run:
    """Gives inputs to the reader, counts, and keeps what it stumbles over."""

    def __init__(self, target: Target, options: argparse.Namespace) -> None:
        self._target, self._options = target, options
        self._chance = random.Random(options.seed)
        self._file = os.memfd_create("fuzzed")
        self._path = f"/proc/self/fd/{self._file}"
        self._started = time.monotonic()
        self._counts = {"read": 0, "refused": 0}

    def try_one(self, content: bytes) -> None:
        """Read one input; anything but a ValueError is a finding."""
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, content, 0)
        try:
            self._target.read(self._path)
            self._counts["read"] += 1
        except ValueError:
            self._counts["refused"] += 1
        except BaseException:
            kept = Path(f"finding-{self._options.target}-{self._tried}")
            kept.write_bytes(content)
            print(f"FINDING, kept as {kept}", file=sys.stderr)
            raise

    def at_random(self) -> None:
        """Damage the seeds."""
        while self._tried < self._options.inputs and not self._late():
            content = self._chance.choice(self._target.seeds)
            for _ in range(self._chance.choice([1, 1, 2])):
                content = self._target.damage(self._chance, content)
            self.try_one(content)

    def guided(self, atheris: Any, readers: list[types.ModuleType]) -> None:
        """Let coverage guide the search; most of the mutations know the format."""
        for module in readers:
            _instrument(atheris, module)
        wanted = self._tried + self._options.guided

        def try_one(content: bytes) -> None:
            self.try_one(content)
            if self._tried >= wanted or self._late():
                self.report()
                os._exit(0)  # libFuzzer has no other way out

        def mutate(data: bytes, most: int, seed: int) -> bytes:
            chance = random.Random(seed)
            if chance.random() < 0.3 or not data:
                return bytes(atheris.Mutate(data, most))
            return self._target.damage(chance, data)[:most]

        with tempfile.TemporaryDirectory() as folder:
            for k, content in enumerate(self._target.seeds):
                (Path(folder) / f"seed{k}").write_bytes(content)
            atheris.Setup(
                [
                    sys.argv[0],
                    f"-seed={self._options.seed + 1}",
                    "-max_len=20000",
                    "-len_control=0",
                    "-verbosity=0",
                    folder,
                ],
                try_one,
                custom_mutator=mutate,
            )
            atheris.Fuzz()

    def _late(self) -> bool:
        return time.monotonic() - self._started > self._options.seconds

    @property
    def _tried(self) -> int:
        return sum(self._counts.values())

    def report(self) -> None:
        """Print the counts."""
        seconds = time.monotonic() - self._started
        print(f"{self._tried} inputs for the header of a {self._options.target} in {seconds:.0f} s: ", end="")
        print(f"{self._counts['read']} read, {self._counts['refused']} refused, 0 findings", flush=True)


def _instrument(atheris: Any, module: types.ModuleType) -> None:
    for value in vars(module).values():
        if isinstance(value, types.FunctionType) and value.__module__ == module.__name__:
            atheris.instrument_func(value)
        elif isinstance(value, type) and value.__module__ == module.__name__:
            for member in vars(value).values():
                inner = getattr(member, "__func__", getattr(member, "fget", member))
                if isinstance(inner, types.FunctionType):
                    atheris.instrument_func(inner)


def _read_store(path: str) -> None:
    store = RowStore(path)
    repr(store)
    store.take(np.array([0, store.n_rows - 1]))
    store.original_between(0, 1)


def _damaged_store(chance: random.Random, content: bytes) -> bytes:
    if len(content) < 20 or not 0 < struct.unpack("<i", content[-10:-6])[0] < len(content) - 18:
        return content
    return damaged(chance, content)


def _read_model(path: str) -> None:
    model = load_model(path)
    rows = np.zeros((2, model.n_features_in_))
    scores = model.decision_function(rows)
    model.predict(rows)
    if model.calibration is not None:
        model.calibration.probabilities(scores)


def damaged_model(chance: random.Random, content: bytes) -> bytes:
    """Return a model file whose headers, safetensors' and ours, are well formed but wrong somewhere."""
    try:
        length = struct.unpack("<Q", content[:8])[0]
        outer = json.loads(content[8 : 8 + length])
        inner = json.loads(outer["__metadata__"]["pairsift"])
        if not isinstance(inner, dict) or not isinstance(outer, dict):
            return content
        if chance.random() < 0.8:
            _spoil(chance, inner)
        else:
            _spoil(chance, outer)
        if isinstance(outer.get("__metadata__"), dict) and "pairsift" in outer["__metadata__"]:
            outer["__metadata__"]["pairsift"] = json.dumps(inner)
    except (ValueError, KeyError, TypeError, struct.error, RecursionError):
        return content
    head = json.dumps(outer).encode()
    return struct.pack("<Q", len(head)) + head + content[8 + length :]


def _spoil(chance: random.Random, parent: Any) -> None:
    """Change one value somewhere in a JSON structure."""
    while True:
        keys = list(parent) if isinstance(parent, dict) else list(range(len(parent)))
        if not keys:
            return
        key = chance.choice(keys)
        if isinstance(parent[key], (dict, list)) and parent[key] and chance.random() < 0.8:
            parent = parent[key]
            continue
        kind = chance.randrange(4)
        if kind == 0:
            del parent[key]
        elif kind == 1:
            parent[key] = chance.choice(EXTREMES)
        elif kind == 2 and isinstance(parent, list):
            parent.append(parent[key])
        else:
            parent[key] = chance.choice(ODD)
        return


if __name__ == "__main__":
    sys.exit(main())
