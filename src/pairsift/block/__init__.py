"""Training on blocks of drawn rows: all their pairs, or the rows themselves as points (docs/method.md)."""

from pairsift.block.choice import Choice, Trial
from pairsift.block.grow import (
    ALL_ROWS_USED,
    AUTO_ROWS,
    ENOUGH_ROWS,
    BlockRound,
    BlockSettings,
    BlockState,
    block_training,
    check_block,
    make_block_settings,
)

__all__ = [
    "ALL_ROWS_USED",
    "AUTO_ROWS",
    "ENOUGH_ROWS",
    "BlockRound",
    "BlockSettings",
    "BlockState",
    "Choice",
    "Trial",
    "block_training",
    "check_block",
    "make_block_settings",
]
