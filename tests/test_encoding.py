"""Encodings: what columns become, what is refused, and that a damaged encoding is never used."""

import copy
import json
import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from pairsift.data.csv_table import CsvTable
from pairsift.data.encoding import Column, Encoding, numbers_encoding
from pairsift.data.learn_encoding import TableOptions, learn_encoding
from pairsift.data.rows import CsrRows, DenseRows
from pairsift.data.tables import FrameTable


def _learn(frame, **options):
    return learn_encoding(FrameTable(frame), TableOptions("y", **options)).encoding


def _dense(rows):
    if isinstance(rows, DenseRows):
        return rows.values
    out = np.zeros((rows.n_rows, rows.n_features))
    for k in range(rows.n_rows):
        part = slice(rows.starts[k], rows.starts[k + 1])
        out[k, rows.columns[part]] = rows.values[part]
    return out


def _encode(encoding, frame):
    return _dense(encoding.encode(pa.RecordBatch.from_pandas(frame, preserve_index=False)))


FRAME = pd.DataFrame(
    {
        "age": [30, 40, 50, 60],
        "job": ["cook", "baker", "cook", "smith"],
        "rich": [True, False, False, True],
        "y": [0, 1, 0, 1],
    }
)


def test_numbers_stay_and_categories_are_one_hot_in_order():
    encoding = _learn(FRAME)
    assert encoding.feature_names == ["age", "job=baker", "job=cook", "job=smith", "rich"]
    assert [column.kind for column in encoding.columns] == ["number", "category", "bool"]
    expected = [[30, 0, 1, 0, 1], [40, 1, 0, 0, 0], [50, 0, 1, 0, 0], [60, 0, 0, 1, 1]]
    np.testing.assert_array_equal(_encode(encoding, FRAME), expected)


@pytest.mark.parametrize("n_categories", [2, 30])
def test_equals_pandas_get_dummies(n_categories):
    rng = np.random.default_rng(n_categories)
    frame = pd.DataFrame(
        {
            "a": rng.normal(size=300),
            "c": [f"v{k:02}" for k in rng.integers(0, n_categories, 300)],
            "b": np.where(rng.random(300) < 0.5, 0.0, rng.normal(size=300)),
            "y": rng.integers(0, 2, 300),
        }
    )
    encoding = _learn(frame)
    expected = pd.get_dummies(frame[["a", "c", "b"]], columns=["c"], dtype=float)
    expected = expected[["a", *[name for name in expected if name.startswith("c_")], "b"]]
    rows = encoding.encode(pa.RecordBatch.from_pandas(frame))
    assert isinstance(rows, CsrRows if n_categories == 30 else DenseRows)
    np.testing.assert_array_equal(_dense(rows), expected.to_numpy())
    if isinstance(rows, CsrRows):
        assert np.all(rows.values != 0)
        assert rows.columns.dtype == np.int32


def test_columns_by_name_others_ignored_unseen_categories_are_zeros():
    encoding = _learn(FRAME)
    other = pd.DataFrame({"new": [1], "rich": [1], "job": ["pilot"], "age": [33.5]})
    np.testing.assert_array_equal(_encode(encoding, other), [[33.5, 0, 0, 0, 1]])


def test_dictionary_columns_of_any_values_and_with_nulls():
    frame = pd.DataFrame({"c": pd.Categorical([3, 1, None, 3], categories=[1, 2, 3]), "y": [0, 1, 1, 0]})
    encoding = _learn(frame, impute="zero")
    assert encoding.feature_names == ["c=1", "c=3"]
    np.testing.assert_array_equal(_encode(encoding, frame), [[0, 1], [1, 0], [0, 0], [0, 1]])
    null_inside = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, 1]), pa.array(["1", None, "3"]))
    batch = pa.RecordBatch.from_arrays([null_inside], names=["c"])
    np.testing.assert_array_equal(_dense(encoding.encode(batch)), [[1, 0], [0, 0], [0, 1], [0, 0]])


def test_numbers_can_be_declared_categories():
    frame = pd.DataFrame({"zip": [10115, 80331, 10115], "y": [0, 1, 1]})
    assert _learn(frame, categorical=["zip"]).feature_names == ["zip=10115", "zip=80331"]


@pytest.mark.parametrize(("dtypes", "expected"), [("ff", "float32"), ("fd", "float64"), ("fl", "float64")])
def test_float32_only_when_all_numbers_are(dtypes, expected):
    frame = pd.DataFrame({k: np.arange(3).astype(t) for k, t in zip("ab", dtypes, strict=True)} | {"y": [0, 1, 1]})
    encoding = _learn(frame)
    assert encoding.dtype == expected
    assert encoding.encode(pa.RecordBatch.from_pandas(frame)).values.dtype == expected


MISSING = pd.DataFrame(
    {"a": [1.0, np.nan, 4.0, 10.0], "c": ["u", "v", None, "v"], "b": [None, True, True, False], "y": [0, 1, 0, 1]}
)


def test_missing_values_are_refused_by_name_and_count():
    message = r"missing values in 3 columns: 'a' \(1 row\), 'c' \(1 row\), 'b' \(1 row\)\. Fill them with --impute"
    with pytest.raises(ValueError, match=message):
        _learn(MISSING)
    complete = MISSING.assign(a=1.0, c="u", b=True)
    encoding = _learn(complete)
    with pytest.raises(ValueError, match=r"rows 0 to 3: missing values in 3 columns"):
        _encode(encoding, MISSING)


@pytest.mark.parametrize(
    ("impute", "a", "c", "b"), [("mean", 5.0, [0, 1], 2 / 3), ("median", 4.0, [0, 1], 1.0), ("zero", 0.0, [0, 0], 0.0)]
)
def test_imputation(impute, a, c, b):
    encoding = _learn(MISSING, impute=impute)
    rows = _encode(encoding, MISSING)
    assert rows[1, 0] == a
    np.testing.assert_array_equal(rows[2, 1:3], c)
    assert rows[0, 3] == b
    # Later, the values of the training table are used, also for columns that had all values then.
    later = Encoding.from_json(json.loads(json.dumps(encoding.to_json())))
    alone = pd.DataFrame({"a": [np.nan], "c": pd.array([None], dtype="str"), "b": pd.array([None], dtype="boolean")})
    np.testing.assert_array_equal(_encode(later, alone), [[a, *c, b]])


def test_the_median_of_many_values_is_of_evenly_spaced_ones(monkeypatch):
    monkeypatch.setattr("pairsift.data.learn_encoding.MEDIAN_VALUES", 1)  # keeps 1000 a column
    values = np.random.default_rng(0).normal(size=100_003)
    values[::10] = np.nan
    frame = pd.DataFrame({"a": values, "y": np.arange(100_003) % 2})
    present = values[~np.isnan(values)]
    assert _learn(frame, impute="median").columns[0].fill == np.median(present[::128])  # 90,002 / 128 <= 1000


def test_too_many_categories():
    frame = pd.DataFrame({"id": [f"n{k}" for k in range(1001)], "y": np.arange(1001) % 2})
    with pytest.raises(
        ValueError, match=r"column 'id' has 1,001 different values, more than the 1,000 allowed\. .*--drop id"
    ):
        _learn(frame)
    assert _learn(frame, max_categories=1001).n_features == 1001
    huge = pd.DataFrame({"id": [f"n{k}" for k in range(300_000)], "y": np.arange(300_000) % 2})
    with pytest.raises(ValueError, match=r"at least [\d,]+ different values"):
        _learn(huge)


def _nearly_numbers(n_numbers, others, different=40):
    """A column of text: first numbers, then what is none."""
    values = [str(18 + k % different) for k in range(n_numbers)] + list(others)
    return pd.DataFrame({"age": values, "y": np.arange(len(values)) % 2})


@pytest.mark.parametrize("bad", ["4o", "?", "-", "unknown", "12.3.4", "inf", "1,5", ""])
def test_a_value_that_is_no_number_is_named_and_not_a_category(bad):
    message = (
        rf"column 'age' holds numbers in 99 rows, but not in 1 row: {re.escape(repr(bad))} in row 100 of the data, "
        r"counted from 1\. Correct such a value, leave the field empty .*: --categorical age\."
    )
    frame = _nearly_numbers(99, [bad])
    with pytest.raises(ValueError, match=message):
        _learn(frame)
    assert len(_learn(frame, categorical=["age"]).columns[0].categories) == 41


def test_of_several_values_that_are_no_numbers_the_first_row_is_told():
    frame = _nearly_numbers(99, ["?", "4o", None, "?"])
    frame = frame.iloc[np.roll(np.arange(len(frame)), 1)]  # the last row becomes the first
    with pytest.raises(ValueError, match=r"99 rows, but not in 3 rows: '\?' in row 1 of"):
        _learn(frame)


@pytest.mark.parametrize(
    ("n_numbers", "others", "different"),
    [
        (99, ["3+"], 20),  # few numbers: classes with names
        (94, ["cook"] * 6, 40),  # more than 5 % are no numbers
        (100, [], 40),  # numbers that the table has as text
        (100, [None], 40),
    ],
)
def test_categories_that_are_called_by_numbers_stay_categories(n_numbers, others, different):
    encoding = _learn(_nearly_numbers(n_numbers, others, different), impute="zero")
    assert encoding.columns[0].kind == "category"


def test_at_the_edges_of_the_rule_for_nearly_numbers():
    for frame in (_nearly_numbers(95, ["cook"] * 5), _nearly_numbers(99, ["3+"], 21)):
        with pytest.raises(ValueError, match="--categorical age"):
            _learn(frame)


def test_a_slip_far_down_a_csv_file_is_found(tmp_path):
    """The first blocks are read as numbers, and the file once more as text when the slip is met."""
    lines = [f"{k / 8},{k % 2}" for k in range(300_000)]
    lines[250_000] = "12.3.4,1"
    (tmp_path / "t.csv").write_text("\n".join(["amount,y", *lines]) + "\n")
    with pytest.raises(ValueError, match=r"299,999 rows, but not in 1 row: '12\.3\.4' in row 250,001 of"):
        learn_encoding(CsvTable(tmp_path / "t.csv"), TableOptions("y"))


def test_a_dictionary_of_texts_is_categories_as_it_says():
    frame = _nearly_numbers(99, ["other"])
    assert _learn(frame.assign(age=frame["age"].astype("category"))).columns[0].kind == "category"


@pytest.mark.parametrize("most", [10, 1000])
def test_a_value_that_is_no_number_is_found_where_there_are_too_many_categories(most):
    """Counting ends at 100 times the most categories; the last row is looked at all the same."""
    frame = _nearly_numbers(70_000, ["12.3.4"], different=70_000)
    with pytest.raises(ValueError, match=r"but not in 1 row: '12\.3\.4' in row 70,001 of"):
        _learn(frame, max_categories=most)
    ids = _nearly_numbers(70_000, [], different=70_000)
    with pytest.raises(ValueError, match=r"(at least )?[\d,]+ different values, more than .*--drop age"):
        _learn(ids, max_categories=most)


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (pd.to_datetime(["2026-01-01"] * 2), r"column .x. is of type timestamp.*--drop x"),
        ([[1], [2]], r"column 'x' is of type list"),
        ([np.inf, 1.0], r"infinite values in 1 column: 'x' \(1 row\)"),
        ([b"a", b"b"], r"column 'x' is of type binary"),
    ],
)
def test_columns_that_cannot_be_features(column, message):
    with pytest.raises(ValueError, match=message):
        _learn(pd.DataFrame({"x": column, "y": [0, 1]}))


def test_the_advice_can_be_pasted_into_a_shell():
    frame = pd.DataFrame({"customer id": [f"C{i}" for i in range(12)], "y": [0, 1] * 6})
    with pytest.raises(ValueError, match=r"--drop 'customer id', or allow"):
        _learn(frame, max_categories=10)


def test_columns_without_any_value():
    frame = pd.DataFrame({"x": [np.nan, np.nan], "z": [1, 2], "y": [0, 1]})
    with pytest.raises(ValueError, match=r"column 'x' has no value in any row; leave it out with --drop x"):
        _learn(frame, impute="mean")
    assert _learn(frame, impute="zero").columns[0].fill == 0


def test_columns_that_changed_since_training():
    encoding = _learn(FRAME)
    with pytest.raises(ValueError, match=r"2 columns that the model was trained on are missing: 'job', 'rich'\. The"):
        _encode(encoding, FRAME[["age"]])
    with pytest.raises(ValueError, match=r"column 'age' must hold numbers, as in the training table; got .*string"):
        _encode(encoding, FRAME.assign(age=["x"] * 4))
    with pytest.raises(ValueError, match=r"column 'job' must hold text or numbers"):
        _encode(encoding, FRAME.assign(job=pd.to_datetime(["2026-01-01"] * 4)))
    with pytest.raises(ValueError, match=r"infinite values in 1 column: 'age'"):
        _encode(encoding, FRAME.assign(age=np.inf))


def test_json_round_trip():
    for encoding in (_learn(FRAME), _learn(MISSING, impute="mean"), numbers_encoding(["a", "b"])):
        assert Encoding.from_json(json.loads(json.dumps(encoding.to_json()))) == encoding


def _set(path, value):
    def change(content):
        *way, last = path
        for step in way:
            content = content[step]
        content[last] = value

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_set(["format"], 2), "its format must be 1, got 2"),
        (_set(["columns"], []), "must have columns"),
        (_set(["columns"], "abc"), "must have columns"),
        (_set(["columns", 0], 3), "must have a name"),
        (_set(["columns", 0, "name"], 3), "must have a name"),
        (_set(["columns", 0, "kind"], "eval"), "a number, a bool or a category"),
        (_set(["columns", 0, "categories"], ["x"]), "only categories have values"),
        (_set(["columns", 0, "fill"], "x"), "filled with a number"),
        (_set(["columns", 0, "fill"], float("nan")), "filled with a number"),
        (_set(["columns", 0, "fill"], 10**400), "filled with a number"),
        (_set(["columns", 0, "fill"], None), "filled with a number"),
        (_set(["columns", 1, "fill"], "pilot"), "must be known"),
        (_set(["columns", 1, "fill"], ["u"]), "must be known"),
        (_set(["columns", 1, "categories"], ["u", "u"]), "be different"),
        (_set(["columns", 1, "categories"], []), "be there"),
        (_set(["columns", 1, "categories"], ["u", 2]), "must be texts"),
        (_set(["columns", 1, "categories"], {"u": 1}), "must be texts"),
        (_set(["columns", 1, "name"], "a"), "a column occurs twice"),
        (_set(["dtype"], "object"), "dtype must be"),
        (_set(["dtype"], ["float64"]), "dtype must be"),
        (_set(["impute"], "guess"), "imputation is unknown"),
        (_set(["impute"], []), "imputation is unknown"),
        (_set(["impute"], None), "filled with a number"),
        (_set(["label"], 3), "label column must be text"),
    ],
)
def test_damaged_encodings_are_refused(change, message):
    content = copy.deepcopy(_learn(MISSING, impute="mean").to_json())
    change(content)
    with pytest.raises(ValueError, match=f"The encoding is damaged: .*{message}"):
        Encoding.from_json(content)


@pytest.mark.parametrize("content", [None, 3, [], "x", {}])
def test_what_is_no_encoding_is_refused(content):
    with pytest.raises(ValueError, match="The encoding is damaged"):
        Encoding.from_json(content)


def test_many_columns_are_refused_briefly():
    encoding = Encoding(tuple(Column(f"c{k}", "number") for k in range(100)))
    with pytest.raises(ValueError, match=r"100 columns .* missing: 'c0', .*'c9', \.+ The table has 'z'\."):
        encoding.check_columns(["z"], "t")
