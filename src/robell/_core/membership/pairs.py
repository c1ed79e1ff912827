"""Sums and counts over all pairs of rows, one tile of pairs at a time.

Nothing here holds an A x A matrix: memory is a few tiles' a thread, whatever the number of rows.
Pairs are compared once and serve both of their rows.

Rows are cut into blocks; a pair of blocks is a unit of work. Threads take units as they come, but
what the units found is added up in their own order, so results do not depend on the threads to
the last bit. Inside a unit, tiles of 240 x 480 pairs stay in a core's cache between the matrix
product and the sums.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import lru_cache
from threading import Event
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from robell._core.membership.distances import (
    MANY,
    KernelRows,
    Mask,
    ReachRows,
    Space,
    certain_tile,
    decide,
    distances_at,
    kernel_tile,
    plain_sums,
    product_rounding,
    products,
    reach_tile,
    representable,
    single_precision_serves,
    squared_norms,
    weigh_columns,
    weigh_rows,
)

Array = NDArray[np.float64]
Labels = NDArray[np.intp]
Unit = tuple[slice, slice]  # rows and columns
Found = TypeVar("Found")

TILE = 240  # rows of a tile; at most 255, which is as far as its columns are counted
STRIP = 2  # columns of a tile, in units of its rows: 0.9 MiB of numbers
COUNTED = 8  # rows that are counted at once, in units of a tile's: 7.4 MB of booleans
NOTED = 1 << 16  # pairs that rounding might decide, computed in full together
BLOCK = 8  # rows of a block, in units of a tile's: a unit of work takes some ten milliseconds
SMALL = 512  # rows of a table that is one tile


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


# -- sharing out ---------------------------------------------------------------------


def pairs_to_compare(class_counts: Labels) -> int:
    """Return how many pairs the two passes over rows of such classes compare: for progress."""
    n_rows = int(class_counts.sum())
    squares = sum(int(count) * (int(count) + 1) // 2 for count in class_counts)
    return squares + n_rows * (n_rows + 1) // 2


def blocks_of(start: int, stop: int, step: int) -> list[slice]:
    """Cut a range of rows into slices."""
    return [slice(at, min(at + step, stop)) for at in range(start, stop, step)]


def units_of(start: int, stop: int) -> list[Unit]:
    """Return the pairs of blocks on and above the diagonal of a range of rows."""
    blocks = blocks_of(start, stop, BLOCK * TILE)
    return [(rows, columns) for k, rows in enumerate(blocks) for columns in blocks[k:]]


def share_out(
    units: list[Unit],
    compute: Callable[[slice, slice, Event], Found],
    collect: Callable[[slice, slice, Found], None],
    workers: Workers,
) -> None:
    """Compute all units in threads, and collect what they found in the units' own order.

    An exception, Ctrl-C included, stops every thread at its next tile.
    """
    stop = Event()

    def take(unit: Unit, found: Found) -> None:
        collect(*unit, found)
        workers.advance(_n_pairs(*unit))

    if len(units) == 1:  # too little work for BLAS's threads to be worth holding back
        take(units[0], compute(*units[0], stop))
        return
    with workers.limit_blas():
        if workers.n_threads == 1:
            for unit in units:
                take(unit, compute(*unit, stop))
            return
        waiting: deque[tuple[Unit, Future[Found]]] = deque()
        with ThreadPoolExecutor(workers.n_threads, initializer=workers.limit_blas) as pool:
            try:
                for unit in units:
                    waiting.append((unit, pool.submit(compute, *unit, stop)))
                    if len(waiting) > 2 * workers.n_threads:
                        first, future = waiting.popleft()
                        take(first, future.result())
                while waiting:
                    first, future = waiting.popleft()
                    take(first, future.result())
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
    for rows, after in _strips(n_rows, n_columns, same, TILE):
        if same:
            yield rows, rows, True
        for columns in blocks_of(after.start, after.stop, STRIP * TILE):
            yield rows, columns, False


def _strips(n_rows: int, n_columns: int, same: bool, step: int) -> Iterator[Unit]:
    """Yield the strips of a unit: some rows, and all columns that they are compared with.

    ``same`` says that rows and columns are the same block: then those after the rows themselves.
    """
    if same:
        step = n_rows if n_rows <= SMALL else TILE
    for rows in blocks_of(0, n_rows, step):
        yield rows, slice(rows.stop if same else 0, n_columns)


def _kept(prepare: Callable[..., Found], workers: Workers) -> Callable[..., Found]:
    """Keep the last blocks made ready: units that follow one another share their rows."""
    return lru_cache(maxsize=2 * workers.n_threads + 2)(prepare)


# -- passes over all pairs -------------------------------------------------------------


def same_class_dissimilarity(
    X: Array, classes: Labels, weight: Array, inv_width2: float, workers: Workers = ONE_WORKER
) -> Array:
    """Return S_i = Σ_j weight_j (1 - K_ij) over the rows j of row i's class.

    K_ij = exp(-inv_width2 |x_i - x_j|²). Summing 1 - K rather than K keeps its relative accuracy
    for kernels so wide that K is 1 to the last digits. X must be centred, ``classes`` sorted.
    """
    g = representable(inv_width2, X)

    prepared = _kept(lambda start, stop: KernelRows.of(X[start:stop], g), workers)
    space = Space()

    def compute(rows: slice, columns: slice, stop: Event) -> tuple[Array, Array]:
        a, b = prepared(rows.start, rows.stop), prepared(columns.start, columns.stop)
        row_weight, column_weight = weights = weight[rows], weight[columns]
        if rows != columns:
            found = plain_sums(a, b, weights, (TILE, STRIP * TILE), space)
            if found is not None:
                return found
        row_sums, column_sums = np.zeros(len(a.X)), np.zeros(len(b.X))
        for r, c, diagonal in _tiles(len(a.X), len(b.X), rows == columns):
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
    others are compared in double: the counts are those of double precision. X must be centred,
    ``classes`` sorted.
    """
    if np.isinf(max_distance2):
        sizes = np.bincount(classes, weights=weight)
        return np.full(len(X), weight.sum()), np.asarray(sizes[classes], np.float64)
    work = _Counting(X, classes, weight, max_distance2, workers)
    counts = np.zeros((2, len(X)))  # all, own class

    def collect(rows: slice, columns: slice, found: tuple[Array, Array, list[Noted]]) -> None:
        counts[:, rows] += found[0]
        counts[:, columns] += found[1]
        work.note(found[2], counts)

    share_out(units_of(0, len(X)), work.count, collect, workers)
    work.decide(counts)
    return counts[0], counts[1]


class Noted(NamedTuple):
    """Pairs on which rounding might decide."""

    i: Labels
    j: Labels
    both: Mask  # whether j is told of i as well, or the pair is met again with j first


class _Counting:
    """Counts of rows within reach in a unit of work: of all rows and of the own class.

    Pairs on which rounding might decide are noted, and computed in full when there are many: few
    long operations, between which threads seldom wait for Python's lock.
    """

    def __init__(
        self, X: Array, classes: Labels, weight: Array, max_distance2: float, workers: Workers
    ) -> None:
        self.X, self.classes, self.max_distance2 = X, classes, max_distance2
        self.weight = None if (weight == 1.0).all() else weight
        self.norms, self.space = squared_norms(X), Space()
        self.noted: list[Noted] = []
        self.prepared = _kept(
            lambda start, stop, single: ReachRows.of(X[start:stop], max_distance2, single), workers
        )

    def count(self, rows: slice, columns: slice, stop: Event) -> tuple[Array, Array, list[Noted]]:
        """Return the counts of a unit's rows and columns, of shape (2, n), and doubtful pairs."""
        largest = float(max(self.norms[rows].max(), self.norms[columns].max()))
        single = single_precision_serves(self.X.shape[1], largest, self.max_distance2)
        a = self.prepared(rows.start, rows.stop, single)
        b = self.prepared(columns.start, columns.stop, single)
        counts = np.zeros((2, len(a.X))), np.zeros((2, len(b.X)))
        noted = []
        at_once = TILE if self.weight is not None else COUNTED * TILE  # weighing takes memory
        for r, after in _strips(len(a.X), len(b.X), rows == columns, at_once):
            if stop.is_set():
                break
            c = slice(r.start, after.stop) if rows == columns else after
            within, doubtful = certain_tile(a, b, r, c, self.space)
            if MANY * len(doubtful) > within.size:
                decide(within, doubtful, a, b, r, c, self.max_distance2)
            elif len(doubtful):
                i, j = np.divmod(doubtful, within.shape[1])
                j += c.start
                noted.append(Noted(i + (rows.start + r.start), j + columns.start, j >= after.start))
            of_rows = slice(rows.start + r.start, rows.start + r.stop)
            of_columns = slice(columns.start + c.start, columns.start + c.stop)
            self._add(counts, within, (of_rows, of_columns), r, c, after)
        return *counts, noted

    def _add(
        self,
        counts: tuple[Array, Array],
        within: Mask,
        places: Unit,
        r: slice,
        c: slice,
        after: slice,
    ) -> None:
        """Add the certain pairs of a strip; columns ``after`` are no rows of it."""
        row_weight, column_weight = (
            None if self.weight is None else self.weight[place] for place in places
        )
        of_rows, of_columns = (self.classes[place] for place in places)
        for counted, mask in _by_class(within, of_rows, of_columns):
            counts[0][counted, r] += weigh_rows(mask, column_weight)
            if after.stop > after.start:
                beyond = mask[:, after.start - c.start :]
                counts[1][counted, after] += weigh_columns(beyond, row_weight)

    def note(self, noted: list[Noted], counts: Array) -> None:
        """Keep doubtful pairs, and decide on those kept where they are many."""
        self.noted += noted
        if sum(len(some.i) for some in self.noted) > NOTED:
            self.decide(counts)

    def decide(self, counts: Array) -> None:
        """Compute the pairs kept in full, and count those within reach."""
        if not self.noted:
            return
        i, j, both = (np.concatenate(parts) for parts in zip(*self.noted, strict=True))
        self.noted = []
        near = self.max_distance2 >= distances_at(self.X, self.X, i, j)
        i, j, both = i[near], j[near], both[near]
        own = self.classes[i] == self.classes[j]
        for x, y, kept in ((i, j, np.ones_like(own)), (j, i, both)):
            for which, chosen in ((0, kept), (1, kept & own)):
                weight = None if self.weight is None else self.weight[y[chosen]]
                counts[which] += np.bincount(x[chosen], weight, counts.shape[1])


def _by_class(within: Mask, of_rows: Labels, of_columns: Labels) -> list[tuple[slice, Mask]]:
    """Return which of the two counts, all and own class, take which pairs of a tile.

    Labels are sorted, and no row of the tile stands after its columns.
    """
    if of_rows[0] == of_columns[-1]:  # one class only: both counts are the same
        return [(slice(0, 2), within)]
    found = [(slice(0, 1), within)]
    if of_rows[-1] >= of_columns[0]:
        found.append((slice(1, 2), within & (of_rows[:, None] == of_columns)))
    return found


# -- passes over rows and references ---------------------------------------------------


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
    counts, space = np.zeros((3, len(X))), Space()

    def compute(rows: slice, columns: slice, stop: Event) -> Array:
        norms = [float(squared_norms(Z).max()) for Z in (X[rows], references[columns])]
        single = single_precision_serves(X.shape[1], max(norms), nearest)
        a = ReachRows.of(X[rows], nearest, single)
        b = ReachRows.of(references[columns], nearest, single)
        unit = nearest if single else 1.0
        steps = [0.5 * (reach - nearest) / unit for reach in reaches]
        part = None if weight is None else weight[columns]
        found = np.zeros((3, len(a.X)))
        for r, tile in products(a.left, b.right, TILE, space):
            if stop.is_set():
                break
            scale = float(a.norms[r].max() + b.norms.max())
            eps = float(np.finfo(tile.dtype).eps)
            rounding = product_rounding(X.shape[1], eps, scale, a.reach)
            for k, bound in enumerate((rounding, -steps[1], -steps[2] - rounding)):
                # Far below any product, and a number in single precision
                bound = tile.dtype.type(max(bound, -1e30 * (scale + a.reach)))
                found[k, r] = weigh_rows(tile >= bound, part)
        return found

    def collect(rows: slice, columns: slice, found: Array) -> None:
        counts[:, rows] += found

    columns = blocks_of(0, len(references), STRIP * TILE)
    units = [(rows, c) for rows in blocks_of(0, len(X), BLOCK * TILE) for c in columns]
    share_out(units, compute, collect, workers)
    return counts


def weights_within(X: Array, references: Array, weight: Array | None, reach: float) -> Array:
    """Return the weight of the references within a squared distance of every row.

    Decided as in :func:`neighbour_weights`; ``weight`` None stands for ones.
    """
    found = np.zeros(len(X))
    if not len(X) or not len(references):
        return found
    if np.isinf(reach):
        return found + (len(references) if weight is None else weight.sum())
    largest = float(max(squared_norms(X).max(), squared_norms(references).max()))
    single = single_precision_serves(X.shape[1], largest, reach)
    a, b = (ReachRows.of(points, reach, single) for points in (X, references))
    space = Space()
    for c in blocks_of(0, len(references), STRIP * TILE):
        part = None if weight is None else weight[c]
        for r in blocks_of(0, len(X), 2 * TILE):
            found[r] += weigh_rows(reach_tile(a, b, r, c, reach, space), part)
    return found
