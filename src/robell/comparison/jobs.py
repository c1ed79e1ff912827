"""Jobs: tables of rows, seeds that come from names, and how rows are split.

A job is a frozen plain record of its study's own with ``dataset`` (the table it needs), ``key``
(text that says all its result depends on) and ``cost`` (CPU seconds it takes at 600 rows).
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class Rows:
    """A table as jobs see it; ``y`` is 0 or 1, and sensitivity refers to the label ``positive``."""

    name: str
    X: np.ndarray
    y: np.ndarray
    positive: int
    digest: str  # of the contents
    about: dict = field(default_factory=dict)  # where it comes from, for the record


def seed_of(*names):
    """Return a seed in [0, 2**32) that depends on names alone, never on the order of execution."""
    text = "/".join(str(name) for name in names)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")


def expected_seconds(job, tables):
    """Return about how long a job takes, in CPU seconds."""
    return job.cost * (0.7 + 0.3 * len(tables[job.dataset].y) / 600)


# -- how rows are split: the paper's one split, repeated stratified ones, and folds for tuning


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
    from sklearn.model_selection import StratifiedShuffleSplit  # reports need no scikit-learn

    seed = seed_of("repeated", dataset, repeat, "split")
    splitter = StratifiedShuffleSplit(1, test_size=0.30, random_state=seed)
    return next(splitter.split(np.zeros((len(y), 1)), y))


def folds(protocol, dataset, repeat):
    """Return the five stratified shuffled folds every model of a cell is tuned on (erratum E24)."""
    from sklearn.model_selection import StratifiedKFold

    seed = seed_of(protocol, dataset, repeat, "folds")
    return StratifiedKFold(N_FOLDS, shuffle=True, random_state=seed)
