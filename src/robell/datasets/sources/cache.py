"""Downloaded tables on disk as CSV below one line that states their checksum and origin."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import math
import os
import sys
from pathlib import Path

import numpy as np

from robell._tools.files import write_atomically
from robell.datasets._dataset import DatasetError


def read_csv(path):
    """Read X, y and feature names from a file; what is wrong with it is said by file and line."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DatasetError(f"{path} cannot be read: {error.strerror or error}") from error
    return parse_csv(content, str(path))


def parse_csv(content, label, first_line=1):
    """Parse the bytes of a CSV table; `label` names it in messages."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = first_line + content[: error.start].count(b"\n")
        raise DatasetError(f"{label}, line {line}: not UTF-8 text") from error
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        records = [
            (f"{label}, line {reader.line_num + first_line - 1}", row) for row in reader if row
        ]
    except csv.Error as error:
        raise DatasetError(f"{label}, line {reader.line_num + first_line - 1}: {error}") from error
    if not records:
        raise DatasetError(f"{label} is empty")
    (where, first), *rows = records
    header = [cell.strip() for cell in first]
    if header[-1] != "target":
        raise DatasetError(f"{where}: the last column must be 'target', found {header[-1]!r}")
    if len(header) < 2:
        raise DatasetError(f"{where}: no column besides 'target'")
    if len({*header}) < len(header) or "" in header:
        raise DatasetError(f"{where}: column names must be present and distinct")
    if not rows:
        raise DatasetError(f"{label} has a header but no rows")
    table = np.array([_numbers(row, header, where) for where, row in rows])
    y = table[:, -1].astype(np.int64)
    if len(np.unique(y)) < 2:
        raise DatasetError(f"{label}: every row has target {y[0]}, two classes are needed")
    return np.ascontiguousarray(table[:, :-1]), y, tuple(header[:-1])


def _numbers(row, header, where):
    if len(row) != len(header):
        raise DatasetError(f"{where}: {len(row)} cells where the header has {len(header)}")
    values: list[float] = []
    for cell, column in zip(map(str.strip, row), header, strict=True):
        try:
            values.append(float(cell))
        except ValueError:
            what = f"{cell!r} in column {column!r} is not a number"
            if not cell:
                what = f"column {column!r} is empty; missing values are not accepted"
            raise DatasetError(f"{where}: {what}") from None
        if not math.isfinite(values[-1]):
            raise DatasetError(f"{where}: {cell!r} in column {column!r} is not a finite number")
    if values[-1] not in (0.0, 1.0):
        raise DatasetError(f"{where}: {row[-1].strip()!r} in column 'target' is neither 0 nor 1")
    return values


def format_csv(X, y, feature_names):
    """Write a table as the text `parse_csv` reads, losing no digit."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow([*feature_names, "target"])
    for row, label in zip(X.tolist(), y.tolist(), strict=True):
        writer.writerow([*map(_shortest, row), label])
    return buffer.getvalue()


def _shortest(value):
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)


# -- downloaded tables on disk: CSV below one line that states their checksum and origin


_MARK = b"# robell "


def cache_folder(cache_dir=None):
    """Choose the folder of downloaded sets: as given, ROBELL_CACHE, or the platform's own place."""
    if cache_dir is not None:
        return Path(cache_dir)
    if os.environ.get("ROBELL_CACHE"):
        return Path(os.environ["ROBELL_CACHE"])
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "robell"


def cache_file(name, cache_dir=None):
    """Return the file in which a set is cached, whether or not it is there."""
    return cache_folder(cache_dir) / f"{name}.csv"


def read_cached(path):
    """Read X, y, feature names and source from a cached table of the checksum that it states."""
    try:
        first, _, body = path.read_bytes().partition(b"\n")
    except OSError as error:
        raise DatasetError(f"{path} cannot be read: {error.strerror or error}") from error
    advice = "delete it, and it will be fetched again"
    try:
        if not first.startswith(_MARK):
            raise ValueError
        head = json.loads(first[len(_MARK) :])
        stated, source = head["sha256"], head["source"]
    except (ValueError, KeyError, TypeError):
        raise DatasetError(f"{path} does not begin with its checksum; {advice}") from None
    if hashlib.sha256(body).hexdigest() != stated:
        raise DatasetError(f"{path} does not have the checksum it states; {advice}")
    return *parse_csv(body, str(path), first_line=2), source


def write_cached(path, X, y, feature_names, source):
    """Write a table in one step: a reader sees the whole file or none."""
    body = format_csv(X, y, feature_names).encode()
    head = json.dumps({"sha256": hashlib.sha256(body).hexdigest(), "source": source})
    write_atomically(path, _MARK + head.encode() + b"\n" + body)
