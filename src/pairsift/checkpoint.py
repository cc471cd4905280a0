"""Checkpoints: a training that was killed goes on where it was, bit for bit.

A checkpoint is one safetensors file in a folder: the chosen terms with their dual variables, w and theta, the history,
the validation checks, and in its metadata the state of the random generator, the settings, a fingerprint of the data
and a checksum of all of it. It is written beside, forced to disk and renamed. Everything that a round needs follows
from it and from the rows; of samplers only the candidates are kept that the next round begins with.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from types import NoneType
from typing import Any, NamedTuple

import numpy as np

from pairsift import __version__
from pairsift._typing import AnyArray
from pairsift.active import Round, State
from pairsift.data.problem import Places, Problem
from pairsift.data.replacing import replacing
from pairsift.data.rows import CsrRows, DenseRows
from pairsift.pairs import COLUMNS, Pool
from pairsift.solvers.terms import DualSolution
from pairsift.validation import Validation

FILE = "checkpoint.safetensors"
FORMAT = 2
_METADATA_KEY, _CHECKSUM_KEY = "pairsift", "checksum"
_SECONDS_BETWEEN = 1.0
_SHARE_OF_TIME = 0.05  # that writing may take
_FINGERPRINT_ROWS = 500  # of each class
_POOL, _VALIDATION = "pool.", "validation."
_UNSEEN = ("unseen.i", "unseen.j")


class CheckpointError(ValueError):
    """A checkpoint that cannot be gone on from."""


class Spent(NamedTuple):
    """What a run has used: seconds, rows read where they are counted, and what the last rounds took of its limit."""

    seconds: float
    rows_read: int
    steps: Sequence[float]


@dataclass(frozen=True)
class Resumed:
    """What a checkpoint file holds, checked as far as that is possible without the rows."""

    path: Path
    facts: Mapping[str, Any]
    arrays: Mapping[str, AnyArray]

    @property
    def seconds(self) -> float:
        """Seconds of training before."""
        return float(self.facts["seconds"])

    @property
    def rows_read(self) -> int:
        """Rows read before, where they were counted."""
        return int(self.facts["rows_read"])

    @property
    def steps(self) -> list[float]:
        """What the last rounds took of a limit."""
        return list(self.facts["steps"])

    @property
    def reason(self) -> str | None:
        """Why the rounds were at their end, when only the last solve was missing."""
        reason: str | None = self.facts["reason"]
        return reason

    @property
    def first_random_state(self) -> Any:
        """The generator before anything was drawn, also not the validation part."""
        return self.facts["first_random_state"]

    @property
    def random_state(self) -> Any:
        """The generator after the last round."""
        return self.facts["random_state"]

    def state(self, problem: Problem, *, threshold: bool) -> State:
        """Return the state after the last round, with the rows of the problem."""
        columns = {name: self.arrays[_POOL + name] for name in COLUMNS}
        i, j = columns["i"], columns["j"]
        if np.any((i < -1) | (i >= problem.n_positive) | (j < -1) | (j >= problem.n_negative) | ((i < 0) & (j < 0))):
            raise _damaged(self.path, "a term lies outside of the data")
        pool = Pool.of(problem, columns, float(self.facts["scale"]), threshold=threshold)
        i, j = pool.unseen = self.arrays[_UNSEEN[0]].copy(), self.arrays[_UNSEEN[1]].copy()
        if np.any((i < 0) | (i >= problem.n_positive) | (j < 0) | (j >= problem.n_negative)):
            raise _damaged(self.path, "a candidate lies outside of the data")
        w = self.arrays["w"].copy()
        primal, gap, n_passes, converged = self.facts["solution"]
        solution = DualSolution(w, float(self.facts["theta"]), pool.alpha.copy(), primal, gap, n_passes, converged)
        history = tuple(Round(int(row[0]), int(row[1]), *row[2:]) for row in self.arrays["history"].tolist())
        return State(pool, solution, pool.scale * pool.value, history)

    def restore_validation(self, watch: Validation) -> None:
        """Give a validation part its checks back."""
        kept = {key.removeprefix(_VALIDATION): a for key, a in self.arrays.items() if key.startswith(_VALIDATION)}
        try:
            watch.restore(kept)
        except (KeyError, ValueError) as error:
            raise _damaged(self.path, str(error)) from error


class Checkpoint:
    """A consumer that keeps states in a folder: once a second, or less often where writing takes long.

    Parameters
    ----------
    folder : str or path
        Made if it is not there.
    settings : mapping
        What the run was asked for, fit for JSON; another run must ask for the same.
    resume : bool
        Go on from the checkpoint, if there is one; otherwise one that is there is refused.
    """

    def __init__(self, folder: str | os.PathLike[str], settings: Mapping[str, Any], *, resume: bool) -> None:
        self.path = Path(folder) / FILE
        self._settings = json.loads(json.dumps(dict(settings)))
        self._resume = resume
        self._last = -float("inf")
        self._took = 0.0
        Path(folder).mkdir(parents=True, exist_ok=True)
        if not resume and self.path.exists():
            raise CheckpointError(
                f"{self.path} is there from a run that did not end. Add --resume to go on with it, or remove it."
            )

    def load(self, problem: Problem) -> Resumed | None:
        """Return the checkpoint to go on from, None if there is none; raise `CheckpointError` if it does not fit."""
        self._fingerprint = fingerprint(problem)
        if not self._resume or not self.path.exists():
            return None
        resumed = _read(self.path)
        self._refuse_other_run(resumed.facts)
        if resumed.arrays["w"].shape != (problem.rows.n_features,):
            raise _damaged(self.path, "w has the wrong length")
        return resumed

    def begin(self, first_random_state: Any, rng: np.random.Generator, watch: Validation | None) -> None:
        """Say what belongs to a state besides the state itself."""
        self._first_random_state, self._rng, self._watch = first_random_state, rng, watch

    def __call__(self, state: State, reason: str | None, spent: Spent, *, now: bool) -> None:
        """Save a state if it is time to, or at once; `reason` says that no round shall follow."""
        started = perf_counter()
        if now or started - self._last >= max(_SECONDS_BETWEEN, self._took / _SHARE_OF_TIME):
            self._save(state, reason, spent)
            self._last = perf_counter()
            self._took = self._last - started

    def _save(self, state: State, reason: str | None, spent: Spent) -> None:
        from safetensors.numpy import save

        found, pool = state.solution, state.pool
        arrays: dict[str, AnyArray] = {_POOL + name: getattr(pool, name) for name in COLUMNS}
        arrays |= {"w": found.w, "history": np.array(state.history, dtype=np.float64)}
        arrays |= dict(zip(_UNSEEN, pool.unseen, strict=True))
        if self._watch is not None:
            arrays |= {_VALIDATION + name: array for name, array in self._watch.to_arrays().items()}
        facts = {
            "format": FORMAT,
            "version": __version__,
            "settings": self._settings,
            "data": self._fingerprint,
            "first_random_state": self._first_random_state,
            "random_state": self._rng.bit_generator.state,
            "scale": float(pool.scale),
            "theta": float(found.theta),
            "solution": [found.primal, found.gap, found.n_passes, bool(found.converged)],
            "reason": reason,
            **spent._asdict(),
        }
        text, arrays = json.dumps(facts), {name: np.ascontiguousarray(array) for name, array in arrays.items()}
        metadata = {_METADATA_KEY: text, _CHECKSUM_KEY: _checksum(text, arrays)}
        with replacing(self.path) as file:
            file.write(save(arrays, metadata))

    def remove(self) -> None:
        """Remove the checkpoint of a run that has ended."""
        self.path.unlink(missing_ok=True)

    def _refuse_other_run(self, facts: Mapping[str, Any]) -> None:
        if facts["version"] != __version__:
            raise CheckpointError(
                f"{self.path} was written by pairsift {facts['version']}, this is {__version__}; only the same version "
                "goes on with the same bits."
            )
        then = facts["settings"]
        for name in sorted({*then, *self._settings}):
            if then.get(name) != self._settings.get(name):
                raise CheckpointError(
                    f"{self.path} belongs to a run with {name} = {then.get(name)}; now it is "
                    f"{self._settings.get(name)}. Resume with the same settings, or begin anew: remove the file, or "
                    "name another folder."
                )
        if facts["data"] != self._fingerprint:
            raise CheckpointError(
                f"{self.path} belongs to other data. Resume with the data that the run began with, or begin anew: "
                "remove the file, or name another folder."
            )


def fingerprint(problem: Problem) -> dict[str, Any]:
    """Return counts of the data and a checksum of rows of each class at equal distances, with their weights."""
    digest = hashlib.blake2b(digest_size=16)
    for places, weights in (
        (problem.positives, problem.positive_weights),
        (problem.negatives, problem.negative_weights),
    ):
        at = np.unique(np.linspace(0, len(places) - 1, min(len(places), _FINGERPRINT_ROWS)).astype(np.int64))
        _add_rows(digest, problem, places, at)
        if weights is not None:
            digest.update(np.ascontiguousarray(weights[at]).tobytes())
    return {
        "positives": problem.n_positive,
        "negatives": problem.n_negative,
        "features": problem.rows.n_features,
        "checksum": digest.hexdigest(),
    }


def _add_rows(digest: Any, problem: Problem, places: Places, at: AnyArray) -> None:
    rows = problem.rows.take(places[at])
    if isinstance(rows, CsrRows):
        digest.update(np.diff(rows.starts).astype(np.int64).tobytes())
        digest.update(rows.columns.astype(np.int64).tobytes())
        digest.update(rows.values.tobytes())
    elif isinstance(rows, DenseRows):
        digest.update(rows.values.tobytes())


_KINDS = {
    **{_POOL + name: np.dtype(np.int64 if name in ("i", "j", "round") else np.float64) for name in COLUMNS},
    "w": np.dtype(np.float64),
    "history": np.dtype(np.float64),
    **dict.fromkeys(_UNSEEN, np.dtype(np.int64)),
}
_FACTS: dict[str, type | tuple[type, ...]] = {
    "version": str,
    "settings": dict,
    "data": dict,
    "first_random_state": dict,
    "random_state": dict,
    "scale": float,
    "theta": float,
    "solution": list,
    "seconds": float,
    "rows_read": int,
    "steps": list,
    "reason": (str, NoneType),
}


def _read(path: Path) -> Resumed:
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="np") as file:
            metadata = file.metadata() or {}
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - it is no mapping
        text, checksum = metadata[_METADATA_KEY], metadata[_CHECKSUM_KEY]
        facts = json.loads(text)
    except (SafetensorError, KeyError, ValueError) as error:
        raise _damaged(path, "it is not a checkpoint") from error
    if checksum != _checksum(text, arrays):
        raise _damaged(path, "its checksum is wrong")
    if not isinstance(facts, dict) or facts.get("format") != FORMAT:
        raise _damaged(path, "its format is not known")
    for name, kind in _FACTS.items():
        if not isinstance(facts.get(name), kind):
            raise _damaged(path, f"it does not say {name}")
    if len(facts["solution"]) != 4:
        raise _damaged(path, "its solution is not one")
    n = len(arrays["pool.i"]) if "pool.i" in arrays else -1
    for name, dtype in _KINDS.items():
        if name not in arrays or arrays[name].dtype != dtype or (name.startswith(_POOL) and arrays[name].shape != (n,)):
            raise _damaged(path, f"{name} is missing or has the wrong form")
    if not arrays[_UNSEEN[0]].ndim == 1 or arrays[_UNSEEN[0]].shape != arrays[_UNSEEN[1]].shape:
        raise _damaged(path, "its candidates are not pairs")
    history = arrays["history"]
    if history.shape[1:] != (len(Round._fields),) or len(history) == 0 or history[-1, 1] != n:
        raise _damaged(path, "its history does not belong to its terms")
    return Resumed(path, facts, arrays)


def _checksum(text: str, arrays: Mapping[str, AnyArray]) -> str:
    digest = hashlib.blake2b(text.encode(), digest_size=16)
    for name, array in sorted(arrays.items()):
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def _damaged(path: Path, reason: str) -> CheckpointError:
    return CheckpointError(f"{path}: a damaged checkpoint ({reason}). Remove it and start anew.")
