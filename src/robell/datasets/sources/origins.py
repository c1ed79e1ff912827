"""Files on the web, and how each becomes the table of the register, or is refused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from robell.datasets._dataset import DatasetError, DatasetUnavailable, other_size
from robell.datasets.sources.fetch import FetchError, openml_rows, uci_rows

# How cells become numbers: the paper's collection has -1 for a vote of yes and for one of no.
_CODES = {
    "number": float,
    "vote": {"y": -1.0, "n": -1.0, "?": 0.0}.__getitem__,
    "base": lambda cell: {"a": 1.0, "c": 2.0, "g": 3.0, "t": 4.0}[cell.lower()],
}


@dataclass(frozen=True)
class Origin:
    """One file on the web; positions count from 0 in a row as fetched, OpenML's label last."""

    address: str | int  # a path below UCI's folder, or the number of a set of OpenML
    positive: Sequence[str]  # classes that become 1
    left_out: Sequence[str] = ()  # classes whose rows are not used
    label: int = -1
    unused: Sequence[int | str] = ()  # columns not used, by position or (OpenML) by name
    missing: str = "refuse"  # or "drop" the row, or "zero"
    width: int | None = None  # rows of another length are skipped
    sequence: bool = False  # the last cell is a string of single-letter columns
    code: str = "number"  # how cells are turned into numbers: one of _CODES

    @property
    def title(self):
        """Name the origin in short."""
        if isinstance(self.address, int):
            return f"OpenML {self.address}"
        return f"UCI {self.address.rpartition('/')[2]}"

    def fetch(self):
        """Fetch and decode; returns X and y in the order of the file."""
        if isinstance(self.address, int):
            rows, names = openml_rows(self.address)
        else:
            rows, names = uci_rows(self.address), []
        unused = {names.index(u) if isinstance(u, str) else u for u in self.unused if u in names}
        unused |= {u for u in self.unused if isinstance(u, int)}
        X, y = [], []
        for number, row in enumerate(rows, start=1):
            if self.width is not None and len(row) != self.width:
                continue
            label, place = row[self.label], self.label % len(row)
            cells = [cell for i, cell in enumerate(row) if i != place and i not in unused]
            if self.sequence:
                cells = list(cells[-1])
            if label in self.left_out or (self.missing == "drop" and "?" in cells):
                continue
            X.append([self._value(cell, number) for cell in cells])
            y.append(label in self.positive)
        if len({len(row) for row in X}) != 1:
            raise DatasetError(f"{self.title}: no rows, or rows of different lengths")
        return np.array(X, dtype=float), np.array(y, dtype=np.int64)

    def _value(self, cell, number):
        if cell == "?" and self.missing == "zero":
            return 0.0
        try:
            value = _CODES[self.code](cell)
        except (ValueError, KeyError):
            value = float("nan")
        if not np.isfinite(value):
            raise DatasetError(f"{self.title}, row {number}: {cell!r} was not expected")
        return value


def fetch_table(record):
    """Fetch a set from the first of its origins that answers and agrees with the register."""
    name, reasons = record.info.name, []
    for origin in record.origins:
        try:
            X, y = origin.fetch()
            if other := other_size(record.info, X, y):
                raise DatasetError(other)
        except (FetchError, DatasetError) as error:
            reasons.append(f"{origin.title}: {error}")
            continue
        return *record.in_order(X, y), origin.title
    what = "; ".join(reasons) or "no place on the web is known that has it"
    raise DatasetUnavailable(
        f"{name} could not be downloaded: {what}; give a data directory with {name}.csv"
    )
