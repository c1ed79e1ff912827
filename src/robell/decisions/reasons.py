"""Which columns matter, on the whole and for one row.

For one row, the contribution of column j to the log-odds f is measured against a typical row r, the
mean of the encoded training rows:

    phi_j = 1/2 [ f(x) - f(x with j from r) ] + 1/2 [ f(r with j from x) - f(r) ].

This is Shapley's value, exactly, where columns act alone or in pairs, and then Σ_j phi_j =
f(x) - f(r). Where more columns act together, it is the mean of the first and the last term of
Shapley's sum, and the phi_j add up to the difference nearly.
"""

from __future__ import annotations

import numpy as np

from robell.decisions.heldout import all_scores
from robell.decisions.measures import average_precision, separations

REPEATS = 3
REPEATED_ROWS = 6_000  # rows up to which columns are shuffled several times
BLOCK = 1 << 13  # rows at a time


def contributions(score, X, reference, groups):
    """Return phi_j of every row and group of columns, (n, n_groups); ``score`` gives f of rows."""
    phi = np.empty((len(X), len(groups)))
    base = float(score(reference[None, :])[0])
    for start in range(0, len(X), BLOCK):
        part = slice(start, start + BLOCK)
        rows = X[part]
        whole = score(rows)
        for j, places in enumerate(groups):
            without = rows.copy()
            without[:, places] = reference[places]
            alone = np.tile(reference, (len(rows), 1))
            alone[:, places] = rows[:, places]
            phi[part, j] = 0.5 * (whole - score(without)) + 0.5 * (score(alone) - base)
    return phi


def log_odds(model, place):
    """Return the function that gives the log-odds of one class, as a model sees rows."""

    def score(X):
        with np.errstate(divide="ignore"):
            logs = np.maximum(np.log(model.predict_proba(X)), -700.0)
        others = np.delete(logs, place, axis=1)
        return logs[:, place] - np.logaddexp.reduce(others, axis=1)

    return score


def importances(held, X, codes, n_classes, groups, positive_place, seed):
    """Return by how much each group of columns, shuffled among held-out rows, lowers the score.

    The score is the average precision of the positive class; of more than two classes, the mean
    area under the ROC curves. Returns the score itself, and for each group the mean over folds and
    repeats with its standard error.
    """
    rng = np.random.default_rng(seed)
    repeats = REPEATS if len(X) <= REPEATED_ROWS else 1
    base = _quality(held.scores, codes, n_classes, positive_place)
    drops = np.zeros((len(groups), repeats))
    for j, places in enumerate(groups):
        for repeat in range(repeats):
            scores = held.scores.copy()
            for fold, model in enumerate(held.models):
                if model is None:
                    continue
                hidden = held.folds == fold
                rows = X[hidden].copy()
                rows[:, places] = rows[rng.permutation(len(rows))][:, places]
                scores[hidden] = all_scores(model, rows, n_classes) / held.spread
            drops[j, repeat] = base - _quality(scores, codes, n_classes, positive_place)
    return base, drops.mean(axis=1), drops.std(axis=1)


def _quality(scores, codes, n_classes, positive_place):
    if n_classes > 2:
        return float(np.mean(separations(scores, codes)))
    sign = 1.0 if positive_place else -1.0
    return average_precision(sign * (scores[:, 1] - scores[:, 0]), codes == positive_place)
