import gc
import os
import pickle
import struct
import subprocess
import sys
import threading

import numpy as np
import pyarrow as pa
import pytest
from scipy import sparse

from pairsift import _core
from pairsift.data.arrow_file import read_arrow_file
from pairsift.data.rows import as_rows
from pairsift.data.store import RowStore, StoreChangedError, StoreError, StoreFormatError
from pairsift.data.store_header import StoreHeader
from pairsift.data.store_writer import StoreWriter

N, D = 700, 7
POSITIVES = 150


def _data(kind, value="float32", index="int32"):
    """Rows in store order, as scipy or NumPy hold them; the sparse ones have empty rows."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(N, D)).astype(value)
    if kind == "dense":
        return X
    X = sparse.csr_array(np.where(rng.random((N, D)) < 0.3, X, 0))
    X.indices, X.indptr = X.indices.astype(index), X.indptr.astype(index)
    assert np.any(np.diff(X.indptr) == 0)
    return X


def _write(path, X, *, weights=None, batch_bytes=2**12, parts=3, **header):
    index = None if isinstance(X, np.ndarray) else X.indices.dtype.name
    header = {"labels": (-1, 1), "extra": {"note": "x"}, **header}
    head = StoreHeader(
        POSITIVES, N - POSITIVES, D, X.dtype.name, index=index, has_weights=weights is not None, **header
    )
    original = np.random.default_rng(0).permutation(N)
    with StoreWriter(path, head, batch_bytes) as writer:
        for part in np.array_split(np.arange(N), parts):
            chosen = None if weights is None else weights[part]
            writer.write(as_rows(X[part]), original[part], chosen)
    return original


@pytest.fixture(params=["dense", "sparse"])
def made(request, tmp_path):
    X = _data(request.param)
    path = tmp_path / "rows.arrow"
    original = _write(path, X)
    return path, X, original


def _bits(rows):
    return [part.tobytes() for part in (rows.values, getattr(rows, "columns", None), getattr(rows, "starts", None)) if part is not None]  # fmt: skip  # noqa: E501


@pytest.mark.parametrize("value", ["float32", "float64"])
@pytest.mark.parametrize(("kind", "index"), [("dense", None), ("sparse", "int32"), ("sparse", "int64")])
@pytest.mark.parametrize("batch_bytes", [1, 2**10, 2**23])
@pytest.mark.parametrize("parts", [1, 5])
def test_round_trip(tmp_path, value, kind, index, batch_bytes, parts):
    X = _data(kind, value, index)
    weights = np.random.default_rng(1).random(N) + 0.5
    original = _write(tmp_path / "rows.arrow", X, weights=weights, batch_bytes=batch_bytes, parts=parts)
    store, memory = RowStore(tmp_path / "rows.arrow"), as_rows(X)
    w = np.random.default_rng(2).normal(size=D)
    rows = np.random.default_rng(3).integers(0, N, 400)  # any order, some of them twice
    assert (store.n_rows, store.n_features, store.n_positive, store.n_negative) == (N, D, POSITIVES, N - POSITIVES)
    assert _bits(store.take(rows)) == _bits(memory.take(rows))
    assert _bits(store.between(0, N)) == _bits(memory)
    assert _bits(store.between(99, 431)) == _bits(memory.take(np.arange(99, 431)))
    assert np.array_equal(store.scores(w, rows), memory.scores(w, rows))
    assert np.array_equal(store.scores_between(w, 13, 601), memory.scores_between(w, 13, 601))
    assert np.array_equal(store.original_rows(rows), original[rows])
    assert np.array_equal(store.original_between(5, 500), original[5:500])
    assert np.array_equal(store.weights(rows), weights[rows])
    assert np.array_equal(store.labels_between(0, N), np.where(np.arange(N) < POSITIVES, 1, -1))
    assert store.header.extra == {"note": "x"}
    assert len(store.take(np.empty(0, dtype=np.int64)).kernel.__class__.__name__) > 0


def test_steps_of_a_scan_do_not_show(made):
    path, X, _ = made
    store, memory = RowStore(path), as_rows(X)
    a = np.random.default_rng(0).normal(size=N)
    whole, parts = np.zeros(D), np.zeros(D)
    memory.kernel.add_combination(a, whole)
    store.add_between(a[:333], 0, 333, parts)
    store.add_between(a[333:], 333, N, parts)
    assert np.array_equal(whole, parts)
    steps = list(store.scan(0, N, step_bytes=200))
    assert len(steps) > 20
    assert [first for first, _, _ in steps[1:]] == [last for _, last, _ in steps[:-1]]


def test_plain_pyarrow_reads_it(made):
    path, X, original = made
    table = pa.ipc.open_file(str(path)).read_all()
    table.validate(full=True)
    assert table.column("row").to_numpy().tolist() == original.tolist()
    assert table.column("positive").to_pylist() == [True] * POSITIVES + [False] * (N - POSITIVES)
    dense = np.zeros((N, D), dtype=np.float32)
    for k, row in enumerate(table.column("features").to_pylist()):
        if isinstance(X, np.ndarray):
            dense[k] = row
        else:
            for entry in row:
                dense[k, entry["index"]] = entry["value"]
    assert np.array_equal(dense, X if isinstance(X, np.ndarray) else X.toarray())


def test_buffers_lie_where_pyarrow_says(made):
    path, _, _ = made
    with open(path, "rb") as file:
        ours = read_arrow_file(file.fileno(), path.stat().st_size, str(path))
    mapped = pa.memory_map(str(path))
    base = mapped.read_buffer(mapped.size()).address
    reader = pa.ipc.open_file(mapped)
    assert reader.num_record_batches == len(ours.batch_rows) > 2
    for k in range(reader.num_record_batches):
        batch = reader.get_batch(k)
        theirs = [buffer for column in batch.columns for buffer in column.buffers()]
        assert batch.num_rows == ours.batch_rows[k]
        assert len(theirs) == ours.offsets.shape[1]
        for buffer, offset, length in zip(theirs, ours.offsets[k], ours.lengths[k], strict=True):
            if buffer is None:
                assert length == 0
            elif length:
                assert buffer.address - base == offset
                assert buffer.size <= length


def test_cut_anywhere_is_refused(made, tmp_path):
    path, _, _ = made
    whole = path.read_bytes()
    cut = tmp_path / "cut.arrow"
    lengths = {*range(40), *range(len(whole) - 40, len(whole)), *range(0, len(whole), 997)}
    for length in lengths:
        cut.write_bytes(whole[:length])
        with pytest.raises(StoreFormatError, match=r"cannot be read as a row store"):
            RowStore(cut)
    assert issubclass(StoreFormatError, StoreError)
    assert issubclass(StoreError, ValueError)


def test_an_end_from_elsewhere_does_not_mend_a_cut_file(made, tmp_path):
    path, _, _ = made
    whole = path.read_bytes()
    (footer,) = struct.unpack("<i", whole[-10:-6])
    (tmp_path / "cut.arrow").write_bytes(whole[:5000] + whole[-10 - footer :])
    with pytest.raises(StoreFormatError, match="which is not there"):
        RowStore(tmp_path / "cut.arrow")


@pytest.mark.parametrize("content", [b"", b"ARROW1", b"1 1:0.5\n-1 2:3\n" * 9, b"PAR1" * 9, bytes(64), b"ARROW1\0\0" + bytes(40) + b"ARROW1"])  # fmt: skip  # noqa: E501
def test_foreign_bytes(tmp_path, content):
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(StoreFormatError, match="cannot be read as a row store"):
        RowStore(tmp_path / "x")


def test_other_arrow_files(tmp_path):
    table = pa.table({"a": [1.0, 2.0]})
    for name, metadata in {"plain": {}, "text": {"pairsift": "x"}, "list": {"pairsift": "[1]"}}.items():
        with pa.ipc.new_file(str(tmp_path / name), table.schema.with_metadata(metadata)) as file:
            file.write_table(table)
        with pytest.raises(StoreFormatError, match="is an Arrow file, but not a row store"):
            RowStore(tmp_path / name)
    with pytest.raises(FileNotFoundError):
        RowStore(tmp_path / "missing")


def _rewrite(path, table=None, *, change=None, options=None, keep=None):
    """Write the file again by plain pyarrow with another header, other options, other rows."""
    import json

    table = pa.ipc.open_file(str(path)).read_all() if table is None else table
    header = json.loads(table.schema.metadata[b"pairsift"])
    header.update(change or {})
    schema = table.schema.with_metadata({"pairsift": json.dumps(header)})
    batches = table.cast(schema).combine_chunks().to_batches()
    with pa.ipc.new_file(str(path), schema, options=options) as file:
        for batch in batches:
            file.write_batch(batch if keep is None else batch.slice(0, keep))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 2}, "is a row store of version 2; this pairsift reads version 1"),
        ({"version": "1"}, "version '1'"),
        ({"n_positive": POSITIVES + 1}, "announces 701 rows but holds 700"),
        ({"n_positive": -1, "n_negative": N + 1}, "rows of both classes"),
        ({"n_positive": 1.5}, "must be integers"),
        ({"n_features": 2**40, "index": None}, "damaged|lacks columns"),
        ({"n_features": 0}, "at least one column"),
        ({"value": "float16"}, "float32 or float64"),
        ({"value": "float64", "index": None}, "damaged|lacks columns"),
        ({"index": "int8"}, "int32 or int64"),
        ({"has_weights": True}, "lacks columns"),
        ({"labels": [1]}, "labels must be two"),
        ({"surprise": 1}, "is damaged"),
    ],
)
def test_headers_that_lie(made, change, message):
    path, _, _ = made
    _rewrite(path, change=change)
    with pytest.raises(StoreFormatError, match=message):
        RowStore(path)


def test_rewritten_by_pyarrow_is_still_read(made):
    path, X, _ = made
    _rewrite(path)
    assert _bits(RowStore(path).between(0, N)) == _bits(as_rows(X))


def test_compressed_or_shortened_is_refused(made):
    path, _, _ = made
    _rewrite(path, keep=N - 1)
    with pytest.raises(StoreFormatError, match="announces 700 rows but holds 699"):
        RowStore(path)
    _rewrite(path, options=pa.ipc.IpcWriteOptions(compression="lz4"))
    with pytest.raises(StoreFormatError, match="it is compressed"):
        RowStore(path)


def test_any_changed_byte_is_an_error_or_another_number(made, tmp_path):
    """No byte of the footer, or of the header of a batch, can make reading do anything but answer or refuse."""
    path, _, _ = made
    whole = bytearray(path.read_bytes())
    (footer,) = struct.unpack("<i", whole[-10:-6])
    rng = np.random.default_rng(0)
    ends = range(len(whole) - 10 - footer, len(whole))
    spots = [*rng.choice(ends, 600), *rng.integers(0, len(whole), 300)]
    refused = 0
    for spot in spots:
        changed = whole.copy()
        changed[spot] = rng.integers(256)
        target = tmp_path / "changed.arrow"
        target.write_bytes(changed)
        try:
            store = RowStore(target)
            store.take(rng.integers(0, N, 20))
            store.between(0, N)
        except ValueError:
            refused += 1
        gc.collect(0)
    assert refused > 50


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_rows_are_checked_when_read(tmp_path, bad):
    X = _data("dense")
    path = tmp_path / "rows.arrow"
    _write(path, X, batch_bytes=2**20)
    data = path.read_bytes()
    at = data.index(X[333].tobytes())
    path.write_bytes(data[:at] + np.float32(bad).tobytes() + data[at + 4 :])
    store = RowStore(path)
    store.take(np.array([332, 334]))
    for read in (lambda: store.take(np.array([5, 333])), lambda: store.scores_between(np.zeros(D), 300, 400)):
        with pytest.raises(StoreFormatError, match=r"Row 333 of .*rows.arrow contains (NaN|infinity) in column 0"):
            read()


def test_large_reads_are_checked_too(tmp_path, monkeypatch):
    X = _data("dense")
    path = tmp_path / "rows.arrow"
    _write(path, X, batch_bytes=2**20)
    data = path.read_bytes()
    at = data.index(X[333].tobytes())
    path.write_bytes(data[:at] + np.float32(np.nan).tobytes() + data[at + 4 :])
    monkeypatch.setattr("pairsift.data.rows.FULL_CHECK_VALUES", 1)  # rows in memory are then checked only when used
    with pytest.raises(StoreFormatError, match="contains NaN in column 0"):
        RowStore(path).between(0, N)


def test_a_buffer_may_not_reach_into_the_next_batch(made):
    path, _, _ = made
    with open(path, "rb") as file:
        found = read_arrow_file(file.fileno(), path.stat().st_size, str(path))
    offset, length = int(found.offsets[0, -1] - found.offsets[0, 0]), int(found.lengths[0, -1])
    body = offset + -(-length // 8) * 8
    data = path.read_bytes()
    old, new = struct.pack("<qq", offset, length), struct.pack("<qq", body, length)
    assert old in data
    path.write_bytes(data.replace(old, new, 1))
    with pytest.raises(StoreFormatError, match="a buffer claims bytes outside of its batch"):
        RowStore(path)


def test_columns_out_of_range_are_refused(tmp_path):
    X = _data("sparse")
    _write(tmp_path / "rows.arrow", X)
    _rewrite(tmp_path / "rows.arrow", change={"n_features": D - 1})
    with pytest.raises(StoreFormatError, match="has the column index 6"):
        RowStore(tmp_path / "rows.arrow").between(0, N)


def test_a_changed_file_is_noticed(made):
    path, _, _ = made
    whole = path.read_bytes()
    few, w = np.array([1, 2]), np.zeros(D)
    store = RowStore(path)
    with open(path, "ab") as file:
        file.write(b"x")
    with pytest.raises(StoreChangedError, match="was changed since it was opened"):
        store.take(few)
    path.write_bytes(whole)
    store = RowStore(path)
    os.utime(path, ns=(1, 1))
    with pytest.raises(StoreChangedError, match="was changed"):
        store.scores_between(w, 0, N)
    store = RowStore(path)
    other = path.with_name("other")
    other.write_bytes(whole)
    os.utime(other, ns=(1, 1))
    os.replace(other, path)
    with pytest.raises(StoreChangedError, match="was changed"):
        store.original_rows(few)
    store = RowStore(path)
    path.unlink()
    with pytest.raises(StoreChangedError, match="is gone"):
        store.scores(w, few)


def test_a_file_that_shrinks_during_a_read_is_an_error(tmp_path):
    path = tmp_path / "short"
    path.write_bytes(bytes(100))
    with open(path, "rb") as file:
        ranges = np.array([0, 90]), np.array([10, 20]), np.array([0, 10])
        assert _core.read_ranges(file.fileno(), *ranges, np.empty(30, dtype=np.uint8))[0] == -1
    assert _core.read_ranges(-1, *ranges, np.empty(30, dtype=np.uint8))[0] > 0
    with pytest.raises(ValueError, match="out of bounds"):
        _core.read_ranges(0, *ranges, np.empty(29, dtype=np.uint8))


def test_read_ranges_against_slices(tmp_path):
    rng = np.random.default_rng(0)
    content = rng.integers(0, 256, 5_000_000).astype(np.uint8)
    content.tofile(tmp_path / "bytes")
    lengths = np.concatenate([rng.integers(0, 300, 3000), [2_000_000, 0, 1]])
    offsets = (rng.random(len(lengths)) * (len(content) - lengths)).astype(np.int64)
    places = np.cumsum(lengths) - lengths
    out = np.empty(lengths.sum(), dtype=np.uint8)
    with open(tmp_path / "bytes", "rb") as file:
        assert _core.read_ranges(file.fileno(), offsets, lengths, places, out) == (0, 0)
    assert np.array_equal(out, np.concatenate([content[o : o + n] for o, n in zip(offsets, lengths, strict=True)]))


@pytest.mark.parametrize("rows", [[-1], [N], [0, 2**62]])
def test_row_numbers_out_of_range(made, rows):
    store = RowStore(made[0])
    with pytest.raises(ValueError, match="Row numbers must be at least 0 and below 700"):
        store.take(np.array(rows))
    with pytest.raises(ValueError, match="the store has 700 rows"):
        store.between(600, 701)


def test_original_row_of_no_row(made):
    path, _, original = made
    assert RowStore(path).original_rows(np.array([-1, 3, -1])).tolist() == [-1, original[3], -1]


def test_problem_without_weights_holds_no_array(made):
    problem = RowStore(made[0]).problem()
    assert (problem.n_positive, problem.n_negative) == (POSITIVES, N - POSITIVES)
    assert problem.negatives[np.array([0, 5])].tolist() == [POSITIVES, POSITIVES + 5]
    assert problem.positive_weights is None


def test_problem_with_weights(tmp_path):
    weights = np.random.default_rng(0).random(N) + 1
    _write(tmp_path / "a", _data("dense"), weights=weights)
    problem = RowStore(tmp_path / "a").problem()
    assert np.array_equal(problem.negative_weights, weights[POSITIVES:])
    weights[[3, 200]] = 0
    _write(tmp_path / "b", _data("dense"), weights=weights)
    problem = RowStore(tmp_path / "b").problem()
    assert (problem.n_positive, problem.n_negative) == (POSITIVES - 1, N - POSITIVES - 1)
    assert problem.positives[2:4].tolist() == [2, 4]
    weights[0] = np.nan
    _write(tmp_path / "c", _data("dense"), weights=weights)
    with pytest.raises(ValueError, match="must be finite"):
        RowStore(tmp_path / "c").problem()


def test_cold_and_warm_are_equal(made):
    path, X, _ = made
    w, rows = np.ones(D), np.arange(N)[::-3].copy()
    with open(path, "rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    cold = RowStore(path).scores(w, rows)
    assert np.array_equal(cold, RowStore(path).scores(w, rows))
    assert np.array_equal(cold, as_rows(X).scores(w, rows))


def test_several_threads(made):
    path, X, _ = made
    store, memory = RowStore(path), as_rows(X)
    wrong = []

    def work(seed):
        rng = np.random.default_rng(seed)
        for _ in range(100):
            w, rows = rng.normal(size=D), rng.integers(0, N, 50)
            if not np.array_equal(store.scores(w, rows), memory.scores(w, rows)):
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_pickle_and_closing(made):
    path, _, _ = made
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    store = RowStore(path)
    copy = pickle.loads(pickle.dumps(store))
    assert _bits(copy.between(0, 9)) == _bits(store.between(0, 9))
    assert "700" not in repr(store)
    assert "150 positive and 550 negative" in repr(store)
    del store, copy
    gc.collect()
    if before:
        assert len(os.listdir("/proc/self/fd")) == before


def test_reading_needs_no_pyarrow_and_writing_says_so(made):
    code = (
        "import sys; sys.modules['pyarrow'] = None\n"
        "from pairsift.data.store import RowStore\n"
        "from pairsift.data.generate import make_ranking\n"
        f"print(RowStore({str(made[0])!r}).between(0, 700).n_rows)\n"
        f"make_ranking(path={str(made[0].with_name('new'))!r})\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.strip().endswith("700")
    assert done.stderr.strip().endswith('needs pyarrow: pip install "pairsift[arrow]"')
    assert not made[0].with_name("new").exists()


def test_a_writer_that_is_not_finished_leaves_what_was_there(tmp_path):
    X = _data("dense")
    path = tmp_path / "rows.arrow"
    _write(path, X)
    before = path.read_bytes()
    head = StoreHeader(1, 9, D, "float32")
    with (
        pytest.raises(ValueError, match="10 rows were announced, but 3 were written"),
        StoreWriter(path, head) as writer,
    ):
        writer.write(as_rows(X[:3]), np.arange(3))
    with pytest.raises(KeyError), StoreWriter(path, head) as writer:
        raise KeyError
    with pytest.raises(ValueError, match="all dense or all sparse, with 7 columns"), StoreWriter(path, head) as writer:
        writer.write(as_rows(X[:, :3]), np.arange(N))
    with pytest.raises(ValueError, match="needs its original number"), StoreWriter(path, head) as writer:
        writer.write(as_rows(X), np.arange(3))
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["rows.arrow"]


def test_two_writers_of_one_file(tmp_path):
    X, path = _data("dense"), tmp_path / "rows.arrow"
    head = StoreHeader(1, 9, D, "float32")
    with StoreWriter(path, head) as writer:
        with pytest.raises(ValueError, match="is being written by another run"), StoreWriter(path, head):
            pass
        writer.write(as_rows(X[:10]), np.arange(10))
    assert RowStore(path).n_rows == 10
