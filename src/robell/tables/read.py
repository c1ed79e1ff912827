"""Tables from files and data frames: CSV, Parquet, pandas and polars, all as cells of text."""

from __future__ import annotations

import codecs
import datetime
import gzip
import numbers
import os
import tempfile
import zlib
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np

from robell._core.array import is_no_value
from robell._tools.files import FileError, copy_pipe
from robell._tools.optional import require
from robell._tools.text import NAME, said
from robell.tables.budget import EACH_VALUE, Budget
from robell.tables.raw import Column, RawTable, number_cell, one_line, require_names
from robell.tables.read_csv import csv_parts, read_csv
from robell.tables.sample import MAX_ROWS, row_limit, sample_places

ARROW_ROWS = 1 << 14
PART_ROWS = 1 << 15
MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}


def read_table(
    source,
    target=None,
    *,
    encoding="utf-8",
    delimiter=None,
    max_rows=MAX_ROWS,
    seed=0,
    budget=None,
):
    """Read a file or a data frame as a RawTable; of one too large, a uniform sample of its rows.

    The name of the target, where there is one, helps to recognise the delimiter of a text file. A
    table that takes more memory than the budget has is refused while it is read.
    """
    budget = Budget() if budget is None else budget
    if not isinstance(source, str | os.PathLike):
        _refuse_text_options("a data frame", encoding, delimiter)
        return _read_frame(source, max_rows, seed, budget)
    path = Path(source)
    if path.is_fifo():
        with tempfile.TemporaryDirectory() as folder, readable(path):
            copy = copy_pipe(path, Path(folder) / path.name)
            how = {"encoding": encoding, "delimiter": delimiter, "budget": budget}
            return read_table(copy, target, **how, max_rows=max_rows, seed=seed)
    with readable(path):
        if is_parquet(path, encoding, delimiter):
            return _read_parquet(path, max_rows, seed, budget)
        return read_csv(path, target, encoding, delimiter, max_rows, seed, budget)


@contextmanager
def readable(path):
    """Turn what may go wrong with a file into one line that names it."""
    try:
        yield
    except FileNotFoundError:
        raise FileError(f"{path}: there is no such file") from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise FileError(f"{path}: the gzip file is damaged ({one_line(error)})") from error
    except OSError as error:
        raise FileError(f"{path}: cannot be read ({error.strerror or one_line(error)})") from error


def is_parquet(path, encoding="utf-8", delimiter=None):
    """Say whether a file is Parquet rather than text; raise where it can be neither."""
    if path.is_dir():
        raise FileError(f"{path}: is a folder; give one file")
    if path.exists() and not path.is_file():
        raise FileError(f"{path}: is a device, not a file")
    with path.open("rb") as file:
        magic = file.read(4)
    if magic == b"PAR1":
        _refuse_text_options(f"{path}: Parquet", encoding, delimiter)
        return True
    _refuse_other_formats(path, magic, encoding)
    return False


def _refuse_text_options(what, encoding, delimiter):
    for name, is_given in (("encoding", encoding != "utf-8"), ("delimiter", delimiter is not None)):
        if is_given:
            raise FileError(f"{what} is no text: it takes no {name}")


def _refuse_other_formats(path, magic, encoding):
    if not magic:
        raise FileError(f"{path}: the file is empty")
    if magic == b"PK\x03\x04":
        raise FileError(f"{path}: looks like an Excel or ZIP file; save the table as CSV first")
    for mark, name in MARKS.items():  # that of UTF-32 begins as that of UTF-16 does
        if magic.startswith(mark):
            if name[-2:] not in encoding:
                shown = name.upper()
                raise FileError(
                    f"{path}: looks like {shown} text: give", parameter="encoding", value=name
                )
            break
    if path.name.lower().endswith((".parquet", ".pq")):
        raise FileError(f"{path}: is no Parquet file, or a damaged one")


def _read_parquet(path, max_rows, seed, budget):
    parquet = require("pyarrow.parquet", "files")
    import pyarrow

    try:
        with parquet.ParquetFile(path, pre_buffer=False) as file:  # all that is read would stay
            names = require_names(path, file.schema_arrow.names)
            n_rows = file.metadata.num_rows
            places = sample_places(n_rows, row_limit(max_rows, len(names)), seed)
            budget.hold(path.name, EACH_VALUE * len(places) * len(names))
            values, start = [[] for _ in names], 0
            for batch in file.iter_batches(ARROW_ROWS, use_threads=False):
                inside = places[(places >= start) & (places < start + batch.num_rows)] - start
                taken = batch.take(pyarrow.array(inside))
                for column, array in zip(values, taken.columns, strict=True):
                    column.extend(arrow_values(array))
                start += batch.num_rows
    except pyarrow.ArrowException as error:
        raise FileError(f"{path}: {one_line(error)}") from error
    if not n_rows:
        raise FileError(f"{path}: there is no row in it")
    columns = tuple(typed_column(name, column) for name, column in zip(names, values, strict=True))
    return RawTable(path.name, columns, places + 1, None, n_rows, "Parquet")


def arrow_values(array):
    """Return the values of an Arrow array; times that Python cannot hold as text."""
    try:
        return array.to_pylist()
    except (OverflowError, ValueError):  # the year 10000, or nanoseconds
        import pyarrow

        return array.cast(pyarrow.string()).to_pylist()


def _read_frame(frame, max_rows, seed, budget):
    if not (hasattr(frame, "columns") and hasattr(frame, "shape")) or len(frame.shape) != 2:
        raise TypeError(
            f"data must be a path or a data frame of pandas or polars, got {type(frame).__name__}"
        )
    names = require_names("the frame", [str(name) for name in frame.columns])
    if not len(frame):
        raise FileError("the frame: there is no row in it")
    places = sample_places(len(frame), row_limit(max_rows, len(names)), seed)
    budget.hold("the frame", EACH_VALUE * len(places) * len(names))
    if hasattr(frame, "iloc"):
        several = (frame.iloc[places, k] for k in range(len(names)))
    else:
        several = (one.gather(places) for one in frame.iter_columns())
    columns = [series_column(one, name) for name, one in zip(names, several, strict=True)]
    return RawTable("table", tuple(columns), places + 1, None, len(frame), "a data frame")


def columns_of(X):
    """Return a table of any kind as columns, those of numbers without a detour through text."""
    if isinstance(X, RawTable):
        return list(X.columns)
    if isinstance(X, list) and all(isinstance(column, Column) for column in X):
        return X
    if hasattr(X, "columns") and hasattr(X, "shape"):
        # Of pandas, items() takes a fifth of the time of a place after the other, which is felt
        # where rows come one by one.
        several = (one for _, one in X.items()) if hasattr(X, "items") else X.iter_columns()
        names = map(str, X.columns)
        return [_numbers_or_cells(one, name) for name, one in zip(names, several, strict=True)]
    X = np.asarray(X)
    if X.dtype.kind in "biuf":
        numbers = X.astype(np.float64).T
        return [Column(f"x{k}", None, "number", values) for k, values in enumerate(numbers)]
    return [typed_column(f"x{k}", values) for k, values in enumerate(X.astype(object).T.tolist())]


def _numbers_or_cells(series, name):
    dtype = series.dtype
    if isinstance(dtype, np.dtype):
        is_number = dtype.kind in "iuf"
    else:
        is_number = bool(getattr(dtype, "is_numeric", bool)()) and not hasattr(dtype, "scale")
    if is_number:
        return Column(name, None, "number", np.asarray(series.to_numpy(), np.float64))
    return series_column(series, name)


def series_column(series, name):
    """Return the column that a pandas or polars series holds."""
    values = series.tolist() if hasattr(series, "tolist") else series.to_list()
    is_category = str(series.dtype).startswith(("category", "Categorical", "Enum"))
    return typed_column(name, values, is_category)


def typed_column(name, values, is_category=False):
    """Return the column of some values as text, with the kind that they have in common.

    Texts are read as the cells of a CSV file are: what they spell decides.
    """
    cells, kinds = [], set()
    for value in values:
        kind, text = _cell(value)
        cells.append(text)
        if kind:
            kinds.add(kind)
    if "other" in kinds:
        return Column(name, cells, "other")
    if is_category:
        return Column(name, cells, "text")
    if "cell" in kinds:
        return Column(name, cells, None)
    return Column(name, cells, kinds.pop() if len(kinds) == 1 else "text")


def _cell(value):
    """Return the kind and the text of one value; None twice where it is missing."""
    if is_no_value(value):
        return None, None
    if isinstance(value, str):
        return "cell", value.strip()
    if isinstance(value, bool | np.bool_):
        return "text", str(bool(value))
    if isinstance(value, numbers.Number) and not isinstance(value, complex):
        return "number", number_cell(value)
    if isinstance(value, datetime.date):  # a datetime is one too
        return "date", value.isoformat()
    if isinstance(value, datetime.timedelta):
        return "number", repr(value.total_seconds())
    if isinstance(value, datetime.time):
        return "text", value.isoformat()
    return "other", str(value)[: 4 * NAME]


# -- several files, and tables in parts -----------------------------------------------


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
