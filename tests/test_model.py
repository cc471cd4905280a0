"""Model files: what goes in comes out, and nothing else is taken for a model."""

import json
import pickle
import struct
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save, save_file

from pairsift import ActiveRankSVM, LinearModel, load_model, save_model
from pairsift.data.problem import make_problem
from pairsift.data.rows import as_rows
from pairsift.data.scaling import learn_scaling
from pairsift.model import ModelFileError
from pairsift.pair_features import PairFeatures, pair_features, sample_pair_features

LABELS = [
    np.array([0, 1]),
    np.array([-1, 1]),
    np.array([-1.5, 2.0]),
    np.array([False, True]),
    np.array(["no", "yes"]),
    np.array(["no", "yes"], dtype=object),
    np.array([3, 2**62]),
]


def model(**changes):
    parts = {"coef_": np.array([[0.1, -2.5, 1e-300]]), "intercept_": np.array([0.25]), "classes_": np.array([0, 1])}
    return LinearModel(**{**parts, **changes})


def header(**changes):
    return {"format": 1, "classes": [0, 1], "feature_names": None, "details": {}, **changes}


def write(path, tensors=None, text=None, **changes):
    tensors = {"coef": np.zeros(3), "intercept": np.zeros(1), **(tensors or {})}
    save_file({k: v for k, v in tensors.items() if v is not None}, path,
              metadata={"pairsift": json.dumps(header(**changes)) if text is None else text})  # fmt: skip


@pytest.mark.parametrize("labels", LABELS, ids=lambda labels: f"{labels.dtype}{labels[0]}")
def test_round_trip(tmp_path, labels):
    rng = np.random.default_rng(0)
    y = rng.random(60) < 0.5
    X = rng.normal(size=(60, 3)) + y[:, np.newaxis]
    fitted = ActiveRankSVM(random_state=0).fit(X, labels[y.astype(int)])
    save_model(fitted, tmp_path / "m.safetensors")
    loaded = load_model(tmp_path / "m.safetensors")
    assert loaded.coef_.tobytes() == fitted.coef_.tobytes()
    assert loaded.intercept_.tobytes() == fitted.intercept_.tobytes()
    assert loaded.decision_function(X).tobytes() == fitted.decision_function(X).tobytes()
    np.testing.assert_array_equal(loaded.predict(X), fitted.predict(X))
    assert loaded.classes_.tolist() == labels.tolist()
    assert type(loaded.classes_.tolist()[0]) is type(labels.tolist()[0])
    assert loaded.score(X, labels[y.astype(int)]) == fitted.score(X, labels[y.astype(int)])
    assert loaded.details["estimator"] == "ActiveRankSVM"
    assert loaded.details["settings"]["budget"] == 8000
    save_model(loaded, tmp_path / "again.safetensors")
    assert load_model(tmp_path / "again.safetensors").coef_.tobytes() == fitted.coef_.tobytes()


def test_feature_names_round_trip(tmp_path):
    names = np.array(["age", "größe", "a b"], dtype=object)
    save_model(model(feature_names_in_=names), tmp_path / "m")
    assert load_model(tmp_path / "m").feature_names_in_.tolist() == names.tolist()


def test_every_truncation_is_refused(tmp_path):
    save_model(model(), tmp_path / "m")
    content = (tmp_path / "m").read_bytes()
    for length in range(len(content)):
        (tmp_path / "cut").write_bytes(content[:length])
        with pytest.raises(ModelFileError):
            load_model(tmp_path / "cut")
    (tmp_path / "cut").write_bytes(content + b"x")
    with pytest.raises(ModelFileError):
        load_model(tmp_path / "cut")


def test_every_damaged_byte_is_refused_or_harmless(tmp_path):
    save_model(model(), tmp_path / "m")
    content = bytearray((tmp_path / "m").read_bytes())
    for at in range(len(content)):
        damaged = bytearray(content)
        damaged[at] ^= 0x5A
        (tmp_path / "bad").write_bytes(damaged)
        try:
            loaded = load_model(tmp_path / "bad")
        except ModelFileError:
            continue
        assert np.all(np.isfinite(loaded.coef_))
        assert len(loaded.classes_) == 2


class Bomb:
    def __reduce__(self):
        return (pytest.fail, ("a pickle was executed",))


@pytest.mark.parametrize(
    "content", [b"", b"x", b"not a model at all", pickle.dumps(Bomb()), struct.pack("<Q", 2**60) + b"{}", b"\0" * 100]
)
def test_foreign_files_are_refused(tmp_path, content):
    (tmp_path / "m").write_bytes(content)
    with pytest.raises(ModelFileError, match="m: "):
        load_model(tmp_path / "m")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": 4}, "model format 4.*update pairsift"),
        ({"format": 0}, "no format version"),
        ({"format": True}, "no format version"),
        ({"format": "1"}, "no format version"),
        ({"classes": [0]}, "two labels"),
        ({"classes": [0, 0]}, "two labels"),
        ({"classes": [0, "a"]}, "two labels"),
        ({"classes": [0, None]}, "two labels"),
        ({"classes": [0.0, float("nan")]}, "two labels"),
        ({"classes": "01"}, "two labels"),
        ({"feature_names": ["a"]}, "feature names"),
        ({"feature_names": ["a", "b", 3]}, "feature names"),
        ({"details": []}, "details"),
        ({"tensors": {"coef": np.zeros(3, dtype=np.float32)}}, "type or shape"),
        ({"tensors": {"coef": np.zeros((1, 3))}}, "type or shape"),
        ({"tensors": {"intercept": np.zeros(2)}}, "type or shape"),
        ({"tensors": {"coef": np.array([0, np.nan, 0])}}, "not finite"),
        ({"tensors": {"intercept": np.array([np.inf])}}, "not finite"),
        ({"tensors": {"intercept": None}}, "not a pairsift model"),
        ({"tensors": {"extra": np.zeros(1)}}, "not a pairsift model"),
        ({"tensors": {"pair_mean": np.zeros(3)}}, "not a pairsift model"),
        ({"tensors": {"pair_mean": np.zeros(3), "pair_deviation": np.zeros(3)}}, "do not match"),
        ({"tensors": {"pair_mean": np.zeros(2), "pair_deviation": np.zeros(2)}, "pair_rows": [1, 1]}, "do not match"),
        (
            {"tensors": {"pair_mean": np.zeros(3), "pair_deviation": -np.ones(3)}, "pair_rows": [1, 1]},
            "not be negative",
        ),
        ({"tensors": {"pair_mean": np.zeros(3), "pair_deviation": np.zeros(3)}, "pair_rows": [0, 1]}, "at least one"),
        ({"tensors": {"pair_mean": np.full(3, np.inf), "pair_deviation": np.zeros(3)}, "pair_rows": [1, 1]}, "finite"),
        ({"text": "{"}, "not JSON"),
        ({"text": "[]"}, "no format version"),
        ({"text": "[" * 100_000}, "not JSON"),
    ],
)
def test_wrong_content_is_refused(tmp_path, changes, message):
    write(tmp_path / "m", **changes)
    with pytest.raises(ModelFileError, match=message):
        load_model(tmp_path / "m")


def test_other_safetensors_files_are_refused(tmp_path):
    (tmp_path / "m").write_bytes(save({"weight": np.zeros(3)}))
    with pytest.raises(ModelFileError, match="not a pairsift model"):
        load_model(tmp_path / "m")


def test_a_failed_save_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "m"
    save_model(model(), path)
    before = path.read_bytes()
    with pytest.raises(ValueError, match="NaN or infinity"):
        save_model(model(coef_=np.array([[np.nan]])), path)
    with pytest.raises(ValueError, match="numbers or text"):
        save_model(model(classes_=np.array([b"a", b"b"])), path)
    monkeypatch.setattr("os.fsync", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        save_model(model(intercept_=np.array([9.0])), path)
    monkeypatch.undo()
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["m"]


def test_what_cannot_be_saved_says_why(tmp_path):
    with pytest.raises(ValueError, match="has no `coef_`"):
        save_model(ActiveRankSVM(), tmp_path / "m")
    with pytest.raises(ValueError, match="two classes"):
        save_model(
            type("M", (), {"coef_": np.zeros((3, 2)), "intercept_": 0.0, "classes_": [0, 1, 2]})(), tmp_path / "m"
        )
    with pytest.raises(ValueError, match="X has 2 features, but the model expects 3"):
        model().decision_function(np.zeros((1, 2)))


def test_a_file_of_format_1_scores_as_when_it_was_written(tmp_path):
    """The file was written by the pairsift before format 2, and so were the scores."""
    old = load_model(Path(__file__).parent / "files" / "model-format-1.safetensors")
    (tmp_path / "rows.csv").write_text("age,city,member\n30,Oslo,true\n,Rome,false\n60,Paris,true\n45,,\n")
    pandas = pytest.importorskip("pandas")
    scores = old.decision_function(pandas.read_csv(tmp_path / "rows.csv"))
    written = [-0.5675675675675698, -0.6615830115830144, 0.7027027027027093, -0.6891891891891917]
    np.testing.assert_allclose(scores, written, rtol=1e-15)
    assert old.details["settings"]["budget"] == 500
    assert old.calibration is None
    assert old.pair_features is None
    assert old.classes_.tolist() == ["no", "yes"]


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("scale", ["none", "standard", "max", "unit"])
def test_pair_features_are_moments_over_all_pairs(scale, sparse):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3)) * [1, 100, 0.01] + [0, 5, 0]
    positive = rng.random(60) < 0.3
    if sparse:
        from scipy.sparse import csr_matrix

        rows = as_rows(csr_matrix(X))
    else:
        rows = as_rows(X)
    scaling = learn_scaling(scale, [(rows, None)])
    found = sample_pair_features(make_problem(scaling.apply(rows), positive), scaling)
    if scale == "unit":
        X = X / np.linalg.norm(X, axis=1)[:, np.newaxis]
        rows = scaling.apply(rows)
    differences = (X[positive][:, np.newaxis] - X[~positive][np.newaxis]).reshape(-1, 3)
    np.testing.assert_allclose(found.mean, differences.mean(axis=0), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.deviation, differences.std(axis=0), rtol=1e-9)
    parts = pair_features([(rows.take(np.arange(k, k + 20)), positive[k : k + 20], None) for k in (0, 20, 40)])
    np.testing.assert_allclose(parts.mean, found.mean, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(parts.deviation, found.deviation, rtol=1e-9)


def test_pair_features_survive_the_file(tmp_path):
    facts = PairFeatures(np.array([1.0, 2.0, 0.0]), np.array([0.5, 0.0, 3.0]), 10, 20)
    save_model(model(pair_features=facts), tmp_path / "m")
    loaded = load_model(tmp_path / "m").pair_features
    assert loaded.mean.tolist() == [1.0, 2.0, 0.0]
    assert loaded.deviation.tolist() == [0.5, 0.0, 3.0]
    assert (loaded.n_positive, loaded.n_negative) == (10, 20)
