"""What a model does with each column of its input, in a form that every target can write down.

A model's score is a sum over columns, ``intercept + sum_c term_c``: a number adds ``weight * value``, a category the
weight of its value, or nothing for a value that training did not know. Rows of unit length divide the sum (without the
intercept) by the length of the row, in which a known category counts one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pairsift.linear_model import LinearModel


@dataclass(frozen=True)
class Number:
    """A column of numbers (`is_bool`: of true and false, which are 1 and 0).

    `fill` stands for a missing value; None means that a missing value has no score.
    """

    name: str
    weight: float
    fill: float | None = None
    is_bool: bool = False


@dataclass(frozen=True)
class Category:
    """A column of texts with the weight of each known value.

    `fill` is the value that stands for a missing one; without it a missing value adds nothing, as an unknown one does,
    if `missing_allowed`. Otherwise a missing value has no score.
    """

    name: str
    weights: dict[str, float]
    fill: str | None = None
    missing_allowed: bool = False


def columns_of(model: LinearModel) -> list[Number | Category]:
    """Return the columns of a model's input: those of its table, or one number for each feature."""
    weights = model.coef_[0].tolist()
    if model.encoding is None:
        return [Number(name, weight) for name, weight in zip(model.feature_labels, weights, strict=True)]
    columns: list[Number | Category] = []
    impute, start = model.encoding.impute is not None, 0
    rounded = np.dtype(model.encoding.dtype).type
    for column in model.encoding.columns:
        part = weights[start : start + column.width]
        start += column.width
        if column.kind == "category":
            fill = column.fill if isinstance(column.fill, str) else None
            columns.append(Category(column.name, dict(zip(column.categories, part, strict=True)), fill, impute))
        else:
            filled = float(rounded(column.fill or 0.0)) if impute else None
            columns.append(Number(column.name, part[0], filled, column.kind == "bool"))
    return columns
