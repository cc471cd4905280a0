"""The same rows for all engines."""

import numpy as np
import pyarrow as pa

from pairsift import make_ranking

OPTIONS = {
    "method": "active",
    "C": 0.1,
    "sampling": "soft-correct",
    "budget": 1000,
    "batch_size": 100,
    "random_state": 4,
}
ALL_OPTIONS = {
    **OPTIONS,
    "gamma": 1.0,
    "bias_correction": True,
    "threshold": False,
    "tol": 1e-3,
    "max_iter": 1000,
}
N_ROWS = 40_000


class Rows:
    """Rows with labels, weights, and ids in an order of their own."""

    def __init__(self):
        self.X, y = make_ranking(n_rows=N_ROWS, n_features=6, positive_rate=0.1, random_state=8)
        self.y = y.astype(np.int64)
        self.ids = np.random.default_rng(1).permutation(10 * N_ROWS)[:N_ROWS]
        self.weights = np.random.default_rng(2).integers(0, 4, N_ROWS).astype(float)
        self.names = [f"f{k}" for k in range(self.X.shape[1])]

    def table(self):
        columns = dict(zip(self.names, self.X.T, strict=True))
        return pa.table({**columns, "label": self.y, "weight": self.weights, "id": self.ids})
