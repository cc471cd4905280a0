"""Learning from a row store: the same bits as from arrays, in memory and time that do not grow with the rows."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from pairsift import ActiveRankSVM, RowStore, make_ranking
from pairsift.data.block_rows import BlockRows
from pairsift.data.blocks import ArrayBlocks, StoreBlocks
from pairsift.data.convert import convert
from pairsift.data.problem import make_problem
from pairsift.data.rows import as_rows
from pairsift.solvers.exact import fit_exact

SAMPLINGS = ["random", "soft-close", "soft-correct", "hard-close", "hard-correct"]


@pytest.mark.parametrize("sampling", SAMPLINGS)
@pytest.mark.parametrize(("dtype", "density", "gamma"), [("float32", None, 1.0), ("float64", 0.4, 0.5)])
def test_active_fit_has_the_bits_of_arrays(tmp_path, sampling, dtype, density, gamma):
    X, y = make_ranking(4000, 10, positive_rate=0.2, dtype=dtype, density=density, random_state=1)
    store = convert(ArrayBlocks(X, y, block_rows=333), tmp_path / "rows.arrow")
    model = ActiveRankSVM(budget=300, sampling=sampling, gamma=gamma, random_state=7)
    coefficients, intercept, pairs = _fitted(model.fit(X, y))
    from_store = _fitted(model.fit(store))
    assert coefficients.tobytes() == from_store[0].tobytes()
    assert intercept.tobytes() == from_store[1].tobytes()
    # Original row numbers, whatever the order of the store is.
    for name in ("i", "j"):
        assert np.array_equal(pairs[name], from_store[2][name])
    rows = pairs["i"][pairs["i"] >= 0]
    assert np.all(y[rows] == 1)


def _fitted(model):
    return model.coef_.copy(), np.array(model.intercept_), model.pairs_


def test_active_fit_with_weights(tmp_path):
    X, y = make_ranking(2000, 5, positive_rate=0.2, random_state=1)
    weights = np.random.default_rng(0).integers(0, 3, 2000).astype(float)
    store = convert(ArrayBlocks(X, y, weights, block_rows=100), tmp_path / "rows.arrow")
    model = ActiveRankSVM(sampling="soft-correct", budget=200, random_state=0)
    coefficients = model.fit(X, y, sample_weight=weights).coef_.copy()
    assert coefficients.tobytes() == model.fit(store).coef_.tobytes()


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_exact_fit_over_store_and_blocks(tmp_path, loss):
    """Sums run in the order of the rows, so the arrays are put in the order of the store."""
    store = make_ranking(3000, 6, positive_rate=0.2, random_state=1, path=tmp_path / "rows.arrow")
    rows = as_rows(store.between(0, 3000).values)
    problems = [
        make_problem(rows, store.positive_between(0, 3000)),
        store.problem(),
        BlockRows(StoreBlocks(store, block_bytes=5000)).problem(),
    ]
    fits = [fit_exact(problem, C=10.0, loss=loss).w for problem in problems]
    for other in fits[1:]:
        assert np.allclose(fits[0], other, rtol=1e-3, atol=1e-4)
    assert fits[1].tobytes() == fits[2].tobytes()


@pytest.mark.slow
def test_memory_and_time_do_not_grow_with_the_rows(tmp_path):
    """The command that measures 20,000,000 rows, at 2,000,000; CPU time is judged, as the machine may be busy."""
    tools = Path(__file__).parent.parent / "tools"
    command = [sys.executable, str(tools / "measure_store.py"), "--folder", str(tmp_path), "--rows", "2000000"]
    done = subprocess.run([*command, "--json", "--repeat", "3"], check=False, stdout=subprocess.PIPE, text=True)
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["private"] < 500e6
    assert found["grown"] < 100e6
    assert found["cpu_ratio"] < 2.0
    assert found["auc"] > 0.88
    assert not list(tmp_path.iterdir())


def test_a_store_that_changes_during_a_fit_stops_it(tmp_path):
    path = tmp_path / "rows.arrow"
    store = make_ranking(2000, 4, random_state=0, path=path)
    with open(path, "ab") as file:
        file.write(b"more")
    with pytest.raises(ValueError, match="was changed since it was opened"):
        ActiveRankSVM(sampling="soft-correct", budget=100, random_state=0).fit(store)
    with pytest.raises(ValueError, match="does not end as an Arrow IPC file"):
        RowStore(path)
