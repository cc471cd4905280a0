"""Measure how time and memory of a fit grow with rows, columns, stored values, budget, noise and imbalance.

    python tools/measure_scaling.py -o scaling.json --picture scaling.svg
    python tools/measure_scaling.py --from scaling.json --picture scaling.svg
    python tools/measure_scaling.py --small

Data are generated (d = 10, float32, unless a sweep says otherwise); stores are written to a temporary folder, which the
largest takes 5 GB of, and deleted at the end. Every point is a process of its own. All points of a sweep are alive at
the same time and fit in turns, so that a machine that slows down slows all of them; the least CPU time of `--repeat`
turns counts. In `--samplings`, "auto" is AutoRanker at C = 800, timed without its measurement on held-out rows; other
names are samplings of ActiveRankSVM. The one pass over y (checks, and which rows are positive) is timed apart. Before
each timed fit a store is read through, so that the cache is warm whatever else the machine does. Memory is what a fit
takes beyond the rows: the growth of private (anonymous) memory at its peak. `--from` may be given several times, for a
run in pieces.

Ends with the two ratios that pairsift promises, and status 1 when one does not hold. `--small` measures little, and
promises nothing.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from anonymous_memory import anonymous_bytes, anonymous_peak

BASE: dict[str, Any] = {
    "kind": "memory",
    "rows": 100_000,
    "features": 10,
    "stored": None,
    "budget": 8000,
    "noise": 0.05,
    "positive_rate": 0.1,
}
TEST_GRAINS = 25  # of 4096 rows each
HIDDEN_AUC = 0.9  # of the best scoring function before label noise
NS_PER_ROW = 15.0
RATIOS = (("memory", 10**5, 10**7, 1.3), ("store", 10**6, 10**8, 1.5))
WHERE = {"memory": "rows in memory", "store": "row store"}
LABELS = {
    "rows": "rows N",
    "features": "columns d (dense, 10^5 rows)",
    "stored": "values a row stores (10^5 columns)",
    "budget": "budget B",
    "noise": "label noise",
    "positive_rate": "share of positives (10^6 rows)",
}


SMALL: dict[str, list[dict[str, Any]]] = {
    "rows": [{"kind": kind, "rows": rows} for kind in ("memory", "store") for rows in (3000, 10_000)],
    "features": [{"rows": 3000, "features": d} for d in (3, 10)],
    "stored": [{"rows": 3000, "features": 100, "stored": k} for k in (3, 10)],
    "budget": [{"rows": 3000, "budget": b} for b in (500, 1000)],
    "noise": [{"rows": 3000, "noise": share} for share in (0.0, 0.2)],
    "positive_rate": [{"rows": 3000, "positive_rate": rate} for rate in (0.5, 0.1)],
}


def sweeps(options: argparse.Namespace) -> dict[str, list[dict[str, Any]]]:
    """Return the points of each sweep."""
    if options.small:
        return SMALL
    most = {"memory": options.largest_memory, "store": options.largest}
    rows = [{"kind": kind, "rows": 10**k} for kind in most for k in range(4, 9) if 10**k <= most[kind]]
    return {
        "rows": rows,
        "features": [{"features": d} for d in (10, 32, 100, 316, 1000)],
        "stored": [{"features": 100_000, "stored": k} for k in (3, 10, 32, 100, 316)],
        "budget": [{"budget": b} for b in (1000, 2000, 4000, 8000, 16_000, 32_000, 64_000)],
        "noise": [{"noise": share} for share in (0.0, 0.05, 0.1, 0.2, 0.4)],
        "positive_rate": [{"rows": 10**6, "positive_rate": rate} for rate in (0.5, 0.1, 0.01, 0.001)],
    }


def main() -> int:
    """Measure, or redraw what was measured; in a process of its own: serve one point."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sweeps", default=",".join(LABELS), help="which ones; by default all")
    parser.add_argument("--samplings", default="soft-correct", help="comma-separated")
    parser.add_argument("--largest", type=int, default=10**8, help="rows of a store at most")
    parser.add_argument("--largest-memory", type=int, default=10**7, help="rows in memory at most")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--folder", type=Path, help="where the temporary folder goes")
    parser.add_argument("-o", "--output", type=Path, help="JSON of what was measured")
    parser.add_argument("--small", action="store_true", help="few and small points, to see that it works")
    parser.add_argument(
        "--from", dest="sources", type=Path, action="append", help="JSON of an earlier run: measure nothing"
    )
    parser.add_argument("--picture", type=Path, help=".svg, .png or .pdf")
    parser.add_argument("--point", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.point:
        serve(json.loads(options.point))
        return 0
    if options.sources:
        measured = [point for source in options.sources for point in json.loads(source.read_text())]
    else:
        measured = measure(options)
    if options.output:
        options.output.write_text(json.dumps(measured, indent=1) + "\n")
    lines, good = promises(measured)
    print("\n".join([table(measured), "", *lines]))
    if options.picture:
        draw(measured, options.picture)
    return 0 if good else 1


def measure(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Run all sweeps."""
    wanted = options.sweeps.split(",")
    measured = []
    for sampling in options.samplings.split(","):
        for name, points in sweeps(options).items():
            if name in wanted:
                print(f"{sampling}, {name}", file=sys.stderr)
                measured += run_sweep(name, [{**BASE, **point, "sampling": sampling} for point in points], options)
    return measured


def run_sweep(name: str, points: list[dict[str, Any]], options: argparse.Namespace) -> list[dict[str, Any]]:
    """Fit all points in turns."""
    results: list[dict[str, Any]] = [{"sweep": name, **point, "cpu": [], "y_cpu": []} for point in points]
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(dir=options.folder))
        live = [stack.enter_context(point_process({**point, "folder": folder})) for point in points]
        for turn in range(options.repeat + 1):  # the first turn is for memory and for a warm cache, and is not timed
            for result, process in zip(results, live, strict=True):
                answer = ask(process, "time" if turn else "memory")
                for what, value in answer.items():
                    result[what] = [*result[what], value] if what in ("cpu", "y_cpu") else value
    return results


@contextmanager
def point_process(point: dict[str, Any]) -> Iterator[subprocess.Popen[str]]:
    """Start the process of a point, and wait until its rows are there."""
    one_thread = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, __file__, "--point", json.dumps(point)]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, **one_thread}
    )
    try:
        assert process.stdout is not None
        if process.stdout.readline().strip() != "ready":
            raise SystemExit(f"The process of {point} ended early.")
        yield process
    finally:
        process.kill()
        process.communicate()


def ask(process: subprocess.Popen[str], command: str) -> dict[str, Any]:
    """Ask the process of a point."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(command + "\n")
    process.stdin.flush()
    line = process.stdout.readline()
    if not line:
        raise SystemExit(f"A process ended while it was asked for {command}.")
    answer: dict[str, Any] = json.loads(line)
    return answer


def serve(point: dict[str, Any]) -> None:
    """Make the rows of a point, and answer on standard output."""
    from pairsift import auc, make_ranking

    given: dict[str, Any] = {
        "n_features": point["features"],
        "positive_rate": point["positive_rate"],
        "label_noise": point["noise"],
        "auc": 0.5 + (1 - point["noise"]) * (HIDDEN_AUC - 0.5),
        "density": None if point["stored"] is None else point["stored"] / point["features"],
        "dtype": "float32",
        "random_state": 0,
    }
    estimator(point["sampling"], 8000).fit(*make_ranking(2000, 3, random_state=0))  # imports
    X_test, y_test = rows_after(point["rows"], given)
    path = Path(point["folder"]) / f"{point['rows']}.arrow" if point["kind"] == "store" else None
    if path is not None:
        data: tuple[Any, ...] = (make_ranking(point["rows"], **given, path=path), None)
    else:
        data = make_ranking(point["rows"], **given)
    print("ready", flush=True)
    for line in sys.stdin:
        model = estimator(point["sampling"], point["budget"])
        if line.strip() == "memory":
            ctypes.CDLL(None).malloc_trim(0)  # what making the rows has freed would hide what the fit takes
            before = anonymous_bytes()
            with anonymous_peak() as peak:
                model.fit(*data)
            value = auc(y_test, model.decision_function(X_test))
            answer = {"memory": peak[0] - before, "auc": value, "rejected": int(getattr(model, "n_rejected_", 0))}
        else:
            if path is not None:
                read_through(path)
            answer = time_fit(model, data)
        print(json.dumps(answer), flush=True)


def estimator(name: str, budget: int) -> Any:
    """Return what is fitted: AutoRanker for "auto", else ActiveRankSVM with this sampling."""
    from pairsift import ActiveRankSVM, AutoRanker

    if name != "auto":
        return ActiveRankSVM(budget=budget, sampling=name, random_state=0)
    model = AutoRanker(C=800.0, budget=budget, random_state=0)
    model._holds_out = False
    return model


def rows_after(n_rows: int, given: dict[str, Any]) -> tuple[Any, Any]:
    """Return rows of the law of `make_ranking` that come after the first n_rows: the fit has not seen them."""
    from pairsift.data.generate import GRAIN, RankingLaw, seed_from

    options = {key: value for key, value in given.items() if key != "random_state"}
    first = -(-n_rows // GRAIN)
    law = RankingLaw(n_rows=(first + TEST_GRAINS) * GRAIN, seed=seed_from(given["random_state"]), **options)
    rows, positive = law.between(first, first + TEST_GRAINS)
    if options["density"] is None:
        return rows.values, positive
    from scipy import sparse

    return sparse.csr_array((rows.values, rows.columns, rows.starts), shape=(rows.n_rows, rows.n_features)), positive


def read_through(path: Path) -> None:
    """Bring a file into the cache."""
    piece = bytearray(2**20)
    with open(path, "rb", buffering=0) as file:
        while file.readinto(piece):
            pass


def time_fit(model: Any, data: tuple[Any, ...]) -> dict[str, float]:
    """Return the CPU seconds of a fit: of reading (checks, and the one pass over y), and of all the rest."""
    read, reading = model._read, [0.0]

    def timed_read(*given: Any) -> Any:
        start = time.process_time()
        problem = read(*given)
        reading[0] = time.process_time() - start
        return problem

    model._read = timed_read
    start = time.process_time()
    model.fit(*data)
    whole = time.process_time() - start
    return {"cpu": whole - reading[0], "y_cpu": reading[0]}


def table(measured: list[dict[str, Any]]) -> str:
    """Return a Markdown table a sweep, a line a point; what was the same is in the heading of `LABELS`."""
    return "\n\n".join(sweep_table(name, measured) for name in LABELS if any(o["sweep"] == name for o in measured))


def sweep_table(name: str, measured: list[dict[str, Any]]) -> str:
    """Return the table of one sweep: time and memory of a fit, and before that the pass over y, a row."""
    here = [one for one in measured if one["sweep"] == name]
    columns = list(dict.fromkeys((one["sampling"], one["kind"]) for one in here))
    found = {(one[name], one["sampling"], one["kind"]): one for one in here}
    heads = [LABELS[name], *(f"{sampling}, {WHERE[kind]}" for sampling, kind in columns)]
    lines = ["| " + " | ".join(heads) + " |", "|---:|" + "---:|" * len(columns)]
    for value in sorted(dict.fromkeys(one[name] for one in here)):
        cells = [cell(found.get((value, *column))) for column in columns]
        lines.append("| " + " | ".join([f"{value:,}", *cells]) + " |")
    return "\n".join(lines)


def cell(one: dict[str, Any] | None) -> str:
    """Return what one point gave."""
    if one is None:
        return ""
    y = "" if one["kind"] == "store" else f" (y: {1e9 * min(one['y_cpu']) / one['rows']:.1f} ns a row)"
    return f"{min(one['cpu']):.3f} s, {one['memory'] / 1e6:.0f} MB{y}"


def promises(measured: list[dict[str, Any]]) -> tuple[list[str], bool]:
    """Return the ratios that pairsift promises, as text, and whether they hold."""
    lines, good = [], True
    by_rows = {(o["sampling"], o["kind"], o["rows"]): o for o in measured if o["sweep"] == "rows"}
    for sampling in dict.fromkeys(one["sampling"] for one in measured):
        for kind, few, many, most in RATIOS:
            small, large = by_rows.get((sampling, kind, few)), by_rows.get((sampling, kind, many))
            if small and large:
                ratio = min(large["cpu"]) / min(small["cpu"])
                good &= ratio < most
                lines.append(
                    f"{sampling}, {kind}: {min(small['cpu']):.3f} s at {few:,} rows, {min(large['cpu']):.3f} s at "
                    f"{many:,}: ratio {ratio:.2f} (below {most}): {'good' if ratio < most else 'NOT GOOD'}"
                )
            if large and kind == "memory":
                ns = 1e9 * min(large["y_cpu"]) / many
                good &= ns <= NS_PER_ROW
                verdict = "good" if ns <= NS_PER_ROW else "NOT GOOD"
                lines.append(f"{sampling}, pass over y: {ns:.1f} ns a row (at most {NS_PER_ROW:g}): {verdict}")
    return lines, good


def draw(measured: list[dict[str, Any]], path: Path) -> None:
    """Draw time and memory, a panel a sweep, both axes logarithmic (noise: only the upright one)."""
    from pairsift.report.plots import label_axes, line_style, picture

    names = [name for name in LABELS if any(one["sweep"] == name for one in measured)]
    samplings = list(dict.fromkeys(one["sampling"] for one in measured))
    columns = min(3, len(names))
    with picture(path, panels=len(names), columns=columns) as panels:
        for axes, name in zip(panels, names, strict=True):
            for sampling, kind in dict.fromkeys((o["sampling"], o["kind"]) for o in measured if o["sweep"] == name):
                ours = [o for o in measured if (o["sweep"], o["sampling"], o["kind"]) == (name, sampling, kind)]
                x = [one[name] for one in ours]
                # A colour a sampling, a mark a kind of data; filled for time, hollow for memory.
                style = {
                    **line_style(samplings.index(sampling)),
                    "marker": "o" if kind == "memory" else "s",
                    "linestyle": "-" if kind == "memory" else "--",
                }
                axes.plot(x, [min(one["cpu"]) for one in ours], **style, label=f"{sampling}, {WHERE[kind]}: s")
                gigabytes = [max(one["memory"], 1e5) / 1e9 for one in ours]
                axes.plot(x, gigabytes, **{**style, "markerfacecolor": "white"}, label=f"{sampling}, {WHERE[kind]}: GB")
            axes.set_yscale("log")
            if name != "noise":
                axes.set_xscale("log")
            label_axes(axes, LABELS[name], "fit: CPU seconds; gigabytes")
            if name == names[0]:  # the marks are the same in all panels
                axes.set_ylim(top=100 * axes.get_ylim()[1])
                axes.legend(fontsize=8, ncols=2)


if __name__ == "__main__":
    sys.exit(main())
