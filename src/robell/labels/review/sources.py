"""Table files that a review is read from and applied to: text line by line, and Parquet."""

from __future__ import annotations

import csv
import gzip
import io

import numpy as np

from robell._tools.files import FileError
from robell._tools.text import spreadsheet_safe, writable
from robell.tables.excel import EXCEL, open_sheet, sheet_table
from robell.tables.numerals import plain_number
from robell.tables.raw import Column, RawTable, array_cells, require_names
from robell.tables.read import ARROW_ROWS, arrow_errors, kind_of, readable
from robell.tables.read_csv import TextRow, codec_to_write, find_delimiter, records_of
from robell.tables.target import find_column

PARQUET = (".parquet", ".pq")


def same_column(text, name):
    """Say whether a review means a column of this name, which it has as text of a CSV file."""
    written = (name, spreadsheet_safe(writable(name)))
    return " ".join(text.split()) in (" ".join(one.split()) for one in written)


def open_source(path, target, encoding="utf-8", delimiter=None):
    """Return the table of a file; raise where it cannot be read or lacks the target."""
    with readable(path):
        source: TextSource | ParquetSource | SheetSource
        kind = kind_of(path, encoding, delimiter)
        if kind == "Parquet":
            source = ParquetSource(path)
        elif kind == "Excel":
            source = SheetSource(path)
        else:
            source = TextSource(path, target, encoding, delimiter)
    columns = tuple(Column(name) for name in source.names)
    target = next((name for name in source.names if same_column(target, name)), target)
    source.target = find_column(RawTable(path.name, columns, np.empty(0, int), None, 0, ""), target)
    return source


def require_same_kind(source, out):
    """Raise where the result would be of another kind than the table."""
    name, kinds = out.name.lower(), {PARQUET: ParquetSource, EXCEL: SheetSource, "": TextSource}
    if not isinstance(source, next(kind for ends, kind in kinds.items() if name.endswith(ends))):
        raise FileError(f"{out}: the table is {source.kind}")


class TextSource:
    """A text file, read as often as needed; lines that no decision touches are copied."""

    kind = "a text file, and is written as one; give .csv"
    target = 0

    def __init__(self, path, target=None, encoding="utf-8", delimiter=None):
        self.path, self.encoding = path, encoding
        with readable(path):
            self.delimiter = find_delimiter(path, target, encoding, delimiter)
        self.header = next(self._records())
        self.names = require_names(path, self.header.cells)
        self._first = []

    def rows(self, tail=None):
        """Yield the rows below the header; blank lines at the end are added to ``tail``."""
        records = self._records(tail)
        next(records)
        yield from records

    def _records(self, tail=None):
        with readable(self.path):
            yield from records_of(self.path, self.encoding, self.delimiter, tail)

    def cells(self):
        """Yield the cells of each row, without blanks around them."""
        self._first.clear()
        for row in self.rows():
            self._first.append(row.line)
            yield [cell.strip() for cell in row.cells]

    def where(self, place):
        """Say where a row stands."""
        return f"line {self._first[place]:,}"

    def write(self, path, labels, dropped, out):
        """Write the rows that stay, with their new labels; gzipped to the same bytes every time."""
        tail: list[str] = []
        codec = codec_to_write(self.path, self.encoding)
        is_packed = out.name.lower().endswith(".gz")
        with (
            open(path, "wb") as file,
            gzip.GzipFile("", "wb", fileobj=file, mtime=0) if is_packed else file as raw,
            io.TextIOWrapper(raw, encoding=codec, newline="") as text,
        ):
            text.write(self.header.text)
            for place, row in enumerate(self.rows(tail)):
                if place in labels:
                    text.write(self._changed(row, labels[place]))
                elif place not in dropped:
                    text.write(row.text)
            text.writelines(tail)

    def _changed(self, row, label):
        """Return the text of a row with another label, its line ending kept."""
        stripped = row.text.lstrip("\r\n")
        blank = row.text[: len(row.text) - len(stripped)]
        ending = stripped[len(stripped.rstrip("\r\n")) :]
        cells = list(row.cells)
        cells[self.target] = label
        stream = io.StringIO()
        # Only with this end do all versions of Python quote cells of several lines.
        csv.writer(stream, delimiter=self.delimiter, lineterminator="\r\n").writerow(cells)
        return f"{blank}{stream.getvalue()[:-2]}{ending}"


class SheetSource:
    """The first sheet of a workbook, whose other sheets and formats are kept."""

    kind = "a workbook, and is written as one; give .xlsx"
    target = 0

    def __init__(self, path):
        self.path = path
        self.names, rows = sheet_table(path)
        self._rows = list(rows)

    def rows(self):
        """Return the rows below the header as those of a text file."""
        return [TextRow(line, [cell or "" for cell in cells], "") for line, cells in self._rows]

    def cells(self):
        """Yield the cells of each row as text."""
        for _, cells in self._rows:
            yield list(cells)

    def where(self, place):
        """Say where a row stands."""
        return f"row {self._rows[place][0]:,} of the sheet"

    def write(self, path, labels, dropped, out):
        """Write the rows that stay; a new label takes the value of a row that has it.

        Formulas of the sheet become their values, which openpyxl would lose; dropped rows would
        leave them pointing at other rows.
        """

        def put(cell, value):
            cell.value = value
            if cell.data_type == "f":
                cell.data_type = "s"  # a text that begins as a formula does

        keep_vba = out.name.lower().endswith(".xlsm")  # or Excel does not open it
        whole = open_sheet(self.path, read_only=False, keep_vba=keep_vba)
        with whole as sheet, open_sheet(self.path) as shown:
            for cells, values in zip(sheet.iter_rows(), shown.values, strict=False):
                for cell, value in zip(cells, values, strict=False):
                    if cell.data_type == "f" and value is not None:
                        put(cell, value)
            column = self.target + 1
            known: dict[str | None, object] = {}
            for line, cells in self._rows:
                known.setdefault(cells[self.target], sheet.cell(line, column).value)
            for place, label in labels.items():
                value = known.get(label, plain_number(label))
                cell = sheet.cell(self._rows[place][0], column)
                put(cell, label if value is None else value)
            for place in sorted(dropped, reverse=True):
                sheet.delete_rows(self._rows[place][0])
            with path.open("wb") as file:
                sheet.parent.save(file)


class ParquetSource:
    """A Parquet file, of which the kinds of the columns are kept."""

    kind = "Parquet, and is written as such; give .parquet"
    target = 0

    def __init__(self, path):
        import pyarrow.parquet

        self.path, self._parquet = path, pyarrow.parquet
        with arrow_errors(path):
            self.names = require_names(path, self._parquet.read_schema(path).names)

    def cells(self):
        """Yield the cells of each row as text."""
        with (
            arrow_errors(self.path),
            self._parquet.ParquetFile(self.path, pre_buffer=False) as file,
        ):
            for batch in file.iter_batches(ARROW_ROWS, use_threads=False):
                yield from map(list, zip(*map(array_cells, batch.columns), strict=True))

    def where(self, place):
        """Say where a row stands."""
        return f"row {place + 1:,}"

    def write(self, path, labels, dropped, out):
        """Write the rows that stay; a new label takes the value of a row that has it."""
        # Numbers that no row has are added behind the column, in its own type.
        import pyarrow
        from pyarrow import types

        with arrow_errors(self.path):
            table = self._parquet.read_table(self.path)
            column = table.column(self.target)
            known: dict[str | None, int] = {}
            for place, cell in enumerate(array_cells(column.combine_chunks())):
                known.setdefault(cell, place)
            new = [label for label in dict.fromkeys(labels.values()) if label not in known]
            known |= {label: table.num_rows + place for place, label in enumerate(new)}
            is_text = types.is_string(column.type) or types.is_large_string(column.type)
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
