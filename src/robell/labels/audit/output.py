"""The files of an audit: their paths, and the table of all rows as CSV."""

from __future__ import annotations

import csv
import io
import os
from pathlib import Path

from robell._core.tools.files import FileError, check_output
from robell.report.escape import writable
from robell.report.text import spreadsheet_safe

SUFFIXES = (".gz", ".csv", ".tsv", ".txt", ".parquet", ".pq")


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


def table_csv(result):
    """Return all audited rows as CSV, the least probable labels first.

    Text that a spreadsheet would take for a formula gets an apostrophe before it. Without any
    trust, there are neither suggestions nor probabilities.
    """
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    safe = [spreadsheet_safe(writable(label)) for label in result.classes]
    code = dict(zip(result.classes, safe, strict=True))
    lines = [] if result.line is None else ["line"]
    chances = [f"probability of {writable(label)}" for label in result.classes]
    writer.writerow(["row", *lines, "given", "suggested", "quality", *chances, "suspect"])
    known = result.trust != "none"
    for place in result.order:
        where = [result.row[place]] + ([] if result.line is None else [result.line[place]])
        given = code[result.given[place]]
        if known:
            suspect = "yes" if result.suspect[place] else "no"
            numbers = [f"{p:.6f}" for p in (result.quality[place], *result.probability[place])]
            writer.writerow([*where, given, code[result.suggested[place]], *numbers, suspect])
        else:
            blank = [""] * (1 + len(chances))
            writer.writerow([*where, given, "", *blank, "cannot tell"])
    return stream.getvalue()


def is_audit_file(path):
    """Say whether a file looks like the page or the table of an earlier audit."""
    with Path(path).open("rb") as file:
        beginning = file.read(200)
    return beginning.startswith((b"row,given,suggested,", b"row,line,given,suggested,")) or (
        beginning.startswith(b"<!DOCTYPE html>") and b"Content-Security-Policy" in beginning
    )
