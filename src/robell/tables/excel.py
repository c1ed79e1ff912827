"""Excel workbooks: the first sheet read as cells of text, and tables written as sheets."""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from robell._tools.files import FileError
from robell._tools.optional import require
from robell.tables.raw import cell_of, one_line, require_names

EXCEL = (".xlsx", ".xlsm")


def is_excel(path: Path) -> bool:
    """Say whether a file is an Excel workbook, by its name and by how it begins."""
    if not path.name.lower().endswith(EXCEL) or not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(4) == b"PK\x03\x04"


@contextmanager
def open_sheet(path: Path, *, read_only: bool = True, keep_vba: bool = False) -> Iterator[Any]:
    """Give the first sheet of a workbook, values in place of formulas where it is only read."""
    openpyxl = require("openpyxl", "excel")
    try:
        how = {"read_only": read_only, "keep_vba": keep_vba, "data_only": read_only}
        book = openpyxl.load_workbook(path, **how)
    except (zipfile.BadZipFile, KeyError, ValueError, TypeError, SyntaxError) as error:
        text = one_line(error)
        raise FileError(f"{path}: is no Excel workbook, or a damaged one ({text})") from error
    try:
        yield book.worksheets[0]
    finally:
        book.close()


def sheet_table(path: Path) -> tuple[list[str], Iterator[tuple[int, list[str | None]]]]:
    """Return the names of a sheet's columns, and its rows below, a cell for each column."""
    with open_sheet(path) as sheet:
        # Rows that hold something, with their numbers in the sheet
        every = enumerate(sheet.iter_rows(values_only=True), 1)
        texts = ((line, [cell_of(value)[1] or None for value in row]) for line, row in every)
        rows = [(line, cells) for line, cells in texts if any(cells)]
    if not rows:
        raise FileError(f"{path}: the first sheet is empty")
    (_, header), *rows = rows
    while header and header[-1] is None:  # of columns that were used once, and are empty now
        header.pop()
    names, n = require_names(path, [name or "" for name in header]), len(header)

    def equal() -> Iterator[tuple[int, list[str | None]]]:
        for line, cells in rows:
            if any(cells[n:]):
                raise FileError(f"{path}: row {line} has a cell beyond the {n} of the header")
            yield line, cells[:n] + [None] * (n - len(cells))

    return names, equal()


def write_sheet(path: Path, name: str, rows: Iterable[Iterable[Any]]) -> None:
    """Write rows, the header first, as a workbook of one sheet; texts stay texts."""
    openpyxl = require("openpyxl", "excel")
    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet(name[:31])
    sheet.freeze_panes = "A2"
    for row in rows:
        cells = []
        for value in row:
            cell = openpyxl.cell.WriteOnlyCell(sheet, value=value)
            if isinstance(value, str):
                cell.data_type = "s"  # never a formula
            cells.append(cell)
        sheet.append(cells)
    with path.open("wb") as file:
        book.save(file)
