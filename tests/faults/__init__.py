"""The fault campaign: each module is an attack on the product as a whole, each attack counts what it tried and what was
lost.

    python -m faults NAME [--count N] [--seed 0]     (in the folder tests; the last line printed is the tally, in JSON)

`tools/campaign.py` runs all of them and makes the table; `tests/test_faults.py` runs a short form of each.
"""
