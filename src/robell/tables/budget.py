"""The memory a table may take, and what it takes by estimate: too much is refused early."""

from __future__ import annotations

import math

from robell._tools.files import FileError, parse_bytes

# Bytes, as measured; a little more rather than less.
EACH_ROW = 300  # a row of text: its lists and numbers
EACH_CELL = 32  # where a cell is kept, before and after rows become columns
EACH_TEXT = 60  # a distinct cell of its own, and its characters
EACH_CACHED = 40  # a cell that is remembered, so that equal ones are stored once
EACH_VALUE = 180  # a cell of a Parquet file or a data frame, as a value and as text


class Budget:
    """Memory for one table after the other; ``held`` is what the present one takes as text."""

    def __init__(self, limit=None):
        self.limit = math.inf if limit is None else parse_bytes(limit)
        self.held = 0

    def hold(self, name, n_bytes):
        """Take note of what a table takes as text; raise where that is too much."""
        self.held = n_bytes
        self.require(name, 0)

    def require(self, name, more):
        """Raise where a table and what is made of it take more than there is."""
        if self.held + more > self.limit:
            raise FileError(
                f"{name}: needs {(self.held + more) / 2**20:,.0f} MiB at least, by estimate, and "
                f"the memory limit leaves {self.limit / 2**20:,.0f} MiB: take fewer rows or "
                "columns, or allow more with",
                parameter="memory_limit",
            )
