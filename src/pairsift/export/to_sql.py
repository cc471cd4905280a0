"""One SQL expression, to be put into a query: ``SELECT id, <expression> AS score FROM customers``.

It keeps to what SQLite (from 3.35), PostgreSQL and DuckDB share. Names of columns are quoted, quotes in them doubled.
A missing value (NULL) is filled as in training; where training knew none, the score is NULL. Sums are nested, because
databases limit the depth of an expression.

Categories are compared as text, because SQLite finds no text equal to a number: a column of numbers is cast. Databases
write a whole number in a column of type REAL as 1003 or 1003.0, so that a category that is a number has a WHEN for
each.
"""

from __future__ import annotations

import re

from pairsift.export.columns import Category, Number, columns_of
from pairsift.linear_model import LinearModel
from pairsift.probabilities import Calibration, Isotonic, Logistic

MOST_TERMS = 100_000
_TOGETHER = 40
_DECIMAL = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?", re.ASCII)
_MOST_DIGITS = 15  # SQLite writes no more of a number, and PostgreSQL takes to exponents
_FURTHEST = 700.0  # exp(-700) is still a number; beyond it some databases raise an error


def export(model: LinearModel, *, probability: bool = False) -> bytes:
    """Return the expression of the score, or of the probability."""
    unit = model.scaling == "unit"
    columns = [column for column in columns_of(model) if unit or _counts(column)]
    terms = sum(len(column.weights) if isinstance(column, Category) else 1 for column in columns)
    if terms > MOST_TERMS:
        raise ValueError(f"A SQL expression may have {MOST_TERMS:,} terms; this model has {terms:,}. Use ONNX or JSON.")
    total = _sum([_term(column) for column in columns])
    if unit:
        squares = _sum([_square(column) for column in columns])
        # NULL is not equal to 0, so that a missing value goes on to the division and makes the score NULL.
        total = f"CASE WHEN {squares} = 0e0 THEN 0e0 ELSE {total} / SQRT({squares}) END"
    score = f"({total} + {_number(float(model.intercept_[0]))})"
    if probability:
        assert model.calibration is not None
        score = _probability(score, model.calibration)
    return score.encode() + b"\n"


def _counts(column: Number | Category) -> bool:
    return any(column.weights.values()) if isinstance(column, Category) else column.weight != 0


def _term(column: Number | Category) -> str:
    if isinstance(column, Category):
        return _by_category(column, column.weights)
    return f"{_number(column.weight)} * {_value(column)}"


def _square(column: Number | Category) -> str:
    if isinstance(column, Category):
        return _by_category(column, dict.fromkeys(column.weights, 1.0))
    return f"{_value(column)} * {_value(column)}"


def _by_category(column: Category, values: dict[str, float]) -> str:
    """Return what gives the value of the row's category, and 0 where training did not know it."""
    name, absent = _name(column.name), "NULL"
    if column.missing_allowed:
        absent = _number(0.0 if column.fill is None else values[column.fill])
    cases = " ".join(f"WHEN {_text(text)} THEN {_number(value)}" for text, value in _spelled(values).items() if value)
    known = f"CASE CAST({name} AS VARCHAR) {cases} ELSE 0e0 END" if cases else "0e0"
    return f"CASE WHEN {name} IS NULL THEN {absent} ELSE {known} END"


def _spelled(values: dict[str, float]) -> dict[str, float]:
    """Add the other ways to write the categories that are numbers; what is a category of its own stays that."""
    spelled = dict(values)
    for category, value in values.items():
        for text in _other_spellings(category):
            spelled.setdefault(text, value)
    return spelled


def _other_spellings(category: str) -> list[str]:
    """Return how databases write a category that is a number, in columns of whole numbers and of others.

    Leading zeros are kept apart: 01003 is a code, and the number 1003 may be another.
    """
    if not _DECIMAL.fullmatch(category) or sum(map(str.isdigit, category)) > _MOST_DIGITS:
        return []
    shortest = category.rstrip("0").rstrip(".") if "." in category else category
    return [shortest] if "." in shortest else [shortest, f"{shortest}.0"]


def _value(column: Number) -> str:
    name = _name(column.name)
    if column.is_bool:
        missing = "" if column.fill is None else f" ELSE {_number(column.fill)}"
        return f"CASE WHEN {name} THEN 1e0 WHEN NOT {name} THEN 0e0{missing} END"
    return name if column.fill is None else f"COALESCE({name}, {_number(column.fill)})"


def _sum(terms: list[str]) -> str:
    if not terms:
        return "0e0"
    while len(terms) > 1:
        terms = [f"({' + '.join(terms[k : k + _TOGETHER])})" for k in range(0, len(terms), _TOGETHER)]
    return terms[0]


def _probability(score: str, calibration: Calibration) -> str:
    """Return the probability; the score is computed once, in a subquery without a table."""
    up, down = (_number(factor) for factor in calibration.factors)
    p = _logistic(calibration.curve) if isinstance(calibration.curve, Logistic) else _isotonic(calibration.curve)
    inner = f"SELECT {p} AS pairsift_p FROM (SELECT {score} AS pairsift_s) AS pairsift_scored"
    shifted = f"pairsift_p * {up} / (pairsift_p * {up} + (1e0 - pairsift_p) * {down})"
    return f"(SELECT {shifted} FROM ({inner}) AS pairsift_curve)"


def _logistic(curve: Logistic) -> str:
    z = f"({_number(curve.slope)} * pairsift_s + {_number(curve.offset)})"
    far = _number(_FURTHEST)
    return f"CASE WHEN {z} > {far} THEN 1e0 WHEN {z} < -{far} THEN 0e0 ELSE 1e0 / (1e0 + EXP(-{z})) END"


def _isotonic(curve: Isotonic) -> str:
    knots, values = curve.scores.tolist(), curve.values.tolist()
    cases = [f"WHEN pairsift_s <= {_number(knots[0])} THEN {_number(values[0])}"]
    for k in range(1, len(knots)):
        slope = (values[k] - values[k - 1]) / (knots[k] - knots[k - 1])
        line = f"{_number(values[k - 1])} + {_number(slope)} * (pairsift_s - {_number(knots[k - 1])})"
        cases.append(f"WHEN pairsift_s <= {_number(knots[k])} THEN {line}")
    cases.append(f"WHEN pairsift_s > {_number(knots[-1])} THEN {_number(values[-1])}")
    return f"CASE {' '.join(cases)} END"


def _number(value: float) -> str:
    """Return a literal of double precision with all its digits: the exponent is what makes it one."""
    text = repr(float(value))
    text = text if "e" in text else f"{text}e0"
    return f"({text})" if value < 0 else text


def _name(name: str) -> str:
    return '"' + _without_nul(name).replace('"', '""') + '"'


def _text(value: str) -> str:
    return "'" + _without_nul(value).replace("'", "''") + "'"


def _without_nul(text: str) -> str:
    if "\0" in text:
        raise ValueError(f"SQL has no way to write {text!r}: it holds a character of code 0. Use JSON or Python.")
    return text
