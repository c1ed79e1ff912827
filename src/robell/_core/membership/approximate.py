"""PW-GB statistics from landmarks and samples, in time linear in the rows, with bounds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from threading import Event
from typing import Any, NamedTuple, TypeVar

import numpy as np
from scipy.special import betainccinv, betaincinv

from robell._core.array import Array, Labels
from robell._core.membership.equations import (
    Bounds,
    Interval,
    KernelStatistics,
    class_probability,
    class_sizes,
    kernel_radii,
    largest_radii,
    neighbourhood_radius,
    reach_squared,
    usable_width,
)
from robell._core.membership.pairs import (
    BLOCK,
    ONE_WORKER,
    TILE,
    ReadyRows,
    Workers,
    blocks_of,
    center,
    kernel_scale,
    kernel_tile,
    reference_weights,
    require_squares,
    same_class_dissimilarity,
    share_out,
)

Found = TypeVar("Found")

# Directions of the hull with less of its largest eigenvalue are left out: they would carry more
# rounding than information. Coordinates are then good to about this much.
RANK_CUT = 1e-8


@dataclass(frozen=True)
class LandmarkBasis:
    """An orthonormal basis of the landmarks' affine hull, its origin the landmarks' mean."""

    landmarks: Array  # (L, B)
    width: float
    D: Array  # (L, L), of all pairs of landmarks
    means: Array  # (L,), D̄(z_l)
    basis: Array  # (L, rank); coordinates are inner products with the landmarks times this

    @cached_property
    def grand_mean(self) -> float:
        """Return D̄̄."""
        return float(self.means.mean())

    @property
    def rounding(self) -> float:
        """Return a bound of the rounding of squared distances."""
        return 64.0 * RANK_CUT * max(self.grand_mean, float(np.finfo(np.float64).tiny))

    def inner_products(self, D: Array) -> Array:
        """Return <φ(x), φ(z_l)> of rows x, from their D(x, z_l) of shape (n, L)."""
        row_means = D.mean(axis=-1, keepdims=True) - self.grand_mean
        return np.asarray(row_means + self.means - D)


class HullPoint(NamedTuple):
    """A point Σ_l v_l φ(z_l) of the landmarks' affine hull."""

    v: Array  # with the sum 1
    offset: float  # Σ_lm v_l v_m D(z_l, z_m)


def map_tiles(
    X: Array,
    points: Array,
    width: float,
    compute: Callable[[slice, Array], Found],
    workers: Workers = ONE_WORKER,
) -> Iterator[tuple[slice, Found]]:
    """Yield what ``compute`` makes of D(x, z) of a tile of rows and all points, tile after tile."""
    largest = max(float(np.abs(Z).max(initial=0.0)) for Z in (X, points))
    scale = kernel_scale(1.0 / (width * width), np.full((1, X.shape[1]), largest))
    columns = ReadyRows.of(points, scale)

    def compute_unit(rows: slice, all_points: slice, stop: Event) -> list[tuple[slice, Found]]:
        part, found = ReadyRows.of(X[rows], scale), []
        for tile in blocks_of(0, len(part.X), TILE):
            if stop.is_set():
                break
            K, one = kernel_tile(part, columns, tile, all_points)
            place = slice(rows.start + tile.start, rows.start + tile.stop)
            found.append((place, compute(place, np.subtract(one, K, out=K))))
        return found

    units = list(product(blocks_of(0, len(X), BLOCK * TILE), [slice(0, len(points))]))
    for _, _, found in share_out(units if len(points) else [], compute_unit, workers):
        yield from found


def dissimilarity(X: Array, Y: Array, width: float) -> Array:
    """Return D = 1 - K of all pairs, for few rows: all are held at once."""
    scale = kernel_scale(1.0 / (width * width), np.vstack([X, Y]))
    a, b = ReadyRows.of(X, scale), ReadyRows.of(Y, scale)
    tile, one = kernel_tile(a, b, slice(0, len(X)), slice(0, len(Y)))
    return one - tile


def landmark_basis(landmarks: Array, width: float) -> LandmarkBasis:
    """Return the basis of some landmarks' hull: eigenvectors of their centred Gram matrix."""
    D = dissimilarity(landmarks, landmarks, width)
    D = 0.5 * (D + D.T)
    means = D.mean(axis=1)
    values, vectors = np.linalg.eigh(means[:, None] + means - means.mean() - D)
    kept = values > max(RANK_CUT * float(values[-1]), 0.0)
    return LandmarkBasis(landmarks, width, D, means, vectors[:, kept] / np.sqrt(values[kept]))


def landmark_sums(
    X: Array, weight: Array, landmarks: Array, width: float, workers: Workers = ONE_WORKER
) -> Array:
    """Return Σ_i weight_i D(z_l, x_i) of every landmark z_l, or of any other points."""
    sums = np.zeros(len(landmarks))
    for _, found in map_tiles(X, landmarks, width, lambda rows, D: weight[rows] @ D, workers):
        sums += found
    return sums


def nearest_point(basis: LandmarkBasis, sums: Array, total_weight: float) -> HullPoint:
    """Return μ̂ of rows with these landmark sums and total weight."""
    # Its coordinates û in the basis E are the mean's inner products with E, so v = 1/L + JEû, J the
    # centring.
    E = basis.basis
    v = E @ (E.T @ basis.inner_products(sums / total_weight))
    v += 1.0 / len(v) - v.mean()
    return HullPoint(v, float(v @ basis.D @ v))


def squared_distance_to(point: HullPoint, D: Array) -> Array:
    """Return |φ(x) - μ̂|² of rows x, from their D(x, z_l) of shape (n, L)."""
    return np.asarray(2.0 * (D @ point.v) - point.offset)


# -- PW-GB statistics from samples of the rows, in time linear in them, with bounds
# Radii are taken about μ̂, the nearest point to the class mean μ in the hull of some landmarks.
# With u(x) the coordinates of x in that hull, ρ(x) = |φ(x)|² - |u(x)|² what the hull misses of x,
# and Δ = |μ - μ̂|² what it misses of the mean, the radius is
#
#     r(x)² = |φ(x) - μ̂|² + Δ - 2δ(x),    δ(x) = <φ(x), μ - μ̂>,    |δ(x)| <= sqrt(ρ(x) Δ).
#
# Δ is the mean of δ over the class: probes, rows drawn from the class whose δ is computed exactly,
# give an interval for it, and so bounds of all radii. Neighbours are counted among references drawn
# from every class.


class Sampling(NamedTuple):
    """How many rows approximate memberships compare every row with."""

    exact_rows: int = 4096  # classes of no more rows are compared in full
    n_landmarks: int = 512  # rows that stand for a class
    n_probes: int = 2048
    n_rims: int = 1024  # rows whose radius is computed to find the class's largest
    n_references: int = 2048  # of a class
    escalation: int = 8  # times as many references, for rows with uncertain shares
    escalated_share: float = 0.35  # of all rows, at most
    n_in_full: int = 2048  # rows compared with all rows, where even that leaves them uncertain
    wanted: float = 0.05  # width of an interval of p that needs no further references
    failure: float = 0.01  # chance that any interval at all misses its value


USUAL_SAMPLING = Sampling()


def approximable(classes: Labels, n_classes: int, sampling: Sampling = USUAL_SAMPLING) -> bool:
    """Say whether some class has so many rows that sampling them saves work."""
    counts = np.bincount(classes, minlength=n_classes)
    return bool(counts.max() > max(sampling.exact_rows, sampling.n_references))


def pairs_to_sample(classes: Labels, n_classes: int, sampling: Sampling = USUAL_SAMPLING) -> int:
    """Return how many pairs :func:`approximate_statistics` compares at most: for progress."""
    counts = np.bincount(classes, minlength=n_classes)
    n_rows, total = len(classes), 0.0
    points = 2 * sampling.n_landmarks + sampling.n_probes + sampling.n_rims
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
    drawn from every class. Every statistic comes with an interval; the chance that any of them
    misses its value is ``sampling.failure``, half of it spent on radii, half on counts.
    """
    require_squares(X)
    X = center(X)
    width = usable_width(kernel_width)
    with workers.limit_blas():
        radii = Estimate(*np.zeros((3, len(X))))  # exact in small classes, in intervals elsewhere
        for label in range(n_classes):
            mine = np.flatnonzero(classes == label)
            rows, weight = X[mine], multiplicity[mine]
            if len(mine) <= sampling.exact_rows:
                alone = np.zeros(len(mine), np.intp)
                sums = same_class_dissimilarity(rows, alone, weight, 1.0 / (width * width), workers)
                of_class = Estimate(*3 * [kernel_radii(sums, alone, weight)])
            else:
                failure = 0.5 * sampling.failure / n_classes
                how = failure, sampling, workers
                of_class = approximate_radii(rows, weight, width, rng, *how)
            for values, part in zip(radii, of_class, strict=True):
                values[mine] = part
        r_max = Estimate(*(largest_radii(values, classes, n_classes) for values in radii))
        alpha = (neighbourhood_radius(r) for r in (r_max.low, r_max.estimate, r_max.high))
        low, middle, high = (reach_squared(a, width) for a in alpha)
        counting = _Counting(
            X, classes, n_classes, multiplicity, (low, middle, high), rng, sampling, workers
        )
        minority = int(class_sizes(classes, n_classes, multiplicity).argmin())
        probability, share = counting.probabilities(minority)
    bounds = Bounds(Interval(radii.low, radii.high), share, Interval(r_max.low, r_max.high))
    return KernelStatistics(radii.estimate, probability, r_max.estimate, minority, bounds)


# -- radii -----------------------------------------------------------------------------


class Estimate(NamedTuple):
    """Radii of rows, or Δ = |μ - μ̂|², and intervals that hold them."""

    estimate: Any
    low: Any
    high: Any


def draw_rows(weight: Array, size: int, rng: np.random.Generator) -> Labels:
    """Draw rows with replacement, each in proportion to its weight."""
    cumulated = np.cumsum(weight)
    drawn = np.searchsorted(cumulated, rng.random(size) * cumulated[-1], side="right")
    return np.asarray(np.minimum(drawn, len(weight) - 1), np.intp)


def choose_landmarks(X: Array, weight: Array, size: int, rng: np.random.Generator) -> Array:
    """Return distinct rows of X, at most ``size``, drawn in proportion to their weight."""
    return np.unique(X if len(X) <= size else X[draw_rows(weight, size, rng)], axis=0)


def stand(
    X: Array, basis: LandmarkBasis, mean: HullPoint, workers: Workers = ONE_WORKER
) -> tuple[Array, Array]:
    """Return |φ(x) - μ̂|² and ρ(x), what the hull misses of it, of every row x."""
    squared, residual = np.empty(len(X)), np.empty(len(X))

    def compute(rows: slice, D: Array) -> tuple[Array, Array]:
        norms = 2.0 * D.mean(axis=1) - basis.grand_mean  # |φ(x)|², as D(x, x) = 0
        coordinates = basis.inner_products(D) @ basis.basis
        missed = norms - np.einsum("ij,ij->i", coordinates, coordinates)
        return squared_distance_to(mean, D), np.maximum(missed, 0.0)

    for rows, found in map_tiles(X, basis.landmarks, basis.width, compute, workers):
        squared[rows], residual[rows] = found
    return squared, residual


def missed_products(
    basis: LandmarkBasis, mean: HullPoint, points: Array, point_means: Array, landmark_means: Array
) -> Array:
    """Return δ(x) = <φ(x), μ - μ̂> of points, from mean D(x, x_i) of them and the landmarks."""
    # The weights of μ - μ̂ sum to zero, so the product is Σ_l v_l D(x, z_l) less the mean D(x, x_i);
    # taken from the origin of the basis, less the mean of the same over the landmarks.
    at_origin = float(np.mean(basis.D @ mean.v - landmark_means))
    found = np.empty(len(points))
    for part in blocks_of(0, len(points), TILE):
        D = dissimilarity(points[part], basis.landmarks, basis.width)
        found[part] = D @ mean.v - point_means[part] - at_origin
    return found


def mean_residual(delta: Array, largest_residual: float, failure: float) -> Estimate:
    """Return Δ = |μ - μ̂|² with an interval that misses it with a chance of ``failure``."""
    # ``delta`` are the δ of probes: rows drawn from the class with replacement, in proportion to
    # weight and apart from the landmarks. Their mean is Δ, and they lie within ±sqrt(Δ ρ_max), so
    # the empirical Bernstein inequality holds (Maurer and Pontil 2009, theorem 4): with S probes of
    # variance s², and t = ln(4/failure) for both sides,
    #
    #     |Δ - mean δ| <= sqrt(2 s² t / S) + 14 sqrt(Δ ρ_max) t / (3(S - 1))
    n_probes = len(delta)
    t = float(np.log(4.0 / failure))
    spread = float(np.sqrt(2.0 * delta.var(ddof=1) * t / n_probes))
    slope = 14.0 * float(np.sqrt(largest_residual)) * t / (3.0 * (n_probes - 1))
    mean = float(delta.mean())
    # Δ <= mean + spread + slope sqrt(Δ): up to the larger root of a quadratic in sqrt(Δ)
    root = 0.5 * (slope + np.sqrt(slope * slope + 4.0 * max(mean + spread, 0.0)))
    high = float(root * root)
    low = max(mean - spread - slope * float(root), 0.0)
    return Estimate(min(max(mean, low), high), low, high)


def radius_intervals(
    squared: Array, residual: Array, missed: Estimate, rounding: float, delta: Array | None = None
) -> Estimate:
    """Return radii and their intervals, from what :func:`stand` returns."""
    # r² = squared + Δ - 2δ, with |δ| <= sqrt(ρΔ), or with δ known.
    slack, middle = 2.0 * np.sqrt(residual * missed.high), squared
    if delta is not None:
        slack, middle = np.zeros_like(squared), squared - 2.0 * delta
    low = middle + missed.low - slack - rounding
    high = middle + missed.high + slack + rounding
    radius, low, high = (
        np.sqrt(np.maximum(r2, 0.0)) for r2 in (middle + missed.estimate, low, high)
    )
    # No two points are further apart than sqrt(2) in this space.
    return Estimate(radius, low, np.minimum(high, np.sqrt(2.0)))


def approximate_radii(
    X: Array,
    weight: Array,
    width: float,
    rng: np.random.Generator,
    failure: float,
    sampling: Sampling = USUAL_SAMPLING,
    workers: Workers = ONE_WORKER,
) -> Estimate:
    """Return the radii of one class in intervals; the chance that any fails is ``failure``."""
    total = float(weight.sum())
    basis = landmark_basis(choose_landmarks(X, weight, sampling.n_landmarks, rng), width)
    sums = landmark_sums(X, weight, basis.landmarks, width, workers)
    mean = nearest_point(basis, sums, total)
    squared, residual = stand(X, basis, mean, workers)

    def missed_at(points: Array) -> Array:
        point_sums = landmark_sums(X, weight, points, width, workers)
        return missed_products(basis, mean, points, point_sums / total, sums / total)

    probes = X[draw_rows(weight, sampling.n_probes, rng)]
    missed = mean_residual(missed_at(probes), float(residual.max()), failure)
    found = radius_intervals(squared, residual, missed, basis.rounding)
    rims = np.argsort(-found.high, kind="stable")[: sampling.n_rims]
    exact = radius_intervals(
        squared[rims], residual[rims], missed, basis.rounding, missed_at(X[rims])
    )
    for values, better in zip(found, exact, strict=True):
        values[rims] = better
    return found


# -- class probabilities ---------------------------------------------------------------


def proportion_interval(hits: Array, trials: Array, failure: float) -> Interval:
    """Return Clopper and Pearson's bounds of a proportion, each missed with chance ``failure``."""
    # They are the quantiles of Beta(h, m - h + 1) and Beta(h + 1, m - h), computed once for equal h
    # and m.
    pairs = trials * (trials.max() + 2.0) + hits
    _, first, place = np.unique(pairs, return_index=True, return_inverse=True)
    hits, trials = hits[first], trials[first]
    some, not_all = hits > 0, hits < trials
    low, high = np.zeros_like(hits), np.ones_like(hits)
    h, m = hits[some], trials[some]
    low[some] = betaincinv(h, m - h + 1.0, failure)
    h, m = hits[not_all], trials[not_all]
    high[not_all] = betainccinv(h + 1.0, m - h, failure)
    return Interval(low[place], high[place])


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
        """Return the class probability of every row, and its interval."""
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
        """Return the weight of a class's rows within reach of some rows: middle, low, high."""
        # With N the class's weight, and h of m references in reach, it is N h/m. Of the class's own
        # rows, row i stands for w_i of it for certain, and its copies are not among the references
        # that are asked about the others: w_i + (N - w_i) h/m.
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
            proportion_interval(low, trials, failure).low,
            proportion_interval(high, trials, failure).high,
        )
        return np.asarray(own_weight + others * np.array(bounds))
