"""Ridge regression with a free intercept over a path of penalties, with leave-one-out scores.

    β, b = argmin  λ|β|² + Σ_i w_i |m_i β + b - t_i|²,      μ = Σ w_i m_i / W,  t̄ = Σ w_i t_i / W

The intercept is not penalised, so it drops out of the centred problem:

    Gβ = Σ_i w_i (m_i - μ)ᵀ(t_i - t̄),      G = Σ_i w_i (m_i - μ)ᵀ(m_i - μ) + λI,      b = t̄ - μβ

and the row i, left out with its share u_i of its weight, would have had the score

    f_-i = t_i - (t_i - f_i) / (1 - u_i w_i [1/W + (m_i - μ) G⁻¹ (m_i - μ)ᵀ]).

One eigendecomposition, of G or for wide systems of the rows' inner products, serves all λ.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robell._core.layers.features import RowBlocks

Array = NDArray[np.float64]

SMALLEST_COMPLEMENT = 1e-6  # of a leverage: a row that alone decides its own score


class CentredRidge(NamedTuple):
    """The ridge at the penalty with the smallest leave-one-out error."""

    beta: Array  # (P, K)
    intercept: Array  # (K,)
    loo_scores: Array  # (A, K)
    place: int  # of the penalty


def fit_centred_ridge(
    design: RowBlocks, T: Array, w: Array, share: Array, penalties: Array
) -> CentredRidge:
    """Fit at the penalty with the smallest weighted squared leave-one-out error.

    Parameters
    ----------
    design : RowBlocks
        M, of shape (A, P).
    T : array of shape (A, K)
        Targets.
    w : array of shape (A,), positive
        Weights.
    share : array of shape (A,), in (0, 1]
        The part of a row's weight that leaving one out takes away.
    penalties : array of shape (L,), ascending
        λ. Of equal errors the larger penalty wins.
    """
    total = w.sum()
    mean, target_mean, values, Q, rhs = _eigenbasis(design, T, w)
    inverse = 1.0 / (values[:, None] + penalties)  # (r, L)
    n_targets = T.shape[1]
    solutions = (inverse[:, :, None] * rhs[:, None, :]).reshape(
        len(values), inverse.shape[1] * n_targets
    )
    shift = mean @ Q
    scores = np.empty((design.n_rows, len(penalties), n_targets))
    errors = np.zeros(len(penalties))
    for rows, M in design:
        Z = M @ Q
        Z -= shift
        fitted = (Z @ solutions).reshape(len(Z), len(penalties), n_targets) + target_mean
        leverage = np.square(Z, out=Z) @ inverse
        leverage += 1.0 / total
        leverage *= (share[rows] * w[rows])[:, None]
        complement = np.maximum(1.0 - leverage, SMALLEST_COMPLEMENT)
        residual = (T[rows, None, :] - fitted) / complement[:, :, None]
        scores[rows] = T[rows, None, :] - residual
        errors += w[rows] @ np.square(residual, out=residual).sum(axis=2)
    errors = np.where(np.isfinite(errors), errors, np.inf)
    place = len(errors) - 1 - int(errors[::-1].argmin())
    beta = Q @ (inverse[:, place, None] * rhs)
    loo_scores = np.ascontiguousarray(scores[:, place])
    return CentredRidge(beta, target_mean - mean @ beta, loo_scores, place)


def _eigenbasis(design: RowBlocks, T: Array, w: Array) -> tuple[Array, Array, Array, Array, Array]:
    """Return μ, t̄, the eigenvalues of G without λ, its eigenvectors Q, and Qᵀ times its right side.

    Wide systems have at most A eigenvalues that are not zero: those of ÃÃᵀ, Ã = W½(M - μ), whose
    eigenvectors U give Q = ÃᵀU/√v.
    """
    total = w.sum()
    target_mean = w @ T / total
    if design.n_rows < design.n_columns:
        M = design.whole()
        mean = w @ M / total
        A = (M - mean) * np.sqrt(w)[:, None]
        values, U = np.linalg.eigh(A @ A.T)
        kept = values > values[-1] * len(values) * np.finfo(np.float64).eps
        values = values[kept]
        Q = A.T @ (U[:, kept] / np.sqrt(values))
        return mean, target_mean, values, Q, Q.T @ (A.T @ ((T - target_mean) * np.sqrt(w)[:, None]))
    # One product of Ã = W½[M 1 T] holds G, the means and the right side.
    P, width = design.n_columns, design.n_columns + 1 + T.shape[1]
    products = np.zeros((width, width))
    for rows, M in design:
        root = np.sqrt(w[rows])[:, None]
        A = np.empty((len(M), width))
        np.multiply(M, root, out=A[:, :P])
        A[:, P : P + 1] = root
        np.multiply(T[rows] - target_mean, root, out=A[:, P + 1 :])
        products += A.T @ A
    if not np.isfinite(products).all():
        raise ValueError("the hidden layer or the inputs overflow")
    mean = products[:P, P] / total
    G = products[:P, :P] - total * np.outer(mean, mean)
    right = products[:P, P + 1 :]
    values, Q = np.linalg.eigh(G)
    return mean, target_mean, np.maximum(values, 0.0), Q, Q.T @ right
