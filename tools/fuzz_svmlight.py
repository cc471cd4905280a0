"""Fuzz the svmlight reader: mutated text under the address and undefined-behaviour sanitizers, and damaged archives.

The corpus of nasty cases is made here and lives in a temporary folder. The C++ side (tests/fuzz/svmlight_fuzz.cpp)
mutates it, reads each input as a whole and in blocks on several threads, and compares; numbers are compared with
strtod.
With clang, libFuzzer searches for inputs by coverage too (--guided of them). The Python side cuts and flips compressed
files at every place: each must be read or refused with `SvmlightError`.

    python tools/fuzz_svmlight.py --inputs 1000000
"""

from __future__ import annotations

import argparse
import bz2
import contextlib
import gzip
import io
import lzma
import os
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HARNESS = ROOT / "tests" / "fuzz" / "svmlight_fuzz.cpp"

NASTY = [
    b"",
    b"\n",
    b"\r\n",
    b" \t \n",
    b"#",
    b"# only a comment\n",
    b"qid:1",
    b"1 qid:1",
    b"1 qid:",
    b"1 qid:3 1:1\n0 qid:3 2:1\n0 qid:4 1:0.5 # doc7\n",
    b"1 qid:3 1:1\n0 2:1\n",
    b"1 1:1\n0 qid:3 2:1\n",
    b"1 1:1 qid:3\n",
    b"1 qid:9223372036854775807 1:1\n",
    b"1",
    b"+1\n-1\n",
    b"1 0:1 1:2\n",
    b"1 1:1\n0 0:1\n",
    b"1 -1:1\n",
    b"1 2147483647:1\n",
    b"1 2147483648:1\n1 2:1\n",
    b"1 1:1\n1 2147483648:1\n",
    b"1 9223372036854775806:1\n",
    b"1 9223372036854775807:1\n",
    b"1 9223372036854775808:1\n",
    b"1 18446744073709551616:1\n",
    b"1 340282366920938463463374607431768211456:1\n",
    b"1 2:1 1:1\n",
    b"1 1:1 1:2\n",
    b"1 1:nan\n",
    b"1 1:inf\n",
    b"1 1:-Infinity\n",
    b"nan 1:1\n",
    b"inf 1:1\n",
    b"1 1:1e999\n",
    b"1e999 1:1\n",
    b"1 1:1e-999 2:-1e-999 3:4.9e-324 4:2.2250738585072011e-308\n",
    b"1 1:1.7976931348623157e308 2:0e999 3:1e00000000000000000000000000000001\n",
    b"1 1:1e39\n",
    b"1 1:0x10\n",
    b"1 1:1_000\n",
    b"1 1:1,5\n",
    b"1,2 1:1\n",
    b"1 1:\n",
    b"1 :1\n",
    b"1 1\n",
    b"1 1:1:1\n",
    b"1 1: 1\n",
    b"1 1 :1\n",
    b"1 +1:1\n",
    b"1 1:+1 2:-.5 3:5. 4:+.5e+1\n",
    b"1 1:+-1\n",
    b"1 1:.\n",
    b"1 1:1e\n",
    b"1 1:1\x00\n",
    b"\x00",
    b"\x00 1:1\n1 1:1\n",
    b"1 1:1\r\n0 2:1\r\n",
    b"1 1:1\r\n0 2:1\r",
    b"1 1:1\r0 2:1\r",
    b"1 1:1\n0 2:1",
    b"\xef\xbb\xbf1 1:1\n",
    b"\xef\xbb",
    b"\xff\xfe1\x00 \x001\x00:\x001\x00",
    b"1 1:1 # comment with 5:6 qid:3 \xff\x00 in it\n\n\n0 3:1#close\n",
    b"1 1:" + b"9" * 400 + b" 2:0." + b"0" * 400 + b"1 3:" + b"1" * 30 + b"\n",
    b"1 1:1e" + b"9" * 60 + b"\n",
    b"0" * 300 + b"1:1\n",
    b"1 " + b"0" * 60 + b"1:1\n",
    b"1 1:0.1000000000000000055511151231257827021181583404541015625\n",
    b"1 1:9007199254740993 2:9007199254740991 3:900719925474099.25\n",
    b"".join(b"%d %d:%g\n" % (k % 2, k + 1, k / 7) for k in range(60)),
    b"-1 " + b" ".join(b"%d:%.17g" % (k, k**-1.5) for k in range(1, 80)) + b"\n",
]


def build(folder: Path, compiler: str) -> Path:
    """Compile the harness with the sanitizers."""
    program = folder / "svmlight_fuzz"
    flags = ["-std=c++17", "-O1", "-g", "-Wall", "-Wextra", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    command = [compiler, *flags, "-pthread", f"-I{ROOT / 'cpp'}", str(HARNESS), "-o", str(program)]
    subprocess.run(command, check=True)
    return program


def build_guided(folder: Path) -> Path | None:
    """Compile the harness for libFuzzer; None without clang and its runtime."""
    program = folder / "svmlight_guided"
    if shutil.which("clang++") is None:
        return None
    flags = ["-std=c++17", "-O1", "-g", "-fsanitize=fuzzer,address,undefined", "-fno-sanitize-recover=all"]
    command = ["clang++", *flags, "-DPAIRSIFT_LIBFUZZER", "-pthread", f"-I{ROOT / 'cpp'}", str(HARNESS)]
    built = subprocess.run([*command, "-o", str(program)], capture_output=True, text=True, check=False)
    if built.returncode != 0 and "libclang_rt" not in built.stderr:
        raise RuntimeError(built.stderr)
    return program if built.returncode == 0 else None


def search(program: Path, folder: Path, runs: int, seconds: int, seed: int) -> int:
    """Let libFuzzer search from the nasty cases; return its status."""
    corpus, kept = folder / "corpus", ROOT / "tests" / "fuzz" / "svmlight"
    corpus.mkdir()
    limits = [f"-runs={runs}", f"-seed={seed + 1}", "-max_len=4096", "-verbosity=0", "-print_final_stats=1"]
    limits += [f"-max_total_time={seconds}"] if seconds else []
    done = subprocess.run([str(program), *limits, str(corpus), str(folder / "nasty"), str(kept)], check=False)
    return done.returncode


def write_corpus(folder: Path) -> list[str]:
    """Write the nasty cases as files; return their paths."""
    paths = []
    (folder / "nasty").mkdir()
    for number, text in enumerate(NASTY):
        path = folder / "nasty" / f"nasty{number:03d}.svm"
        path.write_bytes(text)
        paths.append(str(path))
    return paths


def damage_compressed(folder: Path, seed: int, flips: int) -> int:
    """Cut compressed files at every length, and flip bytes; return how many damaged files were tried."""
    from pairsift.data.svmlight import SvmlightError, read_svmlight_rows

    text = b"".join(b"%d %d:0.5 %d:%g\n" % (k % 2, 1 + k % 7, 9 + k % 5, k / 3) for k in range(150))
    packers = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}
    generator = random.Random(seed)
    tried = 0
    for ending, pack in packers.items():
        packed = pack(text)
        damaged = [packed[:length] for length in range(len(packed))]
        for _ in range(flips):
            copy = bytearray(packed)
            copy[generator.randrange(len(copy))] ^= 1 << generator.randrange(8)
            damaged.append(bytes(copy))
        path = folder / f"damaged.svm.{ending}"
        for number, content in enumerate(damaged):
            path.write_bytes(content)
            tried += 1
            try:
                _, y, _ = read_svmlight_rows(path)
            except SvmlightError:
                continue
            if number < len(packed) and len(y) != 150 and content:
                raise AssertionError(f"a {ending} file cut to {number} bytes was read as if it were whole")
    for text in NASTY:  # the same reader from a stream
        with contextlib.suppress(SvmlightError):
            read_svmlight_rows(io.BytesIO(text))
        tried += 1
    return tried


def main() -> int:
    """Run all parts; a finding ends with a status that is not 0."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inputs", type=int, default=1_000_000, help="mutated inputs")
    parser.add_argument("--guided", type=int, default=1_000_000, help="inputs of libFuzzer, where clang is installed")
    parser.add_argument("--seconds", type=int, default=0, help="time for libFuzzer at most; 0 is no limit")
    parser.add_argument("--numbers", type=int, default=1_000_000, help="random numbers compared with strtod")
    parser.add_argument("--line-bytes", type=int, default=100_000_000, help="length of the one long line")
    parser.add_argument("--flips", type=int, default=1000, help="flipped bytes for each compressed format")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--compiler", default=os.environ.get("CXX", "g++"))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        program = str(build(folder, options.compiler))
        seed = str(options.seed)
        for arguments in (
            ["inputs", str(options.inputs), seed, *write_corpus(folder)],
            ["numbers", str(options.numbers), seed],
            ["line", str(options.line_bytes)],
        ):
            result = subprocess.run([program, *arguments])
            if result.returncode != 0:
                print(f"FAILED with status {result.returncode}: {arguments[0]}", file=sys.stderr)
                return 1
        guided = build_guided(folder)
        if guided is None:
            print("clang with libFuzzer is not installed: no search by coverage")
        elif search(guided, folder, options.guided, options.seconds, options.seed) != 0:
            print("FAILED: libFuzzer has a finding", file=sys.stderr)
            return 1
        print(f"{damage_compressed(folder, options.seed, options.flips)} damaged files read or refused cleanly")
    return 0


if __name__ == "__main__":
    sys.exit(main())
