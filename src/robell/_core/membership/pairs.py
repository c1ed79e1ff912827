"""Sums and counts over all pairs of rows, one tile of pairs at a time.

Nothing here holds an A x A matrix: memory is a few tiles' a thread, whatever the number of rows.
Pairs are compared once and serve both of their rows.

Rows are cut into blocks; a pair of blocks is a unit of work. Threads take units as they come, but
what the units found is added up in their own order, so results do not depend on the threads to
the last bit. Inside a unit every tile is one matrix product, which stays in a core's cache until it
is summed. Pairs whose result rounding might have spoiled are found by a bound of that rounding, and
computed again from their differences.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations_with_replacement, product
from math import prod
from threading import Event, local
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from robell._core.array import EPS, SMALL_PRODUCT, AnyArray, Array, Labels, Mask, namespace
from robell._tools.threads import has_small_kernels, threads_of

Unit = tuple[slice, slice]  # rows and columns
Found = TypeVar("Found")

TILE = 240  # rows of a tile; at most 255, which is as far as its columns are counted
STRIP = 2  # columns of a tile of kernel values, in units of its rows: 0.9 MiB of numbers
NOTED = 1 << 16  # pairs that rounding might decide, computed in full together
BLOCK = 8  # rows of a block, in units of a tile's: a unit of work takes some five milliseconds
SMALL = 512  # rows of a table that is one tile


@dataclass(frozen=True)
class Workers:
    """How work on pairs is shared out.

    ``limit_blas`` returns a context in which BLAS uses one thread, and limits the calling thread
    from the moment it is called; ``advance`` is told how many pairs have been compared.
    """

    n_threads: int = 1
    limit_blas: Callable[[], AbstractContextManager[Any]] = nullcontext
    advance: Callable[[int], None] = lambda _: None


ONE_WORKER = Workers()


# -- sharing out ---------------------------------------------------------------------


def pairs_to_compare(class_counts: Labels) -> int:
    """Return how many pairs the two passes over rows of such classes compare: for progress."""
    n_rows = int(class_counts.sum())
    squares = int((class_counts * (class_counts + 1) // 2).sum())
    return squares + n_rows * (n_rows + 1) // 2


def blocks_of(start: int, stop: int, step: int) -> list[slice]:
    """Cut a range of rows into slices."""
    starts = range(start, stop, step)
    return list(map(slice, starts, [*starts[1:], stop]))


def units_of(start: int, stop: int) -> list[Unit]:
    """Return the pairs of blocks on and above the diagonal of a range of rows."""
    return list(combinations_with_replacement(blocks_of(start, stop, BLOCK * TILE), 2))


def share_out(
    units: list[Unit], compute: Callable[[slice, slice, Event], Found], workers: Workers
) -> Iterator[tuple[slice, slice, Found]]:
    """Yield units and what threads compute of them, in order; an exception stops all threads."""
    stop, several = Event(), len(units) > 1
    with (
        # One unit is too little work for BLAS's threads to be worth holding back.
        workers.limit_blas() if several else nullcontext(),
        threads_of(workers.n_threads if several else 1, workers.limit_blas) as threads,
    ):
        try:
            of_units = threads.map(lambda unit: compute(*unit, stop), units)
            for (rows, columns), found in zip(units, of_units, strict=True):
                yield rows, columns, found
                n_rows, n_columns = rows.stop - rows.start, columns.stop - columns.start
                n_pairs = n_rows * (n_rows + 1) // 2 if rows == columns else n_rows * n_columns
                workers.advance(n_pairs)
        finally:
            stop.set()


def strips_of(n_rows: int, n_columns: int, same: bool) -> list[Unit]:
    """Cut a unit into strips: rows, and all columns (of the ``same`` block those after them)."""
    step = n_rows if same and n_rows <= SMALL else TILE
    return [(r, slice(r.stop if same else 0, n_columns)) for r in blocks_of(0, n_rows, step)]


# -- passes over all pairs -------------------------------------------------------------


def same_class_dissimilarity(
    X: Array, classes: Labels, weight: Array, inv_width2: float, workers: Workers = ONE_WORKER
) -> Array:
    """Return S_i = Σ_j weight_j (1 - K_ij) over the rows j of row i's class.

    K_ij = exp(-inv_width2 |x_i - x_j|²). Summing 1 - K rather than K keeps its relative accuracy
    for kernels so wide that K is 1 to the last digits. X must be centred, ``classes`` sorted.
    """
    scale, space = kernel_scale(inv_width2, X), Space()

    @lru_cache(2 * workers.n_threads + 2)  # units that follow one another share their rows
    def prepared(start: int, stop: int) -> ReadyRows:
        return ReadyRows.of(X[start:stop], scale)

    def compute(rows: slice, columns: slice, stop: Event) -> tuple[Array, Array]:
        a, b = prepared(rows.start, rows.stop), prepared(columns.start, columns.stop)
        row_weight, column_weight = weights = weight[rows], weight[columns]
        if rows != columns:
            found = plain_sums(a, b, weights, space)
            if found is not None:
                return found
        row_sums, column_sums = np.zeros(len(a.X)), np.zeros(len(b.X))
        for r, after in strips_of(len(a.X), len(b.X), rows == columns):
            tiles = blocks_of(after.start, after.stop, STRIP * TILE)
            for c in [r, *tiles] if rows == columns else tiles:
                if stop.is_set():
                    break
                diagonal = rows == columns and c == r
                tile, one = kernel_tile(a, b, r, c, diagonal)
                row_sums[r] += one * column_weight[c].sum() - tile @ column_weight[c]
                if not diagonal:
                    column_sums[c] += one * row_weight[r].sum() - row_weight[r] @ tile
        return row_sums, column_sums

    starts = np.flatnonzero(np.diff(classes, prepend=classes[0] - 1))
    units = []
    for start, stop in zip(starts, [*starts[1:], len(X)], strict=True):
        units += units_of(int(start), int(stop))
    sums = np.zeros(len(X))
    for rows, columns, (row_sums, column_sums) in share_out(units, compute, workers):
        sums[rows] += row_sums
        sums[columns] += column_sums
    return sums


def neighbour_weights(
    X: Array, classes: Labels, weight: Array, max_distance2: float, workers: Workers = ONE_WORKER
) -> tuple[Array, Array]:
    """Return the weight of all rows, and of the rows of its class, within reach of every row.

    Row j is within reach of row i when |x_i - x_j|² <= max_distance2. X must be centred,
    ``classes`` sorted.
    """
    # Products are taken in single precision where that decides nearly all pairs, and the others are
    # compared in double: the counts are those of double precision.
    if np.isinf(max_distance2):
        sizes = np.bincount(classes, weights=weight)
        return np.full(len(X), weight.sum()), np.asarray(sizes[classes], np.float64)
    ones, norms, space = bool((weight == 1.0).all()), squared_norms(X), Space()
    counts = np.zeros((2, len(X)))  # all, own class

    @lru_cache(2 * workers.n_threads + 2)
    def prepared(start: int, stop: int, single: bool) -> ReadyRows:
        return reach_rows(X[start:stop], max_distance2, single)

    def count(rows: slice, columns: slice, stop: Event) -> tuple[Array, Array, list[Any]]:
        """Return the counts of a unit's rows and columns, of shape (2, n), and doubtful pairs."""
        # These are places i, places j, and whether j is told of i as well, or met again before i.
        largest = float(max(norms[rows].max(), norms[columns].max()))
        single = single_precision_serves(X.shape[1], largest, max_distance2)
        a = prepared(rows.start, rows.stop, single)
        b = prepared(columns.start, columns.stop, single)
        of_rows, of_columns = np.zeros((2, len(a.X))), np.zeros((2, len(b.X)))
        doubts = []
        for r, after in strips_of(len(a.X), len(b.X), rows == columns):
            if stop.is_set():
                break
            c = slice(r.start, after.stop) if rows == columns else after
            within, doubtful = certain_tile(a, b, r, c, space)
            if MANY * len(doubtful) > within.size:
                decide(within, doubtful, a.X[r], b.X[c], max_distance2)
            elif len(doubtful):
                i, j = np.divmod(doubtful, within.shape[1])
                j += c.start
                doubts.append((i + (rows.start + r.start), j + columns.start, j >= after.start))
            in_rows = slice(rows.start + r.start, rows.start + r.stop)
            in_columns = slice(columns.start + c.start, columns.start + c.stop)
            row_weight, column_weight = (
                (None, None) if ones else (weight[in_rows], weight[in_columns])
            )
            # Which of the two counts, all and own class, take which pairs. Labels are sorted, and
            # no row of the strip stands after its columns.
            row_class, column_class = classes[in_rows], classes[in_columns]
            masks = [(slice(0, 1), within)]
            if row_class[0] == column_class[-1]:  # one class only: both counts are the same
                masks = [(slice(0, 2), within)]
            elif row_class[-1] >= column_class[0]:
                masks.append((slice(1, 2), within & (row_class[:, None] == column_class)))
            for which, mask in masks:
                of_rows[which, r] += weigh_rows(mask, column_weight)
                if after.stop > after.start:  # columns that are no rows of the strip
                    beyond = mask[:, after.start - c.start :]
                    of_columns[which, after] += weigh_columns(beyond, row_weight)
        return of_rows, of_columns, doubts

    def count_noted() -> None:
        """Compute the pairs noted in full, and count those within reach."""
        i, j, both = map(np.concatenate, zip(*noted, strict=True))
        near = max_distance2 >= distances_at(X, X, i, j)
        i, j, both = i[near], j[near], both[near]
        own = classes[i] == classes[j]
        for x, y, kept in ((i, j, np.ones_like(own)), (j, i, both)):
            for which, chosen in ((0, kept), (1, kept & own)):
                of_chosen = None if ones else weight[y[chosen]]
                counts[which] += np.bincount(x[chosen], of_chosen, counts.shape[1])

    # Doubtful pairs are computed in full when there are many: few long operations, between which
    # threads seldom wait for Python's lock.
    noted: list[Any] = []
    n_noted = 0
    for rows, columns, (of_rows, of_columns, doubts) in share_out(
        units_of(0, len(X)), count, workers
    ):
        counts[:, rows] += of_rows
        counts[:, columns] += of_columns
        for some in doubts:
            noted.append(some)
            n_noted += len(some[0])
        if n_noted > NOTED:
            count_noted()
            noted, n_noted = [], 0
    if noted:
        count_noted()
    return counts[0], counts[1]


# -- passes over rows and references ---------------------------------------------------


def reference_weights(
    X: Array,
    references: Array,
    weight: Array | None,
    reaches: tuple[float, float, float],
    workers: Workers = ONE_WORKER,
) -> Array:
    """Return the weight of the references within three rising squared distances of every row."""
    # Returns an array of shape (3, n). Products are taken in single precision where it serves, and
    # pairs are not computed again: instead, pairs within the rounding of the first distance are
    # left out of its count, and those within the rounding of the last are counted in, so these two
    # hold whatever the rounding. ``weight`` None stands for ones.
    nearest = reaches[0]
    if np.isinf(nearest):
        return np.full((3, len(X)), len(references) if weight is None else weight.sum())
    counts, space = np.zeros((3, len(X))), Space()

    def compute(rows: slice, columns: slice, stop: Event) -> Array:
        norms = [float(squared_norms(Z).max()) for Z in (X[rows], references[columns])]
        single = single_precision_serves(X.shape[1], max(norms), nearest)
        a = reach_rows(X[rows], nearest, single)
        b = reach_rows(references[columns], nearest, single)
        unit = nearest if single else 1.0
        steps = [0.5 * (reach - nearest) / unit for reach in reaches]
        part = None if weight is None else weight[columns]
        found = np.zeros((3, len(a.X)))
        for r in blocks_of(0, len(a.X), TILE):
            if stop.is_set():
                break
            tile = products(a.left[r], b.right, space)
            scale = float(a.norms[r].max() + b.norms.max())
            eps = float(np.finfo(tile.dtype).eps)
            rounding = product_rounding(X.shape[1], eps, scale, 2.0 * a.constant)
            for k, bound in enumerate((rounding, -steps[1], -steps[2] - rounding)):
                # Far below any product, and a number in single precision
                bound = tile.dtype.type(max(bound, -1e30 * (scale + a.constant)))
                found[k, r] = weigh_rows(tile >= bound, part)
        return found

    parts = blocks_of(0, len(references), STRIP * TILE)
    units = list(product(blocks_of(0, len(X), BLOCK * TILE), parts))
    for rows, _, found in share_out(units, compute, workers):
        counts[:, rows] += found
    return counts


def weights_within(X: Array, references: Array, weight: Array | None, reach: float) -> Array:
    """Return the weight (ones for None) within reach of every row, as :func:`neighbour_weights`."""
    found = np.zeros(len(X))
    if not len(X) or not len(references):
        return found
    if np.isinf(reach):
        return found + (len(references) if weight is None else weight.sum())
    largest = float(max(squared_norms(X).max(), squared_norms(references).max()))
    single = single_precision_serves(X.shape[1], largest, reach)
    a, b = (reach_rows(points, reach, single) for points in (X, references))
    space = Space()
    for c in blocks_of(0, len(references), STRIP * TILE):
        part = None if weight is None else weight[c]
        for r in blocks_of(0, len(X), 2 * TILE):
            within, doubtful = certain_tile(a, b, r, c, space)
            decide(within, doubtful, X[r], references[c], reach)
            found[r] += weigh_rows(within, part)
    return found


# -- distances and kernels --------------------------------------------------------------------

VISIBLE = 1e-11  # relative errors of K from which on close pairs are computed more carefully
VANISHED = 60.0  # 2^-60 is lost beside 1
NEAR_ONE = 1.0 / 64.0  # exponents from which on K is so near 1 that 1 - K would lose digits
LOG2_E, LN_2 = float(np.log2(np.e)), float(np.log(2.0))
LARGEST_NORM = 1000.0  # 2g|x|² up to which 2^(2g xy) is a number
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
    """Return |x_i - y_j|², exactly zero for equal rows."""
    # |x|² + |y|² - 2xy is fast but leaves rounding of the size of the norms, so pairs that close
    # are computed again from their differences.
    x_norms, y_norms = squared_norms(X), squared_norms(Y)
    D2 = X @ Y.T
    D2 *= -2.0
    D2 += x_norms[:, None]
    D2 += y_norms[None, :]
    rounding = 4 * (X.shape[1] + 4) * EPS * (x_norms.max() + y_norms.max())
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


@dataclass(frozen=True)
class ReadyRows:
    """Rows made ready for products that are d - |z - z'|²/2, where z = s x.

    With a = (d - |z|²)/2, left = [z, a, 1] and right = [z, 1, a].
    """

    X: Array
    left: NDArray[np.floating[Any]]
    right: NDArray[np.floating[Any]]  # a column for each row
    norms: Array  # |z|²
    scale: float  # s
    constant: float  # d

    @classmethod
    def of(
        cls, X: Array, scale: float, constant: float = 0.0, dtype: Any = np.float64
    ) -> ReadyRows:
        """Make rows ready."""
        Z = scale * X
        norms = squared_norms(Z)
        left = np.empty((len(X), X.shape[1] + 2), dtype)
        right = np.empty((X.shape[1] + 2, len(X)), dtype)
        left[:, :-2], left[:, -2], left[:, -1] = Z, 0.5 * (constant - norms), 1.0
        right[:-2], right[-2], right[-1] = left[:, :-2].T, 1.0, left[:, -2]
        return cls(X, left, right, norms, scale, constant)


class Space(local):
    """Memory that a thread uses again for every tile; given back with the object."""

    def take(self, name: str, shape: tuple[int, ...], dtype: Any) -> AnyArray:
        """Return an array of a shape, its values left over from its last use."""
        size = prod(shape)
        held: AnyArray | None = self.__dict__.get(name)
        if held is None or held.size < size or held.dtype != dtype:
            held = self.__dict__[name] = np.empty(size, dtype)
        return held[:size].reshape(shape)


def products(left: AnyArray, right: AnyArray, space: Space) -> AnyArray:
    """Return left @ right, in memory that the next product of the ``space`` uses again."""
    # Where BLAS has kernels for small products, which do not copy their operands first and take two
    # thirds of the time, it is a stack of products of few rows, in one call of NumPy.
    (n_rows, length), n_columns = left.shape, right.shape[1]
    rows = _rows_of_small_product(n_rows, length * n_columns)
    found = space.take("product", (n_rows // rows, rows, n_columns), left.dtype)
    np.matmul(left.reshape(-1, rows, length), right, out=found)
    return found.reshape(n_rows, n_columns)


@lru_cache(maxsize=256)
def _rows_of_small_product(n_rows: int, multiplications: int) -> int:
    """Return how many rows to multiply at a time, each with so many multiplications."""
    most = SMALL_PRODUCT // multiplications if has_small_kernels() else 0
    return next((rows for rows in range(min(most, n_rows), 15, -1) if n_rows % rows == 0), n_rows)


# -- kernel values --------------------------------------------------------------------


def kernel_scale(inv_width2: float, X: Array) -> float:
    """Return s = √2g, by which products of rows made ready are the exponents of K.

    K = 2^(-g|x - y|²) with g = log2(e)/ξ²: powers of two take less time than those of e.
    """
    largest = float(squared_norms(X).max(initial=0.0))
    # Beyond this, K is 0 to the last digit for all but equal rows.
    representable = min(inv_width2, 1e290 / largest) if largest > 1e-10 else inv_width2
    return float(np.sqrt(2.0 * LOG2_E * representable))


def exponent_rounding(rows: ReadyRows, columns: ReadyRows, r: slice, c: slice) -> float:
    """Return a bound of the rounding of a tile's exponents."""
    largest_norms = float(rows.norms[r].max() + columns.norms[c].max())
    return float(2 * (rows.X.shape[1] + 4) * EPS * largest_norms)


@np.errstate(invalid="ignore")  # a BLAS may set this flag in lanes that it does not use
def kernel_tile(
    rows: ReadyRows, columns: ReadyRows, r: slice, c: slice, diagonal: bool = False
) -> tuple[Array, float]:
    """Return K - 1 and 0, or K and 1: what is fast and keeps the digits. ``diagonal``: one side."""
    exponents = products(rows.left[r], columns.right[:, c], Space())
    rounding = exponent_rounding(rows, columns, r, c)
    # Pairs within the rounding are computed again from their differences; where the rounding
    # would be seen in K, so are all pairs whose K is seen.
    near = -rounding if rounding < VISIBLE else -rounding - VANISHED
    if diagonal:
        np.fill_diagonal(exponents, -np.inf)
    largest = exponents.max()
    if largest >= near:
        i, j, D2 = distances_of_pairs(rows.X[r], columns.X[c], exponents >= near)
        exponents[i, j] = -0.5 * rows.scale**2 * D2
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
    rows: ReadyRows, columns: ReadyRows, weights: tuple[Array, Array], space: Space
) -> tuple[Array, Array] | None:
    """Return Σ_j w_j (1 - K_ij) of every row and Σ_i w_i (1 - K_ij) of every column."""
    # These are differences of sums of ``weights`` and of w K, where K_ij = s_i s_j 2^(2g xy) with
    # s = 2^(-g|x|²), which is taken once for a row and not for a pair. None where digits would be
    # lost: a row or column has nearly all K near 1, or the rounding of exponents would be seen.
    everything, largest = slice(None), max(rows.norms.max(), columns.norms.max())
    rounding = exponent_rounding(rows, columns, everything, everything)
    if largest > LARGEST_NORM or rounding >= VISIBLE:
        return None
    row_weight, column_weight = weights
    row_factor, column_factor = np.exp2(-0.5 * rows.norms), np.exp2(-0.5 * columns.norms)
    of_rows, of_columns = row_factor * row_weight, column_factor * column_weight
    row_sums, column_sums = np.zeros(len(rows.X)), np.zeros(len(columns.X))
    for c in blocks_of(0, len(columns.X), STRIP * TILE):
        for r in blocks_of(0, len(rows.X), TILE):
            K = products(rows.left[r, :-2], columns.right[:-2, c], space)
            np.exp2(K, out=K)
            row_sums[r] += row_factor[r] * (K @ of_columns[c])
            column_sums[c] += of_rows[r] @ K
            if c.start == r.start == 0:
                first = column_weight[c]
                if not _few_near_one(first.sum() - row_sums[r].max(), first):
                    return None  # a wide kernel: all other tiles would be computed for nothing
    found = column_weight.sum() - row_sums, row_weight.sum() - column_factor * column_sums
    if not _few_near_one(found[0].min(), column_weight):
        return None
    return found if _few_near_one(found[1].min(), row_weight) else None


def _few_near_one(smallest: float, weight: Array) -> bool:
    """Say whether a weighted sum of 1 - K has lost no more digits than 1 - K at NEAR_ONE."""
    return bool(smallest >= NEAR_ONE * weight.sum())


# -- rows within reach ------------------------------------------------------------------


def reach_rows(X: Array, max_distance2: float, single: bool) -> ReadyRows:
    """Make rows ready for the comparison of |x - y|² with R²: products are (R² - |x - y|²)/2.

    ``single`` is for products in single precision, in the unit R² = 1.
    """
    if single:
        return ReadyRows.of(X, float(1.0 / np.sqrt(max_distance2)), 0.5, np.float32)
    return ReadyRows.of(X, 1.0, 0.5 * max_distance2)


def product_rounding(n_features: int, eps: float, norms: float, reach: float) -> float:
    """Return a bound of the rounding of (R² - |x - y|²)/2 as a product of length B + 2."""
    # The products of the entries sum to |x|² + |y|² + R²/2 at most in absolute value; each of B + 2
    # additions, and each conversion, loses eps/2 of that at most.
    return (n_features + 8) * eps * (norms + reach)


def single_precision_serves(n_features: int, largest_norm2: float, max_distance2: float) -> bool:
    """Say whether few pairs lie so near R² that single precision cannot tell their side."""
    if not (max_distance2 > 1e-30 and largest_norm2 / max_distance2 < 1e6):
        return False
    eps = float(np.finfo(np.float32).eps)
    ratio = 2.0 * largest_norm2 / max_distance2
    return product_rounding(n_features, eps, ratio, 1.0) <= 2e-3


def decide(within: Mask, doubtful: Labels, X: Array, Y: Array, max_distance2: float) -> None:
    """Compute the doubtful pairs of a tile of rows X and Y in full."""
    i, j = np.divmod(doubtful, within.shape[1])
    within[i, j] = max_distance2 >= distances_at(X, Y, i, j)


@np.errstate(invalid="ignore")  # a BLAS may set this flag in lanes that it does not use
def certain_tile(
    rows: ReadyRows, columns: ReadyRows, r: slice, c: slice, space: Space
) -> tuple[Mask, Labels]:
    """Return which pairs are surely within reach, and the places of doubtful ones, by rows."""
    left, right = rows.left[r], columns.right[:, c]
    norms = float(rows.norms[r].max() + columns.norms[c].max())
    eps = float(np.finfo(left.dtype).eps)
    rounding = product_rounding(rows.X.shape[1], eps, norms, 2.0 * rows.constant)
    bounds = np.array([rounding, -rounding], left.dtype)[:, None, None]
    masks = space.take("masks", (2, len(left), right.shape[1]), np.bool_)
    np.greater_equal(products(left, right, space), bounds, out=masks)
    within, possible = masks.reshape(2, -1)
    if within.size % 64:
        return masks[0], np.flatnonzero(within != possible)
    # Few places differ: they are found by comparing eight at a time, twice.
    eighths = within.view(np.uint64) != possible.view(np.uint64)
    words = np.flatnonzero(eighths.view(np.uint64) != 0)
    places = np.flatnonzero(within.reshape(-1, 64)[words] != possible.reshape(-1, 64)[words])
    return masks[0], 64 * words[places // 64] + places % 64


def weigh_rows(within: Mask, weight: Array | None) -> AnyArray:
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


def weigh_columns(within: Mask, weight: Array | None) -> AnyArray:
    """Return the weight within reach of every column of a tile; None stands for ones."""
    if weight is not None:
        return np.asarray(weight @ within)
    counts = np.uint8 if len(within) <= 255 else np.intp
    return np.asarray(np.add.reduce(within.view(np.uint8), axis=0, dtype=counts))
