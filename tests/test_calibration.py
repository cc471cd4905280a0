"""Probabilities: the curves against scikit-learn and brute force, the base rate against Bayes' rule, the file."""

import json
from contextlib import chdir

import numpy as np
import pytest
from safetensors.numpy import save_file
from scipy.optimize import minimize
from sklearn.calibration import CalibratedClassifierCV
from sklearn.isotonic import IsotonicRegression

from pairsift import ActiveRankSVM, LinearModel, RankSVM, calibrate, load_model, make_ranking, save_model
from pairsift.calibration import calibrate_problem, fit_curve
from pairsift.cli import pairsift as command
from pairsift.data.holdout import hold_out
from pairsift.data.problem import make_problem
from pairsift.data.rows import as_rows
from pairsift.model import ModelFileError
from pairsift.probabilities import Calibration, Isotonic, Logistic, shift_prior
from test_cli import one_line, run, write_svmlight

# What these tests ask needs few rows; that few rows are told of is tested in test_first_steps.py.
pytestmark = pytest.mark.filterwarnings("ignore:The probabilities are rough")


@pytest.fixture(scope="module")
def data():
    return make_ranking(6000, 5, positive_rate=0.2, random_state=1)


@pytest.fixture(scope="module")
def ranker(data):
    X, y = data
    return RankSVM(random_state=0).fit(X[:2000], y[:2000])


def platt(scores, positive, weights):
    """Platt's likelihood, minimised by brute force."""
    up, down = weights[positive].sum(), weights[~positive].sum()
    target = np.where(positive, (up + 1) / (up + 2), 1 / (down + 2))

    def loss(parameters):
        z = parameters[0] * scores + parameters[1]
        return np.sum(weights * (np.logaddexp(0, z) - target * z))

    return minimize(loss, [1.0, 0.0], method="Nelder-Mead", options={"xatol": 1e-10, "fatol": 1e-12}).x


@pytest.mark.parametrize("weighted", [False, True])
def test_logistic_minimises_platts_likelihood(weighted):
    rng = np.random.default_rng(0)
    scores = rng.normal(size=400) * 3 + 7
    positive = rng.random(400) < 1 / (1 + np.exp(-(scores - 8)))
    weights = rng.random(400) if weighted else np.ones(400)
    curve, rate = fit_curve(scores, positive, "logistic", weights if weighted else None)
    np.testing.assert_allclose([curve.slope, curve.offset], platt(scores, positive, weights), rtol=1e-4)
    assert rate == pytest.approx(weights[positive].sum() / weights.sum())


def test_separable_rows_get_a_finite_logistic_curve():
    curve, _ = fit_curve(np.arange(20.0), np.arange(20) >= 10)
    assert 0 < curve.slope < 100
    assert 0.9 < curve(np.array([19.0]))[0] < 1


def test_isotonic_is_that_of_scikit_learn(data, ranker):
    X, y = data
    scores, fresh = ranker.decision_function(X[2000:4000]), ranker.decision_function(X[4000:])
    model = calibrate(ranker, X[2000:4000], y[2000:4000], "isotonic")
    peer = IsotonicRegression(out_of_bounds="clip", y_min=0, y_max=1).fit(scores, y[2000:4000] == 1)
    np.testing.assert_allclose(model.predict_proba(X[4000:])[:, 1], peer.predict(fresh), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("method", ["logistic", "isotonic"])
def test_probabilities_are_right_on_fresh_rows_and_rank_as_scores_do(data, ranker, method):
    X, y = data
    model = calibrate(ranker, X[2000:4000], y[2000:4000], method)
    p, scores = model.predict_proba(X[4000:]), model.decision_function(X[4000:])
    np.testing.assert_allclose(p.sum(axis=1), 1)
    assert np.all(np.diff(p[np.argsort(scores), 1]) >= 0)
    for low, high in ((0, 0.1), (0.1, 0.4), (0.4, 1.01)):
        inside = (p[:, 1] >= low) & (p[:, 1] < high)
        error = 4 * np.sqrt(0.25 / inside.sum())
        assert abs(p[inside, 1].mean() - (y[4000:][inside] == 1).mean()) < error
    np.testing.assert_array_equal(model.predict(X), ranker.predict(X))


def test_predict_proba_is_there_when_calibrated_and_not_otherwise(data, ranker):
    X, y = data
    plain = LinearModel(ranker.coef_, ranker.intercept_, ranker.classes_)
    assert not hasattr(plain, "predict_proba")
    assert not hasattr(ranker, "predict_proba")
    with pytest.raises(AttributeError, match="held-out rows"):
        plain.predict_proba(X)
    with pytest.raises(ValueError, match="base rate"):
        plain.with_base_rate(0.1)
    assert hasattr(calibrate(plain, X[2000:], y[2000:]), "predict_proba")


def test_prior_shift_is_bayes_rule_on_two_known_densities():
    # Scores are N(1, 1) for positives and N(-1, 1) for negatives: p(s) = 1 / (1 + exp(-2 s) (1 - r) / r).
    scores = np.linspace(-3, 3, 13)

    def truth(rate):
        return 1 / (1 + np.exp(-2 * scores) * (1 - rate) / rate)

    np.testing.assert_allclose(shift_prior(truth(0.5), 0.5, 0.02), truth(0.02), rtol=1e-12)
    np.testing.assert_allclose(shift_prior(truth(0.02), 0.02, 0.3), truth(0.3), rtol=1e-12)
    p, up, down = 0.3, 0.02 / 0.5, 0.98 / 0.5
    assert shift_prior(np.array([p]), 0.5, 0.02)[0] == pytest.approx(p * up / (p * up + (1 - p) * down))
    assert shift_prior(truth(0.5), 0.5, 0.5).tolist() == truth(0.5).tolist()


def test_the_base_rate_corrects_a_calibration_on_balanced_rows(data, ranker):
    X, y = data
    positive = np.flatnonzero(y[2000:4000] == 1) + 2000
    negative = np.flatnonzero(y[2000:4000] != 1)[: len(positive)] + 2000
    balanced = np.concatenate([positive, negative])
    model = calibrate(ranker, X[balanced], y[balanced])
    assert model.predict_proba(X[4000:])[:, 1].mean() > 0.28
    for corrected in (model.with_base_rate(0.2), calibrate(ranker, X[balanced], y[balanced], base_rate=0.2)):
        assert corrected.predict_proba(X[4000:])[:, 1].mean() == pytest.approx((y[4000:] == 1).mean(), abs=0.02)


def test_weights_are_repeated_rows(data, ranker):
    X, y = data[0][2000:2400], data[1][2000:2400]
    times = np.random.default_rng(0).integers(0, 3, size=400)
    for method in ("logistic", "isotonic"):
        weighted = calibrate(ranker, X, y, method, sample_weight=times).predict_proba(X)
        repeated = calibrate(ranker, np.repeat(X, times, axis=0), np.repeat(y, times), method).predict_proba(X)
        np.testing.assert_allclose(weighted, repeated, atol=1e-5)


def test_a_model_no_better_than_chance_gets_the_base_rate():
    positive = np.arange(100) < 30
    for scores in (np.zeros(100), positive * -1.0):
        for method in ("logistic", "isotonic"):
            curve, rate = fit_curve(scores, positive, method)
            np.testing.assert_allclose(curve(np.array([-5.0, 0.0, 5.0])), 0.3)
            assert rate == 0.3


def test_the_held_out_part_of_a_problem_gives_the_same_curve(data, ranker):
    X, y = data[0][2000:], data[1][2000:]
    held_out = make_problem(as_rows(X), y == 1)
    plain = LinearModel(ranker.coef_, ranker.intercept_, ranker.classes_)
    one = calibrate_problem(plain, held_out, ranker.coef_[0], float(ranker.intercept_[0]), "logistic", 0.1)
    other = calibrate(ranker, X, y, base_rate=0.1)
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X), rtol=1e-6)
    assert one.calibration.n_rows == 4000


def test_scikit_learns_calibration_works_too(data):
    X, y = data
    peer = CalibratedClassifierCV(ActiveRankSVM(budget=500, random_state=0), cv=3).fit(X[:3000], y[:3000])
    assert peer.predict_proba(X[3000:])[:, 1].mean() == pytest.approx(0.2, abs=0.03)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"method": "magic"}, '"logistic" or "isotonic"'),
        ({"base_rate": 0}, "between 0 and 1"),
        ({"base_rate": 20}, "2 % is 0.02"),
        ({"base_rate": "much"}, "between 0 and 1"),
        ({"y": None}, "needs the labels"),
        ({"y": np.zeros(6000)}, "both classes"),
        ({"y": np.full(6000, 7.0)}, "labels of the training"),
        ({"y": np.zeros(10)}, "One label is required for each of the 6000 rows"),
        ({"sample_weight": -np.ones(6000)}, "not negative"),
    ],
)
def test_bad_arguments_are_refused(data, ranker, arguments, message):
    X, y = data
    with pytest.raises(ValueError, match=message):
        calibrate(ranker, X, **{"y": y, **arguments})


@pytest.mark.parametrize("method", ["logistic", "isotonic"])
def test_a_calibration_survives_the_file(tmp_path, data, ranker, method):
    X, y = data
    model = calibrate(ranker, X[2000:], y[2000:], method, base_rate=0.01)
    save_model(model, tmp_path / "m")
    loaded = load_model(tmp_path / "m")
    assert loaded.predict_proba(X).tobytes() == model.predict_proba(X).tobytes()
    assert loaded.calibration.method == method
    assert loaded.calibration.n_rows == 4000
    assert loaded.details["pairsift_version"]


def test_the_limits_of_floats_are_kept():
    curve = Logistic(1.0, 0.0)
    with np.errstate(all="raise", under="ignore"):
        p = Calibration(curve, 0.5, 0.1, 10).probabilities(np.array([-1e308, -700.0, 0.0, 700.0, 1e308]))
    assert p[0] == 0
    assert 0 < p[1] < 1e-300
    assert p[-1] == 1
    one = Isotonic(np.array([2.0]), np.array([0.25]))
    assert one(np.array([-9.0, 2.0, 9.0])).tolist() == [0.25] * 3


LOGISTIC = {"method": "logistic", "slope": 1.0, "offset": 0.0, "rate": 0.5, "base_rate": 0.5, "n_rows": 3}
KNOTS = {"method": "isotonic", "scores": [0.0, 1.0], "values": [0.1, 0.2]}
ISOTONIC = {**KNOTS, "rate": 0.5, "base_rate": 0.5, "n_rows": 3}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([], "must be an object"),
        ({**LOGISTIC, "method": "x"}, "method must be"),
        ({**LOGISTIC, "slope": -1.0}, "negative"),
        ({**LOGISTIC, "slope": True}, "finite number"),
        ({**LOGISTIC, "offset": float("nan")}, "finite number"),
        ({**LOGISTIC, "offset": None}, "finite number"),
        ({**LOGISTIC, "rate": 0}, "rate must be between"),
        ({**LOGISTIC, "base_rate": 1}, "base_rate must be between"),
        ({**LOGISTIC, "n_rows": -1}, "n_rows"),
        ({**LOGISTIC, "n_rows": "3"}, "n_rows"),
        ({**ISOTONIC, "scores": []}, "as many values"),
        ({**ISOTONIC, "scores": [0.0]}, "as many values"),
        ({**ISOTONIC, "scores": [1.0, 0.0]}, "ascend"),
        ({**ISOTONIC, "scores": [1.0, 1.0]}, "ascend"),
        ({**ISOTONIC, "values": [0.2, 0.1]}, "not fall"),
        ({**ISOTONIC, "values": [0.2, 1.1]}, r"\[0, 1\]"),
        ({**ISOTONIC, "values": [-0.1, 1]}, r"\[0, 1\]"),
        ({**ISOTONIC, "values": [0, float("inf")]}, "finite"),
        ({**ISOTONIC, "values": "01"}, "list of finite numbers"),
    ],
)
def test_damaged_calibrations_are_refused(tmp_path, content, message):
    header = {"format": 2, "classes": [0, 1], "feature_names": None, "details": {}, "calibration": content}
    tensors = {"coef": np.zeros(3), "intercept": np.zeros(1)}
    save_file(tensors, tmp_path / "m", metadata={"pairsift": json.dumps(header)})
    with pytest.raises(ModelFileError, match=message):
        load_model(tmp_path / "m")


@pytest.fixture(scope="module")
def folder(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("calibration")
    write_svmlight(folder / "train.svm", data[0][:4000], data[1][:4000])
    return folder


@pytest.mark.parametrize("method", ["auto", "active", "exact", "pointwise", "combined"])
@pytest.mark.parametrize("kind", ["logistic", "isotonic"])
def test_fit_calibrates_on_held_out_rows(folder, data, method, kind):
    X, y = data
    options = ["--method", method, "--calibration", kind, "--random-state", "0", "-o", "m"]
    line = ["fit", "train.svm", *options, *(["--budget", "500"] if method == "active" else [])]
    with chdir(folder):
        command.main(line, prog_name="pairsift", standalone_mode=False)
    model = load_model(folder / "m")
    assert model.calibration.method == kind
    assert model.calibration.n_rows == 400
    assert model.details["settings"]["calibration"] == kind
    assert model.predict_proba(X[4000:])[:, 1].mean() == pytest.approx((y[4000:] == 1).mean(), abs=0.04)


def test_the_held_out_rows_of_fit_are_those_of_its_validation_part(folder, data):
    with chdir(folder):
        for more in ([], ["--calibration", "logistic", "--base-rate", "0.01"]):
            line = ["fit", "train.svm", "-o", f"m{len(more)}", "--validation", "0.25", "--random-state", "3"]
            line += ["--method", "active"]
            command.main([*line, "--budget", "400", *more], prog_name="pairsift", standalone_mode=False)
    plain, calibrated = load_model(folder / "m0"), load_model(folder / "m4")
    assert calibrated.coef_.tobytes() == plain.coef_.tobytes()
    rng = np.random.default_rng(3)
    positive = data[1][:4000] == 1
    training, held_out = hold_out(make_problem(as_rows(data[0][:4000]), positive), 0.25, rng)
    expected = calibrate_problem(plain, held_out, plain.coef_[0], float(plain.intercept_[0]), "logistic", 0.01)
    assert calibrated.calibration.to_json() == pytest.approx(expected.calibration.to_json())
    assert training.n_points + calibrated.calibration.n_rows == 4000


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--base-rate", "0.1"], "--calibration"),
        (["--method", "active", "--calibration", "logistic", "--validation", "0"], "above 0"),
        (["--calibration", "logistic", "--base-rate", "5"], "between 0 and 1"),
        (["--calibration", "magic"], "isotonic"),
    ],
)
def test_wrong_usage_of_calibration_is_one_line(folder, arguments, says):
    assert says in one_line(run("fit", "train.svm", "-o", "bad", *arguments, cwd=folder), 2)
    assert not (folder / "bad").exists()
