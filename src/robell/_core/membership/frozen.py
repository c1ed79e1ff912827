"""PW-GB memberships of rows that come one part at a time, from what few numbers remember.

The memberships of :mod:`robell._core.membership.equations` compare all pairs of rows. Here every
row is compared with rows of a reservoir only, in four steps, each a sum or a maximum over rows and
so independent of their order and partition:

1. moments and reservoirs of the classes; from them the kernel width, each class's landmarks (the
   first rows of its reservoir) and the references (all of it);
2. the sums of 1 - K over the class's rows at its landmarks; from them the class means, as in
   :mod:`robell._core.membership.approximate`;
3. the largest distance of each class's rows to its mean;
4. the weights: bell of that distance, times the share of the class among the references in reach,
   each standing for n_c / n_references rows of its class; the row itself is counted exactly.

Where a class has no more distinct rows than landmarks, radii are exact; where it has no more than
its reservoir, so are the shares.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robell._core.array import Array, Labels, mean_and_scatter
from robell._core.membership.approximate import (
    HullPoint,
    landmark_basis,
    landmark_sums,
    map_tiles,
    nearest_point,
    squared_distance_to,
)
from robell._core.membership.equations import (
    Membership,
    class_probability,
    class_sizes,
    combine_membership,
    generalized_bell,
    largest_radii,
    neighbourhood_radius,
    reach_squared,
    usable_width,
)
from robell._core.membership.pairs import too_large, weights_within
from robell._core.membership.samples import (
    Keys,
    Reservoir,
    add_rows,
    empty_reservoir,
    find_rows,
    merge_reservoirs,
    row_keys,
    settle,
)


@dataclass(frozen=True)
class Moments:
    """Size, mean and scatter of every class, the range of all entries, and the reservoirs."""

    sizes: Array  # (K,)
    mean: Array  # (K, B)
    scatter: Array  # (K, B), sums of squared differences from the mean
    lowest: float
    highest: float
    reservoir: Reservoir


def moments_of(
    X: Array, labels: Labels, weight: Array, keys: Keys, n_classes: int, seed: int, capacity: int
) -> Moments:
    """Return the moments of some rows, their weights positive, their keys of this seed."""
    sizes = class_sizes(labels, n_classes, weight)
    mean, scatter = np.zeros((2, n_classes, X.shape[1]))
    for c in np.unique(labels):
        mean[c], scatter[c] = mean_and_scatter(X[labels == c], weight[labels == c])
    lowest, highest = float(X.min(initial=np.inf)), float(X.max(initial=-np.inf))
    reservoir = empty_reservoir(n_classes, X.shape[1], seed, capacity)
    reservoir = settle(add_rows(reservoir, X, labels, weight, keys))
    return Moments(sizes, mean, scatter, lowest, highest, reservoir)


def merge_moments(a: Moments, b: Moments) -> Moments:
    """Return the moments of the rows of both."""
    mean, scatter = pool_moments(
        np.stack([a.sizes, b.sizes]), np.stack([a.mean, b.mean]), np.stack([a.scatter, b.scatter])
    )
    return Moments(
        a.sizes + b.sizes,
        mean,
        scatter,
        min(a.lowest, b.lowest),
        max(a.highest, b.highest),
        merge_reservoirs(a.reservoir, b.reservoir),
    )


def scale_width(moments: Moments) -> float:
    """Return sqrt(B Var X), the variance over all entries; 1 for constant data."""
    if moments.lowest == moments.highest:
        return 1.0
    mean, scatter = pool_moments(moments.sizes, moments.mean, moments.scatter)
    total = moments.sizes.sum()
    # All entries together: the columns are groups of equal size.
    _, all_entries = pool_moments(np.full(len(mean), total), mean[:, None], scatter[:, None])
    return float(np.sqrt(all_entries[0] / total))


@dataclass(frozen=True)
class Landmarks:
    """Some rows of each class, less the centre, and the kernel's width."""

    width: float
    center: Array
    rows: tuple[Array, ...]  # a class each


def first_rows(moments: Moments, width: float, n_landmarks: int) -> Landmarks:
    """Return the first ``n_landmarks`` rows of every class's reservoir."""
    reservoir = moments.reservoir
    if not np.isfinite(moments.scatter).all() or not np.isfinite(moments.mean).all():
        raise too_large()
    center = reservoir.rows.mean(axis=0)
    rows = tuple(
        reservoir.rows[start : min(stop, start + n_landmarks)] - center
        for start, stop in reservoir.class_ranges()
    )
    return Landmarks(usable_width(width), center, rows)


def dissimilarity_sums(
    landmarks: Landmarks, X: Array, labels: Labels, weight: Array
) -> tuple[Array, ...]:
    """Return Σ_j w_j (1 - K(z_l, x_j)) over the rows of each class, for its landmarks."""
    return tuple(
        landmark_sums(X[labels == c] - landmarks.center, weight[labels == c], rows, landmarks.width)
        for c, rows in enumerate(landmarks.rows)
    )


@dataclass(frozen=True)
class ClassMeans:
    """The class means in the kernel's space, as points of the landmarks' affine hulls."""

    landmarks: Landmarks
    coefficients: tuple[Array, ...]  # v of every class
    offset: Array  # Σ_lm v_l v_m (1 - K(z_l, z_m)) of every class


def class_means(landmarks: Landmarks, sums: tuple[Array, ...], sizes: Array) -> ClassMeans:
    """Return the class means from their landmarks' sums."""
    means = [
        nearest_point(landmark_basis(rows, landmarks.width), sum_c, float(size))
        if len(rows)
        else HullPoint(np.zeros(0), 0.0)
        for rows, sum_c, size in zip(landmarks.rows, sums, sizes, strict=True)
    ]
    return ClassMeans(
        landmarks, tuple(mean.v for mean in means), np.array([mean.offset for mean in means])
    )


def radii(means: ClassMeans, X: Array, labels: Labels) -> Array:
    """Return the distance of every row to the mean of its class; 0 in a class without landmarks."""
    landmarks, radius = means.landmarks, np.zeros(len(X))
    for c, rows in enumerate(landmarks.rows):
        mine = np.flatnonzero(labels == c)
        mean = HullPoint(means.coefficients[c], float(means.offset[c]))

        def compute(place: slice, D: Array, mean: HullPoint = mean) -> Array:
            return squared_distance_to(mean, D)

        points = X[mine] - landmarks.center
        for place, squared in map_tiles(points, rows, landmarks.width, compute):
            radius[mine[place]] = np.sqrt(np.maximum(squared, 0.0))
    return radius


def largest_class_radii(means: ClassMeans, X: Array, labels: Labels) -> Array:
    """Return the largest radius of the rows of each class, 0 without rows."""
    return largest_radii(radii(means, X, labels), labels, len(means.offset))


@dataclass(frozen=True)
class FrozenMembership:
    """All that the membership of a row depends on besides the row."""

    means: ClassMeans
    r_max: Array  # (K,), the largest radius of every class
    sizes: Array  # (K,), of the classes when this was frozen
    minority: int
    rho: float
    references: Reservoir


def freeze(
    means: ClassMeans, r_max: Array, sizes: Array, rho: float, references: Reservoir
) -> FrozenMembership:
    """Put together what the steps have found; a class without rows counts as the smallest."""
    return FrozenMembership(means, r_max, sizes, int(sizes.argmin()), rho, settle(references))


def freeze_rows(
    rows: Reservoir, kernel_width: float | None, rho: float, n_landmarks: int, capacity: int
) -> FrozenMembership:
    """Freeze what the memberships of later rows depend on; width None is the scale of these."""
    X, labels, weight = rows.rows, rows.labels, rows.weight
    moments = moments_of(X, labels, weight, rows.keys, len(rows.dropped), rows.seed, capacity)
    width = scale_width(moments) if kernel_width is None else kernel_width
    landmarks = first_rows(moments, width, n_landmarks)
    sums = dissimilarity_sums(landmarks, X, labels, weight)
    means = class_means(landmarks, sums, moments.sizes)
    r_max = largest_class_radii(means, X, labels)
    return freeze(means, r_max, moments.sizes, rho, moments.reservoir)


def frozen_membership(
    frozen: FrozenMembership, X: Array, labels: Labels, keys: Keys | None = None
) -> Membership:
    """Return membership, class probability (NaN in the minority class) and radius of every row."""
    radius = radii(frozen.means, X, labels)
    bell = generalized_bell(radius, frozen.r_max[labels], frozen.rho)
    probability = np.full(len(X), np.nan)
    needed = np.flatnonzero(labels != frozen.minority)
    if len(needed):
        if keys is None:
            keys = row_keys(X, frozen.references.seed)
        probability[needed] = class_shares(frozen, X[needed], labels[needed], keys[needed])
    membership = combine_membership(bell, probability, labels, frozen.minority)
    # Nothing is known of a class that had no rows at the freeze: its rows are not weighed down.
    membership[frozen.sizes[labels] == 0] = 1.0
    return Membership(membership, probability, radius)


def class_shares(frozen: FrozenMembership, X: Array, labels: Labels, keys: Keys) -> Array:
    """Return the share of its class among the rows in reach of every row."""
    # With u copies of the row itself and n_c rows of its class,
    #
    #     own = u + (n_c - u) · share in reach of its class's other references,
    #
    # and every other class contributes n_k · share in reach of its references. A row that is no
    # reference itself is taken for as many copies as a reference of its class has on average.
    references = frozen.references
    width, center = frozen.means.landmarks.width, frozen.means.landmarks.center
    reach = reach_squared(neighbourhood_radius(frozen.r_max), width)
    n_classes = len(frozen.sizes)
    known = class_sizes(references.labels, n_classes, references.weight)
    mean_copies = known / np.maximum(np.bincount(references.labels, minlength=n_classes), 1)

    place = find_rows(references, X, labels, keys)
    found = place >= 0
    copies = np.where(found, references.weight[place], mean_copies[labels])
    within = np.empty((len(X), n_classes))
    unit_weights = bool(np.all(references.weight == 1.0))
    for c, (start, stop) in enumerate(references.class_ranges()):
        weight = None if unit_weights else references.weight[start:stop]
        points = references.rows[start:stop] - center
        within[:, c] = weights_within(X - center, points, weight, reach)

    rows = np.arange(len(X))
    counted_self = np.where(found, copies, 0.0)
    own_share = _share(within[rows, labels] - counted_self, known[labels] - counted_self)
    own = copies + np.maximum(frozen.sizes[labels] - copies, 0.0) * own_share
    estimated = frozen.sizes * _share(within, np.broadcast_to(known, within.shape))
    estimated[rows, labels] = 0.0
    return class_probability(own, own + estimated.sum(axis=1))


def _share(part: Array, whole: Array) -> Array:
    share = np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)
    return np.clip(share, 0.0, 1.0)


def same_frozen(a: FrozenMembership | None, b: FrozenMembership | None) -> bool:
    """Say whether two models weigh rows alike: by the same rows, about the same means."""
    if a is None or b is None:
        return a is b
    return a.rho == b.rho and all(
        np.array_equal(of_a, of_b)
        for of_a, of_b in (
            (a.references.keys, b.references.keys),
            (a.references.weight, b.references.weight),
            (a.means.offset, b.means.offset),
            (a.r_max, b.r_max),
            (a.sizes, b.sizes),
        )
    )


# -- size, mean and scatter of groups of rows -------------------------------------------------


def pool_moments(sizes: Array, mean: Array, scatter: Array) -> tuple[Array, Array]:
    """Return mean and scatter of groups put together, from theirs; groups along the first axis."""
    # The mean is Σ n_g μ_g / n and the scatter Σ (S_g + n_g (μ_g - μ)²).
    total = sizes.sum(axis=0)
    share = np.divide(sizes, total, out=np.zeros_like(sizes), where=total > 0)[..., None]
    with np.errstate(over="ignore", invalid="ignore"):
        pooled = (share * mean).sum(axis=0)
        spread = np.square(mean - pooled) * sizes[..., None]
        return pooled, (scatter + spread).sum(axis=0)
