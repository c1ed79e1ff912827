"""Label noise, made on purpose: to see what a classifier does with wrong labels."""

from __future__ import annotations

from numbers import Real

import numpy as np
from sklearn.utils import check_random_state, column_or_1d


def flip_labels(y, fraction, random_state=None):
    """Give a share of the rows a wrong label, every class losing the same share of its own.

    Of A rows ⌊fraction · A⌋ are shared out to the classes in proportion to their size, each
    rounded down; which rows of a class, and which of the other classes they go to, is random
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
    noisy : ndarray of shape (n_samples,)
        A copy of ``y`` with wrong labels in it.
    flipped : ndarray of bool of shape (n_samples,)
        Which rows are wrong now.

    Examples
    --------
    >>> import numpy as np
    >>> from robell.noise import flip_labels
    >>> y = np.repeat(["good", "bad"], [80, 20])
    >>> noisy, flipped = flip_labels(y, 0.1, random_state=0)
    >>> int(flipped.sum()), int(flipped[:80].sum()), bool((noisy[flipped] != y[flipped]).all())
    (10, 8, True)
    """
    y = column_or_1d(y)
    if not isinstance(fraction, Real) or isinstance(fraction, bool) or not 0 <= fraction <= 1:
        raise ValueError(f"fraction must be a number in [0, 1]; got {fraction!r}")
    classes, place, counts = np.unique(y, return_inverse=True, return_counts=True)
    if len(classes) < 2:
        raise ValueError("labels of one class cannot be flipped: there is no other class")
    random = check_random_state(random_state)
    # Rounded before it is truncated: 0.29 * 100 is 28.999999999999996.
    total = int(round(float(fraction) * len(y), 9))
    flipped = np.zeros(len(y), bool)
    noisy = place.copy()
    for c, count in enumerate(counts.tolist()):
        rows = np.flatnonzero(place == c)
        chosen = random.permutation(rows)[: total * count // len(y)]
        flipped[chosen] = True
        noisy[chosen] = (c + random.randint(1, len(classes), len(chosen))) % len(classes)
    return classes[noisy], flipped
