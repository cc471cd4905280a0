"""Partitions on Spark: every pass is one `mapInArrow`, whose small tables are collected.

A small table travels as one binary value, an Arrow stream, so that Spark's own types change nothing in it. A task that
a dead executor had is run again by Spark, elsewhere; passes are pure, so that nothing changes.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Any
from urllib.parse import unquote, urlparse

import numpy as np

from pairsift.data.tables import import_pyarrow
from pairsift.engines.parts import FILE, FILE_ROW, ROW_ID
from pairsift.engines.passes import Batches, Pass, guarded
from pairsift.engines.protocol import Gather, Split

_PART = "part binary"
_LINES = "group int, positive boolean, score double"
BATCH_ROWS = 2**16
_ROWS_OF_A_PARTITION = 2**40


def import_pyspark() -> Any:
    """Import PySpark, or say in one line how to get it."""
    try:
        import pyspark.sql
    except ImportError as error:
        raise ValueError('Training on Spark needs PySpark 4: pip install "pairsift[spark]"') from error
    return pyspark


class SparkEngine:
    """A Spark data frame.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
    id_column : str, optional
        A column of ids. Without it the key of a row is its file and its place in there, where Spark knows them
        (``_metadata``), and else its place in its partition, which depends on how the frame is divided.
    keyed : bool
        Whether keys are needed.

    Attributes
    ----------
    key : tuple of str
        The columns of the key, for `Columns`.
    """

    def __init__(self, frame: Any, id_column: str | None = None, *, keyed: bool = True) -> None:
        import_pyspark()
        self.names: Sequence[str] = list(frame.columns)
        self._frame, self._root = plain_vectors(frame), ""
        self.key: tuple[str, ...] = (id_column,) if id_column is not None else (ROW_ID,)
        self.has_stable_keys = id_column is not None
        if keyed and id_column is None:
            self._look_for_files(frame)
            self.names = [*self.names, *self.key]

    def _look_for_files(self, frame: Any) -> None:
        from pyspark.errors import AnalysisException
        from pyspark.sql import functions

        with suppress(AnalysisException):  # the rows do not come straight from files
            place = [
                functions.col("_metadata.file_path").alias(FILE),
                functions.col("_metadata.row_index").alias(FILE_ROW),
            ]
            found = plain_vectors(frame.select("*", *place))
            files = [_local(name) for name in frame.inputFiles()]
            if files:
                self._frame, self.key, self.has_stable_keys = found, (FILE, FILE_ROW), True
                self._root = os.path.commonpath([os.path.dirname(name) for name in files])

    def map(self, work: Pass, columns: Sequence[str]) -> list[Any]:
        """Return the small table of each partition."""
        parts = self._select(columns).mapInArrow(partial(_run_pass, work, self._root, list(columns)), _PART)
        return _tables(parts.collect())

    def regroup(self, split: Split, gather: Gather, columns: Sequence[str], n_groups: int) -> list[Any]:
        """Split each partition, bring the lines of each group together, and return the small table of each group."""
        lines = self._select(columns).mapInArrow(partial(_run_split, split), _LINES)
        # A lambda has no type hints, by which Spark would choose what to give it.
        parts = lines.groupBy("group").applyInArrow(lambda group: _run_gather(gather, group), _PART)
        return _tables(parts.collect())

    def _select(self, columns: Sequence[str]) -> Any:
        from pyspark.sql import functions

        return self._frame.select(*(functions.col(_quoted(name)) for name in columns if name != ROW_ID))


def start_session(master: str) -> Any:
    """Return a Spark session on a master (``spark://host:port``, ``local[4]``) for the command line."""
    import_pyspark()
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # what workers run: it must know pairsift
    return (
        SparkSession.builder.master(master)
        .appName("pairsift")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.execution.arrow.maxRecordsPerBatch", str(BATCH_ROWS))
        .getOrCreate()
    )


def plain_vectors(frame: Any) -> Any:
    """Return the frame with its vectors as the structs that Arrow knows."""
    from pyspark.ml.linalg import VectorUDT
    from pyspark.sql import functions

    def plain(field: Any) -> Any:
        column = functions.col(_quoted(field.name))
        return functions.unwrap_udt(column).alias(field.name) if isinstance(field.dataType, VectorUDT) else column

    return frame.select(*(plain(field) for field in frame.schema.fields))


def _run_pass(work: Pass, root: str, columns: list[str], batches: Batches) -> Iterator[Any]:
    pyarrow = import_pyarrow()
    table = guarded(work, _with_keys(batches, root, columns))
    sink = pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    yield pyarrow.record_batch({"part": pyarrow.array([sink.getvalue().to_pybytes()], pyarrow.binary())})


def _run_split(split: Split, batches: Batches) -> Iterator[Any]:
    yield from split(batches)


def _run_gather(gather: Gather, lines: Any) -> Any:
    pyarrow = import_pyarrow()
    (part,) = _run_pass(lambda _: gather(lines), "", [], [])
    return pyarrow.Table.from_batches([part])


def _with_keys(batches: Batches, root: str, columns: list[str]) -> Iterator[Any]:
    """Give rows the key that only a worker knows: files are called by their path below the root, as everywhere."""
    pyarrow = import_pyarrow()
    first = 0
    for batch in batches:
        if FILE in columns:
            coded = batch.column(FILE).dictionary_encode()
            names = pyarrow.array([os.path.relpath(_local(name), root) for name in coded.dictionary.to_pylist()])
            renamed = pyarrow.DictionaryArray.from_arrays(coded.indices, names)
            batch = batch.set_column(batch.schema.get_field_index(FILE), FILE, renamed)
        elif ROW_ID in columns:
            from pyspark import TaskContext

            start = TaskContext.get().partitionId() * _ROWS_OF_A_PARTITION + first
            first += batch.num_rows
            batch = batch.append_column(ROW_ID, pyarrow.array(np.arange(start, start + batch.num_rows)))
        yield batch


def _tables(rows: Sequence[Any]) -> list[Any]:
    pyarrow = import_pyarrow()
    return [pyarrow.ipc.open_stream(bytes(row[0])).read_all() for row in rows]


def _local(name: str) -> str:
    """Return the path of a file's address."""
    return unquote(urlparse(name).path)


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
