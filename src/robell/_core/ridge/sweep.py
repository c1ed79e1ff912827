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
from scipy.linalg import get_blas_funcs, get_lapack_funcs

from robell._core.layers.features import RowBlocks
from robell._core.ridge.solve import AnyArray

Array = NDArray[np.float64]

# Smallest squared pivot over its diagonal entry: below the first the solution is refined with
# residuals taken from M, below the second it is left to the solver that has singular values.
REFINE_PIVOT = 1e-7
SINGULAR_PIVOT = 1e-12
# Reciprocal condition number below which a graph system is left to the solver for one candidate.
LU_RCOND = 1e-12


class NestedSolution(NamedTuple):
    """Output weights of every penalty and width, and how far to trust them."""

    beta: AnyArray  # (P, penalties, widths, K), zero behind each width
    # (penalties, widths): the smallest squared pivot over its diagonal entry; 0 where unsolved.
    pivot: Array


class WeightedGram:
    """MᵀWM and MᵀWT of one matrix for several row weights, rows of constant weight taken once.

    ``weights`` has one row a setting, one column a row of M.
    """

    def __init__(self, M: AnyArray, T: Array, weights: Array) -> None:
        self.weights = weights
        (self.herk,) = get_blas_funcs(("herk" if np.iscomplexobj(M) else "syrk",), (M,))
        constant = (weights == weights[0]).all(axis=0)
        self.varying = np.flatnonzero(~constant)
        self.base = self._products(M[constant], T[constant], weights[0, constant], None)
        self.M, self.T = M[self.varying], T[self.varying]
        self.buffer = np.empty_like(self.M)  # a fresh one would cost as much as the scaling

    def lower(self, setting: int) -> tuple[AnyArray, AnyArray]:
        """Return the lower triangle of MᵀWM, in LAPACK's order, and MᵀWT."""
        if len(self.varying) == 0:
            return self.base
        w = self.weights[setting, self.varying]
        return self._products(self.M, self.T, w, self.base, self.buffer)

    def _products(
        self,
        M: AnyArray,
        T: Array,
        w: Array,
        base: tuple[AnyArray, AnyArray] | None,
        out: AnyArray | None = None,
    ) -> tuple[AnyArray, AnyArray]:
        root = np.sqrt(w)[:, None]
        scaled = np.multiply(M, root, out=out)
        R = scaled.conj().T @ (T * root)
        # BLAS takes a row-major (A, P) as its transpose, whose product is the conjugate of ours.
        if base is None:
            if len(M) == 0:
                return np.zeros((M.shape[1],) * 2, M.dtype, order="F"), R
            return self.herk(1.0, scaled.T, lower=1).conj(), R
        G = self.herk(1.0, scaled.T, beta=1.0, c=base[0].conj(), lower=1)
        return G.conj(), base[1] + R


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

    Of G = MᵀWM only the lower triangle is read; R = MᵀWT; ``design`` (M), T and w serve residuals
    and the dual form, in which widths beyond the number of rows are solved, one by one.
    """
    shape = (design.n_columns, len(penalties), len(widths), R.shape[1])
    beta = np.zeros((shape[0], int(np.prod(shape[1:]))), G.dtype, order="F").reshape(shape)
    pivot = np.zeros((len(penalties), len(widths)))
    tall = np.flatnonzero(widths <= design.n_rows)
    if len(tall):
        prefixes = _Prefixes(design, G, R, T, w, widths[tall])
        found, smallest = prefixes.solve(penalties)
        if len(tall) == len(widths):
            beta = found
        else:
            beta[: len(found), :, tall] = found
        pivot[:, tall] = smallest[:, None]
    for j in np.flatnonzero(widths > design.n_rows):
        _solve_wide(design, T, w, penalties, int(widths[j]), beta[:, :, j], pivot[:, j])
    return NestedSolution(beta, pivot)


class _Prefixes:
    """The leading blocks of one system, to be solved for one penalty after another."""

    def __init__(
        self,
        design: RowBlocks,
        G: AnyArray,
        R: AnyArray,
        T: Array,
        w: Array,
        widths: NDArray[np.intp],
    ) -> None:
        P = int(widths.max())
        self.design, self.T, self.w = design, T, w
        self.G = np.asfortranarray(G[:P, :P])
        self.R = np.asfortranarray(R[:P])
        self.K = R.shape[1]
        inside = np.arange(P)[:, None] < np.repeat(widths, self.K)
        self.inside = np.asfortranarray(inside.astype(np.float64))  # (P, widths * K)
        self.n_widths = len(widths)
        self.system = np.empty_like(self.G)  # one buffer: a fresh one costs more than the copy
        self.diagonal = self.system.reshape(-1, order="F")[:: P + 1]  # a view
        self.potrf, self.trtrs = get_lapack_funcs(("potrf", "trtrs"), (self.G,))
        (self.trsm,) = get_blas_funcs(("trsm",), (self.G,))

    def solve(self, penalties: Array) -> tuple[AnyArray, Array]:
        """Return β, (P, penalties, widths, K), and the smallest pivot of every penalty."""
        P, m = self.inside.shape
        beta: AnyArray = np.zeros((P, len(penalties) * m), self.G.dtype, order="F")
        pivots = np.zeros((len(penalties), P))
        for i, penalty in enumerate(penalties.tolist()):
            factor = self._factor(penalty)
            if factor is not None:
                pivots[i] = self.diagonal.real
                forward, _ = self.trtrs(factor, self.R, lower=1)
                self._back(factor, forward, beta[:, i * m : (i + 1) * m])
        # Squared pivots over the diagonal of the system: how much of each column is its own.
        scale = np.diagonal(self.G).real + penalties[:, None]
        smallest = (np.square(pivots) / scale).min(axis=1)
        for k in np.flatnonzero((smallest < REFINE_PIVOT) & (smallest >= SINGULAR_PIVOT)):
            self._refine(float(penalties[k]), beta[:, k * m : (k + 1) * m])
        shape = (P, len(penalties), self.n_widths, self.K)
        return beta.reshape(shape), np.where(smallest >= SINGULAR_PIVOT, smallest, 0.0)

    def _factor(self, penalty: float) -> AnyArray | None:
        np.copyto(self.system, self.G)
        self.diagonal += penalty
        factor, info = self.potrf(self.system, lower=1, clean=0, overwrite_a=1)
        return factor if info == 0 else None

    def _back(self, factor: AnyArray, forward: AnyArray, out: AnyArray) -> None:
        """Write L_k⁻ᵀz_k of every width into ``out``, given z of one or of every width."""
        if forward.shape[1] < out.shape[1] and self.K > 1:
            forward = np.tile(forward, (1, self.n_widths))
        np.multiply(self.inside, forward, out=out)
        self.trsm(1.0, factor, out, lower=1, trans_a=2, overwrite_b=1)

    def _refine(self, penalty: float, beta: AnyArray) -> None:
        """Correct β of one penalty by its gradient MᵀW(T - Mβ) - λβ, taken from M itself."""
        factor = self._factor(penalty)
        assert factor is not None  # it was factored before
        P = len(beta)
        T = np.tile(self.T, (1, self.n_widths))
        gradient = -penalty * beta
        for rows, M in self.design:
            M = M[:, :P]
            gradient += M.conj().T @ (self.w[rows, None] * (T[rows] - M @ beta))
        forward, _ = self.trtrs(factor, gradient * self.inside, lower=1)
        correction = np.empty_like(beta, order="F")
        self._back(factor, forward, correction)
        beta += correction


def _solve_wide(
    design: RowBlocks,
    T: Array,
    w: Array,
    penalties: Array,
    width: int,
    beta: AnyArray,
    pivot: Array,
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
        pivot[i] = smallest


def graph_ridge(
    M: Array, T: Array, w: Array, term: Array, C: Array, weights: Array
) -> tuple[Array, Array]:
    """Solve (MᵀWM + (I + αS)/C)β = MᵀWT for every C and every graph weight α, by LU.

    The rows of M may be given in any orthonormal basis V of the space they span: distances stay,
    S becomes VᵀSV, and β is V times the solution found there. With fewer balls than columns that
    is the smaller system. ``term`` is S of this M.

    Returns β of shape (graph weights, P, C, K), and the reciprocal condition number of each
    system, (graph weights, C); 0 where it is too ill-conditioned for this route.
    """
    P = M.shape[1]
    G = (M.T * w) @ M
    R = (M.T * w) @ T
    beta = np.zeros((len(weights), P, len(C), T.shape[1]))
    rcond = np.zeros((len(weights), len(C)))
    getrf, getrs, gecon = get_lapack_funcs(("getrf", "getrs", "gecon"), (G,))
    system = np.empty((P, P), order="F")
    for a, weight in enumerate(weights.tolist()):
        penalty = weight * term
        penalty.flat[:: P + 1] += 1.0
        for c, value in enumerate(C.tolist()):
            # For C < 1 the system is multiplied by C: 1/C must not overflow.
            error, size = (value, 1.0) if value < 1.0 else (1.0, 1.0 / value)
            np.multiply(G, error, out=system)
            system += size * penalty
            norm = float(np.abs(system).sum(axis=0).max())
            if not np.isfinite(norm):
                continue
            factor, pivots, info = getrf(system)
            found = gecon(factor, norm)[0] if info == 0 else 0.0
            if not found >= LU_RCOND:
                continue
            solution, _ = getrs(factor, pivots, error * R)
            solution += getrs(factor, pivots, error * R - system @ solution)[0]
            beta[a, :, c] = solution
            rcond[a, c] = found
    return beta, rcond
