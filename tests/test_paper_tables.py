"""Tables and claims from stores with made-up cells: tests by hand against SciPy, totals, statuses, rules."""

import numpy as np
import pytest
from scipy import stats

from made_up_store import Filler, curve, fill_like_the_paper
from pairsift.experiments.claims import all_claims
from pairsift.experiments.figures import all_figures, mean_curve
from pairsift.experiments.paper import SETS, paper
from pairsift.experiments.samples import Cells
from pairsift.experiments.significance import compare, one_sided, tally
from pairsift.experiments.table import number, signed
from pairsift.experiments.table_auc import auc_table
from pairsift.experiments.table_fair import conclusions, fair_table
from pairsift.experiments.table_gamma import gamma_table
from pairsift.experiments.table_sampling import bias_table, hard_table
from pairsift.experiments.table_statistics import statistics_table
from pairsift.experiments.table_time import log_slope, time_table
from pairsift.experiments.tables import all_tables


@pytest.fixture
def filler(tmp_path):
    made = Filler(tmp_path / "results.sqlite")
    yield made
    made.results.close()


def entries(table, name):
    row = next(entries for row, entries in table.rows if row == name)
    return dict(zip(table.columns, row, strict=True))


def by_key(cells):
    return {claim.key: claim for claim in all_claims(cells)}


# --- significance


@pytest.mark.parametrize("seed", range(5))
def test_tests_are_scipys(seed):
    random = np.random.default_rng(seed)
    a, b = random.normal(0.9, 0.01, 10), random.normal(0.895, 0.01, 10)
    paired = compare(dict(enumerate(a)), dict(enumerate(b)))
    assert paired.p_greater == pytest.approx(stats.ttest_rel(a, b, alternative="greater").pvalue, rel=1e-10)
    assert paired.difference == pytest.approx(np.mean(a - b))
    one = compare(dict(enumerate(a)), {0: 0.897})
    assert one.p_greater == pytest.approx(stats.ttest_1samp(a, 0.897, alternative="greater").pvalue, rel=1e-10)
    turned = compare({0: 0.897}, dict(enumerate(a)))
    assert turned.p_greater == pytest.approx(1 - one.p_greater)


def test_only_common_pools_are_paired():
    assert compare({0: 0.9, 1: 0.92, 7: 0.1}, {1: 0.9, 0: 0.89, 8: 0.99}).n == 2


def test_differences_without_variance_are_decided_by_their_sign():
    assert one_sided([0.25] * 4).verdict == "win"
    assert one_sided([-0.25] * 4).verdict == "loss"
    assert one_sided([0.0] * 4).verdict == "tie"
    assert one_sided([0.1 + 0.2 - 0.3, 0.0]).verdict == "tie"  # rounding is no difference


def test_one_value_is_no_test():
    assert one_sided([0.3]).verdict == "untested"
    assert one_sided([]).verdict == "untested"
    assert str(tally([one_sided([1.0, 1.0]), one_sided([0.1])])) == "1/0/0"


def test_numbers_are_printed_as_in_the_paper():
    assert (number(0.90834), number(1.0), signed(-0.00123), signed(0.00001), signed(-1.5)) == (
        ".9083",
        "1.0000",
        "−.0012",
        ".0000",
        "−1.5000",
    )


# --- tables


def test_auc_is_the_mean_over_folds_of_each_pool(filler):
    values = {0: [0.90, 0.94], 1: [0.91, 0.97], 2: [0.89, 0.95]}
    for pool, by_fold in values.items():
        for fold, value in enumerate(by_fold):
            filler.put("auc", "bank", "soft-correct", value, fold=fold, pool=pool)
    for fold, value in enumerate((0.900, 0.902)):
        filler.put("auc", "bank", "wsvm", value, fold=fold)
    means = [np.mean(by_fold) for by_fold in values.values()]
    row = entries(auc_table(Cells(filler.results)), "bank")
    assert row["Soft-Correct"].ours == f"{number(np.mean(means))} ± {number(np.std(means, ddof=1))}"
    assert row["Soft-Correct"].paper == ".9083 ± .0007"
    assert row["Soft-Correct"].difference == signed(np.mean(means) - 0.9083)
    assert row["WSVM"].ours == ".9010 (*)"
    assert stats.ttest_1samp(means, 0.901, alternative="greater").pvalue < 0.05
    assert row["pools × folds"].ours == "3 × 2"


def test_a_pool_with_a_missing_fold_is_left_out(filler):
    for pool in range(3):
        for fold in range(2):
            status = "out of time" if (pool, fold) == (2, 1) else "done"
            filler.put("auc", "bank", "random", 0.9 + 0.01 * pool, fold=fold, pool=pool, status=status)
    sample = Cells(filler.results).sample("auc", "bank", "random")
    assert dict(sample.values) == pytest.approx({0: 0.90, 1: 0.91})
    assert "out of time" in sample.note


def test_every_row_of_the_paper_appears_with_a_status(filler):
    filler.put("auc", "url", "wsvm", status="data not here")
    filler.put("auc", "a9a", "wsvm", status="failed", reason="no memory")
    filler.put("auc", "mnist", "wsvm", status="out of time")
    filler.put("auc", "bank", "wsvm", 0.8935)
    table = auc_table(Cells(filler.results))
    assert [name for name, _ in table.rows[:-1]] == list(paper()["auc"]["rows"])
    said = {name: entries(table, name)["WSVM"] for name in ("url", "a9a", "mnist", "bank", "letter")}
    assert {name: entry.ours for name, entry in said.items()} == {
        "url": "data not here",
        "a9a": "failed: no memory",
        "mnist": "out of time",
        "bank": ".8935",
        "letter": "not run",
    }
    assert [entry.outcome for entry in said.values()] == ["not run", "not run", "not run", "reproduced", "not run"]
    assert all(entry.paper for entry in said.values())


def test_an_empty_store_has_all_tables_and_no_claim(filler):
    cells = Cells(filler.results)
    for table in all_tables(cells):
        assert len(table.rows) >= 20
        assert set(table.outcomes()) <= {"not run"}
    assert {claim.support for claim in all_claims(cells)} == {"not enough data"}
    assert {one.survival for one in conclusions(cells)} == {"not enough data"}
    assert not any(figure.panels for figure in all_figures(cells))


def test_rows_bear_the_papers_names(filler):
    filler.put("auc", "MQ2008", "wsvm", 0.81)
    filler.put("auc", "connect-4", "wsvm", 0.86)
    table = auc_table(Cells(filler.results))
    assert entries(table, "MQ-08")["WSVM"].ours == ".8100"
    assert entries(table, "connect")["WSVM"].ours == ".8600"
    assert "yahoo1_v2" in dict(table.rows)
    assert not {"MQ2008", "connect-4", "yahho1_v2"} & dict(table.rows).keys()


def test_totals_count_wins_losses_and_ties(filler):
    samples = {"bank": 0.01, "a9a": 0.02, "mnist": -0.01, "letter": 0.0}
    for here, lead in samples.items():
        filler.put_pools("auc", here, "random", [0.90, 0.91, 0.92])
        filler.put_pools("auc", here, "soft-correct", [0.90 + lead + 0.001, 0.91 + lead, 0.92 + lead - 0.001])
    filler.put_pools("auc", "news20", "random", [0.9])
    filler.put_pools("auc", "news20", "soft-correct", [0.91])
    name, row = auc_table(Cells(filler.results)).rows[-1]
    assert name.startswith("Total")
    assert row[3].ours == "2/1/1"
    assert row[3].paper == "14/1/5"
    assert row[3].note == "1 sets without a test"


def test_soft_against_hard(filler):
    for here in ("bank", "a9a"):
        filler.put_pools("auc", here, "soft-close", [0.90, 0.91, 0.92])
        filler.put_pools("hard", here, "hard-close", [0.88, 0.895, 0.90])
    table = hard_table(Cells(filler.results))
    assert entries(table, "bank")["close: soft"].ours == "win"
    _, total = table.rows[-1]
    assert (total[2].ours, total[2].paper, total[5].paper) == ("2/0/0", "10/3/1", "13/0/1")
    assert any("9 wins" in note for note in table.notes)
    assert any("12 wins" in note for note in table.notes)


def test_bias_is_with_minus_without_on_common_cells(filler):
    filler.put_pools("auc", "bank", "soft-close", [0.90, 0.91, 0.99])
    filler.put_pools("bias", "bank", "soft-close", [0.89, 0.912], bias_correction=False)
    entry = entries(bias_table(Cells(filler.results)), "bank")["Soft-Close"]
    assert entry.ours == "+.004000"
    assert entry.paper == "−.002216"
    assert entry.outcome == "differs"


def test_time_is_judged_by_the_side_of_soft_correct(filler):
    filler.put("time", "bank", "soft-correct", 0.9, seconds=0.5)
    filler.put("time", "bank", "eranksvm", 0.9, seconds=0.4)
    filler.put("time", "bank", "wsvm", 0.9, seconds=0.1)
    filler.put("time", "bank", "wsvm", 0.9, seconds=0.3, pool=1)
    row = entries(time_table(Cells(filler.results)), "bank")
    assert row["ERankSVM"].outcome == "differs"  # slower than soft-correct in the paper
    assert (row["WSVM"].outcome, row["WSVM"].ours) == ("reproduced", "0.2")
    assert row["Soft-Correct"].outcome == ""


def test_runs_that_did_not_end_are_told_beside_the_time(filler):
    filler.put("time", "bank", "soft-correct", 0.9, seconds=0.5)
    filler.put("time", "bank", "soft-correct", fold=1, status="out of time")
    entry = entries(time_table(Cells(filler.results)), "bank")["Soft-Correct"]
    assert entry.ours == "0.5 (1 not done)"
    assert entry.note == "1 of 2 runs are not in the mean: out of time"


def test_gamma_lists_what_is_not_significantly_worse(filler):
    filler.put_pools("auc", "bank", "soft-close", [0.920, 0.921, 0.922])
    filler.put_pools("gamma", "bank", "soft-close", [0.9205, 0.9203, 0.9222], gamma=0.5)
    filler.put_pools("gamma", "bank", "soft-close", [0.910, 0.9111, 0.9121], gamma="uniform", threshold=True)
    filler.put("auc", "bank", "eranksvm", 0.915)
    entry = entries(gamma_table(Cells(filler.results)), "bank")["Soft-Close"]
    assert entry.pieces == (("1", True), ("0.5", True))
    assert entry.outcome == "reproduced"
    assert stats.ttest_rel([0.920, 0.921, 0.922], [0.910, 0.9111, 0.9121], alternative="greater").pvalue < 0.05


def test_gamma_without_a_test_has_the_best_alone(filler):
    filler.put("auc", "bank", "soft-close", 0.90)
    filler.put("gamma", "bank", "soft-close", 0.91, gamma=0.5)
    assert entries(gamma_table(Cells(filler.results)), "bank")["Soft-Close"].ours == "0.5"


def test_statistics_show_what_differs_and_why(filler):
    counted = {"points": 15211, "positives": 931, "negatives": 14280, "pairs": 26589360, "dimension": 46, "auc": "CV"}
    reason = {"dimension": {"value": 46, "reason": "46 features"}}
    filler.put("data", "MQ2008", "statistics", result={**counted, "differs": reason})
    table = statistics_table(Cells(filler.results))
    row = entries(table, "MQ-08")
    assert (row["Dimension"].outcome, row["Dimension"].difference) == ("differs", "−9,996")
    assert (row["Pairs"].outcome, row["Pairs"].ours) == ("reproduced", "26,589,360")
    assert any("46 features" in note for note in table.notes)
    assert [name.rstrip("*") for name, _ in table.rows] == list(SETS)


# --- the fair table


def _fixed_and_tuned(filler, fixed, tuned):
    for here in ("bank", "a9a", "letter"):
        for experiment, lead in (("auc", fixed), ("fair", tuned)):
            filler.put_pools(experiment, here, "soft-correct", [0.90 + lead, 0.901 + lead, 0.9005 + lead])
            filler.put(experiment, here, "eranksvm", 0.90)


@pytest.mark.parametrize(
    ("fixed", "tuned", "survival"),
    [
        (0.01, 0.01, "survives"),
        (0.01, -0.01, "does not survive"),
        (-0.01, 0.01, "only with tuning"),
        (-0.01, -0.01, "not found at all"),
    ],
)
def test_conclusions_follow_from_the_tests(filler, fixed, tuned, survival):
    _fixed_and_tuned(filler, fixed, tuned)
    found = conclusions(Cells(filler.results))[0]
    assert found.survival == survival
    assert f"wins on {3 if tuned > 0 else 0} of 3 sets" in found.sentence.split("tuned for both")[1]


def test_methods_without_pools_are_paired_over_folds(filler):
    for here in ("bank", "letter", "news20"):
        for experiment in ("auc", "fair"):
            for fold, noise in enumerate((0.0, 0.001, 0.002)):
                filler.put(experiment, here, "eranksvm", 0.95 + noise, fold=fold)
                filler.put(experiment, here, "wsvm", 0.90 + noise * 0.5, fold=fold)
    found = {one.about: one for one in conclusions(Cells(filler.results))}
    assert found["ERankSVM is better than WSVM"].survival == "survives"


def test_the_fair_table_says_which_C_was_chosen(filler):
    filler.put("fair", "bank", "logistic-regression", 0.9, scale_C=0.01)
    entry = entries(fair_table(Cells(filler.results)), "bank")["Logistic regression"]
    assert (entry.ours, entry.difference, entry.strong) == (".9000", "C × 0.01", True)


def test_the_C_that_was_chosen_last_counts(filler):
    filler.put("fair", "bank", "crr", 0.5, scale_C=0.01, when="2026-01-01T00:00:00+00:00")
    filler.put("fair", "bank", "crr", 0.9, scale_C=10.0, when="2026-01-02T00:00:00+00:00")
    entry = entries(fair_table(Cells(filler.results)), "bank")["CRR"]
    assert (entry.ours, entry.difference) == (".9000", "C × 10")


# --- figures and claims


def test_curves_are_means_over_folds_and_pools(filler):
    for pool, last in enumerate((0.90, 0.92)):
        filler.put("auc", "bank", "soft-close", last, pool=pool, curve=curve(last))
    odd = {"pairs": [1, 2], "auc": [0.1, 0.2], "rejected": [0, 0]}
    filler.put("auc", "bank", "soft-close", 0.1, pool=2, curve=odd)
    found = mean_curve(filler.results.rows("auc", "bank", "soft-close"), "auc")
    assert found.x == curve(0.9)["pairs"]
    assert found.y == pytest.approx(np.mean([curve(0.90)["auc"], curve(0.92)["auc"]], axis=0))


def test_the_papers_own_numbers_support_its_claims(tmp_path):
    filler = fill_like_the_paper(tmp_path / "results.sqlite", SETS)
    cells = Cells(filler.results)
    claims = by_key(cells)
    assert {key: claims[key].support for key in ("bias", "auc", "time")} == dict.fromkeys(
        ("bias", "auc", "time"), "supported"
    )
    assert "N^0.33" in claims["time"].sentence
    assert "on 10 of 20 sets" in claims["auc"].sentence
    outcomes = [outcome for table in all_tables(cells) for outcome in table.outcomes() if outcome != "not run"]
    assert set(outcomes) == {"reproduced"}
    filler.results.close()


def test_claims_can_fail(filler):
    for name, here in list(SETS.items())[:4]:
        rows = paper()["statistics"]["rows"][name]["points"]
        filler.put_pools("auc", here, "soft-close", [0.90, 0.91], curve=curve(0.9))
        filler.put_pools("auc", here, "soft-correct", [0.90, 0.91], curve=curve(0.9))
        filler.put_pools("hard", here, "hard-close", [0.95, 0.9601])
        filler.put_pools("hard", here, "hard-correct", [0.95, 0.9601])
        filler.put_pools("bias", here, "soft-close", [0.80, 0.81], bias_correction=False)
        filler.put("time", here, "soft-correct", 0.9, seconds=rows**1.1)
        filler.put("time", here, "soft-close", 0.9, seconds=rows**1.2)
        filler.put("time", here, "eranksvm", 0.9, seconds=rows**1.2)
        filler.put_pools("gamma", here, "soft-close", [0.95, 0.9601], gamma=0.5)
        filler.put_pools("gamma", here, "soft-correct", [0.95, 0.9601], gamma=0.5)
    filler.put("large_budget", "bank", "soft-close", 0.9, curve=curve(0.9, size=45), budget=45000)
    claims = by_key(Cells(filler.results))
    failed = [key for key, claim in claims.items() if claim.support == "not supported"]
    assert failed == ["hard", "bias", "close", "time", "gamma", "budget"]
    assert claims["auc"].support == "not enough data"
    assert log_slope([10.0, 100.0, 1000.0], [1.0, 10.0, 100.0]) == pytest.approx(1)


def test_larger_budgets_are_judged_from_ten_thousand_pairs(filler):
    flat = {"pairs": [1000, 10000, 45000], "auc": [0.5, 0.90, 0.902], "rejected": [0, 1, 1]}
    filler.put("large_budget", "bank", "soft-close", 0.902, curve=flat, budget=45000)
    claim = by_key(Cells(filler.results))["budget"]
    assert claim.support == "supported"
    assert "from 10,000 to 45,000 pairs: +.0020" in claim.sentence
