"""Views of a table: selectors of columns, as scikit-learn's ColumnTransformer takes them."""

from __future__ import annotations

from numbers import Integral

import numpy as np

from robell._tools.names import did_you_mean


def columns_of_views(views, X, n_features, names):
    """Return the places of the columns of every view, or raise one line saying what is wrong.

    ``names`` are those of the columns, or None; X, or None, is given to selectors that are
    functions.
    """
    if not len(views):
        raise ValueError("views is empty: give one selector of columns at least, or None")
    found = []
    for place, view in enumerate(views):
        where = f"views[{place}]"
        if callable(view):
            if X is None:
                raise ValueError(
                    f"{where} is a function of the table, and only parts of it are at hand: give "
                    "columns by place or by name"
                )
            view = view(X)
        columns = _columns_of(view, n_features, names, where)
        if not len(columns):
            raise ValueError(
                f"{where} is empty: {view!r} is no column of X (n_features={n_features})"
            )
        found.append(columns)
    unused = np.setdiff1d(np.arange(n_features), np.concatenate(found))
    if len(unused):
        spelt = [str(place) if names is None else repr(names[place]) for place in unused[:5]]
        rest = f" and {len(unused) - 5} more" if len(unused) > 5 else ""
        raise ValueError(
            f"columns {', '.join(spelt)}{rest} are in no view: add them to one, or leave them out "
            "of X"
        )
    return found


def _columns_of(view, n_features, names, where):
    """Return the places of the columns that one selector names."""
    if isinstance(view, slice):
        if any(isinstance(bound, str) for bound in (view.start, view.stop)):
            view = _slice_of_names(view, names, where)
        return np.arange(n_features)[view]
    is_list = np.iterable(view) and not isinstance(view, str)
    keys = list(view) if is_list else [view]
    if keys and all(isinstance(key, bool | np.bool_) for key in keys):
        if len(keys) != n_features:
            raise ValueError(f"{where} is a mask of {len(keys)} columns; X has {n_features}")
        return np.flatnonzero(keys)
    if keys and all(isinstance(key, str) for key in keys):
        return np.array([_place_of(key, names, where) for key in keys])
    for key in keys:
        if not isinstance(key, Integral) or isinstance(key, bool):
            raise ValueError(
                f"{where} must be a slice, a mask, or columns by place or by name; got {key!r}"
            )
        if not -n_features <= key < n_features:
            raise ValueError(f"{where} asks for column {key}; X has {n_features}")
    return np.array([int(key) % n_features for key in keys], dtype=np.intp)


def _place_of(name, names, where):
    if names is None:
        raise ValueError(
            f"{where} asks for column {name!r} by its name, and X has no names: give a data frame "
            "(in a pipeline: set_output(transform='pandas')), or columns by place"
        )
    places = np.flatnonzero(np.asarray(names, dtype=object) == name)
    if not len(places):
        raise ValueError(
            f"{where} asks for column {name!r}, which X does not have"
            f"{did_you_mean(name, [str(one) for one in names])}"
        )
    return int(places[0])


def _slice_of_names(view, names, where):
    """Return a slice of names, both ends included, as one of places."""
    start, stop = (
        _place_of(bound, names, where) if isinstance(bound, str) else bound
        for bound in (view.start, view.stop)
    )
    return slice(start, stop + 1 if isinstance(view.stop, str) else stop, view.step)
