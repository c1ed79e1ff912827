"""A second estimate of how many labels are wrong, for tables whose classes hardly overlap.

The model of :mod:`robell._core.labels.noise`, but with the rate r_z at which rows of class z get
another label fitted along with slope and offsets, by expectation maximisation:

    r_z = (Σ_i P(z | s_i, y_i) [y_i ≠ z] + m r₀) / (Σ_i P(z | s_i, y_i) + m).
"""

from __future__ import annotations

import numpy as np

from robell._core.labels.noise import fit_link, posterior

FIRST_RATE = 0.1
PRIOR_RATE, PRIOR_ROWS = 0.02, 5.0  # r₀ and m: as if m rows of each class had been looked at
LARGEST_RATE = 0.45
STEPS, TOLERANCE = 40, 1e-4


def second_look(scores, codes, checked):
    """Return the probability of every class, given each row's scores and label.

    Parameters
    ----------
    scores : array of shape (n_rows, n_classes)
        Of rows that were hidden from the classifier.
    codes : array of shape (n_rows,)
        Given classes from 0 on.
    checked : array of int
        Places of the rows to fit to.

    Returns
    -------
    probability : array of shape (n_rows, n_classes)
        Its entry at the label is the probability that the label is right.
    """
    S, labels = scores[checked], codes[checked]
    rates, link = np.full(S.shape[1], FIRST_RATE), None
    other = labels[:, None] != np.arange(S.shape[1])
    for _ in range(STEPS):
        N = _noise(rates)
        link = fit_link(S, labels, np.ones(len(S)), N, link)
        Z = posterior(link.probability(S), labels, N)
        wrong = (Z * other).sum(axis=0) + PRIOR_ROWS * PRIOR_RATE
        fitted = np.minimum(wrong / (Z.sum(axis=0) + PRIOR_ROWS), LARGEST_RATE)
        step, rates = np.abs(fitted - rates).max(), fitted
        if step < TOLERANCE:
            break
    return posterior(link.probability(scores), codes, _noise(rates))


def _noise(rates):
    """Return the matrix of rates at which labels go wrong, the other classes equally likely."""
    n_classes = len(rates)
    N = np.repeat(rates[:, None] / (n_classes - 1), n_classes, axis=1)
    np.fill_diagonal(N, 1.0 - rates)
    return N
