"""From a file of any format to training data, and from a model to the scores of a file of any format."""

import io
import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from pyarrow import feather
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

from pairsift.data.convert import convert
from pairsift.data.formats import data_format, is_row_store
from pairsift.data.rows import CsrRows
from pairsift.data.scoring import ScoringOptions, open_scoring_blocks
from pairsift.data.store import RowStore
from pairsift.data.training import DataOptions, open_convert_source, open_training_data
from pairsift.model import LinearModel, load_model, save_model, trained_model

N = 600


def _frame():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=N) * 3 + 1, "b": rng.integers(0, 5, N) * 1.0})
    frame["c"] = rng.choice(["u", "v", "w"], N)
    frame["y"] = np.where(frame["a"] + (frame["c"] == "v") + rng.normal(size=N) > 1, "yes", "no")
    frame["id"] = [f"r{k}" for k in range(N)]
    frame["w"] = rng.integers(0, 3, N) * 1.0
    return frame


FRAME = _frame()
TABLE = DataOptions(label="y", positive="yes", drop=("id", "w"))
X = np.column_stack([FRAME["a"], FRAME["b"], *(FRAME["c"] == k for k in "uvw")]).astype(float)
Y = (FRAME["y"] == "yes").to_numpy()


def write(path):
    """Write the data in the format of the ending and return options to read it."""
    name = path.name
    if ".csv" in name:
        FRAME.to_csv(path, index=False)
    elif name.endswith(".tsv"):
        FRAME.to_csv(path, index=False, sep="\t")
    elif name.endswith(".parquet"):
        FRAME.to_parquet(path)
    elif name.endswith(".feather"):
        feather.write_feather(FRAME, str(path))
    elif name == "store.arrow":
        FRAME.to_csv(path.with_name("t.csv"), index=False)
        with open_convert_source(path.with_name("t.csv"), TABLE) as source:
            convert(source.blocks, path, positive=source.positive, extra=source.extra)
        return DataOptions()
    elif name.endswith(".svm"):
        dump_svmlight_file(X, np.where(Y, 1, -1), str(path), zero_based=name == "zero.svm")
        return DataOptions()
    elif name == "x.npy":
        np.save(path, X)
        np.save(path.with_name("y.npy"), Y)
        return DataOptions(label=str(path.with_name("y.npy")))
    elif name == "dense.npz":
        np.savez(path, X=X, y=Y)
        return DataOptions()
    elif name == "sparse.npz":
        S = sparse.csr_array(X)
        np.savez(path, data=S.data, indices=S.indices, indptr=S.indptr, shape=S.shape, y=np.where(Y, "p", "n"))
        return DataOptions(positive="p")
    elif name == "scipy.npz":
        sparse.save_npz(path, sparse.csr_array(X))
        np.save(path.with_name("y.npy"), np.where(Y, 1, 2))
        return DataOptions(positive="1", label=str(path.with_name("y.npy")))
    return TABLE


TABLES = ["t.csv", "t.csv.gz", "t.tsv", "t.parquet", "t.feather"]
ARRAYS = ["one.svm", "zero.svm", "x.npy", "dense.npz", "sparse.npz", "scipy.npz"]


def _values(rows):
    rows = rows.take(np.arange(rows.n_rows))
    if isinstance(rows, CsrRows):
        return sparse.csr_array(
            (rows.values, rows.columns, rows.starts), shape=(rows.n_rows, rows.n_features)
        ).toarray()
    return rows.values


@pytest.mark.parametrize("name", [*TABLES, *ARRAYS])
def test_every_format_gives_the_same_problem(tmp_path, name):
    options = write(tmp_path / name)
    data = open_training_data(tmp_path / name, options)
    np.testing.assert_allclose(_values(data.problem.rows), X, rtol=1e-12 if name.endswith("svm") else 0)
    np.testing.assert_array_equal(data.problem.positives[:], np.flatnonzero(Y))
    assert len(data.labels) == 2
    if name in TABLES:
        assert data.feature_names == ["a", "b", "c=u", "c=v", "c=w"]
        assert data.labels.tolist() == ["no", "yes"]
    assert data.zero_based == {"one.svm": False, "zero.svm": True}.get(name)


def test_a_row_store_is_used_as_it_is(tmp_path):
    write(tmp_path / "store.arrow")
    data = open_training_data(tmp_path / "store.arrow")
    assert isinstance(data.problem.rows, RowStore)
    assert data.feature_names == ["a", "b", "c=u", "c=v", "c=w"]
    original = data.store.original_between(0, N)
    np.testing.assert_array_equal(_values(data.problem.rows), X[original])
    with pytest.raises(ValueError, match=r"positive label of this row store is 'yes'; to have 'no' positive"):
        open_training_data(tmp_path / "store.arrow", DataOptions(positive="no"))


def test_weights_count_and_rows_of_weight_zero_are_left_out(tmp_path):
    FRAME.to_csv(tmp_path / "t.csv", index=False)
    options = DataOptions(label="y", positive="yes", weight="w", drop=("id",))
    data = open_training_data(tmp_path / "t.csv", options, scale="standard")
    weights = FRAME["w"].to_numpy()
    np.testing.assert_array_equal(data.problem.positives[:], np.flatnonzero(Y & (weights > 0)))
    repeated = np.repeat(X, weights.astype(int), axis=0)
    np.testing.assert_allclose(data.scaling.factors, 1 / np.std(repeated, axis=0))
    np.testing.assert_allclose(data.scaling.shifts, np.mean(repeated, axis=0))


@pytest.mark.parametrize("scale", ["none", "unit", "standard", "max"])
@pytest.mark.parametrize("name", [*TABLES, *ARRAYS, "store.arrow"])
def test_a_saved_model_scores_every_raw_file_as_its_scaled_training_rows(tmp_path, name, scale):
    options = write(tmp_path / name)
    data = open_training_data(tmp_path / name, options, scale=scale)
    w, b = np.array([1.0, -2.0, 0.5, 0.25, 3.0]), 0.3
    save_model(trained_model(data, w, b, {"note": 1}), tmp_path / "m.safetensors")
    model = load_model(tmp_path / "m.safetensors")
    assert (model.scaling, model.encoding, model.zero_based) == (scale, data.encoding, data.zero_based)
    expected = data.problem.rows.scores_between(w, 0, N) + b
    with_labels = ScoringOptions(with_labels=True, label=options.label)
    blocks = list(open_scoring_blocks(tmp_path / name, model, with_labels))
    scores = np.concatenate([model.decision_function(block.rows) for block in blocks])
    np.testing.assert_allclose(scores, expected, rtol=1e-10, atol=1e-11)
    original = np.concatenate([block.original_rows for block in blocks])
    np.testing.assert_array_equal(np.concatenate([block.positive for block in blocks]), Y[original])
    if data.encoding is not None:
        for table in TABLES:
            write(tmp_path / table)
            (block,) = open_scoring_blocks(tmp_path / table, model)
            assert block.positive is None
            np.testing.assert_allclose(model.decision_function(block.rows)[original], expected, rtol=1e-10, atol=1e-11)
        np.testing.assert_array_equal(model.decision_function(FRAME), model.decision_function(block.rows))
        shuffled = FRAME[["w", "c", "b", "a"]]
        np.testing.assert_array_equal(model.decision_function(shuffled), model.decision_function(block.rows))
        assert model.predict(FRAME).tolist()[0] in ("no", "yes")
        assert model.score(FRAME, FRAME["y"]) == model.score(block.rows, FRAME["y"])


def _table_model(tmp_path, scale="none", frame=FRAME, options=TABLE):
    frame.to_csv(tmp_path / "train.csv", index=False)
    data = open_training_data(tmp_path / "train.csv", options, scale=scale)
    return trained_model(data, np.arange(data.problem.rows.n_features) + 1.0, 0.1, {})


def test_ids_weights_and_standard_input(tmp_path, monkeypatch):
    model = _table_model(tmp_path)
    options = ScoringOptions(ids="id", weight="w", with_labels=True)
    (from_file,) = open_scoring_blocks(tmp_path / "train.csv", model, options)
    assert from_file.ids == FRAME["id"].tolist()
    np.testing.assert_array_equal(from_file.weights, FRAME["w"])
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO((tmp_path / "train.csv").read_bytes())))
    (from_pipe,) = open_scoring_blocks("-", model, options)
    assert from_pipe.ids == from_file.ids
    np.testing.assert_array_equal(_values(from_pipe.rows), _values(from_file.rows))
    np.testing.assert_array_equal(from_pipe.positive, from_file.positive)


@pytest.mark.parametrize("name", ["one.svm", "t.csv"])
def test_training_from_standard_input(tmp_path, monkeypatch, name):
    options = write(tmp_path / name)
    expected = open_training_data(tmp_path / name, options)
    if name == "t.csv":
        options = DataOptions(**{**vars(options), "format": "csv"})
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO((tmp_path / name).read_bytes())))
    data = open_training_data("-", options)
    np.testing.assert_array_equal(_values(data.problem.rows), _values(expected.problem.rows))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO((tmp_path / name).read_bytes())))
    with open_convert_source("-", options) as source:
        store = convert(source.blocks, tmp_path / "rows.arrow", positive=source.positive, extra=source.extra)
    np.testing.assert_array_equal(_values(store), _values(expected.problem.rows)[store.original_between(0, N)])


@pytest.mark.parametrize("name", [*TABLES, *ARRAYS, "store.arrow"])
def test_every_format_converts(tmp_path, name):
    options = write(tmp_path / name)
    with open_convert_source(tmp_path / name, options) as source:
        store = convert(source.blocks, tmp_path / "rows.arrow", positive=source.positive, extra=source.extra)
    assert is_row_store(tmp_path / "rows.arrow")
    original = store.original_between(0, N)
    np.testing.assert_array_equal(store.positive_between(0, N), Y[original])
    np.testing.assert_allclose(_values(store), X[original], rtol=1e-12)


def test_svmlight_columns_beyond_the_model_are_ignored(tmp_path):
    (tmp_path / "train.svm").write_text("1 1:1 2:2\n-1 1:3\n")
    data = open_training_data(tmp_path / "train.svm")
    model = trained_model(data, np.array([1.0, 10.0]), 0.0, {})
    (tmp_path / "test.svm").write_text("1 1:1 2:1 7:5\n0 3:1\n-1 2:2\n")
    (block,) = open_scoring_blocks(tmp_path / "test.svm", model)
    assert model.decision_function(block.rows).tolist() == [11, 0, 20]
    with pytest.raises(ValueError, match=r"the label 0 occurs; the model knows the labels -1 and 1"):
        list(open_scoring_blocks(tmp_path / "test.svm", model, ScoringOptions(with_labels=True)))
    (tmp_path / "zero.svm").write_text("1 0:1\n")
    with pytest.raises(ValueError, match=r"index 0 occurs, but the training text counted from one"):
        list(open_scoring_blocks(tmp_path / "zero.svm", model))


@pytest.mark.parametrize(
    ("name", "given", "expected"),
    [
        ("a.svm", None, "svmlight"),
        ("a9a.t", None, "svmlight"),
        ("a9a", None, "svmlight"),
        ("mnist.scale.bz2", None, "svmlight"),
        ("A.CSV.GZ", None, "csv"),
        ("a.tsv", None, "tsv"),
        ("a.pq", None, "parquet"),
        ("a.feather", None, "arrow"),
        ("a.weird", "csv", "csv"),
        ("-", None, "svmlight"),
        ("-", "csv", "csv"),
    ],
)
def test_formats(name, given, expected):
    assert data_format(name, given) == expected


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        ("a.xlsx", None, r"files of the kind \.xlsx cannot be read"),
        ("a.pkl", None, r"\.pkl cannot be read"),
        ("a.json.gz", None, r"\.json cannot be read"),
        ("a.parquet.gz", None, r"decompress this one first"),
        ("a", "excel", r"format must be one of svmlight, .*; got 'excel'"),
        ("-", "parquet", r"Standard input can be svmlight, csv or tsv"),
    ],
)
def test_bad_formats(name, given, message):
    with pytest.raises(ValueError, match=message):
        data_format(name, given)


def _file(path, content):
    path.write_bytes(content) if isinstance(content, bytes) else np.savez(path, **content)
    return path


@pytest.mark.parametrize(
    ("name", "content", "options", "message"),
    [
        ("a.svm", b"", {}, "the file is empty"),
        ("a.csv", b"", {}, "the file is empty"),
        ("a.svm", b"1 1:1\n1 1:2\n", {}, "all 2 rows have one class, the label 1"),
        ("a.svm", b"1 1:1\n2 1:2\n3 1:1\n", {}, r"exactly two values; got 3: 1 \(1 row\)"),
        ("a.svm", b"1 1:1\n2 1:2\n", {"positive": "4"}, r"'4' does not occur; the labels are 1 \(1 row\), 2"),
        ("a.svm", b"1 1:x\n", {}, r"a\.svm, line 1, column"),
        ("a.svm", b"1 1:1\n0 1:2\n", {"label": "y"}, r"--label is for tables"),
        ("a.svm", b"1 1:1\n0 1:2\n", {"drop": ("y",)}, r"--drop is for tables"),
        ("a.csv", b"x,y\n1,0\n2,1\n", {}, r"say which column is the label with --label; the columns are 'x', 'y'"),
        ("a.csv", b"x,y\n1,0\n2,1\n", {"label": "y", "delimiter": ";;"}, r"delimiter is one character"),
        ("a.npy", b"not numpy", {}, r"a\.npy: not a \.npy file"),
        ("a.npz", b"not zip", {}, r"not an \.npz file"),
        ("a.npz", {"Z": np.ones(2)}, {}, r"needs the array X, .* it has Z"),
        ("a.npz", {"X": np.ones((2, 2))}, {}, r"has no labels; put them into the \.npz as y"),
        ("a.npz", {"X": np.ones((2, 2)), "y": np.ones(3)}, {}, r"one label for each of the 2 rows; got shape \(3,\)"),
        ("a.npz", {"X": np.ones((2, 2)), "t": np.arange(2)}, {"label": "u"}, r"no array 'u'; the arrays are X, t"),
        ("a.npz", {"X": np.ones(3), "y": np.ones(3)}, {}, r"X must have two dimensions"),
        ("a.npz", {"X": np.array([[1.0], [np.nan]]), "y": np.arange(2)}, {}, r"Row 1 of X contains NaN"),
        ("a.arrow", b"ARROW1 no", {"label": "y"}, r"cannot be read as Arrow"),
    ],
)
def test_bad_files(tmp_path, name, content, options, message):
    path = _file(tmp_path / name, content)
    with pytest.raises(ValueError, match=message) as error:
        open_training_data(path, DataOptions(**options))
    assert "\n" not in str(error.value)


def test_nothing_is_unpickled(tmp_path):
    np.save(tmp_path / "a.npy", np.array([{"x": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(ValueError, match=r"a\.npy: not a \.npy file of numbers"):
        open_training_data(tmp_path / "a.npy", DataOptions(label=str(tmp_path / "a.npy")))
    np.savez(tmp_path / "a.npz", X=np.array([[None]], dtype=object), y=np.arange(1))
    with pytest.raises(ValueError, match=r"the array 'X' cannot be read .*allow_pickle"):
        open_training_data(tmp_path / "a.npz")


CSR = {"data": np.ones(3), "indices": np.array([0, 1, 0]), "indptr": np.array([0, 2, 3]), "shape": np.array([2, 2])}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"indptr": np.array([0, 2])}, "sizes of data, indices and indptr"),
        ({"indptr": np.array([0, 9, 3])}, "indptr must ascend from 0 to the number of values, 3"),
        ({"indptr": np.array([0, 2, 4])}, "indptr must ascend"),
        ({"indptr": np.array([-1, 2, 3])}, "indptr must ascend"),
        ({"indices": np.array([0, 7, 0])}, "column index 7, but X has 2 columns"),
        ({"indices": np.array([0, -1, 0])}, "column index -1"),
        ({"indices": np.array([0.0, 1.0, 0.0])}, "indices and indptr whole numbers"),
        ({"shape": np.array([2, 2, 2])}, "shape must be two whole numbers"),
        ({"format": np.array(b"csc")}, "CSR is required; got b'csc'"),
        ({"data": np.array(["a", "b", "c"])}, "data must be numbers"),
    ],
)
def test_damaged_sparse_files(tmp_path, change, message):
    np.savez(tmp_path / "a.npz", **{**CSR, "y": np.arange(2), **change})
    with pytest.raises(ValueError, match=message):
        open_training_data(tmp_path / "a.npz")


def test_missing_files_and_directories(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no\.svm"):
        open_training_data(tmp_path / "no.svm")
    with pytest.raises(ValueError, match=r"is a directory"):
        open_training_data(tmp_path)


@pytest.mark.parametrize("classes", [[0, 1], [-1.0, 1.0], [False, True]], ids=str)
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_labels_that_are_words_where_the_model_has_numbers(tmp_path, classes, ending):
    """A model that was made in Python: the column of the labels was no column of its training table."""
    model = LinearModel(np.ones((1, 1)), np.zeros(1), np.array(classes), np.array(["a"], dtype=object))
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "status": ["ok", "fraud", "ok"]})
    path = tmp_path / f"t.{ending}"
    _ = frame.to_csv(path, index=False) if ending == "csv" else frame.to_parquet(path)
    negative, positive = (repr(label).removesuffix(".0") for label in classes)
    message = (
        rf"the label column 'status' holds 'ok', 'fraud'; the model knows the labels {negative} and {positive} "
        rf"\({positive} is positive\)\. Write the labels as the model has them\. If .* name it with --label\."
    )
    with pytest.raises(ValueError, match=message):
        list(open_scoring_blocks(path, model, ScoringOptions(True, "status")))


@pytest.mark.parametrize(
    ("classes", "written"),
    [
        ([0, 1], ["0", "1"]),
        ([0, 1], ["0.0", "1.0"]),
        ([-1.0, 1.0], ["-1", "+1"]),
        ([False, True], ["0", "1"]),
        ([False, True], ["False", "TRUE"]),
        (["no", "yes"], ["no", "yes"]),
        (["0", "1"], ["0", "1"]),
    ],
    ids=str,
)
def test_labels_of_csv_text_are_found_however_they_are_written(tmp_path, classes, written):
    model = LinearModel(np.ones((1, 1)), np.zeros(1), np.array(classes), np.array(["a"], dtype=object))
    (tmp_path / "t.csv").write_text("a,y\n" + "".join(f"1,{written[k]}\n" for k in (0, 1, 1)))
    (block,) = open_scoring_blocks(tmp_path / "t.csv", model, ScoringOptions(True, "y"))
    assert block.positive.tolist() == [False, True, True]


def test_data_that_do_not_fit_the_model(tmp_path):
    model = _table_model(tmp_path)

    def refuse(frame, message, options=None):
        frame.to_csv(tmp_path / "t.csv", index=False)
        with pytest.raises(ValueError, match=message):
            list(open_scoring_blocks(tmp_path / "t.csv", model, options))

    refuse(FRAME[["a", "c"]], r"1 column that the model was trained on is missing: 'b'\. The table has 'a', 'c'")
    refuse(FRAME.assign(a="x"), r"column 'a' must hold numbers, as in the training table, but has an invalid value 'x'")
    refuse(FRAME.assign(a=None), rf"rows 0 to {N - 1}: missing values in 1 column: 'a' \({N} rows\)")
    refuse(FRAME[:0], r"has no rows")
    refuse(FRAME, r"there is no column 'nr'", ScoringOptions(ids="nr"))
    refuse(FRAME.drop(columns="y"), r"there is no column 'y'", ScoringOptions(with_labels=True))
    refuse(
        FRAME.assign(y="maybe"), r"'y' holds 'maybe'; the model knows the labels 'no' and 'yes'", ScoringOptions(True)
    )
    np.save(tmp_path / "x.npy", X[:, :3])
    with pytest.raises(ValueError, match=r"the rows have 3 features, but the model expects 5"):
        list(open_scoring_blocks(tmp_path / "x.npy", model))
    plain = LinearModel(np.ones((1, 2)), np.zeros(1), np.array([0, 1]))
    with pytest.raises(ValueError, match=r"trained on rows without column names"):
        list(open_scoring_blocks(tmp_path / "t.csv", plain))
    with pytest.raises(ValueError, match=r"only tables have columns for ids"):
        list(open_scoring_blocks(tmp_path / "x.npy", plain, ScoringOptions(ids="id")))
    write(tmp_path / "store.arrow")
    other = _table_model(tmp_path, frame=FRAME.rename(columns={"a": "A"}))
    with pytest.raises(ValueError, match=r"made from another table than the model"):
        list(open_scoring_blocks(tmp_path / "store.arrow", other))


def test_a_model_with_names_scores_frames_by_name(tmp_path):
    model = LinearModel(np.array([[1.0, 10.0]]), np.zeros(1), np.array([0, 1]), np.array(["a", "b"]))
    frame = pd.DataFrame({"b": [1.0, 2.0], "z": ["x", "y"], "a": [5, 6]})
    assert model.decision_function(frame).tolist() == [15, 26]
    assert model.decision_function(frame[:0]).tolist() == []
    frame.to_csv(tmp_path / "t.csv")
    (block,) = open_scoring_blocks(tmp_path / "t.csv", model)
    assert model.decision_function(block.rows).tolist() == [15, 26]
    with pytest.raises(ValueError, match=r"is missing: 'b'"):
        model.decision_function(frame[["a"]])


def test_the_score_of_a_model_whose_positive_label_is_the_smaller(tmp_path):
    frame = pd.DataFrame({"x": [1.0, 2.0, 3.0], "y": ["a", "b", "b"]})
    model = _table_model(tmp_path, frame=frame, options=DataOptions(label="y", positive="a"))
    assert model.classes_.tolist() == ["b", "a"]
    assert model.score(frame, frame["y"]) == 0.0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"encoding": {"format": 9}}, "encoding is damaged"),
        ({"encoding": 3}, "encoding is damaged"),
        ({"scaling": "evil"}, "scale must be one of"),
        ({"scaling": ["unit"]}, "scale must be one of"),
        ({"zero_based": 7}, "zero_based must be true or false"),
        ({"zero_based": 1}, "zero_based must be true or false"),
    ],
)
def test_model_files_with_damaged_encoding_or_scaling(tmp_path, change, message):
    from safetensors.numpy import load, save

    path = tmp_path / "m.safetensors"
    save_model(_table_model(tmp_path), path)
    content = path.read_bytes()
    header = json.loads(json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])["__metadata__"]["pairsift"])
    path.write_bytes(save(load(content), metadata={"pairsift": json.dumps({**header, **change})}))
    with pytest.raises(ValueError, match=f"damaged model file .*{message}"):
        load_model(path)
    header["encoding"]["columns"].pop()
    path.write_bytes(save(load(content), metadata={"pairsift": json.dumps(header)}))
    with pytest.raises(ValueError, match=r"its encoding has 2 features, but there are 5 coefficients"):
        load_model(path)


def test_models_of_before_have_no_encoding(tmp_path):
    from safetensors.numpy import save

    header = {"format": 1, "classes": [0, 1], "feature_names": None, "details": {}}
    tensors = {"coef": np.ones(2), "intercept": np.zeros(1)}
    (tmp_path / "m").write_bytes(save(tensors, metadata={"pairsift": json.dumps(header)}))
    model = load_model(tmp_path / "m")
    assert (model.encoding, model.scaling, model.zero_based) == (None, "none", None)


def test_svmlight_needs_neither_scipy_nor_scikit_learn_nor_pyarrow(tmp_path):
    write(tmp_path / "one.svm")
    script = """
import sys
from pairsift.data.training import open_training_data
from pairsift.data.scoring import open_scoring_blocks
from pairsift.model import trained_model
import numpy as np
data = open_training_data(sys.argv[1], scale="standard")
model = trained_model(data, np.ones(5), 0.0, {})
for block in open_scoring_blocks(sys.argv[1], model):
    model.decision_function(block.rows)
print([name for name in ("scipy", "sklearn", "pyarrow", "pandas") if name in sys.modules])
"""
    done = subprocess.run(
        [sys.executable, "-c", script, tmp_path / "one.svm"], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"


_CONVERT = """
import sys
from pairsift.data.convert import convert
from pairsift.data.training import DataOptions, open_convert_source
options = DataOptions(label="y", positive="yes", drop=("id", "w"))
with open_convert_source(sys.argv[1], options) as source:
    convert(source.blocks, sys.argv[2], positive=source.positive, extra=source.extra, memory="32MB")
print(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1])
"""


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the peak of memory is read from /proc")
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_the_memory_of_a_conversion_does_not_grow_with_the_table(tmp_path, ending):
    peaks = []
    for times in (2000, 4000):  # both far above the memory that the conversion may use
        frame = pd.concat([FRAME] * times)
        path = tmp_path / f"{times}.{ending}"
        frame.to_csv(path, index=False) if ending == "csv" else frame.to_parquet(path, row_group_size=20_000)
        call = [sys.executable, "-c", _CONVERT, path, tmp_path / "rows.arrow"]
        peaks.append(int(subprocess.run(call, capture_output=True, text=True, check=True).stdout.split()[-1]))
    stored = (tmp_path / "rows.arrow").stat().st_size / 1024
    assert stored > 100_000
    assert peaks[1] - peaks[0] < stored / 4, peaks
