"""Which columns say anything: about the labels, alone or two together, or about one another.

Every column adds to a kernel's distances, so that columns which say nothing make near rows far.
With r_j the ranks of a column, s_j what is new in their squares, and u_1..u_d orthonormal contrasts
of the labels, all of mean 0 and mean square 1 under the weights w of the rows, whose sum is W,

    labels      Σ_m ((Σ_i w_i u_im r_ij)² + (Σ_i w_i u_im s_ij)²) / W     2d degrees of freedom
    pairs       Σ_m (Σ_i w_i u_im r_ij r_il)² / (W var(r_j r_l))          d
    columns     (Σ_i w_i r_ij r_il)² / W                                  1

are nearly χ² where there is nothing to find. A column stays where the first is significant at a
false discovery share of one tenth, or the second or third at one in a hundred, after Bonferroni. Of
the others those that say most about the labels stay too, until the rest says together no more than
is expected by chance: many weak columns may be all that a small table has. Where the labels find
none, alone or two together, what chance says of them must not choose: those columns stay that say
something about one another, or else all.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray
from scipy.special import chdtrc, chdtri

from robell._core.array import Array, beside, to_host
from robell._core.ensemble.trees import SMALLEST_RANGE

FALSE_DISCOVERIES = 0.1  # the share of them among the columns that the labels alone keep
LEVEL = 0.01  # of what two columns together, or another column, must say
MOST_RANKED = 2048  # rows: of more every k-th is looked at
MOST_PAIRS = 1 << 20  # times contrasts: wider tables keep all columns
SAME = 1e-9  # a variance below it is rounding
SMALLEST_VARIANCE = 0.1  # of the product of two columns: of less it is no third column


def telling_columns(X: Any, weight: Array, targets: Array) -> NDArray[np.intp]:
    """Return the places of the columns that say anything about shares of labels, or of all."""
    every = np.arange(X.shape[1])
    rows = np.arange(0, len(X), -(-len(X) // MOST_RANKED))
    weight, total = weight[rows], weight[rows].sum()
    U = _contrasts(targets[rows], weight)
    n_contrasts, n_columns = U.shape[1], len(every)
    if not n_contrasts or n_contrasts * n_columns**2 > MOST_PAIRS:
        return every
    R, S = _ranks(to_host(X[beside(rows, X)]), weight)
    varies = R.any(axis=0)
    said = sum(np.square((weight[:, None] * U).T @ part).sum(axis=0) for part in (R, S)) / total
    freedom = n_contrasts * (varies + S.any(axis=0).astype(float))
    telling = np.zeros(n_columns, bool)
    # Benjamini and Hochberg's rule; SciPy's takes longer than everything else here.
    p_values = chdtrc(freedom[varies], said[varies])
    ranked = np.sort(p_values)
    limits = FALSE_DISCOVERIES * np.arange(1, len(ranked) + 1) / len(ranked)
    telling[varies] = p_values <= ranked[ranked <= limits].max(initial=-1.0)
    weighted = weight[:, None] * R
    shared = weighted.T @ R / total
    spread = (weighted * R).T @ R**2 / total - shared**2
    pairs = sum(np.square((weighted * u[:, None]).T @ R) for u in U.T) / total
    pairs /= np.maximum(spread, SMALLEST_VARIANCE)
    for values in (pairs, shared):
        np.fill_diagonal(values, 0.0)
    level = LEVEL / max(1, n_columns * (n_columns - 1) // 2)
    telling |= (pairs > chdtri(n_contrasts, level)).any(axis=1)
    alike = (total * shared**2 > chdtri(1.0, level)).any(axis=1)
    if not telling.any():
        return np.flatnonzero(alike) if alike.any() else every
    telling |= alike
    others, excess = np.flatnonzero(~telling), (said - freedom)[~telling]
    order = np.argsort(excess, kind="stable")
    telling[others[order[np.cumsum(excess[order]) > 0]]] = True
    return np.flatnonzero(telling)


def _contrasts(targets: Array, weight: Array) -> Array:
    """Return the orthonormal contrasts of the labels, (n, d): their principal components."""
    total = weight.sum()
    centred = targets - weight @ targets / total
    values, V = np.linalg.eigh((weight[:, None] * centred).T @ centred / total)
    kept = values > SAME * max(float(values[-1]), SAME)
    return np.asarray(centred @ (V[:, kept] / np.sqrt(values[kept])))


def _ranks(X: Array, weight: Array) -> tuple[Array, Array]:
    """Return ranks of every column, and what is new in their squares; zeros where nothing is."""
    total = weight.sum()
    varies = np.ptp(X, axis=0) > SMALLEST_RANGE
    R = scipy.stats.rankdata(X, axis=0) - 0.5 * (len(X) + 1)
    R -= weight @ R / total
    R *= varies / np.sqrt(np.maximum(weight @ R**2 / total, SAME))
    S = R**2 - varies
    S -= R * (weight @ (R * S) / total)
    size = weight @ S**2 / total
    return R, S * ((size > SAME) / np.sqrt(np.maximum(size, SAME)))
