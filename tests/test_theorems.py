"""Theorems 1 and 2 of the paper, in the form that their proofs give.

With rank(w) = 1/2 |w|^2 + C * (hinge summed over the N+ N- positive pairs), and point(theta, w) the weighted SVM with
C+ = 2 N- C and C- = 2 N+ C,

    rank(w) <= 1/4 point(0, 2 w)                 (Theorem 1)
    rank(w) <= 1/4 point(2 theta, 2 w)           (Theorem 2)

The paper says "for every w" of one w on both sides; its proof ends by substituting u = 2 w, and at equal w the bound is
false, as the last tests show.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

NUMBERS = st.one_of(st.integers(-3, 3).map(float), st.floats(-1e3, 1e3))


@st.composite
def settings(draw):
    """Positives, negatives, w, theta and C."""
    n_features = draw(st.integers(1, 3))
    positives = draw(arrays(float, (draw(st.integers(1, 6)), n_features), elements=NUMBERS))
    negatives = draw(arrays(float, (draw(st.integers(1, 6)), n_features), elements=NUMBERS))
    w = draw(arrays(float, n_features, elements=NUMBERS))
    return positives, negatives, w, draw(NUMBERS), draw(st.floats(1e-3, 1e3))


def hinge(margins):
    return np.sum(np.maximum(0, 1 - margins))


def rank_objective(positives, negatives, w, C):
    return w @ w / 2 + C * hinge((positives @ w)[:, None] - (negatives @ w)[None, :])


def point_objective(positives, negatives, w, theta, C):
    C_positive, C_negative = 2 * len(negatives) * C, 2 * len(positives) * C
    return w @ w / 2 + C_positive * hinge(positives @ w - theta) + C_negative * hinge(theta - negatives @ w)


@given(settings())
def test_theorem_1(setting):
    positives, negatives, w, _, C = setting
    bound = point_objective(positives, negatives, 2 * w, 0.0, C) / 4
    assert rank_objective(positives, negatives, w, C) <= bound * (1 + 1e-12) + 1e-9


@given(settings())
def test_theorem_2(setting):
    positives, negatives, w, theta, C = setting
    bound = point_objective(positives, negatives, 2 * w, 2 * theta, C) / 4
    assert rank_objective(positives, negatives, w, C) <= bound * (1 + 1e-12) + 1e-9


@given(settings())
def test_the_bound_is_reached_at_zero(setting):
    positives, negatives, w, _, C = setting
    expected = C * len(positives) * len(negatives)
    assert rank_objective(positives, negatives, 0 * w, C) == pytest.approx(expected)
    assert point_objective(positives, negatives, 0 * w, 0.0, C) / 4 == pytest.approx(expected)


def test_at_equal_w_the_bound_is_false():
    """One positive at 1, one negative at -1, w = 1/2: the pair has no loss, but |w|^2 counts in full."""
    positives, negatives, w, C = np.array([[1.0]]), np.array([[-1.0]]), np.array([0.5]), 0.1
    assert rank_objective(positives, negatives, w, C) == pytest.approx(0.125)
    assert point_objective(positives, negatives, w, 0.0, C) / 4 == pytest.approx(0.03125 + 0.05)


def test_at_equal_w_the_bound_is_false_for_the_losses_alone():
    """With w = -1 the pair loses 3, where a quarter of the weighted points loses 2, whatever C is."""
    positives, negatives, w = np.array([[1.0]]), np.array([[-1.0]]), np.array([-1.0])
    for C in (0.1, 1.0, 100.0):
        rank_loss = rank_objective(positives, negatives, w, C) - w @ w / 2
        point_loss = point_objective(positives, negatives, w, 0.0, C) - w @ w / 2
        assert rank_loss == pytest.approx(3 * C)
        assert point_loss / 4 == pytest.approx(2 * C)
