"""Ridge regression on Gram matrices, where the score uses a part of the kernel it is fitted with.

    λ = (Ω + Ω̃/γ + W⁻¹/C)⁻¹ T,      score = Ωλ

Ω is the kernel of what is known at prediction, Ω̃ that of the privileged columns, which explain
errors of the fit and then drop out. With R the inverse above, the score of a row by the model
fitted without it is

    f_-i = (Ωλ)_i - (ΩR)_ii λ_i/R_ii.

Solved for α = W^-½λ: (K + I/C) α = W½T, K = W½(Ω + Ω̃/γ)W½, by Cholesky factorisation; where that
fails, over the eigenvalues K has numerically, whose limit for C → ∞ is the pseudo-inverse.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robell._core.ridge.solve import (
    EPS,
    REFINE_BELOW,
    REFINEMENTS,
    SPDFactor,
    factor_spd,
    require_finite,
)

Array = NDArray[np.float64]


class KernelSolution(NamedTuple):
    """λ, and how it was found."""

    coefficients: Array  # λ, (A, K)
    method: str  # "dual" or "svd"
    loo_scores: Array | None  # (A, K), where asked for


class _Scaled(NamedTuple):
    """The system times row weights."""

    root: Array  # W½, (A, 1)
    student: Array  # W½ΩW½
    K: Array
    T: Array  # W½T


def solve_kernels(
    student: Array, joint: Array, T: Array, C: float, w: Array | None = None, leave_out: bool = True
) -> KernelSolution:
    """Return λ for Ω = ``student`` and Ω + Ω̃/γ = ``joint``; C may be infinite, w None for ones."""
    weight = np.ones(len(T)) if w is None else w
    penalty = 1.0
    if C < 1.0:  # 1/C must not overflow
        weight = C * weight
    else:
        penalty = 1.0 / C
    system = _scaled(student, joint, T, weight)
    factor = factor_spd(system.K + penalty * np.eye(len(T)))
    if factor is None:
        return _solve_spectral(system, T, penalty, leave_out)
    alpha = factor.solve(system.T)
    for _ in range(REFINEMENTS if factor.rcond < REFINE_BELOW else 0):
        alpha = alpha + factor.solve(system.T - system.K @ alpha - penalty * alpha)
    loo = None
    if leave_out:
        missed = alpha / factor.inverse_diagonal()[:, None]
        loo = _left_out(system, alpha, _share_of_student(system, factor), missed)
    return KernelSolution(system.root * alpha, "dual", loo)


def left_out_errors(
    student: Array, joint: Array, T: Array, penalties: Array, w: Array | None = None
) -> Array:
    """Return Σ_i w_i |t_i - f_-i|² for every penalty 1/C, from one decomposition."""
    weight = np.ones(len(T)) if w is None else w
    system = _scaled(student, joint, T, weight)
    values, Q = np.linalg.eigh(system.K)
    values = np.clip(values, 0.0, None)
    coordinates, shares = Q.T @ system.T, (system.student @ Q) * Q
    errors = np.empty(len(penalties))
    for k, penalty in enumerate(penalties.tolist()):
        inverse = 1.0 / (values + penalty)
        alpha = Q @ (inverse[:, None] * coordinates)
        missed = alpha / np.clip(np.square(Q) @ inverse, EPS**2, None)[:, None]
        scores = _left_out(system, alpha, shares @ inverse, missed)
        errors[k] = weight @ np.square(T - scores).sum(axis=1)
    return errors


def _scaled(student: Array, joint: Array, T: Array, weight: Array) -> _Scaled:
    root = np.sqrt(weight)[:, None]
    system = _Scaled(root, root * student * root.T, root * joint * root.T, root * T)
    require_finite(system.K)
    return system


def _share_of_student(system: _Scaled, factor: SPDFactor) -> Array:
    """Return the diagonal of W½ΩW½ (K + I/C)⁻¹."""
    F = factor.inverse_lower
    return np.asarray(np.einsum("ki,ki->i", F @ system.student, F))


def _left_out(system: _Scaled, alpha: Array, share: Array, missed: Array) -> Array:
    """Return f_-i, given the errors with which the joint model misses rows left out."""
    return np.asarray((system.student @ alpha - share[:, None] * missed) / system.root)


def _solve_spectral(system: _Scaled, T: Array, penalty: float, leave_out: bool) -> KernelSolution:
    """Solve over the eigenvalues that K has numerically."""
    values, Q = np.linalg.eigh(system.K)
    kept = values > len(values) * EPS * values[-1]
    values, Q = values[kept], Q[:, kept]
    inverse, coordinates = 1.0 / (values + penalty), Q.T @ system.T
    alpha = Q @ (inverse[:, None] * coordinates)
    loo = None
    if leave_out:
        own = np.square(Q) @ inverse
        outside = 1.0 - np.square(Q).sum(axis=1)
        # A row that the others cannot make is fitted exactly as C grows: what it is missed by
        # when left out is the limit.
        alone = outside <= len(Q) * EPS
        residual = np.where(alone[:, None], alpha, penalty * alpha + system.T - Q @ coordinates)
        complement = np.where(alone, own, penalty * own + outside)
        missed = residual / np.where(complement > 0.0, complement, 1.0)[:, None]
        loo = _left_out(system, alpha, ((system.student @ Q) * Q) @ inverse, missed)
    return KernelSolution(system.root * alpha, "svd", loo)
