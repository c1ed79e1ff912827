"""Columns of text turned into numbers for a model, with a note on what was done to each.

What a column needs to be turned into numbers again, when new rows come, is learnt once and kept as
its plan: a dict of plain values, which any model file can hold.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

import numpy as np

from robell._tools.text import counted, said
from robell.tables.categories import apply_categories, learn_categories, learn_text
from robell.tables.dates import ISO, read_date, read_dates
from robell.tables.identifiers import is_identifier
from robell.tables.numbers import apply_numbers, learn_numbers
from robell.tables.numerals import floats_written, plain_floats, read_numbers, spells_number
from robell.tables.raw import number_cell

MISSING_WORDS = "NA", "N/A", "n/a", "nan", "NaN", "NAN", "null", "NULL", "None", "<NA>", "NaT", "?"
_NO_TEXT, _NO_VALUE = {None, ""}, {None, "", *MISSING_WORDS}
# Between numbers these stand for none; by themselves they may be labels or categories.
_MISSING_AMONG_NUMBERS = {"-", "--", "---", ".", "..", "*", "n.a.", "N.A.", "n. a.", "na", "#N/A"}
_MISSING_AMONG_NUMBERS |= {"#NA", "#NV", "#VALUE!", "#DIV/0!", "#REF!", "none", "Null", "nil"}
FEW_ODD = 0.05  # share of cells up to which a few that are no numbers are taken as missing
TEXT_COLUMNS = 10  # of numbers that stand for one column of words, at the most


@dataclass(frozen=True)
class ColumnNote:
    """What was done to one column, in words.

    `kind` is how it was used: "number", "date", "category", "text" or "left out"; `missing` counts
    the rows without a value.
    """

    name: str
    kind: str
    missing: int
    done: str


@dataclass(frozen=True)
class Used:
    """A column that models can use.

    `values` are numbers, NaN where missing, or places among `levels` (-1: one that the fit has not
    seen); `matrix` holds the columns of numbers that a model gets instead. `unknown` counts cells
    that the fit would not have known: no numbers among numbers, or new levels.
    """

    name: str
    kind: str
    cells: list
    values: np.ndarray
    levels: tuple[str, ...]
    matrix: np.ndarray
    unknown: int = 0

    @property
    def is_number(self):
        """Whether the values are numbers."""
        return self.kind in ("number", "date")


def is_missing(cell, kind=None):
    """Say whether a cell is missing; in a column that its source declares as text, "NA" is not."""
    return cell in (_NO_TEXT if kind == "text" else _NO_VALUE)


def missing_cells(column):
    """Return which cells of a column are missing."""
    if column.values is not None:
        return np.isnan(column.values)
    gone = _NO_TEXT if column.kind == "text" else _NO_VALUE
    return np.fromiter(map(gone.__contains__, column.cells), bool, len(column.cells))


def missing_texts(plan):
    """Return the texts that are no value, whatever new rows come from: the fit has decided."""
    return ("",) if plan.get("declared") else ("", *MISSING_WORDS)


def prepare_column(column, rows, *, delimiter=","):
    """Turn a column into numbers: return it as Used, None if it is left out, and a ColumnNote.

    ``rows`` are the numbers of the rows in the file, by which columns that count them are found;
    the delimiter of the file decides what a comma within a number means.
    """
    plan, note = learn_column(column, rows, delimiter=delimiter)
    return (None if plan is None else apply_plan(plan, column)), note


def learn_column(column, rows, *, delimiter=",", text_columns=TEXT_COLUMNS):
    """Find out how a column is turned into numbers: return its plan, or None, and a ColumnNote."""
    missing = missing_cells(column)
    n_missing = int(missing.sum())

    def left_out(why):
        return None, ColumnNote(column.name, "left out", n_missing, f"left out: {why}")

    if column.kind == "other":
        return left_out("its cells are lists or other structures")
    if missing.all():
        return left_out("it holds no value")
    if column.values is not None:
        present = column.values[~missing]
        if not n_missing and (present == present[0]).all():
            return left_out(f"every row has the same value, {said(number_cell(present[0]), 30)}")
        return _learn_numbers(column, missing, rows, present, "number")
    present = [cell for cell, gone in zip(column.cells, missing, strict=True) if not gone]
    distinct = len(set(present))
    if distinct == 1 and not n_missing:
        return left_out(f"every row has the same value, {said(present[0], 30)}")
    values, how, odd = numbers_of(present, column.kind, delimiter)
    strange = strange_cells(present, delimiter) if odd else []
    if strange:
        return _learn_without(column, strange, present, rows, delimiter)
    if values is not None:
        return _learn_numbers(column, missing, rows, values, how)
    if distinct == len(present) > 1:
        plan, note = learn_text(column.name, missing, present, text_columns)
    else:
        plan, note = learn_categories(column.name, missing, present, odd, text_columns)
    if plan is None:
        return left_out(note)
    return plan | {"declared": column.kind == "text"}, ColumnNote(**note)


def _learn_without(column, strange, present, rows, delimiter):
    """Learn a column of numbers in which a few cells are none, and say which."""
    known = set(strange)
    rest = replace(column, cells=[None if c in known else c for c in column.cells])
    plan, note = learn_column(rest, rows, delimiter=delimiter)
    count = sum(cell in known for cell in present)
    named = ", ".join(said(cell, 20) for cell in strange[:3])
    more = ", ..." if len(strange) > 3 else ""
    done = f"{note.done}; {counted(count, 'cell')} taken as missing ({named}{more})"
    return plan, replace(note, done=done)


def _learn_numbers(column, missing, rows, present, how):
    if not _is_date(how) and is_identifier(column.name, present, rows[~missing]):
        why = "left out: looks like an identifier, a different number in each row"
        return None, ColumnNote(column.name, "left out", int(missing.sum()), why)
    values = np.full(len(missing), np.nan)
    values[~missing] = present
    plan, note = learn_numbers(column.name, values, how, _is_date(how))
    return plan, ColumnNote(**note)


def _is_date(how):
    return how.startswith("date")


def apply_plan(plan, column):
    """Turn the cells of a column into numbers in the way that was learnt from others."""
    found, unknown = read_cells(plan, column)
    if plan["kind"] in ("number", "date"):
        values, matrix = apply_numbers(plan, found)
    else:
        missing = np.fromiter((text is None for text in found), bool, len(found))
        (values, matrix), unknown = apply_categories(plan, found, missing)
    levels = tuple(plan.get("levels", ()))
    return Used(plan["name"], plan["kind"], column.cells, values, levels, matrix, unknown)


def read_cells(plan, column):
    """Return the cells of a column as the fit has learnt to read them, whatever their source.

    Numbers, NaN for none, and how many cells are no numbers; or texts, None for none, and 0.
    """
    gone = {None, *missing_texts(plan)}
    if plan["kind"] not in ("number", "date"):
        if column.cells is not None:
            return [None if cell in gone else cell for cell in column.cells], 0
        return [None if v != v else number_cell(v) for v in column.values.tolist()], 0
    if column.values is not None and plan["kind"] == "number":
        return column.values, 0
    is_plain = plan["kind"] == "number" and (column.kind == "number" or plan["how"] == "number")
    if is_plain and column.cells and None not in column.cells:
        found = plain_floats(column.cells)  # the usual case, and the quickest
        if found is not None:
            return found, 0
    values = np.full(len(column), np.nan)
    if column.cells is None:  # numbers where the fit had dates
        return values, int((~np.isnan(column.values)).sum())
    missing = np.fromiter(map(gone.__contains__, column.cells), bool, len(column))
    present = [cell for cell in column.cells if cell not in gone]
    if plan["kind"] == "date":
        way = plan["how"].removeprefix("date, ")
        table = {cell: _day(cell, way) for cell in set(present)}
        found = np.array([table[cell] for cell in present], np.float64)
    else:
        # Numbers of a typed source are written in the usual way, however the fit's were.
        found = floats_written(present, "number" if column.kind == "number" else plan["how"])
    values[~missing] = found
    unread = [present[k] for k in np.flatnonzero(np.isnan(found))]
    return values, sum(cell not in _MISSING_AMONG_NUMBERS for cell in unread)


def _day(cell, way):
    day = read_date(cell, way)
    day = read_date(cell, ISO) if day is None else day  # as typed sources write dates
    return np.nan if day is None else day


def numbers_of(present, kind, delimiter):
    """Return values and how they were read; None and what did not fit if some are no numbers."""
    if kind == "text":
        return None, "", ""
    if (values := plain_floats(present)) is not None:
        return values, "number", ""
    distinct = set(present)
    table, how = read_numbers(distinct, delimiter)
    if table is None:
        table, way = read_dates(distinct)
        how = f"date, {way}"
    if table is not None:
        return np.array([table[cell] for cell in present]), how, ""
    spelt = {cell: spells_number(cell, delimiter) for cell in distinct}
    odd = [cell for cell in present if not spelt[cell]]
    if len(odd) == len(present):
        return None, "", ""
    return None, "", _mixed(present, odd)


def strange_cells(present, delimiter):
    """Return the few cells that keep a column from being numbers, or none if they are not few."""
    spelt = {cell: spells_number(cell, delimiter) for cell in set(present)}
    counts = Counter(cell for cell in present if not spelt[cell])
    numbers = {cell for cell, is_number in spelt.items() if is_number}
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
