"""What a row store says about itself, and which buffer of a batch holds what.

The header is a JSON text under the key ``pairsift`` of the Arrow schema's metadata. Columns of the file:

    features   dense:  fixed_size_list<value>[n_features]
               sparse: large_list<struct<index, value>>, indices ascending within a row
    row        int64, the number of the row in the data that the store was made from
    positive   bool, for other tools: positives come first, so that the counts say the same
    weight     float64, only when there are sample weights

No column has nulls and nothing is compressed.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from pairsift.data.arrow_file import StoreFormatError

FORMAT_VERSION = 1
METADATA_KEY = "pairsift"

_FORMAT = "pairsift row store"
_VALUES = ("float32", "float64")
_INDICES = (None, "int32", "int64")


@dataclass(frozen=True)
class StoreHeader:
    """The contents of a row store in words and numbers.

    `labels` are the negative and the positive label as the data had them. `index` is None when the rows are dense.
    `extra` is free for whoever writes the store (for instance the encoding of a table's columns); it must be fit for
    JSON.
    """

    n_positive: int
    n_negative: int
    n_features: int
    value: str
    index: str | None = None
    has_weights: bool = False
    labels: tuple[Any, Any] = (0, 1)
    extra: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        counts = (self.n_positive, self.n_negative, self.n_features)
        if not all(isinstance(count, int) and not isinstance(count, bool) for count in counts):
            raise StoreFormatError(f"The counts of a row store must be integers; got {counts}.")
        if self.n_positive < 1 or self.n_negative < 1:
            raise StoreFormatError(
                "A row store needs rows of both classes; "
                f"got {self.n_positive} positive and {self.n_negative} negative rows."
            )
        if not 1 <= self.n_features < 2**62 or self.n_rows >= 2**62:
            raise StoreFormatError(f"A row store has at least one column; got {self.n_features}.")
        if self.value not in _VALUES or self.index not in _INDICES:
            raise StoreFormatError(
                f"A row store holds float32 or float64 (int32 or int64 indices); got {self.value!r}, {self.index!r}."
            )
        if self.index == "int32" and self.n_features > 2**31 - 1:
            raise StoreFormatError(f"{self.n_features} columns do not fit into int32 indices.")

    @property
    def n_rows(self) -> int:
        """N+ + N-."""
        return self.n_positive + self.n_negative

    @property
    def row_buffer(self) -> int:
        """Which buffer holds the original row numbers."""
        return 4 if self.index is None else 8

    @property
    def weight_buffer(self) -> int:
        """Which buffer holds the weights, when there are any."""
        return self.row_buffer + 4

    @property
    def n_buffers(self) -> int:
        """Number of buffers of a batch, validity bitmaps (which are empty) included."""
        return self.row_buffer + (5 if self.has_weights else 3)

    def minimum_sizes(self, rows: int) -> dict[int, int]:
        """Return the fewest bytes that each buffer of a batch of `rows` rows can have."""
        sizes = {self.row_buffer: 8 * rows}
        if self.index is None:
            sizes[DENSE_VALUES] = rows * self.n_features * np.dtype(self.value).itemsize
        else:
            sizes[SPARSE_STARTS] = 8 * (rows + 1)
        if self.has_weights:
            sizes[self.weight_buffer] = 8 * rows
        return sizes

    def to_json(self) -> str:
        """Return the header as it stands in the file."""
        return json.dumps({"format": _FORMAT, "version": FORMAT_VERSION, **asdict(self)})

    @classmethod
    def from_json(cls, text: str | None, name: str) -> StoreHeader:
        """Read the header of the file `name`; raise `StoreFormatError` when it is not one, or of a later version."""
        foreign = f"{name} is an Arrow file, but not a row store. Make one from it with `pairsift convert {name}`."
        try:
            content = json.loads(text or "null")
        except (ValueError, RecursionError) as error:
            raise StoreFormatError(foreign) from error
        if not isinstance(content, dict) or content.pop("format", None) != _FORMAT:
            raise StoreFormatError(foreign)
        version = content.pop("version", None)
        if version != FORMAT_VERSION:
            raise StoreFormatError(
                f"{name} is a row store of version {version!r}; this pairsift reads version {FORMAT_VERSION}. "
                "Update pairsift, or make the file again with `pairsift convert`."
            )
        try:
            labels = content.pop("labels")
            return cls(labels=_two_labels(labels), **content)
        except (KeyError, TypeError, ValueError) as error:
            raise StoreFormatError(f"The header of {name} is damaged: {error}") from error


DENSE_VALUES = 2
SPARSE_STARTS, SPARSE_INDICES, SPARSE_VALUES = 1, 4, 6


def _two_labels(labels: Any) -> tuple[Any, Any]:
    if not isinstance(labels, list) or len(labels) != 2 or not all(isinstance(k, (int, float, str)) for k in labels):
        raise ValueError(f"labels must be two numbers or texts; got {labels!r}")
    return labels[0], labels[1]
