"""Wrong labels made on purpose, to see what a classifier does with them."""

from __future__ import annotations

from numbers import Real

import numpy as np
from scipy.spatial import KDTree
from scipy.stats import rankdata
from sklearn.utils import check_array, check_consistent_length, check_random_state, column_or_1d

from robell._core.labels.missing import require_labels

# The row nearest to another class is exp(BOUNDARY_DECAY) times as likely as the farthest.
BOUNDARY_DECAY = 4.0


def flip_labels(y, fraction, random_state=None):
    """Give the same share of every class a wrong label.

    Of A rows ⌊fraction · A⌋ are flipped, divided among the classes in proportion to their size,
    each rounded down. Which rows of a class are flipped, and to which other class, is random
    (erratum E25).

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Labels.
    fraction : float
        Share of the rows to flip, in [0, 1].
    random_state : int, RandomState instance or None, default=None
        Which rows, and to which class.

    Returns
    -------
    noisy, flipped : ndarrays of shape (n_samples,)
        A copy of ``y`` with wrong labels in it, and which rows are wrong now.

    See Also
    --------
    flip_uniformly : Rows of all classes.
    flip_from_class : Rows of one class.
    flip_near_boundary : Rows near another class.

    Examples
    --------
    >>> import numpy as np
    >>> from robell.noise import flip_labels
    >>> y = np.repeat(["good", "bad"], [80, 20])
    >>> noisy, flipped = flip_labels(y, 0.1, random_state=0)
    >>> int(flipped.sum()), int(flipped[:80].sum()), bool((noisy[flipped] != y[flipped]).all())
    (10, 8, True)
    """
    classes, place, counts = _classes(y)
    _check_fraction(fraction)
    random = check_random_state(random_state)
    # Rounded before it is truncated: 0.29 * 100 is 28.999999999999996.
    total = int(round(float(fraction) * len(place), 9))
    flipped = np.zeros(len(place), bool)
    noisy = place.copy()
    for c, count in enumerate(counts.tolist()):
        rows = np.flatnonzero(place == c)
        chosen = random.permutation(rows)[: total * count // len(place)]
        flipped[chosen] = True
        noisy[chosen] = (c + random.randint(1, len(classes), len(chosen))) % len(classes)
    return classes[noisy], flipped


def flip_uniformly(y, fraction, random_state=None):
    """Give a share of all rows a wrong label, whatever their class (symmetric noise).

    Of A rows fraction · A, rounded, are flipped, all equally likely, each to one of the other
    classes, all equally likely. With the same ``random_state``, the rows flipped at a smaller
    fraction are among those flipped at a larger.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Labels.
    fraction : float
        Share of the rows to flip, in [0, 1].
    random_state : int, RandomState instance or None, default=None
        Which rows, and to which class.

    Returns
    -------
    noisy, flipped : ndarrays of shape (n_samples,)
        A copy of ``y`` with wrong labels in it, and which rows are wrong now.

    See Also
    --------
    flip_labels : The same share of every class.

    Examples
    --------
    >>> import numpy as np
    >>> from robell.noise import flip_uniformly
    >>> y = np.repeat([0, 1], [80, 20])
    >>> noisy, flipped = flip_uniformly(y, 0.3, random_state=0)
    >>> int(flipped.sum()), bool((noisy != y)[flipped].all())
    (30, True)
    """
    classes, place, _ = _classes(y)
    total = _share(fraction, len(place))
    random = check_random_state(random_state)
    order = random.permutation(len(place))
    steps = random.randint(1, len(classes), len(place))
    chosen = order[:total]
    noisy = place.copy()
    noisy[chosen] = (place[chosen] + steps[chosen]) % len(classes)
    return classes[noisy], noisy != place


def flip_from_class(y, label, fraction, random_state=None, *, to=None):
    """Give a share of the rows of one class a wrong label (asymmetric noise).

    Of the class's A rows fraction · A, rounded, are flipped. With the same ``random_state``, the
    rows flipped at a smaller fraction are among those flipped at a larger.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Labels.
    label : object
        The class that loses rows, such as frauds that were missed.
    fraction : float
        Share of its rows to flip, in [0, 1].
    random_state : int, RandomState instance or None, default=None
        Which rows, and to which class.
    to : object, default=None
        The class they go to; by default any of the others, all equally likely.

    Returns
    -------
    noisy, flipped : ndarrays of shape (n_samples,)
        A copy of ``y`` with wrong labels in it, and which rows are wrong now.

    Examples
    --------
    >>> import numpy as np
    >>> from robell.noise import flip_from_class
    >>> y = np.repeat([0, 1], [80, 20])
    >>> noisy, flipped = flip_from_class(y, 1, 0.3, random_state=0)
    >>> int(flipped.sum()), int(flipped[y == 0].sum())
    (6, 0)
    """
    classes, place, _ = _classes(y)
    source = _place_of(label, classes)
    rows = np.flatnonzero(place == source)
    total = _share(fraction, len(rows))
    random = check_random_state(random_state)
    chosen = random.permutation(rows)[:total]
    noisy = place.copy()
    if to is None:
        steps = random.randint(1, len(classes), len(rows))
        noisy[chosen] = (source + steps[:total]) % len(classes)
    else:
        target = _place_of(to, classes)
        if target == source:
            raise ValueError(f"rows of {label!r} cannot be flipped to {to!r}: it is their class")
        noisy[chosen] = target
    return classes[noisy], noisy != place


def flip_near_boundary(X, y, fraction, random_state=None):
    """Give a share of all rows a wrong label, rows near another class more often.

    Columns are scaled to unit variance, and rows are ranked by their distance to the nearest row
    of another class, from r = 0, equal distances by their mean rank. Of n rows fraction · n,
    rounded, are drawn one after the other without replacement, with probabilities proportional to
    exp(-4 r / n); each takes the label of that nearest row. With the same ``random_state``, the
    rows flipped at a smaller fraction are among those flipped at a larger.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows.
    y : array-like of shape (n_samples,)
        Labels.
    fraction : float
        Share of the rows to flip, in [0, 1].
    random_state : int, RandomState instance or None, default=None
        Which rows.

    Returns
    -------
    noisy, flipped : ndarrays of shape (n_samples,)
        A copy of ``y`` with wrong labels in it, and which rows are wrong now.

    Examples
    --------
    >>> import numpy as np
    >>> from robell.noise import flip_near_boundary
    >>> X = np.arange(200.0).reshape(-1, 1)
    >>> y = np.repeat([0, 1], 100)
    >>> noisy, flipped = flip_near_boundary(X, y, 0.2, random_state=0)
    >>> near = abs(X[:, 0] - 99.5) < 50
    >>> int(flipped.sum()), bool(flipped[near].sum() > 2 * flipped[~near].sum())
    (40, True)
    """
    X = check_array(X, dtype=np.float64)
    classes, place, _ = _classes(y)
    check_consistent_length(X, place)
    total = _share(fraction, len(place))
    distance, other = _nearest_of_another_class(X, place, len(classes))
    rank = rankdata(distance) - 1.0
    random = check_random_state(random_state)
    # The smallest of exponential times over their rates come first with just these probabilities.
    times = random.exponential(size=len(place)) / np.exp(-BOUNDARY_DECAY * rank / len(place))
    chosen = np.argsort(times, kind="stable")[:total]
    noisy = place.copy()
    noisy[chosen] = place[other[chosen]]
    return classes[noisy], noisy != place


def _nearest_of_another_class(X, place, n_classes):
    """Return every row's distance to the nearest row of another class, and which row that is."""
    deviation = X.std(axis=0)
    scaled = (X - X.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0)
    distance, other = np.zeros(len(X)), np.zeros(len(X), np.intp)
    for c in range(n_classes):
        own, others = np.flatnonzero(place == c), np.flatnonzero(place != c)
        distance[own], index = KDTree(scaled[others]).query(scaled[own])
        other[own] = others[index]
    return distance, other


def _classes(y):
    require_labels(y)
    y = column_or_1d(y)
    try:
        classes, place, counts = np.unique(y, return_inverse=True, return_counts=True)
    except TypeError:
        raise TypeError("y must hold labels of one kind: they cannot be sorted") from None
    if len(classes) < 2:
        raise ValueError("labels of one class cannot be flipped: there is no other class")
    return classes, place, counts


def _check_fraction(fraction):
    if not isinstance(fraction, Real) or isinstance(fraction, bool) or not 0 <= fraction <= 1:
        raise ValueError(f"fraction must be a number in [0, 1]; got {fraction!r}")


def _share(fraction, n_rows):
    """Return how many rows a fraction is, to the nearest whole number."""
    _check_fraction(fraction)
    return round(round(float(fraction) * n_rows, 9))


def _place_of(label, classes):
    found = np.flatnonzero(classes == label)
    if len(found) != 1:
        raise ValueError(f"there is no class {label!r} in y; its classes are {classes.tolist()}")
    return int(found[0])
