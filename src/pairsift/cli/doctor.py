"""``pairsift doctor``: what is installed, whether the kernels work, which data are here."""

from __future__ import annotations

import json
import os
import platform
import re
import sys
from importlib import import_module, metadata
from typing import Any

import click

from pairsift import __version__
from pairsift.cli.options import JSON

_MODULES = {"scikit-learn": "sklearn"}  # where the import has another name than the package
_FOR_DEVELOPERS = ("test", "lint")
_THREAD_SETTINGS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_REQUIREMENT = re.compile(
    r"""([A-Za-z0-9_.-]+)(?:\[[^\]]*\])?\s*(?:>=\s*([0-9.]+))?[^;]*(?:;.*extra == ['"](\w+)['"])?"""
)


@click.command()
@JSON
def doctor(as_json: bool) -> None:
    """Say what is installed, whether the compiled kernels work, and which data sets are here.

    Exit status 0 when pairsift is usable, 1 when something that it needs is missing or broken. Extras that are not
    installed are no fault.
    """
    facts: dict[str, Any] = {
        "pairsift": __version__,
        "python": platform.python_version(),
        "executable": sys.executable,
        "platform": f"{platform.system()} {platform.machine()}",
        **_packages(),
        "kernels": _kernels(),
        "threads": _threads(),
    }
    faults = [f"{name}: {package['fault']}" for name, package in facts["required"].items() if package["fault"]]
    faults += facts["kernels"]["faults"]
    facts["data"] = _data() if not faults else {}
    facts |= {"faults": faults, "usable": not faults}
    click.echo(json.dumps(facts) if as_json else _text(facts))
    if faults:
        raise click.exceptions.Exit(1)


def _packages() -> dict[str, Any]:
    """Return the required packages and the extras, as the installed package itself lists them."""
    try:
        listed = metadata.requires("pairsift") or []
    except metadata.PackageNotFoundError:
        fault = 'not installed as a package; run "pip install pairsift", or "pip install ." in its folder'
        return {"required": {"pairsift": {"version": None, "fault": fault}}, "extras": {}}
    required: dict[str, Any] = {}
    extras: dict[str, Any] = {}
    for line in listed:
        found = _REQUIREMENT.match(line)
        if not found or found[1] == "pairsift" or found[3] in _FOR_DEVELOPERS:
            continue
        name, least, extra = found[1], found[2], found[3]
        if extra is None:
            required[name] = _package(name, least, try_import=True)
        else:
            entry = extras.setdefault(extra, {"packages": {}, "install": f'pip install "pairsift[{extra}]"'})
            entry["packages"][name] = _package(name, least, try_import=False)
    for entry in extras.values():
        entry["installed"] = all(package["fault"] is None for package in entry["packages"].values())
    return {"required": required, "extras": extras}


def _package(name: str, least: str | None, *, try_import: bool) -> dict[str, Any]:
    """Return the version of a package, and what is wrong with it."""
    try:
        version = metadata.version(name)
    except metadata.PackageNotFoundError:
        return {"version": None, "fault": f"is not installed; run: pip install {name}"}
    if least is not None and _numbers(version) < _numbers(least):
        return {"version": version, "fault": f'is {version}, but {least} is needed; run: pip install "{name}>={least}"'}
    if try_import:
        try:
            import_module(_MODULES.get(name, name))
        except Exception as error:  # whatever a broken installation raises
            return {"version": version, "fault": f"cannot be imported ({_one_line(error)}); install it again"}
    return {"version": version, "fault": None}


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])


def _kernels() -> dict[str, Any]:
    try:
        from pairsift import _core
        from pairsift.self_check import self_check
    except Exception as error:
        return {"faults": [f"the compiled kernels cannot be imported ({_one_line(error)}); install pairsift again"]}
    checks = dict(self_check())
    faults = [f"kernel check {name!r}: {fault}" for name, fault in checks.items() if fault]
    return {**_core.build_facts(), "file": _core.__file__, "checks": checks, "faults": faults}


def _threads() -> dict[str, Any]:
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    settings = {name: os.environ[name] for name in _THREAD_SETTINGS if name in os.environ}
    return {"processors": os.cpu_count(), "usable": usable, "settings": settings}


def _data() -> dict[str, Any]:
    from pairsift.data.datasets import DATASETS
    from pairsift.data.datasets.store import cache_folder, path_in, search_folders

    folders = []
    for folder in search_folders():
        sets = [name for name, dataset in DATASETS.items() if path_in(folder, dataset, "train").is_file()]
        folders.append({"folder": str(folder), "is_cache": folder == cache_folder(), "sets": sets})
    return {"PAIRSIFT_DATA": os.environ.get("PAIRSIFT_DATA"), "folders": folders}


def _text(facts: dict[str, Any]) -> str:
    lines = [
        f"pairsift {facts['pairsift']}, Python {facts['python']} ({facts['executable']}), {facts['platform']}",
        _line("required", ", ".join(f"{name} {package['version']}" for name, package in facts["required"].items())),
    ]
    for extra, entry in facts["extras"].items():
        shown = ", ".join(f"{name} {package['version'] or 'missing'}" for name, package in entry["packages"].items())
        lines.append(_line(f"[{extra}]", shown if entry["installed"] else f"{shown}; to get it: {entry['install']}"))
    kernels = facts["kernels"]
    if "compiler" in kernels:
        kind = kernels["build_type"] or "no build type"
        speed = "optimised" if kernels["optimised"] else "NOT optimised: slow"
        lines.append(_line("kernels", f"{kernels['compiler']}, {kind}, {speed}"))
        good = sum(not fault for fault in kernels["checks"].values())
        lines.append(_line("", f"{good} of {len(kernels['checks'])} checks against the NumPy references passed"))
    threads = facts["threads"]
    settings = "".join(f", {name}={value}" for name, value in threads["settings"].items())
    lines.append(_line("threads", f"{threads['usable']} of {threads['processors']} processors usable{settings}"))
    lines += _data_lines(facts["data"])
    lines += [f"fault: {fault}" for fault in facts["faults"]] or ["Everything that pairsift needs is there and works."]
    return "\n".join(lines)


def _data_lines(data: dict[str, Any]) -> list[str]:
    if not data:
        return []
    lines = [] if data["PAIRSIFT_DATA"] else [_line("data", "PAIRSIFT_DATA is not set")]
    for entry in data["folders"]:
        where = f"{'cache' if entry['is_cache'] else 'PAIRSIFT_DATA'} {entry['folder']}"
        sets = ", ".join(entry["sets"]) or "no data sets"
        lines.append(_line("" if lines else "data", f"{where}: {sets}"))
    return lines


def _line(head: str, text: str) -> str:
    return f"{head:<10}{text}"


def _one_line(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())
