"""Weighted ridge regression, its leave-one-out scores, and what happens when it is singular.

    β = argmin ½|β|² + C/2 Σ_i w_i |m_i β - t_i|²     =>     (MᵀWM + I/C) β = MᵀWT

Tall systems are solved in this primal form (Eq. 26), wide ones in the dual form
β = M̃ᵀ(M̃M̃ᵀ + I/C)⁻¹T̃ with M̃ = W½M and T̃ = W½T, both by Cholesky factorisation of the system
scaled to a unit diagonal. Ill-conditioned ones are refined with residuals taken from M itself;
where the factorisation fails or the scaled system is singular to working precision, the answer
is the ridge solution over the singular values M̃ has numerically:

    β = Σ_k s_k/(s_k² + 1/C) v_k u_kᵀT̃,  s_k > max(A, P) ε s_1,

whose limit for C → ∞ is the Moore-Penrose solution M̃⁺T̃.

M may be complex (ᵀ then means the conjugate transpose), and the penalty may carry a further matrix
Q, not necessarily symmetric: (MᵀWM + (I + Q)/C) β = MᵀWT, solved by LU factorisation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robell._core.layers.features import RowBlocks

Array = NDArray[np.float64]
AnyArray = NDArray[Any]  # real or complex

EPS = float(np.finfo(np.float64).eps)
# The error of a plain solve is about 1e-18/rcond (measured over activations, shapes and C), and
# every refinement multiplies it by 1e-16/rcond.
REFINE_BELOW = 1e-8
SINGULAR_BELOW = 1e-14
REFINEMENTS = 2


@dataclass(frozen=True)
class RidgeSolution:
    """Output weights and how they were found.

    Attributes
    ----------
    beta : array of shape (P, K)
    method : {"primal", "dual", "svd", "lu"}
    loo_scores : array of shape (A, K) or None
        Score of every row by the model fitted without it, where asked for.
    """

    beta: AnyArray
    method: str
    loo_scores: Array | None


@dataclass(frozen=True)
class SPDFactor:
    """Inverse Cholesky factor of the Hermitian G, scaled: G⁻¹ = FᵀF with F lower triangular.

    The inverse of the factor rather than the factor, because leverages of many rows are then
    matrix products, and so that all of fit runs in one BLAS library's thread pool: NumPy and
    SciPy bring one each, and two of them waiting for each other cost more than the arithmetic.
    """

    inverse_lower: AnyArray  # F
    rcond: float  # of the system scaled to a unit diagonal; a lower bound

    def solve(self, B: AnyArray) -> AnyArray:
        """Return G⁻¹B."""
        return np.asarray(self.inverse_lower.conj().T @ (self.inverse_lower @ B))

    def leverage(self, M: AnyArray) -> Array:
        """Return m_i G⁻¹ m_iᵀ for every row of M."""
        Z = M @ self.inverse_lower.conj().T
        return _row_squares(Z)

    def inverse_diagonal(self) -> Array:
        """Return the diagonal of G⁻¹."""
        return _row_squares(self.inverse_lower.T)


def _row_squares(Z: AnyArray) -> Array:
    """Return |z_i|² for every row of Z."""
    return np.asarray(np.einsum("ij,ij->i", Z, Z.conj()).real)


def factor_spd(G: AnyArray) -> SPDFactor | None:
    """Factor a Hermitian positive definite G; None when it is singular to working precision."""
    diagonal = np.diagonal(G).real
    if not (diagonal > 0.0).all():
        return None
    scale = 1.0 / np.sqrt(diagonal)
    scaled = G * scale[:, None] * scale[None, :]
    try:
        inverse_lower = invert_lower(np.linalg.cholesky(scaled))
    except np.linalg.LinAlgError:
        return None
    # |S|_1 |S⁻¹|_2 with the Frobenius norm of F for its spectral norm
    rcond = 1.0 / float(np.abs(scaled).sum(axis=0).max() * _row_squares(inverse_lower).sum())
    return SPDFactor(inverse_lower * scale, rcond) if rcond >= SINGULAR_BELOW else None


def invert_lower(L: AnyArray) -> AnyArray:
    """Invert a lower triangular matrix by halves.

    [[A, 0], [B, C]]⁻¹ = [[A⁻¹, 0], [-C⁻¹BA⁻¹, C⁻¹]]
    """
    n = len(L)
    if n <= 64:
        return np.asarray(np.linalg.inv(L), L.dtype)
    half = n // 2
    inverse = np.zeros_like(L)
    inverse[:half, :half] = invert_lower(L[:half, :half])
    inverse[half:, half:] = invert_lower(L[half:, half:])
    inverse[half:, :half] = -inverse[half:, half:] @ (L[half:, :half] @ inverse[:half, :half])
    return inverse


def normal_equations(design: RowBlocks, T: Array, w: Array | None) -> tuple[AnyArray, AnyArray]:
    """Accumulate G = MᵀWM and R = MᵀWT over the blocks of M (Eq. 26, without its identity)."""
    G: AnyArray | None = None
    for rows, M in design:
        targets = T[rows]
        if w is not None:
            root = np.sqrt(w[rows])[:, None]
            M, targets = M * root, targets * root
        if G is None:  # most systems are one block: no sums to start from
            G, R = M.conj().T @ M, M.conj().T @ targets
        else:
            G += M.conj().T @ M
            R += M.conj().T @ targets
    assert G is not None  # there is no design without rows
    if not np.isfinite(G).all():
        raise ValueError(
            "the hidden layer or the inputs overflow: scale X first, for instance with "
            "StandardScaler, or choose a bounded activation"
        )
    return G, R


def solve_ridge(
    design: RowBlocks,
    T: Array,
    C: float,
    w: Array | None = None,
    left_out_share: Array | None = None,
    further_penalty: Array | None = None,
) -> RidgeSolution:
    """Solve the weighted ridge problem (Eq. 26; Eq. 29 after division, errata E2 and E3).

    Parameters
    ----------
    design : RowBlocks
        M, of shape (A, P).
    T : array of shape (A, K)
    C : float
        Weight of the errors, the paper's γ.
    w : array of shape (A,), positive, or None for ones
    left_out_share : array of shape (A,), in (0, 1], or None
        Asks for leave-one-out scores, leaving out this share of each row's weight: 1 for a row,
        1/k for one copy of a row that stands for k.
    further_penalty : array of shape (P, P), or None
        Q, added to the identity in the penalty.
    """
    # For C < 1 the system is multiplied by C: 1/C must not overflow.
    penalty = 1.0
    if C < 1.0:
        w = np.full(design.n_rows, C) if w is None else C * w
    else:
        penalty = 1.0 / C
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        if further_penalty is not None:
            return _solve_lu(design, T, w, penalty, left_out_share, further_penalty)
        solve = _solve_primal if design.n_rows >= design.n_columns else _solve_dual
        solution = solve(design, T, w, penalty, left_out_share)
        if solution is None:
            solution = _solve_svd(design, T, w, penalty, left_out_share)
    return solution


def choose_C(
    design: RowBlocks,
    T: Array,
    candidates: Array,
    w: Array | None = None,
    left_out_share: Array | None = None,
    further_penalty: Array | None = None,
) -> int:
    """Return the place of the candidate C with the smallest weighted leave-one-out squared error.

    One eigendecomposition serves all candidates: with G = MᵀWM = QΛQᵀ and Z = MQ, scores are
    Z(Λ + 1/C)⁻¹QᵀMᵀWT and leverages Σ_k z_ik²/(λ_k + 1/C); likewise M̃M̃ᵀ for wide systems. Of
    equal errors the smaller C wins. Arguments as in :func:`solve_ridge`.
    """
    weight = np.ones(design.n_rows) if w is None else w
    share = np.ones(design.n_rows) if left_out_share is None else left_out_share
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        if further_penalty is not None:
            errors = np.empty(len(candidates))
            for k, C in enumerate(candidates):
                solution = solve_ridge(design, T, float(C), w, share, further_penalty)
                residual = T - np.asarray(solution.loo_scores)
                errors[k] = weight @ np.square(residual).sum(axis=1)
        else:
            sweep = _loo_primal if design.n_rows >= design.n_columns else _loo_dual
            errors = sweep(design, T, 1.0 / candidates, weight, share)
    order = np.argsort(candidates, kind="stable")
    errors = np.where(np.isfinite(errors), errors, np.inf)
    return int(order[np.argmin(errors[order])])


def _loo_primal(design: RowBlocks, T: Array, penalties: Array, w: Array, share: Array) -> Array:
    G, R = normal_equations(design, T, w)
    values, Q = np.linalg.eigh(G)
    inverse = 1.0 / (np.maximum(values, 0.0)[:, None] + penalties)  # (P, candidates)
    coordinates = Q.conj().T @ R
    errors = np.zeros(len(penalties))
    for rows, M in design:
        Z = M @ Q
        leverage = (share * w)[rows, None] * (np.square(np.abs(Z)) @ inverse)
        for k in range(len(penalties)):
            residual = T[rows] - (Z @ (inverse[:, k, None] * coordinates)).real
            residual /= np.maximum(1.0 - leverage[:, k], EPS)[:, None]
            errors[k] += w[rows] @ np.square(residual).sum(axis=1)
    return errors


def _loo_dual(design: RowBlocks, T: Array, penalties: Array, w: Array, share: Array) -> Array:
    root = np.sqrt(w)[:, None]
    M = design.whole() * root
    K = M @ M.conj().T
    if not np.isfinite(K).all():
        normal_equations(design, T, w)  # raises the same error as tall systems do
    values, Q = np.linalg.eigh(K)
    coordinates = Q.conj().T @ (T * root)
    errors = np.zeros(len(penalties))
    for k, penalty in enumerate(penalties):
        shrink = penalty / (np.maximum(values, 0.0) + penalty)
        residual = (Q @ (shrink[:, None] * coordinates)).real / root
        complement = (1.0 - share) + share * (np.square(np.abs(Q)) @ shrink)
        residual /= np.maximum(complement, EPS)[:, None]
        errors[k] = w @ np.square(residual).sum(axis=1)
    return errors


def _solve_primal(
    design: RowBlocks, T: Array, w: Array | None, penalty: float, share: Array | None
) -> RidgeSolution | None:
    G, R = normal_equations(design, T, w)
    G.flat[:: design.n_columns + 1] += penalty
    factor = factor_spd(G)
    if factor is None:
        return None
    beta = factor.solve(R)
    if factor.rcond < REFINE_BELOW:
        for _ in range(REFINEMENTS):
            gradient = -penalty * beta
            for rows, M in design:
                residual = T[rows] - M @ beta
                gradient += M.conj().T @ (residual if w is None else w[rows, None] * residual)
            beta += factor.solve(gradient)
    loo = None
    if share is not None:
        loo = np.empty_like(T)
        for rows, M in design:
            # m_i G⁻¹ m_iᵀ, then the leave-one-out identity f_-i = (f_i - h_i t_i) / (1 - h_i)
            leverage = factor.leverage(M)
            leverage *= share[rows] if w is None else share[rows] * w[rows]
            loo[rows] = leave_one_out((M @ beta).real, T[rows], 1.0 - leverage)
    return RidgeSolution(beta, "primal", loo)


def _solve_dual(
    design: RowBlocks, T: Array, w: Array | None, penalty: float, share: Array | None
) -> RidgeSolution | None:
    root = np.ones((design.n_rows, 1)) if w is None else np.sqrt(w)[:, None]
    M, T_root = design.whole() * root, T * root
    M_t = M.conj().T
    K = M @ M_t
    if not np.isfinite(K).all():
        normal_equations(design, T, w)  # raises the same error as tall systems do
    K.flat[:: design.n_rows + 1] += penalty
    factor = factor_spd(K)
    if factor is None:
        return None
    alpha = factor.solve(T_root)
    if factor.rcond < REFINE_BELOW:
        for _ in range(REFINEMENTS):
            alpha = alpha + factor.solve(T_root - M @ (M_t @ alpha) - penalty * alpha)
    loo = None
    if share is not None:
        # In the dual, t_i - f_i = α_i/(C √w_i) and 1 - h_i = (K⁻¹)_ii/C lose no digits near h = 1.
        complement = (1.0 - share) + share * penalty * factor.inverse_diagonal()
        loo = T - penalty * alpha.real / (root * complement[:, None])
    return RidgeSolution(M_t @ alpha, "dual", loo)


def _solve_svd(
    design: RowBlocks, T: Array, w: Array | None, penalty: float, share: Array | None
) -> RidgeSolution:
    root = np.ones((design.n_rows, 1)) if w is None else np.sqrt(w)[:, None]
    M, T_root = design.whole() * root, T * root
    left, s, right = np.linalg.svd(M, full_matrices=False)
    kept = s > max(M.shape) * EPS * s[0]
    left, s, right = left[:, kept], s[kept], right[kept]
    shrink = penalty / (np.square(s) + penalty)
    coordinates = left.conj().T @ T_root
    beta = right.conj().T @ ((s / (np.square(s) + penalty))[:, None] * coordinates)
    loo = None
    if share is not None:
        residual = (left @ (shrink[:, None] * coordinates)).real
        inside = np.square(np.abs(left))
        complement = inside @ shrink
        if len(s) < len(M):  # else the columns of `left` span everything: nothing lies outside
            residual += T_root - (left @ coordinates).real
            complement += np.maximum(1.0 - inside.sum(axis=1), 0.0)
        complement = (1.0 - share) + share * complement
        # A row that no other row says anything about: without it, its score is the fit's.
        known = (complement > 0.0)[:, None]
        step = np.divide(residual, root * complement[:, None], where=known, out=residual / root)
        loo = T - step
    return RidgeSolution(beta, "svd", loo)


def _solve_lu(
    design: RowBlocks,
    T: Array,
    w: Array | None,
    penalty: float,
    share: Array | None,
    further_penalty: Array,
) -> RidgeSolution:
    G, R = normal_equations(design, T, w)
    G += penalty * further_penalty
    G.flat[:: design.n_columns + 1] += penalty
    method = "lu"
    try:
        inverse = np.linalg.inv(G)
    except np.linalg.LinAlgError:
        inverse = np.full_like(G, np.nan)
    if not np.linalg.norm(G, 1) * np.linalg.norm(inverse, 1) <= 1.0 / SINGULAR_BELOW:
        inverse, method = np.linalg.pinv(G), "svd"
    beta = inverse @ R
    for _ in range(REFINEMENTS if method == "lu" else 0):
        beta = beta + inverse @ (R - G @ beta)
    loo = None
    if share is not None:
        loo = np.empty_like(T)
        for rows, M in design:
            # The same identity as in the symmetric case: it only needs a change of rank one.
            leverage = np.einsum("ij,ij->i", M @ inverse, M)
            leverage *= share[rows] if w is None else share[rows] * w[rows]
            loo[rows] = leave_one_out(M @ beta, T[rows], 1.0 - leverage)
    return RidgeSolution(beta, method, loo)


def leave_one_out(scores: Array, T: Array, complement: Array) -> Array:
    """Return f_-i = (f_i - h_i t_i)/(1 - h_i) = t_i - (t_i - f_i)/(1 - h_i), given 1 - h_i."""
    # Positive but for rounding, and but for penalties that are not symmetric.
    safe = np.where(np.abs(complement) < EPS, EPS, complement)
    return np.asarray(T - (T - scores) / safe[:, None])
