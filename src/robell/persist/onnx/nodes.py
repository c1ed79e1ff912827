"""Nodes of an ONNX graph written one after the other, all numbers in double precision.

No number is multiplied by a constant right before or after a product of matrices: onnxruntime
would make one operation of the two, and keep the constant in single precision.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence

import numpy as np

from robell._core.layers.features import LEAKY_SLOPE, SELU_ALPHA, SELU_LAMBDA
from robell._tools.files import FileError


class NotConvertible(FileError):
    """A part of a model that has no ONNX form here; the text is one line that says which.

    ``columns`` are those that the graph could do without; a command says so by its option.
    """

    def __init__(self, text: str, columns: Sequence[str] = ()) -> None:
        super().__init__(f"{text} without={list(columns)!r}" if columns else text)
        self.text, self.columns = text, list(columns)

    def in_options(self, **names: str) -> FileError:
        """Return the error as a command says it."""
        return (
            FileError(f"{self.text} --without {shlex.join(self.columns)}") if self.columns else self
        )


class Graph:
    """Writes nodes into what skl2onnx gives a converter; every value is known by its name."""

    def __init__(self, scope, container):
        self._scope, self._container = scope, container

    def constant(self, values):
        """Return the name of a constant: numbers as doubles, whole numbers, truth or texts."""
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

    def node(self, kind, *inputs, domain="", version=None, **attributes):
        """Add a node with one output; arrays and numbers among its inputs become constants."""
        output = self._scope.get_unique_variable_name(kind.lower())
        self._write(kind, inputs, output, domain, version, attributes)
        return output

    def give(self, value, output):
        """Let a value be an output of the whole."""
        self._write("Identity", [value], output, "", None, {})

    def _write(self, kind, inputs, output, domain, version, attributes):
        names = [one if isinstance(one, str) else self.constant(one) for one in inputs]
        self._container.add_node(
            kind,
            names,
            [output],
            op_domain=domain,
            op_version=version or self._version(kind),
            name=self._scope.get_unique_operator_name(kind),
            **attributes,
        )

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

    def linear(self, X, weights, bias=None):
        """Return XW + b."""
        product = self.node("MatMul", X, np.asarray(weights, np.float64))
        if bias is None:
            return product
        return self.node("Add", product, np.asarray(bias, np.float64))

    def sum(self, *values):
        """Return the sum of values."""
        total = values[0]
        for value in values[1:]:
            total = self.node("Add", total, value)
        return total

    def cos(self, angle):
        """Return cos a = sin(a + π/2): not every onnxruntime has a cosine of doubles."""
        return self.node("Sin", self.node("Add", angle, 0.5 * np.pi))

    def beside(self, *values):
        """Return columns side by side."""
        return values[0] if len(values) == 1 else self.node("Concat", *values, axis=1)

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

    def activation(self, name, Z):
        """Apply one of the ten activations."""
        if callable(name) or name not in ACTIVATIONS:
            shown = getattr(name, "__name__", name)
            raise NotConvertible(
                f"the activation {shown} has no ONNX form: use one of the ten real ones by name"
            )
        return ACTIVATIONS[name](self, Z)


def _selu(graph, Z):
    low = graph.node("Sub", graph.node("Exp", graph.node("Min", Z, 0.0)), 1.0)
    low = graph.node("Mul", low, SELU_ALPHA * SELU_LAMBDA)
    return graph.node(
        "Where", graph.node("Greater", Z, 0.0), graph.node("Mul", Z, SELU_LAMBDA), low
    )


def _sigmoid(graph, Z):
    return graph.node("Reciprocal", graph.node("Add", graph.node("Exp", graph.node("Neg", Z)), 1.0))


ACTIVATIONS: dict[str, Callable[[Graph, str], str]] = {
    "selu": _selu,
    "relu": lambda graph, Z: graph.node("Max", Z, 0.0),
    "sigmoid": _sigmoid,
    "sin": lambda graph, Z: graph.node("Sin", Z),
    "hardlim": lambda graph, Z: graph.to_double(graph.node("GreaterOrEqual", Z, 0.0)),
    "tribas": lambda graph, Z: graph.node("Max", graph.node("Sub", 1.0, graph.node("Abs", Z)), 0.0),
    "radbas": lambda graph, Z: graph.node("Exp", graph.node("Neg", graph.node("Mul", Z, Z))),
    "sign": lambda graph, Z: graph.node("Sign", Z),
    "leaky_relu": lambda graph, Z: graph.node("Max", Z, graph.node("Mul", Z, LEAKY_SLOPE)),
    "tansig": lambda graph, Z: graph.node("Tanh", Z),
}
