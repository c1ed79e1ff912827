"""Labels of several annotators, as a table or as a list, read into one form."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robell._core.array import is_no_value
from robell._core.labels.annotators import Votes


class ReadVotes(NamedTuple):
    """Votes with what their places stand for; `X` is None where no columns were given."""

    votes: Votes
    classes: np.ndarray
    rows: np.ndarray
    annotators: np.ndarray
    X: np.ndarray | None


def read_votes(labels, X, row, annotator):
    """Check what was given and return it as votes."""
    if (row is None) != (annotator is None):
        raise ValueError("the long form needs both row and annotator")
    X = None if X is None else _check_columns(X)
    if row is None:
        row, annotator, given, rows, annotators = _from_table(labels)
        if X is not None and len(X) != len(rows):
            raise ValueError(f"labels have {len(rows)} rows, X has {len(X)}")
    else:
        row, annotator, given, rows, annotators = _from_list(labels, row, annotator, X)
    classes, codes = _encode(given)
    if len(classes) < 2:
        raise ValueError(f"labels of at least two classes are needed; all are {classes[0]!r}")
    votes = Votes(row, annotator, codes, len(rows), len(annotators), len(classes))
    return ReadVotes(votes, classes, rows, annotators, X)


def _from_table(labels):
    """Return places of rows and annotators, and the labels, of a table with a column for each."""
    columns = getattr(labels, "columns", None)
    if hasattr(labels, "to_pandas"):
        labels = labels.to_pandas()
    table = np.asarray(labels, dtype=object)
    if table.ndim != 2:
        raise ValueError(
            f"labels must have a column for each annotator, or row and annotator must be given; "
            f"its shape is {table.shape}"
        )
    names = np.asarray(list(columns)) if columns is not None else np.arange(table.shape[1])
    row, annotator = np.nonzero(~_missing(table))
    if not len(row):
        raise ValueError("labels are all missing")
    return row, annotator, table[row, annotator], np.arange(len(table)), names


def _from_list(labels, row, annotator, X):
    """Return the same of one label an entry."""
    given = np.asarray(labels, dtype=object).ravel()
    keys, names = np.asarray(row).ravel(), np.asarray(annotator).ravel()
    if not len(given) == len(keys) == len(names):
        raise ValueError(
            f"labels, row and annotator must have the same length; they have {len(given)}, "
            f"{len(keys)} and {len(names)}"
        )
    present = ~_missing(given)
    given, keys, names = given[present], keys[present], names[present]
    if not len(given):
        raise ValueError("labels are all missing")
    annotators, who = np.unique(names, return_inverse=True)
    if X is None:
        rows, place = np.unique(keys, return_inverse=True)
    else:
        rows = np.arange(len(X))
        if keys.dtype.kind not in "iu" or keys.min() < 0 or keys.max() >= len(X):
            raise ValueError(f"row must hold positions in X, from 0 to {len(X) - 1}")
        place = keys.astype(np.intp)
    return (*_once(place, who, given, rows, annotators), rows, annotators)


def _once(place, who, given, rows, annotators):
    """Return every label once; two different ones of an annotator for a row are an error."""
    order = np.lexsort((who, place))
    place, who, given = place[order], who[order], given[order]
    again = np.flatnonzero((place[1:] == place[:-1]) & (who[1:] == who[:-1]))
    for k in again:
        if given[k] != given[k + 1]:
            raise ValueError(
                f"annotator {annotators[who[k]]!s} gave row {rows[place[k]]!s} two labels, "
                f"{given[k]!r} and {given[k + 1]!r}"
            )
    kept = np.ones(len(given), dtype=bool)
    kept[again + 1] = False
    return place[kept], who[kept], given[kept]


def _missing(values):
    """Return which entries are no label: None, NaN, NA, NaT, or text without a character."""
    flat = values.ravel()
    gone = (is_no_value(v) or (isinstance(v, str) and not v.strip()) for v in flat)
    return np.fromiter(gone, dtype=bool, count=len(flat)).reshape(values.shape)


def _encode(given):
    """Return the sorted labels and their places."""
    kinds = {isinstance(label, str) for label in given.tolist()}
    if len(kinds) > 1:
        raise ValueError("labels must be all text or all numbers")
    typed = np.array(given.tolist())
    if typed.dtype.kind == "f" and (typed == np.floor(typed)).all():
        typed = typed.astype(np.int64)  # a column with missing entries makes 1 into 1.0
    return np.unique(typed, return_inverse=True)


def _check_columns(X):
    """Return numeric columns without missing cells."""
    try:
        X = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError("X must be numeric; robell.TableEncoder makes it so") from None
    if X.ndim != 2:
        raise ValueError(f"X must have rows and columns; its shape is {X.shape}")
    if not np.isfinite(X).all():
        raise ValueError("X must have no missing or infinite cells")
    return X
