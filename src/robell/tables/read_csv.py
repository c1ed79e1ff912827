"""Text files as tables: the encoding checked, the delimiter found, every row with its line.

Arrow parses the rows, a block of the file at a time, every cell as text. It counts no lines and is
lenient with quotation marks. What it refuses, and what it would read otherwise than it is meant,
Python's slower :mod:`csv` reads from there on, or says what is wrong in which line.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robell._tools.files import FileError
from robell._tools.progress import Progress
from robell._tools.text import said
from robell.tables.raw import one_line

DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "vertical bar"}
SNIFFED = 1 << 16  # characters from which the delimiter is found
LONGEST_LINE = 1 << 24  # characters; a longer line means that the file is not a table
BLOCK = 1 << 22  # bytes that Arrow parses at a time, at most; a quarter of it is read


class TextRow(NamedTuple):
    """A row of a text file: the line it begins at, its cells, and the text it was read from."""

    line: int
    cells: list[str]
    text: str


# -- rows by Arrow, many at a time -----------------------------------------------------


def text_batches(
    path: Path,
    encoding: str,
    delimiter: str,
    header: TextRow,
    wanted: Sequence[int] | None = None,
    numbers: Sequence[int] = (),
) -> Iterator[tuple[Any, NDArray[np.intp]]]:
    """Yield the rows below the header: Arrow batches of texts, and the rows' lines.

    ``wanted`` are the places of some columns. Those of ``numbers`` are read as such, null where
    missing, up to the first row in which one is none: from there on as texts.
    """
    import pyarrow
    from pyarrow import compute
    from pyarrow import csv as arrow_csv

    wanted = range(len(header.cells)) if wanted is None else wanted
    kinds = dict.fromkeys(map(str, wanted), pyarrow.string())
    kinds |= dict.fromkeys(map(str, numbers), pyarrow.float64())
    progress, n_rows = Progress(max(1, path.stat().st_size), "reading"), 0
    try:
        if not delimiter.isascii():
            raise pyarrow.ArrowInvalid("Arrow splits rows at one byte")
        options = (
            arrow_csv.ReadOptions(
                block_size=BLOCK,
                use_threads=False,
                column_names=list(map(str, range(len(header.cells)))),
                skip_rows_after_names=header.line,  # blank lines before the header count as rows
            ),
            arrow_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
            arrow_csv.ConvertOptions(column_types=kinds, include_columns=list(kinds)),
        )
        with _open_bytes(path) as file, progress:
            stream = _Utf8Stream(file, encoding, delimiter, progress)
            reader = arrow_csv.open_csv(pyarrow.PythonFile(stream, "r"), *options)
            stream.take_lines(1)  # the header's
            for batch in reader:
                lines = stream.take_lines(batch.num_rows)
                longest = 0
                for array in batch.columns:
                    if array.type == pyarrow.string():
                        length = compute.max(compute.binary_length(array)).as_py() or 0
                        longest = max(longest, length)
                is_long = longest > csv.field_size_limit()
                if stream.is_odd or is_long or len(lines) < batch.num_rows:
                    raise pyarrow.ArrowInvalid("odd quotation marks, a zero byte or a long cell")
                n_rows += len(lines)
                yield batch, lines
            if stream.is_quoting or len(stream.take_lines(1)):
                raise pyarrow.ArrowInvalid("a quotation mark is opened and not closed")
    except (pyarrow.ArrowInvalid, UnicodeError):
        records = islice(records_of(path, encoding, delimiter), 1 + n_rows, None)
        yield from batches_of(((row.line, row.cells) for row in records), wanted, 1 << 14)


def batches_of(rows, wanted, n_rows):
    """Yield rows, each a line and its cells, as Arrow batches of the columns wanted."""
    import pyarrow

    names = list(map(str, wanted))
    while part := list(islice(rows, n_rows)):
        cells = list(zip(*(cells for _, cells in part), strict=True))
        arrays = [pyarrow.array(cells[place], pyarrow.string()) for place in wanted]
        yield pyarrow.record_batch(arrays, names), np.array([line for line, _ in part])


class _Utf8Stream:
    """The bytes of a text file in UTF-8, and at which lines its rows begin.

    `is_odd` says that quotation marks are not used as they should, or that there is a zero byte;
    `is_quoting` that the last byte is within a quotation.
    """

    closed = False

    def __init__(self, file: IO[bytes], encoding: str, delimiter: str, progress: Progress) -> None:
        self._file, self._progress = file, progress
        self._decoder = codecs.getincrementaldecoder(_codec(encoding))()
        self._apart = np.frombuffer(f'"\r\n{delimiter}'.encode(), np.uint8)
        self._last = b"\n"  # the byte before
        self._n_quotes = self._n_breaks = 0
        self._lines = np.empty(0, np.intp)
        self.is_odd = self.is_quoting = False

    def take_lines(self, n_rows: int) -> NDArray[np.intp]:
        """Return the lines of the next rows."""
        lines, self._lines = self._lines[:n_rows], self._lines[n_rows:]
        return lines

    def read(self, size: int) -> bytes:
        """Return at most so many bytes."""
        raw = self._file.read(size // 4)  # no encoding takes a quarter of the bytes of UTF-8
        data = self._decoder.decode(raw, final=not raw).encode()
        left = self._progress.total - self._progress.done
        self._progress.advance(min(len(raw), left))
        if data:
            self._watch(data)
        return data

    def _watch(self, data: bytes) -> None:
        # A byte with an even number of quotation marks before it is outside of quotations; a first
        # mark follows a delimiter, the end of a line or another mark, and a second precedes one.
        signs = np.frombuffer(self._last + data, np.uint8)
        quotes = np.flatnonzero(signs[1:] == ord('"')) + 1
        if len(quotes) or self._last == b'"':
            closing = quotes[1 - self.is_quoting :: 2]
            opening = quotes[int(self.is_quoting) :: 2]
            if self._last == b'"' and not self.is_quoting:
                closing = np.append(0, closing)
            beside = [signs[opening - 1], signs[closing[closing < len(data)] + 1]]
            self.is_odd |= not np.isin(np.concatenate(beside), self._apart).all()
        self.is_odd |= b"\0" in data
        before, after = signs[:-1], signs[1:]
        ends = np.flatnonzero((before == ord("\n")) | (before == ord("\r")))
        is_end = (before[ends] == ord("\n")) | (after[ends] != ord("\n"))  # \r\n is one
        lines = self._n_breaks + np.cumsum(is_end)
        outside = (self._n_quotes + np.searchsorted(quotes, ends)) % 2 == 0
        begins = outside & (after[ends] != ord("\n")) & (after[ends] != ord("\r"))
        self._lines = np.append(self._lines, lines[begins])
        self._n_breaks += int(is_end.sum())
        self._n_quotes += len(quotes)
        self.is_quoting = self._n_quotes % 2 == 1
        self._last = data[-1:]


# -- rows by csv, one by one -----------------------------------------------------------


def records_of(
    path: Path, encoding: str, delimiter: str, tail: list[str] | None = None
) -> Iterator[TextRow]:
    """Yield the header and every row of a text file; raise where one is not as it should be.

    Blank lines belong to the text of what follows them; those at the end are added to ``tail``.
    """
    n_cells, end = 0, 0
    seen: list[str] = []
    with _open_text(path, encoding) as stream:
        reader = csv.reader(_lines(path, stream, seen), delimiter=delimiter, strict=True)
        while True:
            try:
                cells = next(reader, None)
            except csv.Error as error:
                text = one_line(error)
                if "end of data" in text:
                    text = "a quotation mark is opened and not closed"
                elif "field limit" in text:
                    text = (
                        f"a cell has more than {csv.field_size_limit():,} characters, or a "
                        "quotation mark is opened and not closed"
                    )
                raise FileError(f"{path}: line {end + 1:,} cannot be read: {text}") from error
            if cells is None:
                break
            start, end = end + 1, reader.line_num
            if not cells:
                continue
            if n_cells and len(cells) != n_cells:
                raise FileError(
                    f"{path}: line {start:,} has {len(cells)} cells, the header {n_cells}"
                    f" (cells are taken to be set apart by {called(delimiter)})"
                )
            n_cells = len(cells)
            yield TextRow(start, cells, "".join(seen))
            seen.clear()
        if tail is not None:
            tail += seen
    if not n_cells:
        raise FileError(f"{path}: the file is empty")


def _lines(path: Path, stream: IO[str], seen: list[str]) -> Iterator[str]:
    """Yield the lines of a text, also added to ``seen``; refuse endless ones and zero bytes."""
    number = 0
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
        seen.append(line)
        yield line


# -- encodings and delimiters ----------------------------------------------------------


@contextmanager
def _open_text(path, encoding):
    """Give the text of a file; where it is not in its encoding, say so in one line."""
    try:
        codec = _codec(encoding)  # before the file is opened: there may be no such encoding
        with io.TextIOWrapper(_open_bytes(path), encoding=codec, newline="") as stream:
            yield stream
    except UnicodeDecodeError as error:
        raise _undecodable(path, encoding) from error
    except UnicodeError as error:  # a missing byte-order mark
        raise FileError(f"{path}: is not {encoding} text ({one_line(error)})") from error
    except LookupError:
        raise FileError(f"there is no text encoding {encoding!r}") from None


def called(delimiter: str) -> str:
    """Return what a delimiter is called in a sentence."""
    return f"a {DELIMITERS[delimiter]}" if delimiter in DELIMITERS else f"the sign {delimiter!r}"


def _open_bytes(path: Path) -> Any:
    with path.open("rb") as file:
        is_gzip = file.read(2) == b"\x1f\x8b"
    return gzip.open(path, "rb") if is_gzip else path.open("rb")


def _codec(encoding: str) -> str:
    """Return the codec; that of UTF-8 also accepts a byte-order mark."""
    found = codecs.lookup(encoding)
    if not getattr(found, "_is_text_encoding", True):
        raise LookupError(encoding)
    return "utf-8-sig" if found.name == "utf-8" else found.name


def codec_to_write(path: Path, encoding: str) -> str:
    """Return what a file's text is to be written in, a byte-order mark where there was one."""
    codec = _codec(encoding)
    with _open_bytes(path) as file:
        has_mark = file.read(3) == codecs.BOM_UTF8
    return "utf-8" if codec == "utf-8-sig" and not has_mark else codec


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


def find_delimiter(
    path: Path, target: str | None, encoding: str, delimiter: str | None = None
) -> str:
    """Return the delimiter given, or what splits the first lines into equally many cells.

    A sign by which the target is one of the columns is preferred.
    """
    if delimiter is not None:
        if len(delimiter) != 1 or delimiter.isalnum() or delimiter in '"\r\n\0.+-':
            raise FileError(
                "the delimiter must be one sign that cannot be part of a number, a word or a "
                f"quotation, got {said(delimiter, 20)}"
            )
        return delimiter
    with _open_text(path, encoding) as stream:
        head = stream.read(SNIFFED)
    if not head.strip():
        raise FileError(f"{path}: the file is empty")
    whole = len(head) < SNIFFED
    scores = {}
    for delimiter in DELIMITERS:
        lines = io.StringIO(head, newline="")
        try:
            records = list(filter(None, csv.reader(lines, delimiter=delimiter)))
        except csv.Error:
            continue
        if not whole and len(records) > 1:
            records.pop()  # its end was not read
        sizes = list(map(len, records))
        if sizes and sizes[0] > 1:
            found = target in list(map(str.strip, records[0]))
            scores[delimiter] = (found, sizes.count(sizes[0]) / len(sizes), sizes[0])
    return max(scores, key=scores.__getitem__) if scores else ","
