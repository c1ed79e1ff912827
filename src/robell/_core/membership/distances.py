"""Distances and kernel values of one tile of pairs of rows, fast and with all their digits.

Every tile is one matrix product. Pairs whose result rounding might have spoiled are found by a
bound of that rounding, and computed again from their differences.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from robell._core.array import namespace

Array = NDArray[np.float64]
Labels = NDArray[np.intp]
Mask = NDArray[np.bool_]

EPS64 = float(np.finfo(np.float64).eps)
VISIBLE = 1e-11  # relative errors of K from which on close pairs are computed more carefully
VANISHED = 60.0  # 2^-60 is lost beside 1
NEAR_ONE = 1.0 / 64.0  # exponents from which on K is so near 1 that 1 - K would lose digits
LOG2_E, LN_2 = float(np.log2(np.e)), float(np.log(2.0))


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
    if 20 * len(i) > chosen.size:
        return i, j, cdist(X, Y, "sqeuclidean")[i, j]
    D2 = np.empty(len(i))
    step = max(1, (1 << 17) // X.shape[1])
    for start in range(0, len(i), step):
        part = slice(start, start + step)
        difference = X[i[part]] - Y[j[part]]
        D2[part] = squared_norms(difference)
    return i, j, D2


# -- kernel values --------------------------------------------------------------------


@dataclass(frozen=True)
class KernelRows:
    """Rows made ready for K = 2^(-g|x - y|²) of their pairs, g = log2(e)/ξ².

    With left_i = [√2g x_i, -g|x_i|², 1] and right_j = [√2g x_j, 1, -g|x_j|²], the exponent is the
    product of left_i and right_j. Powers of two take less time than those of e.
    """

    X: Array
    left: Array
    right: Array
    norms: Array  # g|x|²
    g: float

    @classmethod
    def of(cls, X: Array, inv_width2: float) -> KernelRows:
        """Make rows ready; ``inv_width2`` as :func:`representable` allows."""
        g = LOG2_E * inv_width2
        scaled = np.sqrt(2.0 * g) * X
        norms = 0.5 * squared_norms(scaled)
        left, right = np.empty((2, len(X), X.shape[1] + 2))
        left[:, :-2] = right[:, :-2] = scaled
        left[:, -2] = right[:, -1] = -norms
        left[:, -1] = right[:, -2] = 1.0
        return cls(X, left, right, norms, g)


def representable(inv_width2: float, X: Array) -> float:
    """Return 1/ξ², or the largest value for which exponents of X's pairs are numbers."""
    largest = float(squared_norms(X).max(initial=0.0))
    # Beyond this, K is 0 to the last digit for all but equal rows.
    return min(inv_width2, 1e290 / largest) if largest > 1e-10 else inv_width2


def kernel_tile(
    rows: KernelRows, columns: KernelRows, r: slice, c: slice, diagonal: bool = False
) -> tuple[Array, float]:
    """Return K - 1 and 0, or K and 1, whichever is fast and keeps all digits of 1 - K.

    ``diagonal`` says that both sides are the same rows.
    """
    exponents = rows.left[r] @ columns.right[c].T
    largest_norms = float(rows.norms[r].max() + columns.norms[c].max())
    rounding = 4 * (rows.X.shape[1] + 4) * EPS64 * largest_norms
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


# -- rows within reach ------------------------------------------------------------------


@dataclass(frozen=True)
class ReachRows:
    """Rows made ready for the comparison of |x - y|² with R².

    With a_i = R²/4 - |x_i|²/2, left_i = [x_i, a_i, 1] and right_j = [x_j, 1, a_j], the product of
    left_i and right_j is (R² - |x_i - x_j|²)/2.
    """

    X: Array
    left: NDArray[np.floating[Any]]
    right: NDArray[np.floating[Any]]
    norms: Array  # |x|², in the unit of the products
    reach: float  # R², likewise

    @classmethod
    def of(cls, X: Array, max_distance2: float, single: bool) -> ReachRows:
        """Make rows ready; ``single`` for products in single precision, in the unit R² = 1."""
        scaled, reach = X, max_distance2
        if single:
            scaled, reach = X / np.sqrt(max_distance2), 1.0
        norms = squared_norms(scaled)
        shape = (2, len(X), X.shape[1] + 2)
        left, right = np.empty(shape, np.float32 if single else np.float64)
        left[:, :-2] = right[:, :-2] = scaled
        left[:, -2] = right[:, -1] = 0.25 * reach - 0.5 * norms
        left[:, -1] = right[:, -2] = 1.0
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
    rows: ReachRows, columns: ReachRows, r: slice, c: slice, max_distance2: float
) -> Mask:
    """Return which pairs have |x - y|² <= R², those too near to tell computed in full."""
    # Finite rows have finite products; a BLAS may set the flag "invalid" in lanes it does not use.
    with np.errstate(invalid="ignore"):
        products = rows.left[r] @ columns.right[c].T
    norms = float(rows.norms[r].max() + columns.norms[c].max())
    eps = float(np.finfo(products.dtype).eps)
    rounding = product_rounding(rows.X.shape[1], eps, norms, rows.reach)
    within, not_beyond = products >= rounding, products >= -rounding
    doubtful = within != not_beyond
    if doubtful.any():
        i, j, D2 = distances_of_pairs(rows.X[r], columns.X[c], doubtful)
        within[i, j] = max_distance2 >= D2
    return np.asarray(within)


def weigh_rows(within: Mask, weight: Array | None) -> NDArray[Any]:
    """Return the weight within reach of every row of a tile; None stands for ones."""
    if weight is not None:
        return np.asarray(within @ weight)
    n_rows, n_columns = within.shape
    if n_columns % 8 == 0 and n_columns <= 8 * 255 and within.flags.c_contiguous:
        # Eight booleans added at a time, as bytes of one number, none of which exceeds 255
        eighths = np.add.reduce(within.view(np.uint64), axis=1)
        return np.asarray(eighths.view(np.uint8).reshape(n_rows, 8).sum(axis=1, dtype=np.intp))
    bits = np.packbits(within, axis=1)  # several times faster than a sum of booleans
    return np.asarray(np.bitwise_count(bits).sum(axis=1, dtype=np.intp))


def weigh_columns(within: Mask, weight: Array | None) -> NDArray[Any]:
    """Return the weight within reach of every column of a tile; None stands for ones."""
    if weight is not None:
        return np.asarray(weight @ within)
    small = np.uint8 if len(within) < 256 else np.intp
    return np.asarray(np.add.reduce(within.view(np.uint8), axis=0, dtype=small))
