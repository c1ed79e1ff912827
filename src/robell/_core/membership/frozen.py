"""PW-GB memberships of rows that come one part at a time, from what few numbers remember.

The memberships of :mod:`robell._core.membership.equations` compare all pairs of rows. Here every
row is compared with rows of a reservoir only, in four steps, each a sum or a maximum over rows and
so independent of their order and partition:

1. moments and reservoirs of the classes; from them the kernel width, each class's landmarks z
   (the first rows of its reservoir) and the references (all of it);
2. d_l = Σ_j w_j (1 - K(z_l, x_j)) / n_c over the class's rows, for its landmarks; from them
   the class mean μ_c ≈ Σ_l v_l φ(z_l), the nearest point to μ_c among those with Σ_l v_l = 1;
3. the largest radius of each class, where now

       r² = |φ(x) - Σ_l v_l φ(z_l)|² = 2 Σ_l v_l (1 - K(x, z_l)) - Σ_lm v_l v_m (1 - K(z_l, z_m));

4. the weights: bell of r, times the share of the class among the references in reach, each
   standing for n_c / n_references rows of its class; the row itself is counted exactly.

Forms in 1 - K keep their digits for wide kernels, as elsewhere. Where a class has no more distinct
rows than landmarks, radii are exact; where it has no more than its reservoir, so are the shares.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from robell._core.membership.equations import (
    NARROWEST,
    WIDEST,
    Membership,
    class_probability,
    class_sizes,
    combine_membership,
    generalized_bell,
    largest_radii,
    minority_class,
    neighbourhood_radius,
    reach_squared,
)
from robell._core.membership.nystrom import (
    dissimilarity,
    landmark_basis,
    landmark_sums,
    mean_coordinates,
)
from robell._core.membership.pairs import (
    ReachRows,
    blocks_of,
    reach_tile,
    single_precision_serves,
    squared_norms,
)
from robell._core.membership.reservoir import (
    Keys,
    Reservoir,
    add_rows,
    empty_reservoir,
    find_rows,
    merge_reservoirs,
    row_keys,
    settle,
)

Array = NDArray[np.float64]
Labels = NDArray[np.intp]

TILE_ELEMENTS = 1 << 18  # kernel values held at a time: 2 MiB
TILE_ROWS, TILE_COLUMNS = 256, 1024  # of comparisons with references


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
    X: Array, labels: Labels, weight: Array, n_classes: int, seed: int, capacity: int
) -> Moments:
    """Return the moments of some rows, their weights positive."""
    sizes = class_sizes(labels, n_classes, weight)
    mean, scatter = np.zeros((n_classes, X.shape[1])), np.zeros((n_classes, X.shape[1]))
    with np.errstate(over="ignore", invalid="ignore"):
        for c in np.unique(labels):
            mine = labels == c
            share = weight[mine] / sizes[c]
            mean[c] = share @ X[mine]
            scatter[c] = sizes[c] * (share @ np.square(X[mine] - mean[c]))
    lowest, highest = (float(X.min()), float(X.max())) if len(X) else (np.inf, -np.inf)
    reservoir = empty_reservoir(n_classes, X.shape[1], seed, capacity)
    if len(X):
        reservoir = settle(add_rows(reservoir, X, labels, weight))
    return Moments(sizes, mean, scatter, lowest, highest, reservoir)


def _pool(sizes: Array, mean: Array, scatter: Array) -> tuple[Array, Array]:
    """Return mean and scatter of groups put together, from theirs; groups along the first axis.

    The mean is Σ n_g μ_g / n and the scatter Σ (S_g + n_g (μ_g - μ)²).
    """
    total = sizes.sum(axis=0)
    share = np.divide(sizes, total, out=np.zeros_like(sizes), where=total > 0)[..., None]
    pooled = (share * mean).sum(axis=0)
    spread = np.square(mean - pooled) * sizes[..., None]
    return pooled, (scatter + spread).sum(axis=0)


def merge_moments(a: Moments, b: Moments) -> Moments:
    """Return the moments of the rows of both."""
    with np.errstate(over="ignore", invalid="ignore"):
        mean, scatter = _pool(
            np.stack([a.sizes, b.sizes]),
            np.stack([a.mean, b.mean]),
            np.stack([a.scatter, b.scatter]),
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
    mean, scatter = _pool(moments.sizes, moments.mean, moments.scatter)
    total = moments.sizes.sum()
    # All entries together: the columns are groups of equal size.
    _, all_entries = _pool(np.full(len(mean), total), mean[:, None], scatter[:, None])
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
        raise ValueError(
            "X is too large for squared distances to be computed: scale it first, "
            "for instance with StandardScaler"
        )
    # Of the rows as they stand, whose bits no partition changes
    center = reservoir.rows.mean(axis=0)
    rows = []
    for c in range(len(moments.sizes)):
        start, stop = np.searchsorted(reservoir.labels, [c, c + 1])
        rows.append(reservoir.rows[start : min(stop, start + n_landmarks)] - center)
    return Landmarks(min(max(width, NARROWEST), WIDEST), center, tuple(rows))


def dissimilarity_sums(
    landmarks: Landmarks, X: Array, labels: Labels, weight: Array
) -> tuple[Array, ...]:
    """Return Σ_j w_j (1 - K(z_l, x_j)) over the rows of each class, for its landmarks."""
    sums = tuple(np.zeros(len(rows)) for rows in landmarks.rows)
    for c in np.unique(labels):
        mine = np.flatnonzero(labels == c)
        if not len(sums[c]):
            continue
        for tile in _tiles(mine, len(landmarks.rows[c])):
            centred = X[tile] - landmarks.center
            sums[c][:] += landmark_sums(centred, weight[tile], landmarks.rows[c], landmarks.width)
    return sums


def largest_class_radii(means: ClassMeans, X: Array, labels: Labels) -> Array:
    """Return the largest radius of the rows of each class, 0 without rows."""
    return largest_radii(radii(means, X, labels), labels, len(means.offset))


def _tiles(places: Labels, n_columns: int) -> list[Labels]:
    step = max(1, TILE_ELEMENTS // max(1, n_columns))
    return [places[start : start + step] for start in range(0, len(places), step)]


@dataclass(frozen=True)
class ClassMeans:
    """The class means in the kernel's space, as points of the landmarks' affine hulls."""

    landmarks: Landmarks
    coefficients: tuple[Array, ...]  # v of every class
    offset: Array  # Σ_lm v_l v_m (1 - K(z_l, z_m)) of every class


def class_means(landmarks: Landmarks, sums: tuple[Array, ...], sizes: Array) -> ClassMeans:
    """Return the class means from their landmarks' sums.

    In an orthonormal basis E of the landmarks' hull about their own mean, μ_c has the coordinates
    û; so v = 1/L + JEû, with J the centring.
    """
    coefficients, offset = [], np.zeros(len(sizes))
    for c, (rows, sum_c) in enumerate(zip(landmarks.rows, sums, strict=True)):
        v = np.zeros(len(rows))
        if len(rows):
            basis = landmark_basis(rows, landmarks.width)
            v = basis.basis @ mean_coordinates(basis, sum_c, float(sizes[c]))
            v += 1.0 / len(rows) - v.mean()
            offset[c] = float(v @ dissimilarity(rows, rows, landmarks.width) @ v)
        coefficients.append(v)
    return ClassMeans(landmarks, tuple(coefficients), offset)


def radii(means: ClassMeans, X: Array, labels: Labels) -> Array:
    """Return the distance of every row to the mean of its class."""
    landmarks, radius = means.landmarks, np.zeros(len(X))
    for c in np.unique(labels):
        mine = np.flatnonzero(labels == c)
        if not len(landmarks.rows[c]):
            continue
        for tile in _tiles(mine, len(means.coefficients[c])):
            D = dissimilarity(X[tile] - landmarks.center, landmarks.rows[c], landmarks.width)
            radicand = 2.0 * (D @ means.coefficients[c]) - means.offset[c]
            radius[tile] = np.sqrt(np.maximum(radicand, 0.0))
    return radius


@dataclass(frozen=True)
class FrozenMembership:
    """All that the membership of a row depends on besides the row.

    Attributes
    ----------
    means : ClassMeans
    r_max : array of shape (K,)
        The largest radius of every class.
    sizes : array of shape (K,)
        Sizes of the classes when this was frozen.
    minority : int
    rho : float
    references : Reservoir
    """

    means: ClassMeans
    r_max: Array
    sizes: Array
    minority: int
    rho: float
    references: Reservoir


def freeze(
    means: ClassMeans, r_max: Array, sizes: Array, rho: float, references: Reservoir
) -> FrozenMembership:
    """Put together what the steps have found; a class without rows counts as the smallest."""
    return FrozenMembership(means, r_max, sizes, minority_class(sizes), rho, settle(references))


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
    """Return the share of its class among the rows in reach of every row.

    With u copies of the row itself and n_c rows of its class,

        own = u + (n_c - u) · share in reach of its class's other references,

    and every other class contributes n_k · share in reach of its references. A row that is no
    reference itself is taken for as many copies as a reference of its class has on average.
    """
    references = frozen.references
    width, center = frozen.means.landmarks.width, frozen.means.landmarks.center
    reach = reach_squared(neighbourhood_radius(frozen.r_max), width)
    n_classes = len(frozen.sizes)
    known = class_sizes(references.labels, n_classes, references.weight)
    mean_copies = known / np.maximum(np.bincount(references.labels, minlength=n_classes), 1)

    place = find_rows(references, X, labels, keys)
    found = place >= 0
    copies = np.where(found, references.weight[place], mean_copies[labels])
    within = _weights_within(X - center, references, references.rows - center, reach, n_classes)

    rows = np.arange(len(X))
    counted_self = np.where(found, copies, 0.0)
    others_known = known[labels] - counted_self
    others_within = within[rows, labels] - counted_self
    own_share = _share(others_within, others_known)
    own = copies + np.maximum(frozen.sizes[labels] - copies, 0.0) * own_share
    estimated = frozen.sizes * _share(within, np.broadcast_to(known, within.shape))
    estimated[rows, labels] = 0.0
    return class_probability(own, own + estimated.sum(axis=1))


def _weights_within(
    X: Array, references: Reservoir, centred: Array, reach: float, n_classes: int
) -> Array:
    """Return the weight of the references of each class within reach of every row."""
    within = np.zeros((len(X), n_classes))
    if not np.isfinite(reach):
        return within + class_sizes(references.labels, n_classes, references.weight)
    norms = squared_norms(centred).max(initial=0.0), squared_norms(X).max(initial=0.0)
    single = single_precision_serves(X.shape[1], float(max(norms)), reach)
    rows, columns = (ReachRows.of(points, reach, single) for points in (X, centred))
    counted = bool(np.all(references.weight == 1.0))
    ends = np.searchsorted(references.labels, np.arange(n_classes + 1))
    row_tiles = blocks_of(0, len(X), TILE_ROWS)
    for c in range(n_classes):
        for tile in blocks_of(int(ends[c]), int(ends[c + 1]), TILE_COLUMNS):
            for r in row_tiles:
                mask = reach_tile(rows, columns, r, tile, reach)
                if counted:  # in bits, which is several times faster
                    within[r, c] += np.bitwise_count(np.packbits(mask, axis=1)).sum(axis=1)
                else:
                    within[r, c] += mask.astype(np.float64) @ references.weight[tile]
    return within


def _share(part: Array, whole: Array) -> Array:
    share = np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)
    return np.clip(share, 0.0, 1.0)


def same_frozen(a: object, b: object) -> bool:
    """Say whether two frozen values hold the same numbers."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        return bool(np.array_equal(a, np.asarray(b)))
    if isinstance(a, tuple):
        assert isinstance(b, tuple)
        return len(a) == len(b) and all(map(same_frozen, a, b))
    if hasattr(a, "__dataclass_fields__"):
        names = [field.name for field in fields(a)]  # type: ignore[arg-type]
        return all(same_frozen(getattr(a, name), getattr(b, name)) for name in names)
    return bool(a == b)
