"""Results stores with made-up cells, for the tests of tables and report."""

from pairsift.experiments.paper import paper
from pairsift.experiments.results import Cell, Outcome, Results, settings_key

BASE = {"C": 0.1, "budget": 8000, "batch_size": 100, "scale_C": 1.0}
MACHINE = "a machine of <b>2</b> cores"


class Filler:
    """Puts cells into a store in short calls."""

    def __init__(self, path):
        self.results = Results(path, create=True)
        self.results._connection.execute("PRAGMA synchronous = OFF")  # nothing here has to survive a power cut
        self.results.set_fact("mode", "full")

    def put(self, experiment, dataset, method, value=None, *, fold=0, pool=0, seconds=None, **given):
        """Put one cell, done with AUC `value` unless `status` says otherwise; settings, `curve`, `reason` by name."""
        status, reason, curve = given.pop("status", "done"), given.pop("reason", None), given.pop("curve", None)
        when = given.pop("when", "2026-01-01T00:00:00+00:00")
        result = given.pop("result", {} if value is None else {"auc": value})
        if curve is not None:
            result = {**result, "curve": curve}
        cell = Cell(experiment, dataset, fold, method, pool, settings_key({**BASE, **given}))
        outcome = Outcome(status, reason, result, seconds, seconds, 1, "0.1.0", MACHINE, when)
        self.results.put(cell, outcome)

    def put_pools(self, experiment, dataset, method, values, **given):
        """Put one cell a pool."""
        for pool, value in enumerate(values):
            self.put(experiment, dataset, method, value, pool=pool, **given)


def curve(last, size=8, step=1000):
    """Return a curve that rises to `last`."""
    pairs = [step * (k + 1) for k in range(size)]
    return {
        "pairs": pairs,
        "auc": [last - 0.1 / (k + 1) + 0.1 / size for k in range(size)],
        "rejected": [0.0] + [2.0 + k for k in range(1, size)],
    }


SPREAD = (-1.0, 0.5, -0.5, 1.0, 0.0)


def fill_like_the_paper(path, sets):
    """Fill a store with the paper's own numbers for some sets (name in the paper -> here), five pools around each."""
    filler = Filler(path)
    for name, here in sets.items():
        for method, value in paper()["auc"]["rows"][name].items():
            std = value.get("std")
            if std is None:
                filler.put("auc", here, method, value["mean"])
                continue
            # The same deviations for all samplers would have no paired variance: each has its own order.
            order = len(method) % 5
            spread = (*SPREAD[order:], *SPREAD[:order])
            for pool, step in enumerate(spread):
                mean = value["mean"] + max(std, 1e-5) * step
                filler.put("auc", here, method, mean, pool=pool, curve=curve(mean))
        for method, seconds in paper()["time"]["rows"][name].items():
            filler.put("time", here, method, 0.5, seconds=seconds)
        for method, gain in paper()["bias"]["rows"].get(name, {}).items():
            value = paper()["auc"]["rows"][name][method]
            for pool in range(5):
                corrected = next(row for row in filler.results.rows("auc", here, method) if row.pool == pool).result[
                    "auc"
                ]
                filler.put("bias", here, method, min(1.0, corrected - gain), pool=pool, bias_correction=False)
            assert value
        row = paper()["statistics"]["rows"][name]
        statistics = {key: row[key] for key in ("points", "pairs", "dimension", "auc")}
        statistics |= {"positives": row["positive"], "negatives": row["negative"], "differs": {}}
        filler.put("data", here, "statistics", result=statistics)
    return filler
