"""``pairsift inspect``: contributions and suspects against brute force, facts in words and in JSON, the picture."""

import json
from pathlib import Path

import numpy as np
import pytest

from pairsift import ActiveRankSVM, LinearModel, calibrate, load_model, make_ranking, save_model
from pairsift.cli import pairsift as command
from pairsift.inspection import Contribution, acceptance_by_round, contributions, find_suspects, mean_pair_losses
from pairsift.pair_features import PairFeatures
from pairsift.report.inspection import draw_inspection
from test_cli import one_line, run, write_svmlight


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("inspect")
    X, y = make_ranking(1500, 4, positive_rate=0.2, random_state=0)
    write_svmlight(folder / "rows.svm", X, y)
    np.savez(folder / "rows.npz", X=X, y=y)
    assert (
        run(
            "fit",
            "rows.svm",
            "--method",
            "active",
            "-o",
            "m",
            "--budget",
            "1000",
            "--random-state",
            "0",
            cwd=folder,
        ).returncode
        == 0
    )
    return folder


def inspect(capsys, *arguments):
    command.main(["inspect", *map(str, arguments)], prog_name="pairsift", standalone_mode=False)
    return capsys.readouterr().out


def pair_margins(model, X, y):
    """The part of each feature in the margin of each pair, by brute force."""
    positive = y == 1
    return (X[positive][:, np.newaxis] - X[~positive][np.newaxis]).reshape(-1, X.shape[1]) * model.coef_[0]


def test_contributions_are_means_over_all_pairs(folder, capsys):
    rows = np.load(folder / "rows.npz")
    model = load_model(folder / "m")
    found = json.loads(inspect(capsys, folder / "m", "--data", folder / "rows.svm", "--json"))
    margins = pair_margins(model, rows["X"], rows["y"])
    by_name = {feature["feature"]: feature for feature in found["features"]}
    assert list(by_name) == [f"x{k + 1}" for k in np.argsort(-np.abs(margins.mean(axis=0)))]
    for k in range(4):
        feature = by_name[f"x{k + 1}"]
        assert feature["coefficient"] == model.coef_[0, k]
        assert feature["margin"] == pytest.approx(margins[:, k].mean(), rel=1e-9)
        assert feature["deviation"] == pytest.approx(margins[:, k].std(), rel=1e-9)
        assert feature["share"] == pytest.approx(margins[:, k].mean() / margins.sum(axis=1).mean(), rel=1e-9)
    assert sum(feature["share"] for feature in found["features"]) == pytest.approx(1)
    remembered = json.loads(inspect(capsys, folder / "m", "--json"))  # all rows: there are fewer than are sampled
    assert [f["margin"] for f in remembered["features"]] == pytest.approx([f["margin"] for f in found["features"]])
    assert remembered["contributions_of_rows"] == {"positive": 300, "negative": 1200}
    assert (rows["y"] == 1).sum() == 300


def test_contributions_of_rows_of_unit_length(tmp_path, capsys):
    X, y = make_ranking(300, 3, random_state=1)
    model = LinearModel(np.array([[1.0, -2.0, 0.5]]), np.zeros(1), np.array([0.0, 1.0]), scaling="unit")
    save_model(model, tmp_path / "m")
    np.savez(tmp_path / "rows.npz", X=X, y=y)
    found = json.loads(inspect(capsys, tmp_path / "m", "--data", tmp_path / "rows.npz", "--json"))["features"]
    margins = pair_margins(model, X / np.linalg.norm(X, axis=1)[:, np.newaxis], y).mean(axis=0)
    assert {f["feature"]: f["margin"] for f in found} == pytest.approx({f"x{k}": margins[k] for k in range(3)})


def test_without_facts_features_are_ordered_by_coefficient(tmp_path, capsys):
    names = np.array(["a", "b", "c"], dtype=object)
    save_model(LinearModel(np.array([[1.0, -3.0, 0.0]]), np.zeros(1), np.array([0, 1]), names), tmp_path / "m")
    text = inspect(capsys, tmp_path / "m", "--top", 2)
    assert text.index("  b ") < text.index("  a ")
    assert "--data DATA" in text
    assert "2 of 3 features" in text
    with pytest.raises(ValueError, match="the model has 3"):
        contributions(load_model(tmp_path / "m"), PairFeatures(np.zeros(2), np.zeros(2), 1, 1))


def test_words_and_json_tell_the_training(folder, capsys):
    text = inspect(capsys, folder / "m")
    for part in (
        "1,000 of",
        "budget reached",
        "sampling=soft-correct",
        "100.00% in round 0",
        "not calibrated",
        "share",
    ):
        assert part in text, text
    found = json.loads(inspect(capsys, folder / "m", "--json"))
    history = found["training"]["history"]
    assert [record["pairs"] for record in found["rounds"]] == history["pairs"] == list(range(100, 1001, 100))
    for record, rejected in zip(found["rounds"], history["rejected"], strict=True):
        assert record["acceptance"] == pytest.approx(100 / (100 + rejected))
    assert found["settings"]["budget"] == 1000
    assert found["labels"] == [0.0, 1.0]
    assert found["pairsift_version"]


def test_an_estimator_keeps_its_rounds_in_the_file(tmp_path):
    X, y = make_ranking(500, 3, random_state=0)
    fitted = ActiveRankSVM(sampling="soft-correct", budget=500, random_state=0).fit(X, y)
    save_model(fitted, tmp_path / "m")
    rounds = acceptance_by_round(load_model(tmp_path / "m").details)
    accepted = np.diff([0, *(done.pairs for done in fitted.history_)])
    rejected = np.array([done.rejected for done in fitted.history_])
    np.testing.assert_allclose([record.acceptance for record in rounds], accepted / (accepted + rejected))


def test_a_file_may_hold_anything(tmp_path, capsys):
    odd = {"settings": {"a\x1b": [1, {}]}, "training": {"pairs_used": "many", "history": 3, "stop_reason": None}}
    names = np.array(["\x1b[31mred", "a\nb"], dtype=object)
    save_model(LinearModel(np.ones((1, 2)), np.zeros(1), np.array([0, 1]), names, odd), tmp_path / "m")
    text = inspect(capsys, tmp_path / "m")
    assert "\x1b" not in text
    assert "\\x1b[31mred" in text


@pytest.mark.parametrize(
    "history",
    [
        None,
        [],
        {},
        {"pairs": [1], "rejected": []},
        {"pairs": [2, 1], "rejected": [0, 0]},
        {"pairs": ["1"], "rejected": [0]},
        {"pairs": [0], "rejected": [0]},
        {"pairs": [True], "rejected": [0]},
        {"pairs": [1], "rejected": [float("nan")]},
    ],
)
def test_rounds_that_cannot_be_are_left_out(history):
    assert acceptance_by_round({"training": {"history": history}}) == []


def brute_losses(scores, positive):
    losses = np.empty(len(scores))
    for k, score in enumerate(scores):
        other = scores[positive != positive[k]]
        sign = 1 if positive[k] else -1
        losses[k] = np.maximum(0, 1 - sign * (score - other)).mean()
    return losses


def test_losses_are_means_over_all_pairs():
    rng = np.random.default_rng(0)
    scores = np.round(rng.normal(size=120) * 2, 1)  # with ties, also at margin 1
    positive = rng.random(120) < 0.3
    np.testing.assert_allclose(mean_pair_losses(scores, positive), brute_losses(scores, positive), atol=1e-12)


def test_suspects_are_ordered_by_doubt_then_loss():
    rng = np.random.default_rng(1)
    positive = rng.random(400) < 0.25
    scores = rng.normal(size=400) + 2.5 * positive
    flipped = rng.random(400) < 0.05
    label = positive ^ flipped
    rows = rng.permutation(400) + 1000
    found = find_suspects(scores, label, 400, rows)
    places = {row: k for k, row in enumerate(rows)}
    keys = [(-s.doubt, -s.loss) for s in found]
    assert keys == sorted(keys)
    assert all(s.doubt > 0.5 for s in found)
    assert sum(flipped[places[s.row]] for s in found[:10]) >= 8
    losses = brute_losses(scores, label)
    for s in found:
        k = places[s.row]
        assert (s.positive, s.score, s.loss) == (label[k], scores[k], pytest.approx(losses[k]))
        other = scores[label != label[k]]
        assert s.wrong_side == pytest.approx(np.mean(other > scores[k] if label[k] else other < scores[k]))
    assert find_suspects(np.array([0.0, 1.0]), np.array([False, True])) == []


def test_suspects_of_a_file_have_their_original_numbers(folder, capsys):
    rows = np.load(folder / "rows.npz")
    flipped = np.random.default_rng(0).choice(1500, 40, replace=False)
    y = rows["y"].copy()
    y[flipped] = 1 - y[flipped]
    write_svmlight(folder / "flipped.svm", rows["X"], y)
    found = json.loads(inspect(capsys, folder / "m", "--suspects", folder / "flipped.svm", "--json"))["suspects"]
    scores = load_model(folder / "m").decision_function(rows["X"])
    assert 10 <= len(found) <= 100
    for suspect in found:
        assert suspect["label"] == y[suspect["row"]]
        assert suspect["score"] == pytest.approx(scores[suspect["row"]])
    assert np.isin([suspect["row"] for suspect in found[:10]], flipped).sum() >= 6
    text = inspect(capsys, folder / "m", "--suspects", folder / "flipped.svm", "--count", 3)
    assert len(text.splitlines()) == 3 + 1 + 3
    pytest.importorskip("pyarrow")
    assert run("convert", "flipped.svm", "-o", "flipped.arrow", cwd=folder).returncode == 0
    stored = json.loads(inspect(capsys, folder / "m", "--suspects", folder / "flipped.arrow", "--json"))["suspects"]
    assert stored == found


@pytest.mark.slow
@pytest.mark.parametrize("name", ["a9a", "bank"])
def test_most_of_the_first_hundred_are_flipped_ones(name, monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parents[1] / "tools")
    from measure_suspects import measure
    from pairsift.data.datasets import part_path

    if part_path(name) is None:
        pytest.skip("set PAIRSIFT_DATA to the folder of the data sets")
    assert measure(name, 0.05, 0, 100)[2] >= 80


def test_the_calibration_is_shown(folder, tmp_path, capsys):
    rows = np.load(folder / "rows.npz")
    model = calibrate(load_model(folder / "m"), rows["X"], rows["y"], base_rate=0.02)
    save_model(model, tmp_path / "c")
    text = inspect(capsys, tmp_path / "c")
    assert "logistic, from 1,500 held-out rows" in text
    assert "used at 2.000%" in text
    assert json.loads(inspect(capsys, tmp_path / "c", "--json"))["calibration"]["base_rate"] == 0.02


@pytest.mark.parametrize("ending", ["svg", "png", "pdf"])
def test_the_picture(folder, capsys, ending):
    pytest.importorskip("matplotlib")
    inspect(capsys, folder / "m", "--plot", folder / f"i.{ending}")
    content = (folder / f"i.{ending}").read_bytes()
    if ending == "svg":
        for part in ("Acceptance by round", "Mean contribution", "x4", "Pairs so far"):
            assert part in content.decode()
    assert len(content) > 1000


def test_odd_names_in_a_picture(tmp_path):
    pytest.importorskip("matplotlib")
    from xml.etree import ElementTree

    names = ["$" * 40, "\x1b[31m", "a<b>&", r"$\frac{$", "x" * 100]
    draw_inspection(tmp_path / "i.svg", [Contribution(name, 1.0, -1.0, 0.5, 1.0) for name in names], [], 9)
    text = "".join(ElementTree.parse(tmp_path / "i.svg").getroot().itertext())
    assert "?[31m" in text
    assert "a<b>&" in text


@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        (["m", "--plot", "x.gif"], 2, ".svg, .png or .pdf"),
        (["m", "--plot", "no/x.svg"], 1, "no is not there"),
        (["m", "--top", "0"], 2, "--top"),
        (["rows.svm"], 1, "not a pairsift model"),
        (["m", "--suspects", "missing.svm"], 1, "missing.svm: No such file"),
        (["m", "--suspects", "one.svm"], 1, "one.svm: Held-out rows of both classes"),
        (["m", "--data", "one.svm"], 1, "both classes"),
        (["m", "--suspects", "rows.svm", "--positive", "0"], 1, "positive label is 1"),
    ],
)
def test_faults_are_one_line(folder, arguments, status, says):
    (folder / "one.svm").write_text("1 1:1\n1 2:1\n")
    assert says in one_line(run("inspect", *arguments, cwd=folder), status)
