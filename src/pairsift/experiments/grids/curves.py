"""Figures "Performance Curves" and "Number of Pairs Rejected" on every set: what the runs of `auc` recorded."""

from __future__ import annotations

from pairsift.experiments.grids import auc

NAME = "curves"
TITLE = "AUC and rejected draws against |L*|"
cells = auc.cells
