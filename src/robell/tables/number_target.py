"""A target column of numbers: whether they are measured or codes of classes, and their values."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from robell._tools.files import FileError
from robell._tools.text import counted, said
from robell.tables.columns import is_missing, numbers_of, strange_cells
from robell.tables.target import FEW_FRACTIONS, FEW_VALUES, LEAST_ROWS, MOST_CLASSES, ROWS_A_VALUE

KINDS = ("auto", "classes", "numbers")
LEAST_VALUES = 3  # different numbers; two are classes
MOST_EQUAL = 0.5  # share of the rows that may have one and the same number


@dataclass(frozen=True, eq=False)
class NumberTarget:
    """The numbers of the rows that can be used, and what became of the other rows.

    `kept` are the places of these rows in the table, `values` their numbers, `how` the way they
    are written. `unlabelled` counts rows without a usable number by what stands there.
    """

    values: np.ndarray
    kept: np.ndarray
    unlabelled: Counter
    how: str

    @property
    def n_distinct(self):
        """How many different numbers there are."""
        return len(np.unique(self.values))


def holds_numbers(cells, kind=None, delimiter=","):
    """Say whether the cells of a target column are measured numbers rather than classes.

    Numbers are classes where there are few: up to twenty different whole ones, or ten others.
    Whole numbers beyond that are classes only where they are codes without a gap, 0, 1, 2, ... or
    1, 2, 3, ..., each in many rows.
    """
    present = [cell for cell in cells if not is_missing(cell, kind)]
    values, how = _read(present, kind, delimiter)
    if values is None or how.startswith("date"):
        return False
    values = values[np.isfinite(values)]
    distinct = np.unique(values)
    if not (distinct == np.round(distinct)).all():
        return len(distinct) > FEW_FRACTIONS
    if len(distinct) <= FEW_VALUES:
        return False
    without_gap = distinct[0] in (0, 1) and np.ptp(distinct) == len(distinct) - 1
    most = min(MOST_CLASSES, len(values) // ROWS_A_VALUE)
    return not (without_gap and len(distinct) <= most)


def read_number_target(table, place):
    """Read the numbers from the column at a place, without rows that have none; raise in one line.

    A few cells that are no numbers, and infinite ones, count as missing.
    """
    column = table.columns[place]
    where = f"{table.name}: column {said(column.name)}"
    gone = np.array([is_missing(cell, column.kind) for cell in column.cells], bool)
    present = [cell for cell, missing in zip(column.cells, gone, strict=True) if not missing]
    found, how = _read(present, column.kind, table.delimiter)
    if found is None:
        raise FileError(f"{where} holds texts: numbers are needed to be judged as numbers")
    if how.startswith("date"):
        raise FileError(f"{where} holds dates: neither classes nor numbers that can be judged")
    values = np.full(len(gone), np.nan)
    values[~gone] = found
    usable = np.isfinite(values)
    unlabelled = Counter(
        cell or "" for cell, is_used in zip(column.cells, usable, strict=True) if not is_used
    )
    values = values[usable]
    if problem := problem_of(values, np.ones(len(values)), LEAST_ROWS):
        raise FileError(f"{where} {problem}")
    return NumberTarget(values, np.flatnonzero(usable), unlabelled, how)


def _read(present, kind, delimiter):
    """Return the numbers of cells, NaN for a few odd ones, and how they are written."""
    values, how, odd = numbers_of(present, kind, delimiter)
    if values is None and odd:
        strange = set(strange_cells(present, delimiter))
        rest = [cell for cell in present if cell not in strange]
        if strange and rest:
            found, how, _ = numbers_of(rest, kind, delimiter)
            if found is not None:
                values = np.full(len(present), np.nan)
                values[[cell not in strange for cell in present]] = found
    return values, how


def problem_of(values, weight, least_rows):
    """Say why numbers, each counted ``weight`` times, cannot be judged; "" where they can."""
    n_rows = int((weight > 0).sum())
    if n_rows < least_rows:
        return f"has {counted(n_rows, 'usable row')}; at least {least_rows} are needed"
    with np.errstate(over="ignore"):
        if not np.isfinite(np.ptp(values)):
            return "holds numbers too far apart to be compared"
    distinct, place = np.unique(values[weight > 0], return_inverse=True)
    shares = np.bincount(place.reshape(-1), weight[weight > 0]) / weight.sum()
    common = f"{distinct[shares.argmax()]:.6g}"
    if len(distinct) == 1:
        return f"is constant: every row has {common}"
    if len(distinct) < LEAST_VALUES:
        return "holds two different numbers: these are classes"
    if shares.max() > MOST_EQUAL:
        return (
            f"is {common} in {shares.max():.0%} of the rows: with one number in more than half of "
            "them, make it a class (this number or another), and judge the other rows by themselves"
        )
    return ""


def written(value, how="number", digits=4):
    """Return a number as a column writes its numbers, with so many significant digits."""
    text = f"{value:.{digits}g}"
    if "e" in text:
        text = f"{float(text):.0f}" if abs(value) >= 1 and abs(value) < 1e15 else text
    if "decimal comma" in how:
        text = text.replace(".", ",")
    return f"{text} %" if "percentage" in how else text
