"""Metrics that scikit-learn does not have: the paper's, and scores when test labels are wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import recall_score
from sklearn.utils import check_random_state

from robell._core.array import require_labels
from robell._core.labels.noise import (
    accuracy_and_recalls,
    area_and_error,
    true_shares,
    unmixed_area,
)

__all__ = [
    "CorrectedScores",
    "corrected_scores",
    "expected_calibration_error",
    "g_mean_score",
    "sensitivity_score",
    "specificity_score",
]

LARGEST_CONDITION = 1e6  # of a noise matrix: beyond, rounding decides what it undoes


def sensitivity_score(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    pos_label: Any = 1,
    sample_weight: ArrayLike | None = None,
) -> float:
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


def specificity_score(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    pos_label: Any = 1,
    sample_weight: ArrayLike | None = None,
) -> float:
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


def g_mean_score(
    y_true: ArrayLike, y_pred: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> float:
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
        In [0, 1]; 0 as soon as one class of ``y_true`` is missed altogether. A class whose rows
        all have weight 0 is absent.

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
    weight = _weights(sample_weight)
    recalls = recall_score(
        y_true, y_pred, labels=labels, average=None, sample_weight=weight, zero_division=0.0
    )
    if weight is not None and weight.any():
        recalls = recalls[np.isin(labels, np.asarray(y_true)[weight != 0.0])]
    return float(np.prod(recalls) ** (1.0 / len(recalls)))


def expected_calibration_error(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    labels: ArrayLike | None = None,
    n_bins: int = 10,
    sample_weight: ArrayLike | None = None,
) -> float:
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
        The classes in the order of the columns; by default those of ``y_true``, sorted.
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
    classes = np.unique(y_true) if labels is None else np.asarray(labels)
    P, order = np.asarray(y_proba, dtype=np.float64), np.argsort(classes)
    place = np.searchsorted(classes, np.asarray(y_true), sorter=order)
    place = order[np.minimum(place, len(classes) - 1)]
    if n_bins < 1:
        raise ValueError(f"n_bins must be at least 1; got {n_bins!r}")
    if P.shape not in [(len(place),), (len(place), len(classes))] or len(classes) < 2:
        raise ValueError(f"y_proba of shape {P.shape} does not fit {len(classes)} classes")
    if not ((P >= 0) & (P <= 1)).all():
        raise ValueError("y_proba must hold probabilities, from 0 to 1")
    if not np.array_equal(classes[place], np.asarray(y_true)):
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


@dataclass(frozen=True)
class CorrectedScores:
    """Scores by the true classes, estimated from labels of which some are wrong.

    Every interval is a pair (low, high).

    Attributes
    ----------
    accuracy : float
        Estimated share of rows whose true class is predicted.
    accuracy_interval : tuple of float
        Its interval.
    balanced_accuracy : float
        Estimated mean of the classes' recalls.
    balanced_accuracy_interval : tuple of float
        Its interval.
    recall : ndarray of shape (n_classes,)
        Estimated recall of each class.
    recall_interval : ndarray of shape (n_classes, 2)
        Their intervals.
    roc_auc : float or None
        Estimated area under the ROC curve; None without ``y_score``.
    roc_auc_interval : tuple of float or None
        Its interval.
    classes : ndarray of shape (n_classes,)
        The labels, in the order of ``recall``.

    Examples
    --------
    >>> from robell.metrics import corrected_scores
    >>> given, predicted = [0] * 50 + [1] * 50, [0] * 48 + [1] * 52
    >>> scores = corrected_scores(given, predicted, [[1, 0], [0, 1]])  # all labels right
    >>> round(scores.accuracy, 2), [float(round(r, 2)) for r in scores.recall]
    (0.98, [0.96, 1.0])
    """

    accuracy: float
    accuracy_interval: tuple[float, float]
    balanced_accuracy: float
    balanced_accuracy_interval: tuple[float, float]
    recall: np.ndarray
    recall_interval: np.ndarray
    roc_auc: float | None
    roc_auc_interval: tuple[float, float] | None
    classes: np.ndarray


def corrected_scores(
    y_given: ArrayLike,
    y_pred: ArrayLike,
    noise_matrix: ArrayLike,
    *,
    y_score: ArrayLike | None = None,
    labels: ArrayLike | None = None,
    n_reviewed: int | ArrayLike | None = None,
    coverage: float = 0.95,
    n_draws: int = 2000,
    random_state: int | np.random.RandomState | None = 0,
) -> CorrectedScores:
    """Scores of a model by the true classes, when some labels of the test rows are wrong.

    Wrong labels in the test rows make every model look worse than it is, and the better the model,
    the more so. If it is known how often each class is labelled as each other, this can be undone.

    Parameters
    ----------
    y_given : array-like of shape (n_samples,)
        Labels of the test rows, some of them wrong.
    y_pred : array-like of shape (n_samples,)
        Predictions for these rows, by a model that has not seen them.
    noise_matrix : array-like of shape (n_classes, n_classes)
        ``[i, j]`` is the share of the rows of true class i that are labelled j, such as
        ``noise_matrix_`` of :class:`~robell.NoiseRobustRVFLClassifier`.
    y_score : array-like of shape (n_samples,), default=None
        Scores of the second class, where there are two; gives the area under the ROC curve.
    labels : array-like of shape (n_classes,), default=None
        The classes in the order of ``noise_matrix``; by default the sorted labels.
    n_reviewed : int or array-like of shape (n_classes,), default=None
        From how many rows of each true class ``noise_matrix`` was counted. The intervals are then
        wider by what such a count leaves open. By default the matrix is taken as exact.
    coverage : float, default=0.95
        How often the intervals should hold the true value.
    n_draws : int, default=2000
        Draws that the intervals are made from.
    random_state : int, RandomState instance or None, default=0
        Seed of the draws.

    Returns
    -------
    scores : CorrectedScores
        The corrected scores with their intervals.

    Notes
    -----
    The correction assumes that labels go wrong by the true class alone. Where hard rows are
    labelled wrong more often, and the model errs on them too, the corrected scores are too high.
    The intervals know about the test rows, and about ``n_reviewed``; a wrong noise matrix is wrong.

    Examples
    --------
    >>> import numpy as np
    >>> from robell.metrics import corrected_scores
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.integers(0, 2, 5000)
    >>> pred = np.where(rng.random(5000) < 0.9, truth, 1 - truth)  # right in 90 of 100 rows
    >>> given = np.where(rng.random(5000) < 0.8, truth, 1 - truth)  # labels: in 80 of 100
    >>> round(float((pred == given).mean()), 1)
    0.7
    >>> scores = corrected_scores(given, pred, [[0.8, 0.2], [0.2, 0.8]])
    >>> low, high = scores.accuracy_interval
    >>> bool(low < 0.9 < high)
    True
    """
    given, pred, classes = _encode_pair(y_given, y_pred, labels)
    N = _check_noise(noise_matrix, len(classes))
    if not 0.0 < coverage < 1.0:
        raise ValueError(f"coverage must lie between 0 and 1; got {coverage}")
    if n_draws < 1:
        raise ValueError(f"n_draws must be at least 1; got {n_draws}")
    rng, n, K = check_random_state(random_state), len(given), len(classes)
    counts = np.bincount(pred * K + given, minlength=K * K)
    # One row more, spread evenly: an error that was not seen may still occur.
    drawn_C = rng.dirichlet(counts + 1.0 / K**2, size=n_draws).reshape(n_draws, K, K)
    drawn_N = _draw_noise(N, n_reviewed, n_draws, rng)
    accuracy, recall = accuracy_and_recalls(true_shares(counts.reshape(K, K) / n, N))
    drawn_accuracy, drawn_recall = accuracy_and_recalls(true_shares(drawn_C, drawn_N))
    tails = [(1.0 - coverage) / 2.0, (1.0 + coverage) / 2.0]
    area = area_interval = None
    if y_score is not None:
        area, drawn = _areas(y_score, given, N, drawn_N, drawn_C.sum(axis=1)[:, 1], K, rng)
        area_interval = _interval(area, drawn, tails)
    return CorrectedScores(
        float(accuracy),
        _interval(accuracy, drawn_accuracy, tails),
        float(recall.mean()),
        _interval(recall.mean(), drawn_recall.mean(axis=-1), tails),
        recall,
        np.array([_interval(*one, tails) for one in zip(recall, drawn_recall.T, strict=True)]),
        area,
        area_interval,
        classes,
    )


def _interval(estimate, drawn, tails):
    """Return the interval that draws say, with the estimate in it."""
    low, high = np.quantile(drawn, tails)
    return float(min(low, estimate)), float(max(high, estimate))


def _areas(y_score, given, N, drawn_N, drawn_share, n_classes, rng):
    """Return the corrected area under the ROC curve, and draws of it."""
    if n_classes != 2:
        raise ValueError(f"y_score is for two classes; there are {n_classes}")
    score = np.asarray(y_score, dtype=np.float64)
    if score.shape != given.shape or not np.isfinite(score).all():
        raise ValueError(f"y_score must have one finite number for each of the {len(given)} rows")
    if len(np.unique(given)) < 2:
        raise ValueError("y_score needs rows of both labels")
    area, error = area_and_error(score, given == 1)
    drawn = rng.normal(area, error, len(drawn_share))
    exact = unmixed_area(np.asarray(area), np.asarray((given == 1).mean()), N)
    return float(exact), unmixed_area(drawn, drawn_share, drawn_N)


def _encode_pair(y_given, y_pred, labels):
    """Return places of labels and predictions among the classes."""
    given, pred = np.asarray(y_given).ravel(), np.asarray(y_pred).ravel()
    if len(given) != len(pred) or not len(given):
        raise ValueError(f"as many predictions as labels are needed: {len(given)}, {len(pred)}")
    for name, part in (("y_given", given), ("y_pred", pred)):
        require_labels(part, name)
    try:
        known = np.union1d(given, pred)
    except TypeError:  # texts and numbers among objects
        known = np.empty(0)
    if not set(given.tolist()) | set(pred.tolist()) <= set(known.tolist()):
        raise ValueError("labels and predictions must be all text or all numbers")
    classes = known if labels is None else np.asarray(labels)
    place = {label: k for k, label in enumerate(classes.tolist())}
    foreign = [label for label in known.tolist() if label not in place]
    if foreign:
        raise ValueError(f"labels must hold every label and prediction; it lacks {foreign[0]!r}")
    codes = [np.array([place[label] for label in part.tolist()]) for part in (given, pred)]
    return codes[0], codes[1], classes


def _check_noise(noise_matrix, n_classes):
    """Return the noise matrix, if it can be undone."""
    N = np.asarray(noise_matrix, dtype=np.float64)
    if N.shape != (n_classes, n_classes):
        raise ValueError(
            f"noise_matrix must have a row and a column for each of the {n_classes} classes; its "
            f"shape is {N.shape}"
        )
    if not (np.isfinite(N).all() and (N >= 0).all() and np.allclose(N.sum(axis=1), 1.0, atol=1e-6)):
        raise ValueError("every row of noise_matrix must hold shares that add up to 1")
    if np.linalg.cond(N) > LARGEST_CONDITION:
        raise ValueError("noise_matrix says that labels tell nothing about the classes")
    return N


def _draw_noise(N, n_reviewed, n_draws, rng):
    """Draw noise matrices that counts of so many rows leave possible; or give N itself."""
    if n_reviewed is None:
        return np.broadcast_to(N, (n_draws, *N.shape))
    reviewed = np.asarray(n_reviewed, dtype=np.float64)
    if reviewed.shape not in ((), (1,), (len(N),)):
        raise ValueError(
            f"n_reviewed must be one number, or one for each of the {len(N)} classes; its shape is "
            f"{reviewed.shape}"
        )
    reviewed = np.broadcast_to(reviewed, (len(N),))
    if not (np.isfinite(reviewed).all() and (reviewed >= 1).all()):
        raise ValueError("n_reviewed must be at least 1 for every class")
    rows = [
        rng.dirichlet(row * n + 1.0 / len(N), size=n_draws)
        for row, n in zip(N, reviewed, strict=True)
    ]
    return np.stack(rows, axis=1)
