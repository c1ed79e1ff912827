"""Folds that depend on what the rows are, not on where they stand: copies fall into one fold."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from robell._core.membership.reservoir import row_keys
from robell._core.ridge.twins import find_twins

Array = NDArray[np.float64]
Labels = NDArray[np.intp]


# Models of four fifths of a small table are worse than that of all rows; of a large one they are
# not, and comparing its rows takes long.
FOLDS, FOLDS_OF_MANY, MANY = 10, 5, 2_000


def deal_out(X: Array, labels: Labels, multiplicity: Array) -> Labels:
    """Return the fold of every row, classes spread evenly; fewer folds where fewer rows differ.

    Ten folds, five of more than 2,000 distinct rows. These are dealt out in the order of a hash of
    their numbers, class by class, so that neither the order of the rows, nor how often each occurs,
    nor the names of the classes change anything.
    """
    twins = find_twins(X)
    group = np.arange(len(X)) if twins is None else np.asarray(twins.group)
    first = group if twins is None else np.asarray(twins.first)
    counts = np.zeros((len(first), int(labels.max()) + 1))
    np.add.at(counts, (group, labels), multiplicity)
    keys, label = row_keys(X[first], 0), counts.argmax(axis=1)
    smallest = np.full(counts.shape[1], keys.max())
    np.minimum.at(smallest, label, keys)
    order = np.lexsort((keys, smallest[label]))
    fold = np.empty(len(first), np.intp)
    fold[order] = np.arange(len(first)) % (FOLDS if len(first) <= MANY else FOLDS_OF_MANY)
    return fold[group]
