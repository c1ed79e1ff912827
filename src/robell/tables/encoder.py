"""The reader of raw tables as a transformer: any columns in, columns of numbers out."""

from __future__ import annotations

from copy import copy
from functools import partial
from numbers import Integral
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, TransformerMixin, _fit_context
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import (
    _check_feature_names,
    _check_n_features,
    check_is_fitted,
    validate_data,
)

from robell._tools.text import unique
from robell.tables.columns import TEXT_COLUMNS, ColumnNote, Used, apply_plan, prepare_column
from robell.tables.leaks import find_leak, find_number_leak
from robell.tables.raw import Column, require_names
from robell.tables.read import columns_of
from robell.tables.target import LEAST_ROWS, MOST_CLASSES, holds_numbers


class TableEncoder(TransformerMixin, BaseEstimator):
    """Turn the columns of a raw table into numbers that a model can use.

    Numbers as people write them (``1,234.5``, ``12 %``, ``€ 1.803,28``, ``12 kg``), dates
    (``2024-12-31``, ``31.12.24 23:59``, with zones), times (``14:30``), truth values, categories,
    texts and missing cells are all taken as they come; :attr:`notes_` says what was done to each
    column. Labels are not used, with one exception: given ``y``, columns that repeat it are left
    out.

    ===========  =================================================================================
    a number     standardised, long tails drawn in; missing cells get the median, and where more
                 than 5 % are missing one more column says where
    a date       the same, in days; where there are times, two columns hold the time of day
    a time       the same, in hours, and two columns hold it on a circle
    a category   a column of 0 and 1 for each of its commonest levels; rarer levels, and those that
                 come later, are taken together, missing cells are a level of their own
    a text       of many values: the above, the directions of largest variance in the space of its
                 common words, and how often the text occurs
    left out     running numbers and other identifiers, constants, empty columns, lists
    ===========  =================================================================================

    Parameters
    ----------
    text_columns : int, default=10
        Columns of numbers for the words of one column of text, at the most.
    leaks : {"drop", "keep"}, default="drop"
        What is done with a column that repeats ``y`` in at least 99.5 % of the rows.
    delimiter : str, default=","
        The sign between the cells of the file that texts came from: it decides what a comma within
        a number means where no cell tells (``";"``: ``1,234`` is not a thousand).

    Attributes
    ----------
    notes_ : tuple of ColumnNote
        For each column its `name`, its `kind` ("number", "date", "category", "text", "left out"),
        how many cells are `missing`, and what was `done`, in words.
    plans_ : list of dict
        What is remembered of each column that is used.
    centre_ : ndarray of shape (n_features_out,)
        Means of the encoded columns over the rows of the fit.
    groups_ : dict of str -> list of int
        The places of each used column among the encoded ones.
    n_features_in_ : int
        Number of columns seen during fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where all are strings.

    See Also
    --------
    audit : Finds wrong labels in a raw table, read in the same way.

    Notes
    -----
    A CSV file and a frame of its cells give the same numbers. Rows are encoded one by one: what a
    row becomes does not depend on those transformed with it.

    Examples
    --------
    >>> import pandas as pd
    >>> from robell import TableEncoder
    >>> table = pd.DataFrame(
    ...     {"price": ["1,200", "950", None, "80"] * 10, "paid": ["31.12.2024", "01.02.2025"] * 20}
    ... )
    >>> encoder = TableEncoder().fit(table)
    >>> encoder.get_feature_names_out().tolist()
    ['price', 'price missing', 'paid']
    >>> encoder.transform(table.head(2)).round(2).tolist()
    [[0.95, -0.58, -1.0], [0.36, -0.58, 1.0]]
    """

    _parameter_constraints: dict[str, list[Any]] = {
        "text_columns": [Interval(Integral, 1, 1000, closed="both")],
        "leaks": [StrOptions({"drop", "keep"})],
        "delimiter": [str],
    }

    def __init__(
        self, text_columns: int = TEXT_COLUMNS, *, leaks: str = "drop", delimiter: str = ","
    ) -> None:
        self.text_columns = text_columns
        self.leaks = leaks
        self.delimiter = delimiter

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> TableEncoder:
        """Learn how each column is turned into numbers.

        Parameters
        ----------
        X : data frame of pandas or polars, or array-like, of shape (n_samples, n_features)
            The table.
        y : array-like of shape (n_samples,), default=None
            Labels, classes or numbers: columns that repeat them are left out. They are used for
            nothing else.

        Returns
        -------
        self : object
            The fitted encoder.
        """
        columns = self._columns(X, reset=True)
        self._learn(columns, np.arange(len(columns[0])) + 1, y)
        return self

    def _fit_columns(
        self, columns: list[Column], rows: NDArray[Any], delimiter: str, y: Any
    ) -> list[Used]:
        """Learn from columns, whose rows in the file are numbered; return those that are used."""
        self.delimiter = delimiter
        self.n_features_in_ = len(columns)
        self.feature_names_in_ = np.array(list(map(attrgetter("name"), columns)), dtype=object)
        return self._learn(columns, rows, y)

    def _learn(self, columns: list[Column], rows: NDArray[Any], y: Any) -> list[Used]:
        """Learn from columns, and return those used; one that repeats the target is not."""
        leaks_of = [] if y is None or self.leaks == "keep" else _leaks_of(y, len(rows))
        how = {"delimiter": self.delimiter, "text_columns": int(self.text_columns)}
        self.plans_, self._notes, found, centre = [], [], [], [np.zeros(0)]
        for place, column in enumerate(columns):
            used, note = prepare_column(column, rows, **how)
            for leak_of in leaks_of:
                if used is not None and (leak := leak_of(used)):
                    used, note = None, leak.left_out(note)
            if used is not None:
                self.plans_.append(used.plan | {"place": place})
                found.append(used)
                centre.append(used.matrix.mean(axis=0))
            like = list(note.number_like)
            self._notes.append([note.name, note.kind, int(note.missing), note.done, like])
        self.centre_ = np.concatenate(centre)
        return found

    @property
    def notes_(self) -> tuple[ColumnNote, ...]:
        """What was done to each column, in words."""
        check_is_fitted(self, "plans_")
        notes = []
        for note in self._notes:  # of an older model without cells that look like numbers
            notes.append(ColumnNote(*note[:4], *map(tuple, note[4:])))
        return tuple(notes)

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Turn rows into numbers.

        Parameters
        ----------
        X : data frame of pandas or polars, or array-like, of shape (n_samples, n_features)
            The table.

        Returns
        -------
        numbers : ndarray of shape (n_samples, n_features_out)
            Finite numbers.
        """
        check_is_fitted(self, "plans_")
        return self._transform_columns(self._columns(X, reset=False))

    def _transform_columns(self, columns: list[Column]) -> NDArray[np.float64]:
        """Turn columns as they were read, in the order of the fit, into numbers."""
        found = [part.matrix for part in self._used(columns)]
        return np.hstack([np.empty((len(columns[0]), 0)), *found])

    def _used(self, columns: list[Column]) -> list[Used]:
        return [apply_plan(plan, columns[plan["place"]]) for plan in self.plans_]

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return the names of the encoded columns.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Ignored, but checked: the names of the columns, if given.

        Returns
        -------
        names : ndarray of str objects
            Such as "price", "price missing" and "colour=red".
        """
        check_is_fitted(self, "plans_")
        if input_features is not None:
            known = getattr(self, "feature_names_in_", None)
            if known is not None and list(known) != list(input_features):
                raise ValueError("input_features is not equal to feature_names_in_")
            if len(input_features) != self.n_features_in_:
                raise ValueError(
                    f"input_features should have length equal to number of features "
                    f"({self.n_features_in_}), got {len(input_features)}"
                )
        names = [name for plan in self.plans_ for name in plan["names"]]
        return np.array(unique(names), dtype=object)

    @property
    def groups_(self) -> dict[str, list[int]]:
        """The places of each used column among the encoded ones."""
        check_is_fitted(self, "plans_")
        groups, start = {}, 0
        for plan in self.plans_:
            groups[plan["name"]] = list(range(start, start + len(plan["names"])))
            start += len(plan["names"])
        return groups

    def _columns(self, X: Any, *, reset: bool) -> list[Column]:
        """Return the columns of a frame or an array, checked as scikit-learn checks them."""
        if hasattr(X, "columns") and hasattr(X, "dtypes"):
            given, names = list(X.columns), require_names("the frame", map(str, X.columns))
            # As files name columns, which the fit may have read one of; numbers are no names.
            is_known = not reset and hasattr(self, "feature_names_in_")
            if given != names and (is_known or all(isinstance(name, str) for name in given)):
                X = copy(X)
                X.columns = names
            _check_feature_names(self, X, reset=reset)
            _check_n_features(self, X, reset=reset)
            if not len(X) or not len(X.columns):
                what = "sample(s)" if not len(X) else "feature(s)"
                raise ValueError(
                    f"Found array with 0 {what} (shape={X.shape}) while a minimum of 1 is required "
                    f"by {type(self).__name__}."
                )
        elif issparse(X):
            raise TypeError("sparse data is not a raw table: give a dense array or a data frame")
        else:
            X = validate_data(self, X, reset=reset, dtype=None, ensure_all_finite=False)
        return columns_of(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags


def _leaks_of(y: Any, n_rows: int) -> list[partial]:
    """Return what finds out that a column repeats labels, classes or numbers, of each target."""
    values, found = np.atleast_1d(np.asarray(y)), []
    if len(values) != n_rows:
        raise ValueError(f"X has {n_rows:,} rows, y has {len(values):,}")
    for target in values.reshape(n_rows, -1).T:
        if target.dtype.kind in "iuf" and holds_numbers(list(map(str, target.tolist())), "number"):
            if n_rows >= LEAST_ROWS and np.isfinite(target).all():
                found.append(partial(find_number_leak, values=target.astype(float)))
            continue
        if target.dtype.kind == "O":
            target = np.array(list(map(str, target.tolist())))
        classes, codes = np.unique(target, return_inverse=True)
        if 2 <= len(classes) <= MOST_CLASSES:
            found.append(partial(find_leak, codes=codes.reshape(-1), n_classes=len(classes)))
    return found
