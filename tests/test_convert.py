import os
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from scipy import sparse

from pairsift.data.blocks import ArrayBlocks, Block, StoreBlocks, SvmlightBlocks
from pairsift.data.convert import convert, parse_size
from pairsift.data.generate import make_ranking
from pairsift.data.rows import as_rows
from pairsift.data.store import RowStore


def _order(y, positive=1):
    return np.concatenate([np.flatnonzero(y == positive), np.flatnonzero(y != positive)])


def _same(store, X, order):
    rows, whole = store.between(0, store.n_rows), as_rows(X[order])
    assert rows.values.dtype == whole.values.dtype
    assert np.array_equal(rows.values, whole.values)
    if hasattr(rows, "columns"):
        assert np.array_equal(rows.columns, whole.columns)
        assert np.array_equal(rows.starts, whole.starts)
    assert np.array_equal(store.original_between(0, store.n_rows), order)


@pytest.mark.parametrize("density", [None, 0.3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("step", [1, 100, 5000])
def test_arrays(tmp_path, density, dtype, step):
    X, y = make_ranking(500 if step == 1 else 5000, 8, density=density, dtype=dtype, random_state=0)
    weights = np.random.default_rng(0).random(len(y))
    store = convert(ArrayBlocks(X, y, weights, block_rows=step), tmp_path / "rows.arrow", extra={"a": [1]})
    _same(store, X, _order(y))
    assert np.array_equal(store.weights_between(0, len(y)), weights[_order(y)])
    assert store.header.extra == {"a": [1]}
    assert os.listdir(tmp_path) == ["rows.arrow"]


def test_once_is_enough(tmp_path):
    X, y = make_ranking(3000, 4, random_state=0)
    _same(convert(iter(ArrayBlocks(X, y, block_rows=99)), tmp_path / "rows.arrow"), X, _order(y))


@pytest.mark.parametrize(
    ("labels", "positive", "expected"),
    [
        ((0, 1), None, (0, 1)),
        ((1, 2), None, (1, 2)),
        ((1, 2), 1, (2, 1)),
        ((-1.0, 1.0), None, (-1, 1)),
        ((-1.0, 1.0), "-1.0", (1, -1)),
        (("no", "yes"), None, ("no", "yes")),
        (("no", "yes"), "no", ("yes", "no")),
        ((False, True), None, (False, True)),
    ],
)
def test_labels(tmp_path, labels, positive, expected):
    X, y = make_ranking(300, 2, random_state=0)
    y = np.array(labels)[y]
    store = convert(ArrayBlocks(X, y, block_rows=7), tmp_path / "rows.arrow", positive=positive)
    assert tuple(store.labels.tolist()) == expected
    _same(store, X, _order(y, expected[1]))


def test_one_class_at_a_time(tmp_path):
    """The negatives come first and nobody knows yet that they are the negatives."""
    X, y = make_ranking(300, 2, random_state=0)
    by_class = np.argsort(y, kind="stable")
    store = convert(ArrayBlocks(X[by_class], y[by_class], block_rows=10), tmp_path / "rows.arrow")
    _same(store, X[by_class], _order(y[by_class]))


def test_a_store_of_a_store_keeps_the_original_numbers(tmp_path):
    first = make_ranking(5000, 3, random_state=0, path=tmp_path / "a.arrow")
    second = convert(StoreBlocks(first, block_bytes=1000), tmp_path / "b.arrow")
    assert np.array_equal(second.original_between(0, 5000), first.original_between(0, 5000))
    assert np.array_equal(second.between(0, 5000).values, first.between(0, 5000).values)


def test_text(tmp_path):
    path = tmp_path / "rows.svm"
    path.write_text("+1 1:1 7:2.5\n-1\n-1 2:3\n+1 9:4\n")
    store = convert(SvmlightBlocks(path, block_bytes=8), tmp_path / "rows.arrow")
    assert (store.n_positive, store.n_negative, store.n_features) == (2, 2, 9)
    rows = store.between(0, 4)
    assert rows.columns.tolist() == [0, 6, 8, 1]
    assert rows.starts.tolist() == [0, 2, 3, 3, 4]
    assert store.original_between(0, 4).tolist() == [0, 3, 1, 2]
    assert store.labels.tolist() == [-1, 1]


def test_blocks_that_grow(tmp_path):
    """Later blocks are wider, and of wider types."""
    narrow = sparse.csr_array(np.eye(3, dtype=np.float32))
    wide = sparse.csr_array(np.eye(4) * 2)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    y = np.array([0, 1, 0, 1])
    store = convert([Block(as_rows(narrow), y[:3], None, 0), Block(as_rows(wide), y, None, 3)], tmp_path / "rows.arrow")
    assert (store.header.value, store.header.index, store.n_features) == ("float64", "int64", 4)
    assert store.between(0, 7).columns.tolist() == [1, 1, 3, 0, 2, 0, 2]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X, y: [], "y is empty"),
        (lambda X, y: ArrayBlocks(X, np.zeros(90)), "all 90 rows have one class, the label 0"),
        (lambda X, y: ArrayBlocks(X, np.arange(90) // 20, block_rows=10), r"after 0 \(20 rows\), 1 \(20 rows\) came 2"),
        (lambda X, y: ArrayBlocks(X, np.where(y, 1, np.nan)), "A label is NaN"),
        (lambda X, y: [Block(as_rows(X), y, None, 0), Block(as_rows(X), y, y + 1.0, 90)], "all blocks have weights"),
        (lambda X, y: [Block(as_rows(X), y, None, 0), Block(as_rows(X[:, :2]), y, None, 90)], "one number of columns"),
        (lambda X, y: [Block(as_rows(X), y, None, 0), Block(as_rows(sparse.csr_array(X)), y, None, 90)], "all sparse"),
        (lambda X, y: ArrayBlocks(np.zeros((90, 5000)), y), "more than a quarter of memory"),
    ],
)
def test_faults_leave_what_was_there(tmp_path, change, message):
    X, y = make_ranking(90, 3, random_state=0)
    (tmp_path / "rows.arrow").write_text("old")
    with pytest.raises(ValueError, match=message):
        convert(change(X, y), tmp_path / "rows.arrow", memory="8MB")
    assert (tmp_path / "rows.arrow").read_text() == "old"
    assert os.listdir(tmp_path) == ["rows.arrow"]


def test_wrong_parameters(tmp_path):
    X, y = make_ranking(90, 3, random_state=0)
    with pytest.raises(ValueError, match="'7' does not occur; the labels are 0"):
        convert(ArrayBlocks(X, y), tmp_path / "x", positive="7")
    with pytest.raises(ValueError, match="at least 8 MB"):
        convert(ArrayBlocks(X, y), tmp_path / "x", memory=10)
    with pytest.raises(ValueError, match="such as 256MB; got '5 apples'"):
        parse_size("5 apples")
    sizes = ["1kB", "1.5 GB", "2MiB", "7", 8]
    assert [parse_size(size) for size in sizes] == [1000, 1_500_000_000, 2**21, 7, 8]


_KILLED = """
import sys
from pairsift.data.blocks import GeneratedBlocks
from pairsift.data.convert import convert
from pairsift.data.generate import RankingLaw, seed_from
print("ready", flush=True)
law = RankingLaw(60_000, 8, 0.2, 0.9, 0.0, None, "float32", seed_from(int(sys.argv[2])))
convert(GeneratedBlocks(law, block_grains=1), sys.argv[1], memory="8MB")
print("done", flush=True)
"""


@pytest.mark.slow
def test_killed_at_random_moments(tmp_path):
    """Whatever the moment, the file is the old one or the new one, and the next run cleans up."""
    path = tmp_path / "rows.arrow"
    moments = random.Random(0)
    expected = {}
    outcomes = {"old": 0, "new": 0}

    def start(seed):
        process = subprocess.Popen(
            [sys.executable, "-c", _KILLED, str(path), str(seed)], stdout=subprocess.PIPE, text=True
        )
        while process.stdout.readline().strip() != "ready":
            pass
        return process

    begin = time.perf_counter()
    for seed in (0, 1):
        process = start(seed)
        took = time.perf_counter()
        process.communicate()
        took = time.perf_counter() - took
        expected[seed] = path.read_bytes()
    assert expected[0] != expected[1]
    seed = 1
    for _ in range(30):
        process = start(1 - seed)
        time.sleep(moments.uniform(0, 1.2 * took))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        content = path.read_bytes()
        assert content in expected.values()
        outcomes["new" if content == expected[1 - seed] else "old"] += 1
        seed = 1 - seed if content == expected[1 - seed] else seed
        assert set(os.listdir(tmp_path)) <= {"rows.arrow", "rows.arrow.partial"}
        if time.perf_counter() - begin > 60:
            break
    assert outcomes["old"] > 0
    start(0).communicate()
    assert os.listdir(tmp_path) == ["rows.arrow"]
    assert RowStore(path).n_rows == 60_000
    assert path.read_bytes() == expected[0]


_FULL = """
import resource, sys
from pairsift.data.blocks import ArrayBlocks
from pairsift.data.convert import convert
from pairsift.data.generate import make_ranking
X, y = make_ranking(50_000, 10, random_state=0)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), int(sys.argv[2])))
try:
    convert(ArrayBlocks(X, y, block_rows=1000), sys.argv[1])
except OSError as error:
    print("refused:", error.errno)
"""


@pytest.mark.parametrize("room", [100_000, 3_700_000, 4_200_000])
def test_no_room_for_the_output(tmp_path, room):
    """The limit is met in the files of the classes, or in the store, which is larger; either way nothing is left."""
    path = tmp_path / "rows.arrow"
    path.write_text("old")
    done = subprocess.run(
        [sys.executable, "-c", _FULL, str(path), str(room)], capture_output=True, text=True, check=False
    )
    assert "refused: 27" in done.stdout, done.stderr
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["rows.arrow"]
