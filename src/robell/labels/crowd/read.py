"""The labels of several annotators in a raw table: columns side by side, or one label a line."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import numpy as np

from robell._tools.files import FileError
from robell._tools.text import said
from robell.tables.columns import ColumnNote, missing_cells
from robell.tables.raw import Column, RawTable
from robell.tables.target import (
    LEAST_OF_CLASS,
    LEAST_ROWS,
    MOST_CLASSES,
    find_column,
    read_spellings,
    require_classes,
    sort_key,
)

MOST_ANNOTATORS = 2_000


class Crowd(NamedTuple):
    """A table of rows, and the labels they were given: three arrays of one entry a label.

    `table` holds the columns that describe the rows, `keys` what the rows are called in the long
    form. `set_aside` are labels given too rarely to be classes, `notes` on columns not to use.
    """

    table: RawTable
    keys: tuple[str, ...] | None
    annotators: tuple[str, ...]
    classes: tuple[str, ...]
    row: np.ndarray
    annotator: np.ndarray
    label: np.ndarray
    set_aside: dict[str, int]
    notes: tuple[ColumnNote, ...]


def read_side_by_side(table, names):
    """Read a table with a column of labels for each annotator."""
    names = tuple(dict.fromkeys((names,) if isinstance(names, str) else names))
    if len(names) < 2:
        raise FileError("labels of at least two annotators are needed: name their columns")
    columns = [table.columns[find_column(table, name)] for name in names]
    rows, who, cells = [], [], []
    for j, column in enumerate(columns):
        present = np.flatnonzero(~missing_cells(column))
        if not len(present):
            raise FileError(f"{table.name}: column {said(column.name)} holds no label")
        rows.append(present)
        who.append(np.full(len(present), j))
        cells += [column.cells[place] for place in present]
    others = tuple(column for column in table.columns if column.name not in set(names))
    found = np.concatenate(rows), np.concatenate(who), cells
    return _crowd(_with_columns(table, others), None, names, found, ())


def read_one_a_line(table, row, annotator, label):
    """Read a table in which each line is one label: of a row, by an annotator.

    The other columns describe the row; they must be the same in all its lines, or are left out.
    """
    places = [find_column(table, name) for name in (row, annotator, label)]
    if len(set(places)) < 3:
        raise FileError("row, annotator and label must be three different columns")
    key, who, given = (table.columns[place] for place in places)
    usable = ~(missing_cells(key) | missing_cells(who) | missing_cells(given))
    if not usable.any():
        raise FileError(f"{table.name}: no line has a row, an annotator and a label")
    lines = np.flatnonzero(usable)
    keys, first, of_row = _codes([key.cells[k] for k in lines])
    names, _, of_annotator = _codes([who.cells[k] for k in lines])
    cells = [given.cells[k] for k in lines]
    kept = _once(table, lines, of_row, of_annotator, cells, keys, names)
    cells = [cells[k] for k in kept]
    own, notes = [], []
    for place, column in enumerate(table.columns):
        if place in places:
            continue
        why = _contradiction(column, lines, first, of_row, keys)
        if why:
            notes.append(ColumnNote(column.name, "left out", 0, why))
        else:
            own.append(column)
    rows = _with_columns(table, tuple(own)).take(lines[first])
    found = of_row[kept], of_annotator[kept], cells
    return _crowd(rows, keys, names, found, tuple(notes))


def _with_columns(table, columns):
    """Return the table with these columns; with none of them it still has its rows."""
    return RawTable(
        table.name, columns, table.rows, table.lines, table.n_rows, table.how, table.delimiter
    )


def _codes(cells):
    """Return the different cells in the order in which they come, where first, and all places."""
    place, first, codes = {}, [], np.empty(len(cells), np.intp)
    for k, cell in enumerate(cells):
        if cell not in place:
            place[cell] = len(place)
            first.append(k)
        codes[k] = place[cell]
    return tuple(place), np.array(first), codes


def _once(table, lines, of_row, of_annotator, cells, keys, names):
    """Return the entries without repeats; two labels of one annotator for a row are an error."""
    seen, kept = {}, []
    for k, pair in enumerate(zip(of_row.tolist(), of_annotator.tolist(), strict=True)):
        before = seen.setdefault(pair, k)
        if before == k:
            kept.append(k)
        elif cells[before] != cells[k]:
            raise FileError(
                f"{table.name}: {said(names[pair[1]], 30)} gave {said(keys[pair[0]], 30)} two "
                f"labels, {said(cells[before], 30)} ({table.where(lines[before])}) and "
                f"{said(cells[k], 30)} ({table.where(lines[k])})"
            )
    return np.array(kept)


def _contradiction(column: Column, lines, first, of_row, keys):
    """Say where a column differs between lines of one row; "" where it nowhere does."""
    cells = [column.cells[k] for k in lines]
    for k, row in enumerate(of_row.tolist()):
        if cells[k] != cells[first[row]]:
            return f"left out: differs between lines of the same row, such as {said(keys[row], 30)}"
    return ""


def _crowd(table, keys, names, found, notes):
    """Turn cells into classes, and check that there are enough of everything."""
    row, who, cells = found
    if len(names) > MOST_ANNOTATORS:
        raise FileError(
            f"{table.name}: {len(names):,} annotators; at most {MOST_ANNOTATORS:,} can be compared"
        )
    cells = read_spellings(cells)
    counts = Counter(cells)
    where = f"{table.name}: the labels"
    require_classes(where, counts, len(cells))
    small = {label: n for label, n in counts.items() if n < LEAST_OF_CLASS}
    classes = tuple(sorted(set(counts) - set(small), key=sort_key))
    if len(classes) < 2:
        raise FileError(
            f"{where}: fewer than two classes were given {LEAST_OF_CLASS} times or more"
        )
    if len(classes) > MOST_CLASSES:
        raise FileError(f"{where}: {len(classes):,} classes; at most {MOST_CLASSES} can be used")
    place = {label: k for k, label in enumerate(classes)}
    usable = np.array([cell in place for cell in cells])
    codes = np.array([place[cell] for cell in cells if cell in place])
    row, who = row[usable], who[usable]
    if len(np.unique(row)) < LEAST_ROWS:
        raise FileError(
            f"{where}: only {len(np.unique(row)):,} rows have one; at least {LEAST_ROWS} are needed"
        )
    return Crowd(table, keys, names, classes, row, who, codes, small, notes)
