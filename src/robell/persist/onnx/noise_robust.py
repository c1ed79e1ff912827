"""The classifier for wrong labels as a graph: random layers, a kernel, trees and a linear model."""

from __future__ import annotations

import numpy as np

from robell._core.ensemble.members import ACTIVATIONS


def noise_robust_parts(graph, model, X):
    """Return the scores of ``decision_function``, the places of the classes, and probabilities."""
    X = graph.node("Div", graph.node("Sub", X, model.mean_), model.scale_)
    parts = [*_networks(graph, model, X), _kernel(graph, model, X), _trees(graph, model, X)]
    scores = graph.node("Add", graph.sum(*parts), model.intercept_[None, :])
    logits = graph.linear(scores, model.link_matrix_, model.link_offsets_[None, :])
    probability = graph.node("Softmax", logits, axis=1)
    if len(model.classes_) > 2:
        odds = graph.node("Sub", logits, np.log(model.thresholds_)[None, :])
        return odds, graph.node("ArgMax", odds, axis=1, keepdims=0), probability
    cut = model._odds_at_threshold()
    odds = graph.linear(logits, np.array([[0.0, -1.0], [0.0, 1.0]]), np.array([[0.0, -cut]]))
    second = graph.node("Gather", probability, np.array(1), axis=1)
    flagged = graph.node("GreaterOrEqual", second, np.float64(model.threshold_))
    return odds, graph.node("Where", flagged, np.array(1), np.array(0)), probability


def _networks(graph, model, X):
    """Yield [x h] β, one random layer after the other."""
    n_inputs, size = len(model.mean_), len(model.hidden_bias_) // len(ACTIVATIONS)
    yield graph.linear(X, model.coef_[:n_inputs])
    for place, activation in enumerate(ACTIVATIONS):
        nodes = slice(place * size, (place + 1) * size)
        Z = graph.linear(X, model.hidden_weights_[:, nodes], model.hidden_bias_[nodes])
        of_nodes = model.coef_[n_inputs + place * size : n_inputs + (place + 1) * size]
        yield graph.linear(graph.activation(activation, Z), of_nodes)


def _kernel(graph, model, X):
    """exp(-|x - l|²/width) times the weights of the landmarks."""
    landmarks = model.landmarks_
    norms = graph.over("ReduceSum", graph.node("Mul", X, X))
    D2 = graph.linear(X, -2.0 * landmarks.T, (landmarks**2).sum(axis=1))
    D2 = graph.node("Max", graph.node("Add", D2, norms), np.float64(0.0))
    K = graph.node("Exp", graph.node("Div", D2, np.float64(-model.kernel_width_)))
    return graph.linear(K, model.landmark_weights_)


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
