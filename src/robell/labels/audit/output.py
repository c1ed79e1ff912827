"""The files of an audit: their paths, and the table of all rows as CSV."""

from __future__ import annotations

import csv
import io
import os
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Self

import numpy as np

from robell._tools.files import FileError, check_output, write_together
from robell._tools.text import spreadsheet_safe, unique
from robell.labels.audit.reasons import reasons_text
from robell.labels.review.decisions import KEEP
from robell.report.escape import writable

CROWD = b"row,consensus,", b"row,line,consensus,", b"row,key,consensus,", b"row,line,key,consensus,"
SUFFIXES = (".gz", ".csv", ".tsv", ".txt", ".parquet", ".pq")


def name_of(data):
    """Return the name of a file, or "table" for a data frame."""
    return Path(data).name if isinstance(data, str | os.PathLike) else "table"


def output_paths(out, name, source=None, is_ours=None):
    """Return the paths of the page and of the table, neither of which may replace the source.

    ``out`` is a folder, where the files are called after ``name``, or the beginning of their names.
    Given ``is_ours``, only files that it knows are replaced.
    """
    for suffix in SUFFIXES:
        name = name[: -len(suffix)] if name.lower().endswith(suffix) else name
    out = Path() if out is None else out
    is_folder = Path(out).is_dir() or str(out).endswith(("/", os.sep))
    prefix = Path(out) / name if is_folder else Path(out)
    if not prefix.parent.is_dir() and not is_folder:
        raise FileError(f"{prefix}: there is no folder {prefix.parent}")
    paths = tuple(prefix.with_name(f"{prefix.name}-audit.{kind}") for kind in ("html", "csv"))
    if prefix.parent.is_dir():
        sources = [source] if isinstance(source, str | os.PathLike) else []
        for path in paths:
            check_output(path, sources, is_ours)
        if all(path.exists() for path in paths) and paths[0].samefile(paths[1]):
            raise FileError(f"{paths[0]}: is the same file as {paths[1]}; give another name")
    return paths


def require_whole(name, value, least, most=None):
    """Raise where a parameter is no whole number in its range."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ValueError(f"{name} must be a whole number from {least} on, got {value!r}")
    if most is not None and value > most:
        raise ValueError(f"{name} must be at most {most}, got one of {value.bit_length()} bits")


class WrittenAudit:
    """What every kind of audit does alike: it is written as a page and a table.

    A kind has a `name`, fields `html` and `csv`, and methods ``_page`` and ``_table``.
    """

    def write(self, out=None, *, top=25, command="", also=None) -> Self:
        """Write the page and the table, both of them whole or neither.

        Parameters
        ----------
        out : path-like, default=None
            A folder, or the beginning of the files' names; the current folder when None.
        top : int, default=25
            How many rows the lists of the page show.
        command : str, default=""
            The command that the page says it was made by.
        also : dict of Path to str, default=None
            Further files to write, and their content.

        Returns
        -------
        result : an audit of the same kind
            The same with `html` and `csv`: ``<name>-audit.html`` and ``<name>-audit.csv``.
        """
        require_whole("top", top, 0)
        page = partial(self._page, top=top, command=command)
        html, csv_path = write_both(out, self.name, page, as_csv(self._table(as_text=True)), also)
        return replace(self, html=html, csv=csv_path)


class JudgedAudit(WrittenAudit):
    """What audits of labels and of numbers do alike: every row has a quality."""

    @property
    def order(self):
        """Places of the rows, the least probable ones first; in file order without any trust."""
        if self.trust == "none":
            return np.arange(len(self.row))
        return np.lexsort((self.row, self.quality))


def write_both(out, name, page_of, table, also=None):
    """Write page and table, and further files, all of them whole or none; return the two paths.

    ``page_of(csv_name=...)`` makes the page, which links to the table.
    """
    html, csv_path = output_paths(out, name)
    page = page_of(csv_name=csv_path.name)
    try:
        html.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"{html.parent}: cannot be made: {error.strerror}") from error
    write_together({csv_path: table, html: page, **(also or {})})
    return html, csv_path


def label_table(result):
    """Return the table of an audit of labels, as its columns by name."""
    names = unique([f"probability of {writable(label)}" for label in result.classes])
    chances = dict(zip(names, result.probability.T, strict=True))
    return judged_table(result, result.given, result.suggested, chances)


def judged_table(result, given, suggested, measured):
    """Return the columns of the table of all rows, the least probable ones first.

    ``measured`` are further columns, by name. Without any trust, there are neither suggestions nor
    numbers.
    """
    order, known = result.order, result.trust != "none"
    n = len(order)
    columns = {"row": result.row[order]}
    if result.line is not None:
        columns["line"] = result.line[order]
    columns["given"] = given[order]
    columns["suggested"] = suggested[order] if known else np.full(n, "", object)
    columns["decision"] = np.where(result.reviewed[order], KEEP, "").astype(object)
    for name, values in {"quality": result.quality, **measured}.items():
        columns[name] = values[order] if known else np.full(n, np.nan)
    columns["suspect"] = result.suspect[order] if known else np.full(n, "cannot tell", object)
    columns["reasons"] = np.array([reasons_text(result, place) for place in order], object)
    columns["target"] = np.full(n, result.target, object)
    columns["fingerprint"] = result.fingerprint[order]
    return columns


def as_csv(columns):
    """Return columns by name as CSV.

    Text that a spreadsheet would take for a formula gets an apostrophe before it.
    """
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*(as_cells(column) for column in columns.values()), strict=True))
    return stream.getvalue()


def as_cells(column):
    """Return the cells of a column as they are written."""
    if column.dtype == bool:
        return ["yes" if value else "no" for value in column]
    if column.dtype.kind == "f":
        return ["" if np.isnan(value) else f"{value:.6f}" for value in column]
    if column.dtype == object:
        safe = {text: spreadsheet_safe(writable(text)) for text in set(column)}
        return [safe[text] for text in column]
    return column.tolist()


def is_audit_file(path):
    """Say whether a file looks like the page or the table of an earlier audit."""
    with Path(path).open("rb") as file:
        beginning = file.read(200)
    return beginning.startswith(
        (b"row,given,suggested,", b"row,line,given,suggested,", *CROWD)
    ) or (beginning.startswith(b"<!DOCTYPE html>") and b"Content-Security-Policy" in beginning)
