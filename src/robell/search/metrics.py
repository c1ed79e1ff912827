"""Metrics of many candidates at once: one column of scores a candidate.

Two classes: ``scores`` (n, m) are decision values, positive for class 1. More: (n, m, K).
``codes`` (n,) are the true classes' places in the model's classes, -1 for a class it never saw.
Each function returns m values, equal to scikit-learn's for every column.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Codes = NDArray[np.intp]


def predictions(scores: Array) -> Codes:
    """Return the predicted class of every row and candidate: the first of the largest scores."""
    if scores.ndim == 2:
        return (scores > 0).astype(np.intp)
    return np.asarray(scores.argmax(axis=2))


def recalls(codes: Codes, predicted: Codes) -> Array:
    """Return the recall of every class of ``codes``, one row each."""
    classes = np.unique(codes)
    return np.stack([(predicted[codes == c] == c).mean(axis=0) for c in classes])


def accuracy(codes: Codes, scores: Array) -> Array:
    """Return the share of right predictions."""
    return np.asarray((predictions(scores) == codes[:, None]).mean(axis=0))


def balanced_accuracy(codes: Codes, scores: Array) -> Array:
    """Return the mean recall of the classes."""
    return np.asarray(recalls(codes, predictions(scores)).mean(axis=0))


def g_mean(codes: Codes, scores: Array) -> Array:
    """Return the geometric mean of the recalls."""
    found = recalls(codes, predictions(scores))
    return np.asarray(np.prod(found, axis=0) ** (1.0 / len(found)))


def f1(codes: Codes, scores: Array) -> Array:
    """Return 2 TP/(2 TP + FP + FN) of class 1, 0 where undefined."""
    positive = (scores > 0).astype(np.float64)
    true_positive = (codes == 1).astype(np.float64) @ positive
    denominator = positive.sum(axis=0) + (codes == 1).sum()
    return np.asarray(2.0 * true_positive / np.maximum(denominator, 1.0))


def roc_auc(codes: Codes, scores: Array) -> Array:
    """Return the area under the ROC curve: the share of pairs ranked rightly, ties half."""
    order, ends, starts = _tie_groups(scores)
    positive = (codes == 1)[order]
    # mean rank of a tie group, ranks counted from 1 at the largest score
    rank = 0.5 * (starts + ends) + 1.0
    n_positive = int((codes == 1).sum())
    n_negative = len(codes) - n_positive
    beaten = (rank * positive).sum(axis=0) - n_positive * (n_positive + 1) / 2
    return np.asarray(1.0 - beaten / (n_positive * n_negative))


def average_precision(codes: Codes, scores: Array) -> Array:
    """Return the mean, over positive rows, of the precision at the end of their tie group."""
    order, ends, _ = _tie_groups(scores)
    positive = (codes == 1)[order]
    hits = np.cumsum(positive, axis=0)
    precision = np.take_along_axis(hits, ends, axis=0) / (ends + 1.0)
    return np.asarray((precision * positive).sum(axis=0) / (codes == 1).sum())


def _tie_groups(scores: Array) -> tuple[Codes, Codes, Codes]:
    """Sort each column descending; return the order, and last and first place of each tie."""
    order = np.argsort(-scores, axis=0, kind="stable")
    ranked = np.take_along_axis(scores, order, axis=0)
    places = np.broadcast_to(np.arange(len(scores))[:, None], scores.shape)
    differs = ranked[1:] != ranked[:-1]
    first = np.vstack([np.ones((1, scores.shape[1]), bool), differs])
    last = np.vstack([differs, np.ones((1, scores.shape[1]), bool)])
    starts = np.maximum.accumulate(np.where(first, places, 0), axis=0)
    ends = np.minimum.accumulate(np.where(last, places, len(scores))[::-1], axis=0)[::-1]
    return order, ends, starts


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
