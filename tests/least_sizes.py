"""The second mode of the checks: every threshold of size at the least that can be split.

With few rows the rankers take short ways: nothing is chosen, no part is held out, all terms are used. Here 60 rows go
the way of a million.
"""

from pairsift.search import sizes

LEAST = {
    "LEAST_TO_CHOOSE": 2,
    "ROWS_TO_SEE": 1,
    "LEAST_TO_SPARE": 4,
    "LEAST_NEW_ROWS": 1,
    "ROWS_TO_TELL": 1,
    "FIRST_ROWS": 2,
    "EXACT_ROWS": 0,
}
PAIRS_DRAWN = {"budget": 20, "batch_size": 5}
"""Of `ActiveRankSVM`, so that 15 rows have more pairs than are used."""


def lower_sizes(monkeypatch):
    """Set all thresholds; none is forgotten."""
    assert set(LEAST) == {name for name in vars(sizes) if name.isupper()}
    for name, value in LEAST.items():
        monkeypatch.setattr(sizes, name, value)
