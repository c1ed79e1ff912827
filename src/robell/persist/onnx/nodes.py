"""Nodes of an ONNX graph written one after the other, all numbers in double precision.

No number is multiplied by a constant right before or after a product of matrices: onnxruntime
would make one operation of the two, and keep the constant in single precision.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import Pipeline

from robell._core.layers.features import LEAKY_SLOPE, SELU_ALPHA, SELU_LAMBDA
from robell._tools.files import FileError


class NotConvertible(FileError):
    """A part of a model has no ONNX form; ``columns`` are those that a graph could do without."""

    def __init__(self, text: str, columns: Sequence[str] = ()) -> None:
        super().__init__(f"{text} without={list(columns)!r}" if columns else text)
        self.text, self.columns = text, list(columns)

    def in_options(self, **names: str) -> FileError:
        """Return the error as a command says it."""
        return (
            FileError(f"{self.text} --without {shlex.join(self.columns)}") if self.columns else self
        )


def _operator(kind: str) -> Callable[..., Value]:
    """Return a method of a value that writes a node of it and of what stands behind the sign."""

    def write(value: Value, *others: Any) -> Value:
        return value.graph.node(kind, value, *others)

    return write


class Value:
    """A value in a graph; an operation with another one, an array or a number writes a node."""

    __array_ufunc__ = None  # an array before the operator leaves it to the methods below
    __add__, __sub__, __mul__, __truediv__ = map(_operator, ("Add", "Sub", "Mul", "Div"))
    __neg__, __or__ = map(_operator, ("Neg", "Or"))
    __gt__, __ge__ = map(_operator, ("Greater", "GreaterOrEqual"))

    def __init__(self, graph: Graph, name: str) -> None:
        self.graph, self.name = graph, name

    def __rsub__(self, other: Any) -> Value:
        return self.graph.node("Sub", other, self)

    def __matmul__(self, weights: Any) -> Value:
        return self.graph.node("MatMul", self, np.asarray(weights, np.float64))


class Graph:
    """Writes nodes into what skl2onnx gives a converter."""

    def __init__(self, scope, container):
        self._scope, self._container = scope, container

    def constant(self, values):
        """Return a constant's name: numbers become doubles; whole numbers, truth and texts stay."""
        from onnx import TensorProto

        values = np.asarray(values)
        kinds = {"f": TensorProto.DOUBLE, "i": TensorProto.INT64, "u": TensorProto.INT64}
        kinds |= {"b": TensorProto.BOOL, "U": TensorProto.STRING, "O": TensorProto.STRING}
        kind = kinds[values.dtype.kind]
        flat = values.ravel().tolist()
        if kind == TensorProto.STRING:
            flat = [str(text).encode("utf-8") for text in flat]
        name = self._scope.get_unique_variable_name("constant")
        self._container.add_initializer(name, kind, list(values.shape), flat)
        return name

    def node(self, kind, *inputs, domain="", version=None, output=None, **attributes):
        """Add a node and return its output; arrays and numbers among its inputs are constants."""
        output = output or self._scope.get_unique_variable_name(kind.lower())
        self._container.add_node(
            kind,
            [one.name if isinstance(one, Value) else self.constant(one) for one in inputs],
            [output],
            op_domain=domain,
            op_version=version or self._version(kind),
            name=self._scope.get_unique_operator_name(kind),
            **attributes,
        )
        return Value(self, output)

    def probabilities_of(self, model, X):
        """Return what ``predict_proba`` of a classifier gives, by skl2onnx's own converters."""
        # A forest sees its rows in single precision, as in scikit-learn: a number that stands on a
        # threshold would otherwise go the other way.
        from skl2onnx.common.data_types import DoubleTensorType, Int64TensorType
        from skl2onnx.sklapi import CastTransformer

        declare = self._scope.declare_local_variable
        rows = declare("rows", DoubleTensorType([None, int(model.n_features_in_)]))
        self.node("Identity", X, output=rows.full_name)
        *before, last = model.steps if isinstance(model, Pipeline) else [("model", model)]
        if isinstance(last[1], RandomForestClassifier):
            single, double = CastTransformer(dtype=np.float32), CastTransformer(dtype=np.float64)
            before += [("single", single), ("double", double)]
        steps = Pipeline([*before, last])
        inner = self._scope.declare_local_operator("SklearnPipeline", steps)
        inner.inputs.append(rows)
        inner.outputs.append(declare("label", Int64TensorType([None])))
        probability = declare("probability", DoubleTensorType([None, len(model.classes_)]))
        inner.outputs.append(probability)
        return Value(self, probability.full_name)

    def _version(self, kind):
        """Return the version of an operator that the graph's operator set has."""
        from onnx.defs import SchemaError, get_schema

        opset = self._container.target_opset
        try:
            return get_schema(kind, opset).since_version
        except SchemaError:
            needed = get_schema(kind).since_version
            raise NotConvertible(
                f"{kind} is not in the operator set {opset} that was asked for: it needs {needed}"
            ) from None

    # -- what several models need ------------------------------------------------------

    def cos(self, angle):
        """Return cos a = sin(a + π/2): not every onnxruntime has a cosine of doubles."""
        return self.node("Sin", angle + 0.5 * np.pi)

    def beside(self, *values):
        """Return columns side by side."""
        return values[0] if len(values) == 1 else self.node("Concat", *values, axis=1)

    def rows_of(self, inputs):
        """Return the inputs side by side, as doubles."""
        return self.beside(*map(self.to_double, inputs))

    def columns(self, X, places):
        """Return some columns."""
        return self.node("Gather", X, np.asarray(places, np.int64), axis=1)

    def to_double(self, X):
        """Return numbers as doubles."""
        from onnx import TensorProto

        return self.node("Cast", X, to=TensorProto.DOUBLE)

    def over(self, kind, X, keepdims=1):
        """Return the sum, the largest or the smallest of each row."""
        return self.node(kind, X, np.array([1]), keepdims=keepdims)

    def best(self, scores, keepdims=0):
        """Return the place of each row's largest score."""
        return self.node("ArgMax", scores, axis=1, keepdims=keepdims)

    def activation(self, name, Z):
        """Apply one of the ten activations."""
        if callable(name) or name not in ACTIVATIONS:
            shown = getattr(name, "__name__", name)
            raise NotConvertible(
                f"the activation {shown} has no ONNX form: use one of the ten real ones by name"
            )
        return ACTIVATIONS[name](self, Z)


def _selu(graph, Z):
    low = graph.node("Exp", graph.node("Min", Z, 0.0)) - 1.0
    low *= SELU_ALPHA * SELU_LAMBDA
    return graph.node("Where", Z > 0.0, Z * SELU_LAMBDA, low)


ACTIVATIONS: dict[str, Callable[[Graph, Value], Value]] = {
    "selu": _selu,
    "relu": lambda graph, Z: graph.node("Max", Z, 0.0),
    "sigmoid": lambda graph, Z: graph.node("Reciprocal", graph.node("Exp", -Z) + 1.0),
    "sin": lambda graph, Z: graph.node("Sin", Z),
    "hardlim": lambda graph, Z: graph.to_double(Z >= 0.0),
    "tribas": lambda graph, Z: graph.node("Max", 1.0 - graph.node("Abs", Z), 0.0),
    "radbas": lambda graph, Z: graph.node("Exp", -(Z * Z)),
    "sign": lambda graph, Z: graph.node("Sign", Z),
    "leaky_relu": lambda graph, Z: graph.node("Max", Z, Z * LEAKY_SLOPE),
    "tansig": lambda graph, Z: graph.node("Tanh", Z),
}
