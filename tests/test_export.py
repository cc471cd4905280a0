"""Exports: every target, run by what it is made for, gives the scores and probabilities of the model."""

import json
import sqlite3
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from pairsift import LinearModel, load_model, save_model
from pairsift.calibration import calibrate_scores
from pairsift.cli import pairsift as command
from pairsift.data.training import DataOptions, open_training_data
from pairsift.export import TARGETS, export_model
from pairsift.model import trained_model
from test_cli import one_line, run

pandas = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")

DROP = '"; DROP TABLE rows; --'
QUOTED = 'o\'neil "x" \\n {0} %s'
CITIES = ["Oslo", "Rome", "x' OR '1'='1", 'a "quoted" place', "größe", "\\", "a\nb", "Null"]


def make_frame(n, rng, missing):
    frame = pandas.DataFrame(
        {
            DROP: rng.normal(50, 20, n),
            "score": rng.integers(0, 10, n).astype(float),
            "city": rng.choice(CITIES, n).astype(object),
            QUOTED: rng.choice(["7", "8"], n).astype(object),
            "member": rng.random(n) < 0.5,
            "y": rng.random(n) < 0.4,
        }
    )
    if missing:
        frame["member"] = frame["member"].astype(object)
        for name in (DROP, "score", "city", "member"):
            frame.loc[rng.random(n) < 0.1, name] = None
    return frame


def make_model(tmp_path, scale, impute, calibration):
    """A model of a table, with random weights: what is tested is that exports do the same sums."""
    rng = np.random.default_rng(0)
    make_frame(300, rng, impute is not None).to_parquet(tmp_path / "train.parquet")
    data = open_training_data(tmp_path / "train.parquet", DataOptions(label="y", impute=impute), scale=scale)
    model = trained_model(data, rng.normal(size=data.problem.rows.n_features), 0.7, {"training": {"gap": float("nan")}})
    return with_curve(model, calibration, 1.0 if scale in ("standard", "unit") else 30.0)


def with_curve(model, calibration, spread):
    if calibration is None:
        return model
    rng = np.random.default_rng(1)
    scores = rng.normal(size=500) * spread
    positive = rng.random(500) < 1 / (1 + np.exp(-scores / spread))
    return calibrate_scores(model, scores, positive, calibration, base_rate=0.1)


def fresh_frame(missing):
    frame = make_frame(200, np.random.default_rng(2), missing)
    frame.loc[:5, "city"] = "never seen"
    frame.loc[3, DROP], frame.loc[4, DROP] = -1e4, 1e4
    return frame.drop(columns="y")


def expected(model, X):
    p = model.predict_proba(X)[:, 1] if model.calibration is not None else None
    return model.decision_function(X), p


def plain(value):
    if value is None or value is pandas.NA or value != value:
        return None
    return value.item() if isinstance(value, np.generic) else value


def records(frame):
    return [{name: plain(value) for name, value in row.items()} for row in frame.to_dict("records")]


def by_sqlite(model, rows):
    base = sqlite3.connect(":memory:")
    names = list(rows[0])
    quoted = ['"' + name.replace('"', '""') + '"' for name in names]
    base.execute(f"CREATE TABLE rows ({', '.join(quoted)})")
    base.executemany(f"INSERT INTO rows VALUES ({', '.join('?' * len(names))})", [list(row.values()) for row in rows])

    def column(**options):
        expression = export_model(model, "sql", **options).decode()
        return [row[0] for row in base.execute(f"SELECT {expression} FROM rows ORDER BY rowid")]

    return column(), column(probability=True) if model.calibration is not None else None


PROGRAM = """
import json, sys
source, rows = sys.stdin.read().split("\\0")
space = {}
exec(source, space)
rows = json.loads(rows)
print(json.dumps([[space[name](row) for row in rows] for name in ("score", "predict", "probability") if name in space]))
"""


def by_python(model, rows):
    source = export_model(model, "python").decode()
    given = source + "\0" + json.dumps(rows)
    call = [sys.executable, "-I", "-S", "-c", PROGRAM]
    done = subprocess.run(call, input=given, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def by_onnx(model, feed):
    onnxruntime = pytest.importorskip("onnxruntime")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(export_model(model, "onnx"), options, providers=["CPUExecutionProvider"])
    assert {value.name for value in session.get_inputs()} == set(feed)
    return dict(zip([value.name for value in session.get_outputs()], session.run(None, feed), strict=True))


def onnx_feed(frame):
    feed = {}
    for name in frame:
        values = [plain(value) for value in frame[name]]
        if name in ("city", QUOTED):
            feed[name] = np.array([["" if value is None else value] for value in values], dtype=object)
        else:
            feed[name] = np.array([[np.nan if value is None else float(value)] for value in values])
    return feed


def by_json(model, rows):
    """An evaluator that knows nothing but the JSON."""
    content = json.loads(export_model(model, "json"))
    scores, ps = [], []
    for row in rows:
        features = []
        for column in content["encoding"]["columns"]:
            value = row[column["name"]]
            value = column["fill"] if value is None else value
            if column["kind"] == "category":
                features += [float(value == category) for category in column["categories"]]
            else:
                features.append(float(value))
        if content["scaling"] == "unit":
            features = np.array(features) / np.linalg.norm(features)
        scores.append(content["intercept"] + float(np.dot(features, content["coefficients"])))
        curve = content["calibration"]
        if curve is not None:
            if curve["method"] == "logistic":
                p = 1 / (1 + np.exp(-np.clip(curve["slope"] * scores[-1] + curve["offset"], -700, 700)))
            else:
                p = np.interp(scores[-1], curve["scores"], curve["values"])
            up = curve["base_rate"] / curve["rate"]
            down = (1 - curve["base_rate"]) / (1 - curve["rate"])
            ps.append(p * up / (p * up + (1 - p) * down))
    return scores, ps or None


CASES = [
    ("none", "mean", "logistic"),
    ("standard", "median", "isotonic"),
    ("max", "zero", None),
    ("unit", "mean", "isotonic"),
    ("unit", None, "logistic"),
    ("none", None, None),
]


@pytest.mark.parametrize(("scale", "impute", "calibration"), CASES)
def test_a_table_scores_the_same_everywhere(tmp_path, scale, impute, calibration):
    model = make_model(tmp_path, scale, impute, calibration)
    save_model(model, tmp_path / "m")
    model = load_model(tmp_path / "m")
    frame = fresh_frame(impute is not None)
    scores, p = expected(model, frame)
    rows = records(frame)

    def same(found, found_p):
        np.testing.assert_allclose(np.array(found, dtype=float), scores, rtol=1e-10, atol=1e-10)
        assert (found_p is None) == (p is None)
        if p is not None:
            np.testing.assert_allclose(np.array(found_p, dtype=float), p, rtol=1e-8, atol=1e-9)

    same(*by_sqlite(model, rows))
    found = by_python(model, rows)
    same(found[0], found[2] if len(found) > 2 else None)
    assert found[1] == model.predict(frame).tolist()
    same(*by_json(model, rows))
    out = by_onnx(model, onnx_feed(frame))
    same(out["output_score"], out.get("probability"))
    assert out["label"].tolist() == model.predict(frame).tolist()


def test_a_float32_table(tmp_path):
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame({k: rng.normal(size=200).astype(np.float32) * 1000 for k in "abc"})
    frame["y"] = rng.random(200) < 0.5
    frame.to_parquet(tmp_path / "t.parquet")
    for scale in ("none", "unit"):
        data = open_training_data(tmp_path / "t.parquet", DataOptions(label="y"), scale=scale)
        assert data.encoding.dtype == "float32"
        model = trained_model(data, np.array([100.0, -30.0, 7.0]), 0.5, {})
        scores, _ = expected(model, frame)
        found = by_onnx(model, {name: frame[[name]].to_numpy().astype(np.float64) for name in "abc"})["score"]
        np.testing.assert_allclose(found, scores, rtol=1e-12, atol=1e-10)
        rows = records(frame.astype(np.float64).drop(columns="y"))
        np.testing.assert_allclose(by_python(model, rows)[0], scores, rtol=1e-5)
        np.testing.assert_allclose(by_sqlite(model, rows)[0], scores, rtol=1e-5)


@pytest.mark.parametrize("scaling", ["none", "unit"])
@pytest.mark.parametrize("labels", [[-1.0, 1.0], [0, 1], ["no", "it's"], [False, True], [True, False]], ids=str)
def test_rows_without_names(scaling, labels):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 2500)) * rng.choice([1e-3, 1.0, 1e3], size=2500)
    X[7] = 0.0
    w = rng.normal(size=(1, 2500)) * (rng.random(2500) < 0.9)
    model = LinearModel(w, np.array([0.3]), np.array(labels), scaling=scaling, zero_based=False)
    model = with_curve(model, "logistic", 100.0)
    scores, p = expected(model, X)
    out = by_onnx(model, {"X": X})
    np.testing.assert_allclose(out["score"], scores, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(out["probability"], p, rtol=1e-8, atol=1e-9)
    assert out["label"].tolist() == model.predict(X).tolist()
    found = by_python(model, X.tolist())
    np.testing.assert_allclose(found[0], scores, rtol=1e-9, atol=1e-9)
    assert found[1] == model.predict(X).tolist()
    if labels != [0, 1]:
        return
    rows = [{f"x{k + 1}": value for k, value in enumerate(row)} for row in X[:, :1500].tolist()]
    narrow = replace(model, coef_=w[:, :1500].copy())  # SQLite's tables have 2,000 columns at most
    sql_scores, sql_p = by_sqlite(narrow, rows)
    scores, p = expected(narrow, X[:, :1500].copy())
    np.testing.assert_allclose(sql_scores, scores, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(sql_p, p, rtol=1e-8, atol=1e-9)


def test_the_python_function_takes_the_rows_of_a_csv_reader(tmp_path):
    """All values are text there, and nothing between two commas is a missing value, as in a CSV file that is scored."""
    (tmp_path / "t.csv").write_text("a,c,y\n" + "1,x,0\n2,,1\n,z,0\n4,x,1\n" * 30)
    run("fit", "t.csv", "-o", "m", "--label", "y", "--impute", "mean", "--budget", "200", cwd=tmp_path)
    run("score", "m", "t.csv", "-o", "s.txt", cwd=tmp_path)
    run("export", "m", "--to", "python", "-o", "e.py", cwd=tmp_path)
    code = "import csv, e; print(*[e.score(row) for row in csv.DictReader(open('t.csv'))])"
    found = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    np.testing.assert_allclose([float(s) for s in found.stdout.split()], np.loadtxt(tmp_path / "s.txt"), rtol=1e-12)


def test_a_missing_value_that_cannot_be_filled_has_no_score(tmp_path):
    model = make_model(tmp_path, "none", None, "logistic")
    frame = fresh_frame(False)
    rows = records(frame)
    whole = by_sqlite(model, rows)
    for name in (DROP, "city", "member"):
        holed = [dict(row) for row in rows]
        holed[9][name] = None
        scores, p = by_sqlite(model, holed)
        assert scores[9] is None
        assert p[9] is None
        assert scores[8] == whole[0][8]
        with pytest.raises(subprocess.CalledProcessError) as error:
            by_python(model, holed)
        assert "missing value in column" in error.value.stderr
        feed = onnx_feed(frame)
        feed[name][9] = "" if feed[name].dtype == object else np.nan
        found = by_onnx(model, feed)["output_score"]
        assert np.isnan(found[9])
        assert np.isfinite(np.delete(found, 9)).all()


def zip_model(tmp_path, written, impute, scale):
    """A model of a table with postal codes, of which one is 0, and the table to be scored: 1999 is not in training."""
    rng = np.random.default_rng(0)
    codes = np.where(np.arange(120) == 0, 0, rng.integers(1001, 1012, 120))
    lines = [f"{written.format(code)},{k % 7},{k % 2}" for k, code in enumerate(codes.tolist())]
    (tmp_path / "train.csv").write_text("\n".join(["zip,a,y", *lines]) + "\n")
    options = DataOptions(label="y", categorical=("zip",), impute=impute)
    data = open_training_data(tmp_path / "train.csv", options, scale=scale)
    model = trained_model(data, rng.normal(size=data.problem.rows.n_features), 0.7, {})
    fresh = [0, 1001, 1005, 1011, 1999, *([] if impute is None else [None])]
    lines = [f"{'' if code is None else written.format(code)},3" for code in fresh]
    (tmp_path / "fresh.csv").write_text("\n".join(["zip,a", *lines]) + "\n")
    save_model(model, tmp_path / "m")
    return fresh


@pytest.mark.parametrize("declared", ["TEXT", "INTEGER", "REAL", "NUMERIC", ""])
@pytest.mark.parametrize(("impute", "scale"), [(None, "none"), ("median", "none"), ("zero", "none"), ("mean", "unit")])
@pytest.mark.parametrize("written", ["{}", "{}.0"])
def test_categories_that_are_numbers_are_found_in_a_column_of_any_type(tmp_path, declared, impute, scale, written):
    fresh = zip_model(tmp_path, written, impute, scale)
    line = ["score", str(tmp_path / "m"), str(tmp_path / "fresh.csv"), "-o", str(tmp_path / "s.txt")]
    command.main(line, prog_name="pairsift", standalone_mode=False)
    base = sqlite3.connect(":memory:")
    base.execute(f"CREATE TABLE rows (zip {declared}, a INTEGER)")
    as_text = declared == "TEXT"
    values = [written.format(code) if as_text and code is not None else code for code in fresh]
    base.executemany("INSERT INTO rows VALUES (?, 3)", [(value,) for value in values])
    assert len({kind for (kind,) in base.execute("SELECT typeof(zip) FROM rows WHERE zip IS NOT NULL")}) == 1
    expression = export_model(load_model(tmp_path / "m"), "sql").decode()
    # A subquery whose column has no type, as well: SQLite then takes nothing for equal that is not of one type.
    for source in ("rows", "(SELECT COALESCE(zip, NULL) AS zip, a FROM rows)"):
        found = [score for (score,) in base.execute(f"SELECT {expression} FROM {source}")]
        np.testing.assert_allclose(found, np.loadtxt(tmp_path / "s.txt"), rtol=1e-10)


def test_spellings_of_numbers_in_sql_leave_other_categories_alone(tmp_path):
    """1 and 1.0 stay apart where training had both, as do 07 and 7; 2.50 is what a column of numbers writes as 2.5."""
    texts = ["1", "1.0", "07", "2.50", "x"]
    frame = pandas.DataFrame({"c": texts, "y": [0, 1, 0, 1, 1]})
    frame.to_parquet(tmp_path / "t.parquet")
    data = open_training_data(tmp_path / "t.parquet", DataOptions(label="y"))
    weights = dict(zip(data.encoding.columns[0].categories, [1.0, 2.0, 3.0, 4.0, 5.0], strict=True))
    model = trained_model(data, np.array(list(weights.values())), 0.0, {})
    found = by_sqlite(model, [{"c": value} for value in [*texts, "7", "y", 2.5]])[0]
    assert found == [weights[text] for text in texts] + [0.0, 0.0, weights["2.50"]]


def test_names_are_data_and_not_code(tmp_path):
    """A column and a category that would run something if they were taken for code."""
    bomb = "'); raise SystemExit('boom') #\n\"\"\" + __import__('os').abort()"
    frame = pandas.DataFrame({bomb: [1.0, 2.0, 3.0], "c": [bomb, "b", "b"], "y": [0, 1, 1]})
    frame.to_parquet(tmp_path / "t.parquet")
    data = open_training_data(tmp_path / "t.parquet", DataOptions(label="y"))
    model = trained_model(data, np.array([1.0, 2.0, 4.0]), 0.0, {})
    rows = records(frame.drop(columns="y"))
    assert by_python(model, rows)[0] == model.decision_function(frame).tolist()
    assert by_sqlite(model, rows)[0] == model.decision_function(frame).tolist()


def test_a_model_without_coefficients_is_a_constant():
    model = LinearModel(np.zeros((1, 3)), np.array([-0.5]), np.array([0, 1]))
    rows = [{"x0": 1.0, "x1": 2.0, "x2": 3.0}]
    assert by_sqlite(model, rows)[0] == [-0.5]
    assert by_python(model, [[1, 2, 3]])[0] == [-0.5]


def test_limits_are_told_in_words():
    wide = LinearModel(np.ones((1, 100_001)), np.zeros(1), np.array([0, 1]))
    with pytest.raises(ValueError, match="100,000 terms; this model has 100,001"):
        export_model(wide, "sql")
    nul = LinearModel(np.ones((1, 1)), np.zeros(1), np.array([0, 1]), np.array(["a\0b"], dtype=object))
    with pytest.raises(ValueError, match="code 0"):
        export_model(nul, "sql")
    with pytest.raises(ValueError, match="onnx, json, sql, python"):
        export_model(wide, "fortran")
    with pytest.raises(ValueError, match="--calibration"):
        export_model(wide, "sql", probability=True)


@pytest.fixture
def folder(tmp_path):
    save_model(LinearModel(np.array([[1.0, -2.0]]), np.array([0.5]), np.array([0, 1])), tmp_path / "m")
    return tmp_path


@pytest.mark.parametrize("target", TARGETS)
def test_the_command_writes_what_the_function_returns(folder, target):
    out = folder / "out"
    line = ["export", str(folder / "m"), "--to", target, "-o", str(out)]
    command.main(line, prog_name="pairsift", standalone_mode=False)
    assert out.read_bytes() == export_model(load_model(folder / "m"), target)


def test_the_command_writes_into_a_pipe(folder):
    done = run("export", "m", "--to", "onnx", cwd=folder, text=False)
    assert done.stdout == export_model(load_model(folder / "m"), "onnx")


@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        (["m"], 2, "--to"),
        (["m", "--to", "fortran"], 2, "fortran"),
        (["m", "--to", "json", "--probability"], 2, "--to sql"),
        (["m", "--to", "sql", "--probability"], 1, "--calibration"),
        (["m", "--to", "sql", "-o", "no/file"], 1, "no is not there"),
        (["missing", "--to", "sql"], 1, "missing: No such file"),
    ],
)
def test_faults_are_one_line(folder, arguments, status, says):
    assert says in one_line(run("export", *arguments, cwd=folder), status)


def test_without_the_extra_the_line_names_it(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ValueError, match=r'pip install "pairsift\[onnx\]"'):
        export_model(load_model(folder / "m"), "onnx")
