"""Labels foretold for rows that the classifier has not seen."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from sklearn.metrics import roc_auc_score

from robell.models.noise_robust import NoiseRobustRVFLClassifier

CHECKED_ROWS = 20_000  # that are hidden in turn; others are not shown at all
FOLDS, FOLDED_ROWS = 5, 5_000  # folds up to so many rows; two beyond


class Unseen(NamedTuple):
    """What was foretold, and how well it agrees with the labels given.

    `scores` has every row; `checked` are the places of the rows that the rest is measured on.
    `separations` are areas under the ROC curve, `errors` their standard errors under chance, and
    `misfits` is the share of labels that are not the ones foretold.
    """

    scores: np.ndarray
    checked: np.ndarray
    separations: np.ndarray
    errors: np.ndarray
    misfits: float


def foretell(X, codes, n_classes, random_state):
    """Foretell the label of each row by classifiers that have not seen it.

    Rows that are equal are always in the same fold: a row must not be recognised by its copy.

    Parameters
    ----------
    X : array of shape (n_rows, n_columns)
    codes : array of shape (n_rows,)
        Given classes from 0 on.
    n_classes : int
        Their number.
    random_state : int
        Of the classifiers' random layers and of the folds.

    Returns
    -------
    unseen : Unseen
    """
    rng = np.random.default_rng(random_state)
    checked = _spread(codes, CHECKED_ROWS, rng)
    folds = np.full(len(codes), -1)  # rows beyond the checked ones are hidden from every fold
    n_folds = FOLDS if len(checked) <= FOLDED_ROWS else 2
    folds[checked] = deal_out(X[checked], codes[checked], n_folds, rng)
    scores = np.zeros((len(codes), n_classes))
    likely = np.zeros((len(codes), n_classes))
    for fold in range(n_folds):
        shown = (folds >= 0) & (folds != fold)
        if len(np.unique(codes[shown])) < 2:
            continue  # its rows keep equal scores, which are worth one half
        model = NoiseRobustRVFLClassifier(random_state=random_state).fit(X[shown], codes[shown])
        for hidden, part in ((folds == fold, 1.0), (folds < 0, 1.0 / n_folds)):
            if hidden.any():
                scores[hidden] += part * _scores(model, X[hidden], n_classes)
                likely[np.ix_(hidden, model.classes_)] += part * model.predict_proba(X[hidden])
    areas, errors = areas_of(likely[checked], codes[checked])
    misfits = float((likely[checked].argmax(axis=1) != codes[checked]).mean())
    return Unseen(scores, checked, areas, errors, misfits)


def _scores(model, X, n_classes):
    """Return a score for each class; one that the model has not met is the least likely."""
    odds = model.decision_function(X) / model.slope_
    known = np.column_stack([np.zeros(len(X)), odds]) if odds.ndim == 1 else odds
    scores = np.repeat(known.min(axis=1, keepdims=True), n_classes, axis=1)
    scores[:, model.classes_] = known
    return scores


def areas_of(likely, codes):
    """Return each class's area under the ROC curve, and its standard error under chance."""
    n, counts = len(codes), np.bincount(codes, minlength=likely.shape[1])
    areas = [roc_auc_score(codes == k, likely[:, k]) for k in range(likely.shape[1])]
    return np.array(areas), np.sqrt((n + 1) / (12.0 * counts * (n - counts)))


def _spread(codes, most, rng):
    """Return places of at most so many rows, each class in its share but five rows at least."""
    if len(codes) <= most:
        return np.arange(len(codes))
    chosen = []
    for k in np.unique(codes):
        places = np.flatnonzero(codes == k)
        n = min(len(places), max(5, round(most * len(places) / len(codes))))
        chosen.append(rng.choice(places, n, replace=False))
    return np.sort(np.concatenate(chosen))


def deal_out(X, codes, n_folds, rng):
    """Deal groups of equal rows out to folds, those of each class in turn."""
    _, first, group = np.unique(X, axis=0, return_index=True, return_inverse=True)
    shuffled = rng.permutation(len(first))
    by_class = shuffled[np.argsort(codes[first][shuffled], kind="stable")]
    fold = np.empty(len(first), int)
    fold[by_class] = np.arange(len(first)) % n_folds
    return fold[group.reshape(-1)]
