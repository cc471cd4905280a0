"""Training on an engine beside the same training in memory: AUC over seeds, rows and bytes that travel, memory, time.

    python tools/measure_engines.py generated --rows 20000000     # rows in Parquet, made and removed again
    python tools/measure_engines.py covtype                       # the paper's set, from PAIRSIFT_DATA
    python tools/measure_engines.py covtype --method soft-correct --seeds 40 --rows-per-term 2     # by default 6
    python tools/measure_engines.py spark --rows 4000000          # one seed on a Spark cluster of two workers

The first two run the local engine, whose coefficients are those of Spark and Dask bit for bit (tests/engines); the last
one says so again for its seed, and what a pass costs there. Everything runs on this machine; nothing is written to the
project.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from pairsift import ActiveRankSVM, AutoRanker, auc, load_dataset
from pairsift.data.generate import GRAIN, RankingLaw
from pairsift.data.rows import DenseRows
from pairsift.engines import algorithm
from pairsift.engines.algorithm import Columns, fit_on_engine
from pairsift.engines.local import LocalEngine, TablePartition
from pairsift.engines.options import METHODS as ENGINE_METHODS
from pairsift.engines.parts import FILE, FILE_ROW, parquet_partitions

METHODS = {"soft-correct": "active", "auto": "auto"}
"""What is measured, and the method of an engine that does it."""
N_FEATURES = 10
PAPER_ROWS = 10**10
NAMES = tuple(f"f{k}" for k in range(N_FEATURES))
TEST_GRAINS = FILE_GRAINS = 244  # a million rows


class Timed:
    """An engine that notes the seconds of each pass, and the bytes of the tables that came back."""

    def __init__(self, engine: Any) -> None:
        self._engine = engine
        self.names, self.has_stable_keys = engine.names, engine.has_stable_keys
        self.seconds: list[float] = []
        self.moved_bytes = 0

    def map(self, work: Any, columns: Any) -> list[Any]:
        """Run a pass and note what it took."""
        started = time.perf_counter()
        tables = self._engine.map(work, columns)
        self.seconds.append(time.perf_counter() - started)
        self.moved_bytes += sum(table.nbytes for table in tables)
        return tables


def options_of(name: str) -> dict[str, Any]:
    """The parameters of both fits: the defaults of an engine."""
    method = METHODS[name]
    own = {"budget": algorithm.AUTO_ROWS} if method == "auto" else {"sampling": name}
    return {**ENGINE_METHODS[method], **own}


def law_of(n_grains: int) -> RankingLaw:
    """Rows with a best AUC of 0.9, one in twenty positive; the test rows are the last grains of the same law."""
    n_rows = (n_grains + TEST_GRAINS) * GRAIN
    return RankingLaw(n_rows, N_FEATURES, 0.05, 0.9, 0.05, None, np.float64, np.random.SeedSequence(0))


def rows_between(law: RankingLaw, first_grain: int, last_grain: int) -> tuple[Any, Any]:
    """Return rows and labels of some grains."""
    rows, positive = law.between(first_grain, last_grain)
    assert isinstance(rows, DenseRows)
    return rows.values, positive.astype(np.int64)


def write_parquet(law: RankingLaw, n_grains: int, folder: Path) -> None:
    """Write the training rows in files of a million rows; nothing but one of them is in memory."""
    for k, first in enumerate(range(0, n_grains, FILE_GRAINS)):
        X, y = rows_between(law, first, min(first + FILE_GRAINS, n_grains))
        table = pa.table({**dict(zip(NAMES, X.T, strict=True)), "y": y})
        parquet.write_table(table, folder / f"part-{k:04d}.parquet", compression="none")


def engine_fit(engine: Any, columns: Columns, name: str, seed: int) -> dict[str, Any]:
    """Train on an engine and return what it took."""
    timed = Timed(engine)
    started = time.perf_counter()
    found = fit_on_engine(timed, columns, METHODS[name], options_of(name), seed)
    seconds = time.perf_counter() - started
    facts = found.facts()
    return {
        "w": found.w,
        "rows_moved": facts["rows_moved"],
        "moved_bytes": timed.moved_bytes,
        "passes": facts["passes"],
        "seconds": seconds,
        "pass_seconds": [round(one, 2) for one in timed.seconds],
        "driver_seconds": seconds - sum(timed.seconds),
    }


def compare(name: str, seeds: int, engine: Any, columns: Columns, X: Any, y: Any, n_rows: int) -> dict[str, Any]:
    """Train by the engine with several seeds and return its line; the test rows are X and y."""
    fits = [engine_fit(engine, columns, name, seed) for seed in range(seeds)]
    areas = [auc(y, X @ one["w"]) for one in fits]
    last = fits[-1]
    return {
        "method": name,
        "auc_engine": [round(area, 5) for area in areas],
        "mean_engine": float(np.mean(areas)),
        "deviation_engine": float(np.std(areas, ddof=1)) if seeds > 1 else None,
        "rows": n_rows,
        **{fact: last[fact] for fact in last if fact != "w"},
        "share_moved": max(one["rows_moved"] for one in fits) / n_rows,
        "peak_memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def in_memory(name: str, seeds: int, train: tuple[Any, Any], test: tuple[Any, Any]) -> list[float]:
    """Return the AUC of the same fits in memory."""
    options = options_of(name)
    estimator = AutoRanker if METHODS[name] == "auto" else ActiveRankSVM
    models = [estimator(**options, random_state=seed).fit(*train) for seed in range(seeds)]
    return [auc(test[1], test[0] @ model.coef_[0]) for model in models]


def measure_generated(n_grains: int, seeds: int, folder: Path, names: Sequence[str]) -> list[dict[str, Any]]:
    """The engine first, while nothing else is in memory; then the same rows in memory."""
    law, n_rows = law_of(n_grains), n_grains * GRAIN
    write_parquet(law, n_grains, folder)
    partitions, schema = parquet_partitions(folder)
    engine = LocalEngine(partitions, [*schema.names, FILE, FILE_ROW])
    columns = Columns(NAMES, "y", None, (FILE, FILE_ROW))
    test = rows_between(law, n_grains, n_grains + TEST_GRAINS)
    lines = [compare(name, seeds, engine, columns, *test, n_rows) for name in names]
    train = rows_between(law, 0, n_grains)
    for line in lines:
        line["on_paper"] = on_paper(line, n_rows)
        _add_memory(line, in_memory(line["method"], seeds, train, test))
    return lines


def measure_covtype(seeds: int, names: Sequence[str]) -> list[dict[str, Any]]:
    """One split of covtype, a fifth for the test, drawn with seed 0."""
    X, y = load_dataset("covtype")[:2]
    X = np.ascontiguousarray(X.toarray())
    order = np.random.default_rng(0).permutation(len(y))
    test, train = order[: len(y) // 5], order[len(y) // 5 :]
    values = pa.FixedSizeListArray.from_arrays(pa.array(X[train].ravel()), X.shape[1])
    table = pa.table({"x": values, "y": y[train], "id": train})
    parts = [TablePartition(table.slice(start, 60_000)) for start in range(0, len(train), 60_000)]
    engine, columns = LocalEngine(parts, table.schema.names), Columns(("x",), "y", None, ("id",))
    lines = [compare(name, seeds, engine, columns, X[test], y[test], len(train)) for name in names]
    for line in lines:
        _add_memory(line, in_memory(line["method"], seeds, (X[train], y[train]), (X[test], y[test])))
    return lines


def measure_spark(n_grains: int, folder: Path, names: Sequence[str]) -> list[dict[str, Any]]:
    """One seed on a standalone cluster of two workers, beside the local engine."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "engines"))
    from spark_cluster import session, standalone

    from pairsift.engines.spark import BATCH_ROWS, SparkEngine

    table = folder / "table"
    table.mkdir()
    write_parquet(law_of(n_grains), n_grains, table)
    partitions, schema = parquet_partitions(table)
    columns = Columns(NAMES, "y", None, (FILE, FILE_ROW))
    local = LocalEngine(partitions, [*schema.names, FILE, FILE_ROW])
    lines = []
    with standalone(folder) as address:
        config = {
            "spark.sql.execution.arrow.maxRecordsPerBatch": str(BATCH_ROWS),
            "spark.executor.extraJavaOptions": "",
        }
        spark = session(address, **config)
        frame = spark.read.parquet(str(table))
        for name in names:
            here, there = (engine_fit(e, columns, name, 0) for e in (local, SparkEngine(frame)))
            same = bool(np.array_equal(here.pop("w"), there.pop("w")))
            facts = {"method": name, "rows": n_grains * GRAIN, "same_bits": same, "local": here, "spark": there}
            lines.append({**facts, "on_paper": on_paper(there, n_grains * GRAIN)})
        spark.stop()
    return lines


def on_paper(fit: dict[str, Any], n_rows: int) -> dict[str, Any]:
    """Return what the fit would take on ten thousand million rows: cost grows with the rows, what travels does not."""
    factor = PAPER_ROWS / n_rows
    row_bytes = 8 * (N_FEATURES + 1)
    return {
        "rows": PAPER_ROWS,
        "passes": fit["passes"],
        "core_hours": round(factor * sum(fit["pass_seconds"]) / 3600, 2),
        "terabytes_read": round(PAPER_ROWS * (8 + (fit["passes"] - 1) * row_bytes) / 1e12, 2),
        "megabytes_to_driver": round(fit["moved_bytes"] / 1e6, 1),
        "driver_seconds": round(fit["driver_seconds"], 2),
    }


def _add_memory(line: dict[str, Any], areas: list[float]) -> None:
    line["auc_memory"] = [round(area, 5) for area in areas]
    line["mean_memory"] = float(np.mean(areas))
    line["difference"] = line["mean_engine"] - line["mean_memory"]


def main() -> None:
    """Measure, and print one JSON object a line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("what", choices=["generated", "covtype", "spark"])
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--method", choices=list(METHODS), action="append")
    parser.add_argument("--rows-per-term", type=int, default=algorithm.ROWS_PER_TERM)
    given = parser.parse_args()
    algorithm.ROWS_PER_TERM = given.rows_per_term
    names = given.method or list(METHODS)
    n_grains = -(-given.rows // GRAIN)
    folder = Path(tempfile.mkdtemp(prefix="pairsift-engines-"))
    try:
        if given.what == "covtype":
            lines = measure_covtype(given.seeds, names)
        elif given.what == "generated":
            lines = measure_generated(n_grains, given.seeds, folder, names)
        else:
            lines = measure_spark(n_grains, folder, names)
    finally:
        shutil.rmtree(folder)
    for line in lines:
        print(json.dumps(line))


if __name__ == "__main__":
    main()
