"""Ridge solutions of a whole grid of penalties and nested networks from few factorisations.

The design columns of a network with fewer nodes are a prefix of those of a larger one, so its Gram
matrix is a leading block of the larger one's; and the Cholesky factor of a leading block is the
leading block of the factor. With G + λI = LLᵀ for the largest network and z = L⁻¹R,

    β_k = L_k⁻ᵀ z_k,   which is L⁻ᵀ applied to z with everything behind its first k entries zeroed,

so one factorisation and one triangular solve give all networks of one penalty.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import get_lapack_funcs

from robell._core.features import RowBlocks
from robell._core.solve import AnyArray

Array = NDArray[np.float64]

# Smallest squared pivot over its diagonal entry: below the first the solution is refined with
# residuals taken from M, below the second it is left to the solver that has singular values.
REFINE_PIVOT = 1e-7
SINGULAR_PIVOT = 1e-12


class NestedSolution(NamedTuple):
    """Output weights of every penalty and width, and which of them to trust."""

    beta: AnyArray  # (P, penalties, widths, K), zero behind each width
    solved: NDArray[np.bool_]  # (penalties, widths)


def nested_ridge(
    design: RowBlocks,
    G: AnyArray,
    R: AnyArray,
    T: Array,
    w: Array,
    penalties: Array,
    widths: NDArray[np.intp],
) -> NestedSolution:
    """Solve (G_k + λI)β = R_k for every penalty λ and every leading block of k columns.

    Widths beyond the number of rows are solved in dual form, one by one.

    Parameters
    ----------
    design : RowBlocks
        M of shape (A, P), for residuals and the dual form.
    G, R : arrays of shape (P, P) and (P, K)
        MᵀWM and MᵀWT.
    T, w : arrays of shape (A, K) and (A,)
        Targets and row weights.
    penalties : array
        Values of λ = 1/C.
    widths : array of int
        Numbers of leading columns.
    """
    n_rows, n_columns = design.n_rows, design.n_columns
    beta = np.zeros((n_columns, len(penalties), len(widths), R.shape[1]), G.dtype, order="F")
    solved = np.zeros((len(penalties), len(widths)), bool)
    tall = np.flatnonzero(widths <= n_rows)
    if len(tall):
        largest = int(widths[tall].max())
        inside = (np.arange(largest)[:, None] < widths[tall])[:, :, None]
        block = np.asfortranarray(G[:largest, :largest])
        for i, penalty in enumerate(penalties):
            found = _solve_prefixes(design, block, R[:largest], T, w, float(penalty), inside)
            if found is not None:
                beta[:largest, i, tall] = found
                solved[i, tall] = True
    for j in np.flatnonzero(widths > n_rows):
        _solve_wide(design, T, w, penalties, int(widths[j]), beta[:, :, j], solved[:, j])
    return NestedSolution(beta, solved)


def _solve_prefixes(
    design: RowBlocks,
    G: AnyArray,
    R: AnyArray,
    T: Array,
    w: Array,
    penalty: float,
    inside: NDArray[np.bool_],
) -> AnyArray | None:
    """Return β of all widths, (P, widths, K), or None where the factor is not to be trusted."""
    potrf, trtrs = get_lapack_funcs(("potrf", "trtrs"), (G,))
    P, K = R.shape
    system = G.copy(order="F")
    system.ravel(order="K")[:: P + 1] += penalty
    diagonal = np.diagonal(system).real.copy()
    factor, info = potrf(system, lower=1, clean=0, overwrite_a=1)
    if info != 0:
        return None
    smallest = float((np.square(np.diagonal(factor).real) / diagonal).min())
    if not smallest >= SINGULAR_PIVOT:
        return None
    forward, _ = trtrs(factor, R, lower=1)
    back, _ = trtrs(
        factor, (forward[:, None, :] * inside).reshape(P, -1), lower=1, trans=2, overwrite_b=1
    )
    beta: AnyArray = back.reshape(P, -1, K)
    if smallest < REFINE_PIVOT:
        gradient = -penalty * beta
        for rows, M in design:
            M = M[:, :P]
            residual = T[rows][:, None, :] - (M @ beta.reshape(P, -1)).reshape(len(M), -1, K)
            weighted = (w[rows, None, None] * residual).reshape(len(M), -1)
            gradient += (M.conj().T @ weighted).reshape(gradient.shape)
        gradient *= inside
        forward, _ = trtrs(factor, gradient.reshape(P, -1), lower=1)
        forward = forward.reshape(gradient.shape) * inside
        back, _ = trtrs(factor, forward.reshape(P, -1), lower=1, trans=2)
        beta = beta + back.reshape(beta.shape)
    return beta


def _solve_wide(
    design: RowBlocks,
    T: Array,
    w: Array,
    penalties: Array,
    width: int,
    beta: AnyArray,
    solved: NDArray[np.bool_],
) -> None:
    """Fill in β = M̃ᵀ(M̃M̃ᵀ + λI)⁻¹T̃ of one width for every penalty."""
    root = np.sqrt(w)[:, None]
    M = design.whole()[:, :width] * root
    K = np.asfortranarray(M @ M.conj().T)
    potrf, potrs = get_lapack_funcs(("potrf", "potrs"), (K,))
    for i, penalty in enumerate(penalties):
        system = K.copy(order="F")
        system.ravel(order="K")[:: len(K) + 1] += penalty
        diagonal = np.diagonal(system).real.copy()
        factor, info = potrf(system, lower=1, clean=0, overwrite_a=1)
        if info != 0:
            continue
        smallest = float((np.square(np.diagonal(factor).real) / diagonal).min())
        if not smallest >= SINGULAR_PIVOT:
            continue
        alpha, _ = potrs(factor, T * root, lower=1)
        if smallest < REFINE_PIVOT:
            residual = T * root - M @ (M.conj().T @ alpha) - penalty * alpha
            alpha = alpha + potrs(factor, residual, lower=1)[0]
        beta[:width, i] = M.conj().T @ alpha
        solved[i] = True
