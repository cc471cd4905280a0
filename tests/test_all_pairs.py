"""Sums over all pairs: against brute force over explicit pairs, against numerical derivatives, and for any N."""

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pairsift import all_pairs
from pairsift.all_pairs import HINGE, SQUARED_HINGE, AllPairs, Loss, argsort, loss_by_name, smoothed_hinge
from pairsift.all_pairs_reference import mean_loss

# Every loss that the module defines, so that a new one is tested by existing; the hinge first.
DEFINED = [value for value in vars(all_pairs).values() if isinstance(value, Loss)]
LOSSES = [*DEFINED, smoothed_hinge(0.5), smoothed_hinge(1e-3)]
assert LOSSES[0] is HINGE

# Multiples of 1/4 make ties, and margins exactly at the kinks of every loss; plain floats make everything else.
scores = st.lists(st.integers(-12, 12).map(lambda k: k / 4) | st.floats(-5, 5, width=32), min_size=1, max_size=30)
seeds = st.integers(0, 2**32 - 1)


def phi(loss: Loss, z: np.ndarray) -> np.ndarray:
    positive = np.maximum(z, 0)
    if loss is HINGE:
        return positive
    if loss is SQUARED_HINGE:
        return positive**2
    return np.where(z > loss.width, z - loss.width / 2, positive**2 / (2 * loss.width))


def dphi(loss: Loss, z: np.ndarray) -> np.ndarray:
    if loss is HINGE:
        return (z > 0).astype(float)
    return 2 * np.maximum(z, 0) if loss is SQUARED_HINGE else np.clip(z / loss.width, 0, 1)


def brute_force(p, q, s, t, loss):
    """Mean loss and its derivatives from the explicit matrix of pairs."""
    z = (1 + q)[None, :] - p[:, None]
    weight = np.outer(s, t) / (s.mean() * t.mean()) / (len(p) * len(q))
    slope = weight * dphi(loss, z)
    return math.fsum((weight * phi(loss, z)).ravel()), -slope.sum(axis=1), slope.sum(axis=0)


def weights_for(n: int, rng: np.random.Generator) -> np.ndarray:
    return rng.choice([0.1, 1.0, 2.0, 7.3], n)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: f"{loss.name}-{loss.width}")
@pytest.mark.parametrize("weighted", [False, True])
@given(scores, scores, seeds)
@example([0.0, 1e-13], [-1.0], 0)  # the centre of the scores is 1e-13, and rounding moves a pair off the kink
@settings(deadline=None, max_examples=150)
def test_sums_equal_brute_force(loss, weighted, p, q, seed):
    p, q, rng = np.array(p), np.array(q), np.random.default_rng(seed)
    s = weights_for(len(p), rng) if weighted else np.ones(len(p))
    t = weights_for(len(q), rng) if weighted else np.ones(len(q))
    value, dp, dq = brute_force(p, q, s, t, loss)
    sums = (AllPairs(p, q, s, t) if weighted else AllPairs(p, q)).sums(loss)
    np.testing.assert_allclose(sums.value, value, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(sums.hinge, brute_force(p, q, s, t, HINGE)[0], rtol=1e-12, atol=1e-15)
    # A slope jumps where z passes zero: rounding of 1 + q - p in another order may put a pair on the other side.
    tolerance = 1e-12 if loss is not HINGE else 1e-12 + near_kink(p, q)
    np.testing.assert_allclose(sums.positive, dp, atol=tolerance, rtol=1e-12)
    np.testing.assert_allclose(sums.negative, dq, atol=tolerance, rtol=1e-12)
    if loss not in (HINGE, SQUARED_HINGE):
        z = (1 + q)[None, :] - p[:, None]
        slack = np.outer(s, t) / (s.sum() * t.sum()) * (np.maximum(z, 0) - z * dphi(loss, z))
        np.testing.assert_allclose(sums.slack, slack.sum(), atol=1e-12)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: f"{loss.name}-{loss.width}")
def test_kernel_equals_the_numpy_reference(loss):
    rng = np.random.default_rng(8)
    p, q, s, t = rng.normal(size=3000), rng.normal(size=2000), rng.uniform(1, 3, 3000), rng.uniform(1, 3, 2000)
    value, dp, dq = mean_loss(p, q, s / s.sum(), t / t.sum(), loss)
    sums = AllPairs(p, q, s, t).sums(loss)
    assert sums.value == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(sums.positive, dp, atol=1e-13)
    np.testing.assert_allclose(sums.negative, dq, atol=1e-13)


def near_kink(p, q) -> float:
    """Whether a pair is near the kink, or at it with scores that are no multiples of 1/4: those have exact margins."""
    z = np.abs((1 + q)[None, :] - p[:, None])
    return float(np.any(z < 1e-14) and np.any(np.concatenate([p, q]) * 4 % 1 != 0))


@pytest.mark.parametrize("loss", LOSSES[1:], ids=lambda loss: f"{loss.name}-{loss.width}")
def test_gradient_equals_numerical_derivative(loss):
    rng = np.random.default_rng(3)
    p, q = rng.normal(size=40), rng.normal(size=25)
    s, t = weights_for(40, rng), weights_for(25, rng)
    sums, h = AllPairs(p, q, s, t).sums(loss), 1e-6
    for k in range(40):
        step = h * (np.arange(40) == k)
        up, down = (AllPairs(p + sign * step, q, s, t).sums(loss).value for sign in (1, -1))
        assert (up - down) / (2 * h) == pytest.approx(sums.positive[k], abs=1e-7)
    for k in range(25):
        step = h * (np.arange(25) == k)
        up, down = (AllPairs(p, q + sign * step, s, t).sums(loss).value for sign in (1, -1))
        assert (up - down) / (2 * h) == pytest.approx(sums.negative[k], abs=1e-7)


@pytest.mark.parametrize("loss", [SQUARED_HINGE, smoothed_hinge(0.5)], ids=lambda loss: loss.name)
def test_curvature_equals_finite_differences_of_the_gradient(loss):
    rng = np.random.default_rng(4)
    p, q = rng.normal(size=60), rng.normal(size=50)
    s, t, dp, dq = weights_for(60, rng), weights_for(50, rng), rng.normal(size=60), rng.normal(size=50)
    pairs, h = AllPairs(p, q, s, t), 1e-7
    hp, hq = pairs.curvature_product(loss, dp, dq)
    up, down = (AllPairs(p + sign * h * dp, q + sign * h * dq, s, t).sums(loss) for sign in (1, -1))
    np.testing.assert_allclose(hp, (up.positive - down.positive) / (2 * h), atol=1e-7)
    np.testing.assert_allclose(hq, (up.negative - down.negative) / (2 * h), atol=1e-7)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: f"{loss.name}-{loss.width}")
@given(scores, scores, seeds)
@settings(deadline=None, max_examples=80)
def test_curvature_is_a_symmetric_laplacian(loss, p, q, seed):
    p, q, rng = np.array(p), np.array(q), np.random.default_rng(seed)
    pairs, sums = AllPairs(p, q), AllPairs(p, q).sums(loss)
    scale = 1e-12 * max(1.0, sums.positive_curvature.max(), sums.negative_curvature.max())
    n = len(p) + len(q)
    matrix = np.array(
        [np.concatenate(pairs.curvature_product(loss, row[: len(p)], row[len(p) :])) for row in np.eye(n)]
    )
    np.testing.assert_allclose(matrix, matrix.T, atol=scale)
    np.testing.assert_allclose(matrix.sum(axis=0), 0, atol=n * scale)
    np.testing.assert_allclose(
        np.diag(matrix), np.concatenate([sums.positive_curvature, sums.negative_curvature]), atol=scale
    )
    d = rng.normal(size=n)
    assert d @ matrix @ d >= -n * scale


def test_far_from_zero_nothing_is_lost():
    rng = np.random.default_rng(5)
    p, q = rng.integers(-2000, 2000, 300) / 1024, rng.integers(-2000, 2000, 200) / 1024
    near, far = AllPairs(p, q).sums(HINGE), AllPairs(p + 2.0**40, q + 2.0**40).sums(HINGE)
    assert far.value == pytest.approx(near.value, rel=1e-14)
    np.testing.assert_allclose(far.positive, near.positive, rtol=1e-14)


def test_pairs_beyond_two_to_the_63():
    # Weights stand for repeated rows: 10^10 positives and 10^10 negatives, 10^20 pairs, of five different margins.
    p, q = np.array([0.0, 0.5]), np.array([0.0, -0.25, -2.0])
    many = AllPairs(p, q, np.full(2, 5e9), np.full(3, 1e10 / 3))
    assert many.sums(SQUARED_HINGE).value == pytest.approx(AllPairs(p, q).sums(SQUARED_HINGE).value, rel=1e-14)


def test_many_rows_in_little_memory():
    rng = np.random.default_rng(6)
    n = 300_000  # 9 * 10^10 pairs: a matrix of them would not fit anywhere
    sums = AllPairs(rng.uniform(size=n), rng.uniform(size=n)).sums(HINGE)
    assert sums.value == pytest.approx(1.0, abs=5e-3)  # z = 1 + q - p >= 0 throughout and the means agree
    assert sums.negative.sum() == pytest.approx(1.0, rel=1e-12)
    assert sums.positive.sum() == pytest.approx(-1.0, rel=1e-12)


@pytest.mark.parametrize(
    "values",
    [
        np.random.default_rng(0).normal(size=5000),
        np.random.default_rng(0).integers(0, 9, 5000) * 0.1,
        np.concatenate([np.random.default_rng(0).normal(size=5000), [1e300]]),
        1.0 + np.random.default_rng(0).permutation(5000) * 2.0**-52,
        np.concatenate([[1e15], 1e-9 * np.random.default_rng(0).normal(size=5000)]),
        np.array([-1.7e308, 1.7e308] * 500),
        np.zeros(1000),
        np.array([2.0]),
    ],
    ids=["normal", "ties", "outlier", "last bits", "one key", "range overflows", "equal", "one"],
)
def test_argsort_equals_numpy(values):
    np.testing.assert_array_equal(argsort(values), np.argsort(values, kind="stable"))


def test_bad_parameters():
    with pytest.raises(ValueError, match="positive and finite; got 0"):
        smoothed_hinge(0)
    with pytest.raises(ValueError, match='"hinge" or "squared_hinge"; got \'log\''):
        loss_by_name("log")
    with pytest.raises(ValueError, match="got 0 positive and 2 negative"):
        AllPairs(np.empty(0), np.zeros(2))
