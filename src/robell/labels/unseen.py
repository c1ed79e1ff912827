"""Rows dealt to folds, and each predicted by a model fitted to the other folds."""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
from sklearn.base import clone

from robell._core.labels.noise import separations
from robell._core.ridge.twins import left_out_together
from robell.models.noise_robust import NoiseRobustRVFLClassifier, NoSignalWarning

CHECKED_ROWS = 20_000  # of a larger table a sample of so many is used, each row hidden once
FOLDS, FOLDED_ROWS = 5, 5_000  # five folds up to so many rows, two beyond


class Unseen(NamedTuple):
    """How well the predictions for hidden rows agree with the labels given, class by class.

    `errors` are standard errors of the areas under the ROC curve, under chance.
    """

    separations: np.ndarray
    errors: np.ndarray
    misfits: float

    @classmethod
    def of(cls, likely, codes):
        """Return it from the balanced probabilities of hidden rows: the largest is predicted."""
        misfits = float((likely.argmax(axis=1) != codes).mean())
        return cls(*separations(likely, codes), misfits)


def predict_unseen(X, codes, n_classes, random_state):
    """Predict the label of each row by a classifier that has seen neither it nor its copies."""
    rng = np.random.default_rng(random_state)
    checked = stratified_sample(codes, CHECKED_ROWS, rng)
    X, codes = X[checked], codes[checked]
    n_folds = FOLDS if len(codes) <= FOLDED_ROWS else 2
    folds = random_folds(X, codes, n_folds, rng)
    likely = np.zeros((len(codes), n_classes))
    # Balanced: the class predicted is then the one with the largest probability.
    model = NoiseRobustRVFLClassifier(probability="balanced", random_state=random_state)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoSignalWarning)  # what is found here says it better
        for hidden, rows, fitted in fitted_to_other_folds(model, X, codes, folds, n_folds, 2):
            if fitted is not None:  # else its rows keep equal scores, which count as guessing
                likely[np.ix_(hidden, fitted.classes_)] = fitted.predict_proba(rows)
    return Unseen.of(likely, codes)


def stratified_sample(codes, most, rng):
    """Return places of a limited number of rows, every class by its share, five rows at least."""
    if len(codes) <= most:
        return np.arange(len(codes))
    chosen = []
    for k in np.unique(codes):
        places = np.flatnonzero(codes == k)
        n = min(len(places), max(5, round(most * len(places) / len(codes))))
        chosen.append(rng.choice(places, n, replace=False))
    return np.sort(np.concatenate(chosen))


def random_folds(X, codes, n_folds, rng):
    """Return the fold of every row by chance, classes spread evenly, equal numeric rows in one.

    Equal rows that are left out in parts, for they are no copies of one record, are dealt singly.
    """
    try:
        is_numeric = np.asarray(X).dtype.kind in "fiub"
    except (TypeError, ValueError):
        is_numeric = False
    columns = np.asarray(X, np.float64) if is_numeric else np.arange(len(codes))[:, None]
    if len(columns) != len(codes):
        raise ValueError(f"X has {len(columns)} rows, y has {len(codes)}")
    group = np.arange(len(codes))
    twins = left_out_together(columns, codes, np.ones(len(codes)))
    if twins is not None:
        together = twins.parts is None or twins.parts.own[twins.group] == 0.0
        group = np.where(together, twins.first[twins.group], group)
    _, first, group = np.unique(group, return_index=True, return_inverse=True)
    shuffled = rng.permutation(len(first))
    by_class = shuffled[np.argsort(codes[first][shuffled], kind="stable")]
    fold = np.empty(len(first), int)
    fold[by_class] = np.arange(len(first)) % n_folds
    return fold[group]


def fitted_to_other_folds(estimator, X, y, folds, n_folds, least_classes=1):
    """Yield of every fold places, rows and a clone fitted to the others, None if too few."""
    for fold in range(n_folds):
        hidden, others = np.flatnonzero(folds == fold), np.flatnonzero(folds != fold)
        if not len(hidden) or (least_classes > 1 and len(np.unique(y[others])) < least_classes):
            yield hidden, None, None
        else:
            yield hidden, rows_of(X, hidden), clone(estimator).fit(rows_of(X, others), y[others])


def fitted_on_folds(estimator, X, y, strata, random_state):
    """Yield places and rows of each of five folds, and a clone fitted to the other ones."""
    folds = random_folds(X, strata, FOLDS, np.random.default_rng(random_state))
    found = fitted_to_other_folds(estimator, X, y, folds, FOLDS)
    return ((hidden, rows, model) for hidden, rows, model in found if model is not None)


def rows_of(X, places):
    """Return some rows of an array, a sparse matrix, or a pandas or polars frame."""
    if hasattr(X, "iloc"):
        return X.iloc[places]
    if hasattr(X, "columns") or hasattr(X, "tocsr"):
        return X[places]
    return np.asarray(X)[places]


def numeric_columns(X, name):
    """Return columns of finite numbers as an array; raise a line that names the argument."""
    try:
        X = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be numeric; robell.TableEncoder makes it so") from None
    if X.ndim != 2 or not np.isfinite(X).all():
        shape = f"; its shape is {X.shape}" if X.ndim != 2 else ""
        raise ValueError(
            f"{name} must have rows and columns, without missing or infinite cells{shape}"
        )
    return X
