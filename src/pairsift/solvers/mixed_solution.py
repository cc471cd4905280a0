"""What a solver of pairs and points over drawn rows returns."""

from __future__ import annotations

from dataclasses import dataclass

from pairsift._typing import FloatArray


@dataclass(frozen=True)
class MixedSolution:
    """(w, theta) near the minimum of F.

    Attributes
    ----------
    w : array
    theta : float
        Zero where there are only pairs.
    primal : float
        F.
    relative_gap : float
        Length of the gradient relative to that where all scores are zero; of the hinge, (primal - dual) / primal.
    n_passes : int
        Newton steps so far.
    converged : bool
        The gap is at most `tol`, or the sampling error is larger than what is left (`settled`).
    settled : bool
        The optimisation error is below the stated part of the sampling error.
    done : bool
        No further step is made.
    """

    w: FloatArray
    theta: float
    primal: float
    relative_gap: float
    n_passes: int
    converged: bool
    settled: bool
    done: bool
