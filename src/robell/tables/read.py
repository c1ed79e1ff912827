"""Whole tables as text: CSV, Parquet and data frames, with where each row stands in its file."""

from __future__ import annotations

import codecs
import csv
import datetime
import gzip
import io
import math
import numbers
import os
import random
import zlib
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from robell._core.tools.files import FileError
from robell._core.tools.optional import require
from robell._core.tools.progress import Progress
from robell.report.text import NAME, said

DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "vertical bar"}
MAX_ROWS = 200_000
MAX_CELLS = 10_000_000  # rows x columns kept in memory
LEAST_SAMPLE = 1_000  # rows kept however many columns there are
SNIFFED = 1 << 16  # characters the delimiter is found from
LONGEST_LINE = 1 << 24  # characters; a longer one is no line of a table
ARROW_ROWS = 1 << 14
CACHED = 4_096  # distinct cells of a column that are kept once for all rows


@dataclass(frozen=True)
class Column:
    """Cells of one column.

    `kind` is what the source says the column holds ("number", "text", "date" or "other"), or
    None where it says nothing, as in CSV files. A cell is None where the source has no value.
    """

    name: str
    cells: list
    kind: str | None = None


@dataclass(frozen=True)
class RawTable:
    """Rows as they were read.

    `rows` are numbers of rows from 1 on, `lines` the lines of a text file they begin at.
    """

    name: str
    columns: tuple[Column, ...]
    rows: np.ndarray
    lines: np.ndarray | None
    n_rows: int
    how: str
    delimiter: str = ","

    def take(self, places):
        """Return the table of some rows, by their places."""
        columns = tuple(replace(c, cells=[c.cells[p] for p in places]) for c in self.columns)
        lines = None if self.lines is None else self.lines[places]
        return replace(self, columns=columns, rows=self.rows[places], lines=lines)

    def where(self, place):
        """Say in two words where a row is to be found."""
        if self.lines is None:
            return f"row {self.rows[place]:,}"
        return f"line {self.lines[place]:,}"


def read_table(source, target, *, encoding="utf-8", delimiter=None, max_rows=MAX_ROWS, seed=0):
    """Read a file or a data frame; of one too large, a uniform sample of its rows.

    Parameters
    ----------
    source : path-like or data frame
        CSV (also gzipped), Parquet, or a frame of pandas or polars.
    target : str
        The column of labels; helps to recognise the delimiter.
    encoding : str, default="utf-8"
        Of text files.
    delimiter : str, default=None
        What sets cells of a text file apart; found out when None.
    max_rows : int, default=200000
        Rows that are kept.
    seed : int, default=0
        Of the sample.

    Returns
    -------
    table : RawTable
    """
    if not isinstance(source, str | os.PathLike):
        _refuse_text_options("a data frame", encoding, delimiter)
        return _read_frame(source, max_rows, seed)
    path = Path(source)
    try:
        if path.is_dir():
            raise FileError(f"{path}: is a folder; the audit takes one file")
        with path.open("rb") as file:
            magic = file.read(4)
        if magic == b"PAR1":
            _refuse_text_options(f"{path}: Parquet", encoding, delimiter)
            return _read_parquet(path, max_rows, seed)
        _refuse_other_formats(path, magic, encoding)
        return _read_csv(path, target, encoding, delimiter, max_rows, seed)
    except FileNotFoundError:
        raise FileError(f"{path}: there is no such file") from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise FileError(f"{path}: the gzip file is damaged ({_one_line(error)})") from error
    except OSError as error:
        raise FileError(f"{path}: cannot be read ({error.strerror or _one_line(error)})") from error


def _refuse_text_options(what, encoding, delimiter):
    for name, is_given in (("encoding", encoding != "utf-8"), ("delimiter", delimiter is not None)):
        if is_given:
            raise FileError(f"{what} is no text: it takes no {name}")


def _refuse_other_formats(path, magic, encoding):
    if not magic:
        raise FileError(f"{path}: the file is empty")
    if magic == b"PK\x03\x04":
        raise FileError(f"{path}: looks like an Excel or ZIP file; save the table as CSV first")
    if magic[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) and "16" not in encoding:
        raise FileError(f"{path}: looks like UTF-16 text: give --encoding utf-16")
    if path.name.lower().endswith((".parquet", ".pq")):
        raise FileError(f"{path}: is no Parquet file, or a damaged one")


def _one_line(error):
    return " ".join(str(error).split()) or type(error).__name__


def _require_names(where, names):
    """Return the header's names, unnamed columns numbered, or say which name is there twice."""
    names = [name.strip() or f"column {place}" for place, name in enumerate(names, 1)]
    seen = {}
    for place, name in enumerate(names, 1):
        if name in seen:
            raise FileError(
                f"{where}: two columns are called {said(name)} (columns {seen[name]} and {place})"
            )
        seen[name] = place
    return names


def _row_limit(max_rows, n_columns):
    return min(max_rows, max(LEAST_SAMPLE, MAX_CELLS // max(1, n_columns)))


def _sample(n_rows, limit, seed):
    """Return sorted places of the rows that a stream of so many would leave in the sample."""
    places = np.arange(min(n_rows, limit))
    reservoir = _Reservoir(limit, seed)
    while reservoir.following < n_rows:
        place = reservoir.following
        places[reservoir.seat()] = place
    return np.sort(places)


# -- CSV --------------------------------------------------------------------------------


def _read_csv(path, target, encoding, delimiter, max_rows, seed):
    if delimiter is not None:
        _require_delimiter(delimiter)
    try:
        delimiter = delimiter or _delimiter(path, target, encoding)
        with _open_text(path, encoding) as stream, _reading(path) as progress:
            return _records(path, stream, delimiter, max_rows, seed, progress)
    except UnicodeDecodeError as error:
        raise FileError(_undecodable(path, encoding)) from error
    except UnicodeError as error:  # a missing byte-order mark
        raise FileError(f"{path}: is not {encoding} text ({_one_line(error)})") from error
    except LookupError:
        raise FileError(f"there is no text encoding {encoding!r}") from None


def _require_delimiter(delimiter):
    if len(delimiter) != 1 or delimiter.isalnum() or delimiter in '"\r\n\0.+-':
        raise FileError(
            f"the delimiter must be one sign that is part of no number, text or quotation, "
            f"got {said(delimiter, 20)}"
        )


def _called(delimiter):
    return f"a {DELIMITERS[delimiter]}" if delimiter in DELIMITERS else f"the sign {delimiter!r}"


def _binary(path):
    with path.open("rb") as file:
        is_gzip = file.read(2) == b"\x1f\x8b"
    return gzip.open(path, "rb") if is_gzip else path.open("rb")


def _codec(encoding):
    """Return the codec that also takes a byte-order mark at the start of UTF-8."""
    found = codecs.lookup(encoding)
    if not getattr(found, "_is_text_encoding", True):
        raise LookupError(encoding)
    return "utf-8-sig" if found.name == "utf-8" else found.name


def _open_text(path, encoding):
    codec = _codec(encoding)  # before the file is opened: it may not exist
    return io.TextIOWrapper(_binary(path), encoding=codec, newline="")


def _reading(path):
    return Progress(max(1, path.stat().st_size), "reading")


def _undecodable(path, encoding):
    """Say where the first byte is that is no text of the encoding."""
    codec, offset, line = _codec(encoding), 0, 1
    decoder = codecs.getincrementaldecoder(codec)()
    with _binary(path) as file:
        while chunk := file.read(1 << 20):
            try:
                decoder.decode(chunk)
            except UnicodeDecodeError as error:
                offset += len(chunk) - len(error.object) + error.start
                line += error.object[: error.start].count(b"\n")
                break
            offset += len(chunk)
            line += chunk.count(b"\n")
    other = "latin-1" if codec == "utf-8-sig" else "utf-8"
    return (
        f"{path}: line {line:,} (byte {offset:,}) is not {encoding} text; "
        f"if it was written in another encoding, give that, such as --encoding {other}"
    )


def _delimiter(path, target, encoding):
    """Return the delimiter by which the first lines fall into equally many cells."""
    with _open_text(path, encoding) as stream:
        head = stream.read(SNIFFED)
    if not head.strip():
        raise FileError(f"{path}: the file is empty")
    whole = len(head) < SNIFFED
    scores = {}
    for delimiter in DELIMITERS:
        try:
            records = [
                r for r in csv.reader(io.StringIO(head, newline=""), delimiter=delimiter) if r
            ]
        except csv.Error:
            continue
        if not whole and len(records) > 1:
            records.pop()  # cut off in its middle
        sizes = [len(record) for record in records]
        if sizes and sizes[0] > 1:
            found = any(name.strip() == target for name in records[0])
            scores[delimiter] = (found, sizes.count(sizes[0]) / len(sizes), sizes[0])
    return max(scores, key=scores.get) if scores else ","


def _lines(path, stream, progress):
    """Yield the lines of a text, each of a bearable length and without zero bytes."""
    number = pending = 0
    while line := stream.readline(LONGEST_LINE):
        number += 1
        if len(line) == LONGEST_LINE:
            raise FileError(
                f"{path}: line {number:,} has more than {LONGEST_LINE:,} characters: "
                "this is no table of text"
            )
        if "\0" in line:
            raise FileError(
                f"{path}: line {number:,} holds a zero byte: the file is damaged, or is no text"
            )
        pending += len(line)
        if pending > 1 << 20:
            progress.advance(min(pending, progress.total - progress.done))
            pending = 0
        yield line


def _records(path, stream, delimiter, max_rows, seed, progress):
    """Read the rows, keeping a uniform sample where there are too many."""
    reader = csv.reader(_lines(path, stream, progress), delimiter=delimiter, strict=True)
    records = _numbered(path, reader)
    _, header = next(records, (0, []))
    if not header:
        raise FileError(f"{path}: the file is empty")
    names = _require_names(path, header)
    sample = _Sample(_row_limit(max_rows, len(names)), len(names), seed)
    for line, record in records:
        if len(record) != len(names):
            raise FileError(
                f"{path}: line {line:,} has {len(record)} cells, the header {len(names)}"
                f" (cells are taken to be set apart by {_called(delimiter)})"
            )
        sample.offer(line, record)
    if not sample.seen:
        raise FileError(f"{path}: there is a header and no row below it")
    rows, lines, cells = sample.sorted()
    columns = tuple(Column(name, column) for name, column in zip(names, cells, strict=True))
    how = f"text, its cells set apart by {_called(delimiter)}"
    return RawTable(path.name, columns, rows, lines, sample.seen, how, delimiter)


def _numbered(path, reader):
    """Yield each record with the line it begins at; lines without any cell are passed over."""
    end = 0
    while True:
        try:
            record = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            text = _one_line(error)
            if "end of data" in text or "field limit" in text:
                text = "a quotation mark is opened and not closed"
            raise FileError(f"{path}: line {end + 1:,} cannot be read: {text}") from error
        start, end = end + 1, reader.line_num
        if record:
            yield start, record


class _Reservoir:
    """Which rows of a stream make up a uniform sample of a given size (Li's algorithm L).

    The first rows fill it; then the row at the place `following` takes the seat of another.
    """

    def __init__(self, size, seed):
        self.size, self.following = size, size
        self._random = random.Random(seed)
        self._weight = 1.0
        self._skip()

    def _skip(self):
        """Draw how many rows are passed over before one is taken in again."""
        self._weight *= math.exp(math.log(1.0 - self._random.random()) / self.size)
        self._weight = min(self._weight, 1.0 - 1e-15)
        passed = math.log(1.0 - self._random.random()) / math.log1p(-self._weight)
        self.following += math.floor(passed)

    def seat(self):
        """Return the seat of the row at `following`, and go on to the next one."""
        seat = self._random.randrange(self.size)
        self.following += 1
        self._skip()
        return seat


class _Sample:
    """A uniform sample of rows of text, of a size given beforehand."""

    def __init__(self, size, n_columns, seed):
        self.seen = 0
        self._reservoir = _Reservoir(size, seed)
        self._kept = []
        self._caches = [{} for _ in range(n_columns)]

    def offer(self, line, record):
        """Show the next row."""
        place, self.seen = self.seen, self.seen + 1
        if place < self._reservoir.size:
            self._kept.append((self.seen, line, self._compact(record)))
        elif place == self._reservoir.following:
            self._kept[self._reservoir.seat()] = (self.seen, line, self._compact(record))

    def _compact(self, record):
        """Return the stripped cells, equal ones of a column as one object."""
        cells = []
        for cell, cache in zip(record, self._caches, strict=True):
            cell = cell.strip()
            is_room = len(cache) < CACHED
            cells.append(cache.setdefault(cell, cell) if is_room else cache.get(cell, cell))
        return cells

    def sorted(self):
        """Return numbers of rows, lines, and the cells column by column."""
        self._kept.sort(key=lambda kept: kept[0])
        rows = np.array([kept[0] for kept in self._kept])
        lines = np.array([kept[1] for kept in self._kept])
        return rows, lines, [list(cells) for cells in zip(*(k[2] for k in self._kept), strict=True)]


# -- Parquet and frames -------------------------------------------------------------------


def _read_parquet(path, max_rows, seed):
    parquet = require("pyarrow.parquet", "files")
    import pyarrow

    try:
        with parquet.ParquetFile(path) as file:
            names = _require_names(path, file.schema_arrow.names)
            n_rows = file.metadata.num_rows
            places = _sample(n_rows, _row_limit(max_rows, len(names)), seed)
            values, start = [[] for _ in names], 0
            for batch in file.iter_batches(ARROW_ROWS, use_threads=False):
                inside = places[(places >= start) & (places < start + batch.num_rows)] - start
                taken = batch.take(pyarrow.array(inside))
                for column, array in zip(values, taken.columns, strict=True):
                    column.extend(array.to_pylist())
                start += batch.num_rows
    except pyarrow.ArrowException as error:
        raise FileError(f"{path}: {_one_line(error)}") from error
    if not n_rows:
        raise FileError(f"{path}: there is no row in it")
    columns = tuple(_typed(name, column) for name, column in zip(names, values, strict=True))
    return RawTable(path.name, columns, places + 1, None, n_rows, "Parquet")


def _read_frame(frame, max_rows, seed):
    if not (hasattr(frame, "columns") and hasattr(frame, "shape")) or len(frame.shape) != 2:
        raise TypeError(
            f"data must be a path or a data frame of pandas or polars, got {type(frame).__name__}"
        )
    names = _require_names("the frame", [str(name) for name in frame.columns])
    if not len(frame):
        raise FileError("the frame: there is no row in it")
    places = _sample(len(frame), _row_limit(max_rows, len(names)), seed)
    columns = []
    for place, name in enumerate(names):
        if hasattr(frame, "iloc"):
            values = frame.iloc[places, place].tolist()
        else:
            values = frame[frame.columns[place]].gather(places).to_list()
        columns.append(_typed(name, values))
    return RawTable("table", tuple(columns), places + 1, None, len(frame), "a data frame")


def _typed(name, values):
    """Return a column of typed values as text, with the kind of its values."""
    cells, kinds = [], set()
    for value in values:
        kind, text = _cell(value)
        cells.append(text)
        if kind:
            kinds.add(kind)
    if "other" in kinds:
        return Column(name, cells, "other")
    if kinds == {"number", "text"}:
        return Column(name, cells, None)  # the text decides, as it does in a CSV file
    return Column(name, cells, kinds.pop() if len(kinds) == 1 else "text")


def _cell(value):
    """Return kind and text of one value; neither where there is none."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return None, None
    if isinstance(value, str):
        return "text", value.strip()
    if isinstance(value, bool | np.bool_):
        return "text", str(bool(value))
    if isinstance(value, numbers.Number) and not isinstance(value, complex):
        return (None, None) if value != value else ("number", _number_cell(value))
    if isinstance(value, datetime.date):  # a datetime is one too
        return "date", value.isoformat()
    if isinstance(value, datetime.timedelta):
        return "number", repr(value.total_seconds())
    if isinstance(value, datetime.time):
        return "text", value.isoformat()
    return "other", str(value)[: 4 * NAME]


def _number_cell(value):
    if isinstance(value, numbers.Integral):
        return str(int(value))
    return repr(float(value)).removesuffix(".0")
