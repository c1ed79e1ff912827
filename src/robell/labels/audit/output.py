"""The files of an audit: their paths, and the table of all rows as CSV."""

from __future__ import annotations

import csv
import io
import os
from pathlib import Path

import numpy as np

from robell._core.tools.files import FileError, check_output, write_together
from robell.labels.audit.reasons import reasons_text
from robell.labels.review.decisions import KEEP
from robell.report.escape import writable
from robell.report.text import spreadsheet_safe, unique

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


def table_of(result):
    """Return the names and the columns of the table of all rows, the least probable labels first.

    Without any trust, there are neither suggestions nor probabilities.
    """
    order, known = result.order, result.trust != "none"
    n = len(order)
    columns = {"row": result.row[order]}
    if result.line is not None:
        columns["line"] = result.line[order]
    columns["given"] = result.given[order]
    columns["suggested"] = result.suggested[order] if known else np.full(n, "", object)
    columns["decision"] = np.where(result.reviewed[order], KEEP, "").astype(object)
    columns["quality"] = result.quality[order] if known else np.full(n, np.nan)
    chances = unique([f"probability of {writable(label)}" for label in result.classes])
    for k, name in enumerate(chances):
        columns[name] = result.probability[order, k] if known else np.full(n, np.nan)
    columns["suspect"] = result.suspect[order] if known else np.full(n, "cannot tell", object)
    columns["reasons"] = np.array([reasons_text(result, place) for place in order], object)
    columns["target"] = np.full(n, result.target, object)
    columns["fingerprint"] = result.fingerprint[order]
    return list(columns), list(columns.values())


def table_csv(result):
    """Return all audited rows as CSV, the least probable labels first.

    Text that a spreadsheet would take for a formula gets an apostrophe before it.
    """
    return as_csv(*table_of(result))


def as_csv(names, columns):
    """Return columns as CSV, their names first."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(names)
    writer.writerows(zip(*(as_cells(column) for column in columns), strict=True))
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
