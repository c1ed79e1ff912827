"""Table files that a review is read from and applied to: text line by line, and Parquet."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import zlib
from contextlib import contextmanager
from dataclasses import dataclass

from robell._tools.files import FileError
from robell._tools.optional import require
from robell.tables.raw import RawTable, one_line, require_names
from robell.tables.read import ARROW_ROWS, _cell, arrow_values
from robell.tables.read_csv import (
    _codec,
    _lines,
    _numbered,
    _open_bytes,
    _open_text,
    _undecodable,
    find_delimiter,
)
from robell.tables.target import find_column

PARQUET = (".parquet", ".pq")


@dataclass(frozen=True)
class TextRow:
    """A row of a text file: the line it begins at, its cells, and the text it was read from."""

    line: int
    cells: list[str]
    text: str


class TextTable:
    """A text file as its header and its rows, which can be read as often as needed."""

    def __init__(self, path, target=None, encoding="utf-8", delimiter=None):
        self.path, self.encoding = path, encoding
        with self._readable():
            self.delimiter = find_delimiter(path, target, encoding, delimiter)
        self.header = next(self._records())
        self.names = require_names(path, self.header.cells)

    @contextmanager
    def _readable(self):
        try:
            yield
        except UnicodeDecodeError as error:
            raise _undecodable(self.path, self.encoding) from error
        except LookupError:
            raise FileError(f"there is no text encoding {self.encoding!r}") from None
        except (OSError, EOFError, UnicodeError, zlib.error) as error:
            raise FileError(f"{self.path}: cannot be read ({error})") from error

    def rows(self):
        """Yield the rows below the header; raise where one has too many cells or too few."""
        records = self._records()
        next(records)
        for row in records:
            if len(row.cells) != len(self.names):
                raise FileError(
                    f"{self.path}: line {row.line:,} has {len(row.cells)} cells, the header "
                    f"{len(self.names)}"
                )
            yield row

    def _records(self):
        """Yield the header and the rows; blank lines belong to the text of what follows them."""
        seen = []

        def remembered(lines):
            for line in lines:
                seen.append(line)
                yield line

        with self._readable(), _open_text(self.path, self.encoding) as stream:
            lines = remembered(_lines(self.path, stream, _NoProgress()))
            reader = csv.reader(lines, delimiter=self.delimiter, strict=True)
            for line, cells in _numbered(self.path, reader):
                text = "".join(seen)
                seen.clear()
                yield TextRow(line, cells, text)

    def changed(self, row, place, cell):
        """Return the text of a row with another cell at a place, its line ending kept."""
        stripped = row.text.lstrip("\r\n")
        blank = row.text[: len(row.text) - len(stripped)]
        ending = stripped[len(stripped.rstrip("\r\n")) :]
        cells = list(row.cells)
        cells[place] = cell
        stream = io.StringIO()
        # Only with this end do all versions of Python quote cells of several lines.
        csv.writer(stream, delimiter=self.delimiter, lineterminator="\r\n").writerow(cells)
        return f"{blank}{stream.getvalue()[:-2]}{ending}"

    def codec(self):
        """Return what the text is to be written in, a byte-order mark where there was one."""
        codec = _codec(self.encoding)
        with _open_bytes(self.path) as file:
            has_mark = file.read(3) == codecs.BOM_UTF8
        return "utf-8" if codec == "utf-8-sig" and not has_mark else codec


class _NoProgress:
    """Stands where a progress bar may stand."""

    total = done = 0

    def advance(self, amount):
        """Show nothing."""


@contextmanager
def open_to_write(path, codec, packed):
    """Open a text file to write, gzipped in a way that gives the same bytes every time."""
    with open(path, "wb") as file:
        if not packed:
            with io.TextIOWrapper(file, encoding=codec, newline="") as text:
                yield text
            return
        zipped = gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0)
        with zipped, io.TextIOWrapper(zipped, encoding=codec, newline="") as text:
            yield text


def open_source(path, target, encoding="utf-8", delimiter=None):
    """Return the table of a file; raise where it cannot be read or lacks the target."""
    if not path.exists():
        raise FileError(f"{path}: there is no such file")
    if not path.is_file():
        raise FileError(f"{path}: is a folder or a device, not a file")
    with path.open("rb") as file:
        magic = file.read(4)
    if not magic:
        raise FileError(f"{path}: the file is empty")
    if magic == b"PAR1":
        source = ParquetSource(path)
    else:
        source = TextSource(path, target, encoding, delimiter)
    empty = RawTable(path.name, tuple(_Named(name) for name in source.names), None, None, 0, "")
    source.target = find_column(empty, target)
    return source


class _Named:
    """A column of which only the name matters."""

    def __init__(self, name):
        self.name = name


class TextSource:
    """A text file, of which all lines that no decision touches are copied as they are."""

    def __init__(self, path, target, encoding, delimiter):
        self.path, self._table = path, TextTable(path, target, encoding, delimiter)
        self.names, self.target = self._table.names, 0
        self.delimiter = self._table.delimiter
        self._first = []

    def check_output(self, out):
        """Raise where the result would be of another kind."""
        if out.name.lower().endswith(PARQUET):
            raise FileError(f"{out}: the table is a text file, and is written as one; give .csv")

    def cells(self):
        """Yield the cells of each row, without blanks around them."""
        self._first.clear()
        for row in self._table.rows():
            self._first.append(row.line)
            yield [cell.strip() for cell in row.cells]

    def where(self, place):
        """Say where a row stands."""
        return f"line {self._first[place]:,}"

    def write(self, path, labels, dropped, out):
        """Write the rows that stay, with their new labels."""
        packed = out.name.lower().endswith(".gz")
        with open_to_write(path, self._table.codec(), packed) as text:
            text.write(self._table.header.text)
            for place, row in enumerate(self._table.rows()):
                if place in labels:
                    text.write(self._table.changed(row, self.target, labels[place]))
                elif place not in dropped:
                    text.write(row.text)


class ParquetSource:
    """A Parquet file, of which the kinds of the columns are kept."""

    def __init__(self, path):
        self.path, self._parquet = path, require("pyarrow.parquet", "files")
        self.target = 0
        with self._readable():
            self.names = require_names(path, self._parquet.read_schema(path).names)

    def _readable(self):
        return _ArrowErrors(self.path)

    def check_output(self, out):
        """Raise where the result would be of another kind."""
        if not out.name.lower().endswith(PARQUET):
            raise FileError(f"{out}: the table is Parquet, and is written as such; give .parquet")

    def cells(self):
        """Yield the cells of each row as text."""
        with self._readable(), self._parquet.ParquetFile(self.path, pre_buffer=False) as file:
            for batch in file.iter_batches(ARROW_ROWS, use_threads=False):
                columns = [[_cell(v)[1] for v in arrow_values(array)] for array in batch.columns]
                yield from (list(row) for row in zip(*columns, strict=True))

    def where(self, place):
        """Say where a row stands."""
        return f"row {place + 1:,}"

    def write(self, path, labels, dropped, out):
        """Write the rows that stay; a new label takes the value of a row that has it.

        Numbers that no row has are added behind the column, in its own type.
        """
        import numpy as np
        import pyarrow

        with self._readable():
            table = self._parquet.read_table(self.path)
            column = table.column(self.target)
            known = {}
            for place, value in enumerate(arrow_values(column.combine_chunks())):
                known.setdefault(_cell(value)[1], place)
            new = [label for label in dict.fromkeys(labels.values()) if label not in known]
            known |= {label: table.num_rows + place for place, label in enumerate(new)}
            is_text = pyarrow.types.is_string(column.type) or pyarrow.types.is_large_string(
                column.type
            )
            further = pyarrow.array(new if is_text else [float(label) for label in new])
            column = pyarrow.chunked_array([*column.chunks, further.cast(column.type)])
            source = np.arange(table.num_rows)
            for place, label in labels.items():
                source[place] = known[label]
            table = table.set_column(
                self.target, table.schema.field(self.target), column.take(pyarrow.array(source))
            )
            stays = np.ones(table.num_rows, bool)
            stays[list(dropped)] = False
            self._parquet.write_table(table.filter(pyarrow.array(stays)), path)


class _ArrowErrors:
    """Turns an error of Arrow into one line that names the file."""

    def __init__(self, path):
        self._path = path

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        import pyarrow

        if isinstance(error, pyarrow.ArrowException):
            raise FileError(f"{self._path}: {one_line(error)}") from error
