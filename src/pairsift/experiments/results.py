"""The results store: one SQLite file, one row a cell, each committed when the cell has ended.

Schema
------
Table ``cells``; the primary key is (experiment, dataset, fold, method, pool, settings).

=========== ===========================================================================================================
experiment  where the cell is computed; experiments share cells, see below
dataset     name in the registry (``MQ2008``, ``connect-4``), not the paper's
fold        0 to 4; 0 where the paper has a test file
method      name in `pairsift.experiments.methods`, without parameters: ``wsvm``, ``soft-close``
pool        number of the initial pool, from 0; deterministic methods have pool 0 only (``time``: repeats)
settings    JSON with sorted keys: ``C``, ``budget``, ``batch_size``, ``scale_C``, and what differs from the defaults of
            the method, ``gamma`` (number or "uniform"), ``threshold``, ``bias_correction``; ``inner_folds`` in ``tune``
status      "done", "failed", "out of time" or "data not here"
reason      why it is not done; else NULL
result      JSON, {} unless done; see below
train_cpu   CPU seconds of the training alone (NULL unless done)
train_wall  wall seconds of the same
seed        what the cell drew from: a function of (dataset, fold, pool), not of the method
version     of pairsift
machine     processor, cores, Python and NumPy
finished_at UTC, ISO 8601
=========== ===========================================================================================================

Table ``facts(name, value)``: ``mode`` ("full" or "quick"), ``seeds`` and the like. A store holds one mode.

Which experiment holds what
---------------------------
``data``          one cell a set, method "statistics": ``points, positives, negatives, pairs (2 N+ N-), dimension, auc``
                  ("CV" or "test"), and ``differs`` (what is known to differ from the paper's row, with the reason)
``auc``           wsvm, eranksvm, crr, random, soft-close, soft-correct at gamma = 1: also the soft samplers of the
                  tables soft against hard and bias, gamma = 1 without threshold of the table gamma, and all curves
``hard``          hard-close, hard-correct (and their curves: bank and news20 stand for the paper's figure)
``bias``          soft-close, soft-correct with ``bias_correction`` false
``time``          eight methods, run alone
``gamma``         soft-close, soft-correct with ``gamma`` and ``threshold``; gamma = 1 is in ``auc``: there the
                  threshold cancels, so that "1-th" is "1". Compare on the (fold, pool) that both have.
``large_budget``  wsvm, eranksvm, crr, random, soft-close, soft-correct at the ``budget`` of the settings
``large_problem`` the same methods on the sets of the paper's figure "Potential Problem with Larger Budget"
``tune``          seven methods on the first outer fold, one cell a ``scale_C``: ``auc`` is the mean over
                  ``inner_folds`` inner folds, ``inner`` the values. With ``inner_folds`` 0 (quick) it is the AUC on
                  the test rows.
``fair``          seven methods at the ``scale_C`` that ``tune`` chose

Results: ``auc`` on the test rows; samplers have ``rejected`` (draws in all) and ``curve``, lists of equal length:
``pairs`` (the size of L*), ``auc``, ``rejected`` (a pair accepted since the last entry; the initial pool rejects none).
A data set that is not here has one row a method, fold 0 and pool 0.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, NamedTuple, get_args

Status = Literal["done", "failed", "out of time", "data not here"]
STATUSES: tuple[Status, ...] = get_args(Status)

_OTHER_JOURNAL = bytes.fromhex("d9d505f920a163d7")  # the end of a journal that names one of several databases


class Cell(NamedTuple):
    """What names a cell; `settings` is JSON with sorted keys, made by `settings_key`."""

    experiment: str
    dataset: str
    fold: int
    method: str
    pool: int
    settings: str


@dataclass(frozen=True)
class Outcome:
    """How a cell ended; the fields are the columns of the store."""

    status: Status
    reason: str | None = None
    result: Mapping[str, Any] = field(default_factory=dict)
    train_cpu: float | None = None
    train_wall: float | None = None
    seed: int | None = None
    version: str = ""
    machine: str = ""
    finished_at: str = ""


@dataclass(frozen=True)
class Row(Outcome):
    """A row of the store: a cell and how it ended, with its settings as a dictionary."""

    experiment: str = ""
    dataset: str = ""
    fold: int = 0
    method: str = ""
    pool: int = 0
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def cell(self) -> Cell:
        """What names the row."""
        return Cell(self.experiment, self.dataset, self.fold, self.method, self.pool, settings_key(self.settings))


def settings_key(settings: Mapping[str, Any]) -> str:
    """Return settings as the text that names them: the same settings give the same text."""
    return json.dumps(settings, sort_keys=True, separators=(",", ":"), allow_nan=False)


_KEY = Cell._fields
_VALUES = tuple(column.name for column in fields(Outcome))
_COLUMNS = (*_KEY, *_VALUES)
_SCHEMA = f"""
CREATE TABLE IF NOT EXISTS cells (
  experiment TEXT NOT NULL, dataset TEXT NOT NULL, fold INTEGER NOT NULL, method TEXT NOT NULL, pool INTEGER NOT NULL,
  settings TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN {STATUSES!r}),
  reason TEXT, result TEXT NOT NULL, train_cpu REAL, train_wall REAL, seed INTEGER,
  version TEXT NOT NULL, machine TEXT NOT NULL, finished_at TEXT NOT NULL,
  PRIMARY KEY ({", ".join(_KEY)})
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
"""


def _has_journal(path: Path) -> bool:
    """Whether there is a journal beside a store; one that names another file is refused, since SQLite may delete it."""
    journal = path.with_name(f"{path.name}-journal")
    if not journal.is_file():
        return False
    with journal.open("rb") as file:
        file.seek(-min(len(_OTHER_JOURNAL), journal.stat().st_size), os.SEEK_END)
        if file.read() == _OTHER_JOURNAL:
            raise ValueError(f"{journal} is no journal of pairsift reproduce: it names another file. Remove it.")
    return True


class Results:
    """An open store.

    Parameters
    ----------
    path
        The SQLite file.
    create
        Make the file and its tables if they are not there. Otherwise the store is opened for reading only, but
        for what a run that was killed has half written, which is taken back.

    Raises
    ------
    ValueError
        The file is not there, or is no store of results.
    """

    def __init__(self, path: str | Path, *, create: bool = False) -> None:
        self.path = Path(path)
        if not create and not self.path.is_file():
            raise ValueError(f"{self.path} is not there; make it with: pairsift reproduce -o {self.path}")
        # A run that was killed leaves a journal, by which SQLite takes back what was half written: it has to write.
        has_journal = _has_journal(self.path)
        mode = "rwc" if create else "rw" if has_journal else "ro"
        try:
            self._connection = sqlite3.connect(f"{self.path.absolute().as_uri()}?mode={mode}", timeout=60, uri=True)
        except sqlite3.Error as error:
            raise ValueError(f"{self.path} cannot be opened: {error}.") from error
        try:
            if create:
                self._connection.executescript(_SCHEMA)
            self._connection.execute("SELECT count(*) FROM cells, facts").fetchone()
            if not create:
                self._connection.execute("PRAGMA query_only = ON")
        except sqlite3.Error as error:
            self._connection.close()
            raise ValueError(f"{self.path} is no store of results of pairsift reproduce: {error}.") from error

    def __enter__(self) -> Results:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def put(self, cell: Cell, outcome: Outcome) -> None:
        """Write how a cell ended, over what was there, and commit."""
        values = {**asdict(outcome), "result": json.dumps(outcome.result, sort_keys=True)}
        row = (*cell, *(values[name] for name in _VALUES))
        marks = ",".join("?" * len(_COLUMNS))
        with self._naming_faults(), self._connection:
            self._connection.execute(f"REPLACE INTO cells ({','.join(_COLUMNS)}) VALUES ({marks})", row)

    def remove(self, cells: Iterable[Cell]) -> None:
        """Forget cells, and commit."""
        where = " AND ".join(f"{name} = ?" for name in _KEY)
        with self._naming_faults(), self._connection:
            self._connection.executemany(f"DELETE FROM cells WHERE {where}", list(cells))

    def statuses(self) -> dict[Cell, Status]:
        """Return the status of every cell that is in the store."""
        with self._naming_faults():
            rows = self._connection.execute(f"SELECT {','.join(_KEY)}, status FROM cells").fetchall()
        return {Cell(*row[:-1]): row[-1] for row in rows}

    def rows(
        self,
        experiment: str | None = None,
        dataset: str | None = None,
        method: str | None = None,
        status: Status | None = None,
        **settings: Any,
    ) -> list[Row]:
        """Return rows in the order of their keys, the pools of a fold in a run.

        Parameters
        ----------
        experiment, dataset, method, status
            Only rows with this value.
        **settings
            Only rows whose settings have these values; None is for settings that the row does not state, as in
            ``rows("bias", budget=8000, gamma=None)``.
        """
        wanted = {"experiment": experiment, "dataset": dataset, "method": method, "status": status}
        given = {name: value for name, value in wanted.items() if value is not None}
        where = " AND ".join(f"{name} = ?" for name in given) or "1"
        order = "experiment, dataset, method, settings, fold, pool"
        query = f"SELECT {','.join(_COLUMNS)} FROM cells WHERE {where} ORDER BY {order}"
        with self._naming_faults():
            found = [_row(values) for values in self._connection.execute(query, tuple(given.values()))]
        return [row for row in found if all(row.settings.get(name) == value for name, value in settings.items())]

    @property
    def facts(self) -> dict[str, str]:
        """What is true of the whole store: ``mode`` and so on."""
        with self._naming_faults():
            found = self._connection.execute("SELECT name, value FROM facts").fetchall()
            if not all(isinstance(text, str) for fact in found for text in fact):
                raise ValueError("its facts are not text")
        return dict(found)

    def set_fact(self, name: str, value: str) -> None:
        """Write a fact of the whole store, and commit."""
        with self._naming_faults(), self._connection:
            self._connection.execute("REPLACE INTO facts VALUES (?, ?)", (name, value))

    @contextmanager
    def _naming_faults(self) -> Iterator[None]:
        """Word what SQLite says of a full disk or a damaged file, and what is wrong with a row."""
        try:
            yield
        except (sqlite3.Error, ValueError) as error:
            raise ValueError(f"{self.path}: the store of results cannot be used ({error}).") from error


def _row(values: tuple[Any, ...]) -> Row:
    row = dict(zip(_COLUMNS, values, strict=True))
    return Row(**{**row, "settings": _object(row["settings"]), "result": _object(row["result"])})


def _object(text: Any) -> dict[str, Any]:
    """Read a JSON object; what is none, or holds NaN, is refused."""
    try:
        content = json.loads(text, parse_constant=_refuse_constant)
    except (TypeError, RecursionError) as error:
        raise ValueError(f"a JSON object is required, not {text!r}") from error
    if not isinstance(content, dict):
        raise ValueError(f"a JSON object is required, not {text!r}")
    return content


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is no number")
