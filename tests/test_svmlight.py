"""The svmlight reader against scikit-learn's, and every rule and error of its own."""

import bz2
import gzip
import io
import lzma
import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from pairsift import _core
from pairsift.data import compressed, svmlight
from pairsift.data.svmlight import (
    SvmlightError,
    iterate_svmlight,
    read_svmlight,
    read_svmlight_rows,
    scan_svmlight,
)

ROOT = Path(__file__).resolve().parent.parent


def read(text, **options):
    return read_svmlight(io.BytesIO(text), **options)


def assert_same(ours, theirs):
    (X, y), (X_their, y_their) = ours[:2], theirs[:2]
    assert X.shape == X_their.shape
    np.testing.assert_array_equal(X.indptr, X_their.indptr)
    np.testing.assert_array_equal(X.indices, X_their.indices)
    assert X.data.tobytes() == X_their.data.tobytes()
    assert y.tobytes() == y_their.tobytes()


# Equality with another reader


@pytest.mark.parametrize(
    "name", ["a9a", "bank", "MQ2008", "letter", "shuttle", pytest.param("mnist", marks=pytest.mark.slow)]
)
def test_paper_sets_equal_sklearn(name, tmp_path):
    folder = os.environ.get("PAIRSIFT_DATA")
    path = Path(folder or "", name, f"{name}.train.svm.xz")
    if not folder or not path.exists():
        pytest.skip("PAIRSIFT_DATA is not set, or the set is not there")
    text = tmp_path / "rows.svm"
    with lzma.open(path) as source, text.open("wb") as target:
        shutil.copyfileobj(source, target)
    assert_same(read_svmlight(path), load_svmlight_file(str(text)))


numbers = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.integers(-(10**25), 10**25).map(str),
    st.decimals(allow_nan=False, allow_infinity=False, places=6, min_value=-1000, max_value=1000).map(str),
    st.sampled_from(["+1", "-.5", "5.", "1e-999", "-1e-999", "0e999", "+.5E+1", "1E5", "-0", "4.9e-324", "0.10"]),
)
features = st.lists(st.tuples(st.integers(0, 10**6), numbers), max_size=8, unique_by=lambda f: f[0]).map(sorted)
lines = st.tuples(numbers, features, st.sampled_from(["", " # note", "#7:8", " "])).map(
    lambda t: t[0] + "".join(f" {index}:{value}" for index, value in t[1]) + t[2]
)


@settings(max_examples=200, deadline=None)
@given(rows=st.lists(lines, min_size=1, max_size=20), end=st.sampled_from(["\n", "\r\n"]), final=st.booleans())
def test_random_files_equal_sklearn(rows, end, final):
    text = (end.join(rows) + (end if final else "")).encode()
    theirs = load_svmlight_file(io.BytesIO(text), zero_based=True, n_features=10**6 + 1)
    assert_same(read(text, zero_based=True, n_features=10**6 + 1), theirs)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dtype(dtype):
    X, y = read(b"0.1 1:0.1 3:1e-3\n", dtype=dtype)
    assert X.dtype == dtype
    assert y.dtype == np.float64
    np.testing.assert_array_equal(X.data, np.array([0.1, 1e-3]).astype(dtype))


def test_every_double_survives_a_round_trip():
    values = np.random.default_rng(0).integers(0, 2**63, 20000).view(np.float64)
    values = values[np.isfinite(values)]
    text = "1 " + " ".join(f"{k + 1}:{v!r}" for k, v in enumerate(values.tolist())) + "\n"
    assert read(text.encode())[0].data.tobytes() == values.tobytes()


# Rules


@pytest.mark.parametrize(
    ("text", "zero_based", "columns", "width"),
    [
        (b"1 1:1 3:1\n", "auto", [0, 2], 3),
        (b"1 1:1\n0 0:1\n", "auto", [1, 0], 2),
        (b"1 1:1 3:1\n", True, [1, 3], 4),
        (b"1 1:1 3:1\n", False, [0, 2], 3),
    ],
)
def test_zero_or_one_based(text, zero_based, columns, width):
    X, _ = read(text, zero_based=zero_based)
    assert X.indices.tolist() == columns
    assert X.shape[1] == width


def test_blank_lines_comments_and_rows_without_features():
    X, y = read(b"\n# head\n+1\t1:1 # tail 9:9\r\n  \n-1\n0 2:.5#x\n#")
    assert y.tolist() == [1, -1, 0]
    assert X.toarray().tolist() == [[1, 0], [0, 0], [0, 0.5]]


def test_byte_order_mark_is_skipped():
    assert read(b"\xef\xbb\xbf1 1:2\n")[0].toarray().tolist() == [[2]]


def test_qid_is_returned(tmp_path):
    X, _, qid = read(b"2 qid:10 1:1\n0 qid:7 # none\n", return_qid=True)
    assert qid.dtype == np.int64
    assert qid.tolist() == [10, 7]
    assert X.shape == (2, 1)
    assert read(b"1 1:1\n", return_qid=True)[2] is None
    path = tmp_path / "q.svm"
    random = np.random.default_rng(1)
    dump_svmlight_file(random.normal(size=(50, 4)), random.integers(0, 3, 50), str(path), query_id=np.arange(50) // 5)
    theirs = load_svmlight_file(str(path), query_id=True)
    ours = read_svmlight(path, return_qid=True)
    assert_same(ours, theirs)
    np.testing.assert_array_equal(ours[2], theirs[2])


def test_n_features_widens():
    assert read(b"1 1:1\n", n_features=9)[0].shape == (1, 9)
    assert read(b"1\n", n_features=9)[0].shape == (1, 9)


@pytest.mark.parametrize(
    ("text", "dtype", "width"),
    [
        (b"1 2147483647:1\n", np.int32, 2**31 - 1),
        (b"1 5:2\n1 2147483648:1\n", np.int64, 2**31),
        (b"1 9223372036854775806:1\n", np.int64, 2**63 - 2),
        (b"1 0:1 9223372036854775806:1\n", np.int64, 2**63 - 1),
    ],
)
def test_wide_indices_without_wide_memory(text, dtype, width):
    rows, _, _ = read_svmlight_rows(io.BytesIO(text))
    assert rows.columns.dtype == rows.starts.dtype == dtype
    assert rows.n_features == width
    assert rows.columns[-1] == width - 1


# Faults: file, line, column, reason

ASCENDING = "indices must be strictly ascending within a line, but"
FAULTS = [
    (b"", None, None, "holds no rows"),
    (b"\n# nothing\n", None, None, "holds no rows"),
    (b"qid:1", 1, 1, "the label is not a number; got 'qid:1'"),
    (b"1 1:1\nx 1:1\n", 2, 1, "the label is not a number; got 'x'"),
    (b"1,2 1:1\n", 1, 2, "the label must be one number"),
    (b"1 1:1\n\n1 2:1 1:1\n", 3, 7, f"{ASCENDING} 1 follows 2"),
    (b"1 1:1 1:2\n", 1, 7, f"{ASCENDING} 1 follows 1"),
    (b"1 -1:1\n", 1, 3, "the index is negative"),
    (b"1 1:1 9223372036854775807:1\n", 1, 7, r"beyond 2\^63 - 2"),
    (b"1 99999999999999999999:1\n", 1, 3, r"beyond 2\^63 - 2"),
    (b"1 1:nan\n", 1, 5, "the value is not a finite number; got 'nan'"),
    (b"1 1:-inf\n", 1, 5, "the value is not a finite number; got '-inf'"),
    (b"inf 1:1\n", 1, 1, "the label is not a finite number"),
    (b"1 1:1e999\n", 1, 5, "the value is too large for a 64-bit float; got '1e999'"),
    (b"-1e999\n", 1, 1, "the label is too large"),
    (b"1 1:1.5x\n", 1, 8, "the value must be one number"),
    (b"1 1:0x10\n", 1, 6, "the value must be one number"),
    (b"1 1:1_0\n", 1, 6, "the value must be one number"),
    (b"1 1:1:1\n", 1, 6, "the value must be one number"),
    (b"1 1:\n", 1, 5, "the value is not a number"),
    (b"1 1:+-1\n", 1, 5, "the value is not a number"),
    (b"1 1:1e\n", 1, 6, "the value must be one number"),
    (b"1 5\n", 1, 3, "a feature must be written index:value; got '5'"),
    (b"1 a:1\n", 1, 3, "the index a whole number; got 'a:1'"),
    (b"1 1 :1\n", 1, 3, "a feature must be written index:value"),
    (b"1 1:1 qid:2\n", 1, 7, "qid: must come once, right after the label"),
    (b"1 qid:x 1:1\n", 1, 3, "qid: must be followed by a whole number"),
    (b"1 qid:1 1:1\n1 1:1\n", 2, 3, "no qid here, but one on the rows before"),
    (b"1 1:1\n1 qid:1 1:1\n", 2, 3, "a qid here, but none on the rows before"),
    (b"1 1:1\x00\n", 1, 6, r"the value must be one number, followed by a blank; got '\\x00'"),
    (b"\x00\n", 1, 1, r"the label is not a number; got '\\x00'"),
    (b"1 1:1 \r2 1:1\r", 1, 7, "a carriage return that does not end the line"),
    (b"\xff\xfe1\x00", 1, 1, r"the label is not a number; got '\\xff\\xfe1\\x00'"),
]


@pytest.mark.parametrize(("text", "line", "column", "reason"), FAULTS)
def test_faults_name_place_and_reason(text, line, column, reason, tmp_path):
    path = tmp_path / "bad.svm"
    path.write_bytes(text)
    place = "" if line is None else f", line {line}, column {column}"
    with pytest.raises(SvmlightError, match=f"bad.svm{place}: .*{reason}") as caught:
        read_svmlight(path)
    assert (caught.value.line, caught.value.column) == (line, column)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize(
    ("text", "options", "reason"),
    [
        (b"1 1:1\n1 0:1\n", {"zero_based": False}, r"line 2, column 3: index 0, but the text was said to count from 1"),
        (b"1 4:1\n", {"n_features": 3}, r"line 1, column 3: the index is beyond n_features=3; got '4:1'"),
        (b"1 3:1\n", {"n_features": 3, "zero_based": True}, "beyond n_features=3"),
        (
            b"1 1:1 3:1\n1 0:1\n",
            {"n_features": 3},
            r"line 1, column 7: the index 3 is beyond n_features=3.*index 0 occurs",
        ),
        (b"1 1:1e39\n", {"dtype": np.float32}, "line 1, column 5: the value is too large for the dtype"),
    ],
)
def test_faults_of_options(text, options, reason):
    with pytest.raises(SvmlightError, match=reason):
        read(text, **options)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"n_features": 0}, "n_features must be a positive integer"),
        ({"n_features": 2.5}, "n_features must be a positive integer"),
        ({"zero_based": "yes"}, "zero_based must be True, False or 'auto'; got 'yes'"),
        ({"dtype": np.int32}, "dtype must be float64 or float32; got int32"),
        ({"threads": 0}, "threads must be an integer from 1"),
    ],
)
def test_wrong_options(options, reason):
    with pytest.raises(ValueError, match=reason):
        read(b"1 1:1\n", **options)


def test_a_missing_file_is_an_oserror(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_svmlight(tmp_path / "none.svm")


def test_error_survives_pickling():
    error = pickle.loads(pickle.dumps(SvmlightError("f", 3, 4, "why")))
    assert (str(error), error.line) == ("f, line 3, column 4: why", 3)


# Blocks and threads


def big_text(n=3000, seed=0):
    random = np.random.default_rng(seed)
    rows = []
    for k in range(n):
        columns = np.flatnonzero(random.random(30) < 0.3) + 1
        rows.append(f"{k % 3} qid:{k // 9} " + " ".join(f"{c}:{random.normal():.6g}" for c in columns))
    return ("\n".join(rows)).encode()


@pytest.mark.parametrize("threads", [1, 2, 3, 7])
@pytest.mark.parametrize("block", [1, 50, 1000, 10**6])
def test_blocks_and_threads_do_not_matter(threads, block, monkeypatch):
    text = big_text(60 if block == 1 else 1000)
    expected = read(text, threads=1, return_qid=True)
    monkeypatch.setattr(svmlight, "BLOCK_BYTES", block)
    monkeypatch.setattr(svmlight, "PIECE_BYTES", 64)
    got = read(text, threads=threads, return_qid=True)
    assert_same(got, expected)
    np.testing.assert_array_equal(got[2], expected[2])
    for bad in (b"\n1 qid:1 1:x\n", b"\n1 1:1\n"):
        with pytest.raises(SvmlightError) as caught:
            read(text + bad + b"1 qid:2 y\n" * 50, threads=threads)
        assert caught.value.line == text.count(b"\n") + 2


def test_pieces_really_run_apart():
    parser = _core.SvmlightParserF64(0, 2**63 - 1, 1)
    text = np.frombuffer(big_text(100), dtype=np.uint8)
    assert parser.feed(text, True, 5) == len(text)
    assert parser.n_rows == 100


def test_iterating_equals_reading():
    text = big_text(500)
    blocks = list(iterate_svmlight(io.BytesIO(text), block_bytes=2000))
    X, y, qid = read(text, return_qid=True)
    assert len(blocks) > 5
    np.testing.assert_array_equal(np.concatenate([b.y for b in blocks]), y)
    np.testing.assert_array_equal(np.concatenate([b.qid for b in blocks]), qid)
    np.testing.assert_array_equal(np.concatenate([b.values for b in blocks]), X.data)
    np.testing.assert_array_equal(np.concatenate([b.indices for b in blocks]) - 1, X.indices)
    assert scan_svmlight(io.BytesIO(text)) == (500, X.nnz, X.shape[1], False, True)


def test_a_long_line():
    n = 400_000
    text = b"1 " + b" ".join(b"%d:1" % k for k in range(1, n + 1))
    X, _ = read(text + b"\n0 1:5\n")
    assert (X.shape, X.nnz) == ((2, n), n + 1)
    with pytest.raises(SvmlightError, match=f"line 1, column {len(text) + 2}: .* but 7 follows {n}"):
        read(text + b" 7:1\n")


# Compressed files


def zstd(data):
    pyarrow = pytest.importorskip("pyarrow")
    return pyarrow.compress(data, codec="zstd", asbytes=True)


@pytest.mark.parametrize(
    ("ending", "pack"), [("gz", gzip.compress), ("bz2", bz2.compress), ("xz", lzma.compress), ("zst", zstd)]
)
def test_compressed(ending, pack, tmp_path):
    text = big_text(200)
    path = tmp_path / f"rows.svm.{ending}"
    path.write_bytes(pack(text))
    assert_same(read_svmlight(path), read(text))
    path.write_bytes(pack(text)[:-30])
    with pytest.raises(SvmlightError, match=f"rows.svm.{ending}: .*cut off or damaged"):
        read_svmlight(path)
    path.write_bytes(b"not compressed at all")
    with pytest.raises(SvmlightError, match="cut off or damaged"):
        read_svmlight(path)


def test_zst_without_a_library_names_one(tmp_path, monkeypatch):
    def refuse(name):
        raise ImportError(name)

    monkeypatch.setattr(compressed.importlib, "import_module", refuse)
    with pytest.raises(ValueError, match=r"pip install 'pairsift\[arrow\]'"):
        read_svmlight(tmp_path / "rows.svm.zst")


def test_lower_level_imports_neither_scipy_nor_sklearn(tmp_path):
    path = tmp_path / "rows.svm.gz"
    path.write_bytes(gzip.compress(b"1 1:1\n"))
    code = (
        "import sys; from pairsift.data.svmlight import read_svmlight_rows as r; r(sys.argv[1]);"
        "sys.exit(any(m in sys.modules for m in ('scipy', 'sklearn', 'pyarrow')))"
    )
    assert subprocess.run([sys.executable, "-c", code, str(path)], stdout=subprocess.DEVNULL).returncode == 0


def test_scikit_learn_takes_the_result():
    from sklearn.linear_model import LogisticRegression

    X, y = read(b"1 1:1 2:3\n0 2:1\n1 1:2\n0 3:1\n")
    assert LogisticRegression().fit(X, y).score(X, y) == 1


# Fuzzing: a short run of tools/fuzz_svmlight.py (the full one is a million inputs)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which(os.environ.get("CXX", "g++")) is None, reason="needs a C++ compiler with sanitizers")
def test_short_fuzzing_run():
    command = [sys.executable, str(ROOT / "tools" / "fuzz_svmlight.py"), "--inputs=20000", "--numbers=50000"]
    result = subprocess.run(
        [*command, "--guided=20000", "--seconds=15", "--line-bytes=5000000", "--flips=50"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr[-2000:]
    assert "20000 mutated inputs" in result.stdout
