"""`pairsift compare`: the paired test, Holm's correction, the sentences, and a baseline that is tuned with care."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtri
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from in_process import run
from pairsift import compare_auc, load_model, make_ranking, read_svmlight
from pairsift.data.problem import make_problem
from pairsift.data.rows import as_rows
from pairsift.estimators.logistic import _sample, _scalings, fit_logistic
from pairsift.stats import compare_several
from pairsift.stats.several import _levels, holm
from test_cli import one_line, write_svmlight

p_values = st.lists(st.floats(0, 1) | st.floats(0, 0.06), min_size=1, max_size=8)


def holm_by_hand(p, alpha):
    """Holm's method as he wrote it: reject in order while p_(k) <= alpha / (m - k + 1)."""
    rejected = [False] * len(p)
    for k, place in enumerate(sorted(range(len(p)), key=lambda place: p[place])):
        if p[place] > alpha / (len(p) - k):
            break
        rejected[place] = True
    return rejected


@settings(max_examples=300, deadline=None)
@given(p_values, st.sampled_from([0.9, 0.95, 0.99]))
def test_corrected_p_values_and_intervals_agree_with_holms_decisions(p, level):
    p, alpha = np.array(p), 1 - level
    wanted = holm_by_hand(p, alpha)
    clear = np.all(np.abs(np.subtract.outer(p, alpha / np.arange(1, len(p) + 1))) > 1e-12)
    if clear:
        assert (holm(p) <= alpha).tolist() == wanted
        # |z| of the test beyond the quantile of the interval: the interval leaves out zero.
        z = np.array([-float(ndtri(max(value, 1e-300) / 2)) for value in p])
        assert [bool(z[k] > ndtri(0.5 + own / 2)) for k, own in enumerate(_levels(p, level))] == wanted
    assert all(own >= level - 1e-12 for own in _levels(p, level))


def scorings(seed, n=600, quality=(1.0, 1.0, 1.4)):
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.3
    noise = rng.normal(size=n)
    return y, [q * y + noise + 0.3 * rng.normal(size=n) for q in quality]


def test_one_pair_is_compare_auc():
    y, (a, b, _) = scorings(0)
    (found,) = compare_several(y, [a, b], 0.9)
    assert (found.difference, found.low, found.high, found.p_value) == compare_auc(y, a, b, 0.9)
    assert found.p_holm == found.p_value
    assert found.level == 0.9


def test_several_pairs_each_with_its_own_level():
    y, given_scores = scorings(1)
    found = compare_several(y, given_scores)
    assert [(pair.a, pair.b) for pair in found] == [(0, 1), (0, 2), (1, 2)]
    for pair in found:
        alone = compare_auc(y, given_scores[pair.a], given_scores[pair.b], pair.level)
        assert (pair.difference, pair.low, pair.high, pair.p_value) == alone
        assert pair.differs == (not pair.low <= 0 <= pair.high) == (pair.p_holm <= 0.05)
    assert [pair.differs for pair in found] == [False, True, True]
    assert found[1].level > 0.95


def test_the_risk_of_any_wrong_claim_is_kept():
    """Four equally good scorings, six pairs: without a correction a fifth of the tables would have a wrong claim."""
    wrong = uncorrected = 0
    for seed in range(300):
        y, given_scores = scorings(seed, n=300, quality=(1.0, 1.0, 1.0, 1.0))
        found = compare_several(y, given_scores)
        wrong += any(pair.differs for pair in found)
        uncorrected += any(pair.p_value < 0.05 for pair in found)
    assert wrong <= 0.05 * 300 + 3 * np.sqrt(300 * 0.05 * 0.95)
    assert uncorrected > 1.5 * max(wrong, 1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("compare")
    X, y = make_ranking(4000, 6, positive_rate=0.2, random_state=0)
    write_svmlight(folder / "train.svm", X[:2000], y[:2000])
    write_svmlight(folder / "test.svm", X[2000:], y[2000:])
    names = ",".join(f"f{k}" for k in range(6))
    for part, rows in (("train", slice(0, 2000)), ("test", slice(2000, 4000))):
        pairs = zip(X[rows].tolist(), y[rows], strict=True)
        lines = [",".join([*map(repr, x), "yes" if label else "no"]) for x, label in pairs]
        (folder / f"{part}.csv").write_text(f"{names},bought\n" + "\n".join(lines) + "\n")
    for name, options in (("a", ["--random-state", "0"]), ("b", ["--random-state", "1", "--budget", "100"])):
        assert run("fit", "train.svm", "-o", f"{name}.safetensors", *options, cwd=folder).returncode == 0
    assert run("score", "a.safetensors", "test.svm", "-o", "scores.csv", cwd=folder).returncode == 0
    np.savetxt(folder / "noise.csv", np.random.default_rng(0).normal(size=2000))
    return folder


def facts(*arguments, cwd):
    done = run("compare", *arguments, "--json", cwd=cwd)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_two_models_and_scores(folder):
    found = facts("test.svm", "a.safetensors", "b.safetensors", "noise.csv", cwd=folder)
    X, y = read_svmlight(folder / "test.svm")
    scores = [load_model(folder / f"{name}.safetensors").decision_function(X) for name in "ab"]
    assert [ranking["name"] for ranking in found["rankings"]] == ["a.safetensors", "b.safetensors", "noise.csv"]
    for ranking, own in zip(found["rankings"], scores, strict=False):
        assert ranking["auc"] == pytest.approx(roc_auc_score(y, own), abs=1e-12)
    first = found["comparisons"][0]
    alone = compare_auc(y, *scores, first["level"])
    assert (first["difference"], first["low"], first["high"], first["p_value"]) == alone
    for pair in found["comparisons"]:
        if pair["b"] == "noise.csv":
            assert pair["better"] == pair["a"]
            assert f"{pair['a']} is better by 0." in pair["sentence"]
            assert pair["sentence"].endswith(" than noise.csv.")


def test_the_words(folder):
    alike = run("compare", "test.svm", "a.safetensors", "scores.csv", cwd=folder)
    assert alike.returncode == 0, alike.stderr
    assert "no difference can be shown on these 2,000 rows" in alike.stdout
    assert "Holm" not in alike.stdout
    several = run("compare", "test.svm", "noise.csv", "b.safetensors", "scores.csv", cwd=folder).stdout
    assert "scores.csv is better by 0." in several
    assert "3 pairs were tested" in several
    assert "leave out zero exactly where a difference is shown" in several


def test_a_small_difference_is_not_claimed(folder):
    rng = np.random.default_rng(0)
    scores = np.loadtxt(folder / "scores.csv")
    np.savetxt(folder / "near.csv", scores + 0.01 * scores.std() * rng.normal(size=len(scores)))
    pair = facts("test.svm", "scores.csv", "near.csv", cwd=folder)["comparisons"][0]
    assert pair["better"] is None
    assert pair["low"] < 0 < pair["high"]
    assert "is ahead by" in pair["sentence"]


def test_the_baseline_from_text_and_from_a_table(folder):
    line = ["test.svm", "a.safetensors", "--baseline", "logistic", "--train", "train.svm"]
    found = facts(*line, cwd=folder)
    assert [ranking["name"] for ranking in found["rankings"]] == ["a.safetensors", "logistic regression"]
    assert found["rankings"][1]["auc"] > 0.87
    assert found["rankings"][1]["training"]["rows"] == 2000
    assert found == facts(*line, cwd=folder)  # the same seed, the same baseline
    words = run("compare", *line, cwd=folder)
    assert words.returncode == 0, words.stderr
    assert "logistic regression was trained on the 2,000 rows of train.svm: C = " in words.stdout
    fit = ["fit", "train.csv", "-o", "t.safetensors", "--label", "bought", "--positive", "yes", "--drop", "f5"]
    assert run(*fit, cwd=folder).returncode == 0
    table = facts("test.csv", "t.safetensors", "--baseline", "logistic", "--train", "train.csv", cwd=folder)
    X, y = read_svmlight(folder / "train.svm")
    X_test, y_test = read_svmlight(folder / "test.svm")
    # The column that the model does without is not given to its rival either.
    rival = LogisticRegression(C=100).fit(X[:, :5], y)
    wanted = roc_auc_score(y_test, rival.decision_function(X_test[:, :5]))
    assert table["rankings"][1]["auc"] == pytest.approx(wanted, abs=0.005)
    assert table["rankings"][1]["training"]["scaling"] == "standard"


def test_scores_against_the_baseline_without_a_model(folder):
    text = facts("test.svm", "scores.csv", "--baseline", "logistic", "--train", "train.svm", cwd=folder)
    label = ["--label", "bought", "--positive", "yes"]
    table = facts("test.csv", "scores.csv", "--baseline", "logistic", "--train", "train.csv", *label, cwd=folder)
    assert text["rankings"][0]["auc"] == table["rankings"][0]["auc"]
    assert text["rankings"][1]["auc"] == pytest.approx(table["rankings"][1]["auc"], abs=0.003)


def test_stores_serve_models_but_not_files_of_scores(folder):
    for part in ("train", "test"):
        assert run("convert", f"{part}.svm", "-o", f"{part}.arrow", cwd=folder).returncode == 0
    line = ["a.safetensors", "b.safetensors", "--baseline", "logistic", "--train"]
    store = facts("test.arrow", *line, "train.arrow", cwd=folder)
    text = facts("test.svm", *line, "train.svm", cwd=folder)
    assert [ranking["auc"] for ranking in store["rankings"][:2]] == [r["auc"] for r in text["rankings"][:2]]
    assert store["comparisons"][0]["p_value"] == pytest.approx(text["comparisons"][0]["p_value"], rel=1e-9)
    assert "another order" in one_line(run("compare", "test.arrow", "a.safetensors", "scores.csv", cwd=folder), 1)


@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        (["test.svm", "a.safetensors"], 2, "Two rankings are required"),
        (["test.svm"], 2, "MODEL|SCORES"),
        (["test.svm", "a.safetensors", "--baseline", "logistic"], 2, "--train"),
        (["test.svm", "a.safetensors", "--train", "train.svm"], 2, "--baseline"),
        (["test.svm", "a.safetensors", "--baseline", "forest", "--train", "train.svm"], 2, "forest"),
        (["-", "a.safetensors", "b.safetensors"], 2, "Standard input"),
        (["train.csv", "a.safetensors", "b.safetensors"], 1, "train.csv"),
        (["test.svm", "a.safetensors", "short.csv"], 1, "short.csv: has 2 scores, but the data have 2,000 rows"),
        (["test.svm", "a.safetensors", "missing.csv"], 1, "missing.csv: No such file"),
        (["test.svm", "a.safetensors", "test.svm"], 1, "not a pairsift model"),
        (["one.svm", "a.safetensors", "b.safetensors"], 1, "all 2 rows have one class"),
        (["test.svm", "a.safetensors", "--baseline", "logistic", "--train", "one.svm"], 1, "one.svm: all 2 rows"),
        (["test.svm", "a.safetensors", "--baseline", "logistic", "--train", "few.svm"], 1, "few.svm: A validation"),
        (["test.svm", "a.safetensors", "reversed.safetensors"], 1, "its positive label is 0"),
    ],
)
def test_what_cannot_be_compared_is_one_line(folder, arguments, status, says):
    (folder / "one.svm").write_text("1 1:1\n1 2:1\n")
    (folder / "few.svm").write_text("1 1:1\n0 2:1\n")
    (folder / "short.csv").write_text("1.5\n2\n")
    if not (folder / "reversed.safetensors").exists():
        run("fit", "train.svm", "-o", "reversed.safetensors", "--positive", "0", "--budget", "100", cwd=folder)
    assert says in one_line(run("compare", *arguments, cwd=folder), status)


@pytest.mark.parametrize("sparse", [False, True])
def test_the_baseline_is_as_good_as_the_best_of_a_grid(sparse):
    """Columns of very different sizes, most of them noise: a poor C or no scaling would cost it several hundredths."""
    from scipy.sparse import csr_array

    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 40)) * 10.0 ** rng.uniform(-2, 2, size=40)
    X[rng.random(X.shape) < 0.5] = 0
    w = np.where(np.arange(40) < 4, 1.0, 0.0) / X.std(axis=0)
    y = X @ w + rng.logistic(size=3000) > 2
    train, test = slice(0, 1000), slice(1000, 3000)
    fitted = fit_logistic(make_problem(as_rows(csr_array(X[train]) if sparse else X[train]), y[train]))
    ours = roc_auc_score(y[test], X[test] @ fitted.w + fitted.intercept)
    Z = X / X[train].std(axis=0)
    best = 0.0
    for C in 10.0 ** np.arange(-5, 5):
        rival = LogisticRegression(C=C, max_iter=1000).fit(Z[train], y[train])
        best = max(best, roc_auc_score(y[test], rival.decision_function(Z[test])))
    assert ours > best - 0.006
    assert fitted.converged


def test_sparse_rows_of_very_different_columns_are_only_tried_scaled():
    """Incomes beside ones and zeros: unscaled, each of some forty fits ran into its limit of steps."""
    from scipy.sparse import csr_array

    ones = np.tile(np.eye(3), (40, 1))
    assert _scalings(as_rows(csr_array(ones * [1.0, 1.0, 500.0])), False) == ["none", "standard"]
    assert _scalings(as_rows(csr_array(ones * [1.0, 0.0, 20_000.0])), False) == ["standard"]
    assert _scalings(as_rows(csr_array(ones * [1.0, 0.0, 20_000.0])), True) == ["standard", "unit"]
    assert _scalings(as_rows(csr_array(ones[:2] * [1.0, 1.0, 20_000.0])), True) == ["none", "unit"]


def test_a_sample_of_many_rows_keeps_the_shares():
    rng = np.random.default_rng(0)
    y = np.arange(10_000) < 300
    problem = make_problem(as_rows(rng.normal(size=(10_000, 2))), y, rng.random(10_000) + 0.5)
    sample = _sample(problem, rng, 1000)
    assert sample.y.sum() == 300
    assert len(sample.y) == 1000
    share = problem.positive_weights.sum() / (problem.positive_weights.sum() + problem.negative_weights.sum())
    assert sample.weights[sample.y].sum() / sample.weights.sum() == pytest.approx(share, rel=0.05)
    assert sample.weights.mean() == pytest.approx(1, rel=0.05)
