"""Labels predicted for rows that were hidden from the classifier."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from sklearn.metrics import roc_auc_score

from robell._core.ridge.twins import find_twins
from robell.models.noise_robust import NoiseRobustRVFLClassifier

CHECKED_ROWS = 20_000  # of a larger table a sample of so many is used, each row hidden once
FOLDS, FOLDED_ROWS = 5, 5_000  # five folds up to so many rows, two beyond


class Unseen(NamedTuple):
    """How well the predictions for hidden rows agree with the labels given.

    `separations` are areas under the ROC curve, each class against the others, and `errors` their
    standard errors under chance; `misfits` is the share of rows with another label than predicted.
    """

    separations: np.ndarray
    errors: np.ndarray
    misfits: float


def predict_unseen(X, codes, n_classes, random_state):
    """Predict the label of each row by a classifier that has not seen the row.

    Equal rows are hidden together: a row must not be recognised by its copy.
    """
    rng = np.random.default_rng(random_state)
    checked = stratified_sample(codes, CHECKED_ROWS, rng)
    X, codes = X[checked], codes[checked]
    n_folds = FOLDS if len(codes) <= FOLDED_ROWS else 2
    folds = random_folds(X, codes, n_folds, rng)
    likely = np.zeros((len(codes), n_classes))
    for fold in range(n_folds):
        hidden = folds == fold
        if not hidden.any() or len(np.unique(codes[~hidden])) < 2:
            continue  # its rows keep equal scores, which count as guessing
        # Balanced: the class predicted is then the one with the largest probability.
        model = NoiseRobustRVFLClassifier(probability="balanced", random_state=random_state)
        model.fit(X[~hidden], codes[~hidden])
        likely[np.ix_(hidden, model.classes_)] = model.predict_proba(X[hidden])
    misfits = float((likely.argmax(axis=1) != codes).mean())
    return Unseen(*areas_of(likely, codes), misfits)


def areas_of(likely, codes):
    """Return each class's area under the ROC curve, and its standard error under chance."""
    n, counts = len(codes), np.bincount(codes, minlength=likely.shape[1])
    areas = [roc_auc_score(codes == k, likely[:, k]) for k in range(likely.shape[1])]
    return np.array(areas), np.sqrt((n + 1) / (12.0 * counts * (n - counts)))


def stratified_sample(codes, most, rng):
    """Return places of at most so many rows, every class by its share, with five rows at least."""
    if len(codes) <= most:
        return np.arange(len(codes))
    chosen = []
    for k in np.unique(codes):
        places = np.flatnonzero(codes == k)
        n = min(len(places), max(5, round(most * len(places) / len(codes))))
        chosen.append(rng.choice(places, n, replace=False))
    return np.sort(np.concatenate(chosen))


def random_folds(X, codes, n_folds, rng):
    """Return the fold of every row by chance, classes spread evenly, equal rows in one fold."""
    twins = find_twins(X)
    first, group = (np.arange(len(X)),) * 2 if twins is None else twins
    shuffled = rng.permutation(len(first))
    by_class = shuffled[np.argsort(codes[first][shuffled], kind="stable")]
    fold = np.empty(len(first), int)
    fold[by_class] = np.arange(len(first)) % n_folds
    return fold[group]
