"""Scores of a Spark data frame as a column, by a pandas UDF."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pairsift._typing import FloatArray
from pairsift.data.rows import MemoryRows, as_rows
from pairsift.data.tables import import_pyarrow
from pairsift.engines.columns import Columns, rows_of
from pairsift.linear_model import score_rows

_NAME = "features"
_WIDE = 1000  # vectors of more features are not written out
_VECTOR: dict[str, Callable[[], Any]] = {
    "type": lambda: import_pyarrow().int8(),
    "size": lambda: import_pyarrow().int32(),
    "indices": lambda: import_pyarrow().list_(import_pyarrow().int32()),
    "values": lambda: import_pyarrow().list_(import_pyarrow().float64()),
}


def score_column(frame: Any, features: Sequence[str], w: FloatArray, intercept: float) -> Any:
    """Return the column ``w . x + intercept`` of a frame with these columns of features."""
    from pyspark.ml.linalg import VectorUDT
    from pyspark.sql import functions
    from pyspark.sql.types import ArrayType

    known = {field.name: field.dataType for field in frame.schema.fields}
    missing = [name for name in features if name not in known]
    if missing:
        raise ValueError(f"There is no column {missing[0]!r}; the columns are {', '.join(map(repr, known))}.")
    kind = known[features[0]]
    columns = [functions.col("`" + name.replace("`", "``") + "`") for name in features]
    if isinstance(kind, VectorUDT):
        argument = functions.unwrap_udt(columns[0])
    elif isinstance(kind, ArrayType):
        argument = columns[0]
    else:
        argument = functions.struct(*(column.cast("double") for column in columns))

    # A lambda has no type hints: Spark would evaluate them, and they would have to name pandas at import.
    score = functions.pandas_udf(lambda batch: _scored(batch, w, intercept), "double", functions.PandasUDFType.SCALAR)
    return score(argument)


def _scored(batch: Any, w: FloatArray, intercept: float) -> Any:
    import pandas

    return pandas.Series(score_rows(_rows(batch, len(w)), w, intercept))


def _rows(batch: Any, n_features: int) -> MemoryRows:
    """Return a series of arrays, or a frame of vectors' parts or of columns of numbers, as rows."""
    pyarrow = import_pyarrow()
    if not hasattr(batch, "columns"):
        column = pyarrow.array(batch, pyarrow.list_(pyarrow.float64()), from_pandas=True)
    elif list(batch.columns) == list(_VECTOR):
        parts = [pyarrow.array(batch[name], kind(), from_pandas=True) for name, kind in _VECTOR.items()]
        column = pyarrow.StructArray.from_arrays(parts, list(_VECTOR))
    else:
        numbers = np.ascontiguousarray(batch.to_numpy(dtype=np.float64))
        return as_rows(numbers)
    table = pyarrow.record_batch({_NAME: column})
    return rows_of(table, Columns((_NAME,), ""), sparse=n_features > _WIDE)
