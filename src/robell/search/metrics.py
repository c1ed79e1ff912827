"""Metrics of many candidates at once: one column of scores a candidate.

Two classes: ``scores`` (n, m) are decision values, positive for class 1. More: (n, m, K).
``codes`` (n,) are the true classes' places in the model's classes, -1 for a class it never saw.
Each function returns m values, equal to scikit-learn's to the last bit: ties among candidates must
stay ties. That needs scikit-learn's own order of operations, not only its formula.

Scores of a search are known within rounding only. :func:`doubtful_labels` and
:func:`doubtful_order` say where that could change a prediction or the order of two rows.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Codes = NDArray[np.intp]
Flags = NDArray[np.bool_]


def predictions(scores: Array) -> Codes:
    """Return the predicted class of every row and candidate: the first of the largest scores."""
    if scores.ndim == 2:
        return (scores > 0).astype(np.intp)
    return np.asarray(scores.argmax(axis=2))


def doubtful_labels(scores: Array, error: Array) -> Flags:
    """Say for which candidates errors of this size, (n, m), could change a prediction."""
    if scores.ndim == 2:
        return np.asarray((np.abs(scores) < error).any(axis=0))
    second, first = np.moveaxis(np.partition(scores, -2, axis=2)[:, :, -2:], 2, 0)
    return np.asarray((first - second < 2.0 * error).any(axis=0))


def doubtful_order(scores: Array, error: Array, counts: Callable[[Codes], Flags]) -> Flags:
    """Say for which candidates errors of this size, (n, m), could change an order that counts.

    ``counts`` says of the rows in descending order, (n, m), which neighbours' order does. Rows
    hang together where the interval of one reaches that of another.
    """
    order = np.argsort(-scores, axis=0, kind="stable")
    ranked = np.take_along_axis(scores, order, axis=0)
    error = np.take_along_axis(np.broadcast_to(error, scores.shape), order, axis=0)
    lower = np.minimum.accumulate(ranked - error, axis=0)[:-1]
    upper = np.maximum.accumulate((ranked + error)[::-1], axis=0)[::-1][1:]
    return np.asarray(((upper > lower) & counts(order)).any(axis=0))


def recalls(codes: Codes, predicted: Codes) -> Array:
    """Return the recall of every class of ``codes``, one column each."""
    found = [(predicted[codes == c] == c).mean(axis=0) for c in np.unique(codes)]
    return np.ascontiguousarray(np.stack(found).T)


def accuracy(codes: Codes, scores: Array) -> Array:
    """Return the share of right predictions."""
    return np.asarray((predictions(scores) == codes[:, None]).mean(axis=0))


def balanced_accuracy(codes: Codes, scores: Array) -> Array:
    """Return the mean recall of the classes."""
    return np.asarray(recalls(codes, predictions(scores)).mean(axis=1))


def g_mean(codes: Codes, scores: Array) -> Array:
    """Return the geometric mean of the recalls."""
    found = recalls(codes, predictions(scores))
    products, place = np.unique(np.prod(found, axis=1), return_inverse=True)
    # One by one: the power of an array may differ from the power of a number in the last bit.
    roots = [float(product ** (1.0 / found.shape[1])) for product in products]
    return np.array(roots)[place]


def f1(codes: Codes, scores: Array) -> Array:
    """Return 2 TP/(2 TP + FP + FN) of class 1, 0 where undefined."""
    positive = (scores > 0).astype(np.float64)
    true_positive = (codes == 1).astype(np.float64) @ positive
    denominator = positive.sum(axis=0) + (codes == 1).sum()
    return np.asarray(2.0 * true_positive / np.maximum(denominator, 1.0))


def roc_auc(codes: Codes, scores: Array) -> Array:
    """Return the area under the ROC curve, by trapezoids between its corners."""
    areas = np.empty(scores.shape[1])
    for k, (true, false) in enumerate(_counts_at_thresholds(codes, scores)):
        if len(true) > 2:
            corner = (np.diff(false, 2) != 0) | (np.diff(true, 2) != 0)
            corner = np.concatenate([[True], corner, [True]])
            true, false = true[corner], false[corner]
        y = np.concatenate([[0.0], true]) / true[-1]
        x = np.concatenate([[0.0], false]) / false[-1]
        areas[k] = (np.diff(x) * (y[1:] + y[:-1]) / 2.0).sum()
    return areas


def average_precision(codes: Codes, scores: Array) -> Array:
    """Return the precision at every threshold, averaged over the steps of the recall."""
    values = np.empty(scores.shape[1])
    for k, (true, false) in enumerate(_counts_at_thresholds(codes, scores)):
        precision = (true / (true + false))[::-1]
        recall = np.concatenate([(true / true[-1])[::-1], [0.0]])
        values[k] = max(0.0, -(np.diff(recall) * precision).sum())
    return values


def _counts_at_thresholds(codes, scores):
    """Yield, for every column, how many rows of class 1 and class 0 reach each distinct score."""
    order = np.argsort(-scores, axis=0, kind="stable")
    ranked = np.take_along_axis(scores, order, axis=0)
    hits = np.cumsum((codes == 1)[order], axis=0, dtype=np.float64)
    is_last = np.ones(scores.shape, bool)
    is_last[:-1] = ranked[1:] != ranked[:-1]
    for k in range(scores.shape[1]):
        ends = np.flatnonzero(is_last[:, k])
        true = hits[ends, k]
        yield true, ends + 1.0 - true


# Which need two classes, both present, to mean anything.
TWO_CLASS = {"f1", "roc_auc", "average_precision"}
METRICS: dict[str, Callable[[Codes, Array], Array]] = {
    "accuracy": accuracy,
    "balanced_accuracy": balanced_accuracy,
    "g_mean": g_mean,
    "f1": f1,
    "roc_auc": roc_auc,
    "average_precision": average_precision,
}
