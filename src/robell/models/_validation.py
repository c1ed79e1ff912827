"""The gate: tables, labels and weights are checked here, once; the mathematics trusts them."""

from __future__ import annotations

import sys
import warnings
from contextlib import contextmanager
from numbers import Integral
from textwrap import shorten
from typing import Any, NamedTuple

import numpy as np
from numpy.exceptions import DTypePromotionError
from sklearn import get_config
from sklearn.exceptions import DataConversionWarning
from sklearn.utils import check_array, check_random_state
from sklearn.utils._param_validation import Interval

from robell._core.array import is_no_value, is_tensor, to_host

WHOLE_NUMBERS = ("int8", "int16", "int32", "int64", "uint8")  # of tensors
OWN_CALLERS = ("robell", "sklearn", "contextlib", "joblib")  # the others call ours
LARGEST_WEIGHT = 1e100  # of a row: squares and sums of larger ones overflow
ARRAY_CHECKS = {"dtype": np.float64, "order": "C"}
JOBS = [  # what n_jobs may be
    Interval(Integral, 1, None, closed="left"),
    Interval(Integral, None, -1, closed="right"),
    None,
]


class TrainingRows(NamedTuple):
    """Rows that a model is fitted to: arrays, or tensors on one device."""

    X: np.ndarray
    labels: np.ndarray  # places in classes_
    multiplicity: np.ndarray


class TargetRows(NamedTuple):
    """Rows that a regressor is fitted to: arrays, or tensors on one device."""

    X: np.ndarray
    targets: np.ndarray  # (n, targets)
    multiplicity: np.ndarray


class Given(NamedTuple):
    """What fit was given, checked: arrays, except that X may be a tensor."""

    X: np.ndarray
    y: np.ndarray  # or a tensor of whole numbers
    multiplicity: np.ndarray
    present: Any  # places of the rows of positive weight: an array, or the range of all
    rows: Any  # those rows: TrainingRows, or TargetRows of numbers
    classes: np.ndarray | None = None  # their labels, sorted; of classifiers


def as_columns(y):
    """Return checked targets as columns; a single column given as a table is announced."""
    y = np.asarray(y, np.float64)
    if y.ndim == 2 and y.shape[1] == 1:
        warnings.warn(
            "a column of targets was given where one dimension is expected: y is taken as "
            "y.ravel(), and predictions have one dimension",
            DataConversionWarning,
            stacklevel=level_of_user(),
        )
    return y.reshape(len(y), -1)


def level_of_user():
    """Return the ``stacklevel`` at which a warning names the line that called the package."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back and frame.f_globals.get("__name__", "").split(".")[0] in OWN_CALLERS:
        level, frame = level + 1, frame.f_back
    return level


def draw_seed(random_state):
    """Return the one number from random_state that seeds everything random in a fit."""
    # One number only, so that the state of random_state afterwards does not depend on n_hidden.
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


@contextmanager
def one_line_errors(who, X, table="X", y=None):
    """Say in one line where X (``table``) or numbers y are unusable; ``who`` is refusing them."""
    try:
        yield
    except (ValueError, DTypePromotionError) as error:
        name = who if isinstance(who, str) else type(who).__name__
        message = _explain(name, X, str(error), table, y) or shorten(str(error), 400)
        # scikit-learn's own checks want the list of names as it is.
        if message == str(error) or message.startswith("The feature names should match"):
            raise
        raise ValueError(message) from None


def _explain(name, X, message, table, y):
    first_line = message.splitlines()[0].rstrip(".")
    if message.startswith("Unknown label type: unknown"):
        return (
            f"Unknown label type: {name} takes labels that are all texts, whole numbers or truth "
            "values; y holds objects of other or several kinds: give y.astype(str), for instance"
        )
    if message.startswith("Input y contains") and y is not None:
        where = _where(np.asarray(to_host(y)).reshape(len(y), -1), _not_finite)
        return f"{first_line}{where}: {name} predicts finite numbers only, so drop such rows first"
    if message.startswith(f"Input {table} contains"):
        return (
            f"{first_line}{_where(X, _not_finite)}: {name} accepts finite numbers only, so impute "
            "or drop such values first"
        )
    not_converted = "could not convert string to float"
    if not_converted in message or "could not be promoted by" in message:
        why = f"{not_converted}; " if not_converted in message else ""
        return (
            f"{table} must be numeric{_where(X, _is_text)}: {why}encode text and dates first, for "
            "instance with TableEncoder of robell"
        )
    return None


def _where(X, is_bad):
    """Return " in column ..., row ..." of the first bad value, or "" when it cannot be told."""
    names = getattr(X, "columns", None)
    values = np.asarray(to_host(X), dtype=object if hasattr(X, "columns") else None)
    if values.ndim != 2:
        return ""
    for column in range(values.shape[1]):
        bad = np.fromiter((is_bad(v) for v in values[:, column]), bool, len(values))
        if bad.any():
            label = column if names is None else repr(str(names[column]))
            return f" (column {label}, row {int(bad.argmax())})"
    return ""


def _not_finite(value):
    try:
        return not np.isfinite(np.float64(value))
    except (TypeError, ValueError):
        return False


def _is_text(value):
    if is_no_value(value):
        return False
    try:
        float(value)
    except (TypeError, ValueError):
        return True
    return False


def check_multiplicity(sample_weight, n_rows):
    """Return sample weights as a float array, or raise one line saying what they must be."""
    if sample_weight is None:
        return np.ones(n_rows)
    try:
        weight = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError("sample_weight must be numeric") from None
    if weight.ndim == 0:
        weight = np.full(n_rows, float(weight))
    if weight.shape != (n_rows,):
        raise ValueError(
            f"sample_weight must have shape ({n_rows},), one number a row of X; got {weight.shape}"
        )
    if not np.isfinite(weight).all():
        raise ValueError("sample_weight must be finite; it contains NaN or infinity")
    if (weight < 0).any():
        raise ValueError(f"sample_weight must not be negative; its smallest is {weight.min():g}")
    if not (weight > 0).any():
        raise ValueError("sample_weight must have a positive entry; all are zero")
    least, most = weight[weight > 0].min(), weight.max()
    if least < 1.0 / LARGEST_WEIGHT or most > LARGEST_WEIGHT:
        raise ValueError(
            f"sample_weight must be 0 or from {1 / LARGEST_WEIGHT:g} to {LARGEST_WEIGHT:g}; its "
            f"positive entries range from {least:g} to {most:g}: scale them"
        )
    return weight


def weights_of_part(sample_weight, n_rows):
    """Return the multiplicities of a part's rows, all of which may be absent."""
    if sample_weight is not None and not np.any(np.asarray(sample_weight) != 0):
        return np.zeros(n_rows)
    return check_multiplicity(sample_weight, n_rows)


def present_rows(*values):
    """Return rows, what is known of them and their weights, without rows of weight zero."""
    present = values[-1] > 0
    return values if present.all() else tuple(value[present] for value in values)


# -- tensors -------------------------------------------------------------------------


def uses_device(X, estimator=None):
    """Say whether X is a tensor to be taken as one; refuse one that nothing here could read."""
    if not is_tensor(X):
        return False
    if get_config()["array_api_dispatch"]:
        if estimator is not None and not estimator._capabilities.tensors:
            raise TypeError(f"{type(estimator).__name__} takes arrays, not tensors: give X.cpu()")
        return True
    if X.device.type != "cpu":
        raise TypeError(
            f"X is a tensor on {X.device}: turn scikit-learn's array API dispatch on, "
            "sklearn.set_config(array_api_dispatch=True), or give X.cpu()"
        )
    return False


def check_tensor(estimator, X, reset):
    """Return X as a table of finite floats on its device."""
    import torch

    name = type(estimator).__name__
    if X.ndim != 2:
        raise ValueError(
            f"Expected 2D array, got {X.ndim}D array instead. Reshape your data either using "
            "X.reshape(-1, 1) if it has a single feature or X.reshape(1, -1) if it is one sample."
        )
    if X.is_complex():
        raise ValueError(f"Complex data not supported by {name}")
    if X.shape[0] == 0 or X.shape[1] == 0:
        what = "sample" if X.shape[0] == 0 else "feature"
        raise ValueError(
            f"Found array with 0 {what}(s) (shape={tuple(X.shape)}) while a minimum of 1 is "
            "required."
        )
    if not X.is_floating_point():
        X = X.to(torch.float64)
    if X.dtype not in (torch.float32, torch.float64):
        X = X.to(torch.float32)
    if not bool(torch.isfinite(X).all()):
        raise ValueError("Input X contains NaN or infinity.")
    if reset:
        estimator.n_features_in_ = X.shape[1]
    elif X.shape[1] != estimator.n_features_in_:
        raise ValueError(
            f"X has {X.shape[1]} features, but {name} is expecting "
            f"{estimator.n_features_in_} features as input."
        )
    return X


def check_targets(y, X):
    """Return the targets of rows on a device, as an array."""
    y, n_rows = np.asarray(to_host(y)), len(X)
    if y.ndim not in (1, 2) or len(y) != n_rows:
        raise ValueError(f"y must have shape ({n_rows},) or ({n_rows}, n_targets); got {y.shape}")
    return check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")


def check_labels(y, X):
    """Return the labels of rows on a device: whole numbers stay there, others are an array."""
    if not (is_tensor(y) and str(y.dtype).removeprefix("torch.") in WHOLE_NUMBERS):
        y = np.asarray(to_host(y))
    if tuple(y.shape) != (len(X),):
        raise ValueError(f"y must have shape ({len(X)},); got {tuple(y.shape)}")
    return y.to(X.device) if is_tensor(y) else y
