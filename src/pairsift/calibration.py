r"""Probabilities for a linear model, learned on rows that it was not trained on.

A ranker's scores are not probabilities, and on its own training rows it looks better than it is; so the curve that
turns scores into probabilities (`pairsift.probabilities`) is learned from held-out rows. scikit-learn does the fitting
and is imported only then; a calibrated model needs it no more.

- logistic (Platt): two parameters; for few rows. The targets are (N+ + 1) / (N+ + 2) and 1 / (N- + 2) in place of 1 and
  0 (Platt, 1999), so that classes which do not overlap get a finite curve.
- isotonic: any rising curve; from about 1,000 rows of the rarer class on.

`WANTED` says how many rows of the rarer class each wants: with so many, either is about 1 % worse in log loss than with
all rows (10 columns, AUC 0.88, a tenth positive); with fewer, `too_few` says so.

A model that ranks the held-out rows no better than chance gets a flat curve: every row the share of positives.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from pairsift._typing import AnyArray, BoolArray, FloatArray
from pairsift.data.problem import Problem, check_sample_weight
from pairsift.linear_model import LinearModel, as_model
from pairsift.probabilities import Calibration, Isotonic, Logistic, Method, check_base_rate, check_method

WANTED: dict[Method, int] = {"logistic": 50, "isotonic": 1000}
_WEAK = 1e10  # the strength of the penalty is 1 / this: none to speak of, and the same in every scikit-learn


def calibrate(
    model: Any,
    X: Any,
    y: Any = None,
    method: Method = "logistic",
    base_rate: float | None = None,
    sample_weight: Any = None,
) -> LinearModel:
    """Return the model with `predict_proba`, calibrated on held-out rows.

    Parameters
    ----------
    model : LinearModel or fitted linear estimator
    X : array, CSR matrix, table or `RowStore`
        Rows that the model was not trained on. A store brings its own labels and weights.
    y : array
        Their labels.
    method : "logistic" or "isotonic"
        logistic wants 50 rows of the rarer class, isotonic 1,000; with fewer there is a warning.
    base_rate : float, optional
        The share of positives where the model will be used, if it is not that of these rows.
    sample_weight : array, optional
        How many times each row counts.

    Examples
    --------
    >>> from pairsift import ActiveRankSVM, calibrate, make_ranking
    >>> X, y = make_ranking(n_rows=20_000, n_features=10, positive_rate=0.05, random_state=0)
    >>> ranker = ActiveRankSVM(random_state=0).fit(X[:10_000], y[:10_000])
    >>> model = calibrate(ranker, X[10_000:15_000], y[10_000:15_000])
    >>> bool(abs(model.predict_proba(X[15_000:])[:, 1].mean() - 0.05) < 0.01)
    True
    """
    from pairsift.data.store import RowStore

    check_method(method)
    linear = as_model(model)
    if isinstance(X, RowStore):
        if y is not None or sample_weight is not None:
            raise ValueError("A RowStore brings its own labels and weights; call calibrate(model, store).")
        y, sample_weight = X.labels_between(0, X.n_rows), X.weights_between(0, X.n_rows)
    if y is None:
        raise ValueError("calibrate needs the labels y of the held-out rows.")
    labels = np.asarray(y)
    positive = labels == linear.classes_[1]
    if not np.all(positive | (labels == linear.classes_[0])):
        raise ValueError(f"y must hold the labels of the training, {linear.classes_.tolist()}; it has others.")
    found = calibrate_scores(linear, linear.decision_function(X), positive, method, base_rate, sample_weight)
    warning = too_few(int(positive.sum()), int((~positive).sum()), method)
    if warning is not None:
        warnings.warn(f"{warning} Give more held-out rows.", UserWarning, stacklevel=2)
    return found


def too_few(n_positive: int, n_negative: int, method: Method) -> str | None:
    """Return what is to be said of probabilities from so few held-out rows; None where they are enough."""
    if min(n_positive, n_negative) >= WANTED[method]:
        return None
    return (
        f"The probabilities are rough: {method} calibration wants {WANTED[method]:,} held-out rows of the rarer class "
        f"and got {min(n_positive, n_negative):,} ({n_positive:,} positive and {n_negative:,} negative)."
    )


def calibrate_problem(
    model: LinearModel,
    held_out: Problem,
    w: FloatArray,
    intercept: float,
    method: Method = "logistic",
    base_rate: float | None = None,
) -> LinearModel:
    """Return the model with a curve learned on the held-out part of its training data.

    Parameters
    ----------
    model : LinearModel
        As `trained_model` returns it: for raw rows.
    held_out : Problem
    w, intercept : array and float
        Coefficients for the rows of `held_out`, which are scaled as in training.
    """
    scores, weights = [], []
    weighted = held_out.positive_weights is not None
    for places, part in (
        (held_out.positives, held_out.positive_weights),
        (held_out.negatives, held_out.negative_weights),
    ):
        scores.append(held_out.rows.scores(w, places[np.arange(len(places))]) + intercept)
        weights.append(np.ones(len(places)) if part is None else part)
    positive = np.arange(held_out.n_points) < held_out.n_positive
    sample_weight = np.concatenate(weights) if weighted else None
    return calibrate_scores(model, np.concatenate(scores), positive, method, base_rate, sample_weight)


def positive_share(problem: Problem) -> float:
    """Return the share of positives in the data, by weight."""
    up, down = (
        float(len(places)) if weights is None else float(np.sum(weights))
        for places, weights in (
            (problem.positives, problem.positive_weights),
            (problem.negatives, problem.negative_weights),
        )
    )
    return up / (up + down)


def calibrate_scores(
    model: LinearModel,
    scores: FloatArray,
    positive: BoolArray,
    method: Method = "logistic",
    base_rate: float | None = None,
    sample_weight: AnyArray | None = None,
) -> LinearModel:
    """Return the model with a curve learned from the scores it gave to held-out rows."""
    curve, rate = fit_curve(scores, positive, method, sample_weight)
    used_at = rate if base_rate is None else check_base_rate(base_rate)
    return replace(model, calibration=Calibration(curve, rate, used_at, len(scores)))


def fit_curve(
    scores: FloatArray, positive: BoolArray, method: Method = "logistic", sample_weight: AnyArray | None = None
) -> tuple[Logistic | Isotonic, float]:
    """Return the curve of a kind for these scores, and the share of positives."""
    check_method(method)
    if len(scores) != len(positive):
        raise ValueError(f"One label is required for each of the {len(scores)} rows; got {len(positive)}.")
    weights = np.ones(len(scores)) if sample_weight is None else check_sample_weight(sample_weight, len(scores))
    used = weights > 0
    scores, positive, weights = np.asarray(scores, dtype=np.float64)[used], positive[used], weights[used]
    n_positive, n_negative = float(np.sum(weights[positive])), float(np.sum(weights[~positive]))
    if n_positive == 0 or n_negative == 0:
        raise ValueError(
            "Held-out rows of both classes are required for probabilities; got "
            f"{int(positive.sum())} positive and {int((~positive).sum())} negative rows."
        )
    rate = n_positive / (n_positive + n_negative)
    if method == "isotonic":
        return _isotonic(scores, positive, weights), rate
    return _logistic(scores, positive, weights, n_positive, n_negative), rate


def _logistic(
    scores: FloatArray, positive: BoolArray, weights: FloatArray, n_positive: float, n_negative: float
) -> Logistic:
    from sklearn.linear_model import LogisticRegression

    centre, spread = float(np.mean(scores)), float(np.std(scores))
    flat = Logistic(0.0, float(np.log(n_positive / n_negative)))
    if not spread > 1e-13 * abs(centre):
        return flat
    target = np.where(positive, (n_positive + 1) / (n_positive + 2), 1 / (n_negative + 2))
    # A row with the target t is a positive of weight t and a negative of weight 1 - t.
    places = np.tile((scores - centre) / spread, 2)[:, np.newaxis]
    sides = np.repeat([1, 0], len(scores))
    fitted = LogisticRegression(C=_WEAK, solver="newton-cholesky", tol=1e-8, max_iter=1000)
    fitted.fit(places, sides, sample_weight=np.concatenate([weights * target, weights * (1 - target)]))
    slope = float(fitted.coef_[0, 0]) / spread
    return Logistic(slope, float(fitted.intercept_[0]) - slope * centre) if slope > 0 else flat


def _isotonic(scores: FloatArray, positive: BoolArray, weights: FloatArray) -> Isotonic:
    from sklearn.isotonic import IsotonicRegression

    fitted = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip")
    fitted.fit(scores, positive.astype(np.float64), sample_weight=weights)
    knots, values = np.asarray(fitted.X_thresholds_, dtype=np.float64), np.asarray(fitted.y_thresholds_)
    return Isotonic(knots, np.clip(np.maximum.accumulate(values), 0.0, 1.0))
