"""Row weights of RoBell's relatives: intuitionistic fuzzy scores (IFRVFL) and Huber's (R2VFL).

Both read the same statistics of all pairs of rows as the PW-GB membership, radii r_i, the largest
radius r_max of each class, and the neighbours within the largest of all:

    μ_i = 1 - r_i / (r_max,c + 10⁻⁴)                        membership
    ν_i = (1 - μ_i) q_i                                     non-membership
    s_i = μ_i where ν_i = 0,  0 where μ_i <= ν_i,  else (1 - ν_i) / (2 - μ_i - ν_i)

with q_i the share of other classes among the neighbours of row i, which is one of them; and

    h_i = 1 where d_i <= τ_c,  else τ_c / d_i

with d_i the distance of row i to the centre of its class and τ_c a threshold. Sums, counts and
medians take rows with their multiplicity.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from robell._core.membership.equations import KernelStatistics, usable_width

Array = NDArray[np.float64]
Labels = NDArray[np.intp]

RIM = 1e-4  # keeps the membership of the farthest row of a class above zero


def intuitionistic_scores(statistics: KernelStatistics, classes: Labels) -> Array:
    """Return s_i of every row; 0 just where μ_i <= q_i / (1 + q_i) and q_i > 0.

    Whether ν_i is zero is decided by what it is made of, never by a rounded product.
    """
    assert statistics.foreign_share is not None
    radius, share = statistics.radius, statistics.foreign_share
    far = radius / (statistics.r_max[classes] + RIM)  # 1 - μ
    nu = far * share
    score = np.where(1.0 - far <= nu, 0.0, (1.0 - nu) / (1.0 + far - nu))
    return np.where((share == 0.0) | (radius == 0.0), 1.0 - far, score)


def without_empty_classes(score: Array, classes: Labels) -> tuple[Array, Any]:
    """Return the scores with ones for classes whose rows all score 0, and which those are."""
    n_classes = int(classes.max()) + 1
    largest = np.zeros(n_classes)
    np.maximum.at(largest, classes, score)
    erased = (largest == 0.0) & (np.bincount(classes, minlength=n_classes) > 0)
    return np.where(erased[classes], 1.0, score), np.flatnonzero(erased)


def weighted_median(values: Array, weight: Array) -> Array:
    """Return the median of every column of values, each row counted ``weight`` times.

    The mean of the lower and the upper weighted median, as the median of the repeated rows is.
    """
    half = 0.5 * weight.sum()
    found = np.empty(values.shape[1])
    for j, column in enumerate(values.T):
        order = np.argsort(column, kind="stable")
        below = np.cumsum(weight[order])
        # Sums of weights that are no whole numbers round: within this they are equal.
        slack = 4.0 * np.finfo(np.float64).eps * len(weight) * half
        lower = np.searchsorted(below, half - slack)
        upper = np.searchsorted(below, half + slack, side="right")
        upper = min(int(upper), len(order) - 1)
        found[j] = 0.5 * column[order[lower]] + 0.5 * column[order[upper]]
    return found


def distances_to_medians(
    X: Array, classes: Labels, n_classes: int, multiplicity: Array, kernel_width: float
) -> Array:
    """Return sqrt(2 (1 - k(x_i, med_c))), med_c the median of every column over the class.

    A median does not exist in the kernel's space; this is the distance to the image of that of X.
    """
    width = usable_width(kernel_width)
    distance = np.empty(len(X))
    for c in range(n_classes):
        rows = classes == c
        if rows.any():
            centre = weighted_median(X[rows], multiplicity[rows])
            squares = np.square((X[rows] - centre) / width).sum(axis=1)
            distance[rows] = np.sqrt(-2.0 * np.expm1(-squares))
    return distance


def class_medians(distance: Array, classes: Labels, n_classes: int, multiplicity: Array) -> Array:
    """Return the median distance of every class; 0 for a class without rows."""
    found = np.zeros(n_classes)
    for c in range(n_classes):
        rows = classes == c
        if rows.any():
            found[c] = weighted_median(distance[rows, None], multiplicity[rows])[0]
    return found


def huber_weights(distance: Array, threshold: Array) -> Array:
    """Return h_i: 1 up to the threshold of each row, threshold over distance beyond.

    Where the threshold is 0, more than half of a class being one row, the class keeps 1.
    """
    beyond = (distance > threshold) & (threshold > 0.0)
    return np.divide(threshold, distance, out=np.ones_like(distance), where=beyond)
