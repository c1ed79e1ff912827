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

M, T and w may be tensors (in double precision): products are taken on their device, and only the
small systems are factored on the host.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from robell._core.array import (
    EPS,
    AnyArray,
    Array,
    add_to_diagonal,
    beside,
    namespace,
    row_squares,
    to_host,
)
from robell._core.layers.features import RowBlocks
from robell._core.ridge.loo import (
    SMALLEST_COMPLEMENT,
    Centre,
    Spectrum,
    decompose,
    keeps_digits,
    place_of_smallest,
    squared_errors,
)

# The error of a plain solve is about 1e-18/rcond (measured over activations, shapes and C), and
# every refinement multiplies it by 1e-16/rcond.
REFINE_BELOW = 1e-8
SINGULAR_BELOW = 1e-14
# Nothing damps the rounding of an unpenalised system: where it would need to be refined, the
# singular values are taken at once.
UNPENALISED_BELOW = REFINE_BELOW
REFINEMENTS = 2
# Of the largest target, by rounding in the products of the dual system, before it is given up.
MOST_LOST = 3e-10
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
    """Inverse Cholesky factor of the Hermitian G, scaled: G⁻¹ = FᵀF with F lower triangular."""

    # The inverse, because leverages of many rows are then matrix products, and so that all of fit
    # runs in one BLAS library's thread pool: NumPy's and SciPy's would wait for each other.

    inverse_lower: Any  # F
    rcond: float  # of the system scaled to a unit diagonal; a lower bound

    def solve(self, B: Any, rest: Callable[[Any], Any] | None = None) -> Any:
        """Return G⁻¹B; of an ill-conditioned G refined by the ``rest`` a solution leaves of B."""
        found = self.inverse_lower.conj().T @ (self.inverse_lower @ B)
        if rest is not None and self.rcond < REFINE_BELOW:
            for _ in range(REFINEMENTS):
                found = found + self.solve(rest(found))
        return found

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
    """Invert a lower triangular matrix by halves."""
    # [[A, 0], [B, C]]⁻¹ = [[A⁻¹, 0], [-C⁻¹BA⁻¹, C⁻¹]]
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
    """Return G = MᵀWM and R = MᵀWT (Eq. 26, without its identity)."""
    return System(design, T).equations(w)


# -- what is fitted --------------------------------------------------------------------


class Rows(NamedTuple):
    """The rows M̃ = W½M and T̃ = W½T of a system; those of a sample are left out together."""

    M: Any  # (samples times rows of a sample, P)
    T: Any  # as long, (., K)
    root: Any  # W½, (samples, 1)
    u: Any | None = None  # (samples,), the constant's share of every row
    mean: Any | None = None  # μ, taken off M for the constant
    scored: Any | None = None  # (samples, P), what β is multiplied by for scores, where not M

    def kernel(self) -> tuple[Any, float]:
        """Return M̃M̃ᵀ + s uuᵀ, and s: of the size of the diagonal, 0 without a constant."""
        K, lift = self.M @ self.M.conj().T, 0.0
        require_finite(K)
        if self.u is not None:
            lift = float(K.diagonal().mean()) or 1.0
            K += lift * self.u[:, None] * self.u[None, :]
        return K, lift

    def solution(self, beta: Any, method: str, loo_scores: Any | None) -> RidgeSolution:
        """Return a solution, with the constant -μβ where there is one."""
        if self.mean is not None:
            beta = namespace(beta).vstack([-(self.mean @ beta)[None, :], beta])
        return RidgeSolution(beta, method, loo_scores)

    def errors(self, spectrum: Spectrum, lift: float, penalties: Array, remembered: Any) -> Array:
        """Return the squared leave-one-out error under each penalty, samples of one row each."""
        # With K = QΛQᵀ and d = λ/(Λ + λ), residuals Qd QᵀT̃ and 1 - h_i = Σ_k q_ik² d_k - u_i²
        # λ/(s+λ) lose no digits near h_i = 1, except those of the constant.
        xp, (values, Q, coordinates, _) = namespace(self.T), spectrum
        errors = np.zeros(len(penalties))
        for k, penalty in enumerate(penalties.tolist()):
            shrink = penalty / (values + penalty)
            residual = (Q @ (shrink[:, None] * coordinates)).real
            complement = xp.square(abs(Q)) @ shrink
            if self.u is not None:
                of_constant = xp.square(self.u) * (penalty / (lift + penalty))
                remembered[k] = (complement - of_constant < SMALLEST_COMPLEMENT * complement).any()
                complement = complement - of_constant
            residual /= xp.clip(complement, EPS, None)[:, None]
            errors[k] = float(xp.square(residual).sum())
        return errors

    def left_out_scores(self, T: Any, beta: Any, missed: Any, toward: Callable[[Any], Any]) -> Any:
        """Return f_-i, from what the rows of a left-out sample are missed by, (samples, ., K)."""
        # ``toward`` maps the scored rows m to m G⁻¹M̃_iᵀ, the weight of these rows in the score.
        if self.scored is None:
            return T - missed[:, 0].real / self.root
        weight = toward(self.scored)
        return self.scored @ beta - namespace(T).einsum("ia,iak->ik", weight, missed)


class System:
    """The rows m_i, targets t_i and weights w_i of a ridge problem, and its further penalty Q."""

    free = 0  # how many columns, the first ones, are not penalised

    def __init__(
        self, design: RowBlocks, T: Any, w: Any | None = None, further_penalty: Any | None = None
    ) -> None:
        self.design, self.T, self.w, self.further_penalty = design, T, w, further_penalty
        self.is_tall = design.n_rows >= design.n_columns
        design.keep |= design.is_small  # for left-out scores and refinements

    def equations(self, w: Any | None) -> tuple[Any, Any]:
        """Accumulate MᵀWM and MᵀWT over the blocks of M."""
        G: Any = None
        for rows, M in self.design:
            targets = self.T[rows]
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

    def residual_products(self, beta: Any, w: Any | None) -> Any:
        """Return what a solution leaves of the right-hand side, MᵀW(T - Mβ)."""
        products = namespace(beta).zeros_like(beta)
        for rows, M in self.design:
            residual = self.T[rows] - M @ beta
            products += M.conj().T @ (residual if w is None else w[rows, None] * residual)
        return products

    def left_out_scores(self, factor: Any, beta: Any, w: Any | None) -> tuple[Any, float]:
        """Return the score of every row by the model fitted without it, and the least 1 - h_i."""
        xp, least = namespace(self.T), [1.0]
        scores = xp.empty_like(self.T)
        for rows, M in self.design:
            h = factor.leverage(M)
            if w is not None:
                h *= w[rows]
            complement = 1.0 - h
            least.append(complement.min())
            # f_-i = (f_i - h_i t_i)/(1 - h_i) keeps its digits where C and so f are tiny.
            # 1 - h_i is positive, except by rounding and for penalties that are not symmetric.
            complement = xp.where(abs(complement) < EPS, EPS, complement)
            missed = (M @ beta).real - h[:, None] * self.T[rows]
            scores[rows] = missed / complement[:, None]
        return scores, min(map(float, least))  # in the end: a device is not waited for in between

    def rows(self, w: Any | None) -> Rows:
        """Return W½M and W½T, where the system is wide or singular."""
        xp = namespace(self.T)
        root = xp.ones_like(self.T[:, :1]) if w is None else xp.sqrt(w)[:, None]
        return Rows(self.design.whole() * root, self.T * root, root)

    def spectrum(self, w: Any) -> Spectrum:
        """Return the spectrum of a tall system."""
        return decompose(*self.equations(w))

    def errors(
        self, spectrum: Spectrum, w: Any, counted: Any, penalties: Array, remembered: Any = None
    ) -> Array:
        """Return the squared leave-one-out error under each penalty, rows counted so often."""
        return squared_errors(self.design, self.T, w, counted, spectrum, penalties, remembered)

    def in_units(self) -> System:
        """Return the system with every target in the unit that its errors are counted in."""
        return self

    def solve(self, C: float, leave_out: bool = False) -> RidgeSolution:
        """Return the solution for C, which may be infinite, with left-out scores if asked for."""
        w, penalty = self.w, 1.0 / max(C, 1.0)
        if C < 1.0:  # the system is multiplied by C: 1/C must not overflow
            w = namespace(self.T).full_like(self.T[:, 0], C) if w is None else C * w
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            if self.further_penalty is not None and penalty > 0.0:
                return _solve_lu(self, self.further_penalty, w, penalty, leave_out)
            if not self.is_tall:
                solution = None
                if self.further_penalty is None:
                    solution = _solve_dual(self, w, penalty, leave_out)
                return solution or _solve_svd(self, w, penalty, leave_out)
            # (MᵀWM + λI) β = MᵀWT, by singular values where it is singular to working precision
            G, R = self.equations(w)
            penalised = list(range(self.free, len(G)))
            G[penalised, penalised] += penalty
            factor = factor_spd(G, SINGULAR_BELOW if penalty > 0.0 else UNPENALISED_BELOW)
            if factor is None:
                return _solve_svd(self, w, penalty, leave_out)

            def rest(beta: Any) -> Any:
                products = self.residual_products(beta, w)
                products[self.free :] -= penalty * beta[self.free :]
                return products

            beta, loo = factor.solve(R, rest), None
            if leave_out:
                loo, least = self.left_out_scores(factor, beta, w)
                if penalty == 0.0 and least < ALONE:
                    return _solve_svd(self, w, penalty, leave_out)
            return RidgeSolution(beta, "primal", loo)


# -- one solve -------------------------------------------------------------------------


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
    return System(design, T, w, further_penalty).solve(C, leave_out)


def _solve_dual(
    system: System, w: Any | None, penalty: float, leave_out: bool
) -> RidgeSolution | None:
    """Solve (M̃M̃ᵀ + s uuᵀ + λI) α = T̃ for β = M̃ᵀα; None where that is singular."""
    # With R the inverse, the rows of a sample left out are missed by (R_ii - u_i²/(s + λ))⁻¹ α_i:
    # t_i - f_i = λα_i/√w_i and 1 - h_i = λ(R_ii - u_i²/(s + λ)) lose no digits near h_i = 1, and
    # their ratio needs no λ. Without a constant, u = 0.
    rows = system.rows(w)
    K, lift = rows.kernel()
    add_to_diagonal(K, penalty)
    factor = factor_spd(K, SINGULAR_BELOW if penalty > 0.0 else UNPENALISED_BELOW)
    if factor is None:
        return None
    M_t, u = rows.M.conj().T, rows.u

    def rest(alpha: Any) -> Any:
        left = rows.T - rows.M @ (M_t @ alpha) - penalty * alpha
        return left if u is None else left - lift * u[:, None] * (u @ alpha)

    alpha = factor.solve(rows.T, rest)
    # Where a column is larger than the others by orders of magnitude, Kα is the small rest of large
    # terms, and its rounding large beside the largest target. No refinement sees what is lost
    # there; the singular values keep it.
    most = float(K.diagonal().real.max()) * float(abs(alpha).max())
    if EPS * most / (float(abs(rows.T).max()) or 1.0) > MOST_LOST:
        return None
    beta, loo = M_t @ alpha, None
    if leave_out:
        xp, F, n = namespace(alpha), factor.inverse_lower, len(system.T)
        each = F.reshape(len(F), n, -1)  # columns of F by sample
        own = xp.einsum("pia,pib->iab", each.conj(), each)
        of_each = alpha.reshape(n, -1, alpha.shape[1])
        if u is None:
            missed = xp.linalg.solve(own, of_each)
        else:
            complement = own - (u**2 / (lift + penalty))[:, None, None]
            # A row without any other: nothing is left without it, and its score is the fit's.
            alone, ones = complement <= 4.0 * EPS * own, xp.ones_like(own)
            missed = of_each * xp.where(
                alone, penalty * ones, 1.0 / xp.where(alone, ones, complement)
            )

        def toward(scored: Any) -> Any:
            return xp.einsum("pi,pia->ia", F @ (rows.M @ scored.T), each)

        loo = rows.left_out_scores(system.T, beta, missed, toward)
    return rows.solution(beta, "dual", loo)


def _solve_svd(system: System, w: Any | None, penalty: float, leave_out: bool) -> RidgeSolution:
    """Solve over the singular values that M̃ has numerically, without a penalty for C → ∞."""
    rows = system.rows(w)
    xp = namespace(rows.T)
    left, s, right = xp.linalg.svd(rows.M, full_matrices=False)
    kept = s > max(rows.M.shape) * EPS * s[0]
    left, s, right = left[:, kept], s[kept], right[kept]
    coordinates = left.conj().T @ rows.T
    shrink = s / (xp.square(s) + penalty) if penalty > 0.0 else 1.0 / s
    if system.further_penalty is None:
        beta = right.conj().T @ (shrink[:, None] * coordinates)
        damped = left * (penalty / (xp.square(s) + penalty) if penalty > 0.0 else (s[-1:] / s) ** 2)
    else:
        N = np.linalg.pinv(np.eye(rows.M.shape[1]) + system.further_penalty)
        NV = N @ right.conj().T
        inner = np.linalg.pinv(right @ NV)
        beta = NV @ (inner @ (shrink[:, None] * coordinates))
        damped = ((left * (s[-1:] / s)) @ inner) * (s[-1:] / s)
    loo = None
    if leave_out:
        missed = missed_left_out(left, damped, rows.T, penalty, len(system.T), rows.u)

        def toward(scored: Any) -> Any:
            weight = (scored @ right.conj().T) * shrink
            each = left.reshape(len(weight), len(left) // len(weight), len(s))
            return xp.einsum("iar,ir->ia", each, weight)

        loo = rows.left_out_scores(system.T, beta, missed, toward)
    return rows.solution(beta, "svd", loo)


def missed_left_out(
    U: Any, damped: Any, T: Any, penalty: float, n: int, u: Any | None = None
) -> Any:
    """Return what the rows of each of n samples are missed by when it is left out, (n, rows, K)."""
    # ε with (I - H) ε = residual, where I - H = O + D: O = I - UUᵀ - uuᵀ is what lies outside of
    # the span of the singular vectors U, and D = λU(s² + λ)⁻¹Uᵀ. In directions in which a sample
    # stands alone O = 0. There any multiple of D finds the same ε, and so does the limit for λ → 0,
    # which is U s⁻²Uᵀ, or U s⁻¹(VᵀNV)⁻¹s⁻¹Uᵀ with a further penalty. ``damped`` is D, or such a
    # multiple of its limit where λ = 0, without its last Uᵀ.
    xp, r, rank = namespace(T), len(T) // n, U.shape[1]
    coordinates = U.conj().T @ T
    each, unit = U.reshape(n, r, rank), beside(np.eye(r), T)
    each_t = xp.swapaxes(each.conj(), 1, 2)
    outside = unit - each @ each_t
    own, Q = xp.linalg.eigh(outside if u is None else outside - (u**2)[:, None, None])
    Q_t, own = xp.swapaxes(Q.conj(), 1, 2), own[..., None]
    alone = own <= (max(U.shape) * EPS if penalty > 0.0 else ALONE)
    system = Q_t @ (damped.reshape(n, r, rank) @ each_t) @ Q
    right = Q_t @ (damped @ coordinates).reshape(n, r, -1)
    rest = Q_t @ (T - U @ coordinates).reshape(n, r, -1)
    if penalty > 0.0:
        system = xp.where(alone, system, own * unit + system)
        right = xp.where(alone, right, rest + right)
    else:
        system, right = xp.where(alone, system, own * unit), xp.where(alone, right, rest)
    scale = xp.amax(abs(system), -1)[..., None]
    scale = xp.where(scale > 0.0, scale, xp.ones_like(scale))
    # A row that no other says anything about has no equation: without it, its score is the fit's.
    return Q @ (xp.linalg.pinv(system / scale) @ (right / scale))


class Inverse(NamedTuple):
    """The inverse of a matrix that need not be symmetric."""

    matrix: AnyArray

    def leverage(self, M: AnyArray) -> AnyArray:
        """Return m_i G⁻¹ m_iᵀ for every row of M."""
        return np.asarray(np.einsum("ij,ij->i", M @ self.matrix, M))


def _solve_lu(
    system: System, Q: AnyArray, w: AnyArray | None, penalty: float, leave_out: bool
) -> RidgeSolution:
    """Solve (MᵀWM + λ(I + Q)) β = MᵀWT."""
    G, R = system.equations(w)
    G += penalty * Q
    add_to_diagonal(G, penalty)
    # Rows and columns are scaled to a largest entry of one: those of other sizes cost no digits.
    rows = np.abs(G).max(axis=1)[:, None]
    rows = 1.0 / np.where(rows > 0.0, rows, 1.0)
    columns = np.abs(G * rows).max(axis=0)
    columns = 1.0 / np.where(columns > 0.0, columns, 1.0)
    scaled = G * rows * columns
    try:
        inverse = np.linalg.inv(scaled)
    except np.linalg.LinAlgError:
        inverse = np.full_like(G, np.nan)
    if np.linalg.norm(scaled, 1) * np.linalg.norm(inverse, 1) <= 1.0 / SINGULAR_BELOW:
        right, method = rows * R, "lu"
        beta = inverse @ right
        for _ in range(REFINEMENTS):
            beta = beta + inverse @ (right - scaled @ beta)
        beta, inverse = columns[:, None] * beta, columns[:, None] * inverse * rows.T
    else:  # singular to working precision
        inverse, method = np.linalg.pinv(G), "svd"
        beta = inverse @ R
    loo = None
    if leave_out:
        # The same identity as in the symmetric case: it only needs a change of rank one.
        loo, _ = system.left_out_scores(Inverse(inverse), beta, w)
    return RidgeSolution(beta, method, loo)


# -- C chosen by leaving rows out -------------------------------------------------------


def choose_C(system: System, candidates: Array) -> int:
    """Return the place of the C of smallest weighted left-out error; of equal ones the smaller."""
    return place_of_smallest(left_out_errors(system, candidates), 1.0 / candidates)


def left_out_errors(system: System, candidates: Array) -> Array:
    """Return the weighted squared leave-one-out error under every candidate C."""
    # One decomposition serves all candidates for which it keeps enough digits; others are fitted,
    # and those under which a row decides its own score: it has lost the little that others say of
    # it.
    system, penalties = system.in_units(), 1.0 / candidates
    xp, T = namespace(system.T), system.T
    w = xp.ones_like(T[:, 0]) if system.w is None else system.w
    errors, sure = np.empty(len(candidates)), np.zeros(len(candidates), bool)
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        if system.further_penalty is None:
            spectrum = None
            if system.is_tall:
                spectrum = system.spectrum(w)
                errors_of = partial(system.errors, spectrum, w, w)
            elif (rows := system.rows(w)).scored is None:
                K, lift = rows.kernel()
                spectrum = decompose(K, rows.T)
                errors_of = partial(rows.errors, spectrum, lift)
            if spectrum is not None:
                # Without a penalty a row may stand alone: its left-out score needs a fit.
                sure = keeps_digits(spectrum, penalties) & (penalties > 0.0)
                remembered = beside(np.zeros(int(sure.sum()), bool), T)
                if len(remembered):
                    errors[sure] = errors_of(penalties[sure], remembered)
                    sure[sure] = ~to_host(remembered)
        for k in np.flatnonzero(~sure).tolist():
            scores = system.solve(float(candidates[k]), True).loo_scores
            errors[k] = float(w @ xp.square(T - scores).sum(1))
    return errors


# -- a free constant --------------------------------------------------------------------------

#     β, b = argmin ½|β|² + C/2 Σ_i w_i |m_i β + b - t_i|²
#
# The constant stands first in the design, [1 m_i], and is not penalised: a shift of the targets
# shifts b alone. Tall systems are
#
#     ([1 M]ᵀW[1 M] + diag(0, 1/C, ..., 1/C)) [b; β] = [1 M]ᵀWT.
#
# A number c taken off a column changes b alone, by cβ: the columns' means over the first rows are
# taken off before all products, so that a column such as a year keeps its digits. Wide and singular
# systems are solved with the weighted means μ and t̄ off, in M̃ = W½(M - 1μ) and T̃ = W½(T - 1t̄):
#
#     β = M̃ᵀ(M̃M̃ᵀ + I/C)⁻¹T̃,      b = t̄ - μβ,
#
# where u = W½1/√Σw is orthogonal to M̃ and T̃: adding s uuᵀ to M̃M̃ᵀ changes no solution. The
# constant adds u_i² to the leverage h_i of a row.


class WithConstant(System):
    """A ridge problem whose first column is a constant without penalty."""

    free = 1

    def __init__(
        self, design: RowBlocks, T: Any, w: Any | None = None, further_penalty: None = None
    ) -> None:
        if further_penalty is not None:
            raise TypeError("a ridge with a free constant takes no further penalty")
        self.shift = next(iter(design))[1][:, 1:].mean(0)
        self.mean: Any = mean_of_columns(T, w)

        def near_zero(M: Any) -> Any:
            return namespace(M).hstack([M[:, :1], M[:, 1:] - self.shift])

        super().__init__(design.changed(near_zero, design.n_columns), T - self.mean, w)

    def solve(self, C: float, leave_out: bool = False) -> RidgeSolution:
        """Return the solution, the shift of the columns and the mean of the targets put back."""
        solution = super().solve(C, leave_out)
        solution.beta[0] += self.mean - self.shift @ solution.beta[1:]
        if solution.loo_scores is None:
            return solution
        return replace(solution, loo_scores=solution.loo_scores + self.mean)

    def in_units(self) -> System:
        """Return the system with every target in units of its own spread."""
        scaled, w = copy(self), self.w
        w = namespace(self.T).ones_like(self.T[:, 0]) if w is None else w
        scaled.T, scaled.mean = self.T / spread_of_targets(self.T, w), 0.0
        return scaled

    def rows(self, w: Any | None) -> Rows:
        """Return M̃ = W½(M - 1μ) and T̃ = W½T, whose mean is zero."""
        xp = namespace(self.T)
        w = xp.ones_like(self.T[:, 0]) if w is None else w
        total, root = w.sum(), xp.sqrt(w)[:, None]
        M = self.design.whole()[:, 1:]
        mean = mean_of_columns(M, w)  # exact for constants: C → ∞ would fit rounding
        M = (M - mean) * root
        require_finite(M)
        return Rows(M, self.T * root, root, root[:, 0] / xp.sqrt(total), mean)

    def spectrum(self, w: Any) -> Spectrum:
        """Return the spectrum about the means."""
        G, R = self.equations(w)
        total = G[0, 0]
        mean, target_mean = G[0, 1:] / total, R[0] / total
        centred = G[1:, 1:] - total * mean[:, None] * mean[None, :]
        spectrum = decompose(centred, R[1:] - total * mean[:, None] * target_mean)
        return spectrum._replace(centre=Centre(mean, target_mean, float(total)))

    def errors(
        self, spectrum: Spectrum, w: Any, counted: Any, penalties: Array, remembered: Any = None
    ) -> Array:
        """Return the squared leave-one-out error under each penalty, rows counted so often."""
        behind = self.design.changed(lambda M: M[:, 1:], self.design.n_columns - 1)
        return squared_errors(behind, self.T, w, counted, spectrum, penalties, remembered)


def mean_of_columns(T: Any, w: Any | None) -> Any:
    """Return t̄, without rounding where all values of a column are equal."""
    off = T - T[0]
    return T[0] + (off.mean(0) if w is None else w @ off / w.sum())


def spread_of_targets(T: Any, w: Any) -> Any:
    """Return the standard deviation of every target, 1 for a constant one."""
    xp = namespace(T)
    off = abs(T - mean_of_columns(T, w))
    largest = xp.amax(off, 0)
    largest = xp.where(largest > 0.0, largest, xp.ones_like(largest))
    spread = largest * xp.sqrt(w @ xp.square(off / largest) / w.sum())
    return xp.where(spread > 0.0, spread, xp.ones_like(spread))


# -- blocks of columns ------------------------------------------------------------------------

# A sample has one row in each of V blocks, with the values f_iv = m_iv θ_v. They are fitted
# together,
#
#     θ = argmin ½|θ|² + C/2 Σ_i w_i |E½ (f_i - 1t_i/V)|²,      E = (1-κ) I + κ 11ᵀ,
#
# and a row's score is Σ_v a_v f_iv. Views are all scored, a = 1: without coupling κ they are
# separate networks whose scores are averaged, with κ = 1 one ridge on all columns. RVFL+ is κ = 1
# with a block of privileged columns that no score sees, a = (1, 0).
#
# The normal equations are those of M = [M_1 ... M_V], with every Gram block times its E_uv:
#
#     (E∘MᵀWM + I/C) θ = (1 + (V-1)κ)/V MᵀWT
#
# With G the system and B_uv = w_i m_iu G⁻¹_uv m_ivᵀ, a sample left out has the score
#
#     f_-i = aᵀf_i - aᵀBE½ (I - E½BE½)⁻¹ E½(1t_i/V - f_i).
#
# Wide systems and singular ones are stacked: a sample has the rows E½ diag(m_i1 ... m_iV), left out
# together. They are solved in the dual form, or by their singular values, whose limit for C → ∞ is
# the least squares solution of smallest norm.


class Blocks(NamedTuple):
    """Which columns are a block, how blocks are coupled, and which of them are scored."""

    columns: tuple[slice, ...]
    coupling: float  # κ, from 0 to 1
    scored: Array  # a, (V,)

    @property
    def pull(self) -> float:
        """Return the row sum of E, over V: how much of a target a block is drawn to."""
        V = len(self.columns)
        return (1.0 + (V - 1) * self.coupling) / V

    def roots(self) -> Array:
        """Return rows N with NᵀN = E: one where blocks are fully coupled, else V."""
        V = len(self.columns)
        if self.coupling == 1.0:
            return np.ones((1, V))
        mean = np.full((V, V), 1.0 / V)
        apart, together = np.sqrt(1.0 - self.coupling), np.sqrt(V * self.pull)
        return np.asarray(apart * (np.eye(V) - mean) + together * mean)

    def coupled(self, G: Array) -> Array:
        """Return E∘G: products of columns of different blocks times κ."""
        if self.coupling != 1.0:
            own = [G[c, c].copy() for c in self.columns]
            G *= self.coupling
            for c, block in zip(self.columns, own, strict=True):
                G[c, c] = block
        return G


class InBlocks(System):
    """A ridge on several blocks of columns; with a further penalty no sample is left out."""

    def __init__(
        self,
        design: RowBlocks,
        T: Array,
        w: Array | None,
        blocks: Blocks,
        further_penalty: Array | None = None,
    ) -> None:
        super().__init__(design, T, np.ones(len(T)) if w is None else w, further_penalty)
        self.blocks = blocks
        self.is_tall = len(blocks.roots()) * design.n_rows >= design.n_columns

    def equations(self, w: Any) -> tuple[Array, Array]:
        """Return E∘MᵀWM and (1 + (V-1)κ)/V MᵀWT."""
        G, R = super().equations(w)
        return self.blocks.coupled(G), self.blocks.pull * R

    def residual_products(self, theta: Any, w: Any) -> Array:
        """Return what a solution leaves of the right-hand side, Σ_i w_i m_ivᵀ E(t_i/V - f_i)."""
        E, columns = self.blocks.roots().T @ self.blocks.roots(), self.blocks.columns
        products = np.zeros_like(theta)
        for rows, M in self.design:
            values = np.stack([M[:, c] @ theta[c] for c in columns], axis=1)
            missed = w[rows, None, None] * (E @ (self.T[rows, None, :] / len(E) - values))
            for v, c in enumerate(columns):
                products[c] += M[:, c].T @ missed[:, v]
        return np.asarray(products)

    def left_out_scores(self, factor: Any, theta: Any, w: Any) -> tuple[Any, float]:
        """Return the scores of samples left out, and the least eigenvalue of I - E½BE½."""
        if not isinstance(factor, SPDFactor):
            return None, 1.0
        basis = np.ascontiguousarray(factor.inverse_lower.T)
        scores, least = np.empty_like(self.T), 1.0
        once = np.ones((basis.shape[1], 1))
        for rows, found, own in self._left_out(w, basis, once, theta[:, None, :]):
            scores[rows], least = found[:, 0], min(least, float(own[0]))
        return scores, least

    def errors(
        self, spectrum: Spectrum, w: Any, counted: Any, penalties: Array, remembered: Any = None
    ) -> Array:
        """Return the squared leave-one-out error under each penalty, samples counted so often."""
        values, Q, coordinates, _ = spectrum
        inverse = 1.0 / (values[:, None] + penalties)  # (P, L)
        theta = np.einsum("pr,rl,rk->plk", Q, inverse, coordinates, optimize=True)
        errors = np.zeros(len(penalties))
        for rows, scores, own in self._left_out(w, Q, inverse, theta):
            errors += counted[rows] @ np.square(self.T[rows, None, :] - scores).sum(axis=2)
            if remembered is not None:
                remembered |= own < SMALLEST_COMPLEMENT
        return errors

    def _left_out(
        self, w: Array, basis: Array, inverse: Array, theta: Array
    ) -> Iterator[tuple[slice, Array, Array]]:
        """Yield blocks of the scores of samples left out, (n, L, K), of L systems."""
        # System l has G⁻¹ = basis diag(inverse_l) basisᵀ and the solution theta_l, of (P, L, K).
        # The numbers beside are the least eigenvalues of I - E½BE½, 0 where a sample stands alone.
        N, a, L = self.blocks.roots(), self.blocks.scored, inverse.shape[1]
        columns, K = self.blocks.columns, self.T.shape[1]
        V, flat = len(columns), theta.reshape(len(theta), L * K)
        for rows, M in self.design:
            Y = [M[:, c] @ basis[c] for c in columns]
            F = np.stack([(M[:, c] @ flat[c]).reshape(-1, L, K) for c in columns], axis=2)
            B = np.empty((len(M), L, V, V))
            for u in range(V):
                for v in range(u + 1):
                    B[:, :, u, v] = B[:, :, v, u] = (Y[u] * Y[v]) @ inverse
            B *= w[rows, None, None, None]
            own, Q = np.linalg.eigh(N @ B @ N.T)
            complement = np.clip(1.0 - own, EPS, None)[..., None]
            missed = N @ (self.T[rows, None, None, :] / V - F)
            missed = Q @ (np.swapaxes(Q, -1, -2) @ missed / complement)
            change = (a @ B @ N.T)[:, :, None, :] @ missed
            scores = np.einsum("v,nlvk->nlk", a, F) - change[:, :, 0]
            yield rows, scores, complement.min(axis=(0, 2, 3))

    def rows(self, w: Any) -> Rows:
        """Return the stacked rows of all samples, and [a_1 M_1 ... a_V M_V], which scores them."""
        M = self.design.whole()
        scored = M.copy()
        for c, a in zip(self.blocks.columns, self.blocks.scored.tolist(), strict=True):
            scored[:, c] *= a
        return Rows(*stacked(M, self.T, w, self.blocks), np.sqrt(w)[:, None], scored=scored)


def system_of(design: RowBlocks, T: Array, w: Array, blocks: Blocks | None) -> System:
    """Return the ridge problem of a design, whether or not its columns are in blocks."""
    return System(design, T, w) if blocks is None else InBlocks(design, T, w, blocks)


def stacked(M: Array, T: Array, w: Array, blocks: Blocks) -> tuple[Array, Array]:
    """Return the rows W½E½ diag(m_i1 ... m_iV) of all samples, one sample after another; and T."""
    N, root = blocks.roots(), np.sqrt(w)
    J = np.empty((len(M), len(N), M.shape[1]))
    for v, c in enumerate(blocks.columns):
        J[:, :, c] = root[:, None, None] * N[:, v, None] * M[:, None, c]
    U = root[:, None, None] * N.mean(axis=1)[:, None] * T[:, None, :]
    return J.reshape(-1, M.shape[1]), U.reshape(-1, T.shape[1])


# -- Gram matrices ----------------------------------------------------------------------------

#     λ = (Ω + Ω̃/γ + W⁻¹/C)⁻¹ T,      score = Ωλ
#
# Ω is the kernel of what is known at prediction, Ω̃ that of the privileged columns, which explain
# errors of the fit and then drop out. With R the inverse above, the score of a row by the model
# fitted without it is
#
#     f_-i = (Ωλ)_i - (ΩR)_ii λ_i/R_ii.
#
# Solved for α = W^-½λ: (K + I/C) α = W½T, K = W½(Ω + Ω̃/γ)W½, by Cholesky factorisation; where that
# fails, over the eigenvalues K has numerically, whose limit for C → ∞ is the pseudo-inverse.


def solve_kernels(
    student: Array, joint: Array, T: Array, C: float, w: Array | None = None, leave_out: bool = True
) -> RidgeSolution:
    """Return λ as ``beta``, for Ω = ``student`` and Ω + Ω̃/γ = ``joint``, which is overwritten."""
    # For C < 1 the system is multiplied by C: 1/C must not overflow.
    penalty = 1.0 / max(C, 1.0)
    root = np.sqrt(min(C, 1.0) * (np.ones(len(T)) if w is None else w))[:, None]
    K, right = _scaled(joint, root), root * T
    add_to_diagonal(K, penalty)
    factor = factor_spd(K)
    if factor is not None:
        alpha, method = factor.solve(right, lambda alpha: right - K @ alpha), "dual"
        if leave_out:
            missed = alpha / factor.inverse_diagonal()[:, None]
            F = factor.inverse_lower * root.T
            share = np.einsum("ki,ki->i", F @ student, F)
    else:  # over the eigenvalues that K has numerically
        add_to_diagonal(K, -penalty)
        values, Q = np.linalg.eigh(K)
        kept = values > len(values) * EPS * values[-1]
        values, Q = values[kept], Q[:, kept]
        inverse = 1.0 / (values + penalty)
        alpha, method = Q @ (inverse[:, None] * (Q.T @ right)), "svd"
        if leave_out:
            damped = Q * (penalty * inverse if penalty > 0.0 else values[:1] / values)
            missed = missed_left_out(Q, damped, right, penalty, len(right))[:, 0]
            share = ((student @ (root * Q)) * (root * Q)) @ inverse
    loo = student @ (root * alpha) - share[:, None] * missed / root if leave_out else None
    return RidgeSolution(root * alpha, method, loo)


def kernel_left_out_errors(
    student: Array, joint: Array, T: Array, penalties: Array, w: Array | None = None
) -> Array:
    """Return Σ_i w_i |t_i - f_-i|² for every penalty 1/C; ``joint`` is overwritten."""
    weight = np.ones(len(T)) if w is None else w
    root = np.sqrt(weight)[:, None]
    values, Q = np.linalg.eigh(_scaled(joint, root))
    values, coordinates = np.clip(values, 0.0, None), Q.T @ (root * T)
    squares, Q = np.square(Q), root * Q
    shares = (student @ Q) * Q
    errors = np.empty(len(penalties))
    for k, penalty in enumerate(penalties.tolist()):
        inverse = 1.0 / (values + penalty)
        coefficients = Q @ (inverse[:, None] * coordinates)
        own = np.clip(weight * (squares @ inverse), np.finfo(float).tiny, None)
        scores = student @ coefficients - (shares @ inverse / own)[:, None] * coefficients
        errors[k] = weight @ np.square(T - scores).sum(axis=1)
    return errors


def _scaled(joint: Array, root: Array) -> Array:
    """Return W½ΩW½, in place."""
    joint *= root
    joint *= root.T
    require_finite(joint)
    return joint
