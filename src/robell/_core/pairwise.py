"""Sums and counts over all pairs of rows, one tile of pairs at a time.

The only module that touches pairs. Nothing here holds an A x A matrix: memory is one tile's,
whatever the number of rows. Tiles above the diagonal serve both of their sides, because
distances are symmetric.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

Array = NDArray[np.float64]
Labels = NDArray[np.intp]

TILE = 512  # rows and columns of a tile: 2 MiB of distances


def center(X: Array) -> Array:
    """Return X less its column means: distances stay, and rounding shrinks with the norms."""
    # A mean over billions of huge values can overflow; halving first cannot.
    return np.asarray(X - 2.0 * (0.5 * X).mean(axis=0))


def require_squares(X: Array) -> None:
    """Raise when squared distances between the rows of X would overflow."""
    with np.errstate(over="ignore", invalid="ignore"):
        if not np.isfinite(np.einsum("ij,ij->", X, X)):
            raise ValueError(
                "X is too large for squared distances to be computed: scale it first, "
                "for instance with StandardScaler"
            )


def squared_distances(X: Array, Y: Array, same: bool = False) -> Array:
    """Return |x_i - y_j|², exactly zero for equal rows.

    |x|² + |y|² - 2xy is fast but leaves rounding of the size of the norms, so pairs that close
    are computed again from their differences. ``same`` says that Y is X, whose diagonal is known.
    """
    x_norms = np.einsum("ij,ij->i", X, X)
    y_norms = np.einsum("ij,ij->i", Y, Y)
    D2 = X @ Y.T
    D2 *= -2.0
    D2 += x_norms[:, None]
    D2 += y_norms[None, :]
    rounding = 4 * (X.shape[1] + 4) * np.finfo(np.float64).eps * (x_norms.max() + y_norms.max())
    if same:
        np.fill_diagonal(D2, np.inf)
    close = rounding >= D2
    close_rows, close_columns = close.any(axis=1), close.any(axis=0)
    if close_rows.any():
        box = np.ix_(close_rows, close_columns)
        D2[box] = np.where(
            close[box], cdist(X[close_rows], Y[close_columns], "sqeuclidean"), D2[box]
        )
    if same:
        np.fill_diagonal(D2, 0.0)
    return D2


def same_class_dissimilarity(X: Array, classes: Labels, weight: Array, inv_width2: float) -> Array:
    """Return S_i = Σ_j weight_j (1 - K_ij) over the rows j of row i's class.

    K_ij = exp(-inv_width2 |x_i - x_j|²). Summing 1 - K rather than K keeps its relative accuracy
    for kernels so wide that K is 1 to the last digits.

    Parameters
    ----------
    X : array of shape (A, B), centred
    classes : array of shape (A,), sorted
    weight : array of shape (A,)
    inv_width2 : float
    """
    sums = np.zeros(len(X))
    for rows, columns in _tiles(len(X)):
        same = _same_class(classes, rows, columns)
        if same is False:
            continue
        dissimilarity = squared_distances(X[rows], X[columns], same=rows == columns)
        dissimilarity *= -inv_width2
        np.expm1(dissimilarity, out=dissimilarity)
        if same is not True:
            dissimilarity *= same
        sums[rows] -= dissimilarity @ weight[columns]
        if rows != columns:
            sums[columns] -= weight[rows] @ dissimilarity
    return sums


def neighbour_weights(
    X: Array, classes: Labels, weight: Array, max_distance2: float
) -> tuple[Array, Array]:
    """Return the weight of all rows, and of the rows of its class, within reach of every row.

    Row j is within reach of row i when |x_i - x_j|² <= max_distance2; every row is its own
    neighbour. Arguments as in :func:`same_class_dissimilarity`.
    """
    total, own_class = np.zeros(len(X)), np.zeros(len(X))
    for rows, columns in _tiles(len(X)):
        D2 = squared_distances(X[rows], X[columns], same=rows == columns)
        within = (max_distance2 >= D2).astype(np.float64)
        same = _same_class(classes, rows, columns)
        _add_both_sides(total, within, weight, rows, columns)
        if same is True:
            _add_both_sides(own_class, within, weight, rows, columns)
        elif same is not False:
            _add_both_sides(own_class, within * same, weight, rows, columns)
    return total, own_class


def _add_both_sides(sums: Array, matrix: Array, weight: Array, rows: slice, columns: slice) -> None:
    sums[rows] += matrix @ weight[columns]
    if rows != columns:
        sums[columns] += weight[rows] @ matrix


def _tiles(n_rows: int) -> Iterator[tuple[slice, slice]]:
    """Yield the tiles on and above the diagonal."""
    for start in range(0, n_rows, TILE):
        rows = slice(start, min(start + TILE, n_rows))
        for other in range(start, n_rows, TILE):
            yield rows, slice(other, min(other + TILE, n_rows))


def _same_class(classes: Labels, rows: slice, columns: slice) -> NDArray[np.bool_] | bool:
    """Return which pairs of a tile share their class: True, False, or a mask where mixed."""
    row_classes, column_classes = classes[rows], classes[columns]
    if row_classes[-1] < column_classes[0]:
        return False
    if row_classes[0] == column_classes[-1]:
        return True
    return np.equal(row_classes[:, None], column_classes[None, :])
