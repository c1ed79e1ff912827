"""The gate: tables, labels and weights are checked here, once; the mathematics trusts them."""

from __future__ import annotations

from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

ARRAY_CHECKS = {"dtype": np.float64, "order": "C"}


class TrainingRows(NamedTuple):
    """Rows that a model is fitted to."""

    X: np.ndarray
    labels: np.ndarray  # places in classes_
    multiplicity: np.ndarray


class Given(NamedTuple):
    """What fit was given, checked."""

    X: np.ndarray
    y: np.ndarray
    multiplicity: np.ndarray
    present: np.ndarray  # places of the rows of positive weight
    classes: np.ndarray  # the labels of those rows, sorted

    def rows(self):
        """Return the rows of positive weight."""
        X, y, multiplicity, present, classes = self
        if len(present) < len(X):
            X, y, multiplicity = X[present], y[present], multiplicity[present]
        return TrainingRows(X, np.searchsorted(classes, y), multiplicity)


def check_training(estimator, X, y, sample_weight=None, check_table=None):
    """Check what fit was given; ``check_table(X, y)`` may replace scikit-learn's usual checks."""
    with one_line_errors(estimator, X):
        if check_table is None:
            X, y = validate_data(estimator, X, y, **ARRAY_CHECKS)
        else:
            X, y = check_table(X, y)
    check_classification_targets(y)
    multiplicity = check_multiplicity(sample_weight, len(X))
    present = np.flatnonzero(multiplicity)
    classes = np.unique(y[present])
    if len(classes) < 2:
        raise ValueError(
            f"{type(estimator).__name__} needs rows of at least two classes; "
            f"y has one class, {classes[0]!r}"
        )
    return Given(X, y, multiplicity, present, classes)


def draw_seed(random_state):
    """Return the one number from random_state that seeds everything random in a fit."""
    # One number only, so that the state of random_state afterwards does not depend on n_hidden.
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


@contextmanager
def one_line_errors(estimator, X):
    """Turn scikit-learn's long messages about unusable values into one line that says where."""
    try:
        yield
    except ValueError as error:
        message = _explain(type(estimator).__name__, X, str(error))
        if message is None:
            raise
        raise ValueError(message) from None


def _explain(name, X, message):
    if message.startswith("Input X contains"):
        what = message.splitlines()[0].removeprefix("Input X contains ").rstrip(".")
        return (
            f"Input X contains {what}{_where(X, _not_finite)}: {name} accepts finite numbers "
            "only, so impute or drop such values first"
        )
    if "could not convert string to float" in message:
        return (
            f"X must be numeric{_where(X, _is_text)}: could not convert string to float; "
            f"encode text columns first, for instance with OneHotEncoder"
        )
    return None


def _where(X, is_bad):
    """Return " in column ..., row ..." of the first bad value, or "" when it cannot be told."""
    names = getattr(X, "columns", None)
    values = np.asarray(X)
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
    return weight
