"""The rows to fit: read from files or a frame, encoded, with labels and what is to be said."""

from __future__ import annotations

import os
from collections import Counter
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from robell._tools.files import FileError, file_state
from robell._tools.text import counted, few, said
from robell.labels.review.review import fingerprints, read_reviews
from robell.labels.reviewed import Reviewed, reviewed_classes
from robell.scale.batches import copy_table, find_files
from robell.tables.columns import in_short, missing_cells
from robell.tables.encoder import TableEncoder
from robell.tables.leaks import MOST_COLUMNS, Giveaway, find_giveaway
from robell.tables.numerals import number, plain_number
from robell.tables.read import MAX_ROWS, evenly, read_table, read_tables, sample_places, table_parts
from robell.tables.target import (
    KnownLabels,
    dropped_columns,
    find_column,
    holds_numbers,
    read_labels,
)

DESCRIBED_ROWS = 20_000
COPIES = 7  # of the encoded table that a fit holds at its peak


@dataclass(frozen=True, eq=False)
class Training:
    """Rows to fit: numbers, labels as places among `classes`, and what became of the rest.

    `n_rows` counts the rows of the source; `columns` hold raw cells of some rows, by which the
    columns are described.
    """

    name: str
    target: str
    encoder: TableEncoder
    X: np.ndarray
    codes: np.ndarray
    classes: np.ndarray
    n_rows: int
    notes: tuple[str, ...]
    columns: list
    reviewed: Reviewed
    giveaways: tuple[Giveaway, ...]


@contextmanager
def table_files(paths):
    """Give the files that paths, folders and patterns name; what comes by a pipe as a copy."""
    given = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    files = []
    with ExitStack() as stack:
        for path in map(Path, given):
            if path.is_fifo():
                folder = stack.enter_context(TemporaryDirectory(prefix="robell-"))
                files.append(copy_table(path, Path(folder) / path.name))
            elif path.is_file() or not (path.is_dir() or any(c in "*?[" for c in str(path))):
                files.append(path)
            else:
                files += find_files([path])
        if not files:
            raise FileError("no file was given")
        yield list(dict.fromkeys(files))


def read_training(data, target, *, drop=(), text=None, classes=False, keep_spelling=False,
                  reviewed=(), memory=2 << 30, seed=0):  # fmt: skip
    """Read the rows to fit, as :func:`robell.decisions.run.fit_table` is asked to."""
    text = {"encoding": "utf-8", "delimiter": None} | (text or {})
    review = read_reviews(reviewed, target)
    seen: list = []  # of files, by which it is known whether they change
    with ExitStack() as stack:
        if hasattr(data, "columns"):
            table, files = read_table(data, max_rows=len(data) or 1, seed=seed), [data]
        else:
            files = stack.enter_context(table_files(data))
            seen = [file_state(path) for path in files]
            table = read_tables(files, target, **text, max_rows=MAX_ROWS, seed=seed)
        place = find_column(table, target)
        drop = dropped_columns(table, drop)
        if target in drop:
            raise FileError(f"{said(target)} is the target: it cannot be left out")
        labels = read_labels(table, place, keep_spelling=keep_spelling)
        order = np.argsort(typed_classes(labels.classes))  # as a fitted classifier orders them
        in_order = tuple(labels.classes[place] for place in order)
        labels = replace(labels, classes=in_order, codes=np.argsort(order)[labels.codes])
        if not classes:  # numbers may be measured rather than classes, or an audit takes them so
            column, values = table.columns[place], [number(label) for label in labels.classes]
            measured = holds_numbers(column.cells, column.kind, table.delimiter)
            if measured or (len(values) > 2 and None not in values):
                raise FileError(
                    f"{table.name}: column {said(column.name)} holds {len(values)} different "
                    f"numbers ({few(labels.classes)}): if they are classes, say so:",
                    parameter="classes",
                )
        kept = table.take(labels.kept)
        columns = [c for k, c in enumerate(kept.columns) if k != place and c.name not in drop]
        if not columns:
            raise FileError(f"{table.name}: there is no column besides the target to learn from")
        encoder = TableEncoder()
        used = encoder._fit_columns(columns, kept.rows, table.delimiter, labels.codes)
        if not encoder.plans_:
            why = in_short(encoder.notes_)
            raise FileError(f"{table.name}: no column is left to learn from: {why}")
        if len(encoder.centre_) > MOST_COLUMNS:
            raise FileError(
                f"{table.name}: {len(encoder.centre_):,} columns once categories are spread out; "
                f"at most {MOST_COLUMNS:,} are taken: leave some out with",
                parameter="drop",
            )
        find = partial(find_giveaway, codes=labels.codes, classes=labels.classes, target=target)
        giveaways = tuple(filter(None, map(find, used)))
        notes = [f"label {said(b, 20)} taken as {said(a, 20)}" for a, b in labels.alike[:3]]
        n_most = max(1, int(memory) // (8 * COPIES * len(encoder.centre_)))
        if len(table.rows) == table.n_rows:
            notes += _left_out(sum(labels.unlabelled.values()), labels.set_aside)
            X, codes = np.hstack([one.matrix for one in used]), labels.codes
            found = Reviewed.none(codes)
            if review.decided:
                given = np.array(labels.classes, dtype=object)[codes]
                prints = fingerprints(table, place)[labels.kept]
                settled, first = review.settles(prints, given, kept.rows)
                found = reviewed_classes(settled, first, labels.classes, codes)
                decided = counted(int(found.settled.sum()), "label")
                notes.append(f"{decided} reviewed before: right, where labels are judged")
            if is_sample := len(X) > n_most:
                chosen = sample_places(len(X), n_most, seed)
                X, codes, found = X[chosen], codes[chosen], found.at(chosen)
        else:
            cells, codes = kept.columns[place].cells, labels.codes.tolist()
            meant = KnownLabels(cells, codes, keep_spelling=keep_spelling)
            is_sample = table.n_rows > n_most
            X, codes, n_missing, others = _read_all(
                files, encoder, target, meant, table.n_rows, n_most, text, seed
            )
            notes += _left_out(n_missing, others, " of a random sample")
            for path, state in zip(files, seen, strict=False):
                if file_state(path) != state:
                    raise FileError(f"{path}: the file was changed while it was read")
            found = Reviewed.none(codes)
            if review.decided:
                n_sampled = len(table.rows)
                notes.append(f"the review was not used: the table has more than {n_sampled:,} rows")
            notes.append(f"columns were learnt from a random sample of {len(table.rows):,} rows")
        if is_sample:
            notes.append(
                f"{table.n_rows:,} rows need more memory than was given: a random sample of "
                f"{len(X):,} was fitted"
            )
    some = evenly(len(kept.rows), DESCRIBED_ROWS)
    return Training(
        table.name, target, encoder, X, codes, typed_classes(labels.classes), table.n_rows,
        tuple(notes), [column.take(some) for column in columns], found, giveaways,
    )  # fmt: skip


def _left_out(n_missing, others, where=""):
    """Return lines that count the rows without a label, and those of classes that are too small."""
    lines = []
    if n_missing:
        lines.append(f"{counted(n_missing, 'row')} without a label left out")
    if others:
        small = ", ".join(f"{said(name, 20)} ({n})" for name, n in others.items())
        lines.append(f"classes of fewer than five rows{where} left out: {small[:200]}")
    return lines


def typed_classes(classes):
    """Return the classes as predictions give them: whole numbers where all are, else text."""
    whole = []
    for label in classes:
        value = plain_number(label)
        if value is None or abs(value) >= 2**63 or value != value.to_integral_value():
            return np.array(classes)
        whole.append(int(value))
    return np.array(whole)


def _read_all(files, encoder, target, meant, n_rows, n_most, text, seed):
    """Read the files again in parts; return encoded rows of known labels, and count the others."""
    names = encoder.feature_names_in_
    chosen = None if n_rows <= n_most else sample_places(n_rows, n_most, seed)
    X = np.empty((min(n_rows, n_most), len(encoder.centre_)))
    codes, filled, start = np.empty(len(X), np.intp), 0, 0
    n_missing, others = 0, Counter[str]()
    for part in (part for path in files for part in table_parts(path, target, **text)):
        n_part = len(part.rows)
        if chosen is not None:
            inside = chosen[(chosen >= start) & (chosen < start + n_part)] - start
            part = part.take(inside)
        start += n_part
        column = part.columns[find_column(part, target)]
        gone, of_row = missing_cells(column), np.array([meant[cell] for cell in column.cells], int)
        n_missing += int(gone.sum())
        others.update(column.without(gone | (of_row >= 0)))
        known = np.flatnonzero(~gone & (of_row >= 0))
        part = part.take(known)
        of_name = {column.name: column for column in part.columns}
        there = slice(filled, filled + len(known))
        if there.stop > len(X):
            raise FileError(f"{part.name}: the file was changed while it was read")
        X[there] = encoder._transform_columns([of_name[name] for name in names])
        codes[there] = of_row[known]
        filled = there.stop
    return X[:filled], codes[:filled], n_missing, dict(others.most_common())
