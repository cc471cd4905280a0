"""The kernels once more in plain Python and NumPy: slow, short, and what the tests compare the C++ with.

Each function has the mathematics of the header of the same name in ``cpp/`` and none of its tricks. Results agree to
rounding, because the kernels sum in another order; the random numbers agree to the bit. The step of combined ranking
and regression is in `pairsift.solvers.combined_reference`.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from pairsift._typing import FloatArray, IntArray

Term = tuple[int, int]
_MASK = 2**64 - 1


class Random:
    """xoshiro256** seeded by splitmix64 (``cpp/random.hpp``)."""

    def __init__(self, seed: int) -> None:
        self._state = []
        for k in range(1, 5):
            z = (seed + k * 0x9E3779B97F4A7C15) & _MASK
            z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
            z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
            self._state.append(z ^ (z >> 31))

    def next(self) -> int:
        """Return 64 random bits."""
        a, b, c, d = self._state
        result = (_rotate((b * 5) & _MASK, 7) * 9) & _MASK
        c, d = c ^ a, d ^ b
        self._state = [a ^ d, b ^ c, c ^ ((b << 17) & _MASK), _rotate(d, 45)]
        return result

    def below(self, bound: int) -> int:
        """Return a number uniform in 0, ..., bound - 1 (Lemire's method)."""
        product = self.next() * bound
        while product & _MASK < 2**64 % bound:
            product = self.next() * bound
        return product >> 64

    def uniform(self) -> float:
        """Return a multiple of 2^-53 in [0, 1)."""
        return (self.next() >> 11) * 2.0**-53


def scores(X: FloatArray, w: FloatArray) -> FloatArray:
    """Return w . x_k for every row."""
    return np.array([float(np.sum(x.astype(np.float64) * w)) for x in X])


def differences(X: FloatArray, i: IntArray, j: IntArray) -> FloatArray:
    """Return x_i - x_j, x_i where j is -1, and -x_j where i is -1 (``cpp/differences.hpp``)."""
    nothing = np.zeros(X.shape[1])
    return np.array(
        [
            (nothing if a < 0 else X[a].astype(np.float64)) - (nothing if b < 0 else X[b].astype(np.float64))
            for a, b in zip(i, j, strict=True)
        ]
    ).reshape(len(i), X.shape[1])


def row_key(row: FloatArray, seed: int) -> int:
    """Return the key of a dense row (``cpp/rows.hpp``): the sum over its values other than 0 of a hash of each."""
    total = seed
    for column, value in enumerate(row.astype(np.float64)):
        if value != 0:
            bits = int(np.array(value).view(np.uint64))
            total += _mixed(bits ^ ((seed + (column + 1) * 0x9E3779B97F4A7C15) & _MASK))
    return _mixed(total & _MASK)


def _mixed(z: int) -> int:
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
    return z ^ (z >> 31)


def hard_pairs(
    closeness: bool, positive: FloatArray, negative: FloatArray, chosen: Collection[Term], count: int
) -> list[Term]:
    """Return the unchosen pairs with the lowest |m| or -[1 - m]_+, ties by i, then j: all pairs, sorted."""
    m = positive[:, np.newaxis] - negative
    measure = np.abs(m) if closeness else -np.maximum(0, 1 - m)
    pairs = [(float(measure[i, j]), i, j) for i, j in np.ndindex(*m.shape) if (i, j) not in chosen]
    return [(i, j) for _, i, j in sorted(pairs)[:count]]


def primal_value(Z: FloatArray, upper: FloatArray, w: FloatArray) -> float:
    """Return 1/2 |w|^2 + sum_k U_k [1 - w . z_k]_+."""
    return float(w @ w / 2 + upper @ np.maximum(0, 1 - Z @ w))


def dual_value(Z: FloatArray, alpha: FloatArray) -> float:
    """Return sum_k a_k - 1/2 |sum_k a_k z_k|^2."""
    w = alpha @ Z
    return float(np.sum(alpha) - w @ w / 2)


def dual_descent(
    Z: FloatArray,
    upper: FloatArray,
    alpha: FloatArray,
    n_passes: int,
    seed: int,
    *,
    known: int | None = None,
    turn: int = 0,
    hasty: bool = False,
) -> tuple[FloatArray, FloatArray]:
    """Return (alpha, w) after so many passes of coordinate descent (``cpp/dual_descent.hpp``).

    The order of the visits and the shrinking are those of the kernel, up to the pass at which the kernel would make
    its first certificate: from there on it may take terms back.

    Parameters
    ----------
    Z : array of shape (n_terms, n_columns)
        Signs and the constant column are in it.
    known : int, optional
        Do as the kernel's ``steer`` does with so many known terms: of those that are known visit up to every twentieth
        at a bound and every fifth inside, whose `turn` it is, put every term aside that leans on its bound, and take
        none back.
    hasty : bool
        Put terms aside earlier and look back less often, as the kernel does at tolerances of 1e-6 and above.
    """
    lean, widen = (0.1, 0.1) if hasty else (1.0, 0.2)
    random = Random(seed)
    alpha = np.clip(alpha, 0, upper)
    w = alpha @ Z
    active, shrink, widen_at = list(range(len(Z))), (-np.inf, np.inf), 0.0
    steering = known is not None
    if known is not None:
        turns = np.where((alpha > 0) & (alpha < upper), np.clip(known // 1000, 1, 5), np.clip(known // 250, 1, 20))
        active = [k for k in active if k >= known or (k + turn) % turns[k] == 0]
    for _ in range(n_passes):
        complete = len(active) == len(Z)
        for t in range(len(active) - 1, 0, -1):
            other = random.below(t + 1)
            active[t], active[other] = active[other], active[t]
        shrink = (0.0, 0.0) if steering else (lean * shrink[0], lean * shrink[1])
        active, shrink, estimate = _descent_pass(Z, upper, alpha, w, active, shrink)
        if complete:
            widen_at = widen * estimate
        if estimate <= widen_at and not steering:
            active, shrink = list(range(len(Z))), (-np.inf, np.inf)
    return alpha, w


def _descent_pass(
    Z: FloatArray, upper: FloatArray, alpha: FloatArray, w: FloatArray, active: list[int], shrink: tuple[float, float]
) -> tuple[list[int], tuple[float, float], float]:
    """Visit the active terms; alpha and w are changed in place."""
    lowest, highest, estimate, t, end = np.inf, -np.inf, 0.0, 0, len(active)
    while t < end:
        k = active[t]
        gradient = float(Z[k] @ w) - 1
        estimate += upper[k] * max(0.0, -gradient) + alpha[k] * gradient
        at_zero, at_upper = alpha[k] <= 0, alpha[k] >= upper[k]
        if (at_zero and gradient > shrink[1]) or (not at_zero and at_upper and gradient < shrink[0]):
            end -= 1
            active[t], active[end] = active[end], active[t]
            continue
        projected = min(gradient, 0.0) if at_zero else max(gradient, 0.0) if at_upper else gradient
        lowest, highest = min(lowest, projected), max(highest, projected)
        if projected != 0:
            norm2 = float(Z[k] @ Z[k])
            wanted = alpha[k] - gradient / norm2 if norm2 > 0 else upper[k]
            new = min(max(wanted, 0.0), upper[k])
            w += (new - alpha[k]) * Z[k]
            alpha[k] = new
        t += 1
    return active[:end], (lowest if lowest < 0 else -np.inf, highest if highest > 0 else np.inf), estimate


def _rotate(x: int, by: int) -> int:
    return ((x << by) | (x >> (64 - by))) & _MASK
