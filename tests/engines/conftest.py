"""Every test in this folder starts a real cluster: they belong to `make test-engines`, not to `make test`."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from pairsift import make_ranking
from pairsift.engines.algorithm import Columns, fit_on_engine
from pairsift.engines.local import LocalEngine, TablePartition

HERE = Path(__file__).parent
OPTIONS = {"C": 0.1, "sampling": "soft-correct", "budget": 1000, "batch_size": 100, "random_state": 4}
N_ROWS = 40_000


def pytest_collection_modifyitems(items):
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.engines)
            # What other projects warn of in their own code is not ours to mend.
            item.add_marker(pytest.mark.filterwarnings("default"))


class Rows:
    """The same rows for all engines, with ids in an order of their own."""

    def __init__(self):
        self.X, y = make_ranking(n_rows=N_ROWS, n_features=6, positive_rate=0.1, random_state=8)
        self.y = y.astype(np.int64)
        self.ids = np.random.default_rng(1).permutation(10 * N_ROWS)[:N_ROWS]
        self.weights = np.random.default_rng(2).integers(0, 4, N_ROWS).astype(float)
        self.names = [f"f{k}" for k in range(self.X.shape[1])]

    def table(self):
        columns = dict(zip(self.names, self.X.T, strict=True))
        return pa.table({**columns, "label": self.y, "weight": self.weights, "id": self.ids})


@pytest.fixture(scope="session")
def rows():
    return Rows()


@pytest.fixture(scope="session")
def reference(rows):
    """The fit of the local engine: (w, theta)."""
    table = rows.table()
    cuts = np.linspace(0, table.num_rows, 4).astype(int)
    engine = LocalEngine([TablePartition(table.slice(a, b - a)) for a, b in pairwise(cuts)], table.schema.names)
    options = {**OPTIONS, "gamma": 1.0, "bias_correction": True, "threshold": False, "tol": 1e-3, "max_iter": 1000}
    seed = options.pop("random_state")
    found = fit_on_engine(engine, Columns(tuple(rows.names), "label", None, ("id",)), options, seed)
    return found.w, found.theta
