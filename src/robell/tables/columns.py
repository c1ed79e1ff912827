"""Columns of text turned into numbers for a model, with a note on what was done to each."""

from __future__ import annotations

import datetime
import re
from collections import Counter
from dataclasses import dataclass, replace

import numpy as np

from robell.report.text import counted, number_text, percent, said
from robell.tables.numerals import read_numbers, spells_number

MISSING_WORDS = "NA", "N/A", "n/a", "nan", "NaN", "NAN", "null", "NULL", "None", "<NA>", "NaT", "?"
_MISSING = {"", *MISSING_WORDS}
# Between numbers these stand for none; by themselves they may be labels or categories.
_MISSING_AMONG_NUMBERS = {"-", "--", "---", ".", "..", "*", "n.a.", "N.A.", "n. a.", "na", "#N/A"}
_MISSING_AMONG_NUMBERS |= {"#NA", "#NV", "#VALUE!", "#DIV/0!", "#REF!", "none", "Null", "nil"}
FEW_ODD = 0.05  # share of cells up to which a few that are no numbers are taken as missing
MOST_LEVELS = 20
LEAST_SHARE = 0.01  # of the rows; rarer levels of a category are taken together
LEAST_COUNT = 3  # rows; the same
INDICATED = 0.05  # share of missing cells above which one more column says where they were
OTHER, NO_VALUE = "(other)", "(missing)"
_DATE = re.compile(
    r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?(?:Z|[+-]\d{2}:?\d{2})?)?",
    re.ASCII,
)
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_IDENTIFYING = {"id", "ids", "uuid", "guid", "key", "pk", "index", "number", "no", "nr"}


@dataclass(frozen=True)
class ColumnNote:
    """What was done to one column, in words.

    `kind` is how it was used: "number", "date", "category" or "left out"; `missing` counts the
    rows without a value.
    """

    name: str
    kind: str
    missing: int
    done: str


@dataclass(frozen=True)
class Used:
    """A column that models can use.

    `values` are numbers, NaN where missing, or places among `levels`; `matrix` holds the columns
    of numbers that a model gets instead.
    """

    name: str
    kind: str
    cells: list
    values: np.ndarray
    levels: tuple[str, ...]
    matrix: np.ndarray

    @property
    def is_number(self):
        """Whether the values are numbers."""
        return self.kind in ("number", "date")


def is_missing(cell, kind=None):
    """Say whether a cell is missing; in a column that its source declares as text, "NA" is not."""
    return cell is None or (cell == "" if kind == "text" else cell in _MISSING)


def prepare_column(column, rows, *, delimiter=","):
    """Turn a column into numbers: return it as Used, None if it is left out, and a ColumnNote.

    ``rows`` are the numbers of the rows in the file, by which columns that count them are found;
    the delimiter of the file decides what a comma within a number means.
    """
    missing = np.array([is_missing(cell, column.kind) for cell in column.cells])
    n_missing = int(missing.sum())

    def left_out(why):
        return None, ColumnNote(column.name, "left out", n_missing, why)

    present = [cell for cell, gone in zip(column.cells, missing, strict=True) if not gone]
    if column.kind == "other":
        return left_out("left out: its cells are lists or other structures")
    if not present:
        return left_out("left out: it holds no value")
    distinct = len(set(present))
    if distinct == 1 and not n_missing:
        return left_out(f"left out: every row has the same value, {said(present[0], 30)}")
    values, how, odd = _numbers(present, column.kind, delimiter)
    strange = _strange_cells(present, delimiter) if odd else []
    if strange:
        column = replace(column, cells=[None if c in strange else c for c in column.cells])
        used, note = prepare_column(column, rows, delimiter=delimiter)
        count = sum(present.count(cell) for cell in strange)
        named = ", ".join(said(cell, 20) for cell in strange[:3])
        more = ", ..." if len(strange) > 3 else ""
        done = f"{note.done}; {counted(count, 'cell')} taken as missing ({named}{more})"
        return used, replace(note, done=done)
    if values is not None:
        if how != "date" and _is_identifier(column.name, values, rows[~missing]):
            return left_out("left out: looks like an identifier, a different number in each row")
        return _prepare_numbers(column, missing, values, how)
    if distinct == len(present) > 1:
        return left_out("left out: looks like an identifier or free text, different in each row")
    return _prepare_categories(column, missing, present, odd)


def _numbers(present, kind, delimiter):
    """Return values and how they were read; None and what did not fit if some are no numbers."""
    if kind == "text":
        return None, "", ""
    distinct = set(present)
    table, how = read_numbers(distinct, delimiter)
    if table is None:
        table, how = {cell: _day(cell) for cell in distinct}, "date"
    if None not in table.values():
        return np.array([table[cell] for cell in present]), how, ""
    odd = [cell for cell in present if not spells_number(cell, delimiter)]
    if len(odd) == len(present):
        return None, "", ""
    return None, "", _mixed(present, odd)


def _strange_cells(present, delimiter):
    """Return the few cells that keep a column from being numbers, or none if they are not few."""
    counts = Counter(cell for cell in present if not spells_number(cell, delimiter))
    numbers = {cell for cell in present if cell not in counts}
    unknown = sum(n for cell, n in counts.items() if cell not in _MISSING_AMONG_NUMBERS)
    if len(numbers) < 2 or unknown > FEW_ODD * len(present) or len(counts) > len(numbers):
        return []
    readable = read_numbers(numbers, delimiter)[0] is not None
    return [cell for cell, _ in counts.most_common()] if readable else []


def _mixed(present, odd):
    if not odd:  # 12 % and 0.12, or 1.5 and 1.234,5
        examples = " and ".join(said(cell, 20) for cell, _ in Counter(present).most_common(2))
        return f"mixed: numbers written in ways that do not go together, such as {examples}; "
    commonest = [said(cell, 20) for cell, _ in Counter(odd).most_common(3)]
    is_are = "is not" if len(odd) == 1 else "are not"
    return (
        f"mixed: {counted(len(present) - len(odd), 'cell')} of numbers, {len(odd):,} {is_are} "
        f"({', '.join(commonest)}); "
    )


def _day(cell):
    """Return the days from 1970 to a date or time in the format of ISO 8601, or None."""
    if not _DATE.fullmatch(cell):
        return None
    try:
        moment = datetime.datetime.fromisoformat(cell)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=datetime.UTC)
    return (moment - _EPOCH) / datetime.timedelta(days=1)


def _is_identifier(name, values, rows):
    """Say whether numbers identify rows: they count them, or all differ and the name says so."""
    if not np.isfinite(values).all() or not (values == np.round(values)).all():
        return False
    if len(values) < 2 or len(np.unique(values)) < len(values):
        return False
    counts_rows = len(np.unique(values - rows)) == 1
    words = {word.lower() for word in _WORDS.findall(name)}
    return counts_rows or bool(words & _IDENTIFYING)


def _prepare_numbers(column, missing, present, how):
    """Fill gaps with the median and standardise; if they are many, add a column saying where."""
    finite = np.isfinite(present)
    n_infinite = int((~finite).sum())
    values = np.full(len(missing), np.nan)
    values[~missing] = np.where(finite, present, np.nan)
    gone = np.isnan(values)
    known = values[~gone]
    n_missing = int(gone.sum())
    if not len(known) or (known.min() == known.max() and not n_missing):
        note = "left out: it holds no finite value" if not len(known) else "left out: constant"
        return None, ColumnNote(column.name, "left out", n_missing, note)
    median = _median(known)
    parts = [_standardised(np.where(gone, median, values))]
    done = ["read as a date, in days" if how == "date" else f"read as a {how}"]
    if n_infinite:
        done.append(f"{counted(n_infinite, 'infinite value')} taken as missing")
    if n_missing:
        shown = "the middle date" if how == "date" else f"the median, {number_text(median)}"
        done.append(f"missing cells filled with {shown}")
    if n_missing > INDICATED * len(values) or known.min() == known.max():
        parts.append(_standardised(gone.astype(float)))
        done.append("one more column says where they were")
    parts = [part for part in parts if part.any()]
    if not parts:
        why = "left out: its values differ by less than numbers of their size can tell"
        return None, ColumnNote(column.name, "left out", n_missing, why)
    matrix = np.column_stack(parts)
    kind = "date" if how == "date" else "number"
    used = Used(column.name, kind, column.cells, values, (), matrix)
    return used, ColumnNote(column.name, kind, n_missing, "; ".join(done))


def _median(known):
    """Return the median, also of numbers so large that the sum of two overflows."""
    scale = 4.0 if np.abs(known).max() > 1e300 else 1.0
    return float(np.median(known / scale)) * scale


def _standardised(values):
    """Return values with mean 0 and standard deviation 1; zeros where all are equal."""
    largest = np.abs(values).max()
    if largest == 0:
        return np.zeros(len(values))
    scaled = values / largest  # squares of very large or very small numbers would overflow
    centred = scaled - scaled.mean()
    deviation = np.sqrt(np.mean(centred**2))
    if deviation > 1e-12:
        return centred / deviation
    if values.min() == 0 or not (values == np.round(values)).all():
        return np.zeros(len(values))  # the differences are rounding
    return _standardised(values - values.min())  # codes of many digits: exact in whole numbers


def _prepare_categories(column, missing, present, odd):
    """Turn a category into one column for each level that is common enough."""
    n_rows = len(missing)
    counts = Counter(present)
    least = max(LEAST_COUNT, LEAST_SHARE * n_rows)
    common = [level for level, count in counts.most_common(MOST_LEVELS) if count >= least]
    places = {level: place for place, level in enumerate(common)}
    other, none = len(common), len(common) + 1
    values = np.array(
        [
            none if gone else places.get(cell, other)
            for cell, gone in zip(column.cells, missing, strict=True)
        ]
    )
    present_levels = np.unique(values)
    if len(present_levels) < 2:
        why = (
            f"left out: {odd}text of {counted(len(counts), 'value')}, none of which is in "
            f"{percent(LEAST_SHARE)} of the rows"
        )
        return None, ColumnNote(column.name, "left out", int(missing.sum()), why)
    levels = tuple([*common, OTHER, NO_VALUE][place] for place in present_levels)
    values = np.searchsorted(present_levels, values)
    indicators = (values[:, None] == np.arange(len(levels))).astype(float)
    # One column is enough for two levels.
    matrix = indicators[:, 1:] if len(levels) == 2 else indicators
    done = f"{odd}read as a category of {counted(len(counts), 'level')}"
    pooled = len(counts) - len(common)
    if pooled:
        done += f"; the {pooled:,} rarest taken together"
    if missing.any():
        done += "; missing as a level of its own"
    used = Used(column.name, "category", column.cells, values, levels, matrix)
    return used, ColumnNote(column.name, "category", int(missing.sum()), done)
