r"""From scores to probabilities: a rising curve, learned on held-out rows, and a correction for another base rate.

Two curves, both rising, so that probabilities rank rows as scores do:

- logistic: ``p(s) = 1 / (1 + exp(-(slope * s + offset)))``, slope >= 0;
- isotonic: straight lines between the knots (s_k, p_k), constant beyond the first and the last.

Base rate
---------
A curve is right where positives are as frequent as in the rows it was learned on, at the rate r. Where they have the
base rate r', and each class looks as it did (prior shift), Bayes' rule gives

.. math:: p' = \frac{p\, r_1}{p\, r_1 + (1 - p)\, r_0}, \qquad r_1 = r' / r, \quad r_0 = (1 - r') / (1 - r).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from pairsift._typing import FloatArray

Method = Literal["logistic", "isotonic"]
METHODS = ("logistic", "isotonic")


@dataclass(frozen=True)
class Logistic:
    """The logistic curve ``1 / (1 + exp(-(slope * s + offset)))``."""

    slope: float
    offset: float

    def __post_init__(self) -> None:
        _require(_is_finite(self.slope) and _is_finite(self.offset), "slope and offset must be finite numbers")
        _require(self.slope >= 0, "the slope must not be negative")

    def __call__(self, scores: FloatArray) -> FloatArray:
        """Return the probability at each score."""
        return np.asarray(np.exp(-np.logaddexp(0.0, -(self.slope * scores + self.offset))))

    def to_json(self) -> dict[str, Any]:
        """Return the curve as JSON has it."""
        return {"method": "logistic", "slope": self.slope, "offset": self.offset}


@dataclass(frozen=True)
class Isotonic:
    """Straight lines between knots: `scores` strictly ascending, `values` in [0, 1] and not falling."""

    scores: FloatArray
    values: FloatArray

    def __post_init__(self) -> None:
        scores, values = self.scores, self.values
        _require(scores.shape == values.shape and scores.ndim == 1 and len(scores) > 0, "knots need as many values")
        _require(bool(np.all(np.isfinite(scores)) and np.all(np.isfinite(values))), "knots and values must be finite")
        _require(bool(np.all(np.diff(scores) > 0)), "the scores of the knots must ascend")
        _require(bool(np.all(np.diff(values) >= 0)), "the values must not fall")
        _require(bool(values[0] >= 0 and values[-1] <= 1), "the values must be in [0, 1]")

    def __call__(self, scores: FloatArray) -> FloatArray:
        """Return the probability at each score."""
        return np.asarray(np.interp(scores, self.scores, self.values))

    def to_json(self) -> dict[str, Any]:
        """Return the curve as JSON has it."""
        return {"method": "isotonic", "scores": self.scores.tolist(), "values": self.values.tolist()}


@dataclass(frozen=True)
class Calibration:
    """A curve, and the rates of positives: `rate` where it was learned, `base_rate` where it is used.

    `n_rows` is the number of held-out rows.
    """

    curve: Logistic | Isotonic
    rate: float
    base_rate: float
    n_rows: int

    def __post_init__(self) -> None:
        for name, rate in (("rate", self.rate), ("base_rate", self.base_rate)):
            _require(_is_finite(rate) and 0 < rate < 1, f"{name} must be between 0 and 1, both excluded")
        _require(type(self.n_rows) is int and self.n_rows >= 0, "n_rows must be a whole number")

    @property
    def method(self) -> str:
        """The kind of curve."""
        return "logistic" if isinstance(self.curve, Logistic) else "isotonic"

    def probabilities(self, scores: FloatArray) -> FloatArray:
        """Return the probability of the positive label at each score, at the base rate."""
        return shift_prior(self.curve(np.asarray(scores, dtype=np.float64)), self.rate, self.base_rate)

    def with_base_rate(self, base_rate: float) -> Calibration:
        """Return the calibration for another share of positives."""
        return replace(self, base_rate=check_base_rate(base_rate))

    @property
    def factors(self) -> tuple[float, float]:
        """(r_1, r_0) of the module's formula."""
        return _factors(self.rate, self.base_rate)

    def to_json(self) -> dict[str, Any]:
        """Return plain lists and dictionaries, fit for JSON."""
        return {**self.curve.to_json(), "rate": self.rate, "base_rate": self.base_rate, "n_rows": self.n_rows}

    @classmethod
    def from_json(cls, content: Any) -> Calibration:
        """Return what `to_json` wrote; raise `ValueError` unless every part of it is as it should be."""
        _require(isinstance(content, dict), "it must be an object")
        method = content.get("method")
        if method == "logistic":
            curve: Logistic | Isotonic = Logistic(_number(content, "slope"), _number(content, "offset"))
        else:
            _require(method == "isotonic", f"its method must be one of {', '.join(METHODS)}")
            curve = Isotonic(_numbers(content, "scores"), _numbers(content, "values"))
        return cls(curve, _number(content, "rate"), _number(content, "base_rate"), content.get("n_rows"))


def shift_prior(p: FloatArray, rate: float, base_rate: float) -> FloatArray:
    """Return probabilities for another share of positives: ``p r1 / (p r1 + (1 - p) r0)``.

    Parameters
    ----------
    p : array
        Probabilities that are right where the share of positives is `rate`.
    rate, base_rate : float
        The share of positives in the rows they were learned on, and where they are used.
    """
    if rate == base_rate:
        return p
    up, down = _factors(rate, base_rate)
    return p * up / (p * up + (1 - p) * down)


def check_base_rate(base_rate: Any) -> float:
    """Return a share of positives as a number, or raise `ValueError`."""
    try:
        value = float(base_rate)
    except (TypeError, ValueError):
        value = float("nan")
    if not 0 < value < 1:
        raise ValueError(f"base_rate must be between 0 and 1, both excluded; got {base_rate!r}. 2 % is 0.02.")
    return value


def check_method(method: Any) -> Method:
    """Return the name of a kind of curve, or raise `ValueError`."""
    if method not in METHODS:
        raise ValueError(f'method must be "logistic" or "isotonic"; got {method!r}.')
    return "logistic" if method == "logistic" else "isotonic"


def _factors(rate: float, base_rate: float) -> tuple[float, float]:
    return base_rate / rate, (1 - base_rate) / (1 - rate)


def _is_finite(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < float("inf")


def _number(content: dict[str, Any], key: str) -> float:
    _require(_is_finite(content.get(key)), f"{key} must be a finite number")
    return float(content[key])


def _numbers(content: dict[str, Any], key: str) -> FloatArray:
    values = content.get(key)
    _require(isinstance(values, list) and all(map(_is_finite, values)), f"{key} must be a list of finite numbers")
    return np.array(values, dtype=np.float64)


def _require(condition: bool, what: str) -> None:
    if not condition:
        raise ValueError(f"calibration: {what}")
