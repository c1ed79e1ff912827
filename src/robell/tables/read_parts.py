"""Tables of several files, and tables too large to be read at once: samples, and parts in order."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from robell._tools.files import FileError
from robell._tools.optional import require
from robell._tools.text import said
from robell.tables.raw import Column, RawTable, one_line, require_names
from robell.tables.read import arrow_values, is_parquet, read_table, readable, typed_column
from robell.tables.read_csv import csv_parts
from robell.tables.sample import row_limit

PART_ROWS = 1 << 15


def read_tables(paths, target, *, encoding, delimiter, max_rows, seed):
    """Read one or several files of the same columns as one RawTable, sampled where too large."""
    text = {"encoding": encoding, "delimiter": delimiter, "max_rows": max_rows, "seed": seed}
    tables = [read_table(path, target, **text) for path in paths]
    if len(tables) == 1:
        return tables[0]
    first = tables[0]
    names = [column.name for column in first.columns]
    tables = [_in_order(table, names, first.name) for table in tables]
    limit = row_limit(max_rows, len(names))
    sizes = [table.n_rows for table in tables]
    if sum(sizes) > limit:  # as many rows of each as a sample of all would have
        rng = np.random.default_rng(seed)
        shares = rng.multivariate_hypergeometric(sizes, limit, method="marginals")
        shares = [min(share, len(table.rows)) for share, table in zip(shares, tables, strict=True)]
        chosen = [
            np.sort(rng.choice(len(table.rows), share, replace=False))
            for share, table in zip(shares, tables, strict=True)
        ]
        tables = [table.take(places) for table, places in zip(tables, chosen, strict=True)]
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    columns = tuple(_joined([table.columns[k] for table in tables]) for k in range(len(names)))
    rows = np.concatenate([t.rows + start for t, start in zip(tables, starts, strict=True)])
    name = f"{first.name} and {len(tables) - 1} more"
    return RawTable(name, columns, rows, None, sum(sizes), first.how, first.delimiter)


def _in_order(table, names, first):
    """Return a table with its columns in the order of these names; all of them must be there."""
    of_name = {column.name: column for column in table.columns}
    for name in names:
        if name not in of_name:
            raise FileError(f"{table.name}: there is no column {said(name)}, which {first} has")
    for name in of_name:
        if name not in names:
            raise FileError(f"{table.name}: column {said(name)} is not in {first}")
    return replace(table, columns=tuple(of_name[name] for name in names))


def _joined(columns):
    kinds = {column.kind for column in columns}
    kind = kinds.pop() if len(kinds) == 1 else "other" if "other" in kinds else None
    return Column(columns[0].name, [cell for column in columns for cell in column.cells], kind)


def table_parts(path, target=None, *, encoding="utf-8", delimiter=None, n_rows=PART_ROWS):
    """Yield the rows of a file in their order as RawTables of at most so many rows."""
    path = Path(path)
    with readable(path):
        if is_parquet(path, encoding, delimiter):
            yield from _parquet_parts(path, n_rows)
        else:
            yield from csv_parts(path, target, encoding, delimiter, n_rows)


def _parquet_parts(path, n_rows):
    parquet = require("pyarrow.parquet", "files")
    import pyarrow

    start = 0
    try:
        with parquet.ParquetFile(path, pre_buffer=False) as file:  # all that is read would stay
            names = require_names(path, file.schema_arrow.names)
            for batch in file.iter_batches(n_rows, use_threads=False):
                columns = tuple(
                    _arrow_column(name, array)
                    for name, array in zip(names, batch.columns, strict=True)
                )
                rows = np.arange(batch.num_rows) + start + 1
                yield RawTable(path.name, columns, rows, None, batch.num_rows, "Parquet")
                start += batch.num_rows
    except pyarrow.ArrowException as error:
        raise FileError(f"{path}: {one_line(error)}") from error
    if not start:
        raise FileError(f"{path}: there is no row in it")


def _arrow_column(name, array):
    """Return a column of Arrow's, one of numbers without a detour through text."""
    from pyarrow import types

    if types.is_integer(array.type) or types.is_floating(array.type):
        numbers = array.to_numpy(zero_copy_only=False).astype(np.float64)
        return Column(name, None, "number", numbers)
    return typed_column(name, arrow_values(array))
