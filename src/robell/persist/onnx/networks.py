"""The models as graphs: features, scores and calibrated probabilities; the noise-robust ensemble.

Features are recognised by the method that makes them, so that every model on the shell of the
family is covered, whatever its rows, weights or penalty were.
"""

from __future__ import annotations

from functools import reduce
from operator import add

import numpy as np

from robell._core.array import to_host
from robell._core.ensemble.members import ACTIVATIONS as MEMBERS
from robell._core.ridge.calibrate import BEFORE_TIE
from robell._tools.pipelines import last_step, steps_of
from robell.models._estimator import BaseRVFLClassifier, FamilyMember, first_foreign
from robell.models._thresholds import TOP_DIGITS, odds_at
from robell.models.thresholded import ADDED
from robell.persist.onnx.nodes import NotConvertible
from robell.persist.other_classifiers import ROBUST, type_name

# What NoiseRobustClassifier may stand around: skl2onnx's graphs of others were wrong (discriminant
# analysis of two classes by .16 in probability), did not load, or need further packages.
CONVERTED = (
    "sklearn.linear_model._logistic.LogisticRegression",
    "sklearn.ensemble._forest.RandomForestClassifier",
    "sklearn.naive_bayes.GaussianNB",
)
METHODS = (
    *("_features", "_scores", "_class_scores", "_linear_scores", "_output_weights"),
    *("predict", "predict_proba", "decision_function"),
)


def require_own(model):
    """Raise where a model computes something in code that is not this package's."""
    name = first_foreign(model, METHODS)
    if name is not None:
        raise NotConvertible(
            f"{type(model).__name__} has a {name} of its own, which has no ONNX form"
        )
    if getattr(model, "device_", None) is not None:
        raise NotConvertible(
            f"{type(model).__name__} was fitted on {model.device_}: fit it to arrays to export it"
        )


def network_scores(graph, model, X):
    """Return the scores: (n, K), or the difference of two classes as (n, 1)."""
    if getattr(model, "combine", "") == "vote":
        return _votes(graph, model, X)
    beta = np.asarray(model._output_weights())
    if isinstance(model, BaseRVFLClassifier) and len(model.classes_) == 2:
        beta = beta[:, 1:] - beta[:, :1]
    from robell.models.complex_valued import ComplexRVFLClassifier
    from robell.models.deep import DeepLayers
    from robell.models.multi_view import MultiViewRVFLClassifier
    from robell.models.neurofuzzy import NeuroFuzzyRVFLClassifier
    from robell.models.privileged import KernelRVFLPlusClassifier, RVFLPlusClassifier

    makers = {
        FamilyMember._features: _plain,
        RVFLPlusClassifier._features: _plain,  # privileged columns are for the fit alone
        NeuroFuzzyRVFLClassifier._features: _fuzzy,
        MultiViewRVFLClassifier._features: _views,
        KernelRVFLPlusClassifier._features: _kernel,
        DeepLayers._features: lambda graph, model, X, beta: _products(  # [1 x h_1 ... h_L] β
            model, beta, (X, model.n_features_in_), *_chain(graph, model, X)
        ),
        ComplexRVFLClassifier._features: _complex,
    }
    if type(model)._features not in makers:
        raise NotConvertible(
            f"{type(model).__name__} has no ONNX form: its features are made in a way of their own"
        )
    return makers[type(model)._features](graph, model, X, beta)


def _products(model, beta, *parts):
    """Return [1 v_1 v_2 ...] β of values v with their widths, 1 only with an output bias."""
    start = n_bias = int(model.output_bias)
    products = []
    for value, width in parts:
        products.append(value @ beta[start : start + width])
        start += width
    return reduce(add, [*products, beta[:1]] if n_bias else products)


def _layer(graph, model, X, weights, bias):
    """Return the outputs of random nodes, and how many these are."""
    return graph.activation(model.activation, X @ weights + bias), len(bias)


def _plain(graph, model, X, beta):
    """[1 x h] β."""
    H = _layer(graph, model, X, model.hidden_weights_, model.hidden_bias_)
    linked = [(X, model.n_features_in_)] if model._direct_link else []
    return _products(model, beta, *linked, H)


def _fuzzy(graph, model, X, beta):
    """[1 F x h(F)] β, with F the outputs of the rules times their firing strengths."""
    origin = model.centers_.mean(axis=0)
    C = model.centers_ - origin
    logits = (X - origin) @ (2.0 * C.T) + -np.einsum("ij,ij->i", C, C)
    F = graph.node("Softmax", logits, axis=1) * (X @ model.rule_weights_)
    H = _layer(graph, model, F, model.hidden_weights_, model.hidden_bias_)
    return _products(model, beta, (F, len(C)), (X, model.n_features_in_), H)


def _views(graph, model, X, beta):
    """Σ_v [1 x_v h_v] β_v."""
    parts = []
    for place, columns in enumerate(model._blocks().columns):
        view = model.view_columns_[place]
        rows = graph.columns(X, view)
        H = _layer(graph, model, rows, model.hidden_weights_[place], model.hidden_bias_[place])
        parts.append(_products(model, beta[columns], (rows, len(view)), H))
    return reduce(add, parts)


def _kernel(graph, model, X, beta):
    """(xx'ᵀ + exp(-|x - x'|²/ξ²)) β over the training rows x'."""
    Y = model.training_rows_
    shift = Y.mean(axis=0)
    width = max(float(model.kernel_width_) ** 2, np.finfo(float).tiny)
    return (_radial(graph, X - shift, Y - shift, width) + X @ Y.T) @ beta


def _radial(graph, X, centres, width):
    """exp(-|x - c|²/width) for every centre c."""
    D2 = X @ (-2.0 * centres.T) + (centres**2).sum(axis=1) + graph.over("ReduceSum", X * X)
    return graph.node("Exp", graph.node("Max", D2, 0.0) / -float(width))


def _chain(graph, model, X):
    """Return the outputs of the layers of a deep network, each fed with the inputs and the last."""
    outputs: list = []
    for weights, bias in model._layers():
        inputs = graph.beside(X, outputs[-1][0]) if outputs else X
        outputs.append(_layer(graph, model, inputs, weights, bias))
    return outputs


def _votes(graph, model, X):
    """Return the shares of the layers that vote for each class."""
    n_classes, votes = len(model.classes_), []
    for H, beta in zip(_chain(graph, model, X), model.layer_coef_, strict=True):
        best = graph.best(_products(model, beta, (X, model.n_features_in_), H))
        votes.append(graph.node("Gather", np.eye(n_classes), best, axis=0))
    shares = np.eye(n_classes) if n_classes > 2 else np.array([[-1.0], [1.0]])
    return reduce(add, votes) @ (shares / len(votes))


def _complex(graph, model, X, beta):
    """Re([1 z h] β) of a complex layer, or of both parts of it, in real arithmetic."""
    if model.complex_input_:
        raise NotConvertible(f"{type(model).__name__} was fitted to complex rows")
    real, imaginary = _encoded(graph, model, X)
    W, b = model.hidden_weights_, model.hidden_bias_
    H_real = graph.activation(model.activation, real @ W.real + b.real - imaginary @ W.imag)
    H_imaginary = graph.activation(model.activation, real @ W.imag + b.imag + imaginary @ W.real)
    n_bias, n_inputs = int(model.output_bias), len(W)
    rest = beta[n_bias:]
    if model.augmented:  # columns [Re z, Im z, Re h_1, Im h_1, ...]
        of_z = rest[:n_inputs], rest[n_inputs : 2 * n_inputs]
        of_h = rest[2 * n_inputs :: 2], rest[2 * n_inputs + 1 :: 2]
    else:  # Re(zβ) = Re z Re β - Im z Im β
        of_z = rest[:n_inputs].real, -rest[:n_inputs].imag
        of_h = rest[n_inputs:].real, -rest[n_inputs:].imag
    total = real @ of_z[0] + imaginary @ of_z[1] + H_real @ of_h[0] + H_imaginary @ of_h[1]
    return total + np.real(beta[:1]) if n_bias else total


def _encoded(graph, model, X):
    """Return both parts of the encoded rows."""
    width = model.n_features_in_
    if model.encoding == "cartesian":
        return X, X * 0.0
    if model.encoding == "pair":
        even, odd = np.zeros((2, width, (width + 1) // 2))
        even[np.arange(0, width, 2), np.arange((width + 1) // 2)] = 1.0
        odd[np.arange(1, width, 2), np.arange(width // 2)] = 1.0
        return X @ even, X @ odd
    span = model.feature_span_
    u = (X - model.feature_low_) * np.divide(1.0, span, out=np.zeros_like(span), where=span > 0)
    u = graph.node("Min", graph.node("Max", u, 0.0), 1.0)
    if model.encoding == "phase":
        angle = u * np.pi
        return graph.cos(angle), graph.node("Sin", angle)
    # sin(a + ib) = sin a cosh b + i cos a sinh b
    rate, shift = model.circular_
    a, b = u * rate.real + shift.real, u * rate.imag + shift.imag
    up, down = graph.node("Exp", b), graph.node("Exp", -b)
    return graph.node("Sin", a) * ((up + down) * 0.5), graph.cos(a) * ((up - down) * 0.5)


def calibrated(graph, scores, model):
    """Return the probabilities of (n, K) scores; see ``_core/ridge/calibrate.py``."""
    offsets = np.asarray(to_host(model.calibration_offsets_), np.float64)
    slope = np.full((1, len(offsets)), float(model.calibration_slope_))
    best = graph.best(scores, keepdims=1)
    lead = (graph.over("ReduceMax", scores) - scores) * slope
    push = offsets[None, :] - graph.node("Gather", offsets, best, axis=0)
    overtakes = push > 0.0
    tie = lead / graph.node("Where", overtakes, push, 1.0)
    tie = graph.over("ReduceMin", graph.node("Where", overtakes, tie, 1e300)) * BEFORE_TIE
    logits = scores * slope + graph.node("Min", tie, 1.0) * offsets[None, :]
    return graph.node("Softmax", logits, axis=1)


# -- the classifier for wrong labels: random layers, a kernel, trees and a linear model -----


def robust_parts(graph, model, X):
    """Return scores, places of the classes and probabilities of a model robust to wrong labels."""
    of_another = type_name(model) == ROBUST
    logits = _logits_of_another(graph, model, X) if of_another else _logits(graph, model, X)
    probability = graph.node("Softmax", logits, axis=1)
    if len(model.classes_) > 2:
        odds = logits - np.log(model.thresholds_)[None, :]
        largest = graph.node("ReduceMax", odds, np.array([1]), keepdims=1)
        size = graph.node("Clip", graph.node("Abs", largest), np.array(1.0))
        odds = graph.node("Where", odds >= largest - size * TOP_DIGITS, largest, odds)
        return odds, graph.best(odds), probability
    cut = odds_at(model.threshold_)
    odds = logits @ np.array([[0.0, -1.0], [0.0, 1.0]]) + np.array([[0.0, -cut]])
    flagged = graph.node("Gather", probability, np.array(1), axis=1) >= model.threshold_
    return odds, graph.node("Where", flagged, np.array(1), np.array(0)), probability


def _logits(graph, model, X):
    """Return the logarithms of probabilities of NoiseRobustRVFLClassifier, up to a constant."""
    X = (X - model.mean_) / model.scale_
    scores = (
        X @ model.coef_[: len(model.mean_)] + model.intercept_[None, :] + _trees(graph, model, X)
    )
    columns = model.kernel_columns_
    seen = graph.node("Gather", X, columns, axis=1)
    near = _radial(graph, seen, model.landmarks_[:, columns], model.kernel_width_)
    scores += near @ model.landmark_weights_
    size = len(model.hidden_bias_) // len(MEMBERS)
    of_nodes = model.coef_[len(model.mean_) :]
    for place, activation in enumerate(MEMBERS):  # one random layer after the other
        nodes = slice(place * size, (place + 1) * size)
        Z = X @ model.hidden_weights_[:, nodes] + model.hidden_bias_[nodes]
        scores += graph.activation(activation, Z) @ of_nodes[nodes]
    return scores @ model.link_matrix_ + model.link_offsets_[None, :]


def _logits_of_another(graph, model, X):
    """Return the same of NoiseRobustClassifier, whose estimator skl2onnx converts."""
    last = last_step(model.estimator_)
    if type_name(last) not in CONVERTED:
        names = ", ".join(name.rpartition(".")[2] for name in CONVERTED)
        raise NotConvertible(
            f"{type(last).__name__} in NoiseRobustClassifier has no ONNX form; {names} have one"
        )
    for step in steps_of(model.estimator_):
        if type(step).__name__ == "TableEncoder":
            raise NotConvertible(
                "TableEncoder in NoiseRobustClassifier reads columns of several kinds: "
                "robell.export.to_onnx converts it"
            )
    logs = graph.node("Log", graph.probabilities_of(model.estimator_, X) + ADDED)
    logs -= graph.node("ReduceMax", logs, np.array([1]), keepdims=1)  # as labels/robust.py does
    return logs * model.slope_ + model.offsets_[None, :]


def _trees(graph, model, X):
    """Return the mean of the leaves, whose places are binary numbers, the first level highest."""
    n_trees, depth = model.split_columns_.shape
    n_leaves, n_classes = model.leaf_values_.shape[1:]
    from onnx import TensorProto

    seen = graph.columns(X, model.split_columns_.ravel())
    right = seen > model.split_thresholds_.reshape(1, -1)
    right = graph.node("Cast", right, to=TensorProto.INT64)
    right = graph.node("Reshape", right, np.array([-1, n_trees, depth]))
    digits = 2 ** np.arange(depth - 1, -1, -1, dtype=np.int64)
    place = graph.node("ReduceSum", right * digits, np.array([2]), keepdims=0)
    place += n_leaves * np.arange(n_trees, dtype=np.int64)
    values = model.leaf_values_.reshape(-1, n_classes) / n_trees
    leaves = graph.node("Gather", values, place, axis=0)  # (n, trees, classes)
    return graph.node("ReduceSum", leaves, np.array([1]), keepdims=0)
