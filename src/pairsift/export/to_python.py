"""A Python module with the functions ``score(row)``, ``predict(row)`` and, of a calibrated model, ``probability(row)``.

It needs nothing but Python. What comes from the data (names, categories, labels) is written as `ascii` writes literals,
so that nothing in it can be anything but a literal.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pairsift import __version__
from pairsift.export.columns import Category, Number, columns_of
from pairsift.linear_model import LinearModel
from pairsift.probabilities import Calibration, Logistic

_NAMED = '''

def _missing(value):
    return value is None or value != value


def _number(name, value, fill):
    if _missing(value) or value == "":
        if fill is None:
            raise ValueError("missing value in column " + repr(name) + ": the model was trained without imputation")
        return fill
    value = float(value)
    if math.isinf(value):
        raise ValueError("infinite value in column " + repr(name))
    return value


def _text(name, value, fill, missing_allowed):
    if _missing(value):
        if not missing_allowed:
            raise ValueError("missing value in column " + repr(name) + ": the model was trained without imputation")
        return fill
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def _parts(row):
    """Yield the weight and the value of each column; row maps names to values."""
    for name, (weight, fill) in NUMBERS.items():
        yield weight, _number(name, row[name], fill)
    for name, (weights, fill, missing_allowed) in CATEGORIES.items():
        value = row[name]
        if value == "" and "" not in weights:
            value = None
        text = _text(name, value, fill, missing_allowed)
        if text in weights:
            yield weights[text], 1.0
'''
_PLAIN = '''

def _parts(row):
    """Yield the weight and the value of each feature; row is a sequence of numbers."""
    if len(row) != len(WEIGHTS):
        raise ValueError("a row has " + str(len(WEIGHTS)) + " numbers; got " + str(len(row)))
    for weight, value in zip(WEIGHTS, row):
        value = float(value)
        if not math.isfinite(value):
            raise ValueError("a row holds finite numbers; got " + repr(value))
        yield weight, value
'''
_SCORE = '''

def score(row):
    """Return the score: the higher, the more positive."""
    return math.fsum(weight * value for weight, value in _parts(row)) + INTERCEPT
'''
_UNIT_SCORE = '''

def score(row):
    """Return the score: the higher, the more positive. Rows are scaled to length one."""
    parts = list(_parts(row))
    largest = max((abs(value) for _, value in parts), default=0.0)
    if largest == 0.0:
        return INTERCEPT
    length = math.sqrt(math.fsum((value / largest) ** 2 for _, value in parts))
    return math.fsum(weight * (value / largest / length) for weight, value in parts) + INTERCEPT
'''
_PREDICT = '''

def predict(row):
    """Return the label."""
    return CLASSES[1] if score(row) > 0 else CLASSES[0]
'''
_LOGISTIC = """

def _curve(s):
    z = SLOPE * s + OFFSET
    if z >= 0:
        return 1.0 / (1.0 + math.exp(-z))
    e = math.exp(z)
    return e / (1.0 + e)
"""
_ISOTONIC = """

def _curve(s):
    if s <= KNOTS[0]:
        return VALUES[0]
    if s >= KNOTS[-1]:
        return VALUES[-1]
    k = bisect.bisect_right(KNOTS, s)
    share = (s - KNOTS[k - 1]) / (KNOTS[k] - KNOTS[k - 1])
    return VALUES[k - 1] + share * (VALUES[k] - VALUES[k - 1])
"""
_PROBABILITY = '''

def probability(row):
    """Return the probability of CLASSES[1]."""
    p = _curve(score(row))
    return p * RATE_1 / (p * RATE_1 + (1.0 - p) * RATE_0)
'''


def export(model: LinearModel) -> bytes:
    """Return the text of the module."""
    named = model.encoding is not None or model.feature_names_in_ is not None
    lines = [
        f'"""A linear ranking model, written by pairsift {__version__}. It needs nothing but Python 3."""',
        "",
        *(["import bisect"] if model.calibration is not None and model.calibration.method == "isotonic" else []),
        "import math",
        "",
        f"CLASSES = ({', '.join(_literal(label) for label in model.classes_.tolist())})",
        f"INTERCEPT = {float(model.intercept_[0])!r}",
        *(_named_constants(columns_of(model)) if named else _sequence("WEIGHTS", model.coef_[0].tolist())),
        *_calibration_constants(model.calibration),
    ]
    text = "\n".join(lines) + "\n"
    text += (_NAMED if named else _PLAIN) + (_UNIT_SCORE if model.scaling == "unit" else _SCORE) + _PREDICT
    if model.calibration is not None:
        text += (_LOGISTIC if model.calibration.method == "logistic" else _ISOTONIC) + _PROBABILITY
    return text.encode("ascii")


def _named_constants(columns: Iterable[Number | Category]) -> Iterable[str]:
    """Yield NUMBERS, {name: (weight, fill)}, and CATEGORIES, {name: (weights, fill, missing allowed)}."""
    columns = list(columns)
    yield "NUMBERS = {"
    yield from (f"    {c.name!a}: ({c.weight!r}, {c.fill!r})," for c in columns if isinstance(c, Number))
    yield "}"
    yield "CATEGORIES = {"
    for column in columns:
        if isinstance(column, Category):
            yield f"    {column.name!a}: ("
            yield "        {"
            yield from (f"            {value!a}: {weight!r}," for value, weight in column.weights.items())
            yield "        },"
            yield f"        {column.fill!a},"
            yield f"        {column.missing_allowed!r},"
            yield "    ),"
    yield "}"


def _calibration_constants(calibration: Calibration | None) -> Iterable[str]:
    if calibration is None:
        return
    if isinstance(calibration.curve, Logistic):
        yield f"SLOPE, OFFSET = {calibration.curve.slope!r}, {calibration.curve.offset!r}"
    else:
        yield from _sequence("KNOTS", calibration.curve.scores.tolist())
        yield from _sequence("VALUES", calibration.curve.values.tolist())
    yield f"RATE_1, RATE_0 = {calibration.factors[0]!r}, {calibration.factors[1]!r}"


def _sequence(name: str, values: list[float]) -> Iterable[str]:
    yield f"{name} = ("
    yield from (f"    {value!r}," for value in values)
    yield ")"


def _literal(value: Any) -> str:
    return ascii(value)
