"""Graph-embedding terms: within- and between-class scatter of the design matrix.

    S = (S_b + 10⁻³ I)⁺ S_w,   S_w = MᵀL_wM,   S_b = MᵀL_bM,   L = diag(W1) - W

A row of M is a granular ball (GE-GB-RVFL) or a sample (GE-IFRVFL-CIL), n_c the number of rows of
class c, N that of all; a row of weight ω counts as ω rows. The product is not symmetric. Pairs are
taken a tile at a time; no N x N matrix is held.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.sparse import coo_array, diags_array

from robell._core.array import Array, Labels
from robell._core.membership.pairs import blocks_of, distances_at, squared_distances, squared_norms

REGULARISATION = 1e-3
NEIGHBOURS = 5
TILE_PAIRS = 1 << 20
NEAR = 1e-14  # of the size of the rows: distances that differ by less are equal


def graph_term(M: Array, labels: Labels, kind: str, weight: Array) -> Array:
    """Return S = (S_b + 10⁻³ I)⁺ S_w for one of the graphs "lda", "lfda" and "mda"."""
    # "mda" counts neighbours, whose places copies of a row would fill: it takes weights of one
    # only. Laplacian forms do not see a shift: without it a column far from zero keeps its digits,
    # and a constant one has no scatter.
    within, between = SCATTERS[kind](M - M[0], labels, weight)
    regularised = between + REGULARISATION * np.eye(M.shape[1])
    # Scaled: columns of different sizes cost no digits. Solved: an inverse would cost some.
    diagonal = np.diagonal(regularised)
    scale = 1.0 / np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))[:, None]
    try:
        return np.asarray(scale * np.linalg.solve(regularised * scale * scale.T, scale * within))
    except np.linalg.LinAlgError:  # of "lfda", whose weights may be negative
        return np.asarray(np.linalg.pinv(regularised, hermitian=True) @ within)


def lda_scatter(M: Array, labels: Labels, weight: Array) -> tuple[Array, Array]:
    """Scatter of L_w = I - Σ_c 1_c1_cᵀ/n_c and L_b = Σ_c 1_c1_cᵀ/n_c - 11ᵀ/N."""
    within = np.zeros((M.shape[1], M.shape[1]))
    between = np.zeros_like(within)
    mean = weight @ M / weight.sum()
    for c in np.unique(labels):
        of_class, counted = M[labels == c], weight[labels == c]
        class_mean = counted @ of_class / counted.sum()
        deviation = (of_class - class_mean) * np.sqrt(counted)[:, None]
        within += deviation.T @ deviation
        offset = class_mean - mean
        between += counted.sum() * np.outer(offset, offset)
    return within, between


def lfda_scatter(M: Array, labels: Labels, weight: Array) -> tuple[Array, Array]:
    """Scatter of the local Fisher graphs, with affinity A = exp(-D²/(2σ²)), σ² the mean of D²."""
    # Same class: W_w = A/n_c, W_b = A(1/N - 1/n_c). Other class: W_w = 0, W_b = 1/N. Each times the
    # weights of both rows.
    N = weight.sum()
    size = np.bincount(labels, weights=weight)[labels]
    centred = M - weight @ M / N  # distances stay
    sigma2 = 2.0 * float(np.einsum("i,ij,ij->", weight, centred, centred)) / N or 1.0
    within = np.zeros((M.shape[1], M.shape[1]))
    between = np.zeros_like(within)
    for rows in blocks_of(0, len(M), max(1, TILE_PAIRS // len(M))):
        affinity = squared_distances(centred[rows], centred)
        affinity *= -0.5 / sigma2
        np.exp(affinity, out=affinity)
        same = labels[rows, None] == labels
        both = weight[rows, None] * weight
        W = np.where(same, affinity / size[rows, None], 0.0)
        within += _laplacian_tile(centred, rows, both * W)
        W = np.where(same, affinity / N - W, 1.0 / N)
        between += _laplacian_tile(centred, rows, both * W)
    return within, between


def mda_scatter(M: Array, labels: Labels, weight: Array) -> tuple[Array, Array]:
    """Scatter of binary graphs of five nearest neighbours, made symmetric by "or"."""
    edges: list[list[Array]] = [[], []]
    for rows in blocks_of(0, len(M), max(1, TILE_PAIRS // len(M))):
        D2 = squared_distances(M[rows], M)
        same = labels[rows, None] == labels
        for graph, allowed in enumerate((same, ~same)):
            i, j = _nearest(M, rows, np.where(allowed, D2, np.inf))
            edges[graph].append(np.stack([i, j]))
    return _sparse_scatter(M, edges[0]), _sparse_scatter(M, edges[1])


def _nearest(M: Array, rows: slice, squares: Array) -> tuple[Labels, Labels]:
    """Return the pairs of some rows and their nearest ones, of equally near ones the first."""
    # Distances of copies of a row differ by rounding: those within it of the furthest one taken are
    # as near. ``squares`` are squared distances, infinite where a pair is not allowed.
    k, size = min(NEIGHBOURS, len(M)), 2.0 * float(np.sqrt(squared_norms(M).max()))
    furthest = np.partition(squares, k - 1, axis=1)[:, k - 1 : k]
    possible = (squares <= furthest + NEAR * size**2) & np.isfinite(squares)
    i, j = np.nonzero(possible)  # in the order of i, then j
    distance = np.sqrt(distances_at(M[rows], M, i, j))
    start = np.searchsorted(i, np.arange(len(squares)))
    count = np.diff(np.append(start, len(i)))
    order = np.lexsort((distance, i))
    has, last = np.flatnonzero(count), np.zeros(len(squares))
    last[has] = distance[order[start[has] + np.minimum(k, count[has]) - 1]]
    rounding = NEAR * (size + last[i])
    nearer, as_near = distance < last[i] - rounding, abs(distance - last[i]) <= rounding
    free = k - np.bincount(i[nearer], minlength=len(squares))
    seen = np.cumsum(as_near)
    before = np.append(0, seen)[start]  # of the rows before
    taken = nearer | (as_near & (seen - before[i] <= free[i]))
    return i[taken] + rows.start, j[taken]


SCATTERS: dict[str, Callable[[Array, Labels, Array], tuple[Array, Array]]] = {
    "lda": lda_scatter,
    "lfda": lfda_scatter,
    "mda": mda_scatter,
}


def _laplacian_tile(M: Array, rows: slice, W: Array) -> Array:
    """Return these rows' share of Mᵀ(diag(W1) - W)M."""
    return np.asarray(M[rows].T @ (W.sum(axis=1)[:, None] * M[rows] - W @ M))


def _sparse_scatter(M: Array, edges: list[Array]) -> Array:
    i, j = np.concatenate(edges, axis=1)
    directed = coo_array((np.ones(len(i)), (i, j)), (len(M), len(M))).tocsr()
    W = directed.maximum(directed.T)
    laplacian = diags_array(W.sum(axis=1)) - W
    return np.asarray(M.T @ (laplacian @ M))
