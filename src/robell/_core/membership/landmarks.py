"""Class means in the kernel's space, known through a few rows of the class: its landmarks.

With φ the map into the space of K(x, y) = exp(-|x - y|²/ξ²), the mean μ of a class is replaced by
the nearest point to it in the affine hull of its landmarks z_1 .. z_L,

    μ̂ = Σ_l v_l φ(z_l),    Σ_l v_l = 1,

and the squared distance of any x to that point is, with D = 1 - K,

    |φ(x) - μ̂|² = 2 Σ_l v_l D(x, z_l) - Σ_lm v_l v_m D(z_l, z_m).

Everything is written in D, which keeps its digits for wide kernels. With the landmarks' own mean
as the origin, inner products are

    <φ(x), φ(y)> = D̄(x) + D̄(y) - D̄̄ - D(x, y),     D̄(x) = Σ_l D(x, z_l)/L,   D̄̄ = Σ_l D̄(z_l)/L,

so μ̂ depends on the rows of the class only through Σ_i w_i D(z_l, x_i), sums that can be added up
over parts of the rows. :mod:`~robell._core.membership.approximate` bounds what μ̂ misses of μ;
:mod:`~robell._core.membership.frozen` takes μ̂ as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from threading import Event
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from robell._core.membership.distances import KernelRows, kernel_tile, representable
from robell._core.membership.pairs import (
    BLOCK,
    ONE_WORKER,
    TILE,
    Workers,
    blocks_of,
    share_out,
)

Array = NDArray[np.float64]
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
    basis: Array  # (L, rank); coordinates are inner products with the landmarks times this

    @cached_property
    def means(self) -> Array:
        """Return D̄(z_l) of every landmark."""
        return np.asarray(self.D.mean(axis=1))

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
    collect: Callable[[slice, Found], None],
    workers: Workers = ONE_WORKER,
) -> None:
    """Compute something of D(x, z) of some rows and all points, a tile of rows at a time.

    ``collect`` is given what ``compute`` returned for each tile, in the order of the rows. Rows
    and points are best given less a common centre near the data.
    """
    largest = max(float(np.abs(Z).max(initial=0.0)) for Z in (X, points))
    g = representable(1.0 / (width * width), np.full((1, X.shape[1]), largest))
    columns = KernelRows.of(points, g)

    def compute_unit(rows: slice, all_points: slice, stop: Event) -> list[tuple[slice, Found]]:
        part, found = KernelRows.of(X[rows], g), []
        for tile in blocks_of(0, len(part.X), TILE):
            if stop.is_set():
                break
            K, one = kernel_tile(part, columns, tile, all_points)
            place = slice(rows.start + tile.start, rows.start + tile.stop)
            found.append((place, compute(place, np.subtract(one, K, out=K))))
        return found

    def collect_unit(rows: slice, all_points: slice, found: list[tuple[slice, Found]]) -> None:
        for place, value in found:
            collect(place, value)

    all_points = slice(0, len(points))
    units = [(rows, all_points) for rows in blocks_of(0, len(X), BLOCK * TILE)]
    if units and len(points):
        share_out(units, compute_unit, collect_unit, workers)


def dissimilarity(X: Array, Y: Array, width: float) -> Array:
    """Return D = 1 - K of all pairs, for few rows: all are held at once."""
    g = representable(1.0 / (width * width), np.vstack([X, Y]))
    a, b = KernelRows.of(X, g), KernelRows.of(Y, g)
    tile, one = kernel_tile(a, b, slice(0, len(X)), slice(0, len(Y)))
    return one - tile


def landmark_basis(landmarks: Array, width: float) -> LandmarkBasis:
    """Return the basis of some landmarks' hull: eigenvectors of their centred Gram matrix."""
    D = dissimilarity(landmarks, landmarks, width)
    D = 0.5 * (D + D.T)
    means = D.mean(axis=1)
    gram = means[:, None] + means - means.mean() - D
    values, vectors = np.linalg.eigh(gram)
    kept = values > max(RANK_CUT * float(values[-1]), 0.0)
    return LandmarkBasis(landmarks, width, D, vectors[:, kept] / np.sqrt(values[kept]))


def landmark_sums(
    X: Array, weight: Array, landmarks: Array, width: float, workers: Workers = ONE_WORKER
) -> Array:
    """Return Σ_i weight_i D(z_l, x_i) of every landmark z_l, or of any other points."""
    sums = np.zeros(len(landmarks))

    def add(rows: slice, found: Array) -> None:
        sums[:] += found

    map_tiles(X, landmarks, width, lambda rows, D: weight[rows] @ D, add, workers)
    return sums


def nearest_point(basis: LandmarkBasis, sums: Array, total_weight: float) -> HullPoint:
    """Return μ̂ of rows with these landmark sums and total weight.

    Its coordinates û in the basis E are the mean's inner products with E, so v = 1/L + JEû, with J
    the centring.
    """
    E = basis.basis
    v = E @ (E.T @ basis.inner_products(sums / total_weight))
    v += 1.0 / len(v) - v.mean()
    return HullPoint(v, float(v @ basis.D @ v))


def squared_distance_to(point: HullPoint, D: Array) -> Array:
    """Return |φ(x) - μ̂|² of rows x, from their D(x, z_l) of shape (n, L)."""
    return np.asarray(2.0 * (D @ point.v) - point.offset)


def squared_radii(X: Array, landmarks: Array, width: float, point: HullPoint) -> Array:
    """Return |φ(x) - μ̂|² of every row of X; 0 without landmarks."""
    squared = np.zeros(len(X))
    map_tiles(
        X,
        landmarks,
        width,
        lambda rows, D: squared_distance_to(point, D),
        squared.__setitem__,
    )
    return squared
