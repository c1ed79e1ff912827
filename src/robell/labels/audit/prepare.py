"""The columns of a table made ready to judge labels by, those left out told apart."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from robell._tools.files import FileError
from robell._tools.text import counted, said
from robell.tables.columns import ColumnNote, prepare_column
from robell.tables.target import find_column

MOST_COLUMNS = 2_000  # of numbers, categories spread out
PREPARED_CELLS = 40_000_000  # rows x columns of numbers


def prepare_columns(table, features, leak_of, budget):
    """Return the columns to judge by, notes on all, and the columns that repeat the target.

    ``leak_of`` returns how a column repeats the target, None where it does not.
    """
    used, notes, leaks, n_columns = [], [], [], 0
    for column in features:
        prepared, note = prepare_column(column, table.rows, delimiter=table.delimiter)
        leak = prepared and leak_of(prepared)
        if leak:
            leaks.append(leak)
            why = f"left out: repeats the target in {100 * leak.agreement:.4g} % of the rows"
            prepared, note = None, replace(note, kind="left out", done=why)
        notes.append(note)
        if prepared is not None:
            used.append(prepared)
            n_columns += prepared.matrix.shape[1]
            budget.require(table.name, 8 * len(table.rows) * n_columns)
        if n_columns > MOST_COLUMNS:  # before the rest of a wide table is prepared for nothing
            raise FileError(
                f"{table.name}: its {counted(len(features), 'column')} come to more than "
                f"{MOST_COLUMNS:,} once categories are spread out, which is all that the audit "
                "takes: leave some out with",
                parameter="drop",
            )
    return tuple(used), tuple(notes), tuple(leaks)


def dropped_notes(drop):
    """Return the notes on columns that somebody asked to leave out."""
    return tuple(ColumnNote(name, "left out", 0, "left out, as asked") for name in drop)


def fewer_rows(table, n_audited, n_columns, random_state):
    """Return a random part of a table that is too large once its columns are spread, else None."""
    most = PREPARED_CELLS // n_columns
    if n_audited <= most:
        return None
    chosen = np.random.default_rng(random_state).choice(len(table.rows), most, replace=False)
    return table.take(np.sort(chosen))


def judging_bytes(n_rows, n_columns, scores_a_row):
    """Return about how many bytes the columns and their judgement take, as measured."""
    cells = n_rows * (5 * n_columns + scores_a_row)  # columns, copies of them, and scores
    return 8 * (cells + 24 * n_columns**2) + (100 << 20)  # Gram matrices; blocks and the page


def nothing_left(name, notes):
    """Say why no column is left to judge by."""
    if not notes:
        return f"{name}: there is no column besides the target to judge by"
    reasons = "; ".join(f"{said(note.name, 30)} {note.done}" for note in notes[:3])
    more = f"; and {len(notes) - 3:,} more" if len(notes) > 3 else ""
    return f"{name}: no column is left to judge by: {reasons}{more}"


def dropped_columns(table, drop):
    """Return the names of the columns to leave out; raise where there is no such column."""
    drop = tuple(dict.fromkeys((drop,) if isinstance(drop, str) else drop))
    known = {column.name for column in table.columns}
    for name in drop:
        if name not in known:
            find_column(table, name)  # raises, and names what is near
    return drop
