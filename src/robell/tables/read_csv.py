"""Text files as tables: the encoding checked, the delimiter found, every row with its line."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
from contextlib import contextmanager
from itertools import islice

import numpy as np

from robell._tools.files import FileError
from robell._tools.progress import Progress
from robell._tools.text import said
from robell.tables.raw import Column, RawTable, one_line, require_names
from robell.tables.sample import Sample, row_limit

DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "vertical bar"}
SNIFFED = 1 << 16  # characters from which the delimiter is found
LONGEST_LINE = 1 << 24  # characters; a longer line means that the file is not a table


def read_csv(path, target, encoding, delimiter, max_rows, seed, budget):
    """Read a text file, gzipped or not; None as delimiter: find it from the first lines."""
    delimiter = find_delimiter(path, target, encoding, delimiter)
    sample = None
    for line, record in records_of(path, encoding, delimiter):
        if sample is None:
            names = require_names(path, record)
            sample = Sample(row_limit(max_rows, len(names)), len(names), seed)
        else:
            sample.offer(line, record)
            if sample.n_bytes > budget.limit:
                break
    budget.hold(path.name, sample.n_bytes)
    rows, lines, cells = sample.sorted()
    columns = tuple(Column(name, column) for name, column in zip(names, cells, strict=True))
    how = f"text, its cells set apart by {_called(delimiter)}"
    return RawTable(path.name, columns, rows, lines, sample.seen, how, delimiter)


def csv_parts(path, target, encoding, delimiter, n_rows):
    """Yield the rows of a text file in their order, at most so many at a time, as RawTables."""
    delimiter = find_delimiter(path, target, encoding, delimiter)
    records = records_of(path, encoding, delimiter)
    names = require_names(path, next(records)[1])
    how = f"text, its cells set apart by {_called(delimiter)}"
    start = 0
    while part := list(islice(records, n_rows)):
        cells = zip(*(record for _, record in part), strict=True)
        columns = tuple(
            Column(name, list(map(str.strip, column)))
            for name, column in zip(names, cells, strict=True)
        )
        rows, lines = np.arange(len(part)) + start + 1, np.array([line for line, _ in part])
        yield RawTable(path.name, columns, rows, lines, len(part), how, delimiter)
        start += len(part)


def records_of(path, encoding, delimiter):
    """Yield the header and every row of a text file, each with the line it begins at."""
    progress = Progress(max(1, path.stat().st_size), "reading")
    with _decodable(path, encoding), _open_text(path, encoding) as stream, progress:
        reader = csv.reader(_lines(path, stream, progress), delimiter=delimiter, strict=True)
        yield from _equally_long(path, _numbered(path, reader), delimiter)


@contextmanager
def _decodable(path, encoding):
    """Say where a text is not in its encoding, in one line."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise _undecodable(path, encoding) from error
    except UnicodeError as error:  # a missing byte-order mark
        raise FileError(f"{path}: is not {encoding} text ({one_line(error)})") from error
    except LookupError:
        raise FileError(f"there is no text encoding {encoding!r}") from None


def _equally_long(path, records, delimiter):
    """Yield the records; raise where one has another number of cells, or there is no row."""
    line, header = next(records, (0, []))
    if not header:
        raise FileError(f"{path}: the file is empty")
    yield line, header
    n_cells, n_rows = len(header), 0
    for line, record in records:
        if len(record) != n_cells:
            raise FileError(
                f"{path}: line {line:,} has {len(record)} cells, the header {n_cells}"
                f" (cells are taken to be set apart by {_called(delimiter)})"
            )
        n_rows += 1
        yield line, record
    if not n_rows:
        raise FileError(f"{path}: there is a header and no row below it")


def _require_delimiter(delimiter):
    if len(delimiter) != 1 or delimiter.isalnum() or delimiter in '"\r\n\0.+-':
        raise FileError(
            "the delimiter must be one sign that cannot be part of a number, a word or a "
            f"quotation, got {said(delimiter, 20)}"
        )


def _called(delimiter):
    return f"a {DELIMITERS[delimiter]}" if delimiter in DELIMITERS else f"the sign {delimiter!r}"


def _open_bytes(path):
    with path.open("rb") as file:
        is_gzip = file.read(2) == b"\x1f\x8b"
    return gzip.open(path, "rb") if is_gzip else path.open("rb")


def _open_text(path, encoding):
    codec = _codec(encoding)  # before the file is opened: there may be no such encoding
    return io.TextIOWrapper(_open_bytes(path), encoding=codec, newline="")


def _codec(encoding):
    """Return the codec; that of UTF-8 also accepts a byte-order mark at the start."""
    found = codecs.lookup(encoding)
    if not getattr(found, "_is_text_encoding", True):
        raise LookupError(encoding)
    return "utf-8-sig" if found.name == "utf-8" else found.name


def _undecodable(path, encoding):
    """Return an error that says where the first byte is that the encoding does not know."""
    codec, offset, line = _codec(encoding), 0, 1
    decoder = codecs.getincrementaldecoder(codec)()
    with _open_bytes(path) as file:
        while chunk := file.read(1 << 20):
            try:
                decoder.decode(chunk)
            except UnicodeDecodeError as error:
                offset += len(chunk) - len(error.object) + error.start
                line += error.object[: error.start].count(b"\n")
                break
            offset += len(chunk)
            line += chunk.count(b"\n")
    return FileError(
        f"{path}: line {line:,} (byte {offset:,}) is not {encoding} text; if it was written in "
        "another encoding, give that, such as",
        parameter="encoding",
        value="latin-1" if codec == "utf-8-sig" else "utf-8",
    )


def find_delimiter(path, target, encoding, delimiter=None):
    """Return the delimiter given, or what splits the first lines into equally many cells.

    A sign by which the target is one of the columns is preferred.
    """
    if delimiter is not None:
        _require_delimiter(delimiter)
        return delimiter
    with _decodable(path, encoding), _open_text(path, encoding) as stream:
        head = stream.read(SNIFFED)
    if not head.strip():
        raise FileError(f"{path}: the file is empty")
    whole = len(head) < SNIFFED
    scores = {}
    for delimiter in DELIMITERS:
        lines = io.StringIO(head, newline="")
        try:
            records = [record for record in csv.reader(lines, delimiter=delimiter) if record]
        except csv.Error:
            continue
        if not whole and len(records) > 1:
            records.pop()  # its end was not read
        sizes = [len(record) for record in records]
        if sizes and sizes[0] > 1:
            found = any(name.strip() == target for name in records[0])
            scores[delimiter] = (found, sizes.count(sizes[0]) / len(sizes), sizes[0])
    return max(scores, key=scores.get) if scores else ","


def _lines(path, stream, progress):
    """Yield the lines of a text; refuse endless lines and zero bytes."""
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


def _numbered(path, reader):
    """Yield each record with the line it begins at; blank lines are passed over."""
    end = 0
    while True:
        try:
            record = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            text = one_line(error)
            if "end of data" in text:
                text = "a quotation mark is opened and not closed"
            if "field limit" in text:
                text = (
                    f"a cell has more than {csv.field_size_limit():,} characters, or a quotation "
                    "mark is opened and not closed"
                )
            raise FileError(f"{path}: line {end + 1:,} cannot be read: {text}") from error
        start, end = end + 1, reader.line_num
        if record:
            yield start, record
