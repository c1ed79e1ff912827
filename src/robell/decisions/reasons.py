"""Which columns matter on the whole; for one row see ``models/_contributions.py``."""

from __future__ import annotations

import numpy as np

from robell.decisions.heldout import all_scores
from robell.decisions.measures import average_precision, separations

REPEATS = 3
REPEATED_ROWS = 6_000  # rows up to which columns are shuffled several times


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
