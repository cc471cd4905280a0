"""Build the kernels with a sanitizer of gcc and run the tests that use them; with a finding, the status is not 0.

    python tools/sanitize.py memory|thread [--keep FOLDER] [more arguments of pytest]

memory is the address and the undefined-behaviour sanitizer (ASan, UBSan) in one build, thread the other (TSan).
The build and a copy of the package lie in a temporary folder (or in FOLDER, where the next run finds them again); what
is installed is not touched. Python and NumPy are not instrumented: the sanitizer's library is preloaded, sees their
memory and their locks, and checks every access that a kernel makes. Leaks are not looked for, since the interpreter
itself leaves memory behind at its end. Of what the sanitizers say nothing is suppressed but races inside libarrow,
whose atomic reference counts the thread sanitizer does not see, since that library is not instrumented either.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FLAGS = {
    # Without vptr: nanobind is built without the types that it needs.
    "memory": "-fsanitize=address,undefined -fno-sanitize=vptr -fno-sanitize-recover=all -fno-omit-frame-pointer",
    "thread": "-fsanitize=thread",
}
# The C++ library too: the sanitizer looks for its functions at the start, and Python itself loads it later.
LIBRARIES = {"memory": ("libasan.so", "libstdc++.so"), "thread": ("libtsan.so", "libstdc++.so")}
OPTIONS = {
    "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=1",
    "UBSAN_OPTIONS": "print_stacktrace=1",
    "TSAN_OPTIONS": "halt_on_error=1:report_signal_unsafe=0",
}
SUPPRESSED = "race:libarrow\n"
# Tests of whatever calls `pairsift._core`, and of fits in threads; each kernel is called by at least one of them.
TESTS = (
    *("test_all_pairs", "test_auto", "test_combined", "test_dual", "test_exact", "test_mixed", "test_sampling"),
    *("test_scaling", "test_store", "test_svmlight", "test_blocks", "test_active"),
)
THREADS = "tests/test_determinism.py::test_fits_in_two_threads_at_once"
# An editable install answers to "pairsift" before any path does.
FIRST_ON_THE_PATH = (
    "import sys\nsys.meta_path[:] = [one for one in sys.meta_path if 'editable' not in type(one).__module__]\n"
)


def main() -> int:
    """Build, run, and print what pytest says at its end."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=list(FLAGS))
    parser.add_argument("--keep", type=Path, help="a folder for the build, which the next run can use again")
    options, given = parser.parse_known_args()
    with tempfile.TemporaryDirectory() as name:
        folder = options.keep or Path(name)
        build(folder, options.kind)
        return run(folder, options.kind, [*(f"tests/{test}.py" for test in TESTS), THREADS, "-m", "not slow", *given])


def build(folder: Path, kind: str) -> None:
    """Compile `_core` and put it into a copy of the package in `folder/package`."""
    nanobind = subprocess.run(
        [sys.executable, "-m", "nanobind", "--cmake_dir"], capture_output=True, text=True, check=True
    ).stdout.strip()
    target = folder / "build"
    configure = [_tool("cmake"), "-S", str(ROOT), "-B", str(target), "-DCMAKE_BUILD_TYPE=RelWithDebInfo"]
    configure += [f"-Dnanobind_DIR={nanobind}", f"-DPython_EXECUTABLE={sys.executable}"]
    subprocess.run([*configure, f"-DCMAKE_CXX_FLAGS={FLAGS[kind]}"], check=True, stdout=subprocess.DEVNULL)
    subprocess.run([_tool("cmake"), "--build", str(target)], check=True, stdout=subprocess.DEVNULL)
    package = folder / "package"
    shutil.rmtree(package, ignore_errors=True)
    shutil.copytree(ROOT / "src" / "pairsift", package / "pairsift")
    for module in target.glob("_core*.so"):
        shutil.copy(module, package / "pairsift")
    (package / "sitecustomize.py").write_text(FIRST_ON_THE_PATH)


def run(folder: Path, kind: str, tests: list[str]) -> int:
    """Run tests with the package that was built."""
    library = " ".join(_library(name) for name in LIBRARIES[kind])
    # What a sanitizer says goes to files: pytest holds back standard error, and a finding ends the process at once.
    said = folder / "said"
    shutil.rmtree(said, ignore_errors=True)
    said.mkdir()
    (folder / "suppressed").write_text(SUPPRESSED)
    options = {name: f"{words}:log_path={said / 'report'}" for name, words in OPTIONS.items()}
    options["TSAN_OPTIONS"] += f":suppressions={folder / 'suppressed'}"
    variables = {**options, "LD_PRELOAD": library, "PYTHONPATH": str(folder / "package"), "PYTHONMALLOC": "malloc"}
    variables |= {"PYTHONDONTWRITEBYTECODE": "1", "OPENBLAS_NUM_THREADS": "1"}
    check = "import pairsift._core as core, sys; sys.exit(not core.__file__.startswith(sys.argv[1]))"
    # Without random addresses: the thread sanitizer of gcc 12 knows only some of the places where a library may lie.
    plain = ["setarch", "-R", sys.executable]
    environment = {**os.environ, **variables}
    subprocess.run([*plain, "-c", check, str(folder)], env=environment, check=True)
    line = [*plain, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--hypothesis-seed=0", *tests]
    done = subprocess.run(line, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=False)
    print(done.stdout[-4000:] if done.returncode else done.stdout[-300:])
    reports = [path.read_text(errors="replace") for path in sorted(said.iterdir())]
    print("\n".join(reports)[:4000])
    return done.returncode or int(bool(reports))


def _library(name: str) -> str:
    line = [os.environ.get("CC", "gcc"), f"-print-file-name={name}"]
    return subprocess.run(line, capture_output=True, text=True, check=True).stdout.strip()


def _tool(name: str) -> str:
    """Return a program of this environment, or of the system."""
    here = Path(sysconfig.get_path("scripts")) / name
    found = str(here) if here.exists() else shutil.which(name)
    if found is None:
        raise SystemExit(f"{name} is required: pip install {name}")
    return found


if __name__ == "__main__":
    sys.exit(main())
