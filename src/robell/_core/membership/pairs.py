"""Sums and counts over all pairs of rows, one tile of pairs at a time.

The only module that touches pairs. Nothing here holds an A x A matrix: memory is a few tiles' a
thread, whatever the number of rows. Pairs are compared once and serve both of their rows.

Rows are cut into blocks; a pair of blocks is a unit of work. Threads take units as they come, but
what the units found is added up in their own order, so results do not depend on the threads to
the last bit. Inside a unit, tiles of 128 x 1024 pairs stay in a core's cache between the matrix
product and the sums.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from threading import Event
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from robell._core.array import namespace

Array = NDArray[np.float64]
Labels = NDArray[np.intp]
Mask = NDArray[np.bool_]
Found = TypeVar("Found")

TILE = 128  # rows of a tile; at most 255, which is as far as its columns are counted
STRIP = 8  # columns of a tile, in units of its rows: 1 MiB of numbers
BLOCK = 16  # rows of a block, in units of a tile's: a unit of work takes some ten milliseconds

EPS64 = float(np.finfo(np.float64).eps)
VISIBLE = 1e-11  # relative errors of K from which on close pairs are computed more carefully
VANISHED = 40.0  # exp(-40) is lost beside 1
NEAR_ONE = 1.0 / 64.0  # exponents from which on K is so near 1 that 1 - K would lose digits


def _nothing(_: int) -> None:
    """Show no progress."""


@dataclass(frozen=True)
class Workers:
    """How work on pairs is shared out.

    ``limit_blas`` returns a context in which BLAS uses one thread, and limits the calling thread
    from the moment it is called; ``advance`` is told how many pairs have been compared.
    """

    n_threads: int = 1
    limit_blas: Callable[[], AbstractContextManager[Any]] = nullcontext
    advance: Callable[[int], None] = _nothing


ONE_WORKER = Workers()


# -- distances -----------------------------------------------------------------------


def center(X: Array) -> Array:
    """Return X less its column means: distances stay, and rounding shrinks with the norms."""
    # A mean over billions of huge values can overflow; halving first cannot.
    return np.asarray(X - 2.0 * (0.5 * X).mean(axis=0))


def require_squares(X: Any) -> None:
    """Raise when squared distances between the rows of X, an array or a tensor, would overflow."""
    xp = namespace(X)
    with np.errstate(over="ignore", invalid="ignore"):
        if not xp.isfinite(xp.einsum("ij,ij->", X, X)):
            raise ValueError(
                "X is too large for squared distances to be computed: scale it first, "
                "for instance with StandardScaler"
            )


def squared_norms(X: Array) -> Array:
    """Return |x_i|² of every row."""
    return np.asarray(np.einsum("ij,ij->i", X, X))


def squared_distances(X: Array, Y: Array, same: bool = False) -> Array:
    """Return |x_i - y_j|², exactly zero for equal rows.

    |x|² + |y|² - 2xy is fast but leaves rounding of the size of the norms, so pairs that close
    are computed again from their differences. ``same`` says that Y is X, whose diagonal is known.
    """
    x_norms, y_norms = squared_norms(X), squared_norms(Y)
    D2 = X @ Y.T
    D2 *= -2.0
    D2 += x_norms[:, None]
    D2 += y_norms[None, :]
    rounding = 4 * (X.shape[1] + 4) * EPS64 * (x_norms.max() + y_norms.max())
    if same:
        np.fill_diagonal(D2, np.inf)
    close = rounding >= D2
    if close.any():
        i, j, exact = distances_of_pairs(X, Y, close)
        D2[i, j] = exact
    if same:
        np.fill_diagonal(D2, 0.0)
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


# -- sharing out ---------------------------------------------------------------------


def pairs_to_compare(class_counts: Labels) -> int:
    """Return how many pairs the two passes over rows of such classes compare: for progress."""
    n_rows = int(class_counts.sum())
    squares = sum(int(count) * (int(count) + 1) // 2 for count in class_counts)
    return squares + n_rows * (n_rows + 1) // 2


def blocks_of(start: int, stop: int, step: int) -> list[slice]:
    """Cut a range of rows into slices."""
    return [slice(at, min(at + step, stop)) for at in range(start, stop, step)]


def units_of(start: int, stop: int) -> list[tuple[slice, slice]]:
    """Return the pairs of blocks on and above the diagonal of a range of rows."""
    blocks = blocks_of(start, stop, BLOCK * TILE)
    return [(rows, columns) for k, rows in enumerate(blocks) for columns in blocks[k:]]


def share_out(
    units: list[tuple[slice, slice]],
    compute: Callable[[slice, slice, Event], Found],
    collect: Callable[[slice, slice, Found], None],
    workers: Workers,
) -> None:
    """Compute all units in threads, and collect what they found in the units' own order.

    An exception, Ctrl-C included, stops every thread at its next tile.
    """
    stop = Event()
    if len(units) == 1:  # too little work for BLAS's threads to be worth holding back
        collect(*units[0], compute(*units[0], stop))
        workers.advance(_n_pairs(*units[0]))
        return
    with workers.limit_blas():
        if workers.n_threads == 1:
            for unit in units:
                collect(*unit, compute(*unit, stop))
                workers.advance(_n_pairs(*unit))
            return
        with ThreadPoolExecutor(workers.n_threads, initializer=workers.limit_blas) as pool:
            waiting: deque[tuple[tuple[slice, slice], Future[Found]]] = deque()
            try:
                for k in range(len(units) + 2 * workers.n_threads):
                    if k < len(units):
                        waiting.append((units[k], pool.submit(compute, *units[k], stop)))
                    if waiting and (k >= len(units) or len(waiting) > 2 * workers.n_threads):
                        unit, future = waiting.popleft()
                        collect(*unit, future.result())
                        workers.advance(_n_pairs(*unit))
            finally:
                stop.set()
                for _, future in waiting:
                    future.cancel()


def _n_pairs(rows: slice, columns: slice) -> int:
    n_rows, n_columns = rows.stop - rows.start, columns.stop - columns.start
    return int(n_rows * (n_rows + 1) // 2 if rows == columns else n_rows * n_columns)


def _tiles(n_rows: int, n_columns: int, same: bool) -> Iterator[tuple[slice, slice, bool]]:
    """Yield the tiles of a unit, and whether each lies on the diagonal.

    ``same`` says that rows and columns are the same block: then those on and above the diagonal.
    """
    if same and n_rows <= 4 * TILE:  # a small table is one tile
        yield slice(0, n_rows), slice(0, n_rows), True
        return
    for rows in blocks_of(0, n_rows, TILE):
        if same:
            yield rows, rows, True
        for columns in blocks_of(rows.stop if same else 0, n_columns, STRIP * TILE):
            yield rows, columns, False


# -- kernel sums ---------------------------------------------------------------------


@dataclass(frozen=True)
class KernelRows:
    """Rows made ready for the exponents -g|x - y|² of their pairs, g = 1/ξ².

    With left_i = [√2g x_i, -g|x_i|², 1] and right_j = [√2g x_j, 1, -g|x_j|²], the exponent is the
    product of left_i and right_j.
    """

    X: Array
    left: Array
    right: Array
    norms: Array  # g|x|²
    inv_width2: float

    @classmethod
    def of(cls, X: Array, inv_width2: float) -> KernelRows:
        """Make rows ready; ``inv_width2`` as :func:`representable` allows."""
        scaled = np.sqrt(2.0 * inv_width2) * X
        norms = 0.5 * squared_norms(scaled)
        left, right = np.empty((2, len(X), X.shape[1] + 2))
        left[:, :-2] = right[:, :-2] = scaled
        left[:, -2] = right[:, -1] = -norms
        left[:, -1] = right[:, -2] = 1.0
        return cls(X, left, right, norms, inv_width2)


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
        exponents[i, j] = -rows.inv_width2 * D2
        largest = exponents.max()
    if diagonal:
        np.fill_diagonal(exponents, 0.0)
    # exp takes half the time of expm1. Sums of 1 - K lose nothing by it where few K are near 1: a
    # row near to all columns is then far from most other rows, and these fill its sum.
    if not diagonal and (
        largest < -NEAR_ONE or 16 * np.count_nonzero(exponents >= -NEAR_ONE) < exponents.size
    ):
        return np.exp(exponents, out=exponents), 1.0
    return np.expm1(exponents, out=exponents), 0.0


def same_class_dissimilarity(
    X: Array, classes: Labels, weight: Array, inv_width2: float, workers: Workers = ONE_WORKER
) -> Array:
    """Return S_i = Σ_j weight_j (1 - K_ij) over the rows j of row i's class.

    K_ij = exp(-inv_width2 |x_i - x_j|²). Summing 1 - K rather than K keeps its relative accuracy
    for kernels so wide that K is 1 to the last digits.

    Parameters
    ----------
    X : array of shape (A, B), centred
    classes : array of shape (A,), sorted
    weight : array of shape (A,)
    inv_width2 : float
    workers : Workers
    """
    g = representable(inv_width2, X)

    def compute(rows: slice, columns: slice, stop: Event) -> tuple[Array, Array]:
        a = KernelRows.of(X[rows], g)
        b = a if rows == columns else KernelRows.of(X[columns], g)
        row_weight, column_weight = weight[rows], weight[columns]
        row_sums, column_sums = np.zeros(len(a.X)), np.zeros(len(b.X))
        for r, c, diagonal in _tiles(len(a.X), len(b.X), a is b):
            if stop.is_set():
                break
            tile, one = kernel_tile(a, b, r, c, diagonal)
            row_sums[r] += one * column_weight[c].sum() - tile @ column_weight[c]
            if not diagonal:
                column_sums[c] += one * row_weight[r].sum() - row_weight[r] @ tile
        return row_sums, column_sums

    sums = np.zeros(len(X))

    def collect(rows: slice, columns: slice, found: tuple[Array, Array]) -> None:
        sums[rows] += found[0]
        sums[columns] += found[1]

    starts = np.flatnonzero(np.diff(classes, prepend=classes[0] - 1))
    units = []
    for start, stop in zip(starts, [*starts[1:], len(X)], strict=True):
        units += units_of(int(start), int(stop))
    share_out(units, compute, collect, workers)
    return sums


# -- neighbour counts ----------------------------------------------------------------


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
    products = rows.left[r] @ columns.right[c].T
    norms = float(rows.norms[r].max() + columns.norms[c].max())
    eps = float(np.finfo(products.dtype).eps)
    rounding = product_rounding(rows.X.shape[1], eps, norms, rows.reach)
    within = products >= 0.0
    doubtful = np.abs(products, out=products) <= rounding
    if doubtful.any():
        i, j, D2 = distances_of_pairs(rows.X[r], columns.X[c], doubtful)
        within[i, j] = max_distance2 >= D2
    return np.asarray(within)


def count_both_sides(
    within: Mask, row_weight: Array | None, column_weight: Array | None
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the weight within reach of every row and every column of a tile; None for ones."""
    if row_weight is None or column_weight is None:
        of_rows = np.bitwise_count(np.packbits(within, axis=1)).sum(axis=1, dtype=np.intp)
        small = np.uint8 if len(within) < 256 else np.intp
        return of_rows, np.add.reduce(within.view(np.uint8), axis=0, dtype=small)
    numbers = within.astype(np.float64)
    return numbers @ column_weight, row_weight @ numbers


def neighbour_weights(
    X: Array,
    classes: Labels,
    weight: Array,
    max_distance2: float,
    workers: Workers = ONE_WORKER,
) -> tuple[Array, Array]:
    """Return the weight of all rows, and of the rows of its class, within reach of every row.

    Row j is within reach of row i when |x_i - x_j|² <= max_distance2; every row is its own
    neighbour. Products are taken in single precision where that decides nearly all pairs, and the
    others are compared in double: the counts are those of double precision. Arguments as in
    :func:`same_class_dissimilarity`.
    """
    n_classes = int(classes[-1]) + 1
    starts = np.searchsorted(classes, np.arange(n_classes + 1))
    if np.isinf(max_distance2):
        sizes = np.bincount(classes, weights=weight)
        return np.full(len(X), weight.sum()), np.asarray(sizes[classes], np.float64)
    norms = squared_norms(X)
    unit_weights = bool((weight == 1.0).all())
    counts = np.zeros((2, len(X)))  # all, own class

    def compute(rows: slice, columns: slice, stop: Event) -> tuple[Array, Array]:
        largest = float(max(norms[rows].max(), norms[columns].max()))
        single = single_precision_serves(X.shape[1], largest, max_distance2)
        a = ReachRows.of(X[rows], max_distance2, single)
        b = a if rows == columns else ReachRows.of(X[columns], max_distance2, single)
        row_counts, column_counts = np.zeros((2, len(a.X))), np.zeros((2, len(b.X)))
        weights = (None, None) if unit_weights else (weight[rows], weight[columns])
        for r, c, diagonal in _tiles(len(a.X), len(b.X), a is b):
            if stop.is_set():
                break
            within = reach_tile(a, b, r, c, max_distance2)
            first_row, first_column = rows.start + r.start, columns.start + c.start
            for places in _class_parts(starts, classes, first_row, first_column, within.shape):
                _add_counts(row_counts, column_counts, within, weights, r, c, diagonal, places)
        return row_counts, column_counts

    def collect(rows: slice, columns: slice, found: tuple[Array, Array]) -> None:
        counts[:, rows] += found[0]
        counts[:, columns] += found[1]

    share_out(units_of(0, len(X)), compute, collect, workers)
    return counts[0], counts[1]


# Part of a tile: which of the two counts it adds to, and its rows and columns in the tile.
Part = tuple[tuple[int, ...], slice, slice]


def _class_parts(
    starts: Labels, classes: Labels, row: int, column: int, shape: tuple[int, ...]
) -> Iterator[Part]:
    """Yield the parts of a tile from (row, column) on: all of it, and the part of every class."""
    last_row, last_column = row + shape[0], column + shape[1]
    whole = slice(0, shape[0]), slice(0, shape[1])
    if classes[row] == classes[last_column - 1]:
        yield (0, 1), *whole
        return
    yield (0,), *whole
    for label in range(classes[column], classes[last_row - 1] + 1):
        first, last = starts[label], starts[label + 1]
        of_rows = slice(max(first - row, 0), min(last, last_row) - row)
        of_columns = slice(max(first - column, 0), min(last, last_column) - column)
        if of_rows.stop > of_rows.start and of_columns.stop > of_columns.start:
            yield (1,), of_rows, of_columns


def _add_counts(
    row_counts: Array,
    column_counts: Array,
    within: Mask,
    weights: tuple[Array | None, Array | None],
    r: slice,
    c: slice,
    diagonal: bool,
    part: Part,
) -> None:
    """Add the counts of a part of the tile (r, c)."""
    targets, of_rows, of_columns = part
    rows = slice(r.start + of_rows.start, r.start + of_rows.stop)
    columns = slice(c.start + of_columns.start, c.start + of_columns.stop)
    row_weight = None if weights[0] is None else weights[0][rows]
    column_weight = None if weights[1] is None else weights[1][columns]
    found = count_both_sides(within[of_rows, of_columns], row_weight, column_weight)
    for target in targets:
        row_counts[target, rows] += found[0]
        if not diagonal:
            column_counts[target, columns] += found[1]


def reference_weights(
    X: Array,
    references: Array,
    weight: Array | None,
    reaches: tuple[float, float, float],
    workers: Workers = ONE_WORKER,
) -> Array:
    """Return the weight of the references within three rising squared distances of every row.

    Returns an array of shape (3, n). Products are taken in single precision where it serves, and
    pairs are not computed again: instead, pairs within the rounding of the first distance are
    left out of its count, and those within the rounding of the last are counted in, so these two
    hold whatever the rounding. ``weight`` None stands for ones.
    """
    nearest = reaches[0]
    if np.isinf(nearest):
        return np.full((3, len(X)), len(references) if weight is None else weight.sum())
    counts = np.zeros((3, len(X)))

    def compute(rows: slice, columns: slice, stop: Event) -> Array:
        norms = [float(squared_norms(Z).max()) for Z in (X[rows], references[columns])]
        single = single_precision_serves(X.shape[1], max(norms), nearest)
        a = ReachRows.of(X[rows], nearest, single)
        b = ReachRows.of(references[columns], nearest, single)
        unit = nearest if single else 1.0
        steps = [0.5 * (reach - nearest) / unit for reach in reaches]
        found = np.zeros((3, len(a.X)))
        for r in blocks_of(0, len(a.X), TILE):
            if stop.is_set():
                break
            products = a.left[r] @ b.right.T
            scale = float(a.norms[r].max() + b.norms.max())
            eps = float(np.finfo(products.dtype).eps)
            rounding = product_rounding(X.shape[1], eps, scale, a.reach)
            part = None if weight is None else weight[columns]
            for k, bound in enumerate((rounding, -steps[1], -steps[2] - rounding)):
                # Far below any product, and a number in single precision
                bound = products.dtype.type(max(bound, -1e30 * (scale + a.reach)))
                found[k, r] = _count_rows(products >= bound, part)
        return found

    def collect(rows: slice, columns: slice, found: Array) -> None:
        counts[:, rows] += found

    columns = blocks_of(0, len(references), STRIP * TILE)
    share_out(
        [(rows, c) for rows in blocks_of(0, len(X), BLOCK * TILE) for c in columns],
        compute,
        collect,
        workers,
    )
    return counts


def _count_rows(within: Mask, weight: Array | None) -> NDArray[Any]:
    if weight is None:
        bits = np.packbits(within, axis=1)
        return np.asarray(np.bitwise_count(bits).sum(axis=1, dtype=np.intp))
    return np.asarray(within.astype(np.float64) @ weight)
