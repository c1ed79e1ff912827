"""A user's tables as rows for jobs: files, frames and arrays, read as the audit reads them."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np

from robell._core.array import is_no_value
from robell._tools.files import FileError
from robell._tools.text import counted, did_you_mean, few, said, unique
from robell.comparison.jobs import Rows
from robell.comparison.store import StudyError
from robell.datasets._dataset import content_digest
from robell.tables.encoder import TableEncoder
from robell.tables.numerals import number
from robell.tables.raw import Column, RawTable
from robell.tables.read import Budget, read_table
from robell.tables.target import find_column, read_labels

SUFFIXES = (".csv.gz", ".csv", ".tsv", ".txt", ".parquet", ".pq")


def read_all(data, target=None, drop=(), memory_limit=None, **text):
    """Return ({name: Rows} of the tables that can be used, {name: why} of those that cannot)."""
    budget = Budget(memory_limit)
    drop = {drop: None} if isinstance(drop, str) else dict.fromkeys(drop)
    if target in drop:
        raise FileError(f"{said(target)} is the target: it cannot be left out")
    columns: set[str] = set()
    tables, unavailable = {}, {}
    for name, source in _named(data).items():
        try:
            if _is_pair(source):
                X, y = source
                tables[name] = _from_pair(name, X, y, drop, columns)
            else:
                tables[name] = _from_table(name, source, target, drop, columns, text, budget)
            budget.limit -= tables[name].X.nbytes
        except FileError as error:
            # Advice to give a parameter, in words that also suit the command.
            unavailable[name] = " ".join(filter(None, error.parts))
    for name in drop:
        if tables and name not in columns:
            near = did_you_mean(name, columns, quote=said)
            raise FileError(f"no table has a column {said(name)} to leave out{near}")
    return tables, unavailable


# -- names ---------------------------------------------------------------------------------


def _named(data):
    """Return every table by its name: a file's without its ending, or the one it was given."""
    if isinstance(data, dict) and data:
        return dict(zip(unique(map(str, data)), data.values(), strict=True))
    if _is_pair(data) or isinstance(data, str | os.PathLike) or hasattr(data, "shape"):
        data = [data]
    paths: dict[Path, Path] = {}
    others: list = []
    for source in data:
        if not isinstance(source, str | os.PathLike):
            others.append(source)
            continue
        files = [path := Path(source)]
        if path.is_dir():
            files = [one for one in sorted(path.iterdir()) if one.name.lower().endswith(SUFFIXES)]
            if not files:
                raise FileError(f"{path}: there is no CSV or Parquet file in this folder")
        paths |= {file.resolve(): file for file in files}
    names = [*_names(paths.values()), *(f"table {k + 1}" for k in range(len(others)))]
    if not names:
        raise StudyError("there is no table to compare models on")
    return dict(zip(unique(names), [*paths.values(), *others], strict=True))


def _names(paths):
    """Return names that differ: files of one name are told apart by their folders."""
    names = []
    for name in (path.name for path in paths):
        ending = next((end for end in SUFFIXES if name.lower().endswith(end)), "")
        names.append(name[: -len(ending)] if 0 < len(ending) < len(name) else name)
    for depth in range(1, max((len(path.resolve().parts) for path in paths), default=0)):
        twice = {name for name, n in Counter(names).items() if n > 1}
        for place, path in enumerate(paths):
            if names[place] in twice:
                folders = path.resolve().parts[-1 - depth : -1]
                # In one folder they differ in their endings.
                names[place] = "/".join((*folders, path.name))
    return names


def _is_pair(source):
    """Say whether something is a pair (X, y) rather than two tables."""
    if not isinstance(source, tuple) or len(source) != 2:
        return False
    X, y = source
    if isinstance(X, str | os.PathLike | tuple) or isinstance(y, str | os.PathLike):
        return False
    return not hasattr(y, "columns") and np.ndim(y) in (1, 2) and np.shape(y)[1:] in ((), (1,))


# -- tables --------------------------------------------------------------------------------


def _from_table(name, source, target, drop, columns, text, budget):
    """Read a file or a data frame."""
    if target is None:
        raise FileError(f"{name}: which column holds the labels must be said: give", "target")
    if isinstance(source, str | os.PathLike):
        is_text = not str(source).lower().endswith((".parquet", ".pq"))
        table = read_table(source, target, **(text if is_text else {}), budget=budget)
    else:
        table = replace(read_table(source, budget=budget), name=name)
    place = find_column(table, target)
    columns |= {column.name for column in table.columns}
    labels = read_labels(table, place)
    matrix, notes = _matrix(table, {*drop, table.columns[place].name}, labels)
    known = [number(label) for label in labels.classes]
    whole = [int(value) for value in known if value is not None and float(value).is_integer()]
    # Whole numbers as pandas would read them; 01 and 1 are two labels.
    classes = np.array(whole if len(set(whole)) == len(known) else labels.classes)
    return _rows(name, matrix, labels, classes, table.how, notes)


def _from_pair(name, X, y, drop, columns):
    """Take (X, y): arrays of numbers as they are, a data frame read as any table."""
    values = np.asarray(y).ravel()
    if hasattr(X, "toarray"):
        X = X.toarray()
    if len(X) != len(values):
        raise FileError(f"{name}: X has {len(X):,} rows, y has {len(values):,}")
    table = RawTable(name, (), np.arange(len(values)) + 1, None, len(values), "arrays")
    if hasattr(X, "columns"):
        table = replace(read_table(X), name=name)  # of a large frame, a sample of its rows
        columns |= {one.name for one in table.columns}
    values = values[table.rows - 1].tolist()
    cells = [None if is_no_value(value) else str(value) for value in values]
    labels = read_labels(replace(table, columns=(Column("y", cells),)), 0)
    if hasattr(X, "columns"):
        matrix, notes = _matrix(table, drop, labels)
    else:
        try:
            X = np.asarray(X, dtype=np.float64)
        except (TypeError, ValueError):
            raise FileError(f"{name}: X must hold numbers; a data frame may hold text") from None
        if X.ndim != 2 or not X.shape[1]:
            raise FileError(f"{name}: X must have rows and columns; its shape is {X.shape}")
        matrix, notes = X[labels.kept], []
    original = dict(zip(cells, values, strict=True))
    classes = np.array([original[label] for label in labels.classes])
    return _rows(name, matrix, labels, classes, table.how, notes)


def _matrix(table, drop, labels):
    """Return the columns as numbers, and notes on those left out and on rows left out."""
    kept = table.take(labels.kept)
    columns = [column for column in kept.columns if column.name not in drop]
    encoder = TableEncoder()
    used = encoder._fit_columns(columns, kept.rows, table.delimiter, labels.codes)
    if not encoder.plans_:
        raise FileError(f"{table.name}: no column is left to learn from")
    left_out = [
        said(note.name, 30) + (" (repeats the target)" if "repeats" in note.done else "")
        for note in encoder.notes_
        if note.kind == "left out"
    ]
    notes = []
    if len(table.rows) < table.n_rows:
        notes.append(f"a random sample of {len(table.rows):,} of {table.n_rows:,} rows")
    if left_out:
        notes.append(f"{counted(len(left_out), 'column')} left out: {few(left_out)}")
    return np.hstack([one.matrix for one in used]), notes


def _rows(name, X, labels, classes, source, notes):
    codes = np.asarray(labels.codes)
    counts = np.bincount(codes, minlength=len(classes))
    if len(classes) == 2 and counts[0] < counts[1]:
        codes, classes, counts = 1 - codes, classes[::-1], counts[::-1]
    if missing := sum(labels.unlabelled.values()):
        notes.append(f"{counted(missing, 'row')} without a label left out")
    for first, other in labels.alike[:3]:
        notes.append(f"label {said(other, 20)} taken as {said(first, 20)}")
    if labels.set_aside:
        small = ", ".join(said(label, 20) for label in list(labels.set_aside)[:5])
        notes.append(f"classes of fewer than five rows left out: {small}")
    X = np.ascontiguousarray(X)
    about = {
        "source": source,
        "note": "; ".join(notes),
        "n_rows": len(codes),
        "n_features": X.shape[1],
        "classes": [str(label) for label in classes.tolist()],
        "class_counts": counts.tolist(),
    }
    return Rows(name, X, codes, 1, digest_of(X, codes, classes), about, classes)


def digest_of(X, codes, classes):
    """Return the fingerprint of a table: its columns, its labels and what they are called."""
    text = content_digest(X, codes) + repr(classes.tolist())
    return hashlib.sha256(text.encode()).hexdigest()
