"""How rows are split: the paper's one split, repeated stratified ones, and folds for tuning."""

from __future__ import annotations

import numpy as np
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit

from robell.comparison.jobs import seed_of

N_FOLDS = 5


def paper_split(n_rows):
    """Split as the paper's tables were made: legacy seed 0, the first 70 % of a permutation train.

    The recipe is the same authors' published one; it reproduces the class counts of the test
    parts that Table S.IV implies (erratum E23). The product is truncated as it stands:
    ``int(690 * (1 - 0.30))`` is 482, not 483. Returns row numbers (train, test).
    """
    # The legacy generator, as the recipe has it.
    order = np.random.RandomState(0).permutation(n_rows)
    n_train = int(n_rows * (1 - 0.30))
    return order[:n_train], order[n_train:]


def repeated_split(y, dataset, repeat):
    """Split 70:30, stratified, seeded by the names of the set and the repeat: (train, test)."""
    seed = seed_of("repeated", dataset, repeat, "split")
    splitter = StratifiedShuffleSplit(1, test_size=0.30, random_state=seed)
    return next(splitter.split(np.zeros((len(y), 1)), y))


def folds(protocol, dataset, repeat):
    """Return the five stratified shuffled folds every model of a cell is tuned on (erratum E24)."""
    seed = seed_of(protocol, dataset, repeat, "folds")
    return StratifiedKFold(N_FOLDS, shuffle=True, random_state=seed)
