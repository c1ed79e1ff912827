"""Predictions on Dask: lazy, of a collection of any size, by any fitted model."""

from __future__ import annotations

from contextlib import contextmanager

import numpy as np
from sklearn.base import is_regressor
from sklearn.utils.validation import check_is_fitted

from robell._tools.optional import require
from robell._tools.pipelines import last_step
from robell.scale.partitions import is_array, require_dask


def predict(estimator, X):
    """Return predicted classes or targets, lazily.

    Parameters
    ----------
    estimator : fitted estimator or pipeline
        From :func:`fit`, or fitted in any other way.
    X : dask array or dask data frame of shape (n_samples, n_features)
        Rows to predict. Of a data frame, the columns of fit are taken by name.

    Returns
    -------
    labels : dask array, dask series or dask data frame
        Nothing is computed before it is asked for. A series keeps the index of X. Of several
        targets there is a column each.

    Examples
    --------
    >>> import dask.array as da
    >>> from sklearn.datasets import load_breast_cancer
    >>> import robell.dask
    >>> from robell import RVFLClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = RVFLClassifier(random_state=0).fit(X, y)
    >>> labels = robell.dask.predict(model, da.from_array(X, chunks=(100, -1)))
    >>> bool((labels.compute() == model.predict(X)).all())
    True
    """
    return _lazily(estimator, X, "predict")


def predict_proba(estimator, X):
    """Return class probabilities, lazily.

    Parameters
    ----------
    estimator : fitted estimator or pipeline
        With ``calibrate=True``.
    X : dask array or dask data frame of shape (n_samples, n_features)
        Rows to classify, as in :func:`predict`.

    Returns
    -------
    probability : dask array or dask data frame of shape (n_samples, n_classes)
        Columns of a data frame are the classes.

    Examples
    --------
    >>> import dask.array as da
    >>> import robell.dask
    >>> from robell import RVFLClassifier
    >>> model = RVFLClassifier(random_state=0).fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    >>> robell.dask.predict_proba(model, da.ones((500, 1), chunks=100)).shape
    (500, 2)
    """
    return _lazily(estimator, X, "predict_proba")


def decision_function(estimator, X):
    """Return raw scores, lazily.

    Parameters
    ----------
    estimator : fitted estimator or pipeline
        From :func:`fit`, or fitted in any other way.
    X : dask array or dask data frame of shape (n_samples, n_features)
        Rows to score, as in :func:`predict`.

    Returns
    -------
    scores : dask array, dask series or dask data frame
        One score a row for two classes, otherwise one for each class.

    Examples
    --------
    >>> import dask.array as da
    >>> import robell.dask
    >>> from robell import RVFLClassifier
    >>> model = RVFLClassifier(random_state=0).fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    >>> robell.dask.decision_function(model, da.ones((500, 1), chunks=100)).shape
    (500,)
    """
    return _lazily(estimator, X, "decision_function")


def _lazily(estimator, X, method):
    """Return a method's result for every partition: a column, or one for every class."""
    check_is_fitted(estimator)
    getattr(estimator, method)  # raises now, and says why, where there is none
    require("dask.array", "dask")
    require_dask("X", X)
    dtype, columns = _result_of(estimator, method)
    one_column = columns is None
    meta = np.empty((0,) if one_column else (0, len(columns)), dtype)
    if not is_array(X):
        meta = _as_frame(meta, columns)
        X = _columns_of_fit(estimator, X)
        return X.map_partitions(_predict_frame, estimator, method, meta, meta=meta)
    if X.shape[1] != estimator.n_features_in_:
        raise ValueError(
            f"X has {X.shape[1]} columns, and the model was fitted to {estimator.n_features_in_}"
        )
    if X.numblocks[1] > 1:
        X = X.rechunk({1: -1})
    shape = {"drop_axis": 1} if one_column else {"chunks": (X.chunks[0], (len(columns),))}
    return X.map_blocks(_predict_block, estimator, method, meta, dtype=dtype, meta=meta, **shape)


def _result_of(estimator, method):
    """Return the type of a method's results, and the names of their columns; None for one."""
    if is_regressor(estimator):
        n_targets = last_step(estimator).n_outputs_
        return np.dtype(float), None if n_targets == 1 else list(range(n_targets))
    classes = estimator.classes_
    if method == "predict":
        return classes.dtype, None
    one_column = method == "decision_function" and len(classes) == 2
    return np.dtype(float), None if one_column else classes


def _columns_of_fit(estimator, X):
    names = getattr(estimator, "feature_names_in_", None)
    if names is None:
        return X
    missing = [name for name in names if name not in X.columns]
    if missing:
        raise ValueError(f"X has no column {missing[0]!r}, which the model was fitted to")
    return X[list(names)]


def _as_frame(values, columns, index=None):
    import pandas

    if columns is None:
        return pandas.Series(values, index=index)
    return pandas.DataFrame(values, columns=columns, index=index)


def _predict_block(X, estimator, method, empty, block_id=None):
    if not len(X):
        return empty
    with _naming_partition(block_id and block_id[0]):
        return getattr(estimator, method)(X)


def _predict_frame(X, estimator, method, empty, partition_info=None):
    if not len(X):
        return empty
    columns = getattr(empty, "columns", None)
    rows = X if hasattr(estimator, "feature_names_in_") else np.asarray(X)
    with _naming_partition(partition_info and partition_info["number"]):
        return _as_frame(getattr(estimator, method)(rows), columns, X.index)


@contextmanager
def _naming_partition(number):
    """Say in errors of which partition they are, counted from 0, where that is known."""
    try:
        yield
    except (ValueError, TypeError) as error:
        if number is None:
            raise
        raise type(error)(f"partition {number}: {' '.join(str(error).split())}") from error
