"""``pairsift demo``: the main job on built-in data."""

from __future__ import annotations

import json
import time
from typing import Any, NamedTuple

import click

from pairsift.cli.options import JSON

_WRITTEN_ROWS = 40_000


class _Line(NamedTuple):
    method: str
    auc: float
    low: float
    high: float
    seconds: float
    rows: str


@click.command()
@click.option("--rows", type=click.IntRange(min=1000), default=500_000, show_default=True, help="Rows to generate.")
@click.option("--random-state", type=int, default=0, show_default=True, help="Seed of data and method.")
@click.option("--write", metavar="FOLDER", help="Only write train.svm and test.svm there, to try the commands on.")
@JSON
def demo(rows: int, random_state: int, write: str | None, as_json: bool) -> None:
    """Compare AutoRanker with logistic regression on generated rows and on a small real set."""
    if write is not None:
        _write_files(write, random_state)
        return
    results = []
    for title, data in (
        (
            f"Generated: {rows:,} rows x 50 features, 1 % positive, best possible AUC 0.90",
            _generated(rows, random_state),
        ),
        ("Real: breast cancer (569 rows x 30 features, ships with scikit-learn)", _breast_cancer(random_state)),
    ):
        lines = _compare(*data, random_state)
        results.append({"data": title, "methods": [line._asdict() for line in lines]})
        if not as_json:
            _show(title, lines)
    if as_json:
        click.echo(json.dumps(results))
    else:
        click.echo(
            "\nAUC is the chance that a positive held-out row scores above a negative one, with its 95 % interval.\n"
            "Where the intervals overlap widely, as they may here, the simpler method is as good: measure on your own\n"
            "data before you choose. Next, with rows to try on, or a file of your own in the place of train.svm:\n"
            f"  {_own_name()} demo --write .\n"
            f"  {_own_name()} fit train.svm -o model.safetensors"
        )


def _own_name() -> str:
    """Return what to type to call this program: its name, where the shell finds it by that, or its path."""
    import os
    import shlex
    import shutil
    import sys

    found = shutil.which("pairsift")
    here = sys.argv[0]
    if os.path.basename(here) != "pairsift" or (found is not None and os.path.samefile(found, here)):
        return "pairsift"
    return shlex.quote(here)


def _write_files(folder: str, seed: int) -> None:
    """Write generated rows as svmlight text; other files of these names are the user's, and stay as they are."""
    from pathlib import Path

    from pairsift.data.generate import make_ranking
    from pairsift.data.replacing import replacing

    X, y = make_ranking(_WRITTEN_ROWS, 10, positive_rate=0.05, auc=0.9, label_noise=0.05, random_state=seed)
    half = _WRITTEN_ROWS // 2
    paths = [Path(folder) / name for name in ("train.svm", "test.svm")]
    texts = [_as_svmlight(X[part], y[part]) for part in (slice(half), slice(half, None))]
    for path, text in zip(paths, texts, strict=True):
        if path.exists() and path.read_bytes() != text:
            raise ValueError(f"{path} is there already, and is left as it is; name another folder.")
    for path, text in zip(paths, texts, strict=True):
        with replacing(path) as file:
            file.write(text)
        click.echo(f"{path}: {half:,} generated rows with 10 features, 5 % positive")


def _as_svmlight(X: Any, y: Any) -> bytes:
    lines = []
    for label, row in zip(y.tolist(), X.tolist(), strict=True):
        values = " ".join(f"{column}:{value:.4f}" for column, value in enumerate(row, start=1))
        lines.append(f"{label} {values}\n")
    return "".join(lines).encode()


def _generated(rows: int, seed: int) -> tuple[Any, Any, Any, Any]:
    from sklearn.model_selection import train_test_split

    from pairsift import make_ranking

    X, y = make_ranking(rows, 50, positive_rate=0.01, random_state=seed)
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2, stratify=y, random_state=seed)
    return X_train, y_train, X_test, y_test


def _breast_cancer(seed: int) -> tuple[Any, Any, Any, Any]:
    from sklearn.datasets import load_breast_cancer
    from sklearn.model_selection import train_test_split
    from sklearn.preprocessing import StandardScaler

    X, y = load_breast_cancer(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.4, stratify=y, random_state=seed)
    scaler = StandardScaler().fit(X_train)
    return scaler.transform(X_train), y_train, scaler.transform(X_test), y_test


def _compare(X: Any, y: Any, X_test: Any, y_test: Any, seed: int) -> list[_Line]:
    from sklearn.linear_model import LogisticRegression

    from pairsift import AutoRanker, auc_interval

    lines = []
    for name, model in (
        ("AutoRanker", AutoRanker(random_state=seed)),
        ("logistic regression", LogisticRegression(class_weight="balanced", max_iter=1000)),
    ):
        started = time.perf_counter()
        model.fit(X, y)
        seconds = time.perf_counter() - started
        interval = auc_interval(y_test, model.decision_function(X_test))
        used = f"{len(y):,} rows"
        if isinstance(model, AutoRanker):
            used = f"{model.n_rows_.sum():,} of {used}"
        lines.append(_Line(name, *interval, seconds, used))
    return lines


def _show(title: str, lines: list[_Line]) -> None:
    click.echo(f"\n{title}")
    click.echo(f"  {'method':<21}{'held-out AUC':<26}{'training':>10}   trained on")
    for line in lines:
        interval = f"{line.auc:.4f} ({line.low:.4f} to {line.high:.4f})"
        click.echo(f"  {line.method:<21}{interval:<26}{line.seconds:>8.2f} s   {line.rows}")
