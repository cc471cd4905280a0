"""Every test in this folder starts a real cluster: they belong to `make test-engines`, not to `make test`."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from same_rows import ALL_OPTIONS, Rows

from pairsift.engines.algorithm import Columns, fit_on_engine
from pairsift.engines.local import LocalEngine, TablePartition

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items):
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.engines)
            # What other projects warn of in their own code is not ours to mend.
            item.add_marker(pytest.mark.filterwarnings("default"))


@pytest.fixture(scope="session")
def rows():
    return Rows()


@pytest.fixture(scope="session")
def reference(rows):
    """The fit of the local engine: (w, theta)."""
    table = rows.table()
    cuts = np.linspace(0, table.num_rows, 4).astype(int)
    engine = LocalEngine([TablePartition(table.slice(a, b - a)) for a, b in pairwise(cuts)], table.schema.names)
    options = dict(ALL_OPTIONS)
    method, seed = options.pop("method"), options.pop("random_state")
    found = fit_on_engine(engine, Columns(tuple(rows.names), "label", None, ("id",)), method, options, seed)
    return found.w, found.theta
