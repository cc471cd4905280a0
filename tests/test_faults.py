"""The fault campaign in short, and what it found: each of the tests by name failed before its fix."""

import errno
import gzip
import json
import os
import subprocess
import sys
import zipfile
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, feather, parquet

from faults.attacks import ATTACKS
from pairsift import RowStore, load_model, make_ranking, read_svmlight, save_model
from pairsift.cli import _reason
from pairsift.data import blocks as blocks_module
from pairsift.data import csv_table, svmlight, tables
from pairsift.data.blocks import ArrayBlocks, StoreBlocks
from pairsift.data.convert import convert
from pairsift.data.csv_table import _open_for_arrow
from pairsift.data.file_state import DataChangedError
from pairsift.data.formats import is_row_store
from pairsift.data.numpy_files import read_numpy
from pairsift.data.scoring import ScoringOptions, open_scoring_blocks
from pairsift.data.training import DataOptions, open_training_data
from pairsift.experiments.results import Outcome, Results
from pairsift.linear_model import LinearModel
from test_cli import one_line, run, write_svmlight
from test_reproduce import cell_of

HERE = Path(__file__).parent


@pytest.mark.slow
@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_loses_nothing(name):
    line = [sys.executable, "-m", "faults", name, "--count", str(ATTACKS[name].short), "--seed", "1"]
    done = subprocess.run(line, cwd=HERE, capture_output=True, text=True, check=False, timeout=600)
    tally = json.loads(done.stdout.splitlines()[-1]) if done.stdout else {}
    assert tally.get("losses") == [], done.stderr
    assert tally["count"] >= ATTACKS[name].short


class Failing:
    """A stream that gives some bytes and then fails, as a disk does."""

    def __init__(self):
        self._given = False

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

    def readinto(self, buffer):
        if self._given:
            raise OSError(errno.EIO, "Input/output error")
        self._given = True
        buffer[:6] = b"1 1:1\n"
        return 6


def test_a_failed_read_names_the_file_that_is_read(tmp_path, monkeypatch):
    """It named no file, and of `score` even the file that is written."""
    path = tmp_path / "rows.svm"
    path.write_text("1 1:1\n")
    monkeypatch.setattr(svmlight, "open_binary", lambda path: Failing())
    with pytest.raises(OSError, match="Input/output error") as caught:
        read_svmlight(path)
    assert _reason(caught.value) == f"{path}: Input/output error"


def fail(*arguments, **options):
    raise OSError(errno.EIO, "Input/output error")


def test_a_failed_read_of_a_row_store_names_it(tmp_path, monkeypatch):
    """It said "[Errno 5] Input/output error" and no more."""
    path = write(tmp_path, "rows.arrow", 0)
    monkeypatch.setattr(os, "pread", fail)
    for read in (RowStore, is_row_store):
        with pytest.raises(OSError, match="Input/output error") as caught:
            read(path)
        assert _reason(caught.value) == f"{path}: Input/output error"


def test_a_failed_read_of_a_model_names_it(tmp_path, monkeypatch):
    """`score` named the file that it writes."""
    save_model(LinearModel(np.ones((1, 2)), np.zeros(1), np.array([0, 1])), tmp_path / "m")
    monkeypatch.setattr(Failing, "read", fail, raising=False)
    monkeypatch.setattr(Path, "open", lambda path, mode: Failing())
    with pytest.raises(OSError, match="Input/output error") as caught:
        load_model(tmp_path / "m")
    assert _reason(caught.value) == f"{tmp_path / 'm'}: Input/output error"


@pytest.mark.parametrize("fault", [zipfile.BadZipFile("File is not a zip file"), EOFError("No data left")])
def test_an_archive_that_cannot_be_read_any_more_is_refused(tmp_path, monkeypatch, fault):
    """A read error within its list of members ended in a traceback of Python's zipfile."""
    np.savez(tmp_path / "rows.npz", X=np.ones((2, 2)), y=np.arange(2))

    def load(*arguments, **options):
        raise fault

    monkeypatch.setattr(np, "load", load)
    with pytest.raises(ValueError, match=r"rows\.npz: the archive cannot be read"):
        read_numpy(tmp_path / "rows.npz")


WRITERS = {
    "rows.csv": csv.write_csv,
    "rows.parquet": partial(parquet.write_table, row_group_size=500),
    "rows.feather": partial(feather.write_feather, chunksize=500),
}
FORMATS = ["rows.svm", "rows.npy", "rows.arrow", *WRITERS]


def write(folder, name, seed):
    X, y = make_ranking(3000, 4, random_state=seed)
    path = folder / name
    table = pa.table({"y": y, **{f"x{k}": X[:, k] for k in range(4)}})
    if name == "rows.svm":
        write_svmlight(path, X, y)
    elif name == "rows.npy":
        np.save(path, X)
        np.save(folder / "y.npy", y)
    elif name == "rows.arrow":
        convert(ArrayBlocks(X, y), path)
    else:
        WRITERS[name](table, path)
    return path


@pytest.mark.parametrize("name", FORMATS)
def test_a_change_while_it_is_scored_is_noticed(tmp_path, name, monkeypatch):
    """Rows of two versions of a file were scored as if they were one; only a row store noticed."""
    for reader in (svmlight.iterate_svmlight, StoreBlocks.__init__):
        monkeypatch.setitem(reader.__kwdefaults__, "block_bytes", 2**12)
    for module in (blocks_module, csv_table):
        monkeypatch.setattr(module, "BLOCK_BYTES", 2**12)
    monkeypatch.setattr(tables, "BATCH_ROWS", 500)
    path = write(tmp_path, name, 0)
    names = None if name in ("rows.svm", "rows.npy", "rows.arrow") else np.array([f"x{k}" for k in range(4)], object)
    model = LinearModel(np.ones((1, 4)), np.zeros(1), np.array([0, 1]), names, zero_based=False)
    blocks = open_scoring_blocks(path, model, ScoringOptions())
    next(blocks)
    with path.open("ab") as file:
        file.write(path.read_bytes())
    with pytest.raises(ValueError, match="changed since it was opened"):
        list(blocks)


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("change", ["in place", "removed"])
def test_a_change_before_the_model_is_written_is_noticed(tmp_path, name, change):
    path = write(tmp_path, name, 0)
    label = {"rows.npy": str(tmp_path / "y.npy"), "rows.svm": None, "rows.arrow": None}.get(name, "y")
    data = open_training_data(path, DataOptions(label=label))
    data.check_unchanged()
    if change == "removed":
        path.unlink()
    else:
        os.utime(path, ns=(1, 1))
    with pytest.raises(DataChangedError, match="since it was opened"):
        data.check_unchanged()


def test_a_pipe_has_no_state(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    write = "import sys; open(sys.argv[1], 'w').write('1 1:1\\n0 1:2\\n')"
    writer = subprocess.Popen([sys.executable, "-c", write, str(tmp_path / "pipe")])
    X, _ = read_svmlight(tmp_path / "pipe")
    assert X.shape == (2, 1)
    assert writer.wait() == 0


LITTLE_MEMORY = """
import resource, sys
from pathlib import Path
from pairsift.data.svmlight import read_svmlight_rows
import pairsift.data.numpy_files
pages = int(Path("/proc/self/statm").read_text().split()[0])
resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + 12_000_000,) * 2)
try:
    if sys.argv[1].endswith(".npy"):
        pairsift.data.numpy_files.read_numpy(sys.argv[1])
    else:
        read_svmlight_rows(sys.argv[1], threads=1)
except MemoryError as error:
    print(error)
"""


@pytest.mark.parametrize("name", ["rows.svm", "rows.npy"])
def test_too_little_memory_says_how_much_was_needed(tmp_path, name):
    """It said "std::bad_alloc", or "[Errno 12] Cannot allocate memory"."""
    X = np.ones((60_000, 40))
    if name == "rows.npy":
        np.save(tmp_path / name, X)
    else:
        row = " ".join(f"{k}:1" for k in range(1, 41))
        (tmp_path / name).write_text(f"1 {row}\n0 {row}\n" * 30_000)
    line = [sys.executable, "-c", LITTLE_MEMORY, str(tmp_path / name)]
    done = subprocess.run(line, capture_output=True, text=True, check=True)
    assert "Unable to" in done.stdout
    assert " MB" in done.stdout


NO_MEMORY_TO_SAVE = """
import resource, sys
from pathlib import Path
import numpy as np
import safetensors.numpy
from pairsift import LinearModel, save_model
model = LinearModel(np.ones((1, 100_000)), np.zeros(1), np.array([0, 1]))
spare = np.empty(2_000_000, dtype=np.uint8)  # for two copies of the coefficients, not for three
pages = int(Path("/proc/self/statm").read_text().split()[0])
resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize(),) * 2)
held, size = [], 2**20
while size >= 2**10:  # nearly all that malloc has left
    try:
        held.append(bytearray(size))
    except MemoryError:
        size //= 2
del spare
try:
    save_model(model, sys.argv[1])
except MemoryError as error:
    print(error)
"""


def test_too_little_memory_for_the_model_file_is_an_error(tmp_path):
    """Memory was there for the model but not for its file: safetensors ended the process with SIGABRT."""
    (tmp_path / "m").write_bytes(b"old")
    line = [sys.executable, "-c", NO_MEMORY_TO_SAVE, str(tmp_path / "m")]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-500:]
    assert "Unable to allocate" in done.stdout
    assert os.listdir(tmp_path) == ["m"]
    assert (tmp_path / "m").read_bytes() == b"old"


def test_a_memory_error_without_a_size_says_what_is_in_use():
    assert "MB that were in use" in _reason(MemoryError("std::bad_alloc"))
    assert _reason(MemoryError("Unable to allocate 8.0 MB")).startswith("not enough memory: Unable to allocate 8.0 MB.")


def test_a_store_of_results_that_cannot_be_written_says_so(tmp_path):
    """It ended in SQLite's own exception, a traceback for who runs the command."""
    path = tmp_path / "r.sqlite"
    with Results(path, create=True) as results:
        results.put(cell_of("wsvm"), Outcome("done"))
        results._connection.execute("PRAGMA query_only = ON")
        with pytest.raises(ValueError, match=r"r\.sqlite: the store of results cannot be used"):
            results.put(cell_of("random"), Outcome("done"))
        with pytest.raises(ValueError, match=r"r\.sqlite: the store of results cannot be used"):
            results.set_fact("mode", "full")


KILLED_WHILE_WRITING = """
import os, signal, sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
connection.execute("PRAGMA cache_size = 1")  # so that pages are written before the end
connection.execute("UPDATE cells SET result = '{}'")
connection.executemany("INSERT INTO facts VALUES (?, ?)", [(str(k), "x" * 3000) for k in range(100)])
os.kill(os.getpid(), signal.SIGKILL)
"""


def killed_while_writing(path):
    with Results(path, create=True) as results:
        results.put(cell_of("wsvm"), Outcome("done", result={"auc": 0.5}))
    subprocess.run([sys.executable, "-c", KILLED_WHILE_WRITING, str(path)], check=False)
    return path.with_name(f"{path.name}-journal")


def test_a_store_of_results_that_was_being_written_can_be_read(tmp_path):
    """It was "no store of results" until the next run: reading could not take back what was half written."""
    path = tmp_path / "r.sqlite"
    assert killed_while_writing(path).exists()
    with Results(path) as results:
        assert [row.result for row in results.rows()] == [{"auc": 0.5}]
        with pytest.raises(ValueError, match="cannot be used"):
            results.set_fact("mode", "full")


def test_a_journal_that_names_another_file_is_refused(tmp_path):
    """SQLite would delete that file after it has taken back the change."""
    path, other = tmp_path / "r.sqlite", tmp_path / "other"
    other.write_text("not a journal")
    journal, name = killed_while_writing(path), os.fsencode(other)
    end = len(name).to_bytes(4, "big") + (sum(name) % 2**32).to_bytes(4, "big") + bytes.fromhex("d9d505f920a163d7")
    journal.write_bytes(journal.read_bytes() + b"\x00\x00\x00\x01" + name + end)
    for create in (False, True):
        with pytest.raises(ValueError, match="names another file"):
            Results(path, create=create)
    assert other.exists()


@pytest.mark.parametrize("ending", ["", ".gz"])
def test_a_refused_table_does_not_end_in_an_abort(tmp_path, ending):
    """A thread of pyarrow was still reading through Python when Python ended: one run in twenty died of SIGABRT."""
    path = tmp_path / f"rows.csv{ending}"
    path.write_bytes(gzip.compress(b"a,b\n1,2\n") if ending else b"a,b\n1,2\n")
    for _ in range(5):
        assert "no label column 'c'" in one_line(run("fit", path, "--label", "c", "-o", tmp_path / "m"), 1)
    pending = _open_for_arrow(str(path))
    assert isinstance(pending, pa.NativeFile), "bytes of this file come through Python"
    pending.close()


def test_a_storm_of_interrupts_does_not_break_into_what_tidies_up():
    """Of 60 storms one printed a traceback: a later SIGINT was raised while the first one's file was removed."""
    import signal

    from pairsift.cli.interrupt import RaiseOnce

    handler = RaiseOnce()
    with pytest.raises(KeyboardInterrupt):
        handler(signal.SIGINT, None)
    try:
        for _ in range(100):
            handler(signal.SIGINT, None)
    except KeyboardInterrupt:  # which would end pytest itself
        pytest.fail("a second interrupt was raised at once")
    handler._last -= 2.0  # later on it can be interrupted again
    with pytest.raises(KeyboardInterrupt):
        handler(signal.SIGINT, None)


def test_an_interrupt_that_is_ignored_stays_ignored():
    import signal

    from pairsift.cli.interrupt import RaiseOnce, take_interrupts

    before = signal.getsignal(signal.SIGINT)
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        take_interrupts()
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
        signal.signal(signal.SIGINT, signal.default_int_handler)
        take_interrupts()
        assert isinstance(signal.getsignal(signal.SIGINT), RaiseOnce)
    finally:
        signal.signal(signal.SIGINT, before)
