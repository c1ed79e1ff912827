"""How rows are split, and where every seed comes from."""

from __future__ import annotations

import hashlib

import numpy as np
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit

N_FOLDS = 5


def seed_of(*names):
    """Return a seed that depends on names alone, never on the order of execution.

    Parameters
    ----------
    *names : object
        What the seed is for: protocol, dataset, repeat, model.

    Returns
    -------
    seed : int
        In [0, 2**32).

    Examples
    --------
    >>> from robell.studies.paper.protocols import seed_of
    >>> seed_of("paper", "haberman") == seed_of("paper", "haberman")
    True
    >>> seed_of("paper", "haberman") == seed_of("paper", "cmc")
    False
    """
    text = "/".join(str(name) for name in names)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")


def paper_split(n_rows):
    """Split as the paper's tables were made: legacy seed 0, the first 70 % of a permutation train.

    The recipe is the same authors' published one; it reproduces the class counts of the test
    parts that Table S.IV implies (erratum E23). The product is truncated as it stands:
    ``int(690 * (1 - 0.30))`` is 482, not 483.

    Parameters
    ----------
    n_rows : int
        How many rows the file has, in its published order.

    Returns
    -------
    train, test : ndarray of int
        Row numbers.

    Examples
    --------
    >>> from robell.studies.paper.protocols import paper_split
    >>> train, test = paper_split(690)
    >>> len(train), len(test)
    (482, 208)
    """
    # The legacy generator, as the recipe has it.
    order = np.random.RandomState(0).permutation(n_rows)
    n_train = int(n_rows * (1 - 0.30))
    return order[:n_train], order[n_train:]


def repeated_split(y, dataset, repeat):
    """Split 70:30, stratified, with a seed from the names of the set and the repeat.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Class labels.
    dataset : str
        The set's name.
    repeat : int
        Which repeat, from 0.

    Returns
    -------
    train, test : ndarray of int
        Row numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from robell.studies.paper.protocols import repeated_split
    >>> train, test = repeated_split(np.repeat([0, 1], [80, 20]), "example", 0)
    >>> len(train), len(test)
    (70, 30)
    """
    seed = seed_of("repeated", dataset, repeat, "split")
    splitter = StratifiedShuffleSplit(1, test_size=0.30, random_state=seed)
    return next(splitter.split(np.zeros((len(y), 1)), y))


def folds(protocol, dataset, repeat):
    """Return the five stratified shuffled folds every model of a cell is tuned on (erratum E24).

    Parameters
    ----------
    protocol, dataset : str
        Names of the protocol and the set.
    repeat : int
        Which repeat.

    Returns
    -------
    splitter : StratifiedKFold
        Five folds, seeded by the names.

    Examples
    --------
    >>> from robell.studies.paper.protocols import folds
    >>> folds("paper", "haberman", 0).get_n_splits()
    5
    """
    seed = seed_of(protocol, dataset, repeat, "folds")
    return StratifiedKFold(N_FOLDS, shuffle=True, random_state=seed)
