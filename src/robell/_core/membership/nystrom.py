"""Distances to class means in the kernel's space, from few landmarks, with bounds.

The mean μ of a class's rows in the space of K(x, y) = exp(-|x - y|²/ξ²) is projected on the affine
hull of the landmarks z_1 .. z_L there. With D = 1 - K, and φ taken from the landmarks' own mean,

    <φ(x), φ(y)> = D̄(x) + D̄(y) - D̄̄ - D(x, y),     D̄(x) = Σ_l D(x, z_l)/L,   D̄̄ = Σ_l D̄(z_l)/L

which keeps its digits for wide kernels. An orthonormal basis of the hull gives every row its
coordinates u(x) and what the hull misses of it, the residual ρ(x) = |φ(x)|² - |u(x)|². As the basis
is a fixed linear map of the D(x, z_l), the coordinates of a mean come from the sums
Σ_i w_i D(z_l, x_i), which can be added up over parts of the rows.

With û the mean's coordinates and Δ = |μ|² - |û|² what the hull misses of it, the radius is

    r(x)² = ρ(x) + |u(x) - û|² + Δ - 2δ(x),      |δ(x)| <= sqrt(ρ(x) Δ)        (Cauchy-Schwarz)

Δ is the mean of δ over the class: probes, rows drawn from the class whose δ is computed exactly,
give an interval for it, and so bounds of all radii.
"""

from __future__ import annotations

from dataclasses import dataclass
from threading import Event
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robell._core.membership.pairs import (
    BLOCK,
    ONE_WORKER,
    STRIP,
    TILE,
    KernelRows,
    Workers,
    blocks_of,
    kernel_tile,
    representable,
    share_out,
)

Array = NDArray[np.float64]
Labels = NDArray[np.intp]

# Directions of the hull with less of its largest eigenvalue are left out: they would carry more
# rounding than information. Coordinates are then good to about this much.
RANK_CUT = 1e-8


class Residual(NamedTuple):
    """What the landmarks' hull misses of a class mean: Δ, and an interval that holds it."""

    estimate: float
    low: float
    high: float


class Radii(NamedTuple):
    """Distances of rows to their class mean, and intervals that hold them."""

    radius: Array
    low: Array
    high: Array


NOTHING_MISSED = Residual(0.0, 0.0, 0.0)


@dataclass(frozen=True)
class LandmarkBasis:
    """An orthonormal basis of the landmarks' affine hull in the kernel's space."""

    landmarks: Array  # (L, B)
    width: float
    basis: Array  # (L, rank); coordinates are inner products with the landmarks times this
    own_mean: Array  # D̄ of the landmarks
    grand_mean: float  # D̄̄

    @property
    def rounding(self) -> float:
        """A bound of the rounding of squared distances."""
        return 64.0 * RANK_CUT * max(self.grand_mean, float(np.finfo(np.float64).tiny))


class Position(NamedTuple):
    """Where rows stand: their coordinates in the hull, and what it misses of them."""

    coordinates: Array  # (n, rank)
    residual: Array  # (n,)


def draw_rows(weight: Array, size: int, rng: np.random.Generator) -> Labels:
    """Draw rows with replacement, each in proportion to its weight."""
    cumulated = np.cumsum(weight)
    drawn = np.searchsorted(cumulated, rng.random(size) * cumulated[-1], side="right")
    return np.asarray(np.minimum(drawn, len(weight) - 1), np.intp)


def choose_landmarks(X: Array, weight: Array, size: int, rng: np.random.Generator) -> Array:
    """Return distinct rows of X, at most ``size``, drawn in proportion to their weight."""
    if len(X) <= size:
        return np.unique(X, axis=0)
    return np.unique(X[draw_rows(weight, size, rng)], axis=0)


def dissimilarity(X: Array, Y: Array, width: float) -> Array:
    """Return 1 - K of all pairs, for few rows: all are held at once."""
    g = representable(1.0 / (width * width), np.vstack([X, Y]))
    a, b = KernelRows.of(X, g), KernelRows.of(Y, g)
    tile, one = kernel_tile(a, b, slice(0, len(X)), slice(0, len(Y)))
    return one - tile


def landmark_basis(landmarks: Array, width: float) -> LandmarkBasis:
    """Return the basis of some landmarks' hull: eigenvectors of their centred Gram matrix."""
    D = dissimilarity(landmarks, landmarks, width)
    D = 0.5 * (D + D.T)
    own_mean = D.mean(axis=1)
    grand_mean = float(own_mean.mean())
    gram = own_mean[:, None] + own_mean[None, :] - grand_mean - D
    values, vectors = np.linalg.eigh(gram)
    kept = values > max(RANK_CUT * float(values[-1]), 0.0)
    basis = vectors[:, kept] / np.sqrt(values[kept])
    return LandmarkBasis(landmarks, width, basis, own_mean, grand_mean)


def landmark_sums(
    X: Array, weight: Array, landmarks: Array, width: float, workers: Workers = ONE_WORKER
) -> Array:
    """Return Σ_i weight_i (1 - K(z_l, x_i)) of every landmark z_l, or of any other points.

    Sums over parts of the rows add up to the sum over all of them. Rows and landmarks are best
    given less a common centre near the data.
    """
    largest = max(float(np.abs(X).max(initial=0.0)), float(np.abs(landmarks).max(initial=0.0)))
    g = representable(1.0 / (width * width), np.full((1, X.shape[1]), largest))
    points = KernelRows.of(landmarks, g)
    sums = np.zeros(len(landmarks))

    def compute(rows: slice, columns: slice, stop: Event) -> Array:
        part = KernelRows.of(X[rows], g)
        found = np.zeros(columns.stop - columns.start)
        for tile_rows in blocks_of(0, len(part.X), TILE):
            if stop.is_set():
                break
            tile, one = kernel_tile(part, points, tile_rows, columns)
            row_weight = weight[rows][tile_rows]
            found += one * row_weight.sum() - row_weight @ tile
        return found

    def collect(rows: slice, columns: slice, found: Array) -> None:
        sums[columns] += found

    columns = blocks_of(0, len(landmarks), STRIP * TILE)
    units = [(rows, c) for rows in blocks_of(0, len(X), 32 * TILE) for c in columns]
    if units:
        share_out(units, compute, collect, workers)
    return sums


def mean_coordinates(basis: LandmarkBasis, sums: Array, total_weight: float) -> Array:
    """Return û, the coordinates of the mean of rows with these landmark sums and total weight."""
    mean_D = sums / total_weight
    products = basis.own_mean + mean_D.mean() - basis.grand_mean - mean_D
    return np.asarray(basis.basis.T @ products)


def positions(basis: LandmarkBasis, D: Array) -> Position:
    """Return where rows stand, from their D(x, z_l), of shape (n, L)."""
    row_mean = D.mean(axis=1)
    products = (row_mean - basis.grand_mean)[:, None] + basis.own_mean - D
    coordinates = products @ basis.basis
    squared = 2.0 * row_mean - basis.grand_mean  # |φ(x)|², as D(x, x) = 0
    residual = squared - np.einsum("ij,ij->i", coordinates, coordinates)
    return Position(coordinates, np.maximum(residual, 0.0))


def stand(
    X: Array, basis: LandmarkBasis, mean: Array, workers: Workers = ONE_WORKER
) -> tuple[Array, Array]:
    """Return ρ + |u - û|² and ρ of every row: its squared radius but for Δ - 2δ."""
    g = representable(
        1.0 / (basis.width * basis.width),
        np.full((1, X.shape[1]), max(np.abs(X).max(initial=0.0), np.abs(basis.landmarks).max())),
    )
    points = KernelRows.of(basis.landmarks, g)
    squared, residual = np.empty(len(X)), np.empty(len(X))

    def compute(rows: slice, columns: slice, stop: Event) -> tuple[Array, Array]:
        part = KernelRows.of(X[rows], g)
        found = np.empty(len(part.X)), np.empty(len(part.X))
        for tile_rows in blocks_of(0, len(part.X), 2 * TILE):
            if stop.is_set():
                break
            tile, one = kernel_tile(part, points, tile_rows, columns)
            at = positions(basis, np.subtract(one, tile, out=tile))
            offset = at.coordinates - mean
            found[0][tile_rows] = at.residual + np.einsum("ij,ij->i", offset, offset)
            found[1][tile_rows] = at.residual
        return found

    def collect(rows: slice, columns: slice, found: tuple[Array, Array]) -> None:
        squared[rows], residual[rows] = found

    all_points = slice(0, len(basis.landmarks))
    units = [(rows, all_points) for rows in blocks_of(0, len(X), BLOCK * TILE)]
    if units:
        share_out(units, compute, collect, workers)
    return squared, residual


def missed_products(
    basis: LandmarkBasis,
    mean: Array,
    points: Array,
    point_sums: Array,
    sums: Array,
    total_weight: float,
) -> Array:
    """Return δ(x) = <φ(x) - u(x), μ - û> of points whose own sums Σ_i w_i D(x, x_i) are known.

    ``sums`` are the landmarks' sums over the same rows.
    """
    found = np.empty(len(points))
    mean_of_means = float(sums.mean()) / total_weight  # of D̄ over the rows
    for part in blocks_of(0, len(points), TILE):
        D = dissimilarity(points[part], basis.landmarks, basis.width)
        product = D.mean(axis=1) + mean_of_means - basis.grand_mean
        product -= point_sums[part] / total_weight
        found[part] = product - positions(basis, D).coordinates @ mean
    return found


def mean_residual(delta: Array, largest_residual: float, failure: float) -> Residual:
    """Return Δ = |μ - û|² with an interval that holds it but for a chance of ``failure``.

    ``delta`` are the δ of probes: rows drawn from the class with replacement, in proportion to
    weight and apart from the landmarks. Their mean is Δ, and they lie within ±sqrt(Δ ρ_max), so the
    empirical Bernstein inequality holds (Maurer and Pontil 2009, theorem 4): with S probes of
    variance s², and t = ln(4/failure) for both sides,

        |Δ - mean δ| <= sqrt(2 s² t / S) + 14 sqrt(Δ ρ_max) t / (3(S - 1))
    """
    n_probes = len(delta)
    t = float(np.log(4.0 / failure))
    spread = float(np.sqrt(2.0 * delta.var(ddof=1) * t / n_probes))
    slope = 14.0 * float(np.sqrt(largest_residual)) * t / (3.0 * (n_probes - 1))
    mean = float(delta.mean())
    # Δ <= mean + spread + slope sqrt(Δ): up to the larger root of a quadratic in sqrt(Δ)
    root = 0.5 * (slope + np.sqrt(slope * slope + 4.0 * max(mean + spread, 0.0)))
    high = float(root * root)
    low = max(mean - spread - slope * float(root), 0.0)
    return Residual(min(max(mean, low), high), low, high)


def radius_intervals(
    squared: Array, residual: Array, missed: Residual, rounding: float, delta: Array | None = None
) -> Radii:
    """Return radii and their intervals, from what :func:`stand` returns.

    r² = squared + Δ - 2δ, with |δ| <= sqrt(ρΔ), or with δ known.
    """
    if delta is None:
        slack = 2.0 * np.sqrt(residual * missed.high)
        middle = squared
    else:
        slack = np.zeros_like(squared)
        middle = squared - 2.0 * delta
    low = middle + missed.low - slack - rounding
    high = middle + missed.high + slack + rounding
    radius, low, high = (
        np.sqrt(np.maximum(r2, 0.0)) for r2 in (middle + missed.estimate, low, high)
    )
    # No two points are further apart than sqrt(2) in this space.
    return Radii(radius, low, np.minimum(high, np.sqrt(2.0)))


def radii_from_sums(
    X: Array,
    basis: LandmarkBasis,
    sums: Array,
    total_weight: float,
    missed: Residual = NOTHING_MISSED,
    workers: Workers = ONE_WORKER,
) -> Radii:
    """Return the radii of any rows about the mean whose landmark sums are given.

    Without ``missed`` the radii are distances to the mean's projection on the hull, and the
    intervals hold rounding only.

    Parameters
    ----------
    X : array of shape (n, B), less the same centre as the landmarks
    basis : LandmarkBasis
    sums : array of shape (L,)
        Of :func:`landmark_sums` over the rows whose mean it is.
    total_weight : float
        Of those rows.
    missed : Residual
        Of :func:`mean_residual`.
    workers : Workers
    """
    squared, residual = stand(X, basis, mean_coordinates(basis, sums, total_weight), workers)
    return radius_intervals(squared, residual, missed, basis.rounding)


class Effort(NamedTuple):
    """How many rows stand for a class."""

    n_landmarks: int = 512
    n_probes: int = 2048
    n_rims: int = 1024  # rows whose radius is computed to find the class's largest


USUAL_EFFORT = Effort()


def approximate_radii(
    X: Array,
    weight: Array,
    width: float,
    rng: np.random.Generator,
    failure: float,
    effort: Effort = USUAL_EFFORT,
    workers: Workers = ONE_WORKER,
) -> Radii:
    """Return the radii of the rows of one class, in intervals that hold them all together.

    They hold but for a chance of ``failure``. The rows with the largest radii, which decide the
    bell's width and the neighbourhoods of all rows, are compared with their whole class.
    """
    total = float(weight.sum())
    basis = landmark_basis(choose_landmarks(X, weight, effort.n_landmarks, rng), width)
    sums = landmark_sums(X, weight, basis.landmarks, width, workers)
    mean = mean_coordinates(basis, sums, total)
    squared, residual = stand(X, basis, mean, workers)

    def missed_at(points: Array) -> Array:
        point_sums = landmark_sums(X, weight, points, width, workers)
        return missed_products(basis, mean, points, point_sums, sums, total)

    probes = X[draw_rows(weight, effort.n_probes, rng)]
    missed = mean_residual(missed_at(probes), float(residual.max()), failure)
    found = radius_intervals(squared, residual, missed, basis.rounding)
    rims = np.argsort(-found.high, kind="stable")[: effort.n_rims]
    exact = radius_intervals(
        squared[rims], residual[rims], missed, basis.rounding, missed_at(X[rims])
    )
    for values, better in zip(found, exact, strict=True):
        values[rims] = better
    return found
