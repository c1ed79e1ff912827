"""What a data set is here, what is known about it, and the two ways of failing to get one."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np


class DatasetError(ValueError):
    """Data that are malformed, or a name that is not known.

    Examples
    --------
    >>> from robell.datasets import DatasetError, load
    >>> try:
    ...     load("habermann")
    ... except DatasetError as error:
    ...     print(error)
    no data set is called 'habermann'; did you mean 'haberman' or 'german' or 'haberman_survival'?
    """


class DatasetUnavailable(LookupError):
    """A known set that none of the permitted sources has.

    Examples
    --------
    >>> from robell.datasets import DatasetUnavailable
    >>> issubclass(DatasetUnavailable, LookupError)
    True
    """


@dataclass(frozen=True, eq=False)
class Dataset:
    """One classification table, of two classes unless its name is of a set with more.

    Attributes
    ----------
    name : str
        The name under which it was asked for.
    X : ndarray of shape (n_rows, n_features), dtype float64
        Raw values, not scaled.
    y : ndarray of shape (n_rows,), dtype int64
        0 or 1; 1 is the smaller class, or the one called positive in KEEL's imbalanced sets. Of
        more classes: from 0 on, in the order of their labels.
    feature_names : tuple of str
        One per column of `X`.
    source : str
        Where these values came from.
    stand_in : bool
        True where the paper's file is not available and other data stand in its place.
    paper_rows : bool
        True where `digest` is that of the rows whose recovered split gives the printed test counts.
    note : str
        What differs from the paper's file, or was done to the source; empty if nothing.

    Examples
    --------
    >>> from robell.datasets import load
    >>> monk = load("monks_3", download=False)
    >>> monk.X.shape, int(monk.y.sum()), monk.paper_rows
    ((554, 6), 266, True)
    """

    name: str
    X: np.ndarray
    y: np.ndarray
    feature_names: tuple[str, ...]
    source: str
    stand_in: bool = False
    paper_rows: bool = False
    note: str = ""

    @property
    def digest(self) -> str:
        """SHA-256 of shape, values and labels in hexadecimal, the same on every machine."""
        return content_digest(self.X, self.y)


@dataclass(frozen=True)
class DatasetInfo:
    """What is known about a set without loading it.

    Attributes
    ----------
    name : str
        The name `load` takes.
    title : str
        What the data really are.
    n_rows, n_features, n_minority : int
        Size of the table, and how many rows are of class 1 of two, or of the smallest of more.
    source : str
        Where the data come from.
    licence : str
        Under what terms, as far as stated by the source.
    verdict : str
        Whether the split gives the printed test counts: "exact", "exact after reordering", "ratio
        only", "not found", or "not in the paper".
    paper_positive : int or None
        The value of y to which the paper's sensitivity refers.
    printed_test_counts : tuple of (int, int) or None
        Positive and negative test rows that the paper's Table S.IV implies.
    note : str
        What a reader of results should know.
    same_rows_as : str or None
        Another name of the same table.
    n_classes : int
        How many classes there are.

    Examples
    --------
    >>> from robell.datasets import info
    >>> info("checkerboard_Data").title
    'Australian credit approval, not a checkerboard'
    """

    name: str
    title: str
    n_rows: int
    n_features: int
    n_minority: int
    source: str
    licence: str
    verdict: str
    paper_positive: int | None = None
    printed_test_counts: tuple[int, int] | None = None
    note: str = ""
    same_rows_as: str | None = None
    n_classes: int = 2


def content_digest(X, y):
    """SHA-256 of a table; 0.0 and -0.0 count as equal, byte order as little-endian."""
    values = np.ascontiguousarray(X, dtype="<f8") + 0.0
    labels = np.ascontiguousarray(y, dtype="<i8")
    shape = f"{values.shape[0]}x{values.shape[1]};".encode()
    return hashlib.sha256(shape + values.tobytes() + labels.tobytes()).hexdigest()


def other_size(info, X, y):
    """Say how the size of a table differs from a known set's; an empty text where it does not."""
    counts = np.bincount(y, minlength=2)
    # Of more than two classes the smallest counts.
    found = (*X.shape, int(counts[1] if len(counts) == 2 else counts.min()))
    expected = (info.n_rows, info.n_features, info.n_minority)
    if found == expected:
        return ""
    return "{} rows, {} columns and {} rows of class 1 where the set has {}, {} and {}".format(
        *found, *expected
    )


def unordered_digest(X, y):
    """Digest of a table whatever the order of its rows."""
    order = np.lexsort(np.column_stack([X, y]).T)
    return content_digest(X[order], y[order])
