"""Weighted ridge regression, its leave-one-out scores, and what happens when it is singular.

    β = argmin ½|β|² + C/2 Σ_i w_i |m_i β - t_i|²     =>     (MᵀWM + I/C) β = MᵀWT

Tall systems are solved in this primal form (Eq. 26), wide ones in the dual form
β = M̃ᵀ(M̃M̃ᵀ + I/C)⁻¹T̃ with M̃ = W½M and T̃ = W½T, both by Cholesky factorisation of the system
scaled to a unit diagonal. Ill-conditioned ones are refined with residuals taken from M itself;
where the factorisation fails or the scaled system is singular to working precision, the answer
is the ridge solution over the singular values M̃ has numerically:

    β = Σ_k s_k/(s_k² + 1/C) v_k u_kᵀT̃,  s_k > max(A, P) ε s_1,

whose limit for C → ∞ is the Moore-Penrose solution M̃⁺T̃; C = inf asks for this limit.

M may be complex (ᵀ then means the conjugate transpose), and the penalty may carry a further matrix
Q, not necessarily symmetric: (MᵀWM + (I + Q)/C) β = MᵀWT, solved by LU factorisation. Its limit is,
of all least squares solutions, the one of smallest βᵀ(I + Q)β: with M̃ = UsVᵀ and N = (I + Q)⁻¹,

    β = NV (VᵀNV)⁻¹ s⁻¹ UᵀT̃.

M, T and w may be tensors (in double precision): products are then taken on their device, and
only the small systems are factored on the host.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robell._core.array import add_to_diagonal, beside, namespace, row_squares, to_host
from robell._core.layers.features import RowBlocks

AnyArray = NDArray[Any]  # real or complex

EPS = float(np.finfo(np.float64).eps)
# The error of a plain solve is about 1e-18/rcond (measured over activations, shapes and C), and
# every refinement multiplies it by 1e-16/rcond.
REFINE_BELOW = 1e-8
SINGULAR_BELOW = 1e-14
REFINEMENTS = 2
# A row whose leverage is nearer to 1 than this is taken for one that no other row resembles.
ALONE = 1e-10


@dataclass(frozen=True)
class RidgeSolution:
    """Output weights and how they were found."""

    beta: Any  # (P, K)
    method: str  # "primal", "dual", "svd" or "lu"
    loo_scores: Any | None  # (A, K), of every row by the model fitted without it; where asked for


@dataclass(frozen=True)
class SPDFactor:
    """Inverse Cholesky factor of the Hermitian G, scaled: G⁻¹ = FᵀF with F lower triangular.

    The inverse of the factor rather than the factor, because leverages of many rows are then
    matrix products, and so that all of fit runs in one BLAS library's thread pool: NumPy and
    SciPy bring one each, and two of them waiting for each other cost more than the arithmetic.
    """

    inverse_lower: Any  # F
    rcond: float  # of the system scaled to a unit diagonal; a lower bound

    def solve(self, B: Any) -> Any:
        """Return G⁻¹B."""
        return self.inverse_lower.conj().T @ (self.inverse_lower @ B)

    def leverage(self, M: Any) -> Any:
        """Return m_i G⁻¹ m_iᵀ for every row of M."""
        return row_squares(M @ self.inverse_lower.conj().T)

    def inverse_diagonal(self) -> Any:
        """Return the diagonal of G⁻¹."""
        return row_squares(self.inverse_lower.T)


def factor_spd(G: Any, least_rcond: float = SINGULAR_BELOW) -> SPDFactor | None:
    """Factor a Hermitian positive definite G; None when it is singular to working precision."""
    system = to_host(G)
    diagonal = np.diagonal(system).real
    if not (diagonal > 0.0).all():
        return None
    scale = 1.0 / np.sqrt(diagonal)
    scaled = system * scale[:, None] * scale[None, :]
    try:
        inverse_lower = invert_lower(np.linalg.cholesky(scaled))
    except np.linalg.LinAlgError:
        return None
    # |S|_1 |S⁻¹|_2 with the Frobenius norm of F for its spectral norm
    rcond = 1.0 / float(np.abs(scaled).sum(axis=0).max() * row_squares(inverse_lower).sum())
    return SPDFactor(beside(inverse_lower * scale, G), rcond) if rcond >= least_rcond else None


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


def require_finite(system: Any) -> None:
    """Raise when a product of the design matrix has overflowed."""
    if not namespace(system).isfinite(system).all():
        raise ValueError(
            "the hidden layer or the inputs overflow: scale X first, for instance with "
            "StandardScaler, or choose a bounded activation"
        )


def normal_equations(design: RowBlocks, T: Any, w: Any | None) -> tuple[Any, Any]:
    """Accumulate G = MᵀWM and R = MᵀWT over the blocks of M (Eq. 26, without its identity)."""
    G: Any = None
    for rows, M in design:
        targets = T[rows]
        if w is not None:
            root = namespace(w).sqrt(w[rows])[:, None]
            M, targets = M * root, targets * root
        if G is None:  # most systems are one block: no sums to start from
            G, R = M.conj().T @ M, M.conj().T @ targets
        else:
            G += M.conj().T @ M
            R += M.conj().T @ targets
    require_finite(G)
    return G, R


def solve_ridge(
    design: RowBlocks,
    T: Any,
    C: float,
    w: Any | None = None,
    leave_out: bool = False,
    further_penalty: Any | None = None,
) -> RidgeSolution:
    """Solve the weighted ridge problem (Eq. 26; Eq. 29 after division, errata E2 and E3).

    ``design`` is M of shape (A, P), T of shape (A, K), C the paper's γ, which may be infinite; w
    holds positive row weights, None for ones. ``leave_out`` asks for leave-one-out scores; a row
    is left out with all of its weight.
    ``further_penalty`` is Q, added to the identity in the penalty; of arrays only.
    """
    # For C < 1 the system is multiplied by C: 1/C must not overflow.
    penalty = 1.0
    if C < 1.0:
        w = namespace(T).full_like(T[:, 0], C) if w is None else C * w
    else:
        penalty = 1.0 / C
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        if further_penalty is not None and penalty > 0.0:
            return _solve_lu(design, T, w, penalty, leave_out, further_penalty)
        is_tall, solution = design.n_rows >= design.n_columns, None
        if is_tall or further_penalty is None:
            solve = _solve_primal if is_tall else _solve_dual
            solution = solve(design, T, w, penalty, leave_out)
        if solution is None and penalty > 0.0:
            solution = _solve_svd(design, T, w, penalty, leave_out)
        elif solution is None:
            solution = _solve_least_norm(design, T, w, leave_out, further_penalty)
    return solution


def _solve_primal(
    design: RowBlocks, T: Any, w: Any | None, penalty: float, leave_out: bool
) -> RidgeSolution | None:
    """Solve (MᵀWM + λI) β = MᵀWT."""
    G, R = normal_equations(design, T, w)
    add_to_diagonal(G, penalty)
    factor = factor_spd(G, _least_rcond(penalty))
    if factor is None or (leave_out and penalty == 0.0 and _some_row_alone(factor, design, w)):
        return None
    beta = factor.solve(R)
    for _ in range(REFINEMENTS if factor.rcond < REFINE_BELOW else 0):
        gradient = -penalty * beta
        for rows, M in design:
            residual = T[rows] - M @ beta
            gradient += M.conj().T @ (residual if w is None else w[rows, None] * residual)
        beta += factor.solve(gradient)
    loo = None
    if leave_out:
        loo = left_out_scores(factor.leverage, beta, design, T, w)
    return RidgeSolution(beta, "primal", loo)


def _least_rcond(penalty: float) -> float:
    """Return below which condition a system is solved by singular values."""
    # Nothing damps the rounding of an unpenalised system: where it would need to be refined, the
    # singular values are taken at once.
    return SINGULAR_BELOW if penalty > 0.0 else REFINE_BELOW


def _some_row_alone(factor: SPDFactor, design: RowBlocks, w: Any | None) -> bool:
    """Say whether a row is nearly the only one that says what it says: h_i near 1."""
    for rows, M in design:
        h = factor.leverage(M)
        if bool(((h if w is None else h * w[rows]) > 1.0 - ALONE).any()):
            return True
    return False


def _scaled(design: RowBlocks, T: Any, w: Any | None) -> tuple[Any, Any, Any]:
    """Return W½, W½M and W½T."""
    root = namespace(T).ones_like(T[:, :1]) if w is None else namespace(w).sqrt(w)[:, None]
    return root, design.whole() * root, T * root


def _solve_dual(
    design: RowBlocks, T: Any, w: Any | None, penalty: float, leave_out: bool
) -> RidgeSolution | None:
    """Solve (M̃M̃ᵀ + λI) α = T̃ for β = M̃ᵀα."""
    root, M, T_root = _scaled(design, T, w)
    M_t = M.conj().T
    K = M @ M_t
    require_finite(K)
    add_to_diagonal(K, penalty)
    factor = factor_spd(K, _least_rcond(penalty))
    if factor is None:
        return None
    alpha = factor.solve(T_root)
    for _ in range(REFINEMENTS if factor.rcond < REFINE_BELOW else 0):
        alpha = alpha + factor.solve(T_root - M @ (M_t @ alpha) - penalty * alpha)
    loo = None
    if leave_out:
        # In the dual, t_i - f_i = α_i/(C √w_i) and 1 - h_i = (K⁻¹)_ii/C lose no digits near h = 1,
        # and their ratio needs no C.
        loo = T - alpha.real / (root * factor.inverse_diagonal()[:, None])
    return RidgeSolution(M_t @ alpha, "dual", loo)


def _solve_svd(
    design: RowBlocks, T: Any, w: Any | None, penalty: float, leave_out: bool
) -> RidgeSolution:
    """Solve over the singular values that M̃ has numerically."""
    xp = namespace(T)
    root, M, T_root = _scaled(design, T, w)
    left, s, right = xp.linalg.svd(M, full_matrices=False)
    kept = s > max(M.shape) * EPS * s[0]
    left, s, right = left[:, kept], s[kept], right[kept]
    shrink = penalty / (xp.square(s) + penalty)
    coordinates = left.conj().T @ T_root
    beta = right.conj().T @ ((s / (xp.square(s) + penalty))[:, None] * coordinates)
    loo = None
    if leave_out:
        residual = (left @ (shrink[:, None] * coordinates)).real
        inside = xp.square(abs(left))
        complement = inside @ shrink
        if len(s) < len(M):  # else the columns of `left` span everything: nothing lies outside
            residual += T_root - (left @ coordinates).real
            complement += xp.clip(1.0 - inside.sum(axis=1), 0.0, None)
        # A row that no other row says anything about: without it, its score is the fit's.
        complement = xp.where(complement > 0.0, complement, 1.0)
        loo = T - residual / (root * complement[:, None])
    return RidgeSolution(beta, "svd", loo)


def _solve_least_norm(
    design: RowBlocks, T: Any, w: Any | None, leave_out: bool, further_penalty: Any | None
) -> RidgeSolution:
    """Return the limit for C → ∞ over the singular values that M̃ has numerically.

    A row outside the span of the others, |u_i| = 1, is fitted exactly whatever its target. Its
    left-out residual is the limit of the ridge's: (BT̃)_i / B_ii, B = U s⁻¹ (VᵀNV)⁻¹ s⁻¹ Uᵀ.
    """
    xp = namespace(T)
    root, M, T_root = _scaled(design, T, w)
    left, s, right = xp.linalg.svd(M, full_matrices=False)
    kept = s > max(M.shape) * EPS * s[0]
    left, s, right = left[:, kept], s[kept], right[kept]
    coordinates = left.conj().T @ T_root
    V = NV = right.conj().T
    if further_penalty is not None:
        NV = np.linalg.pinv(np.eye(M.shape[1]) + further_penalty) @ V
    inner = xp.linalg.pinv(V.conj().T @ NV)
    beta = NV @ (inner @ (coordinates / s[:, None]))
    loo = None
    if leave_out:
        Z = left * (s[-1:] / s)  # B times a number, which cancels
        ZB = Z @ inner
        outside = 1.0 - row_squares(left)
        alone = outside <= ALONE
        residual = xp.where(
            alone[:, None],
            (ZB @ (Z.conj().T @ T_root)).real,
            T_root - (left @ coordinates).real,
        )
        complement = xp.where(alone, (ZB * Z.conj()).real.sum(axis=1), outside)
        loo = T - residual / (root * complement[:, None])
    return RidgeSolution(beta, "svd", loo)


def _solve_lu(
    design: RowBlocks,
    T: AnyArray,
    w: AnyArray | None,
    penalty: float,
    leave_out: bool,
    further_penalty: AnyArray,
) -> RidgeSolution:
    """Solve (MᵀWM + λ(I + Q)) β = MᵀWT."""
    G, R = normal_equations(design, T, w)
    G += penalty * further_penalty
    add_to_diagonal(G, penalty)
    beta, inverse, method = solve_general(G, R)
    loo = None
    if leave_out:
        # The same identity as in the symmetric case: it only needs a change of rank one.
        loo = left_out_scores(lambda M: np.einsum("ij,ij->i", M @ inverse, M), beta, design, T, w)
    return RidgeSolution(beta, method, loo)


def solve_general(G: AnyArray, R: AnyArray) -> tuple[AnyArray, AnyArray, str]:
    """Return G⁻¹R, G⁻¹ and how they were found: G need not be symmetric, and may be singular.

    Rows and columns are scaled to a largest entry of one: those of other sizes cost no digits.
    """
    rows = _inverse_or_one(np.abs(G).max(axis=1))[:, None]
    columns = _inverse_or_one(np.abs(G * rows).max(axis=0))
    scaled = G * rows * columns
    try:
        inverse = np.linalg.inv(scaled)
    except np.linalg.LinAlgError:
        inverse = np.full_like(G, np.nan)
    if not np.linalg.norm(scaled, 1) * np.linalg.norm(inverse, 1) <= 1.0 / SINGULAR_BELOW:
        inverse = np.linalg.pinv(G)
        return inverse @ R, inverse, "svd"
    right = rows * R
    beta = inverse @ right
    for _ in range(REFINEMENTS):
        beta = beta + inverse @ (right - scaled @ beta)
    return columns[:, None] * beta, columns[:, None] * inverse * rows.T, "lu"


def _inverse_or_one(sizes: AnyArray) -> AnyArray:
    """Return 1/size, and 1 where that is zero."""
    return np.asarray(1.0 / np.where(sizes > 0.0, sizes, 1.0))


def left_out_scores(
    leverage: Callable[[Any], Any], beta: Any, design: RowBlocks, T: Any, w: Any | None
) -> Any:
    """Return the score of every row by the model fitted without it.

    ``leverage`` maps rows of M to m_i G⁻¹ m_iᵀ, so that h_i = w_i m_i G⁻¹ m_iᵀ.
    """
    scores = namespace(T).empty_like(T)
    for rows, M in design:
        h = leverage(M)
        if w is not None:
            h *= w[rows]
        scores[rows] = leave_one_out((M @ beta).real, T[rows], h)
    return scores


def leave_one_out(scores: Any, T: Any, h: Any) -> Any:
    """Return f_-i = (f_i - h_i t_i)/(1 - h_i), which keeps its digits where C and so f are tiny."""
    complement = 1.0 - h
    # Positive, except by rounding and for penalties that are not symmetric.
    safe = namespace(T).where(abs(complement) < EPS, EPS, complement)
    return (scores - h[:, None] * T) / safe[:, None]
