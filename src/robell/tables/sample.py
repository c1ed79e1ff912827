"""How much of a table is held: a uniform sample of its rows, and the memory that they may take."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robell._tools.files import FileError, parse_bytes
from robell.tables.raw import has_many_equal

MAX_ROWS = 200_000
MAX_CELLS = 10_000_000  # rows x columns kept in memory
LEAST_SAMPLE = 1_000  # rows kept, however many columns there are

# -- rows ------------------------------------------------------------------------------


def row_limit(max_rows: int, n_columns: int) -> int:
    """Return how many rows are kept of a table with so many columns."""
    return min(max_rows, max(LEAST_SAMPLE, MAX_CELLS // max(1, n_columns)))


def sample_places(n_rows: int, limit: int, seed: int) -> NDArray[np.intp]:
    """Return the sorted places of the rows that a :class:`Sample` keeps of so many."""
    sample = Sample(limit, seed)
    sample.draw(n_rows)
    return sample.places


def evenly(n_rows: int, most: int) -> NDArray[np.intp]:
    """Return the places of evenly spaced rows, of all where there are no more than ``most``."""
    return np.linspace(0, n_rows - 1, min(n_rows, most)).astype(np.intp)


class Sample:
    """A uniform sample of a stream: the first rows fill it, later ones replace (algorithm L)."""

    def __init__(self, size: int, seed: int) -> None:
        self.size, self.seen = size, 0
        self._kept: list[int] = []  # the place of each row that is kept
        self._next = size  # the place of the next row that is drawn
        self._random = random.Random(seed)
        self._weight = 1.0
        self._skip()

    def _skip(self) -> None:
        """Draw how many rows are passed over before the next one is taken."""
        self._weight *= math.exp(math.log(1.0 - self._random.random()) / self.size)
        self._weight = min(self._weight, 1.0 - 1e-15)
        passed = math.log(1.0 - self._random.random()) / math.log1p(-self._weight)
        self._next += math.floor(passed)

    def draw(self, n_rows: int) -> NDArray[np.intp]:
        """Draw from the next rows of the stream; return which of them, from 0 on, are drawn."""
        start, self.seen = self.seen, self.seen + n_rows
        drawn = list(range(start, min(self.seen, self.size)))
        self._kept += drawn
        while self._next < self.seen:
            drawn.append(self._next)
            self._kept[self._random.randrange(self.size)] = self._next
            self._next += 1
            self._skip()
        return np.array(drawn, np.intp) - start

    @property
    def places(self) -> NDArray[np.intp]:
        """The sorted places, from 0 on, of the rows that are kept."""
        return np.sort(np.array(self._kept, np.intp))


# -- memory ----------------------------------------------------------------------------
# Bytes, as measured; a little more rather than less.

EACH_CELL = 24  # where a cell is kept
EACH_TEXT = 60  # a distinct text of its own, and its characters
EACH_VALUE = 180  # a cell of a Parquet file or a data frame, as a value and as text


def memory_of_texts(array: Any) -> int:
    """Return the memory of an Arrow array of texts and of the cells that may be made of it."""
    n_distinct = len(array.unique()) if has_many_equal(array) else len(array)
    share = n_distinct / max(1, len(array))
    own = array.nbytes * (2 + share)  # once more while its parts are put together
    return int(own + EACH_CELL * len(array) + EACH_TEXT * n_distinct)


class Budget:
    """Memory for one table after the other; ``held`` is what the present one takes as text."""

    def __init__(self, limit: int | str | None = None) -> None:
        self.limit = math.inf if limit is None else parse_bytes(limit)
        self.held = 0

    def hold(self, name: str, n_bytes: int) -> None:
        """Take note of what a table takes as text; raise where that is too much."""
        self.held = n_bytes
        self.require(name, 0)

    def require(self, name: str, more: int) -> None:
        """Raise where a table and what is made of it take more than there is."""
        if self.held + more > self.limit:
            raise FileError(
                f"{name}: needs {(self.held + more) / 2**20:,.0f} MiB at least, by estimate, and "
                f"the memory limit leaves {self.limit / 2**20:,.0f} MiB: take fewer rows or "
                "columns, or allow more with",
                parameter="memory_limit",
            )
