"""The algorithm on an engine, with the reference engine: no cluster is needed."""

import json
import subprocess
import sys
from contextlib import closing
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from scipy import stats as scipy_stats

from pairsift import ActiveRankSVM, AutoRanker, auc, auc_interval, load_model, make_ranking
from pairsift.engines import algorithm
from pairsift.engines.algorithm import Columns, count_classes, fit_on_engine
from pairsift.engines.evaluation import auc_on_engine
from pairsift.engines.keys import ALL, draw_order, key_words, order_limit, seed_words
from pairsift.engines.local import LocalEngine, TablePartition
from pairsift.engines.passes import DrawRows, Reach
from test_cli import run

OPTIONS = {
    "C": 0.1,
    "gamma": 1.0,
    "sampling": "soft-correct",
    "bias_correction": True,
    "threshold": False,
    "budget": 400,
    "batch_size": 50,
    "tol": 1e-3,
    "max_iter": 1000,
}
AUTO_OPTIONS = {"C": "auto", "terms": "auto", "loss": "auto", "budget": 400, "tol": 1e-3, "max_iter": 1000}


def options_of(method, **more):
    """The method and its options, for a sampling or for "auto"."""
    if method == "auto":
        return "auto", {**AUTO_OPTIONS, **more}
    return "active", {**OPTIONS, "sampling": method, **more}


def list_table(X, y, **more):
    values = pa.FixedSizeListArray.from_arrays(pa.array(np.ascontiguousarray(X).ravel()), X.shape[1])
    return pa.table({"x": values, "y": y, "id": np.arange(len(y)), **more})


def vectors(X):
    """Spark's vectors, every second row sparse."""
    lines = []
    for k, row in enumerate(X):
        at = np.flatnonzero(row)
        sparse = {"type": 0, "size": len(row), "indices": at.tolist(), "values": row[at].tolist()}
        lines.append(sparse if k % 2 else {"type": 1, "size": None, "indices": None, "values": row.tolist()})
    kind = pa.struct(
        [
            ("type", pa.int8()),
            ("size", pa.int32()),
            ("indices", pa.list_(pa.int32())),
            ("values", pa.list_(pa.float64())),
        ]
    )
    return pa.array(lines, kind)


def engine_of(table, n_partitions=3, **options):
    cuts = np.linspace(0, table.num_rows, n_partitions + 1).astype(int)
    parts = [TablePartition(table.slice(a, b - a)) for a, b in pairwise(cuts)]
    return LocalEngine(parts, table.schema.names, **options)


COLUMNS = Columns(("x",), "y", None, ("id",))


@pytest.fixture(scope="module")
def data():
    X, y = make_ranking(n_rows=12_000, n_features=5, positive_rate=0.2, random_state=3)
    return X, y.astype(np.int64)


# Keys


def test_orders_are_uniform_and_independent_from_pass_to_pass_and_of_neighbouring_keys():
    low = np.arange(200_000, dtype=np.uint64)
    high = np.zeros_like(low)
    first, second = (draw_order((1, 2), number, high, low) / ALL for number in (0, 1))
    assert scipy_stats.kstest(first, "uniform").pvalue > 1e-3
    assert abs(np.corrcoef(first, second)[0, 1]) < 0.01
    assert abs(np.corrcoef(first[:-1], first[1:])[0, 1]) < 0.01
    other_seed = draw_order((1, 3), 0, high, low) / ALL
    assert abs(np.corrcoef(first, other_seed)[0, 1]) < 0.01


def test_orders_are_what_plain_integer_arithmetic_gives():
    def mix(z):
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % ALL
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB % ALL
        return z ^ (z >> 31)

    golden, seed, number, high, low = 0x9E3779B97F4A7C15, seed_words(7), 4, 123, 2**63 + 5
    salt = mix((seed[0] + (number + 1) * golden) % ALL)
    expected = mix(mix((mix(high ^ salt) + low * golden) % ALL) ^ seed[1])
    got = draw_order(seed, number, np.array([high], dtype=np.uint64), np.array([low], dtype=np.uint64))
    assert int(got[0]) == expected


def test_the_limit_leaves_enough_below_it():
    low = np.arange(100_000, dtype=np.uint64)
    counts = [
        np.count_nonzero(draw_order(seed_words(s), 0, low * 0, low) < np.uint64(order_limit(500, len(low))))
        for s in range(50)
    ]
    assert min(counts) >= 500
    assert np.mean(counts) == pytest.approx(500 + 6 * 500**0.5 + 20, rel=0.05)
    assert order_limit(500, 600) == ALL


def test_keys_are_stable_words():
    assert [part.tolist() for part in key_words([pa.array([3, -1])])] == [[0, 0], [3, ALL - 1]]
    text = key_words([pa.array(["a", "b", "a"])])
    assert text[0][0] == text[0][2] != text[0][1]
    assert hex(int(text[0][0])) == hex(int.from_bytes(bytes.fromhex("27c35e6e9373877f"), "little"))
    files = key_words([pa.array(["part-0", "part-1"]), pa.array([7, 7])])
    assert files[1].tolist() == [7, 7]
    assert files[0][0] != files[0][1]
    with pytest.raises(ValueError, match="whole numbers or text"):
        key_words([pa.array([0.5])])
    with pytest.raises(ValueError, match="every row needs an id"):
        key_words([pa.array([1, None])])


# The fit


@pytest.mark.parametrize("kind", ["soft-correct", "soft-close", "random", "hard-correct", "auto"])
def test_the_same_bits_for_any_division_and_order_of_rows(data, kind):
    table = list_table(*data)
    method, options = options_of(kind)
    first = fit_on_engine(engine_of(table, 1), COLUMNS, method, options, 5)
    assert first.n_passes == (2 if kind == "auto" else 6)
    shuffled = table.take(pa.array(np.random.default_rng(0).permutation(table.num_rows)))
    for other in (engine_of(table, 7), engine_of(shuffled, 4)):
        again = fit_on_engine(other, COLUMNS, method, options, 5)
        assert np.array_equal(first.w, again.w)
        assert first.theta == again.theta
    assert not np.array_equal(first.w, fit_on_engine(engine_of(table, 1), COLUMNS, method, options, 6).w)


def test_the_same_bits_in_worker_processes(data):
    table = list_table(*data)
    options = {**OPTIONS, "sampling": "random", "budget": 100, "batch_size": 100}
    first = fit_on_engine(engine_of(table), COLUMNS, "active", options, 0)
    with closing(engine_of(table, 5, processes=2)) as engine:
        again = fit_on_engine(engine, COLUMNS, "active", options, 0)
    assert np.array_equal(first.w, again.w)


def test_columns_lists_and_full_vectors_are_one_data_set(data):
    X, y = data
    lists = fit_on_engine(engine_of(list_table(X, y)), COLUMNS, "active", OPTIONS, 1)
    names = tuple(f"f{k}" for k in range(X.shape[1]))
    columns = pa.table({**dict(zip(names, X.T, strict=True)), "y": y, "id": np.arange(len(y))})
    by_name = fit_on_engine(engine_of(columns, 2), Columns(names, "y", None, ("id",)), "active", OPTIONS, 1)
    as_vectors = pa.table({"x": vectors(X), "y": y, "id": np.arange(len(y))})
    by_vector = fit_on_engine(engine_of(as_vectors, 4), COLUMNS, "active", OPTIONS, 1)
    assert not by_vector.counts.sparse
    assert np.array_equal(lists.w, by_name.w)
    assert np.array_equal(lists.w, by_vector.w)


def test_sparse_vectors_learn_what_dense_rows_learn(data):
    X, y = data
    X = np.where(np.random.default_rng(1).random(X.shape) < 0.3, X, 0.0)
    dense = fit_on_engine(
        engine_of(list_table(X, y)), COLUMNS, "active", {**OPTIONS, "sampling": "random", "tol": 1e-9}, 1
    )
    table = pa.table({"x": vectors(X), "y": y, "id": np.arange(len(y))})
    sparse = fit_on_engine(engine_of(table, 5), COLUMNS, "active", {**OPTIONS, "sampling": "random", "tol": 1e-9}, 1)
    assert sparse.counts.sparse
    np.testing.assert_allclose(sparse.w, dense.w, rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("kind", ["soft-correct", "auto"])
def test_as_good_as_in_memory_with_the_same_method_and_budget(kind):
    X, y = make_ranking(n_rows=60_000, n_features=10, positive_rate=0.1, random_state=0)
    table = list_table(X[:40_000], y[:40_000])
    method, options = options_of(kind, budget=2000)
    options |= {"batch_size": 100} if method == "active" else {}
    estimator = AutoRanker if method == "auto" else ActiveRankSVM
    memory, engine = [], []
    for seed in range(5):
        model = estimator(**options, random_state=seed).fit(X[:40_000], y[:40_000])
        memory.append(model.score(X[40_000:], y[40_000:]))
        found = fit_on_engine(engine_of(table), COLUMNS, method, options, seed)
        assert found.state.solution.relative_gap <= 1e-3
        if method == "auto":
            assert found.facts()["rows_used"] == {"negative": 2000, "positive": 2000}
        else:
            assert found.facts()["pairs_used"] == 2000
        assert found.rows_moved < 1.2 * 2 * 6 * 2000
        engine.append(auc(y[40_000:], X[40_000:] @ found.w))
    assert abs(np.mean(memory) - np.mean(engine)) < 0.001


def test_pairs_are_formed_across_partitions(data):
    """With the classes in partitions of their own, pairs within a partition do not exist."""
    X, y = data
    order = np.argsort(y, kind="stable")
    table = list_table(X, y).take(pa.array(order))
    cut = int(np.count_nonzero(y == 0))
    apart = LocalEngine([TablePartition(table.slice(0, cut)), TablePartition(table.slice(cut))], ["x", "y", "id"])
    assert np.array_equal(
        fit_on_engine(apart, COLUMNS, "active", OPTIONS, 2).w,
        fit_on_engine(engine_of(list_table(X, y)), COLUMNS, "active", OPTIONS, 2).w,
    )


def test_rows_that_cannot_be_in_a_violating_pair_stay_home_and_their_share_is_right():
    X, y = make_ranking(n_rows=30_000, n_features=3, positive_rate=0.5, auc=0.99999, label_noise=0.0, random_state=0)
    table = list_table(X, y)
    found = [fit_on_engine(engine_of(table), COLUMNS, "active", {**OPTIONS, "C": 10.0}, seed) for seed in range(3)]
    assert max(one.stayed_home for one in found) > 0
    w = found[0].w
    scores, positive = X @ w, y == 1
    reach = Reach(scores[positive].min(), scores[~positive].max())
    matters = reach.matters(scores, positive)
    margins = scores[positive][:, None][:2000] - scores[~positive][None]
    brute = np.min(margins, axis=1) < 1
    assert np.array_equal(matters[np.flatnonzero(positive)[:2000]], brute)


def test_bounds_for_a_new_w_hold(data):
    X, y = data
    rng = np.random.default_rng(0)
    before, scores = rng.normal(size=5), algorithm._Scores()
    seen = algorithm.Seen()
    seen.lowest_positive, seen.highest_negative = (X @ before)[y == 1].min(), (X @ before)[y == 0].max()
    seen.longest = np.linalg.norm(X, axis=1).max()
    scores.update(before, seen)
    for step in (0.0, 0.01, 1.0):
        w = 2 * before + step * rng.normal(size=5)
        reach = scores.reach(w)
        assert reach.lowest_positive <= (X @ w)[y == 1].min()
        assert reach.highest_negative >= (X @ w)[y == 0].max()
    assert scores.reach(2 * before).highest_negative == pytest.approx(2 * seen.highest_negative)
    assert scores.reach(-before) == Reach()


def test_a_draw_is_the_rows_of_the_smallest_order(data):
    X, y = data
    table = list_table(X, y)
    seed = seed_words(3)
    work = DrawRows(COLUMNS, (0, 1), False, seed, 2, (50, 30), (ALL, ALL))
    drawn = work(table.to_batches())
    low = np.arange(len(y), dtype=np.uint64)
    order = draw_order(seed, 2, low * 0, low)
    for label, count in ((0, 50), (1, 30)):
        rows = np.flatnonzero(y == label)
        expected = rows[np.argsort(order[rows])][:count]
        got = drawn["key_low"].to_numpy()[drawn["positive"].to_numpy() == bool(label)]
        assert sorted(got.tolist()) == sorted(expected.tolist())


def test_a_small_class_comes_whole_and_a_small_table_at_once(data):
    X, y = data
    rare = np.concatenate([np.flatnonzero(y == 0), np.flatnonzero(y == 1)[:20]])
    found = fit_on_engine(engine_of(list_table(X[rare], y[rare])), COLUMNS, "active", OPTIONS, 0)
    assert found.problem.n_positive == 20
    small = fit_on_engine(engine_of(list_table(X[:50], y[:50])), COLUMNS, "active", OPTIONS, 0)
    assert small.n_passes == 2
    assert small.problem.n_points == 50


def test_one_positive_row_is_enough(data):
    X, y = data
    rare = np.concatenate([np.flatnonzero(y == 0), np.flatnonzero(y == 1)[:1]])
    found = fit_on_engine(engine_of(list_table(X[rare], y[rare])), COLUMNS, "active", {**OPTIONS, "budget": 1000}, 0)
    assert np.all(np.isfinite(found.w))
    assert len(found.state.pool) > 100
    assert auc(y[rare], X[rare] @ found.w) > 0.99


def test_weights_rows_of_weight_zero_stay_out_and_a_common_factor_changes_nothing(data):
    X, y = data
    weights = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    columns = Columns(("x",), "y", "s", ("id",))
    found = fit_on_engine(engine_of(list_table(X, y, s=weights), 2), columns, "active", OPTIONS, 0)
    scaled = fit_on_engine(engine_of(list_table(X, y, s=4 * weights), 3), columns, "active", OPTIONS, 0)
    np.testing.assert_array_equal(found.w, scaled.w)
    assert found.problem.positive_weights.min() > 0
    left = weights > 0
    assert found.counts.n_positive == np.count_nonzero(left & (y == 1))
    unweighted = fit_on_engine(engine_of(list_table(X, y)), COLUMNS, "active", OPTIONS, 0)
    assert not np.array_equal(found.w, unweighted.w)


def test_points_threshold_and_a_chosen_strength(data):
    table = list_table(*data)
    found = fit_on_engine(engine_of(table), COLUMNS, "active", {**OPTIONS, "gamma": 0.3, "threshold": True}, 0)
    assert np.any(~found.state.pool.is_pair)
    assert found.theta == found.state.solution.theta != 0
    chosen = fit_on_engine(engine_of(table), COLUMNS, "active", {**OPTIONS, "C": "auto", "budget": 1000}, 0)
    assert chosen.strength.path
    assert chosen.n_passes == 3


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": lambda y: y * 0}, "one class"),
        ({"y": lambda y: np.arange(len(y)) % 3}, "exactly two values"),
        ({"id": lambda ids: ids // 2}, "Two rows have one id"),
        ({"x": lambda x: np.where(np.arange(len(x)) == 0, np.nan, x)}, "contains NaN"),
    ],
)
def test_bad_data_is_refused_in_words(data, change, message):
    X, y = data
    columns = {"x": X[:500, 0].copy(), "z": X[:500, 1], "y": y[:500], "id": np.arange(500)}
    for name, change_of in change.items():
        columns[name] = change_of(columns[name])
    with pytest.raises(ValueError, match=message):
        fit_on_engine(engine_of(pa.table(columns)), Columns(("x", "z"), "y", None, ("id",)), "active", OPTIONS, 0)


def test_bad_columns_and_budgets_are_refused(data):
    engine = engine_of(list_table(*data))
    with pytest.raises(ValueError, match="no column 'w'; the columns are 'x', 'y', 'id'"):
        fit_on_engine(engine, Columns(("w",), "y", None, ("id",)), "active", OPTIONS, 0)
    with pytest.raises(ValueError, match="number of pairs or rows; got '30s'"):
        fit_on_engine(engine, COLUMNS, "active", {**OPTIONS, "budget": "30s"}, 0)
    with pytest.raises(ValueError, match="random_state must be a whole number"):
        fit_on_engine(engine, COLUMNS, "active", OPTIONS, "seed")
    text = pa.table({"a": ["u", "v"], "b": [1.0, 2.0], "y": [0, 1], "id": [0, 1]})
    with pytest.raises(ValueError, match="'a' is of type string; on an engine features are numbers"):
        fit_on_engine(engine_of(text, 1), Columns(("a", "b"), "y", None, ("id",)), "active", OPTIONS, 0)
    uneven = pa.table({"x": [[1.0], [1.0, 2.0]], "y": [0, 1], "id": [0, 1]})
    with pytest.raises(ValueError, match="one number of features"):
        fit_on_engine(engine_of(uneven, 2), COLUMNS, "active", OPTIONS, 0)


# The exact AUC


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("group_rows", [10, 700, 10**6])
def test_the_auc_of_all_rows_together(data, ties, group_rows):
    X, y = data
    w = np.array([1.0, -0.5, 0.25, 2.0, 0.0])
    if ties:
        X, w = np.round(X), np.array([1.0, -1.0, 1.0, 2.0, 0.0])
    expected = auc_interval(y, X @ w)
    got = auc_on_engine(engine_of(list_table(X, y), 5), COLUMNS, (0, 1), w, group_rows=group_rows)
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-12)
    assert got.auc == pytest.approx(auc(y, X @ w), abs=1e-15)


def test_the_auc_of_a_column_of_scores_and_of_hard_cases():
    rng = np.random.default_rng(0)
    cases = [
        (np.zeros(30), rng.integers(0, 2, 30)),
        (np.arange(10.0), np.arange(10) >= 5),
        (np.arange(4.0), np.array([0, 0, 1, 0])),
        (np.where(rng.random(500) < 0.5, -0.0, 0.0), rng.integers(0, 2, 500)),
    ]
    for scores, y in cases:
        y = y.astype(int)
        table = pa.table({"s": scores, "y": y})
        got = auc_on_engine(engine_of(table, 3), Columns(("s",), "y"), (0, 1), group_rows=3)
        np.testing.assert_allclose(got, auc_interval(y, scores), rtol=0, atol=1e-12)


def test_an_average_of_the_areas_of_partitions_is_another_number(data):
    X, y = data
    scores = X[:, 0] + np.linspace(0, 5, len(y))
    table = pa.table({"s": scores, "y": y})
    got = auc_on_engine(engine_of(table, 4), Columns(("s",), "y"), (0, 1)).auc
    parts = np.array_split(np.arange(len(y)), 4)
    assert abs(np.mean([auc(y[part], scores[part]) for part in parts]) - got) > 0.01
    bad = pa.table({"s": np.append(scores, np.nan), "y": np.append(y, 1)})
    with pytest.raises(ValueError, match="must be finite"):
        auc_on_engine(engine_of(bad), Columns(("s",), "y"), (0, 1))


def test_counts_and_labels():
    table = pa.table({"x": [1.0, 2.0, 3.0], "y": ["no", "yes", "no"]})
    counts = count_classes(engine_of(table, 2), Columns(("x",), "y"), "yes")
    assert (counts.labels, counts.n_negative, counts.n_positive, counts.n_features) == (("no", "yes"), 2, 1, 1)
    assert count_classes(engine_of(table, 2), Columns(("x",), "y"), by_meaning=True).labels == ("no", "yes")
    words = pa.table({"x": [1.0, 2.0, 3.0], "y": ["lost", "kept", "lost"]})
    assert count_classes(engine_of(words, 2), Columns(("x",), "y")).labels == ("kept", "lost")
    rarer = count_classes(engine_of(words, 2), Columns(("x",), "y"), by_meaning=True)
    assert (rarer.labels, rarer.n_negative, rarer.n_positive) == (("lost", "kept"), 2, 1)


# The command


@pytest.fixture(scope="module")
def parquet_folder(data, tmp_path_factory):
    X, y = data
    folder = tmp_path_factory.mktemp("parquet")
    names = [f"f{k}" for k in range(X.shape[1])]
    table = pa.table({**dict(zip(names, X.T, strict=True)), "y": y, "id": np.arange(len(y))})
    for k, start in enumerate(range(0, len(y), 5000)):
        parquet.write_table(table.slice(start, 5000), folder / f"part-{k}.parquet", row_group_size=2000)
    parquet.write_table(table, folder / "_all.parquet")
    return folder


def test_fit_engine_local_writes_a_model_of_the_same_bits_for_any_number_of_processes(parquet_folder, tmp_path):
    said = []
    for processes in (0, 2):
        model = tmp_path / f"model-{processes}.safetensors"
        options = ["--label", "y", "--drop", "id", "--budget", "300", "--random-state", "1"]
        options += ["--method", "active", "--sampling", "random"]
        done = run("fit", parquet_folder, "-o", model, *options, "--engine", f"local[{processes}]", "--json")
        assert done.returncode == 0, done.stderr
        said.append(json.loads(done.stdout))
    assert said[0]["rows"] == 12_000
    assert said[0]["passes"] == 4  # three rounds of 100 pairs
    first, second = (load_model(tmp_path / f"model-{processes}.safetensors") for processes in (0, 2))
    assert np.array_equal(first.coef_, second.coef_)
    done = run("evaluate", tmp_path / "model-0.safetensors", parquet_folder / "_all.parquet", "--json")
    assert json.loads(done.stdout)["auc"] > 0.8, done.stderr


def test_fit_engine_with_ids_does_not_depend_on_the_files(parquet_folder, tmp_path):
    options = ["--label", "y", "--ids", "id", "--budget", "200", "--random-state", "1", "--engine", "local[0]"]
    for number, path in enumerate((parquet_folder, parquet_folder / "_all.parquet")):
        done = run("fit", path, "-o", tmp_path / f"{number}.safetensors", *options)
        assert done.returncode == 0, done.stderr
        assert "rows came here" in done.stdout
    first, second = (load_model(tmp_path / f"{number}.safetensors") for number in (0, 1))
    assert np.array_equal(first.coef_, second.coef_)


@pytest.mark.parametrize(
    ("options", "status", "message"),
    [
        (["--engine", "flink://x"], 2, "--engine must be spark://HOST:PORT"),
        (["--engine", "local[0]", "--method", "exact"], 2, "--method auto or active"),
        (["--engine", "local[0]", "--budget", "30s"], 2, "number of pairs or rows"),
        (["--engine", "local[0]", "--impute", "mean"], 2, "columns of numbers"),
        (["--ids", "id"], 2, "--ids is for --engine"),
        (["--engine", "local[0]", "--weight", "nothing"], 1, "There is no column 'nothing'"),
    ],
)
def test_what_an_engine_cannot_do_is_said_in_one_line(parquet_folder, tmp_path, options, status, message):
    source = parquet_folder / "_all.parquet"
    done = run("fit", source, "-o", tmp_path / "model.safetensors", "--label", "y", *options)
    assert done.returncode == status
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "model.safetensors").exists()


@pytest.mark.parametrize("name", ["dask", "spark"])
def test_a_missing_extra_is_named_in_one_line(name):
    code = f"import sys; sys.modules['dask'] = sys.modules['pyspark'] = None; import pairsift.{name}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.strip().endswith(f'pip install "pairsift[{name}]"')
