"""Metrics of many candidates at once: one column of scores a candidate.

Two classes: ``scores`` (n, m) are decision values, positive for class 1. More: (n, m, K).
``codes`` (n,) are the true classes' places in the model's classes, -1 for a class it never saw.
Each function returns m values, equal to scikit-learn's to the last bit: ties among candidates must
stay ties. That needs scikit-learn's own order of operations, not only its formula. Scores may be a
tensor: right predictions are counted where it is.

Scores of a search are known within rounding only. :func:`doubtful_labels` and
:func:`doubtful_order` say where that could change a prediction or the order of two rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robell._core.array import beside, namespace, to_host

Array = NDArray[np.float64]
Codes = NDArray[np.intp]
Flags = NDArray[np.bool_]


def doubtful_labels(scores: Any, error: Any) -> Flags:
    """Say for which candidates errors of this size, (n, m), could change a prediction."""
    xp = namespace(scores)
    if scores.ndim == 2:
        found = (abs(scores) < error).any(0)
    else:
        first = xp.amax(scores, 2)
        # The second largest: the largest where the first is set aside, once.
        place = scores.argmax(2)[..., None] == beside(np.arange(scores.shape[2]), scores)
        second = xp.amax(xp.where(place, -xp.inf, scores), 2)
        found = (first - second < 2.0 * error).any(0)
    return np.asarray(to_host(found))


def doubtful_order(scores: Any, error: Any, counts: Callable[[Codes], Flags]) -> Flags:
    """Say for which candidates errors of this size, (n, m), could change an order that counts.

    ``counts`` says of the rows in descending order, (n, m), which neighbours' order does. Rows
    hang together where the interval of one reaches that of another. Where it does not count which
    of two comes first, it may be that they are not equal: sums over thresholds have one more term
    then, and another last digit.
    """
    scores, error = to_host(scores), to_host(error)
    order = np.argsort(-scores, axis=0, kind="stable")
    ranked = np.take_along_axis(scores, order, axis=0)
    error = np.take_along_axis(np.broadcast_to(error, scores.shape), order, axis=0)
    lower = np.minimum.accumulate(ranked - error, axis=0)[:-1]
    upper = np.maximum.accumulate((ranked + error)[::-1], axis=0)[::-1][1:]
    decides = counts(order) | (ranked[1:] != ranked[:-1])
    return np.asarray(((upper > lower) & decides).any(axis=0))


def hits(codes: Codes, scores: Any) -> tuple[Array, Array]:
    """Return how many rows of every class of ``codes`` are right, (classes, m), and its size.

    The class with the first of the largest scores is predicted.
    """
    xp = namespace(scores)
    classes, place, sizes = np.unique(codes, return_inverse=True, return_counts=True)
    true = beside(codes, scores)[:, None]
    right = (scores > 0) == (true == 1) if scores.ndim == 2 else scores.argmax(2) == true
    one_hot = (place == np.arange(len(classes))[:, None]) & (codes >= 0)
    counts = beside(one_hot.astype(np.float64), scores) @ xp.asarray(right, dtype=xp.float64)
    return to_host(counts), sizes.astype(np.float64)


def recalls(codes: Codes, scores: Any) -> Array:
    """Return the recall of every class of ``codes``, one column each."""
    counts, sizes = hits(codes, scores)
    return np.ascontiguousarray((counts / sizes[:, None]).T)


def accuracy(codes: Codes, scores: Any) -> Array:
    """Return the share of right predictions."""
    return np.asarray(hits(codes, scores)[0].sum(axis=0) / len(codes))


def balanced_accuracy(codes: Codes, scores: Any) -> Array:
    """Return the mean recall of the classes."""
    return np.asarray(recalls(codes, scores).mean(axis=1))


def g_mean(codes: Codes, scores: Any) -> Array:
    """Return the geometric mean of the recalls."""
    found = recalls(codes, scores)
    products, place = np.unique(np.prod(found, axis=1), return_inverse=True)
    # One by one: the power of an array may differ from the power of a number in the last bit.
    roots = [float(product ** (1.0 / found.shape[1])) for product in products]
    return np.array(roots)[place]


def f1(codes: Codes, scores: Any) -> Array:
    """Return 2 TP/(2 TP + FP + FN) of class 1, 0 where undefined."""
    (true_negative, true_positive), (zeros, ones) = hits(codes, scores)
    positive = true_positive + (zeros - true_negative)
    return np.asarray(2.0 * true_positive / np.maximum(positive + ones, 1.0))


def roc_auc(codes: Codes, scores: Any) -> Array:
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


def average_precision(codes: Codes, scores: Any) -> Array:
    """Return the precision at every threshold, averaged over the steps of the recall."""
    values = np.empty(scores.shape[1])
    for k, (true, false) in enumerate(_counts_at_thresholds(codes, scores)):
        precision = (true / (true + false))[::-1]
        recall = np.concatenate([(true / true[-1])[::-1], [0.0]])
        values[k] = max(0.0, -(np.diff(recall) * precision).sum())
    return values


def _counts_at_thresholds(codes, scores):
    """Yield, for every column, how many rows of class 1 and class 0 reach each distinct score."""
    scores = to_host(scores)
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
METRICS: dict[str, Callable[[Codes, Any], Array]] = {
    "accuracy": accuracy,
    "balanced_accuracy": balanced_accuracy,
    "g_mean": g_mean,
    "f1": f1,
    "roc_auc": roc_auc,
    "average_precision": average_precision,
}
