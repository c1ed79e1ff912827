"""Tables from files and data frames, all as cells of text; of a large one a sample of its rows."""

from __future__ import annotations

import codecs
import gzip
import math
import os
import random
import tempfile
import zlib
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robell._tools.files import FileError, copy_pipe, parse_bytes
from robell._tools.text import said
from robell.tables import raw, read_csv
from robell.tables.columns import missing_cells, numbers_of
from robell.tables.excel import EXCEL, sheet_table
from robell.tables.raw import Column, RawTable, one_line, require_names

MAX_ROWS = 200_000
MAX_CELLS = 10_000_000  # rows x columns kept in memory
LEAST_SAMPLE = 1_000  # rows kept, however many columns there are
ARROW_ROWS = 1 << 14
PART_ROWS = 1 << 15
MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}


def read_table(
    source, target=None, *, encoding="utf-8", delimiter=None, max_rows=MAX_ROWS, seed=0, budget=None
):
    """Read a file or a data frame as a RawTable; of one too large, a uniform sample of its rows.

    The name of the target helps to recognise the delimiter of a text file. A table that takes more
    memory than the budget has is refused while it is read.
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
    import pyarrow

    with readable(path):
        found = _open_table(path, target, encoding, delimiter, ARROW_ROWS)
        names, batches, (n_rows, how, delimiter) = found
        sample = Sample(row_limit(max_rows, len(names)), seed)
        if n_rows is not None:
            budget.require(path.name, held=EACH_VALUE * min(n_rows, sample.size) * len(names))
        places = lines = np.empty(0, np.intp)
        parts: list[Any] = []
        n_bytes = 0

        def merged():
            """Return what was drawn without the rows that later ones have replaced."""
            kept = np.isin(places, sample.places)
            table = pyarrow.Table.from_batches(parts)
            table = table if kept.all() else table.filter(pyarrow.array(kept))
            return table, places[kept], lines[kept] if len(lines) else lines

        for batch, batch_lines in batches:
            if not batch.num_rows:
                continue
            drawn = sample.draw(batch.num_rows)
            is_whole = len(drawn) == batch.num_rows
            parts.append(batch if is_whole else batch.take(pyarrow.array(drawn)))
            places = np.append(places, drawn + sample.seen - batch.num_rows)
            if batch_lines is not None:
                lines = np.append(lines, batch_lines[drawn])
            if len(places) > 2 * sample.size:
                table, places, lines = merged()
                parts, n_bytes = table.to_batches(), table.nbytes
            n_bytes += parts[-1].nbytes
            if n_rows is None and n_bytes > budget.limit:
                break
        if not sample.seen:
            raise _no_rows(path, how)
        table, places, lines = merged()
        arrays = table.columns
        # Each column as it was read is let go once its texts are trimmed.
        del table, batch, parts[:]
        columns = tuple(raw.arrow_column(name, arrays.pop(0)) for name in names)
        if n_rows is None:
            # As it is read, decoded and watched
            block = min(4 * path.stat().st_size, read_csv.BLOCK)
            budget.require(path.name, held=block + sum(map(_memory_of_texts, columns)))
        codec = read_csv.codec_to_write(path, encoding) if how.startswith("text") else "utf-8"
        has_lines = lines if n_rows is None else None
        return RawTable(
            path.name, columns, places + 1, has_lines, sample.seen, how, delimiter, codec
        )


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


def kind_of(path, encoding="utf-8", delimiter=None):
    """Return "Parquet", "Excel" or "text", what a file holds; raise where it is none of these."""
    if path.is_dir():
        raise FileError(f"{path}: is a folder; give one file")
    if path.exists() and not path.is_file():
        raise FileError(f"{path}: is a device, not a file")
    with path.open("rb") as file:
        magic = file.read(4)
    if magic == b"PAR1":
        _refuse_text_options(f"{path}: Parquet", encoding, delimiter)
        return "Parquet"
    is_zip, name = magic == b"PK\x03\x04", path.name.lower()
    if is_zip and name.endswith(EXCEL):
        _refuse_text_options(f"{path}: a workbook", encoding, delimiter)
        return "Excel"
    if not magic:
        raise FileError(f"{path}: the file is empty")
    if is_zip:
        raise FileError(
            f"{path}: looks like an Excel or ZIP file; save the table as .xlsx or as CSV first"
        )
    # The mark of UTF-32 begins as that of UTF-16 does, and stands before it.
    codec = MARKS.get(magic) or MARKS.get(magic[:2], "")
    if codec[-2:] not in encoding:
        shown = f"{path}: looks like {codec.upper()} text: give"
        raise FileError(shown, parameter="encoding", value=codec)
    if name.endswith((".parquet", ".pq")):
        raise FileError(f"{path}: is no Parquet file, or a damaged one")
    return "text"


def _refuse_text_options(what, encoding, delimiter):
    for name, given, usual in (("encoding", encoding, "utf-8"), ("delimiter", delimiter, None)):
        if given != usual:
            raise FileError(f"{what} is no text: it takes no {name}")


def _open_table(path, target, encoding, delimiter, n_rows):
    """Return a file's columns, its batches of rows with their lines, and (rows, how, delimiter)."""
    kind = kind_of(path, encoding, delimiter)
    if kind == "Parquet":
        import pyarrow.parquet

        with arrow_errors(path):
            metadata = pyarrow.parquet.read_metadata(path)
            names = require_names(path, metadata.schema.to_arrow_schema().names)
        return names, _parquet_batches(path, n_rows), (metadata.num_rows, "Parquet", ",")
    if kind == "Excel":
        names, rows = sheet_table(path)
        how = "the first sheet of an Excel workbook"
        return names, read_csv.batches_of(rows, range(len(names)), n_rows), (None, how, ",")
    delimiter = read_csv.find_delimiter(path, target, encoding, delimiter)
    header = next(read_csv.records_of(path, encoding, delimiter))
    names = require_names(path, header.cells)
    how = f"text, its cells set apart by {read_csv.called(delimiter)}"
    return names, read_csv.text_batches(path, encoding, delimiter, header), (None, how, delimiter)


def _no_rows(path, how):
    """Return the error of a table without rows."""
    what = "no row in it" if how == "Parquet" else "a header and no row below it"
    return FileError(f"{path}: there is {what}")


def _parquet_batches(path, n_rows):
    import pyarrow.parquet

    with (
        arrow_errors(path),
        pyarrow.parquet.ParquetFile(path, pre_buffer=False) as file,  # all that is read would stay
    ):
        for batch in file.iter_batches(n_rows, use_threads=False):
            yield batch, None


@contextmanager
def arrow_errors(path):
    """Turn an error of Arrow into one line that names the file."""
    import pyarrow

    try:
        yield
    except pyarrow.ArrowException as error:
        raise FileError(f"{path}: {one_line(error)}") from error
    except UnicodeDecodeError as error:
        where = "perhaps the name of a column"
        raise FileError(f"{path}: it holds text that is not UTF-8, {where}") from error


def _read_frame(frame, max_rows, seed, budget):
    is_frame = hasattr(frame, "columns") and hasattr(frame, "shape") and len(frame.shape) == 2
    # The columns of a table of Arrow have no names; a frame may have one that is called so.
    if not is_frame or hasattr(type(frame), "column_names"):
        raise TypeError(
            "data must be a path or a data frame of pandas or polars, such as pandas.DataFrame(X); "
            f"got {type(frame).__name__}"
        )
    names = require_names("the frame", [str(name) for name in frame.columns])
    if not len(frame):
        raise FileError("the frame: there is no row in it")
    places = sample_places(len(frame), row_limit(max_rows, len(names)), seed)
    budget.require("the frame", held=EACH_VALUE * len(places) * len(names))
    columns = columns_of(frame.iloc[places] if hasattr(frame, "iloc") else frame[places])
    return RawTable("table", tuple(columns), places + 1, None, len(frame), "a data frame")


def columns_of(X):
    """Return a table of any kind as columns, those of numbers without a detour through text."""
    if isinstance(X, RawTable):
        return list(X.columns)
    if isinstance(X, list) and (not X or isinstance(X[0], Column)):
        return X
    if hasattr(X, "columns") and hasattr(X, "shape"):
        # Of pandas, items() takes a fifth of the time of a place after the other, which is felt
        # where rows come one by one.
        names = require_names("the frame", map(str, X.columns))
        several = (one for _, one in X.items()) if hasattr(X, "items") else X.iter_columns()
        return [series_column(one, name) for name, one in zip(names, several, strict=True)]
    X = np.asarray(X)
    if X.dtype.kind in "biuf":
        numbers = X.astype(np.float64).T
        return [Column(f"x{k}", None, "number", values) for k, values in enumerate(numbers)]
    return [
        raw.typed_column(f"x{k}", values) for k, values in enumerate(X.astype(object).T.tolist())
    ]


def series_column(series, name):
    """Return the column that a pandas or polars series holds."""
    if isinstance(series.dtype, np.dtype):
        is_number = series.dtype.kind in "iuf"
    else:  # of polars; its whole numbers come as fractions where some are missing
        is_number = getattr(series.dtype, "is_float", bool)()
        is_number = is_number or (
            getattr(series.dtype, "is_integer", bool)()
            and not series.null_count()
            and "128" not in str(series.dtype)  # NumPy has no such numbers
        )
    if is_number:
        numbers = series.to_numpy()
        return Column(name, None, "number", numbers.astype(np.float64), numbers)
    values = series.tolist() if hasattr(series, "tolist") else series.to_list()
    is_category = str(series.dtype).startswith(("category", "Categorical", "Enum", "dictionary"))
    return raw.typed_column(name, values, is_category)


# -- several files, and tables in parts -----------------------------------------------


def read_tables(paths, target, *, encoding, delimiter, max_rows, seed):
    """Read one or several files of the same columns as one RawTable, sampled where too large."""
    how = {"encoding": encoding, "delimiter": delimiter, "max_rows": max_rows, "seed": seed}
    tables = [read_table(path, target, **how) for path in paths]
    if len(tables) == 1:
        return tables[0]
    first, names = tables[0], tables[0].names
    for k, table in enumerate(tables):  # all of them with the columns in the order of the first
        of_name = {column.name: column for column in table.columns}
        for name in names:
            if name not in of_name:
                where = f"{table.name}: there is no column {said(name)}"
                raise FileError(f"{where}, which {first.name} has")
        for name in of_name:
            if name not in names:
                raise FileError(f"{table.name}: column {said(name)} is not in {first.name}")
        tables[k] = replace(table, columns=tuple(of_name[name] for name in names))
    if len({table.delimiter for table in tables}) > 1:
        for k in range(len(names)):
            _require_one_reading(tables, k)
    limit = row_limit(max_rows, len(names))
    sizes = [table.n_rows for table in tables]
    if sum(sizes) > limit:  # as many rows of each as a sample of all would have
        rng = np.random.default_rng(seed)
        shares = rng.multivariate_hypergeometric(sizes, limit, method="marginals")
        for k, (table, share) in enumerate(zip(tables, shares, strict=True)):
            n_held = len(table.rows)
            chosen = rng.choice(n_held, min(share, n_held), replace=False)
            tables[k] = table.take(np.sort(chosen))
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    columns = tuple(_joined([table.columns[k] for table in tables]) for k in range(len(names)))
    rows = np.concatenate([t.rows + start for t, start in zip(tables, starts, strict=True)])
    name = f"{first.name} and {len(tables) - 1} more"
    return RawTable(name, columns, rows, None, sum(sizes), first.how, first.delimiter)


def _require_one_reading(tables, place):
    """Raise where cells of a file, by itself, are other numbers than among all files' cells."""
    columns, first = [table.columns[place] for table in tables], tables[0]
    present = [column.without(missing_cells(column)) for column in columns]
    every = [cell for cells in present for cell in cells]
    together, start = numbers_of(every, first.delimiter, _joined(columns).kind)[0], 0
    for table, cells in zip(tables, present, strict=True):
        own = numbers_of(cells, table.delimiter, table.columns[place].kind)[0] if cells else None
        if own is not None and together is not None:
            there = together[start : start + len(cells)]
            if not np.array_equal(own, there, equal_nan=True):
                raise FileError(
                    f"{table.name}: column {said(columns[0].name)} would mean other "
                    f"numbers beside those of {first.name}, where the cells are set apart by "
                    f"{read_csv.called(first.delimiter)}: write the numbers of all files alike"
                )
        start += len(cells)


def _joined(columns):
    kinds = {column.kind for column in columns}
    kind = kinds.pop() if len(kinds) == 1 else "other" if "other" in kinds else None
    return Column(columns[0].name, [cell for column in columns for cell in column.cells], kind)


def table_parts(path, target=None, *, encoding="utf-8", delimiter=None, n_rows=PART_ROWS):
    """Yield the rows of a file, or of a frame, in their order as RawTables of so many rows."""
    if hasattr(path, "columns"):
        rows, n_rows = getattr(path, "iloc", path), row_limit(n_rows, path.shape[1])
        yield from (read_table(rows[k : k + n_rows]) for k in range(0, len(path), n_rows))
        return
    path, start = Path(path), 1
    with readable(path):
        names, batches, (_, how, delimiter) = _open_table(path, target, encoding, delimiter, n_rows)
        for part in _equally_large(batches, n_rows):
            columns = tuple(map(raw.arrow_column, names, part.columns))
            rows = np.arange(part.num_rows) + start
            yield RawTable(path.name, columns, rows, None, part.num_rows, how, delimiter)
            start += part.num_rows
        if start == 1:
            raise _no_rows(path, how)


def _equally_large(batches, n_rows):
    """Yield the rows of batches as Arrow tables of so many rows, the last of fewer."""
    import pyarrow

    held, size = [], 0
    for batch, _ in batches:
        held.append(batch)
        size += batch.num_rows
        if size >= n_rows:
            table = pyarrow.Table.from_batches(held)
            whole = size - size % n_rows
            yield from (table.slice(start, n_rows) for start in range(0, whole, n_rows))
            held, size = table.slice(whole).to_batches(), size - whole
    if size:
        yield pyarrow.Table.from_batches(held)


# -- how much of a table is held: a uniform sample of its rows, and their memory ---------


def row_limit(max_rows: int, n_columns: int) -> int:
    """Return how many rows are kept of a table with so many columns."""
    return min(max_rows, max(LEAST_SAMPLE, MAX_CELLS // max(1, n_columns)))


def sample_places(n_rows: int, limit: int, seed: int) -> NDArray[np.intp]:
    """Return the sorted places of the rows that a :class:`Sample` keeps of so many."""
    sample = Sample(limit, seed)
    sample.draw(n_rows)
    return sample.places


def evenly(n_rows: int, most: int) -> NDArray[np.intp]:
    """Return the places of evenly spaced rows, of all where there are no more than ``most``."""
    return np.linspace(0, n_rows - 1, min(n_rows, most)).astype(np.intp)


class Sample:
    """A uniform sample of a stream: the first rows fill it, later ones replace (algorithm L)."""

    def __init__(self, size: int, seed: int) -> None:
        self.size, self.seen = size, 0
        self._kept: list[int] = []  # the place of each row that is kept
        self._next = size  # the place of the next row that is drawn
        self._random = random.Random(seed)
        self._weight = 1.0
        self._skip()

    def _skip(self) -> None:
        """Draw how many rows are passed over before the next one is taken."""
        self._weight *= math.exp(math.log(1.0 - self._random.random()) / self.size)
        self._weight = min(self._weight, 1.0 - 1e-15)
        passed = math.log(1.0 - self._random.random()) / math.log1p(-self._weight)
        self._next += math.floor(passed)

    def draw(self, n_rows: int) -> NDArray[np.intp]:
        """Draw from the next rows of the stream; return which of them, from 0 on, are drawn."""
        start, self.seen = self.seen, self.seen + n_rows
        drawn = list(range(start, min(self.seen, self.size)))
        self._kept += drawn
        while self._next < self.seen:
            drawn.append(self._next)
            self._kept[self._random.randrange(self.size)] = self._next
            self._next += 1
            self._skip()
        return np.array(drawn, np.intp) - start

    @property
    def places(self) -> NDArray[np.intp]:
        """The sorted places, from 0 on, of the rows that are kept."""
        return np.sort(np.array(self._kept, np.intp))


# -- memory ----------------------------------------------------------------------------
# Bytes, as measured; a little more rather than less.

EACH_CELL = 24  # where a cell is kept
EACH_TEXT = 60  # a distinct text of its own, and its characters
EACH_VALUE = 180  # a cell of a Parquet file or a data frame, as a value and as text


def _memory_of_texts(column: Column) -> int:
    """Return the memory of an Arrow array of texts and of the cells that may be made of it."""
    array = column.array
    n_distinct = len(array.unique()) if raw.has_many_equal(array) else len(array)
    share = n_distinct / max(1, len(array))
    own = array.nbytes * (2 + share)  # once more while its parts are put together
    return int(own + EACH_CELL * len(array) + EACH_TEXT * n_distinct)


class Budget:
    """Memory for one table after the other; ``held`` is what the present one takes as text."""

    def __init__(self, limit: int | str | None = None) -> None:
        self.limit = math.inf if limit is None else parse_bytes(limit)
        self.held = 0

    def require(self, name: str, more: int = 0, held: int | None = None) -> None:
        """Raise where a table, ``held`` as text, and what is made of it take more than there is."""
        self.held = self.held if held is None else held
        if self.held + more > self.limit:
            raise FileError(
                f"{name}: needs {(self.held + more) / 2**20:,.0f} MiB at least, by estimate, and "
                f"the memory limit leaves {self.limit / 2**20:,.0f} MiB: take fewer rows or "
                "columns, or allow more with",
                parameter="memory_limit",
            )
