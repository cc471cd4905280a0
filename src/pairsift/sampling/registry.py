"""The samplers by the names that users give."""

from __future__ import annotations

from collections.abc import Callable

from pairsift.sampling.hard import HardSampler
from pairsift.sampling.protocol import Sampler
from pairsift.sampling.soft import RandomSampler, SoftClose, SoftCorrect
from pairsift.sampling.tolerant import SoftTolerant

SAMPLERS: dict[str, Callable[[], Sampler]] = {
    "random": RandomSampler,
    "soft-close": SoftClose,
    "soft-correct": SoftCorrect,
    "soft-tolerant": SoftTolerant,
    "hard-close": lambda: HardSampler("closeness"),
    "hard-correct": lambda: HardSampler("correctness"),
}


def make_sampler(sampling: str | Sampler) -> Sampler:
    """Return the sampler of that name, or the given object when it has the method `draw`."""
    if isinstance(sampling, str):
        if sampling not in SAMPLERS:
            raise ValueError(
                f"sampling must be one of {', '.join(map(repr, SAMPLERS))}, or an object with a method "
                f"draw(unchosen, count, rng); got {sampling!r}."
            )
        return SAMPLERS[sampling]()
    if not isinstance(sampling, Sampler):
        raise ValueError(
            "sampling must be a name or an object with a method draw(unchosen, count, rng); "
            f"got an object of type {type(sampling).__name__}."
        )
    return sampling
