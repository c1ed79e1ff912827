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

import numpy as np
from numpy.typing import NDArray

from robell._core.array import EPS, add_to_diagonal
from robell._core.ridge.solve import (
    RidgeSolution,
    factor_spd,
    missed_left_out,
    refined,
    require_finite,
)

Array = NDArray[np.float64]


def solve_kernels(
    student: Array, joint: Array, T: Array, C: float, w: Array | None = None, leave_out: bool = True
) -> RidgeSolution:
    """Return λ as ``beta``, for Ω = ``student`` and Ω + Ω̃/γ = ``joint``, which is overwritten.

    C may be infinite; w holds positive row weights, None for ones.
    """
    # For C < 1 the system is multiplied by C: 1/C must not overflow.
    penalty = 1.0 / max(C, 1.0)
    root = np.sqrt(min(C, 1.0) * (np.ones(len(T)) if w is None else w))[:, None]
    K, right = _scaled(joint, root), root * T
    add_to_diagonal(K, penalty)
    factor = factor_spd(K)
    if factor is None:
        add_to_diagonal(K, -penalty)
        return _solve_spectral(student, K, right, root, penalty, leave_out)
    alpha, loo = refined(factor, right, lambda alpha: right - K @ alpha), None
    if leave_out:
        missed = alpha / factor.inverse_diagonal()[:, None]
        F = factor.inverse_lower * root.T
        share = np.einsum("ki,ki->i", F @ student, F)
        loo = student @ (root * alpha) - share[:, None] * missed / root
    return RidgeSolution(root * alpha, "dual", loo)


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
) -> RidgeSolution:
    """Solve over the eigenvalues that K has numerically."""
    values, Q = np.linalg.eigh(K)
    kept = values > len(values) * EPS * values[-1]
    values, Q = values[kept], Q[:, kept]
    inverse, coordinates = 1.0 / (values + penalty), Q.T @ right
    alpha = Q @ (inverse[:, None] * coordinates)
    loo = None
    if leave_out:
        damped = Q * (penalty * inverse if penalty > 0.0 else values[:1] / values)
        missed = missed_left_out(Q, damped, right, penalty, len(right))[:, 0]
        share = ((student @ (root * Q)) * (root * Q)) @ inverse
        loo = student @ (root * alpha) - share[:, None] * missed / root
    return RidgeSolution(root * alpha, "svd", loo)
