"""All rows of a table file one after the other: their cells, and how they stand in a text file."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import zlib
from contextlib import contextmanager
from dataclasses import dataclass

from robell._tools.files import FileError
from robell.tables.raw import require_names
from robell.tables.read_csv import (
    _codec,
    _lines,
    _numbered,
    _open_bytes,
    _open_text,
    _undecodable,
    find_delimiter,
)


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
