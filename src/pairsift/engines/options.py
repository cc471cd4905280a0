"""The parameters of training on an engine: those of one method, with its defaults; others are refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pairsift.active import DEFAULTS as ACTIVE_DEFAULTS
from pairsift.parameters import AUTO, check_word
from pairsift.search.options import DEFAULTS as AUTO_DEFAULTS

ACTIVE = "active"
METHODS: dict[str, dict[str, Any]] = {AUTO: AUTO_DEFAULTS, ACTIVE: ACTIVE_DEFAULTS}
PARAMETERS = tuple(dict.fromkeys([*AUTO_DEFAULTS, *ACTIVE_DEFAULTS]))


def options_of_method(method: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of a method; None is its default. One of the other method raises `ValueError`."""
    check_word("method", method, *METHODS)
    defaults = METHODS[method]
    for name, value in given.items():
        if value is not None and name not in defaults:
            (other,) = (other for other in METHODS if name in METHODS[other])
            raise ValueError(f'{name} is for method="{other}"; got {name}={value!r} with method="{method}".')
    return {name: default if given.get(name) is None else given[name] for name, default in defaults.items()}
