"""Print a software bill of materials (CycloneDX 1.5, JSON) of pairsift and the installed packages that it needs.

python tools/sbom.py [--extra arrow --extra plot ...] > sbom.json
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from importlib import metadata
from typing import Any

_REQUIREMENT = re.compile(r"^([A-Za-z0-9._-]+)(?:\[([^\]]*)\])?")
_EXTRA = re.compile(r"extra == ['\"]([^'\"]+)['\"]")


def main() -> int:
    """Print the document."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--extra", action="append", default=[], help="also what this extra needs")
    json.dump(bill("pairsift", parser.parse_args().extra), sys.stdout, indent=1)
    print()
    return 0


def bill(name: str, extras: list[str]) -> dict[str, Any]:
    """Return the bill of materials of an installed package."""
    needed: dict[str, list[str]] = {}
    _collect(_normal(name), tuple(extras), needed)
    parts = {found: _component(found) for found in sorted(needed)}
    references = {found: part["bom-ref"] for found, part in parts.items()}
    own = parts.pop(_normal(name))
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": {**own, "type": "application"}},
        "components": list(parts.values()),
        "dependencies": [
            {"ref": references[found], "dependsOn": sorted(references[one] for one in needed[found])}
            for found in sorted(needed)
        ],
    }


def _collect(name: str, extras: tuple[str, ...], needed: dict[str, list[str]]) -> None:
    if name in needed and not extras:
        return
    direct = needed.setdefault(name, [])
    for text in metadata.requires(name) or []:
        found, marker = _REQUIREMENT.match(text), _EXTRA.search(text)
        if found is None or (marker and marker[1] not in extras):
            continue
        other = _normal(found[1])
        if not _is_installed(other):
            continue  # for another system or Python
        if other != name and other not in direct:
            direct.append(other)
        inner = tuple(part.strip() for part in (found[2] or "").split(",") if part.strip())
        if other != name or inner != extras:
            _collect(other, inner, needed)


def _is_installed(name: str) -> bool:
    try:
        metadata.version(name)
    except metadata.PackageNotFoundError:
        return False
    return True


def _component(name: str) -> dict[str, Any]:
    about = metadata.metadata(name)
    version = metadata.version(name)
    licence = about.get("License-Expression") or about.get("License") or ""
    component = {"type": "library", "name": name, "version": version, "purl": f"pkg:pypi/{name}@{version}"}
    component["bom-ref"] = component["purl"]
    short = licence.strip().splitlines()[0] if licence.strip() else ""
    return {**component, "licenses": [{"license": {"name": short}}]} if short else component


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


if __name__ == "__main__":
    sys.exit(main())
