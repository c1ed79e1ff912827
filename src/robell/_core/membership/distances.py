"""Distances and kernel values of one tile of pairs of rows, fast and with all their digits.

Every tile is one matrix product. Pairs whose result rounding might have spoiled are found by a
bound of that rounding, and computed again from their differences.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from threading import local
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from robell._core.array import SMALL_PRODUCT, namespace

Array = NDArray[np.float64]
Labels = NDArray[np.intp]
Mask = NDArray[np.bool_]
Size = tuple[int, int]  # rows and columns

EPS64 = float(np.finfo(np.float64).eps)
VISIBLE = 1e-11  # relative errors of K from which on close pairs are computed more carefully
VANISHED = 60.0  # 2^-60 is lost beside 1
NEAR_ONE = 1.0 / 64.0  # exponents from which on K is so near 1 that 1 - K would lose digits
LOG2_E, LN_2 = float(np.log2(np.e)), float(np.log(2.0))
COMPARED = 160  # rows whose products are compared while they stay in a core's cache
MANY = 20  # of so many pairs one: from then on the differences of all are taken


def center(X: Array) -> Array:
    """Return X less its column means: distances stay, and rounding shrinks with the norms."""
    # A mean over billions of huge values can overflow; halving first cannot.
    return np.asarray(X - 2.0 * (0.5 * X).mean(axis=0))


def too_large() -> ValueError:
    """Return the error for rows whose squared distances overflow."""
    return ValueError(
        "X is too large for squared distances to be computed: scale it first, "
        "for instance with StandardScaler"
    )


def require_squares(X: Any) -> None:
    """Raise when squared distances between the rows of X, an array or a tensor, would overflow."""
    xp = namespace(X)
    with np.errstate(over="ignore", invalid="ignore"):
        if not xp.isfinite(xp.einsum("ij,ij->", X, X)):
            raise too_large()


def squared_norms(X: Array) -> Array:
    """Return |x_i|² of every row."""
    return np.asarray(np.einsum("ij,ij->i", X, X))


def squared_distances(X: Array, Y: Array) -> Array:
    """Return |x_i - y_j|², exactly zero for equal rows.

    |x|² + |y|² - 2xy is fast but leaves rounding of the size of the norms, so pairs that close
    are computed again from their differences.
    """
    x_norms, y_norms = squared_norms(X), squared_norms(Y)
    D2 = X @ Y.T
    D2 *= -2.0
    D2 += x_norms[:, None]
    D2 += y_norms[None, :]
    rounding = 4 * (X.shape[1] + 4) * EPS64 * (x_norms.max() + y_norms.max())
    close = rounding >= D2
    if close.any():
        i, j, exact = distances_of_pairs(X, Y, close)
        D2[i, j] = exact
    return D2


def distances_of_pairs(X: Array, Y: Array, chosen: Mask) -> tuple[Labels, Labels, Array]:
    """Return the places (i, j) of the chosen pairs and |x_i - y_j|² from their differences."""
    i, j = np.divmod(np.flatnonzero(chosen), chosen.shape[1])  # np.nonzero is far slower
    return i, j, distances_at(X, Y, i, j)


def distances_at(X: Array, Y: Array, i: Labels, j: Labels) -> Array:
    """Return |x_i - y_j|² of the pairs (i, j), from their differences."""
    if MANY * len(i) > len(X) * len(Y):
        return np.asarray(cdist(X, Y, "sqeuclidean")[i, j])
    D2 = np.empty(len(i))
    step = max(1, (1 << 17) // X.shape[1])
    for start in range(0, len(i), step):
        part = slice(start, start + step)
        difference = X[i[part]] - Y[j[part]]
        D2[part] = squared_norms(difference)
    return D2


# -- products of tiles ----------------------------------------------------------------


class Space(local):
    """Memory that a thread uses again for every tile; given back with the object."""

    def take(self, name: str, shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
        """Return an array of a shape, its values left over from its last use."""
        size = prod(shape)
        held: NDArray[Any] | None = self.__dict__.get(name)
        if held is None or held.size < size or held.dtype != dtype:
            held = self.__dict__[name] = np.empty(size, dtype)
        return held[:size].reshape(shape)


def products(
    left: NDArray[Any], right: NDArray[Any], step: int, space: Space
) -> Iterator[tuple[slice, NDArray[Any]]]:
    """Yield left @ right some rows at a time, each part in the memory of the last.

    A part is a stack of products of few rows, in one call of NumPy: a third faster than one
    product, and few short operations between which threads would wait for Python's lock.
    """
    (n_rows, length), n_columns = left.shape, right.shape[1]
    whole = n_rows - n_rows % step
    for first, last, size in ((0, whole, step), (whole, n_rows, n_rows - whole)):
        if first == last:
            continue
        rows = _rows_of_small_product(size, length * n_columns)
        found = space.take("product", (size // rows, rows, n_columns), left.dtype)
        stacks = left[first:last].reshape(-1, size // rows, rows, length)
        part = found.reshape(size, n_columns)
        for start, stack in zip(range(first, last, size), stacks, strict=True):
            np.matmul(stack, right, out=found)
            yield slice(start, start + size), part


@lru_cache(maxsize=256)
def _rows_of_small_product(n_rows: int, multiplications: int) -> int:
    """Return how many rows to multiply at a time, each with so many multiplications."""
    most = SMALL_PRODUCT // multiplications
    return next((rows for rows in range(min(most, n_rows), 15, -1) if n_rows % rows == 0), n_rows)


# -- kernel values --------------------------------------------------------------------


@dataclass(frozen=True)
class KernelRows:
    """Rows made ready for K = 2^(-g|x - y|²) of their pairs, g = log2(e)/ξ².

    With left_i = [√2g x_i, -g|x_i|², 1] and right_j = [√2g x_j, 1, -g|x_j|²], the exponent is the
    product of left_i and right_j. Powers of two take less time than those of e.
    """

    X: Array
    left: Array
    right: Array  # a column for each row
    norms: Array  # g|x|²
    g: float

    @classmethod
    def of(cls, X: Array, inv_width2: float) -> KernelRows:
        """Make rows ready; ``inv_width2`` as :func:`representable` allows."""
        g = LOG2_E * inv_width2
        left, right = np.empty((len(X), X.shape[1] + 2)), np.empty((X.shape[1] + 2, len(X)))
        np.multiply(X, np.sqrt(2.0 * g), out=left[:, :-2])
        norms = 0.5 * squared_norms(left[:, :-2])
        left[:, -2], left[:, -1] = -norms, 1.0
        right[:-2], right[-2], right[-1] = left[:, :-2].T, 1.0, -norms
        return cls(X, left, right, norms, g)


def representable(inv_width2: float, X: Array) -> float:
    """Return 1/ξ², or the largest value for which exponents of X's pairs are numbers."""
    largest = float(squared_norms(X).max(initial=0.0))
    # Beyond this, K is 0 to the last digit for all but equal rows.
    return min(inv_width2, 1e290 / largest) if largest > 1e-10 else inv_width2


def exponent_rounding(rows: KernelRows, columns: KernelRows, r: slice, c: slice) -> float:
    """Return a bound of the rounding of a tile's exponents."""
    largest_norms = float(rows.norms[r].max() + columns.norms[c].max())
    return float(4 * (rows.X.shape[1] + 4) * EPS64 * largest_norms)


@np.errstate(invalid="ignore")  # a BLAS may set this flag in lanes that it does not use
def kernel_tile(
    rows: KernelRows, columns: KernelRows, r: slice, c: slice, diagonal: bool = False
) -> tuple[Array, float]:
    """Return K - 1 and 0, or K and 1, whichever is fast and keeps all digits of 1 - K.

    ``diagonal`` says that both sides are the same rows.
    """
    ((_, exponents),) = products(rows.left[r], columns.right[:, c], len(rows.left), Space())
    rounding = exponent_rounding(rows, columns, r, c)
    # Pairs within the rounding are computed again from their differences; where the rounding
    # would be seen in K, so are all pairs whose K is seen.
    near = -rounding if rounding < VISIBLE else -rounding - VANISHED
    if diagonal:
        np.fill_diagonal(exponents, -np.inf)
    largest = exponents.max()
    if largest >= near:
        i, j, D2 = distances_of_pairs(rows.X[r], columns.X[c], exponents >= near)
        exponents[i, j] = -rows.g * D2
        largest = exponents.max()
    if diagonal:
        np.fill_diagonal(exponents, 0.0)
    # exp2 takes half the time of expm1. Sums of 1 - K lose nothing by it where few K are near 1: a
    # row near to all columns is then far from most other rows, and these fill its sum.
    if not diagonal and (
        largest < -NEAR_ONE or 16 * np.count_nonzero(exponents >= -NEAR_ONE) < exponents.size
    ):
        return np.exp2(exponents, out=exponents), 1.0
    exponents *= LN_2
    return np.expm1(exponents, out=exponents), 0.0


@np.errstate(invalid="ignore")  # a BLAS may set this flag in lanes that it does not use
def plain_sums(
    rows: KernelRows, columns: KernelRows, weights: tuple[Array, Array], step: Size, space: Space
) -> tuple[Array, Array] | None:
    """Return Σ_j w_j (1 - K_ij) of every row and Σ_i w_i (1 - K_ij) of every column.

    ``weights`` are those of rows and columns, ``step`` the size of a tile. What is returned are
    differences of sums of weights and of w K. None where these lose digits: some row or column
    has nearly all K near 1, or the rounding of exponents would be seen.
    """
    (n_rows, n_columns), (row_weight, column_weight) = (len(rows.X), len(columns.X)), weights
    everything = slice(None)
    if exponent_rounding(rows, columns, everything, everything) >= VISIBLE:
        return None
    row_parts = np.empty((-(-n_columns // step[1]), n_rows))
    column_parts = np.empty((-(-n_rows // step[0]), n_columns))
    for k, row_sums in enumerate(row_parts):
        c = slice(k * step[1], min((k + 1) * step[1], n_columns))
        weight, right = column_weight[c], columns.right[:, c]
        for r, K in products(rows.left, right, step[0], space):
            np.exp2(K, out=K)
            np.matmul(K, weight, out=row_sums[r])
            np.matmul(row_weight[r], K, out=column_parts[r.start // step[0], c])
            if k == r.start == 0 and not _few_near_one(weight.sum() - row_sums[r].max(), weight):
                return None  # a wide kernel: all other tiles would be computed for nothing
    found = column_weight.sum() - row_parts.sum(axis=0), row_weight.sum() - column_parts.sum(axis=0)
    kept = _few_near_one(found[0].min(), column_weight) and _few_near_one(
        found[1].min(), row_weight
    )
    return found if kept else None


def _few_near_one(smallest: float, weight: Array) -> bool:
    """Say whether a weighted sum of 1 - K has lost no more digits than 1 - K at NEAR_ONE."""
    return bool(smallest >= NEAR_ONE * weight.sum())


# -- rows within reach ------------------------------------------------------------------


@dataclass(frozen=True)
class ReachRows:
    """Rows made ready for the comparison of |x - y|² with R².

    With a_i = R²/4 - |x_i|²/2, left_i = [x_i, a_i, 1] and right_j = [x_j, 1, a_j], the product of
    left_i and right_j is (R² - |x_i - x_j|²)/2.
    """

    X: Array
    left: NDArray[np.floating[Any]]
    right: NDArray[np.floating[Any]]  # a column for each row
    norms: Array  # |x|², in the unit of the products
    reach: float  # R², likewise

    @classmethod
    def of(cls, X: Array, max_distance2: float, single: bool) -> ReachRows:
        """Make rows ready; ``single`` for products in single precision, in the unit R² = 1."""
        scaled, reach = X, max_distance2
        if single:
            scaled, reach = X / np.sqrt(max_distance2), 1.0
        norms = squared_norms(scaled)
        dtype = np.float32 if single else np.float64
        left = np.empty((len(X), X.shape[1] + 2), dtype)
        right = np.empty((X.shape[1] + 2, len(X)), dtype)
        left[:, :-2], left[:, -2], left[:, -1] = scaled, 0.25 * reach - 0.5 * norms, 1.0
        right[:-2], right[-2], right[-1] = left[:, :-2].T, 1.0, left[:, -2]
        return cls(X, left, right, norms, reach)


def product_rounding(n_features: int, eps: float, norms: float, reach: float) -> float:
    """Return a bound of the rounding of (R² - |x - y|²)/2 as a product of length B + 2.

    The products of the entries sum to |x|² + |y|² + R²/2 at most in absolute value; each of B + 2
    additions, and each conversion, loses eps/2 of that at most.
    """
    return (n_features + 8) * eps * (norms + reach)


def single_precision_serves(n_features: int, largest_norm2: float, max_distance2: float) -> bool:
    """Say whether few pairs lie so near R² that single precision cannot tell their side."""
    if not (max_distance2 > 1e-30 and largest_norm2 / max_distance2 < 1e6):
        return False
    eps = float(np.finfo(np.float32).eps)
    ratio = 2.0 * largest_norm2 / max_distance2
    return product_rounding(n_features, eps, ratio, 1.0) <= 2e-3


def reach_tile(
    rows: ReachRows, columns: ReachRows, r: slice, c: slice, max_distance2: float, space: Space
) -> Mask:
    """Return which pairs have |x - y|² <= R², those too near to tell computed in full."""
    within, doubtful = certain_tile(rows, columns, r, c, space)
    decide(within, doubtful, rows, columns, r, c, max_distance2)
    return within


def decide(
    within: Mask,
    doubtful: Labels,
    rows: ReachRows,
    columns: ReachRows,
    r: slice,
    c: slice,
    max_distance2: float,
) -> None:
    """Compute the doubtful pairs of a tile in full."""
    i, j = np.divmod(doubtful, within.shape[1])
    within[i, j] = max_distance2 >= distances_at(rows.X[r], columns.X[c], i, j)


@np.errstate(invalid="ignore")  # a BLAS may set this flag in lanes that it does not use
def certain_tile(
    rows: ReachRows, columns: ReachRows, r: slice, c: slice, space: Space
) -> tuple[Mask, Labels]:
    """Return which pairs are within reach whatever the rounding, and the places of doubtful ones.

    Places are counted row by row; the pairs stand in memory that the next tile uses again.
    """
    left, right = rows.left[r], columns.right[:, c]
    norms = float(rows.norms[r].max() + columns.norms[c].max())
    eps = float(np.finfo(left.dtype).eps)
    rounding = product_rounding(rows.X.shape[1], eps, norms, rows.reach)
    bounds = np.array([rounding, -rounding], left.dtype)[:, None, None]
    masks = space.take("masks", (2, len(left), right.shape[1]), np.bool_)
    for part, found in products(left, right, COMPARED, space):
        np.greater_equal(found, bounds, out=masks[:, part])
    return masks[0], _places_that_differ(*masks.reshape(2, -1))


def _places_that_differ(a: Mask, b: Mask) -> Labels:
    """Return where two masks differ; few places are found by comparing eight at a time, twice."""
    if a.size % 64:
        return np.flatnonzero(a != b)
    words = np.flatnonzero((a.view(np.uint64) != b.view(np.uint64)).view(np.uint64) != 0)
    chosen = a.reshape(-1, 64)[words] != b.reshape(-1, 64)[words]
    places = np.flatnonzero(chosen)
    return 64 * words[places // 64] + places % 64


def weigh_rows(within: Mask, weight: Array | None) -> NDArray[Any]:
    """Return the weight within reach of every row of a tile; None stands for ones."""
    if weight is not None:
        return np.asarray(within @ weight)
    n_columns = within.shape[1]
    if n_columns % 8 == 0 and n_columns <= 8 * 255 and within.flags.c_contiguous:
        # Eight booleans added at a time, as bytes of one number, none of which exceeds 255
        eighths = np.add.reduce(within.view(np.uint64), axis=1)
        return np.asarray(eighths.view(np.uint8).reshape(-1, 8).sum(axis=1, dtype=np.intp))
    bits = np.packbits(within, axis=1)  # several times faster than a sum of booleans
    return np.asarray(np.bitwise_count(bits).sum(axis=1, dtype=np.intp))


def weigh_columns(within: Mask, weight: Array | None) -> NDArray[Any]:
    """Return the weight within reach of every column of a tile; None stands for ones."""
    if weight is not None:
        return np.asarray(weight @ within)
    n_rows, n_columns = within.shape
    rows = min(n_rows, 240)  # at most 255, which is as far as bytes count
    if n_rows % rows:
        return np.asarray(np.add.reduce(within.view(np.uint8), axis=0, dtype=np.intp))
    parts = within.view(np.uint8).reshape(n_rows // rows, rows, n_columns)
    return np.asarray(np.add.reduce(parts, axis=1, dtype=np.uint8).sum(axis=0, dtype=np.intp))
