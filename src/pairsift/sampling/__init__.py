"""``Sample(U*, w)``: which unchosen terms are drawn next. One protocol, one file a family."""

from pairsift.sampling.hard import HardSampler
from pairsift.sampling.protocol import Draw, Sampler
from pairsift.sampling.registry import SAMPLERS, make_sampler
from pairsift.sampling.soft import RandomSampler, SoftClose, SoftCorrect, SoftSampler
from pairsift.sampling.tolerant import SoftTolerant
from pairsift.sampling.unchosen import Unchosen

__all__ = [
    "SAMPLERS",
    "Draw",
    "HardSampler",
    "RandomSampler",
    "Sampler",
    "SoftClose",
    "SoftCorrect",
    "SoftSampler",
    "SoftTolerant",
    "Unchosen",
    "make_sampler",
]
