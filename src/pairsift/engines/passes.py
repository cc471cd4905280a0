"""What runs beside the data: functions from the record batches of one partition to a small Arrow table.

They are pure (a partition that is read again after a lost worker gives the same table), and engines send them to their
workers by name, with the few numbers that they carry. Whatever is wrong with the data is returned as a table too, so
that the message reaches the user as it was written, through whatever an engine wraps around errors.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from pairsift._typing import AnyArray, BoolArray, FloatArray
from pairsift.data.learn_encoding import plain_labels
from pairsift.data.rows import CsrRows, DenseRows, MemoryRows
from pairsift.data.table_blocks import positives_of
from pairsift.data.tables import TableError, import_pyarrow
from pairsift.engines.columns import TABLE, Columns, count_stored, rows_of, weights_of
from pairsift.engines.keys import ALL, draw_order, key_words

Batches = Iterable[Any]
Pass = Callable[[Batches], Any]
"""A function over the record batches of a partition that returns a small pyarrow Table."""

FAULT = b"pairsift.fault"
MOST_LABELS = 1000


def guarded(work: Pass, batches: Batches) -> Any:
    """Run a pass; a `ValueError` becomes a table that carries its message."""
    pyarrow = import_pyarrow()
    try:
        return work(batches)
    except ValueError as error:
        return pyarrow.table({}).replace_schema_metadata({FAULT: str(error).encode()})


def checked(table: Any) -> Any:
    """Return the table of a pass; raise the `ValueError` that it carries, if any."""
    fault = (table.schema.metadata or {}).get(FAULT)
    if fault is not None:
        raise ValueError(fault.decode())
    return table


@dataclass(frozen=True)
class CountRows:
    """Count the rows of each label, and see how wide and how full the features are.

    Returns one line a label: label, rows, rows of a weight above zero; the metadata have the width of the features
    and, of vectors, how many numbers are not zero.
    """

    columns: Columns

    def __call__(self, batches: Batches) -> Any:
        """Return the counts of a partition."""
        rows: Counter[Any] = Counter()
        weighted: Counter[Any] = Counter()
        widths, n_stored = set(), 0
        for batch in batches:
            if batch.num_rows:
                self._count(batch, rows, weighted)
                stored = count_stored(batch, self.columns)
                widths.add(stored.n_features)
                n_stored += stored.n_stored
        present = [label for label, count in rows.items() if count]
        lines = {
            "label": present,
            "rows": [rows[label] for label in present],
            "weighted": [weighted[label] for label in present],
        }
        metadata = {"widths": " ".join(map(str, sorted(widths))), "n_stored": str(n_stored)}
        return import_pyarrow().table(lines).replace_schema_metadata(metadata)

    def _count(self, batch: Any, rows: Counter[Any], weighted: Counter[Any]) -> None:
        codes, labels = plain_labels(batch.column(self.columns.label), self.columns.label, TABLE)
        weights = weights_of(batch, self.columns)
        above = codes if weights is None else codes[weights > 0]
        for counter, places in ((rows, codes), (weighted, above)):
            for label, count in zip(labels, np.bincount(places, minlength=len(labels)).tolist(), strict=True):
                counter[label] += count
        if len(rows) > MOST_LABELS:
            raise ValueError(
                f"The label column {self.columns.label!r} has more than {MOST_LABELS} different values; two are "
                "required. Is it the right column?"
            )


@dataclass(frozen=True)
class Reach:
    """Bounds on the scores of all rows for the w of a pass.

    A pair whose margin is at least 1 is drawn with chance 0 and has no loss. So a positive that is `highest_negative`
    + 1 or more, and a negative that is `lowest_positive` - 1 or less, can be in no pair that matters: it stays home.
    """

    lowest_positive: float = -np.inf
    highest_negative: float = np.inf

    def matters(self, scores: FloatArray, positive: BoolArray) -> BoolArray:
        """Return whether each row can be in a pair with a margin below 1."""
        inside: BoolArray = np.where(
            positive, scores < self.highest_negative + 1, scores > self.lowest_positive - 1
        ).astype(bool)
        return inside


@dataclass(frozen=True)
class DrawRows:
    """Draw rows of each class by their order in this pass (`pairsift.engines.keys`).

    Attributes
    ----------
    columns : Columns
    labels : tuple
        The negative and the positive label.
    sparse : bool
    seed, number
        Of the draw: its words, and the number of the pass.
    wanted, limits : (negatives, positives)
        How many rows are wanted at most, and the limit of order that is expected to give them.
    w : array, optional
        The current weights: then rows are scored, and those that do not matter by `reach` stay home.
    reach : Reach
    """

    columns: Columns
    labels: tuple[Any, Any]
    sparse: bool
    seed: tuple[int, int]
    number: int
    wanted: tuple[int, int]
    limits: tuple[int, int]
    w: FloatArray | None = None
    reach: Reach = Reach()

    def __call__(self, batches: Batches) -> Any:
        """Return the drawn rows in the order of the draw, with what is known of all rows in the metadata."""
        pyarrow = import_pyarrow()
        parts, seen = [], Seen()
        for batch in batches:
            drawn = self._draw(batch, seen) if batch.num_rows else None
            if drawn is not None:
                parts.append(drawn)
                if len(parts) > 1 and sum(part.num_rows for part in parts) > 4 * max(sum(self.wanted), 1000):
                    parts = [self._smallest(pyarrow.concat_tables(parts))]
        if not parts:
            return pyarrow.table({}).replace_schema_metadata(seen.metadata())
        return self._smallest(pyarrow.concat_tables(parts)).replace_schema_metadata(seen.metadata())

    def _draw(self, batch: Any, seen: Seen) -> Any:
        positive = positives_of(batch, self.columns.label, self.labels, TABLE)
        weights = weights_of(batch, self.columns)
        high, low = key_words([batch.column(name) for name in self.columns.key])
        order = draw_order(self.seed, self.number, high, low)
        chosen = _below(order, positive, self.limits)
        if weights is not None:
            chosen &= weights > 0
        scores = None
        if self.w is not None:
            rows = rows_of(batch, self.columns, sparse=self.sparse)
            scores = rows.scores_between(self.w, 0, rows.n_rows)
            matters = self.reach.matters(scores, positive)
            seen.add(rows, scores, positive, chosen & ~matters)
            chosen &= matters
        at = np.flatnonzero(chosen)
        if not len(at):
            return None
        taken = rows_of(batch.take(import_pyarrow().array(at)), self.columns, sparse=self.sparse)
        lines = {
            "positive": positive[at],
            "order": order[at],
            "key_high": high[at],
            "key_low": low[at],
            "score": np.zeros(len(at)) if scores is None else scores[at],
            "weight": np.ones(len(at)) if weights is None else weights[at],
        }
        return import_pyarrow().table({**lines, **_row_columns(taken)})

    def _smallest(self, table: Any) -> Any:
        """Keep the rows of each class that stand first, with all those that stand level with the last."""
        positive, order = table["positive"].to_numpy(), table["order"].to_numpy()
        keep = np.zeros(len(order), dtype=bool)
        for side, wanted in enumerate(self.wanted):
            places = np.flatnonzero(positive == bool(side))
            if len(places) > wanted:
                places = places[order[places] <= np.partition(order[places], wanted - 1)[wanted - 1]]
            keep[places] = True
        return table.take(import_pyarrow().array(np.flatnonzero(keep)))


class Seen:
    """What one partition knows of all its rows: extreme scores and the longest row, and how many stayed home."""

    def __init__(self) -> None:
        self.lowest_positive, self.highest_negative = np.inf, -np.inf
        self.longest, self.stayed_home = 0.0, 0

    def add(self, rows: MemoryRows, scores: FloatArray, positive: BoolArray, home: BoolArray) -> None:
        """Look at the rows of a batch; `home` are those that would have been drawn."""
        norms = np.empty(rows.n_rows)
        rows.kernel.squared_norms(0, rows.n_rows, norms)
        self.longest = max(self.longest, float(np.sqrt(norms.max(initial=0.0))))
        self.lowest_positive = min(self.lowest_positive, float(np.min(scores[positive], initial=np.inf)))
        self.highest_negative = max(self.highest_negative, float(np.max(scores[~positive], initial=-np.inf)))
        self.stayed_home += int(np.count_nonzero(home))

    def metadata(self) -> dict[str, str]:
        """Return it as text that keeps every bit."""
        return {
            "lowest_positive": self.lowest_positive.hex(),
            "highest_negative": self.highest_negative.hex(),
            "longest": self.longest.hex(),
            "stayed_home": str(self.stayed_home),
        }

    def merge(self, metadata: dict[bytes, bytes]) -> None:
        """Take in what another partition saw."""
        text = {name.decode(): value.decode() for name, value in metadata.items()}
        self.lowest_positive = min(self.lowest_positive, float.fromhex(text["lowest_positive"]))
        self.highest_negative = max(self.highest_negative, float.fromhex(text["highest_negative"]))
        self.longest = max(self.longest, float.fromhex(text["longest"]))
        self.stayed_home += int(text["stayed_home"])


@dataclass(frozen=True)
class ScoreRows:
    """The class and the score of each row: ``w . x``, or a column of scores that is there already."""

    columns: Columns
    labels: tuple[Any, Any]
    sparse: bool = False
    w: FloatArray | None = None

    def __call__(self, batch: Any) -> tuple[BoolArray, FloatArray]:
        """Return (positive, scores)."""
        positive = positives_of(batch, self.columns.label, self.labels, TABLE)
        if self.w is None:
            scores = _score_column(batch.column(self.columns.features[0]), self.columns.features[0])
        else:
            rows = rows_of(batch, self.columns, sparse=self.sparse)
            scores = rows.scores_between(self.w, 0, rows.n_rows)
        return positive, scores + 0.0  # -0 and 0 are one score


@dataclass(frozen=True)
class SampleScores:
    """Some scores of a partition at equal distances in their order, to find cuts by."""

    score: ScoreRows
    count: int

    def __call__(self, batches: Batches) -> Any:
        """Return (score, rows that it stands for)."""
        scores = [self.score(batch)[1] for batch in batches if batch.num_rows]
        every = np.sort(np.concatenate([np.empty(0), *scores]))
        at = np.unique(np.linspace(0, len(every) - 1, min(len(every), self.count)).astype(np.int64))
        share = np.full(len(at), len(every) / max(len(at), 1))
        return import_pyarrow().table({"score": every[at], "rows": share})


@dataclass(frozen=True)
class SplitScores:
    """Class and score of every row, with the group that it falls into: equal scores into one group."""

    score: ScoreRows
    cuts: FloatArray

    def __call__(self, batches: Batches) -> Iterator[Any]:
        """Yield (group, positive, score)."""
        pyarrow = import_pyarrow()
        for batch in batches:
            if batch.num_rows:
                positive, scores = self.score(batch)
                group = np.searchsorted(self.cuts, scores, side="right").astype(np.int32)
                yield pyarrow.record_batch({"group": group, "positive": positive, "score": scores})


def _below(order: AnyArray, positive: BoolArray, limits: tuple[int, int]) -> BoolArray:
    below = np.ones(len(order), dtype=bool)
    for side, limit in enumerate(limits):
        if limit < ALL:
            below &= (positive != bool(side)) | (order < np.uint64(limit))
    return below


def _row_columns(rows: MemoryRows) -> dict[str, Any]:
    """Return rows as columns of lists, as `pairsift.engines.drawn` reads them."""
    pyarrow = import_pyarrow()
    if isinstance(rows, DenseRows):
        return {"values": pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(rows.values.ravel()), rows.n_features)}
    assert isinstance(rows, CsrRows)
    starts = pyarrow.array(rows.starts.astype(np.int64))
    return {
        "columns": pyarrow.LargeListArray.from_arrays(starts, pyarrow.array(rows.columns.astype(np.int64))),
        "values": pyarrow.LargeListArray.from_arrays(starts, pyarrow.array(rows.values)),
    }


def _score_column(array: Any, name: str) -> FloatArray:
    from pairsift.data.encoding import numbers_of

    scores = numbers_of(array, name, TABLE)
    if not np.all(np.isfinite(scores)):
        raise TableError(f"The score column {name!r} holds missing values, NaN or infinity; scores must be finite.")
    return scores
