"""The probability-weighted generalized-bell (PW-GB) membership and the class cost.

With K_ij = exp(-|x_i - x_j|²/ξ²), class c of n_c rows, and "minority" the smallest class:

    r_i  = sqrt(1 - 2/n_c Σ_j K_ij + 1/n_c² Σ_pq K_pq)        distance to the class mean  (Eqs. 1-2)
    g_i  = 1 / (1 + (r_i / ρ r_max,c)^(2 ρ r_max,c))          generalized bell            (Eqs. 4-5)
    p_i  = #{j: δ_ij <= α, y_j = y_i} / (#{j: δ_ij <= α} + ε)  class probability           (Eq. 7)
    ξ_i  = 1 in the minority, g_i p_i elsewhere               PW-GB membership            (Eq. 8)

where δ_ij = sqrt(2(1 - K_ij)) and α is the largest radius of all classes (Eqs. 3 and 6). Every sum
and count over rows is weighted by the rows' multiplicity. Each formula is written for any number
of classes and is the paper's for two (erratum E17).

Row weights of RoBell's relatives: intuitionistic fuzzy scores (IFRVFL) and Huber's (R2VFL).

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

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from robell._core.array import Array, Labels, to_host
from robell._core.membership.pairs import (
    ONE_WORKER,
    Workers,
    center,
    neighbour_weights,
    require_squares,
    same_class_dissimilarity,
)

EPSILON = 1e-12  # the ε of Eq. 7, which the paper leaves open (erratum E11)

GOLDEN_SECTION = 0.618  # as the published weights have it

# ξ² and 1/ξ² must be numbers; beyond these widths every result is at its limit already.
NARROWEST, WIDEST = 1e-150, 1e150


class Interval(NamedTuple):
    """Bounds of what is known approximately."""

    low: Array
    high: Array


class Bounds(NamedTuple):
    """Intervals that, with high confidence, all hold the exact statistics."""

    radius: Interval
    class_probability: Interval
    r_max: Interval


class KernelStatistics(NamedTuple):
    """What the PW-GB scheme reads off all pairs of rows."""

    radius: Array
    class_probability: Array
    r_max: Array  # of each class
    minority: int
    bounds: Bounds | None = None  # None: exact
    # Share of other classes among the neighbours: exactly 0 where there are none; exact only.
    foreign_share: Array | None = None


class Membership(NamedTuple):
    """What the PW-GB scheme says of every row."""

    membership: Array
    class_probability: Array
    radius: Array
    error: Array | None = None  # a bound of |membership - exact|; None: exact


def class_sizes(classes: Labels, n_classes: int, multiplicity: Array) -> Array:
    """Return A_c, the number of rows of each class, counted with their multiplicity."""
    return np.asarray(np.bincount(classes, weights=multiplicity, minlength=n_classes), np.float64)


def class_cost(sizes: Array) -> Array:
    """Return l_c = A_min / A_c: 1 for the minority, A₂/A₁ for the majority (Eqs. 9-10)."""
    return np.asarray(sizes.min() / sizes)


def balanced_cost(sizes: Array) -> Array:
    """Return A / (K A_c), which gives all classes the same total weight."""
    return np.asarray(sizes.sum() / (len(sizes) * sizes))


def golden_cost(sizes: Array) -> Array:
    """Return A / (K A_c), times 0.618 for classes larger than A/K (Zong, Huang and Chen 2013)."""
    return np.where(sizes * len(sizes) > sizes.sum(), GOLDEN_SECTION, 1.0) * balanced_cost(sizes)


def complement_cost(sizes: Array) -> Array:
    """Return 1 - A_c / A, the share of the other classes; 1 where there are no others."""
    return np.asarray(1.0 - sizes / sizes.sum() if len(sizes) > 1 else np.ones(1))


# The schemes of class costs by name: each is given the sizes of classes that have rows.
CLASS_COSTS: dict[str, Callable[[Array], Array]] = {
    "balanced": balanced_cost,
    "ratio": class_cost,
    "golden": golden_cost,
    "complement": complement_cost,
}


def kernel_radii(dissimilarity_sums: Array, classes: Labels, multiplicity: Array) -> Array:
    """Return r_i, the distance of row i to its class mean in the kernel's space (Eqs. 1-2).

    With S_i = Σ_j (1 - K_ij) over the class, the printed radicand 1 - 2/n ΣK_ij + 1/n² ΣΣK_pq is
    2 S_i/n - Σ_p S_p/n². Rounding below zero is clipped (erratum E13).
    """
    sizes = class_sizes(classes, int(classes.max()) + 1, multiplicity)
    class_sums = np.bincount(classes, weights=multiplicity * dissimilarity_sums)
    mean_of_class = class_sums / sizes / sizes
    radicand = 2.0 * dissimilarity_sums / sizes[classes] - mean_of_class[classes]
    return np.sqrt(np.maximum(radicand, 0.0))


def largest_radii(radius: Array, classes: Labels, n_classes: int) -> Array:
    """Return r_max of every class (Eq. 3)."""
    r_max = np.zeros(n_classes)
    np.maximum.at(r_max, classes, radius)
    return r_max


def generalized_bell(radius: Array, r_max: Array, rho: float) -> Array:
    """Return 1 / (1 + (r/c)^(2d)) with c = d = ρ r_max, and 1 where r_max = 0 (Eqs. 4-5).

    The paper ties the bell's steepness to its width; this is kept (erratum E12). The value where
    r_max = 0, which is 0/0 in print, is erratum E13's.
    """
    spread = r_max > 0
    ratio = np.divide(radius, rho * r_max, out=np.zeros_like(radius), where=spread)
    with np.errstate(over="ignore"):  # a power of inf gives the right limit, 0
        bell = 1.0 / (1.0 + np.power(ratio, 2.0 * rho * r_max))
    return np.where(spread, bell, 1.0)


def neighbourhood_radius(r_max: Array) -> float:
    """Return α, the largest radius of all classes (Eq. 6)."""
    return float(r_max.max())


def reach_squared(alpha: float, width: float) -> float:
    """Return the largest |x_i - x_j|² for which sqrt(2(1 - K_ij)) <= α.

    The neighbourhood N(a_i) is a Euclidean ball: 1 - exp(-d²/ξ²) <= α²/2 holds just when
    d² <= -ξ² ln(1 - α²/2), and always when α² >= 2. The bound is inclusive (erratum E10).
    """
    half = 0.5 * alpha * alpha
    return float(-width * width * np.log1p(-half)) if half < 1.0 else float("inf")


def class_probability(own_class: Array, total: Array) -> Array:
    """Return p_i, the share of row i's class among its neighbours (Eq. 7).

    The neighbours include row i itself (erratum E9), so p_i > 0.
    """
    return own_class / (total + EPSILON)


def combine_membership(bell: Array, probability: Array, classes: Labels, minority: int) -> Array:
    """Return ξ_i: 1 in the minority class, bell times probability elsewhere (Eq. 8)."""
    return np.where(classes == minority, 1.0, bell * probability)


def usable_width(kernel_width: float) -> float:
    """Return the kernel width, or the nearest one whose square and its inverse are numbers."""
    return min(max(kernel_width, NARROWEST), WIDEST)


def kernel_statistics(
    X: Array,
    classes: Labels,
    n_classes: int,
    kernel_width: float,
    multiplicity: Array,
    workers: Workers = ONE_WORKER,
) -> KernelStatistics:
    """Compare all pairs of rows of positive weight, for all that ρ does not change (Eqs. 1-7)."""
    require_squares(X)
    order = np.argsort(classes, kind="stable")  # the pair passes want it sorted
    X, labels, weight = center(X[order]), classes[order], multiplicity[order]
    passes = (
        partial(same_class_dissimilarity, X, labels, weight, workers=workers),
        partial(neighbour_weights, X, labels, weight, workers=workers),
    )
    return statistics_of_passes(order, labels, weight, n_classes, kernel_width, *passes)


def statistics_of_passes(
    order: Any,
    labels: Any,
    weight: Any,
    n_classes: int,
    kernel_width: float,
    dissimilarity_sums: Callable[[float], Any],
    neighbours: Callable[[float], Any],
) -> KernelStatistics:
    """Return the statistics of rows sorted by class, from two passes over their pairs.

    ``dissimilarity_sums`` is given 1/ξ² and ``neighbours`` the reach, as in
    :mod:`robell._core.membership.pairs`; ``order`` says where each row stood before sorting. All
    may be tensors.
    """
    order, labels, weight = to_host(order), to_host(labels), to_host(weight)
    width = usable_width(kernel_width)
    sums = to_host(dissimilarity_sums(1.0 / (width * width)))
    sorted_radius = kernel_radii(sums, labels, weight)
    r_max = largest_radii(sorted_radius, labels, n_classes)
    reach = reach_squared(neighbourhood_radius(r_max), width)
    total, own_class = map(to_host, neighbours(reach))
    radius, probability, foreign = np.empty((3, len(order)))
    radius[order] = sorted_radius
    probability[order] = class_probability(own_class, total)
    foreign[order] = (total - own_class) / total
    # The smallest class; of several, the one with the smallest label (erratum E7)
    minority = int(class_sizes(labels, n_classes, weight).argmin())
    return KernelStatistics(radius, probability, r_max, minority, foreign_share=foreign)


def pw_gbell(statistics: KernelStatistics, classes: Labels, rho: float) -> Membership:
    """Compute the PW-GB membership of every row (Eqs. 1-8) from the statistics of its kernel."""
    bell = generalized_bell(statistics.radius, statistics.r_max[classes], rho)
    membership = combine_membership(
        bell, statistics.class_probability, classes, statistics.minority
    )
    error = None
    if statistics.bounds is not None:
        bounds = statistics.bounds
        bells = bell_interval(bounds.radius, bounds.r_max, classes, rho)
        low, high = (
            combine_membership(b, p, classes, statistics.minority)
            for b, p in zip(bells, bounds.class_probability, strict=True)
        )
        error = np.maximum(high - membership, membership - low)
    return Membership(membership, statistics.class_probability, statistics.radius, error)


def bell_interval(radius: Interval, r_max: Interval, classes: Labels, rho: float) -> Interval:
    """Return bounds of the bell where r and r_max lie in intervals."""
    # The bell falls with r. As a function of c = ρ r_max, (r/c)^(2c) rises up to c = r/e and falls
    # from there on, so the bell is least and largest at the ends of c's interval or at r/e.
    low, high = r_max.low[classes], r_max.high[classes]

    def over_widths(r: Array) -> list[Array]:
        turning = np.clip(r / (np.e * rho), low, high)
        return [generalized_bell(r, m, rho) for m in (low, high, turning)]

    # A class of which it is not even known whether its rows differ has no bell to speak of.
    known = low > 0
    lowest = np.where(known, np.min(over_widths(radius.high), axis=0), 0.0)
    highest = np.where(known, np.max(over_widths(radius.low), axis=0), 1.0)
    # Where all radii are known to be zero, the bell is 1.
    return Interval(np.where(high > 0, lowest, 1.0), highest)


def scale_kernel_width(X: Any, multiplicity: Any) -> float:
    """Return sqrt(B Var X) over all entries: sqrt(B) for standardised data, 1 for constant data."""
    if X.min() == X.max():
        return 1.0
    require_squares(X)
    share = (multiplicity / multiplicity.sum())[:, None] / X.shape[1]
    variance = float((share * (X - (share * X).sum()) ** 2).sum())
    return float(np.sqrt(X.shape[1] * variance))


# -- weights of RoBell's relatives ------------------------------------------------------------

RIM = 1e-4  # keeps the membership of the farthest row of a class above zero


def intuitionistic_scores(statistics: KernelStatistics, classes: Labels) -> Array:
    """Return s_i of every row; 0 just where μ_i <= q_i / (1 + q_i) and q_i > 0."""
    # Whether ν_i is zero is decided by what it is made of, never by a rounded product.
    assert statistics.foreign_share is not None
    radius, share = statistics.radius, statistics.foreign_share
    far = radius / (statistics.r_max[classes] + RIM)  # 1 - μ
    nu = far * share
    score = np.where(1.0 - far <= nu, 0.0, (1.0 - nu) / (1.0 + far - nu))
    return np.where((share == 0.0) | (radius == 0.0), 1.0 - far, score)


def without_empty_classes(score: Array, classes: Labels) -> tuple[Array, Any]:
    """Return the scores with ones for classes whose rows all score 0, and which those are."""
    n_classes = int(classes.max()) + 1
    largest = largest_radii(score, classes, n_classes)
    erased = (largest == 0.0) & (np.bincount(classes, minlength=n_classes) > 0)
    return np.where(erased[classes], 1.0, score), np.flatnonzero(erased)


def weighted_median(values: Array, weight: Array) -> Array:
    """Return the median of every column of values, each row counted ``weight`` times."""
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
    """Return h_i: 1 up to the threshold (or where that is 0), threshold over distance beyond."""
    beyond = (distance > threshold) & (threshold > 0.0)
    return np.divide(threshold, distance, out=np.ones_like(distance), where=beyond)
