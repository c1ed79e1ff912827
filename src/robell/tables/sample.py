"""A uniform sample of the rows of a table that is too large, drawn while the table is read."""

from __future__ import annotations

import math
import random

import numpy as np

from robell.tables.budget import EACH_CACHED, EACH_CELL, EACH_ROW, EACH_TEXT

MAX_ROWS = 200_000
MAX_CELLS = 10_000_000  # rows x columns kept in memory
LEAST_SAMPLE = 1_000  # rows kept, however many columns there are
CACHED = 4_096  # distinct cells of a column that are stored once for all rows


def row_limit(max_rows, n_columns):
    """Return how many rows are kept of a table with so many columns."""
    return min(max_rows, max(LEAST_SAMPLE, MAX_CELLS // max(1, n_columns)))


def sample_places(n_rows, limit, seed):
    """Return the sorted places of the rows that :class:`Sample` would keep of so many."""
    places = np.arange(min(n_rows, limit))
    reservoir = _Reservoir(limit, seed)
    while reservoir.following < n_rows:
        place = reservoir.following
        places[reservoir.seat()] = place
    return np.sort(places)


class _Reservoir:
    """Which rows of a stream make up a uniform sample of a given size (Li's algorithm L).

    The first rows fill it; then the row at the place `following` replaces one of them.
    """

    def __init__(self, size, seed):
        self.size, self.following = size, size
        self._random = random.Random(seed)
        self._weight = 1.0
        self._skip()

    def _skip(self):
        """Draw how many rows are passed over before the next one is taken."""
        self._weight *= math.exp(math.log(1.0 - self._random.random()) / self.size)
        self._weight = min(self._weight, 1.0 - 1e-15)
        passed = math.log(1.0 - self._random.random()) / math.log1p(-self._weight)
        self.following += math.floor(passed)

    def seat(self):
        """Return which kept row the row at `following` replaces, and go on to the next one."""
        seat = self._random.randrange(self.size)
        self.following += 1
        self._skip()
        return seat


class Sample:
    """A uniform sample, of a given size, of rows of text that come one after the other."""

    def __init__(self, size, n_columns, seed):
        self.seen = self.n_bytes = 0  # bytes by estimate
        self._reservoir = _Reservoir(size, seed)
        self._kept = []
        self._caches = [{} for _ in range(n_columns)]

    def offer(self, line, record):
        """Take the next row, which begins at a line, or pass it over."""
        place, self.seen = self.seen, self.seen + 1
        if place < self._reservoir.size:
            self._kept.append((self.seen, line, self._compact(record)))
        elif place == self._reservoir.following:
            self._kept[self._reservoir.seat()] = (self.seen, line, self._compact(record))

    def _compact(self, record):
        """Return the cells without spaces around them, equal cells of a column as one object."""
        cells, size = [], EACH_ROW + EACH_CELL * len(record)
        for cell, cache in zip(record, self._caches, strict=True):
            cell = cell.strip()
            known = cache.get(cell)
            if known is None:
                known = cell
                size += EACH_TEXT + len(cell)
                if len(cache) < CACHED:
                    cache[cell] = cell
                    size += EACH_CACHED
            cells.append(known)
        # Rows that later ones replace are counted once: those are about as large.
        if len(self._kept) < self._reservoir.size:
            self.n_bytes += size
        return cells

    def sorted(self):
        """Return the numbers of the rows, their lines, and their cells column by column."""
        self._kept.sort(key=lambda kept: kept[0])
        rows = np.array([kept[0] for kept in self._kept])
        lines = np.array([kept[1] for kept in self._kept])
        return rows, lines, [list(cells) for cells in zip(*(k[2] for k in self._kept), strict=True)]
