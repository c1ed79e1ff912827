"""A table as it was read: cells of text, and where each row stands in its file."""

from __future__ import annotations

import numbers
from dataclasses import dataclass, replace

import numpy as np

from robell._tools.files import FileError
from robell._tools.text import said


@dataclass(frozen=True)
class Column:
    """Cells of one column; a cell is None where the source has no value.

    `kind` is what the source says the column holds ("number", "text", "date" or "other"), or
    None where the source does not say, as in CSV files. `values`, where given, are the numbers of
    a source that holds numbers, NaN where there is none; `cells` may then be None.
    """

    name: str
    cells: list | None
    kind: str | None = None
    values: np.ndarray | None = None

    def __len__(self):
        return len(self.values if self.cells is None else self.cells)

    def take(self, places):
        """Return the cells at these places."""
        cells = None if self.cells is None else [self.cells[place] for place in places]
        values = None if self.values is None else self.values[places]
        return replace(self, cells=cells, values=values)


@dataclass(frozen=True)
class RawTable:
    """Rows as they were read: their numbers from 1 on, and the lines they begin at in a text file.

    `n_rows` counts the rows of the source, of which `rows` may be a sample.
    """

    name: str
    columns: tuple[Column, ...]
    rows: np.ndarray
    lines: np.ndarray | None
    n_rows: int
    how: str
    delimiter: str = ","

    def take(self, places):
        """Return the table of the rows at these places."""
        columns = tuple(column.take(places) for column in self.columns)
        lines = None if self.lines is None else self.lines[places]
        return replace(self, columns=columns, rows=self.rows[places], lines=lines)

    def where(self, place):
        """Say where a row stands in its source, such as "line 12"."""
        if self.lines is None:
            return f"row {self.rows[place]:,}"
        return f"line {self.lines[place]:,}"


def require_names(where, names):
    """Return the names of the columns, unnamed ones numbered; raise where a name occurs twice."""
    names = [name.strip() or f"column {place}" for place, name in enumerate(names, 1)]
    seen = {}
    for place, name in enumerate(names, 1):
        if name in seen:
            raise FileError(
                f"{where}: two columns are called {said(name)} (columns {seen[name]} and {place})"
            )
        seen[name] = place
    return names


def one_line(error):
    """Return the text of an error as one line."""
    return " ".join(str(error).split()) or type(error).__name__


def number_cell(value):
    """Return a number as text, whole ones without a decimal point."""
    if isinstance(value, numbers.Integral):
        return str(int(value))
    return repr(float(value)).removesuffix(".0")
