"""Metrics of the paper that scikit-learn does not have by these names."""

from __future__ import annotations

import numpy as np
from sklearn.metrics import recall_score


def sensitivity_score(y_true, y_pred, *, pos_label=1, sample_weight=None):
    """Share of the positive rows that are predicted positive (recall of the positive class).

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
        True and predicted labels of two classes.
    pos_label : label, default=1
        The positive class.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows.

    Returns
    -------
    score : float
        In [0, 1]; 0 where no row is positive.

    Examples
    --------
    >>> from robell.metrics import sensitivity_score
    >>> sensitivity_score([1, 1, 0, 0], [1, 0, 0, 0])
    0.5
    """
    weight = _weights(sample_weight)
    score = recall_score(
        y_true, y_pred, pos_label=pos_label, sample_weight=weight, zero_division=0.0
    )
    return float(score)


def specificity_score(y_true, y_pred, *, pos_label=1, sample_weight=None):
    """Share of the negative rows that are predicted negative.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
        True and predicted labels of two classes.
    pos_label : label, default=1
        The positive class; every other label is negative.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows.

    Returns
    -------
    score : float
        In [0, 1]; 0 where no row is negative.

    Examples
    --------
    >>> from robell.metrics import specificity_score
    >>> specificity_score([1, 1, 0, 0], [1, 0, 0, 1])
    0.5
    """
    negative = np.asarray(y_true) != pos_label
    predicted = np.asarray(y_pred) != pos_label
    return sensitivity_score(negative, predicted, pos_label=True, sample_weight=sample_weight)


def g_mean_score(y_true, y_pred, *, sample_weight=None):
    """Geometric mean of the recalls of all classes; for two, of sensitivity and specificity.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
        True and predicted labels.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows.

    Returns
    -------
    score : float
        In [0, 1]; 0 as soon as one class of ``y_true`` is missed altogether.

    Examples
    --------
    >>> from robell.metrics import g_mean_score
    >>> round(g_mean_score(["a", "a", "b", "b"], ["a", "a", "b", "a"]), 3)
    0.707

    As a scorer of a search:

    >>> from sklearn.metrics import make_scorer
    >>> scorer = make_scorer(g_mean_score)
    """
    try:
        labels = np.unique(y_true)
    except (TypeError, ValueError):
        labels = None
    if labels is None or labels.dtype.kind == "c":
        raise TypeError("y_true must hold labels that can be sorted, with none missing")
    recalls = recall_score(
        y_true,
        y_pred,
        labels=labels,
        average=None,
        sample_weight=_weights(sample_weight),
        zero_division=0.0,
    )
    return float(np.prod(recalls) ** (1.0 / len(recalls)))


def expected_calibration_error(y_true, y_proba, *, labels=None, n_bins=10, sample_weight=None):
    """Mean distance of probabilities from the frequencies they stand for.

    Rows are sorted into bins of equal width by probability; of each bin the mean probability is
    compared with the share of rows it came true for, and the distances are averaged over rows.
    Chance alone adds to it, the more so the fewer rows there are.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True labels.
    y_proba : array-like of shape (n_samples,) or (n_samples, n_classes)
        Of two classes the probability of the second (or of both); of more, one column a class:
        the probability of each row's likeliest class is then the one looked at.
    labels : array-like, default=None
        The classes in the order of the columns, sorted; by default those of ``y_true``.
    n_bins : int, default=10
        Number of bins.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows.

    Returns
    -------
    error : float
        In [0, 1], 0 the best.

    Examples
    --------
    >>> from robell.metrics import expected_calibration_error
    >>> round(expected_calibration_error([0, 0, 1, 1], [0.1, 0.1, 0.9, 0.9]), 3)
    0.1
    """
    classes = np.unique(y_true if labels is None else labels)
    P = np.asarray(y_proba, dtype=np.float64)
    place = np.searchsorted(classes, np.asarray(y_true))
    if n_bins < 1:
        raise ValueError(f"n_bins must be at least 1; got {n_bins!r}")
    if P.shape not in [(len(place),), (len(place), len(classes))] or len(classes) < 2:
        raise ValueError(f"y_proba of shape {P.shape} does not fit {len(classes)} classes")
    if not ((P >= 0) & (P <= 1)).all():
        raise ValueError("y_proba must hold probabilities, from 0 to 1")
    if not np.array_equal(classes[np.minimum(place, len(classes) - 1)], np.asarray(y_true)):
        raise ValueError("y_true holds labels that are not among those given")
    if P.ndim == 1 and len(classes) > 2:
        raise ValueError("of more than two classes y_proba must have one column a class")
    if P.ndim == 2 and len(classes) == 2:
        P = P[:, 1]
    came_true = place == (1 if P.ndim == 1 else P.argmax(axis=1))
    P = P if P.ndim == 1 else P.max(axis=1)
    weight = np.ones(len(P)) if sample_weight is None else _weights(sample_weight)
    bins = np.minimum((P * n_bins).astype(np.intp), n_bins - 1)
    gaps = np.bincount(bins, weight * (P - came_true), n_bins)
    return float(np.abs(gaps).sum() / weight.sum())


def _weights(sample_weight):
    """Return weights divided by the largest: scores do not depend on it, and sums stay finite."""
    if sample_weight is None:
        return None
    try:
        weight = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError("sample_weight must be numeric") from None
    largest = np.abs(weight).max(initial=0.0)
    return weight / largest if 0.0 < largest < np.inf else weight
