"""An ONNX graph, for onnxruntime and its relatives.

Inputs: a model of a table has one input of shape (rows, 1) for each column, named as the column: double for numbers
(NaN is missing; true and false are 1 and 0), string for categories ("" is missing). Other models have one input, ``X``,
double, of shape (rows, features). Outputs, of shape (rows,): ``score``, ``label`` and, of a calibrated model,
``probability``; ``output_`` is put before a name that a column has already.

Everything is computed in double precision, so that scores agree with pairsift's to rounding (1e-12 of their size; the
features of float32 tables are rounded to float32 in both). A missing value that training did not know how to fill gives
NaN where pairsift refuses the row.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pairsift import __version__
from pairsift._typing import AnyArray
from pairsift.export.columns import Category, Number, columns_of
from pairsift.linear_model import LinearModel
from pairsift.probabilities import Calibration, Isotonic, Logistic

# Old enough for the onnxruntime of three years ago, new enough for double precision in every operator used.
_OPSET, _ML_OPSET, _IR = 17, 3, 8


def import_onnx() -> Any:
    """Import onnx, or say in one line how to get it."""
    try:
        import onnx
    except ImportError as error:
        raise ValueError('Writing ONNX needs the package onnx: pip install "pairsift[onnx]"') from error
    return onnx


def export(model: LinearModel) -> bytes:
    """Return the serialised graph."""
    onnx = import_onnx()
    graph = _Graph(onnx)
    if model.encoding is None:
        taken = {"X"}
        total = _matrix_score(graph, model)
    else:
        taken = set(model.encoding.names)
        total = _table_score(graph, model)
    score = graph.add("Add", total, graph.constant(model.intercept_))
    score = graph.add("Reshape", score, graph.constant(np.array([-1])))
    _output(graph, taken, "score", score, onnx.TensorProto.DOUBLE)
    label, kind = _label(graph, score, model.classes_)
    _output(graph, taken, "label", label, kind)
    if model.calibration is not None:
        p = _probability(graph, score, model.calibration)
        _output(graph, taken, "probability", p, onnx.TensorProto.DOUBLE)
    return graph.serialised()


class _Graph:
    """Nodes and constants in the making. Inner names begin with ``pairsift/``."""

    def __init__(self, onnx: Any) -> None:
        self.onnx = onnx
        self.inputs: list[Any] = []
        self.outputs: list[Any] = []
        self._nodes: list[Any] = []
        self._constants: list[Any] = []

    def input(self, name: str, kind: int, width: int) -> str:
        """Declare an input of shape (rows, width)."""
        self.inputs.append(self.onnx.helper.make_tensor_value_info(name, kind, ["rows", width]))
        return name

    def constant(self, values: AnyArray) -> str:
        """Return the name of a constant; float64, int64, bool or an array of texts."""
        name = f"pairsift/constant{len(self._constants)}"
        if values.dtype.kind in "UO":
            texts = [str(text).encode() for text in values.ravel().tolist()]
            tensor = self.onnx.helper.make_tensor(name, self.onnx.TensorProto.STRING, values.shape, texts)
        else:
            tensor = self.onnx.numpy_helper.from_array(np.ascontiguousarray(values), name)
        self._constants.append(tensor)
        return name

    def add(self, operator: str, *inputs: str, domain: str = "", **attributes: Any) -> str:
        """Add a node and return the name of its output."""
        name = f"pairsift/{operator}{len(self._nodes)}"
        self._nodes.append(self.onnx.helper.make_node(operator, list(inputs), [name], domain=domain, **attributes))
        return name

    def rename(self, inner: str, name: str) -> None:
        """Give a value the name of an output."""
        self._nodes.append(self.onnx.helper.make_node("Identity", [inner], [name]))

    def serialised(self) -> bytes:
        """Return the bytes of the checked model."""
        helper = self.onnx.helper
        graph = helper.make_graph(self._nodes, "pairsift", self.inputs, self.outputs, self._constants)
        opsets = [helper.make_opsetid("", _OPSET), helper.make_opsetid("ai.onnx.ml", _ML_OPSET)]
        model = helper.make_model(
            graph, opset_imports=opsets, ir_version=_IR, producer_name="pairsift", producer_version=__version__
        )
        self.onnx.checker.check_model(model)
        content: bytes = model.SerializeToString()
        return content


def _matrix_score(graph: _Graph, model: LinearModel) -> str:
    values = graph.input("X", graph.onnx.TensorProto.DOUBLE, model.n_features_in_)
    if model.scaling == "unit":
        squares = graph.add("ReduceSum", graph.add("Mul", values, values), graph.constant(np.array([1])), keepdims=1)
        values = graph.add("Div", values, _length(graph, squares))
    return graph.add("MatMul", values, graph.constant(model.coef_[0][:, np.newaxis]))


def _table_score(graph: _Graph, model: LinearModel) -> str:
    """Return the sum of weight * value over columns; the value of a category is whether it is known."""
    assert model.encoding is not None
    float32 = model.encoding.dtype == "float32"
    parts = [
        _category(graph, column) if isinstance(column, Category) else _number(graph, column)
        for column in columns_of(model)
    ]
    parts = [(weight, _rounded(graph, value) if float32 else value) for weight, value in parts]
    if model.scaling == "unit":
        length = _length(graph, graph.add("Sum", *(graph.add("Mul", value, value) for _, value in parts)))
        parts = [(weight, graph.add("Div", value, length)) for weight, value in parts]
        parts = [(weight, _rounded(graph, value) if float32 else value) for weight, value in parts]
    return graph.add("Sum", *(graph.add("Mul", weight, value) for weight, value in parts))


def _number(graph: _Graph, column: Number) -> tuple[str, str]:
    value = graph.input(column.name, graph.onnx.TensorProto.DOUBLE, 1)
    if column.fill is not None:
        value = graph.add("Where", graph.add("IsNaN", value), graph.constant(np.array([column.fill])), value)
    return graph.constant(np.array([column.weight])), value


def _category(graph: _Graph, column: Category) -> tuple[str, str]:
    """Look the text up: its place among the known values, behind them "unknown" and "missing and not to be filled"."""
    text = graph.input(column.name, graph.onnx.TensorProto.STRING, 1)
    places = {value: place for place, value in enumerate(column.weights)}
    unknown, refused = len(places), len(places) + 1
    without = unknown if column.missing_allowed else refused
    places.setdefault("", without if column.fill is None else places[column.fill])
    place = graph.add(
        "LabelEncoder",
        text,
        domain="ai.onnx.ml",
        keys_strings=list(places),
        values_int64s=list(places.values()),
        default_int64=unknown,
    )
    weights = np.array([*column.weights.values(), 0.0, np.nan])
    known = np.array([1.0] * len(column.weights) + [0.0, np.nan])
    return graph.add("Gather", graph.constant(weights), place), graph.add("Gather", graph.constant(known), place)


def _length(graph: _Graph, squares: str) -> str:
    """Return the length of each row, 1 for a row of zeros."""
    zero, one = graph.constant(np.zeros(1)), graph.constant(np.ones(1))
    return graph.add("Sqrt", graph.add("Where", graph.add("Equal", squares, zero), one, squares))


def _rounded(graph: _Graph, value: str) -> str:
    types = graph.onnx.TensorProto
    return graph.add("Cast", graph.add("Cast", value, to=types.FLOAT), to=types.DOUBLE)


def _label(graph: _Graph, score: str, classes: AnyArray) -> tuple[str, int]:
    types = graph.onnx.TensorProto
    above = graph.add("Greater", score, graph.constant(np.zeros(1)))
    if classes.dtype.kind == "b":
        return (above if classes[1] else graph.add("Not", above)), types.BOOL
    if classes.dtype.kind in "iu":
        classes, kind = classes.astype(np.int64), types.INT64
    elif classes.dtype.kind == "f":
        classes, kind = classes.astype(np.float64), types.DOUBLE
    else:
        classes, kind = np.array([str(label) for label in classes], dtype=object), types.STRING
    return graph.add("Where", above, graph.constant(classes[1:]), graph.constant(classes[:1])), kind


def _probability(graph: _Graph, score: str, calibration: Calibration) -> str:
    curve = calibration.curve
    p = _logistic(graph, score, curve) if isinstance(curve, Logistic) else _isotonic(graph, score, curve)
    up, down = (graph.constant(np.array([factor])) for factor in calibration.factors)
    positive = graph.add("Mul", p, up)
    negative = graph.add("Mul", graph.add("Sub", graph.constant(np.ones(1)), p), down)
    return graph.add("Div", positive, graph.add("Add", positive, negative))


def _logistic(graph: _Graph, score: str, curve: Logistic) -> str:
    slope, offset = graph.constant(np.array([curve.slope])), graph.constant(np.array([curve.offset]))
    return graph.add("Sigmoid", graph.add("Add", graph.add("Mul", score, slope), offset))


def _isotonic(graph: _Graph, score: str, curve: Isotonic) -> str:
    """Count the knots that are reached, and take the line that begins at the last of them."""
    knots, values = curve.scores, curve.values
    slopes = np.concatenate([[0.0], np.diff(values) / np.diff(knots), [0.0]])
    starts, heights = np.concatenate([knots[:1], knots]), np.concatenate([values[:1], values])
    column = graph.add("Reshape", score, graph.constant(np.array([-1, 1])))
    reached = graph.add("GreaterOrEqual", column, graph.constant(knots[np.newaxis]))
    counted = graph.add("Cast", reached, to=graph.onnx.TensorProto.INT64)
    place = graph.add("ReduceSum", counted, graph.constant(np.array([1])), keepdims=0)
    slope, start, height = (graph.add("Gather", graph.constant(a), place) for a in (slopes, starts, heights))
    return graph.add("Add", height, graph.add("Mul", slope, graph.add("Sub", score, start)))


def _output(graph: _Graph, taken: set[str], name: str, inner: str, kind: int) -> None:
    while name in taken:
        name = f"output_{name}"
    taken.add(name)
    graph.rename(inner, name)
    graph.outputs.append(graph.onnx.helper.make_tensor_value_info(name, kind, ["rows"]))
