"""What the run and its workers agree on; apart from both, for ``python -m`` runs one of them as ``__main__``."""

MESSAGE = "pairsift-cell "
"""What a line of a worker starts with. Other lines are of libraries that print."""
