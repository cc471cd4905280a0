"""``pairsift fit --engine``: training on a cluster, from Parquet."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

import click

from pairsift.cli.streams import say_positive

if TYPE_CHECKING:
    from pairsift.data.training import DataOptions
    from pairsift.engines.algorithm import EngineFit

_RUN = ("validation", "early_stopping")
_LOCAL = re.compile(r"local\[(\d+)\]")


def check_engine(
    engine: str, method: str, options: dict[str, Any], reading: DataOptions, others: Sequence[str | None]
) -> None:
    """Refuse, before anything is started, what an engine does not do."""
    from pairsift.engines.algorithm import check_engine_options
    from pairsift.engines.options import METHODS

    if not (engine.startswith(("spark://", "dask://")) or _LOCAL.fullmatch(engine)):
        raise click.UsageError(f"--engine must be spark://HOST:PORT, dask://HOST:PORT or local[N]; got {engine!r}.")
    if method not in METHODS or any(others) or options.get("validation") or options.get("early_stopping"):
        raise click.UsageError(
            "--engine trains by --method auto or active, without --checkpoint, --calibration, --scale, --holdout-by "
            "and --validation."
        )
    if reading.categorical or reading.impute or reading.format not in (None, "parquet"):
        raise click.UsageError("--engine reads Parquet with columns of numbers; --categorical and --impute do not go.")
    if reading.label is None:
        raise click.UsageError("--engine needs the column of the labels: --label COLUMN.")
    try:
        check_engine_options(method, _training(options))
    except ValueError as error:
        raise click.UsageError(str(error)) from error


def fit_on(
    engine: str,
    data: str,
    output: str,
    method: str,
    options: dict[str, Any],
    random_state: int | None,
    reading: DataOptions,
    ids: str | None,
) -> dict[str, Any]:
    """Train where the data are, write the model, and return the facts of the training."""
    from pairsift.engines.algorithm import fit_on_engine
    from pairsift.engines.columns import Columns

    started = time.perf_counter()
    training = _training(options)
    with _opened(engine, data, ids) as (opened, names, key):
        left_out = {reading.label, reading.weight, ids, *reading.drop}
        features = tuple(name for name in names if name not in left_out)
        if not features:
            raise ValueError(f"{data}: no column is left to learn from, besides the label.")
        assert reading.label is not None
        columns = Columns(features, reading.label, reading.weight, key)
        found = fit_on_engine(opened, columns, method, training, random_state, reading.positive, by_meaning=True)
    if reading.positive is None:
        say_positive(found.counts.labels, found.counts.n_positive, found.counts.n_rows)
    facts = {**found.facts(), "engine": engine, "seconds_fitting": round(time.perf_counter() - started, 3)}
    settings = {"method": method, **training, "random_state": random_state}
    _save(output, found, features, reading, {"settings": settings, "training": facts})
    return facts


def _training(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options that decide what is learned."""
    return {name: value for name, value in options.items() if name not in _RUN}


@contextmanager
def _opened(engine: str, data: str, ids: str | None) -> Iterator[tuple[Any, list[str], tuple[str, ...]]]:
    """Give the engine, the columns of the table, and those of the key."""
    from pairsift.engines.parts import FILE, FILE_ROW

    local = _LOCAL.fullmatch(engine)
    if engine.startswith("spark://"):
        with _spark(engine, data, ids) as opened:
            yield opened, [name for name in opened.names if name not in opened.key or name == ids], opened.key
        return
    from pairsift.data.tables import index_columns
    from pairsift.engines.parts import parquet_partitions

    partitions, schema = parquet_partitions(data)
    names = [name for name in schema.names if name not in index_columns(schema)]
    key = (FILE, FILE_ROW) if ids is None else (ids,)
    if local is not None:
        from pairsift.engines.local import LocalEngine

        with closing(LocalEngine(partitions, [*names, *key], processes=int(local[1]))) as opened:
            yield opened, names, key
        return
    from pairsift.engines.dask import DaskEngine, import_dask

    import_dask()
    from distributed import Client

    with Client("tcp://" + engine.removeprefix("dask://")):
        yield DaskEngine(partitions, [*names, *key]), names, key


@contextmanager
def _spark(address: str, data: str, ids: str | None) -> Iterator[Any]:
    from pairsift.engines.spark import SparkEngine, start_session

    if "://" not in data:
        os.stat(data)  # a wrong name is known before a session is started
        data = os.path.abspath(data)
    session = start_session(address)
    from pyspark.errors import PySparkException

    try:
        yield SparkEngine(session.read.parquet(data), ids)
    except PySparkException as error:
        first_line = str(error).strip().partition("\n")[0]
        raise ValueError(f"{data}: Spark could not do it ({first_line}).") from error
    finally:
        session.stop()


def _save(output: str, found: EngineFit, features: tuple[str, ...], reading: DataOptions, details: Any) -> None:
    import numpy as np

    from pairsift import __version__
    from pairsift.data.encoding import Column, Encoding
    from pairsift.data.scaling import Scaling
    from pairsift.model import LinearModel, save_model
    from pairsift.pair_features import sample_pair_features

    encoding = Encoding(tuple(Column(name, "number") for name in features), label=reading.label, weight=reading.weight)
    model = LinearModel(
        found.w[np.newaxis].copy(),
        np.array([0.0 - found.theta]),
        np.array(found.counts.labels),
        np.array(features, dtype=object),
        {**details, "pairsift_version": __version__},
        encoding,
        pair_features=sample_pair_features(found.problem, Scaling()),
    )
    save_model(model, output)
