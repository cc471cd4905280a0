"""DaskRanker on a real cluster of worker processes."""

import os
import re
import signal
import threading
import time
from pathlib import Path

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow.parquet
import pytest
from distributed import Client, LocalCluster
from same_rows import OPTIONS
from scipy import sparse
from sklearn.base import clone

from pairsift import auc_interval, load_model, save_model
from pairsift.dask import DaskRanker
from test_cli import run


@pytest.fixture(scope="module")
def client():
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        yield client


def arrays(rows, n_partitions):
    chunk = -(-len(rows.y) // n_partitions)
    return da.from_array(rows.X, chunks=(chunk, -1)), da.from_array(rows.y, chunks=chunk)


def ids_of(rows, X):
    return da.from_array(rows.ids, chunks=X.chunks[0][0])


@pytest.mark.parametrize("n_workers", [1, 2, 4])
def test_the_bits_of_the_local_engine_for_any_number_of_workers(rows, reference, client, n_workers):
    client.cluster.scale(n_workers)
    client.wait_for_workers(n_workers)
    try:
        X, y = arrays(rows, n_workers + 2)
        model = DaskRanker(**OPTIONS).fit(X, y, ids=ids_of(rows, X))
    finally:
        client.cluster.scale(2)
    assert np.array_equal(model.coef_[0], reference[0])
    assert model.intercept_[0] == -reference[1]
    assert model.n_passes_ == 6


def test_frames_and_arrays_of_any_division_give_the_same_bits(rows, reference, client):
    frame = dd.from_pandas(pd.DataFrame(rows.X, columns=rows.names).assign(y=rows.y, id=rows.ids), npartitions=5)
    model = DaskRanker(**OPTIONS).fit(frame[rows.names], frame["y"], ids=frame["id"])
    assert np.array_equal(model.coef_[0], reference[0])
    assert model.feature_names_in_.tolist() == rows.names
    by_place = [DaskRanker(**OPTIONS).fit(*arrays(rows, n)).coef_ for n in (2, 5)]
    assert np.array_equal(*by_place)
    framed = DaskRanker(**OPTIONS).fit(frame[rows.names], frame["y"])
    assert np.array_equal(framed.coef_, by_place[0])


def test_a_worker_killed_in_the_middle_of_a_pass_changes_nothing(rows, reference, client):
    X, y = arrays(rows, 12)
    slow = X.map_blocks(lambda block: (time.sleep(0.15), block)[1], dtype=X.dtype, meta=np.empty((0, 0)))
    victim = min(client.run(os.getpid).values())
    killed = threading.Event()

    def kill():
        os.kill(victim, signal.SIGKILL)
        killed.set()

    threading.Timer(0.6, kill).start()
    model = DaskRanker(**OPTIONS).fit(slow, y, ids=ids_of(rows, X))
    assert killed.is_set()  # while the fit was running
    assert victim not in client.run(os.getpid).values()
    assert np.array_equal(model.coef_[0], reference[0])
    client.wait_for_workers(2)


def test_scores_labels_and_the_exact_auc(rows, client, tmp_path):
    X, y = arrays(rows, 3)
    model = clone(DaskRanker(**OPTIONS)).fit(X, y)
    scores = model.decision_function(X).compute()
    np.testing.assert_allclose(scores, rows.X @ model.coef_[0] + model.intercept_[0], rtol=0, atol=1e-12)
    assert np.array_equal(model.predict(X).compute(), (scores > 0).astype(int))
    np.testing.assert_allclose(model.auc_interval(X, y), auc_interval(rows.y, scores), rtol=0, atol=1e-12)
    assert model.score(X, y) == model.auc_interval(X, y).auc > 0.8
    save_model(model, tmp_path / "model.safetensors")
    assert np.array_equal(load_model(tmp_path / "model.safetensors").coef_, model.coef_)
    frame = dd.from_pandas(pd.DataFrame(rows.X, columns=rows.names).assign(y=rows.y), npartitions=4)
    framed = DaskRanker(**OPTIONS).fit(frame[rows.names], frame["y"])
    mixed = frame[["y", *rows.names[::-1]]]
    np.testing.assert_array_equal(framed.decision_function(mixed).compute(), scores)
    assert framed.score(mixed, frame["y"]) == model.score(X, y)


def test_sparse_blocks_and_weights(rows, client):
    thin = np.where(np.random.default_rng(0).random(rows.X.shape) < 0.2, rows.X, 0)
    dense = da.from_array(thin, chunks=(15_000, -1))
    _, y = dense, da.from_array(rows.y, chunks=15_000)
    weights = da.from_array(rows.weights, chunks=15_000)
    options = {**OPTIONS, "sampling": "random", "tol": 1e-9}
    csr = dense.map_blocks(sparse.csr_matrix)
    first = DaskRanker(**options).fit(dense, y, weights)
    second = DaskRanker(**options).fit(csr, y, weights)
    np.testing.assert_allclose(first.coef_, second.coef_, rtol=1e-3, atol=1e-5)
    assert second.score(csr, y) == pytest.approx(first.score(dense, y), abs=1e-4)


def test_bad_input_is_refused_in_words(rows, client):
    X, y = arrays(rows, 2)
    with pytest.raises(ValueError, match=r"must be a dask\.array or a dask\.dataframe; got ndarray"):
        DaskRanker().fit(rows.X, y)
    with pytest.raises(ValueError, match="divide them alike"):
        DaskRanker().fit(X, y.rechunk(5000))
    with pytest.raises(ValueError, match="contains NaN in column 0"):
        DaskRanker(method="active", sampling="random").fit(X * np.nan, y)
    with pytest.raises(ValueError, match="budget must be"):
        DaskRanker(budget=0).fit(X, y)
    with pytest.raises(ValueError, match=r'sampling is for method="active"; got sampling=.random. with method="auto"'):
        DaskRanker(sampling="random").fit(X, y)


def test_the_command_on_a_cluster(rows, client, tmp_path):
    pyarrow.parquet.write_table(rows.table(), tmp_path / "table.parquet", row_group_size=9000)
    options = ["--label", "label", "--drop", "weight", "--ids", "id", "--budget", "1000", "--random-state", "4"]
    options += ["--method", "active", "-o", str(tmp_path / "model.safetensors")]
    address = client.scheduler.address.replace("tcp://", "dask://")
    done = run("fit", tmp_path / "table.parquet", "--engine", address, *options)
    assert done.returncode == 0, done.stderr
    X, y = arrays(rows, 3)
    expected = DaskRanker(**OPTIONS).fit(X, y, ids=ids_of(rows, X))
    assert np.array_equal(load_model(tmp_path / "model.safetensors").coef_, expected.coef_)


def test_the_example_of_the_page_runs(client, capsys):
    page = (Path(__file__).parents[2] / "docs" / "clusters.md").read_text()
    (example,) = [block for block in re.findall(r"^```py\n(.*?)^```", page, re.M | re.S) if "DaskRanker" in block]
    exec(example, {})
    assert "AucInterval(auc=0.8" in capsys.readouterr().out
