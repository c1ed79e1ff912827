"""Ridge regression with a free constant, for targets that are numbers.

    β, b = argmin ½|β|² + C/2 Σ_i w_i |m_i β + b - t_i|²

Since b is not penalised, a shift of the targets shifts b and nothing else. The constant stands
first in the design, [1 m_i]. Tall systems are

    ([1 M]ᵀW[1 M] + diag(0, 1/C, ..., 1/C)) [b; β] = [1 M]ᵀWT,

whose Cholesky factorisation takes the means off in its first step. Wide and singular ones are
solved with the weighted means μ and t̄ off, in M̃ = W½(M - 1μ) and T̃ = W½(T - 1t̄):

    β = M̃ᵀ(M̃M̃ᵀ + I/C)⁻¹T̃,      b = t̄ - μβ,

where u = W½1/√Σw is orthogonal to M̃ and T̃: adding s uuᵀ to M̃M̃ᵀ changes no solution. The
constant adds u_i² to the leverage h_i of a row.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robell._core.array import add_to_diagonal, namespace, to_host
from robell._core.layers.features import RowBlocks
from robell._core.ridge.loo import (
    Centre,
    Spectrum,
    decompose,
    left_out_residuals,
    place_of_smallest,
)
from robell._core.ridge.solve import (
    EPS,
    REFINE_BELOW,
    REFINEMENTS,
    RidgeSolution,
    factor_spd,
    left_out_scores,
    normal_equations,
    require_finite,
)

Array = NDArray[np.float64]


class Centred(NamedTuple):
    """A wide or singular system without its means."""

    M: Any  # W½(M - 1μ), (A, P)
    T: Any  # W½T, whose mean is zero
    root: Any  # W½, (A, 1)
    u: Any  # (A,)
    mean: Any  # μ, (P,)


def mean_of_targets(T: Any, w: Any | None) -> Any:
    """Return t̄, without rounding where all targets of a column are equal."""
    off = T - T[0]
    return T[0] + (off.mean(0) if w is None else w @ off / w.sum())


def solve_with_constant(
    design: RowBlocks, T: Any, C: float, w: Any | None = None, leave_out: bool = False
) -> RidgeSolution:
    """Solve the weighted ridge problem whose first column is a constant without penalty.

    Arguments as those of ``solve_ridge``.
    """
    mean, weight, penalty = mean_of_targets(T, w), w, 1.0
    if C < 1.0:  # the system is multiplied by C: 1/C must not overflow
        weight = namespace(T).full_like(T[:, 0], C) if w is None else C * w
    else:
        penalty = 1.0 / C
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        solution = None
        if design.n_rows >= design.n_columns:
            solution = _solve_primal(design, T - mean, weight, penalty, leave_out)
        if solution is None:
            system = _centred(design, T - mean, weight)
            solution = _solve_dual(system, penalty, leave_out) or _solve_svd(
                system, penalty, leave_out
            )
    solution.beta[0] += mean
    if solution.loo_scores is not None:
        return RidgeSolution(solution.beta, solution.method, solution.loo_scores + mean)
    return solution


def _solve_primal(
    design: RowBlocks, T: Any, w: Any | None, penalty: float, leave_out: bool
) -> RidgeSolution | None:
    G, R = normal_equations(design, T, w)
    add_to_diagonal(G[1:, 1:], penalty)
    factor = factor_spd(G)
    if factor is None:
        return None
    beta = factor.solve(R)
    for _ in range(REFINEMENTS if factor.rcond < REFINE_BELOW else 0):
        gradient = -penalty * beta
        gradient[0] = 0.0
        for rows, M in design:
            residual = T[rows] - M @ beta
            gradient += M.T @ (residual if w is None else w[rows, None] * residual)
        beta += factor.solve(gradient)
    loo = left_out_scores(factor.leverage, beta, design, T, w) if leave_out else None
    return RidgeSolution(beta, "primal", loo)


def _centred(design: RowBlocks, T: Any, w: Any | None) -> Centred:
    xp = namespace(T)
    w = xp.ones_like(T[:, 0]) if w is None else w
    total, root = w.sum(), xp.sqrt(w)[:, None]
    M = design.whole()[:, 1:]
    mean = w @ M / total
    M = (M - mean) * root
    require_finite(M)
    return Centred(M, T * root, root, root[:, 0] / xp.sqrt(total), mean)


def _lifted_kernel(system: Centred) -> tuple[Any, float]:
    """Return M̃M̃ᵀ + s uuᵀ, and s, which is of the size of the diagonal."""
    K = system.M @ system.M.T
    require_finite(K)
    lift = float(K.diagonal().mean()) or 1.0
    K += lift * system.u[:, None] * system.u[None, :]
    return K, lift


def _with_constant(system: Centred, beta: Any) -> Any:
    """Return [b; β], the mean of the targets still off."""
    return namespace(beta).vstack([-(system.mean @ beta)[None, :], beta])


def _solve_dual(system: Centred, penalty: float, leave_out: bool) -> RidgeSolution | None:
    """Solve (M̃M̃ᵀ + s uuᵀ + λI) α = T̃ for β = M̃ᵀα."""
    if len(system.M) > system.M.shape[1]:  # tall, and found singular already
        return None
    K, lift = _lifted_kernel(system)
    add_to_diagonal(K, penalty)
    factor = factor_spd(K)
    if factor is None:
        return None
    alpha = factor.solve(system.T)
    for _ in range(REFINEMENTS if factor.rcond < REFINE_BELOW else 0):
        rest = system.T - system.M @ (system.M.T @ alpha) - penalty * alpha
        rest -= lift * system.u[:, None] * (system.u @ alpha)
        alpha = alpha + factor.solve(rest)
    loo = None
    if leave_out:
        # t_i - f_i = λα_i/√w_i and 1 - h_i = λ((K⁻¹)_ii - u_i²/(s + λ)): λ cancels.
        xp, diagonal = namespace(alpha), factor.inverse_diagonal()
        complement = diagonal - system.u**2 / (lift + penalty)
        # A row without any other: nothing is left without it, and its score is the fit's.
        alone = complement <= 4.0 * EPS * diagonal
        ones = xp.ones_like(complement)
        factors = xp.where(alone, penalty * ones, 1.0 / xp.where(alone, ones, complement))
        residual = alpha * factors[:, None]
        loo = (system.T - residual) / system.root
    return RidgeSolution(_with_constant(system, system.M.T @ alpha), "dual", loo)


def _solve_svd(system: Centred, penalty: float, leave_out: bool) -> RidgeSolution:
    """Solve over the singular values that M̃ has numerically."""
    xp = namespace(system.T)
    left, s, right = xp.linalg.svd(system.M, full_matrices=False)
    kept = s > max(system.M.shape) * EPS * s[0]
    left, s, right = left[:, kept], s[kept], right[kept]
    square = xp.square(s)
    coordinates = left.T @ system.T
    beta = right.T @ ((s / (square + penalty))[:, None] * coordinates)
    loo = None
    if leave_out:
        inside = xp.square(left)
        outside = xp.clip(1.0 - inside.sum(1) - xp.square(system.u), 0.0, None)
        # A row that no other row says anything about has h = 1 without a penalty: the limit then.
        alone = (outside <= len(left) * EPS) & (penalty == 0.0)
        shrink, limit = penalty / (square + penalty), 1.0 / square
        rest = system.T - left @ coordinates
        residual = left @ (shrink[:, None] * coordinates) + rest
        complement = inside @ shrink + outside
        if bool(alone.any()):
            residual = xp.where(alone[:, None], left @ (limit[:, None] * coordinates), residual)
            complement = xp.where(alone, inside @ limit, complement)
        complement = xp.where(complement > 0.0, complement, xp.ones_like(complement))
        loo = (system.T - residual / complement[:, None]) / system.root
    return RidgeSolution(_with_constant(system, beta), "svd", loo)


# -- the penalty chosen by leaving rows out ----------------------------------------------


def spread_of_targets(T: Any, w: Any) -> Any:
    """Return the standard deviation of every target, 1 for a constant one."""
    xp = namespace(T)
    off = abs(T - mean_of_targets(T, w))
    largest = xp.amax(off, 0)
    largest = xp.where(largest > 0.0, largest, xp.ones_like(largest))
    spread = largest * xp.sqrt(w @ xp.square(off / largest) / w.sum())
    return xp.where(spread > 0.0, spread, xp.ones_like(spread))


def without_constant(G: Any, R: Any) -> tuple[Centre, Spectrum]:
    """Return means and centred spectrum of a system whose first column is the constant."""
    total = G[0, 0]
    mean, target_mean = G[0, 1:] / total, R[0] / total
    centred = G[1:, 1:] - total * mean[:, None] * mean[None, :]
    right = R[1:] - total * mean[:, None] * target_mean
    return Centre(mean, target_mean, float(total)), decompose(centred, right)


def columns_behind_constant(design: RowBlocks) -> RowBlocks:
    """Return a design without its first column."""
    return RowBlocks(
        lambda rows: design._make_rows(rows)[:, 1:],
        design.n_rows,
        design.n_columns - 1,
        tensors=design.tensors,
    )


def apart_from_first_row(design: RowBlocks) -> RowBlocks:
    """Return a design less its first row, the constant kept: means far from zero cost no digits."""
    first = design._make_rows(slice(0, 1)) * 1.0
    first[0, 0] = 0.0
    return RowBlocks(
        lambda rows: design._block(rows) - first,
        design.n_rows,
        design.n_columns,
        tensors=design.tensors,
    )


def choose_C_with_constant(
    design: RowBlocks, T: Any, candidates: Array, w: Any | None = None
) -> int:
    """Return the place of the candidate C with the smallest weighted leave-one-out squared error.

    Every target counts in units of its own spread. Of equal errors the smaller C wins.
    """
    weight = namespace(T).ones_like(T[:, 0]) if w is None else w
    T = (T - mean_of_targets(T, w)) / spread_of_targets(T, weight)
    penalties = 1.0 / candidates
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        if design.n_rows >= design.n_columns:
            design = apart_from_first_row(design)
            centre, spectrum = without_constant(*normal_equations(design, T, weight))
            errors = np.zeros(len(penalties))
            behind = columns_behind_constant(design)
            for rows, residual in left_out_residuals(
                behind, T, weight, spectrum, penalties, centre
            ):
                errors += to_host(weight[rows] @ (residual**2).sum(axis=2))
        else:
            errors = _dual_errors(_centred(design, T, weight), penalties)
    return place_of_smallest(errors, penalties)


def _dual_errors(system: Centred, penalties: Array) -> Array:
    """Return the errors of a wide system, from M̃M̃ᵀ + s uuᵀ = QΛQᵀ, as ``loo.py`` does."""
    xp = namespace(system.T)
    K, lift = _lifted_kernel(system)
    values, Q, coordinates = decompose(K, system.T)
    errors = np.zeros(len(penalties))
    for k, penalty in enumerate(penalties.tolist()):
        shrink = penalty / (values + penalty)
        residual = Q @ (shrink[:, None] * coordinates)
        constant = xp.square(system.u) * (penalty / (lift + penalty))
        complement = xp.clip(xp.square(Q) @ shrink - constant, EPS, None)
        errors[k] = float(xp.square(residual / complement[:, None]).sum())
    return errors
