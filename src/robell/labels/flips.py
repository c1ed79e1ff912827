"""Wrong labels made on purpose, to see what a classifier does with them."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial import KDTree
from scipy.stats import rankdata
from sklearn.utils import check_array, check_consistent_length, check_random_state, column_or_1d

from robell._core.array import require_labels

# The row nearest to another class is exp(BOUNDARY_DECAY) times as likely as the farthest.
BOUNDARY_DECAY = 4.0
Flipped = tuple[NDArray[Any], NDArray[np.bool_]]


def flip_labels(
    y: ArrayLike, fraction: float, random_state: int | np.random.RandomState | None = None
) -> Flipped:
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
    flip_in_group : Rows of one group.
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


def flip_uniformly(
    y: ArrayLike, fraction: float, random_state: int | np.random.RandomState | None = None
) -> Flipped:
    """Give a share of all rows a wrong label, whatever their class (symmetric noise).

    Of A rows fraction · A, rounded, are flipped, all equally likely, each to one of the other
    classes, all equally likely. With the same ``random_state``, the rows flipped at a smaller
    fraction are among those flipped at a larger.

    Parameters
    ----------
    y, fraction, random_state
        As :func:`flip_labels` takes them.

    Returns
    -------
    noisy, flipped : ndarrays of shape (n_samples,)
        As :func:`flip_labels` returns them.

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


def flip_from_class(
    y: ArrayLike,
    label: Any,
    fraction: float,
    random_state: int | np.random.RandomState | None = None,
    *,
    to: Any = None,
) -> Flipped:
    """Give a share of the rows of one class a wrong label (asymmetric noise).

    Of the class's A rows fraction · A, rounded, are flipped, nested as by :func:`flip_uniformly`.

    Parameters
    ----------
    y, random_state
        As :func:`flip_labels` takes them.
    label : object
        The class that loses rows, such as frauds that were missed.
    fraction : float
        Share of its rows to flip, in [0, 1].
    to : object, default=None
        The class they go to; by default any of the others, all equally likely.

    Returns
    -------
    noisy, flipped : ndarrays of shape (n_samples,)
        As :func:`flip_labels` returns them.

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
    source, target = _place_of(label, classes), None
    if to is not None:
        target = _place_of(to, classes)
        if target == source:
            raise ValueError(f"rows of {label!r} cannot be flipped to {to!r}: it is their class")
    rows = np.flatnonzero(place == source)
    return _flip_some(classes, place, rows, fraction, random_state, target)


def flip_in_group(
    y: ArrayLike,
    groups: ArrayLike,
    group: Any,
    fraction: float,
    random_state: int | np.random.RandomState | None = None,
) -> Flipped:
    """Give a share of the rows of one group a wrong label, such as those of one supplier.

    Rows of the group are flipped as :func:`flip_uniformly` flips those of a table.

    Parameters
    ----------
    y, random_state
        As :func:`flip_labels` takes them.
    groups : array-like of shape (n_samples,)
        The group of every row.
    group : object
        The group whose labels go wrong.
    fraction : float
        Share of its rows to flip, in [0, 1].

    Returns
    -------
    noisy, flipped : ndarrays of shape (n_samples,)
        As :func:`flip_labels` returns them.

    Examples
    --------
    >>> import numpy as np
    >>> from robell.noise import flip_in_group
    >>> y = np.tile(["good", "bad"], 50)
    >>> supplier = np.repeat(["east", "west"], 50)
    >>> noisy, flipped = flip_in_group(y, supplier, "west", 0.4, random_state=0)
    >>> int(flipped.sum()), int(flipped[supplier == "east"].sum())
    (20, 0)
    """
    classes, place, _ = _classes(y)
    groups = column_or_1d(groups)
    check_consistent_length(groups, place)
    rows = np.flatnonzero(groups == group)
    if not len(rows):
        raise ValueError(f"there is no group {group!r} in groups")
    return _flip_some(classes, place, rows, fraction, random_state)


def flip_near_boundary(
    X: ArrayLike,
    y: ArrayLike,
    fraction: float,
    random_state: int | np.random.RandomState | None = None,
    *,
    by: str = "neighbour",
) -> Flipped:
    """Give a share of all rows a wrong label, rows near another class more often.

    Rows are ranked by how far they are from another class, from r = 0, equal distances by their
    mean rank. Of n rows fraction · n, rounded, are drawn one after the other without replacement,
    with probabilities proportional to exp(-4 r / n), nested as by :func:`flip_uniformly`.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows.
    y, fraction, random_state
        As :func:`flip_labels` takes them.
    by : {"neighbour", "logistic", "forest"}, default="neighbour"
        What is near. "neighbour": the distance to the nearest row of another class, columns scaled
        to unit variance. "logistic": the distance ``|log p - log p'|`` to the boundary of a
        logistic regression of the given labels, columns scaled, p and p' being the probabilities of
        the row's class and of the likeliest other. "forest": ``|p - p'|`` with the out-of-bag
        probabilities of a forest of 100 trees whose leaves have five rows or more, always the
        same one. A flipped row takes the label of its nearest row of another class, or of the
        likeliest other class.

    Returns
    -------
    noisy, flipped : ndarrays of shape (n_samples,)
        As :func:`flip_labels` returns them.

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
    if by not in _DISTANCES:
        known = ", ".join(repr(name) for name in _DISTANCES)
        raise ValueError(f"by must be one of {known}; got {by!r}")
    distance, other = _DISTANCES[by](X, place, len(classes))
    rank = rankdata(distance) - 1.0
    random = check_random_state(random_state)
    # The smallest of exponential times over their rates come first with just these probabilities.
    times = random.exponential(size=len(place)) / np.exp(-BOUNDARY_DECAY * rank / len(place))
    chosen = np.argsort(times, kind="stable")[:total]
    noisy = place.copy()
    noisy[chosen] = other[chosen]
    return classes[noisy], noisy != place


def _flip_some(classes, place, rows, fraction, random_state, target=None):
    """Flip a share of some rows, to one class or to any of the others."""
    total = _share(fraction, len(rows))
    random = check_random_state(random_state)
    chosen = random.permutation(rows)[:total]
    noisy = place.copy()
    if target is None:
        steps = random.randint(1, len(classes), len(rows))
        noisy[chosen] = (place[chosen] + steps[:total]) % len(classes)
    else:
        noisy[chosen] = target
    return classes[noisy], noisy != place


def _nearest_of_another_class(X, place, n_classes):
    """Return every row's distance to the nearest row of another class, and that row's class."""
    scaled = _unit_variance(X)
    distance, other = np.zeros(len(X)), np.zeros(len(X), np.intp)
    for c in range(n_classes):
        own, others = np.flatnonzero(place == c), np.flatnonzero(place != c)
        distance[own], index = KDTree(scaled[others]).query(scaled[own])
        other[own] = place[others[index]]
    return distance, other


def _from_logistic_boundary(X, place, n_classes):
    """Return every row's distance to a logistic regression's boundary, and the class beyond it."""
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(max_iter=1000).fit(_unit_variance(X), place)
    with np.errstate(divide="ignore"):  # rows so far away that p is 0 are equally far
        return _gap(model.predict_log_proba(_unit_variance(X)), place)


def _from_forest_boundary(X, place, n_classes):
    """Return every row's margin in a forest that has not seen it, and the likeliest other class."""
    from sklearn.ensemble import RandomForestClassifier

    forest = RandomForestClassifier(100, min_samples_leaf=5, oob_score=True, random_state=0)
    forest.fit(X, place)
    return _gap(forest.oob_decision_function_, place)


_DISTANCES = {
    "neighbour": _nearest_of_another_class,
    "logistic": _from_logistic_boundary,
    "forest": _from_forest_boundary,
}


def _gap(support, place):
    """Return how far a class's support is from the next best's, and which class that is."""
    rows = np.arange(len(place))
    own = support[rows, place]
    others = support.copy()
    others[rows, place] = -np.inf
    other = others.argmax(axis=1)
    return np.abs(own - others[rows, other]), other


def _unit_variance(X):
    deviation = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0)


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
    if (
        not isinstance(fraction, Real)
        or isinstance(fraction, bool)
        or not 0 <= float(fraction) <= 1
    ):
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
