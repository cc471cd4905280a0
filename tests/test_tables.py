"""Tables: CSV, Parquet, Arrow and frames give the same rows, in blocks; what is wrong is said by name."""

import bz2
import gzip
import io
import lzma
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import feather, parquet

from pairsift.data.block_rows import BlockRows
from pairsift.data.convert import convert
from pairsift.data.csv_table import CsvTable
from pairsift.data.learn_encoding import TableOptions
from pairsift.data.rows import CsrRows
from pairsift.data.table_blocks import TableBlocks
from pairsift.data.tables import ArrowTable, FrameTable, ParquetTable, rows_for


def make_frame(n=1000, n_categories=3, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "number": rng.normal(size=n),
            "count": rng.integers(-5, 100, n),
            "flag": rng.random(n) < 0.3,
            "city": [f"stadt ä,{k}" for k in rng.integers(0, n_categories, n)],
            "kind": pd.Categorical(rng.choice(["x", "y"], n)),
            "weight": rng.integers(1, 4, n) * 0.5,
            "outcome": rng.choice(["good", "bad"], n, p=[0.2, 0.8]),
        }
    )
    frame.loc[3, "number"] = np.nan
    frame.loc[4, "city"] = None
    return frame


def _write_stream(frame, path):
    table = pa.Table.from_pandas(frame)
    with pa.ipc.new_stream(str(path), table.schema) as sink:
        sink.write_table(table, max_chunksize=77)


def _csv(frame, path):
    frame.to_csv(path, index=False)
    return CsvTable(path)


def _gz(frame, path):
    with gzip.open(f"{path}.gz", "wt") as file:
        frame.to_csv(file, index=False)
    return CsvTable(f"{path}.gz")


def _tsv(frame, path):
    frame.to_csv(path, index=False, sep="\t")
    return CsvTable(path, delimiter="\t")


def _parquet(frame, path):
    frame.to_parquet(path, row_group_size=99)
    return ParquetTable(path)


def _feather(frame, path):
    feather.write_feather(frame, str(path), chunksize=123, compression="zstd")
    return ArrowTable(path)


def _stream(frame, path):
    _write_stream(frame, path)
    return ArrowTable(path)


SOURCES = {
    "csv": _csv,
    "csv.gz": _gz,
    "tsv": _tsv,
    "parquet": _parquet,
    "feather": _feather,
    "arrow stream": _stream,
    "pandas": lambda frame, path: FrameTable(frame),
    "pandas with an index": lambda frame, path: FrameTable(frame.set_index(np.arange(len(frame)) + 7.5)),
    "polars": lambda frame, path: FrameTable(pl.from_pandas(frame)),
    "pyarrow": lambda frame, path: FrameTable(pa.Table.from_pandas(frame)),
    "chunked": lambda frame, path: FrameTable(
        pa.concat_tables([pa.Table.from_pandas(frame[a : a + 100]) for a in range(0, len(frame), 100)])
    ),
    "reader that is read once": lambda frame, path: FrameTable(pa.Table.from_pandas(frame).to_reader()),
    "parquet with pandas' index": lambda frame, path: _parquet(frame.set_index(np.arange(len(frame)) * 0.5), path),
}
OPTIONS = TableOptions("outcome", "good", weight="weight", impute="mean")


def _same_rows(a, b):
    assert type(a) is type(b)
    np.testing.assert_array_equal(a.values, b.values)
    if isinstance(a, CsrRows):
        np.testing.assert_array_equal(a.columns, b.columns)
        np.testing.assert_array_equal(a.starts, b.starts)


@pytest.mark.parametrize("n_categories", [3, 40])
@pytest.mark.parametrize("source", SOURCES)
def test_every_source_gives_the_same_blocks_twice(tmp_path, source, n_categories, monkeypatch):
    monkeypatch.setattr("pairsift.data.tables.BATCH_BYTES", 8 * 7 * 64)
    frame = make_frame(n_categories=n_categories)
    expected = TableBlocks(FrameTable(frame), OPTIONS)
    blocks = TableBlocks(SOURCES[source](frame, tmp_path / "table"), OPTIONS)
    assert blocks.encoding == expected.encoding
    assert blocks.labels == ("bad", "good")
    assert blocks.n_rows == 1000
    for _ in range(2):
        pairs = list(zip(blocks, expected, strict=True))
        assert len(pairs) == -(-1000 // rows_for(7)) > 5
        for found, wanted in pairs:
            _same_rows(found.rows, wanted.rows)
            np.testing.assert_array_equal(found.y, wanted.y)
            np.testing.assert_array_equal(found.weights, wanted.weights)
            assert found.first_row == wanted.first_row


@pytest.mark.parametrize("n_categories", [3, 40])
def test_blocks_equal_the_whole(n_categories, monkeypatch):
    frame = make_frame(n_categories=n_categories).dropna().reset_index(drop=True)
    options = TableOptions("outcome", "good", weight="weight")
    (whole,) = TableBlocks(FrameTable(frame), options)
    monkeypatch.setattr("pairsift.data.tables.BATCH_ROWS", 37)
    blocks = TableBlocks(FrameTable(frame), options)
    assert len(list(blocks)) == -(-len(frame) // 37)
    rows = BlockRows(blocks)
    _same_rows(rows.take(np.arange(len(frame))), whole.rows)
    np.testing.assert_array_equal(np.concatenate([block.y for block in blocks]), frame["outcome"])


def test_values_are_those_of_the_frame():
    frame = make_frame().dropna()
    (block,) = TableBlocks(FrameTable(frame), TableOptions("outcome", "bad", drop=["weight", "city"]))
    expected = frame[["number", "count", "flag"]].astype(float).assign(x=frame["kind"] == "x", y=frame["kind"] == "y")
    np.testing.assert_array_equal(block.rows.values, expected.to_numpy(dtype=float))
    assert block.weights is None


def test_convert_keeps_the_encoding(tmp_path):
    blocks = TableBlocks(FrameTable(make_frame()), OPTIONS)
    store = convert(blocks, tmp_path / "rows.arrow", positive="good", extra={"encoding": blocks.encoding.to_json()})
    assert store.labels.tolist() == ["bad", "good"]
    assert store.header.extra["encoding"] == blocks.encoding.to_json()
    original = store.original_between(0, 1000)
    (whole,) = blocks
    _same_rows(store.between(0, 1000), whole.rows.take(original))
    np.testing.assert_array_equal(store.labels_between(0, 1000), whole.y[original])


@pytest.mark.parametrize(
    ("y", "positive", "labels"),
    [
        ([0, 1, 1], None, (0, 1)),
        ([-1.0, 1.0, 1.0], None, (-1, 1)),
        ([False, True, True], None, (False, True)),
        ([1, 2, 2], "1", (2, 1)),
        ([1, 2, 2], 2, (1, 2)),
        ([0.5, 2, 2], "2.0", (0.5, 2)),
        ([False, True, True], "false", (True, False)),
        (["b", "a", "a"], "a", ("b", "a")),
        # Without a word: the affirmative of a known pair, else the rarer one, else the larger one.
        (["no", "yes", "yes"], None, ("no", "yes")),
        (["Y", "N", "Y"], None, ("N", "Y")),
        ([1, 2, 2], None, (2, 1)),
        (["a", "b", "a"], None, ("a", "b")),
        (["b", "a", "b"], None, ("b", "a")),
        (pd.Categorical(["b", "a", "a"], categories=["a", "b", "never"]), "b", ("a", "b")),
    ],
)
def test_labels(y, positive, labels, tmp_path):
    frame = pd.DataFrame({"x": [1.0, 2, 3], "y": y})
    for table in (FrameTable(frame), _csv(frame, tmp_path / "t.csv")):
        blocks = TableBlocks(table, TableOptions("y", positive))
        assert blocks.labels == labels
        assert [type(label) for label in blocks.labels] == [type(label) for label in labels]
        (block,) = blocks
        assert block.y.tolist() == np.array(y).tolist()


@pytest.mark.parametrize(("y", "positive"), [([1, 2, 3], 1), ([1, 2, 3], "1"), (["2", "1", "7"], "1")])
def test_of_more_than_two_labels_all_but_one_are_negative(y, positive):
    blocks = TableBlocks(FrameTable(pd.DataFrame({"x": [1.0, 2, 3], "y": y})), TableOptions("y", positive))
    (block,) = blocks
    assert block.y.tolist() == ["1" if str(label) == "1" else "(not 1)" for label in y]


@pytest.mark.parametrize(
    ("y", "options", "message"),
    [
        (["no", "yes", "yes"], {"positive": "maybe"}, r"'maybe' does not occur; the labels are 'no' \(1 row\), 'yes'"),
        ([1, 1, 1], {}, r"all 3 rows have one class, the label 1"),
        (
            [1, 2, 3],
            {},
            r"exactly two values; got 3: 1 \(1 row\), 2 \(1 row\), 3.*Say which one is positive",
        ),
        ([1, 2, 3], {"positive": 4}, r"4 does not occur; the labels are 1 \(1 row\), 2 \(1 row\), 3"),
        ([1, None, 0], {}, r"the label column 'y' is empty in 1 row"),
        (pd.to_datetime(["2026-01-01"] * 3), {}, r"label column 'y' is of type timestamp"),
        ([0, 1, 1], {"label": "target"}, r"no label column 'target'; the columns are 'x', 'y'\."),
        ([0, 1, 1], {"weight": "w"}, r"no weight column 'w'; the columns are 'x', 'y'\."),
        ([0, 1, 1], {"drop": ["z"]}, r"--drop names 'z', which is no column; the columns are 'x', 'y'"),
        ([0, 1, 1], {"categorical": ["z"]}, r"--categorical names 'z'"),
        ([0, 1, 1], {"drop": ["x"]}, r"no column is left to learn from"),
        ([0, 1, 1], {"drop": ["y"]}, r"label column 'y' cannot be dropped"),
        ([0, 1, 1], {"weight": "y"}, r"label column 'y' cannot be dropped, nor be the weight"),
        ([0, 1, 1], {"impute": "guess"}, r"impute must be mean, median, zero or None; got 'guess'"),
    ],
)
def test_bad_labels_and_options(y, options, message):
    frame = pd.DataFrame({"x": [1.0, 2, 3], "y": y})
    with pytest.raises(ValueError, match=message):
        TableBlocks(FrameTable(frame), TableOptions(**{"label": "y", **options}))


@pytest.mark.parametrize("weight", [-1.0, np.nan, np.inf])
def test_bad_weights(weight):
    frame = pd.DataFrame({"x": [1.0, 2], "y": [0, 1], "w": [1.0, weight]})
    with pytest.raises(ValueError, match=r"the weight column 'w' must be finite and not negative"):
        list(TableBlocks(FrameTable(frame), TableOptions("y", weight="w")))


def test_too_many_labels():
    frame = pd.DataFrame({"x": np.zeros(2000), "y": np.arange(2000)})
    with pytest.raises(ValueError, match=r"label column 'y' has more than 1000 different values.*right column"):
        TableBlocks(FrameTable(frame), TableOptions("y"))


def test_no_rows_and_no_frame():
    with pytest.raises(ValueError, match="the table has no rows"):
        TableBlocks(FrameTable(pd.DataFrame({"x": [1.0], "y": [1]})[:0]), TableOptions("y"))
    with pytest.raises(ValueError, match=r"Arrow interface .* got list"):
        FrameTable([1, 2])
    with pytest.raises(ValueError, match=r"one of its columns has no single type .*'x'|column x"):
        FrameTable(pd.DataFrame({"x": [1, "a", 2.5], "y": [0, 1, 1]}))
    with pytest.raises(ValueError, match=r"column names 'x' occur more than once"):
        FrameTable(pa.table([[1], [2]], names=["x", "x"]))


def _blocks(text, monkeypatch, tmp_path, **options):
    monkeypatch.setattr("pairsift.data.csv_table.BLOCK_BYTES", 100)
    path = tmp_path / "table.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return TableBlocks(CsvTable(path), TableOptions("y", **options))


@pytest.mark.parametrize(
    ("late", "names", "values"),
    [
        ("2.5", ["a"], [1, 2.5]),
        ("x", ["a=1", "a=x"], None),
        ("", None, None),
    ],
)
def test_csv_types_that_show_late(late, names, values, monkeypatch, tmp_path):
    text = "a,y\n" + "1,0\n" * 200 + f"{late},1\n"
    if names is None:
        with pytest.raises(ValueError, match=r"missing values in 1 column: 'a' \(1 row\)"):
            _blocks(text, monkeypatch, tmp_path)
        return
    blocks = _blocks(text, monkeypatch, tmp_path)
    assert blocks.encoding.feature_names == names
    (block,) = blocks
    assert block.rows.n_rows == 201
    if values:
        assert sorted(set(block.rows.values[:, 0].tolist())) == values


def test_csv_nothing_and_true_false_may_turn_into_something_else(monkeypatch, tmp_path):
    text = "n,b,y\n" + ",true,0\n" * 100 + "7,maybe,1\n"
    blocks = _blocks(text, monkeypatch, tmp_path, impute="mean")
    assert blocks.encoding.feature_names == ["n", "b=maybe", "b=true"]


def test_csv_dates_are_refused_unless_they_are_categories(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("d,y\n2026-01-01,0\n2026-01-02,1\n")
    with pytest.raises(ValueError, match=r"column 'd' is of type date32"):
        TableBlocks(CsvTable(path), TableOptions("y"))
    blocks = TableBlocks(CsvTable(path, types={"d": "text"}), TableOptions("y", categorical=["d"]))
    assert blocks.encoding.feature_names == ["d=2026-01-01", "d=2026-01-02"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "Empty CSV file"),
        ("a,y\n", "has no rows"),
        ("a,y\n1,0\n2,1,3\n", r"Expected 2 columns, got 3"),
        ("a;y\n1;0\n2;1\n", r"no label column 'y'; the columns are 'a;y'\. Only one column: is the delimiter right"),
        (b"a,y\nx,0\n\xff\xfe,1\n", r"is of type binary|UTF-8"),
        ("a,a,y\n1,2,0\n", r"column names 'a' occur more than once"),
        ("a,y\nb,0\n" + "x" * 3_000_000 + ",1\n", r"a row is longer than 1048576 bytes; is a closing quote missing"),
    ],
)
def test_bad_csv(text, message, tmp_path):
    path = tmp_path / "table.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ValueError, match=message) as error:
        TableBlocks(CsvTable(path), TableOptions("y"))
    assert "table.csv" in str(error.value)
    assert "\n" not in str(error.value)


def test_csv_quotes_commas_newlines_bom_and_crlf(tmp_path):
    path = tmp_path / "table.csv"
    path.write_bytes(b'\xef\xbb\xbfa,"b c",y\r\n1,"x, ""q""\nz",0\r\n2,w,1\r\n')
    blocks = TableBlocks(CsvTable(path), TableOptions("y"))
    assert blocks.encoding.feature_names == ["a", "b c=w", 'b c=x, "q"\nz']


@pytest.mark.parametrize("ending", ["gz", "bz2", "xz"])
def test_truncated_compressed_csv(tmp_path, ending):
    text = make_frame(5000).to_csv(index=False).encode()
    packed = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}[ending](text)
    path = tmp_path / f"table.csv.{ending}"
    path.write_bytes(packed)
    assert TableBlocks(CsvTable(path), OPTIONS).n_rows == 5000
    path.write_bytes(packed[: len(packed) // 2])
    with pytest.raises(ValueError, match=r"cut off or damaged"):
        TableBlocks(CsvTable(path), OPTIONS)


def test_csv_from_a_stream_is_read_once_with_given_types():
    stream = io.BytesIO(b"junk,a,c,y\n" + b"1,1,1,0\n" * 1000 + b"\xff,2.5,x,1\n")
    table = CsvTable(stream, types={"a": "number", "c": "text", "y": "number"})
    batches = list(table.batches(["c", "a", "y"]))
    assert sum(batch.num_rows for batch in batches) == 1001
    assert batches[-1].column("c")[-1].as_py() == "x"
    for good in (1, 10_000_000):
        with pytest.raises(ValueError, match=r"standard input: column 'a' must hold numbers.* invalid value 'x'"):
            list(CsvTable(io.BytesIO(b"a\n" + b"1\n" * good + b"x\n"), types={"a": "number"}).batches(["a"]))


@pytest.mark.parametrize("opened", [ParquetTable, ArrowTable])
def test_damaged_files(tmp_path, opened):
    frame = make_frame()
    path = tmp_path / "table"
    (frame.to_parquet if opened is ParquetTable else lambda p: feather.write_feather(frame, str(p)))(path)
    content = path.read_bytes()
    for wrong in (content[: len(content) // 2], b"", b"hello, world, this is text", content[:8]):
        path.write_bytes(wrong)
        with pytest.raises(ValueError, match=r"table: cannot be read as (Parquet|Arrow), or is damaged"):
            list(TableBlocks(opened(path), OPTIONS))


def test_flipped_bytes_never_crash(tmp_path):
    """Arrow files are mapped: a wrong offset must be found before it is followed."""
    script = """
import sys, numpy as np
from pairsift.data.tables import ArrowTable, ParquetTable
from pairsift.data.table_blocks import TableBlocks
from pairsift.data.learn_encoding import TableOptions
path, kind = sys.argv[1:]
content = bytearray(open(path, "rb").read())
rng, refused = np.random.default_rng(0), 0
for _ in range(150):
    changed = bytearray(content)
    for place in rng.integers(0, len(content), 8):
        changed[place] = rng.integers(0, 256)
    open(path, "wb").write(changed)
    try:
        table = (ArrowTable if kind == "arrow" else ParquetTable)(path)
        list(TableBlocks(table, TableOptions("outcome", "good", impute="zero")))
    except ValueError:
        refused += 1
print(refused)
"""
    frame = make_frame(300)
    for kind in ("arrow", "parquet"):
        path = tmp_path / kind
        (frame.to_parquet if kind == "parquet" else lambda p: feather.write_feather(frame, str(p), "uncompressed"))(
            path
        )
        done = subprocess.run([sys.executable, "-c", script, path, kind], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[-2000:]
        assert 0 < int(done.stdout.split()[-1]) <= 150


def test_only_the_needed_columns_of_parquet_are_read(tmp_path):
    table = pa.table({"x": [1.0, 2.0], "nested": [[1], [2]], "y": [0, 1]})
    parquet.write_table(table, tmp_path / "t.parquet")
    blocks = TableBlocks(ParquetTable(tmp_path / "t.parquet"), TableOptions("y", drop=["nested"]))
    assert blocks.encoding.feature_names == ["x"]


def test_without_pyarrow_one_line_says_what_to_install(tmp_path):
    script = (
        "import sys; sys.modules['pyarrow'] = None\n"
        "from pairsift.data.csv_table import CsvTable\n"
        "try: CsvTable(sys.argv[1])\n"
        "except ValueError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", script, "t.csv"], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == 'Reading tables needs pyarrow: pip install "pairsift[arrow]"'
