"""SparkRanker on a real standalone cluster: a master and two workers."""

import json
import os
import re
import signal
import threading
import time
import warnings
from pathlib import Path

import numpy as np
import pyarrow.parquet
import pytest
from pyspark.ml import Pipeline, PipelineModel
from pyspark.ml.evaluation import BinaryClassificationEvaluator
from pyspark.ml.feature import VectorAssembler
from pyspark.ml.linalg import Vectors
from pyspark.ml.tuning import CrossValidator, CrossValidatorModel, ParamGridBuilder
from pyspark.sql import functions as F
from same_rows import ALL_OPTIONS, OPTIONS
from spark_cluster import LOOPBACK, executors, session, standalone

import pairsift.spark
from pairsift import auc_interval, load_model, save_model
from pairsift.engines.algorithm import Columns, fit_on_engine
from pairsift.engines.local import LocalEngine
from pairsift.engines.parts import FILE, FILE_ROW, parquet_partitions
from pairsift.spark import SparkRanker, SparkRankerModel
from test_cli import run


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("spark")


@pytest.fixture(scope="module")
def spark(folder):
    with standalone(folder) as address:
        spark = session(address)
        yield spark
        spark.stop()


@pytest.fixture(scope="module")
def parquet(rows, folder):
    """The rows in three files of several row groups."""
    target = folder / "table"
    target.mkdir()
    table = rows.table()
    for k, start in enumerate(range(0, table.num_rows, 15_000)):
        pyarrow.parquet.write_table(table.slice(start, 15_000), target / f"part-{k}.parquet", row_group_size=4000)
    return target


@pytest.fixture(scope="module")
def frame(spark, parquet):
    return spark.read.parquet(str(parquet))


@pytest.mark.parametrize("n_partitions", [2, 3, 8])
def test_the_bits_of_the_local_engine_for_any_number_of_partitions(rows, reference, frame, n_partitions):
    divided = frame.repartition(n_partitions)
    assert divided.rdd.getNumPartitions() == n_partitions
    model = SparkRanker(featuresCols=rows.names, idCol="id", **OPTIONS).fit(divided)
    assert np.array_equal(model.coefficients, reference[0])
    assert model.intercept == -reference[1]
    assert model.model.details["training"]["passes"] == 6


def test_vectors_and_arrays_give_the_same_bits(rows, reference, frame):
    vectors = VectorAssembler(inputCols=rows.names, outputCol="features").transform(frame)
    model = SparkRanker(idCol="id", **OPTIONS).fit(vectors)
    assert np.array_equal(model.coefficients, reference[0])
    arrays = frame.withColumn("features", F.array(*rows.names))
    assert np.array_equal(SparkRanker(idCol="id", **OPTIONS).fit(arrays).coefficients, reference[0])


def test_places_in_files_are_keys_where_there_are_no_ids(rows, frame, parquet):
    partitions, schema = parquet_partitions(parquet)
    engine = LocalEngine(partitions, [*schema.names, FILE, FILE_ROW])
    options = dict(ALL_OPTIONS)
    method, seed = options.pop("method"), options.pop("random_state")
    columns = Columns(tuple(rows.names), "label", None, (FILE, FILE_ROW))
    local = fit_on_engine(engine, columns, method, options, seed)
    ranker = SparkRanker(featuresCols=rows.names, **OPTIONS)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        model = ranker.fit(frame)
    assert np.array_equal(model.coefficients, local.w)
    kept = frame.where("f0 > -100").withColumn("more", F.col("f0") * 2)
    assert np.array_equal(ranker.fit(kept).coefficients, local.w)


def test_rows_without_any_key_are_fitted_with_a_warning(rows, spark, frame):
    counted = frame.groupBy(*rows.names, "label").count()
    with pytest.warns(UserWarning, match="depend on how the frame is divided"):
        model = SparkRanker(featuresCols=rows.names, **OPTIONS).fit(counted)
    assert model.auc_interval(frame).auc > 0.8


def test_an_executor_killed_in_the_middle_of_a_pass_changes_nothing(rows, reference, spark, frame, folder):
    slow = F.udf(lambda value: (time.sleep(0.0001), value)[1], "double")
    divided = frame.repartition(8).withColumn("f0", slow("f0"))
    before = executors(folder)
    assert len(before) == 2
    killed = threading.Event()

    def kill():
        os.kill(before[0], signal.SIGKILL)
        killed.set()

    threading.Timer(4, kill).start()
    model = SparkRanker(featuresCols=rows.names, idCol="id", **OPTIONS).fit(divided)
    assert killed.is_set()  # while the fit was running
    assert before[0] not in executors(folder)
    assert np.array_equal(model.coefficients, reference[0])


def test_cross_validation_in_a_pipeline_whose_best_model_saves_and_loads(rows, frame, tmp_path):
    assembler = VectorAssembler(inputCols=rows.names, outputCol="features")
    ranker = SparkRanker(idCol="id", budget=300, random_state=0)
    grid = ParamGridBuilder().addGrid(ranker.C, [1e-6, 0.1]).build()
    search = CrossValidator(
        estimator=Pipeline(stages=[assembler, ranker]),
        estimatorParamMaps=grid,
        evaluator=BinaryClassificationEvaluator(),
        numFolds=2,
        seed=0,
    )
    few = frame.where("id % 20 = 0")
    found = search.fit(few)
    assert len(found.avgMetrics) == 2
    assert max(found.avgMetrics) > 0.8
    best = found.bestModel
    best.write().save(str(tmp_path / "best"))
    loaded = PipelineModel.load(str(tmp_path / "best"))
    assert np.array_equal(loaded.stages[-1].coefficients, best.stages[-1].coefficients)
    assert loaded.stages[-1].getOrDefault("C") == best.stages[-1].getOrDefault("C")
    first, second = (model.transform(few).select("rawPrediction").collect() for model in (best, loaded))
    assert first == second
    search.write().save(str(tmp_path / "search"))
    again = CrossValidator.load(str(tmp_path / "search"))
    assert again.getEstimator().getStages()[-1].getOrDefault("budget") == 300
    found.write().save(str(tmp_path / "found"))
    assert CrossValidatorModel.load(str(tmp_path / "found")).avgMetrics == found.avgMetrics


def test_transform_and_the_exact_auc(rows, frame, spark, tmp_path):
    model = SparkRanker(featuresCols=rows.names, idCol="id", weightCol="weight", **OPTIONS).fit(frame)
    scored = model.transform(frame).select("id", "rawPrediction", "prediction").toPandas().set_index("id")
    expected = rows.X @ model.coefficients + model.intercept
    scores = scored.loc[rows.ids, "rawPrediction"].to_numpy()
    np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-12)
    assert np.array_equal(scored.loc[rows.ids, "prediction"], (expected > 0).astype(float))
    np.testing.assert_allclose(model.auc_interval(frame), auc_interval(rows.y, scores), rtol=0, atol=1e-12)
    by_column = pairsift.spark.auc_interval(model.transform(frame))
    np.testing.assert_allclose(by_column, auc_interval(rows.y, scores), rtol=0, atol=1e-12)
    save_model(model.model, tmp_path / "model.safetensors")
    assert np.array_equal(load_model(tmp_path / "model.safetensors").coef_[0], model.coefficients)
    model.save(str(tmp_path / "model"))
    loaded = SparkRankerModel.load(str(tmp_path / "model"))
    assert np.array_equal(loaded.coefficients, model.coefficients)
    assert loaded.uid == model.uid


def test_the_example_of_the_page_runs(spark, parquet, capsys):
    page = (Path(__file__).parents[2] / "docs" / "clusters.md").read_text()
    (example,) = [block for block in re.findall(r"^```py\n(.*?)^```", page, re.M | re.S) if "SparkRanker" in block]
    exec(example, {"spark": spark, "path": str(parquet)})
    assert "AucInterval(auc=0." in capsys.readouterr().out


def test_sparse_vectors_and_text_labels(spark):
    rng = np.random.default_rng(0)
    lines = []
    for k in range(600):
        at = np.sort(rng.choice(2000, 5, replace=False))
        label = "yes" if 3 in at or rng.random() < 0.3 else "no"
        lines.append((k, label, Vectors.sparse(2000, at.tolist(), [1.0] * 5)))
    frame = spark.createDataFrame(lines, ["id", "label", "features"])
    model = SparkRanker(idCol="id", budget=500, random_state=0).fit(frame)
    scored = model.transform(frame).collect()
    assert {row["prediction"] for row in scored} == {"yes", "no"}
    y = np.array([row["label"] == "yes" for row in scored])
    scores = np.array([row["rawPrediction"] for row in scored])
    np.testing.assert_allclose(model.auc_interval(frame), auc_interval(y, scores), rtol=0, atol=1e-12)


def test_bad_input_is_refused_in_words(rows, frame):
    with pytest.raises(ValueError, match="There is no column 'nothing'"):
        SparkRanker(featuresCol="nothing", idCol="id").fit(frame)
    bad = frame.withColumn("f0", F.lit(float("nan")))
    with pytest.raises(ValueError, match="contains NaN in column 0"):
        SparkRanker(featuresCols=rows.names, idCol="id").fit(bad)
    with pytest.raises(ValueError, match="one class"):
        SparkRanker(featuresCols=rows.names, idCol="id").fit(frame.where("label = 1"))
    with pytest.raises(ValueError, match="no coefficients"):
        _ = SparkRankerModel().model


def test_the_command_on_the_cluster(rows, reference, spark, parquet, tmp_path):
    """Its session needs executors of its own: the other one is stopped, and this is the last test."""
    address = spark.conf.get("spark.master")
    spark.stop()
    options = ["--label", "label", "--drop", "weight", "--ids", "id", "--budget", "1000", "--random-state", "4"]
    options += ["--method", "active", "-o", str(tmp_path / "model.safetensors"), "--json"]
    done = run("fit", parquet, "--engine", address, *options, env={**os.environ, **LOOPBACK})
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["passes"] == 6
    assert np.array_equal(load_model(tmp_path / "model.safetensors").coef_[0], reference[0])
