"""The models as graphs: features, scores and calibrated probabilities; the noise-robust ensemble.

Features are recognised by the method that makes them, so that every model on the shell of the
family is covered, whatever its rows, weights or penalty were.
"""

from __future__ import annotations

import numpy as np

from robell._core.array import to_host
from robell._core.ensemble.members import ACTIVATIONS as MEMBERS
from robell._core.ridge.calibrate import BEFORE_TIE
from robell.models._estimator import BaseRVFLClassifier, FamilyMember, first_foreign
from robell.persist.onnx.nodes import NotConvertible

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
    return _features_of(model)(graph, model, X, beta)


def _features_of(model):
    """Return what writes the features of a model times its output weights."""
    from robell.models.complex_valued import ComplexRVFLClassifier
    from robell.models.deep import DeepLayers
    from robell.models.multi_view import MultiViewRVFLClassifier
    from robell.models.neurofuzzy import NeuroFuzzyRVFLClassifier
    from robell.models.privileged import KernelRVFLPlusClassifier

    makers = {
        FamilyMember._features: _plain,
        NeuroFuzzyRVFLClassifier._features: _fuzzy,
        MultiViewRVFLClassifier._features: _views,
        KernelRVFLPlusClassifier._features: _kernel,
        DeepLayers._features: _deep,
        ComplexRVFLClassifier._features: _complex,
    }
    found = makers.get(type(model)._features)
    if found is None:
        raise NotConvertible(
            f"{type(model).__name__} has no ONNX form: its features are made in a way of their own"
        )
    return found


def _plain(graph, model, X, beta):
    """[1 x h] β."""
    return _layer(
        graph, X, beta, model.hidden_weights_, model.hidden_bias_, model, model._direct_link
    )


def _layer(graph, X, beta, weights, bias, model, linked):
    """Return [1 x h(x)] β of one random layer; the constant is β's first where there is one."""
    n_bias = int(model.output_bias)
    n_linked = len(weights) if linked else 0
    H = graph.activation(model.activation, graph.linear(X, weights, bias))
    parts = [graph.linear(H, beta[n_bias + n_linked :])]
    if linked:
        parts.append(graph.linear(X, beta[n_bias : n_bias + n_linked]))
    if n_bias:
        parts.append(beta[:1])
    return graph.sum(*parts)


def _fuzzy(graph, model, X, beta):
    """[1 F x h(F)] β, with F the outputs of the rules times their firing strengths."""
    n_bias, n_rules = int(model.output_bias), len(model.centers_)
    origin = model.centers_.mean(axis=0)
    C = model.centers_ - origin
    logits = graph.linear(graph.node("Sub", X, origin), 2.0 * C.T, -np.einsum("ij,ij->i", C, C))
    F = graph.node("Softmax", logits, axis=1)
    F = graph.node("Mul", F, graph.linear(X, model.rule_weights_))
    H = graph.linear(F, model.hidden_weights_, model.hidden_bias_)
    H = graph.activation(model.activation, H)
    ends = np.cumsum([n_bias, n_rules, model.n_features_in_])
    parts = [
        graph.linear(F, beta[ends[0] : ends[1]]),
        graph.linear(X, beta[ends[1] : ends[2]]),
        graph.linear(H, beta[ends[2] :]),
    ]
    return graph.sum(*parts, *([beta[:1]] if n_bias else []))


def _views(graph, model, X, beta):
    """Σ_v [1 x_v h_v] β_v."""
    parts = []
    for place, columns in enumerate(model._blocks().columns):
        view = graph.columns(X, model.view_columns_[place])
        weights, bias = model.hidden_weights_[place], model.hidden_bias_[place]
        parts.append(_layer(graph, view, beta[columns], weights, bias, model, True))
    return graph.sum(*parts)


def _kernel(graph, model, X, beta):
    """(xx'ᵀ + exp(-|x - x'|²/ξ²)) β over the training rows x'."""
    Y = model.training_rows_
    shift = Y.mean(axis=0)
    width = max(float(model.kernel_width_) ** 2, np.finfo(float).tiny)
    K = _radial(graph, graph.node("Sub", X, shift), Y - shift, width)
    return graph.linear(graph.node("Add", K, graph.linear(X, Y.T)), beta)


def _radial(graph, X, centres, width):
    """exp(-|x - c|²/width) for every centre c."""
    norms = graph.over("ReduceSum", graph.node("Mul", X, X))
    D2 = graph.linear(X, -2.0 * centres.T, (centres**2).sum(axis=1))
    D2 = graph.node("Max", graph.node("Add", D2, norms), 0.0)
    return graph.node("Exp", graph.node("Div", D2, -float(width)))


def _chain(graph, model, X):
    """Return the outputs of the layers of a deep network, each fed with the inputs and the last."""
    outputs, H = [], None
    for weights, bias in model._layers():
        inputs = X if H is None else graph.beside(X, H)
        H = graph.activation(model.activation, graph.linear(inputs, weights, bias))
        outputs.append(H)
    return outputs


def _deep(graph, model, X, beta):
    """[1 x h_1 ... h_L] β."""
    n_bias, shared, width = int(model.output_bias), model._n_shared(), int(model.n_hidden)
    parts = [graph.linear(X, beta[n_bias:shared])]
    for place, H in enumerate(_chain(graph, model, X)):
        parts.append(graph.linear(H, beta[shared + place * width : shared + (place + 1) * width]))
    return graph.sum(*parts, *([beta[:1]] if n_bias else []))


def _votes(graph, model, X):
    """Return the shares of the layers that vote for each class."""
    n_bias, shared, n_classes = int(model.output_bias), model._n_shared(), len(model.classes_)
    votes = []
    for H, beta in zip(_chain(graph, model, X), model.layer_coef_, strict=True):
        parts = [graph.linear(X, beta[n_bias:shared]), graph.linear(H, beta[shared:])]
        scores = graph.sum(*parts, *([beta[:1]] if n_bias else []))
        best = graph.node("ArgMax", scores, axis=1, keepdims=0)
        votes.append(graph.node("Gather", np.eye(n_classes), best, axis=0))
    shares = np.eye(n_classes) if n_classes > 2 else np.array([[-1.0], [1.0]])
    return graph.linear(graph.sum(*votes), shares / len(votes))


def _complex(graph, model, X, beta):
    """Re([1 z h] β) of a complex layer, or of both parts of it, in real arithmetic."""
    if model.complex_input_:
        raise NotConvertible(f"{type(model).__name__} was fitted to complex rows")
    real, imaginary = _encoded(graph, model, X)
    W, b = model.hidden_weights_, model.hidden_bias_
    H_real = graph.node("Sub", graph.linear(real, W.real, b.real), graph.linear(imaginary, W.imag))
    H_imaginary = graph.sum(graph.linear(real, W.imag, b.imag), graph.linear(imaginary, W.real))
    H_real = graph.activation(model.activation, H_real)
    H_imaginary = graph.activation(model.activation, H_imaginary)
    n_bias, n_inputs = int(model.output_bias), len(W)
    rest = beta[n_bias:]
    if model.augmented:  # columns [Re z, Im z, Re h_1, Im h_1, ...]
        of_z = rest[:n_inputs], rest[n_inputs : 2 * n_inputs]
        of_h = rest[2 * n_inputs :: 2], rest[2 * n_inputs + 1 :: 2]
    else:  # Re(zβ) = Re z Re β - Im z Im β
        of_z = rest[:n_inputs].real, -rest[:n_inputs].imag
        of_h = rest[n_inputs:].real, -rest[n_inputs:].imag
    parts = [graph.linear(real, of_z[0]), graph.linear(imaginary, of_z[1])]
    parts += [graph.linear(H_real, of_h[0]), graph.linear(H_imaginary, of_h[1])]
    return graph.sum(*parts, *([np.real(beta[:1])] if n_bias else []))


def _encoded(graph, model, X):
    """Return both parts of the encoded rows."""
    width = model.n_features_in_
    if model.encoding == "cartesian":
        return X, graph.node("Mul", X, 0.0)
    if model.encoding == "pair":
        even, odd = np.zeros((2, width, (width + 1) // 2))
        even[np.arange(0, width, 2), np.arange((width + 1) // 2)] = 1.0
        odd[np.arange(1, width, 2), np.arange(width // 2)] = 1.0
        return graph.linear(X, even), graph.linear(X, odd)
    span = model.feature_span_
    scale = np.divide(1.0, span, out=np.zeros_like(span), where=span > 0)
    u = graph.node("Mul", graph.node("Sub", X, model.feature_low_), scale)
    u = graph.node("Min", graph.node("Max", u, 0.0), 1.0)
    if model.encoding == "phase":
        angle = graph.node("Mul", u, np.pi)
        return graph.cos(angle), graph.node("Sin", angle)
    # sin(a + ib) = sin a cosh b + i cos a sinh b
    rate, shift = model.circular_
    a = graph.node("Add", graph.node("Mul", u, rate.real), shift.real)
    b = graph.node("Add", graph.node("Mul", u, rate.imag), shift.imag)
    up, down = graph.node("Exp", b), graph.node("Exp", graph.node("Neg", b))
    cosh = graph.node("Mul", graph.node("Add", up, down), 0.5)
    sinh = graph.node("Mul", graph.node("Sub", up, down), 0.5)
    return graph.node("Mul", graph.node("Sin", a), cosh), graph.node("Mul", graph.cos(a), sinh)


def calibrated(graph, scores, model):
    """Return the probabilities of (n, K) scores; see ``_core/ridge/calibrate.py``."""
    offsets = np.asarray(to_host(model.calibration_offsets_), np.float64)
    slope = np.full((1, len(offsets)), float(model.calibration_slope_))
    best = graph.node("ArgMax", scores, axis=1, keepdims=1)
    lead = graph.node("Sub", graph.over("ReduceMax", scores), scores)
    lead = graph.node("Mul", lead, slope)
    push = graph.node("Sub", offsets[None, :], graph.node("Gather", offsets, best, axis=0))
    overtakes = graph.node("Greater", push, 0.0)
    safe = graph.node("Where", overtakes, push, 1.0)
    tie = graph.node("Where", overtakes, graph.node("Div", lead, safe), 1e300)
    tie = graph.node("Mul", graph.over("ReduceMin", tie), BEFORE_TIE)
    t = graph.node("Min", tie, 1.0)
    logits = graph.node("Mul", scores, slope)
    logits = graph.node("Add", logits, graph.node("Mul", t, offsets[None, :]))
    return graph.node("Softmax", logits, axis=1)


# -- the classifier for wrong labels: random layers, a kernel, trees and a linear model -----


def noise_robust_parts(graph, model, X):
    """Return the scores of ``decision_function``, the places of the classes, and probabilities."""
    X = graph.node("Div", graph.node("Sub", X, model.mean_), model.scale_)
    near = _radial(graph, X, model.landmarks_, model.kernel_width_)
    near = graph.linear(near, model.landmark_weights_)
    parts = [*_networks(graph, model, X), near, _trees(graph, model, X)]
    scores = graph.node("Add", graph.sum(*parts), model.intercept_[None, :])
    logits = graph.linear(scores, model.link_matrix_, model.link_offsets_[None, :])
    probability = graph.node("Softmax", logits, axis=1)
    if len(model.classes_) > 2:
        odds = graph.node("Sub", logits, np.log(model.thresholds_)[None, :])
        return odds, graph.node("ArgMax", odds, axis=1, keepdims=0), probability
    cut = model._odds_at_threshold()
    odds = graph.linear(logits, np.array([[0.0, -1.0], [0.0, 1.0]]), np.array([[0.0, -cut]]))
    second = graph.node("Gather", probability, np.array(1), axis=1)
    flagged = graph.node("GreaterOrEqual", second, model.threshold_)
    return odds, graph.node("Where", flagged, np.array(1), np.array(0)), probability


def _networks(graph, model, X):
    """Yield [x h] β, one random layer after the other."""
    n_inputs, size = len(model.mean_), len(model.hidden_bias_) // len(MEMBERS)
    yield graph.linear(X, model.coef_[:n_inputs])
    for place, activation in enumerate(MEMBERS):
        nodes = slice(place * size, (place + 1) * size)
        Z = graph.linear(X, model.hidden_weights_[:, nodes], model.hidden_bias_[nodes])
        of_nodes = model.coef_[n_inputs + place * size : n_inputs + (place + 1) * size]
        yield graph.linear(graph.activation(activation, Z), of_nodes)


def _trees(graph, model, X):
    """Return the mean of the leaves: of every tree the one that its splits lead to.

    The place of a leaf is a binary number, of which the first level is the highest digit.
    """
    n_trees, depth = model.split_columns_.shape
    n_leaves, n_classes = model.leaf_values_.shape[1:]
    from onnx import TensorProto

    seen = graph.columns(X, model.split_columns_.ravel())
    right = graph.node("Greater", seen, model.split_thresholds_.reshape(1, -1))
    right = graph.node("Cast", right, to=TensorProto.INT64)
    right = graph.node("Reshape", right, np.array([-1, n_trees, depth]))
    digits = 2 ** np.arange(depth - 1, -1, -1, dtype=np.int64)
    place = graph.node("ReduceSum", graph.node("Mul", right, digits), np.array([2]), keepdims=0)
    place = graph.node("Add", place, n_leaves * np.arange(n_trees, dtype=np.int64))
    values = model.leaf_values_.reshape(-1, n_classes) / n_trees
    leaves = graph.node("Gather", values, place, axis=0)  # (n, trees, classes)
    return graph.node("ReduceSum", leaves, np.array([1]), keepdims=0)
