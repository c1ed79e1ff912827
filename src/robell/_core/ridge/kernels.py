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

from robell._core.array import add_to_diagonal
from robell._core.ridge.solve import (
    EPS,
    REFINE_BELOW,
    REFINEMENTS,
    factor_spd,
    require_finite,
)

Array = NDArray[np.float64]


class KernelSolution(NamedTuple):
    """λ, and how it was found."""

    coefficients: Array  # λ, (A, K)
    method: str  # "dual" or "svd"
    loo_scores: Array | None  # (A, K), where asked for


def solve_kernels(
    student: Array, joint: Array, T: Array, C: float, w: Array | None = None, leave_out: bool = True
) -> KernelSolution:
    """Return λ for Ω = ``student`` and Ω + Ω̃/γ = ``joint``, which is overwritten.

    C may be infinite; w holds positive row weights, None for ones.
    """
    weight = np.ones(len(T)) if w is None else w
    penalty = 1.0
    if C < 1.0:  # 1/C must not overflow
        weight = C * weight
    else:
        penalty = 1.0 / C
    root = np.sqrt(weight)[:, None]
    K, right = _scaled(joint, root), root * T
    add_to_diagonal(K, penalty)
    factor = factor_spd(K)
    if factor is None:
        add_to_diagonal(K, -penalty)
        return _solve_spectral(student, K, right, root, penalty, leave_out)
    alpha = factor.solve(right)
    for _ in range(REFINEMENTS if factor.rcond < REFINE_BELOW else 0):
        alpha = alpha + factor.solve(right - K @ alpha)
    loo = None
    if leave_out:
        missed = alpha / factor.inverse_diagonal()[:, None]
        F = factor.inverse_lower * root.T
        share = np.einsum("ki,ki->i", F @ student, F)
        loo = student @ (root * alpha) - share[:, None] * missed / root
    return KernelSolution(root * alpha, "dual", loo)


def left_out_errors(
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


def _solve_spectral(
    student: Array, K: Array, right: Array, root: Array, penalty: float, leave_out: bool
) -> KernelSolution:
    """Solve over the eigenvalues that K has numerically."""
    values, Q = np.linalg.eigh(K)
    kept = values > len(values) * EPS * values[-1]
    values, Q = values[kept], Q[:, kept]
    inverse, coordinates = 1.0 / (values + penalty), Q.T @ right
    alpha = Q @ (inverse[:, None] * coordinates)
    loo = None
    if leave_out:
        own = np.square(Q) @ inverse
        outside = 1.0 - np.square(Q).sum(axis=1)
        # A row that the others cannot make is fitted exactly as C grows: what it is missed by
        # when left out is the limit.
        alone = outside <= len(Q) * EPS
        residual = np.where(alone[:, None], alpha, penalty * alpha + right - Q @ coordinates)
        complement = np.where(alone, own, penalty * own + outside)
        missed = residual / np.where(complement > 0.0, complement, 1.0)[:, None]
        share = ((student @ (root * Q)) * (root * Q)) @ inverse
        loo = student @ (root * alpha) - share[:, None] * missed / root
    return KernelSolution(root * alpha, "svd", loo)
