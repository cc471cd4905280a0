"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

JSON: Decorator = click.option("--json", "as_json", is_flag=True, help="Print one JSON object, for machines.")


def OUTPUT(text: str, *, required: bool = False) -> Decorator:
    """Return the option ``-o FILE``."""
    need: dict[str, Any] = {"required": True} if required else {"default": "-"}
    return click.option("-o", "--output", metavar="FILE", help=text, **need)
