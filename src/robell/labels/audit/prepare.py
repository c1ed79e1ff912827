"""The columns of a table made ready to judge labels by, those left out told apart."""

from __future__ import annotations

from robell._tools.files import FileError
from robell._tools.text import counted
from robell.tables.columns import prepare_column
from robell.tables.target import find_column

MOST_COLUMNS = 2_000  # of numbers, categories spread out


def prepare_columns(table, features, leak_of, budget):
    """Return the columns to judge by, notes on all, and how columns repeat the target (leaks)."""
    used, notes, leaks, n_columns = [], [], [], 0
    for column in features:
        prepared, note = prepare_column(column, table.rows, delimiter=table.delimiter)
        leak = prepared and leak_of(prepared)
        if leak:
            leaks.append(leak)
            prepared, note = None, leak.left_out(note)
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


def dropped_columns(table, drop):
    """Return the names of the columns to leave out; raise where there is no such column."""
    drop = tuple(dict.fromkeys((drop,) if isinstance(drop, str) else drop))
    known = {column.name for column in table.columns}
    for name in drop:
        if name not in known:
            find_column(table, name)  # raises, and names what is near
    return drop
