"""The probability-weighted generalized-bell (PW-GB) membership and the class cost.

With K_ij = exp(-|x_i - x_j|²/ξ²), class c of n_c rows, and "minority" the smallest class:

    r_i  = sqrt(1 - 2/n_c Σ_j K_ij + 1/n_c² Σ_pq K_pq)        distance to the class mean  (Eqs. 1-2)
    g_i  = 1 / (1 + (r_i / ρ r_max,c)^(2 ρ r_max,c))          generalized bell            (Eqs. 4-5)
    p_i  = #{j: δ_ij <= α, y_j = y_i} / (#{j: δ_ij <= α} + ε)  class probability           (Eq. 7)
    ξ_i  = 1 in the minority, g_i p_i elsewhere               PW-GB membership            (Eq. 8)

where δ_ij = sqrt(2(1 - K_ij)) and α is the largest radius of all classes (Eqs. 3 and 6). Every sum
and count over rows is weighted by the rows' multiplicity. Each formula is written for any number
of classes and is the paper's for two (erratum E17).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainccinv, betaincinv

from robell._core.membership.nystrom import Effort, Radii, approximate_radii, draw_rows
from robell._core.membership.pairs import (
    ONE_WORKER,
    Labels,
    Workers,
    center,
    neighbour_weights,
    reference_weights,
    require_squares,
    same_class_dissimilarity,
)

Array = NDArray[np.float64]

EPSILON = 1e-12  # the ε of Eq. 7, which the paper leaves open (erratum E11)

# ξ² and 1/ξ² must be numbers; beyond these widths every result is at its limit already.
NARROWEST, WIDEST = 1e-150, 1e150


class Interval(NamedTuple):
    """Bounds of what is known approximately."""

    low: Array
    high: Array


class Bounds(NamedTuple):
    """Intervals that hold the exact statistics, all together, but for a small chance."""

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


class Membership(NamedTuple):
    """What the PW-GB scheme says of every row."""

    membership: Array
    class_probability: Array
    radius: Array
    error: Array | None = None  # a bound of |membership - exact|; None: exact


def class_sizes(classes: Labels, n_classes: int, multiplicity: Array) -> Array:
    """Return A_c, the number of rows of each class, counted with their multiplicity."""
    return np.asarray(np.bincount(classes, weights=multiplicity, minlength=n_classes), np.float64)


def minority_class(sizes: Array) -> int:
    """Return the smallest class; of several, the one with the smallest label (erratum E7)."""
    return int(np.argmin(sizes))


def class_cost(sizes: Array) -> Array:
    """Return l_c = A_min / A_c: 1 for the minority, A₂/A₁ for the majority (Eqs. 9-10)."""
    return np.asarray(sizes.min() / sizes)


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


def kernel_statistics(
    X: Array,
    classes: Labels,
    n_classes: int,
    kernel_width: float,
    multiplicity: Array,
    workers: Workers = ONE_WORKER,
) -> KernelStatistics:
    """Compare all pairs of rows, for all that does not depend on ρ (Eqs. 1-7).

    Every row's multiplicity must be positive.
    """
    order = np.argsort(classes, kind="stable")  # the pair passes want it sorted
    require_squares(X)
    X = center(X[order])
    sorted_classes, weight = classes[order], multiplicity[order]
    width = min(max(kernel_width, NARROWEST), WIDEST)

    sums = same_class_dissimilarity(X, sorted_classes, weight, 1.0 / (width * width), workers)
    sorted_radius = kernel_radii(sums, sorted_classes, weight)
    r_max = largest_radii(sorted_radius, sorted_classes, n_classes)
    reach = reach_squared(neighbourhood_radius(r_max), width)
    total, own_class = neighbour_weights(X, sorted_classes, weight, reach, workers)
    radius, probability = np.empty(len(X)), np.empty(len(X))
    radius[order] = sorted_radius
    probability[order] = class_probability(own_class, total)
    minority = minority_class(class_sizes(classes, n_classes, multiplicity))
    return KernelStatistics(radius, probability, r_max, minority)


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


def scale_kernel_width(X: Any, multiplicity: Any) -> float:
    """Return sqrt(B Var X), the variance over all entries: sqrt(B) for standardised data.

    Constant data, of which every width says the same, get 1.
    """
    if X.min() == X.max():
        return 1.0
    require_squares(X)
    share = (multiplicity / multiplicity.sum())[:, None] / X.shape[1]
    variance = float((share * (X - (share * X).sum()) ** 2).sum())
    return float(np.sqrt(X.shape[1] * variance))


# -- approximate statistics ----------------------------------------------------------


class Sampling(NamedTuple):
    """How many rows approximate memberships compare every row with."""

    exact_rows: int = 4096  # classes of no more rows are compared in full
    effort: Effort = Effort()
    n_references: int = 2048  # of a class
    escalation: int = 8  # times as many references, for rows with uncertain shares
    escalated_share: float = 0.35  # of all rows, at most
    n_in_full: int = 2048  # rows compared with all rows, where even that leaves them uncertain
    wanted: float = 0.05  # width of an interval of p that needs no further references
    failure: float = 0.01  # chance that any interval at all misses its value


USUAL_SAMPLING = Sampling()


def bell_interval(radius: Interval, r_max: Interval, classes: Labels, rho: float) -> Interval:
    """Return bounds of the bell where r and r_max lie in intervals.

    The bell falls with r. As a function of c = ρ r_max, (r/c)^(2c) rises up to c = r/e and falls
    from there on, so the bell is least and largest at the ends of c's interval or at r/e.
    """
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


def approximable(classes: Labels, n_classes: int, sampling: Sampling = USUAL_SAMPLING) -> bool:
    """Say whether some class has so many rows that sampling them saves work."""
    counts = np.bincount(classes, minlength=n_classes)
    return bool(counts.max() > max(sampling.exact_rows, sampling.n_references))


def pairs_to_sample(classes: Labels, n_classes: int, sampling: Sampling = USUAL_SAMPLING) -> int:
    """Return how many pairs :func:`approximate_statistics` compares at most: for progress."""
    counts = np.bincount(classes, minlength=n_classes)
    n_rows, effort, total = len(classes), sampling.effort, 0.0
    points = 2 * effort.n_landmarks + effort.n_probes + effort.n_rims
    for count in counts:
        total += count * (points if count > sampling.exact_rows else (count + 1) / 2)
        total += n_rows * min(count, sampling.n_references)
        more = min(count, sampling.escalation * sampling.n_references)
        total += sampling.escalated_share * n_rows * more
    return int(total + sampling.n_in_full * n_rows)


def approximate_statistics(
    X: Array,
    classes: Labels,
    n_classes: int,
    kernel_width: float,
    multiplicity: Array,
    rng: np.random.Generator,
    sampling: Sampling = USUAL_SAMPLING,
    workers: Workers = ONE_WORKER,
) -> KernelStatistics:
    """Return what :func:`kernel_statistics` does, from samples, in time linear in the rows.

    Radii are taken about class means known through landmarks, neighbours counted among references
    drawn from every class. Every statistic comes with an interval; all intervals together hold
    but for the chance ``sampling.failure``, half of it spent on radii, half on counts.
    """
    require_squares(X)
    X = center(X)
    width = min(max(kernel_width, NARROWEST), WIDEST)
    with workers.limit_blas():
        radii = _radii_by_class(X, classes, n_classes, width, multiplicity, rng, sampling, workers)
        r_max = Radii(*(largest_radii(values, classes, n_classes) for values in radii))
        alpha = (neighbourhood_radius(r) for r in (r_max.low, r_max.radius, r_max.high))
        low, middle, high = (reach_squared(a, width) for a in alpha)
        counting = _Counting(
            X, classes, n_classes, multiplicity, (low, middle, high), rng, sampling, workers
        )
        minority = minority_class(class_sizes(classes, n_classes, multiplicity))
        probability, share = counting.probabilities(minority)
    bounds = Bounds(Interval(radii.low, radii.high), share, Interval(r_max.low, r_max.high))
    return KernelStatistics(radii.radius, probability, r_max.radius, minority, bounds)


def _radii_by_class(
    X: Array,
    classes: Labels,
    n_classes: int,
    width: float,
    multiplicity: Array,
    rng: np.random.Generator,
    sampling: Sampling,
    workers: Workers,
) -> Radii:
    """Return the radii of all rows: exact in small classes, in intervals elsewhere."""
    found = Radii(*np.zeros((3, len(X))))
    for label in range(n_classes):
        mine = np.flatnonzero(classes == label)
        rows, weight = X[mine], multiplicity[mine]
        if len(mine) <= sampling.exact_rows:
            alone = np.zeros(len(mine), np.intp)
            sums = same_class_dissimilarity(rows, alone, weight, 1.0 / (width * width), workers)
            radius = kernel_radii(sums, alone, weight)
            of_class = Radii(radius, radius, radius)
        else:
            failure = 0.5 * sampling.failure / n_classes
            of_class = approximate_radii(
                rows, weight, width, rng, failure, sampling.effort, workers
            )
        for values, part in zip(found, of_class, strict=True):
            values[mine] = part
    return found


def proportion_interval(hits: Array, trials: Array, failure: float) -> Interval:
    """Return Clopper and Pearson's bounds of a proportion, each missed with chance ``failure``.

    They are the quantiles of Beta(h, m - h + 1) and Beta(h + 1, m - h).
    """
    some, not_all = hits > 0, hits < trials
    low, high = np.zeros_like(hits), np.ones_like(hits)
    h, m = hits[some], trials[some]
    low[some] = betaincinv(h, m - h + 1.0, failure)
    h, m = hits[not_all], trials[not_all]
    high[not_all] = betainccinv(h + 1.0, m - h, failure)
    return Interval(low, high)


class _Counting(NamedTuple):
    """Shares of the rows' classes in their neighbourhoods, from references of every class."""

    X: Array
    classes: Labels
    n_classes: int
    multiplicity: Array
    reaches: tuple[float, float, float]  # R² and an interval that holds it: low, middle, high
    rng: np.random.Generator
    sampling: Sampling
    workers: Workers

    def probabilities(self, minority: int) -> tuple[Array, Interval]:
        """Return the class probability of every row and its interval.

        Rows whose interval stays wide are compared with more references, then, the widest of
        them, with all rows. The minority's, which no membership depends on, are left as they are.
        """
        n_references = self.sampling.n_references
        found = np.array(self._shares(np.arange(len(self.X)), n_references))
        for size, limit in (
            (self.sampling.escalation * n_references, self.sampling.escalated_share * len(self.X)),
            (len(self.X), self.sampling.n_in_full),
        ):
            width = np.where(self.classes == minority, 0.0, found[2] - found[1])
            rows = np.flatnonzero(width > self.sampling.wanted)
            rows = np.sort(rows[np.argsort(-width[rows], kind="stable")[: int(limit)]])
            if len(rows):
                found[:, rows] = self._shares(rows, size)
        return found[0], Interval(found[1], found[2])

    def _shares(self, rows: Labels, n_references: int) -> Array:
        """Return p of some rows, its lower and its upper bound."""
        own, other = np.zeros((3, len(rows))), np.zeros((3, len(rows)))  # middle, low, high
        for label in range(self.n_classes):
            mine = self.classes[rows] == label
            counted = self._class_weights(rows, label, n_references)
            own[:, mine] = counted[:, mine]
            other[:, ~mine] += counted[:, ~mine]
        middle = class_probability(own[0], own[0] + other[0])
        low = class_probability(own[1], own[1] + other[2])
        high = class_probability(own[2], own[2] + other[1])
        return np.array([np.clip(middle, low, high), low, high])

    def _class_weights(self, rows: Labels, label: int, n_references: int) -> Array:
        """Return the weight of a class's rows within reach of some rows: middle, low, high.

        With N the class's weight, and h of m references in reach, it is N h/m. Of the class's own
        rows, row i stands for w_i of it for certain, and its copies are not among the references
        that are asked about the others: w_i + (N - w_i) h/m.
        """
        members = np.flatnonzero(self.classes == label)
        weight = self.multiplicity[members]
        own_weight = np.where(self.classes[rows] == label, self.multiplicity[rows], 0.0)
        everyone = n_references >= len(members)
        drawn = members if everyone else members[draw_rows(weight, n_references, self.rng)]
        low, middle, high = reference_weights(
            self.X[rows],
            self.X[drawn],
            weight if everyone and (weight != 1.0).any() else None,
            self.reaches,
            self.workers,
        )
        if everyone:
            return np.array([np.maximum(c, own_weight) for c in (middle, low, high)])
        times_drawn = np.bincount(drawn, minlength=len(self.X))[rows]
        trials = n_references - times_drawn.astype(np.float64)
        hits = (np.maximum(c - times_drawn, 0.0) for c in (low, middle, high))
        low, middle, high = (np.minimum(h, trials) for h in hits)
        others = float(weight.sum()) - own_weight
        # Two sides, two samples, for every row and class
        failure = 0.5 * self.sampling.failure / (4.0 * len(self.X) * self.n_classes)
        bounds = (
            middle / np.maximum(trials, 1.0),
            _of_distinct(low, trials, failure).low,
            _of_distinct(high, trials, failure).high,
        )
        return np.asarray(own_weight + others * np.array(bounds))


def _of_distinct(hits: Array, trials: Array, failure: float) -> Interval:
    """Return :func:`proportion_interval`, computed once for equal arguments."""
    pairs, place = np.unique(trials * (trials.max() + 2.0) + hits, return_inverse=True)
    first = np.empty(len(pairs), np.intp)
    first[place] = np.arange(len(hits))
    interval = proportion_interval(hits[first], trials[first], failure)
    return Interval(interval.low[place], interval.high[place])
