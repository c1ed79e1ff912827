"""Ridge regressions on a design of several blocks of columns: views, or privileged columns.

A sample has one row in each of V blocks, with the values f_iv = m_iv θ_v. They are fitted together,

    θ = argmin ½|θ|² + C/2 Σ_i w_i |E½ (f_i - 1t_i/V)|²,      E = (1-κ) I + κ 11ᵀ,

and a row's score is Σ_v a_v f_iv. Views are all scored, a = 1: without coupling κ they are separate
networks whose scores are averaged, with κ = 1 one ridge on all columns. RVFL+ is κ = 1 with a block
of privileged columns that no score sees, a = (1, 0).

The normal equations are those of M = [M_1 ... M_V], with every Gram block times its E_uv:

    (E∘MᵀWM + I/C) θ = (1 + (V-1)κ)/V MᵀWT

With G the system and B_uv = w_i m_iu G⁻¹_uv m_ivᵀ, a sample left out has the score

    f_-i = aᵀf_i - aᵀBE½ (I - E½BE½)⁻¹ E½(1t_i/V - f_i).

Wide systems and singular ones are stacked: a sample has the rows E½ diag(m_i1 ... m_iV), left out
together. They are solved in the dual form, or by their singular values, whose limit for C → ∞ is
the least squares solution of smallest norm.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robell._core.array import add_to_diagonal
from robell._core.layers.features import RowBlocks
from robell._core.ridge.loo import Spectrum, decompose, errors_of_penalties
from robell._core.ridge.solve import (
    EPS,
    REFINE_BELOW,
    REFINEMENTS,
    RidgeSolution,
    SPDFactor,
    factor_spd,
    invert_lower,
    normal_equations,
    require_finite,
    solve_general,
    solve_ridge,
)

Array = NDArray[np.float64]

UNREFINED_PIVOT = 1e-7


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


def solve_blocks(
    design: RowBlocks,
    T: Array,
    C: float,
    w: Array | None,
    leave_out: bool,
    blocks: Blocks,
    further_penalty: Array | None = None,
) -> RidgeSolution:
    """Return θ, and the scores of samples left out where asked for.

    Arguments as those of ``solve_ridge``. With a further penalty no sample can be left out.
    """
    weight, penalty = np.ones(len(T)) if w is None else w, 1.0
    if C < 1.0:  # 1/C must not overflow
        weight = C * weight
    else:
        penalty = 1.0 / C
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        if further_penalty is not None:
            return _solve_penalised(design, T, weight, penalty, blocks, further_penalty)
        if _is_tall(design, blocks):
            solution = _solve_primal(design, T, weight, penalty, leave_out, blocks)
        else:
            solution = _solve_dual(design, T, weight, penalty, leave_out, blocks)
        if solution is None:
            solution = _solve_svd(design, T, weight, penalty, leave_out, blocks)
    return solution


def _solve_penalised(
    design: RowBlocks, T: Array, w: Array, penalty: float, blocks: Blocks, further_penalty: Array
) -> RidgeSolution:
    """Solve with a further penalty Q, not necessarily symmetric; C may be infinite."""
    if penalty > 0.0:
        G, R = _equations(design, T, w, blocks)
        G += penalty * further_penalty
        add_to_diagonal(G, penalty)
        theta, _, method = solve_general(G, R)
        return RidgeSolution(theta, method, None)
    J, U = stacked(design.whole(), T, w, blocks)
    stack = RowBlocks(lambda rows: J[rows], *J.shape)
    return solve_ridge(stack, U, np.inf, None, False, further_penalty)


def left_out_errors(
    design: RowBlocks, T: Array, candidates: Array, w: Array | None, blocks: Blocks
) -> Array:
    """Return the weighted squared leave-one-out error of the scores under every candidate C."""
    weight, penalties = np.ones(len(T)) if w is None else w, 1.0 / candidates

    def single(k: int) -> float:
        scores: Any = solve_blocks(design, T, float(candidates[k]), w, True, blocks).loo_scores
        return float(weight @ np.square(T - scores).sum(axis=1))

    if not _is_tall(design, blocks):
        return np.array([single(k) for k in range(len(candidates))])
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        spectrum = decompose(*_equations(design, T, weight, blocks))
        return errors_of_penalties(
            spectrum,
            penalties,
            lambda some: squared_errors(design, T, weight, weight, spectrum, some, blocks),
            single,
        )


def _is_tall(design: RowBlocks, blocks: Blocks) -> bool:
    """Say whether there are no more columns than the rows of all samples span."""
    return len(blocks.roots()) * design.n_rows >= design.n_columns


# -- primal ----------------------------------------------------------------------------


def _equations(design: RowBlocks, T: Array, w: Array, blocks: Blocks) -> tuple[Array, Array]:
    G, R = normal_equations(design, T, w)
    return blocks.coupled(G), blocks.pull * R


def _solve_primal(
    design: RowBlocks, T: Array, w: Array, penalty: float, leave_out: bool, blocks: Blocks
) -> RidgeSolution | None:
    """Solve the normal equations; None where they are singular to working precision."""
    G, R = _equations(design, T, w, blocks)
    add_to_diagonal(G, penalty)
    factor = factor_spd(G)
    if factor is None:
        return None
    theta = factor.solve(R)
    for _ in range(REFINEMENTS if factor.rcond < REFINE_BELOW else 0):
        gradient = -penalty * theta
        for rows, M in design:
            gradient += residual_products(M, T[rows], w[rows], theta, blocks)
        theta += factor.solve(gradient)
    loo = None
    if leave_out:
        loo = left_out_scores(design, T, w, blocks, factor, theta)
    return RidgeSolution(theta, "primal", loo)


def left_out_scores(
    design: RowBlocks, T: Array, w: Array, blocks: Blocks, factor: SPDFactor, theta: Array
) -> Array:
    """Return the scores of samples left out, given a factor of G⁻¹ and the solution."""
    basis = np.ascontiguousarray(factor.inverse_lower.T)
    once = np.ones((basis.shape[1], 1))
    found = _left_out(design, T, w, blocks, basis, once, theta[:, None, :])
    return np.concatenate([scores[:, 0] for _, scores in found])


def residual_products(M: Array, T: Array, w: Array, theta: Array, blocks: Blocks) -> Array:
    """Return what is left of the right-hand side under a solution: Σ_i w_i m_ivᵀ E(t_i/V - f_i)."""
    values = np.stack([M[:, c] @ theta[c] for c in blocks.columns], axis=1)
    E = blocks.roots().T @ blocks.roots()
    missed = w[:, None, None] * (E @ (T[:, None, :] / len(E) - values))
    return np.vstack([M[:, c].T @ missed[:, v] for v, c in enumerate(blocks.columns)])


def squared_errors(
    design: RowBlocks,
    T: Array,
    w: Array,
    counted: Array,
    spectrum: Spectrum,
    penalties: Array,
    blocks: Blocks,
) -> Array:
    """Return the squared leave-one-out error under each penalty, samples counted so often."""
    values, Q, coordinates = spectrum
    inverse = 1.0 / (values[:, None] + penalties)  # (P, L)
    theta = np.einsum("pr,rl,rk->plk", Q, inverse, coordinates, optimize=True)
    errors = np.zeros(len(penalties))
    for rows, scores in _left_out(design, T, w, blocks, Q, inverse, theta):
        errors += counted[rows] @ np.square(T[rows, None, :] - scores).sum(axis=2)
    return errors


def _left_out(
    design: RowBlocks,
    T: Array,
    w: Array,
    blocks: Blocks,
    basis: Array,
    inverse: Array,
    theta: Array,
) -> Iterator[tuple[slice, Array]]:
    """Yield blocks of the scores of samples left out, (n, L, K), of L systems.

    System l has G⁻¹ = basis diag(inverse_l) basisᵀ and the solution theta_l, of (P, L, K).
    """
    N, a, L = blocks.roots(), blocks.scored, inverse.shape[1]
    V, K = len(blocks.columns), T.shape[1]
    flat = theta.reshape(len(theta), L * K)
    for rows, M in design:
        Y = [M[:, c] @ basis[c] for c in blocks.columns]
        F = np.stack([(M[:, c] @ flat[c]).reshape(-1, L, K) for c in blocks.columns], axis=2)
        B = np.empty((len(M), L, V, V))
        for u in range(V):
            for v in range(u + 1):
                B[:, :, u, v] = B[:, :, v, u] = (Y[u] * Y[v]) @ inverse
        B *= w[rows, None, None, None]
        own, Q = np.linalg.eigh(N @ B @ N.T)
        complement = np.clip(1.0 - own, EPS, None)[..., None]
        missed = N @ (T[rows, None, None, :] / V - F)
        missed = Q @ (np.swapaxes(Q, -1, -2) @ missed / complement)
        change = (a @ B @ N.T)[:, :, None, :] @ missed
        yield rows, np.einsum("v,nlvk->nlk", a, F) - change[:, :, 0]


def solve_penalties(G: Array, R: Array, penalties: Array) -> tuple[Array, Array]:
    """Return θ of (P, penalties, K), and how far to trust each: 0 where it is left to a single fit.

    That is the smallest squared pivot of the Cholesky factor of G + λI over its diagonal entry.
    """
    theta, pivots = np.zeros((len(G), len(penalties), R.shape[1])), np.zeros(len(penalties))
    for k, penalty in enumerate(penalties.tolist()):
        scale = 1.0 / np.sqrt(np.diagonal(G) + penalty)
        system = G * scale[:, None] * scale
        np.fill_diagonal(system, 1.0)
        try:
            L = np.linalg.cholesky(system)
        except np.linalg.LinAlgError:
            continue
        pivot = float(np.square(np.diagonal(L)).min())
        if pivot > UNREFINED_PIVOT:  # so that the solution needs no refinement
            root = invert_lower(L) * scale
            theta[:, k], pivots[k] = root.T @ (root @ R), pivot
    return theta, pivots


# -- wide and singular systems ---------------------------------------------------------


def stacked(M: Array, T: Array, w: Array, blocks: Blocks) -> tuple[Array, Array]:
    """Return the rows W½E½ diag(m_i1 ... m_iV) of all samples, one sample after another; and T."""
    N, root = blocks.roots(), np.sqrt(w)
    J = np.empty((len(M), len(N), M.shape[1]))
    for v, c in enumerate(blocks.columns):
        J[:, :, c] = root[:, None, None] * N[:, v, None] * M[:, None, c]
    U = root[:, None, None] * N.mean(axis=1)[:, None] * T[:, None, :]
    return J.reshape(-1, M.shape[1]), U.reshape(-1, T.shape[1])


def _scored(design: RowBlocks, blocks: Blocks) -> Array:
    """Return [a_1 M_1 ... a_V M_V], which θ is multiplied by to score rows."""
    scored = design.whole().copy()
    for c, a in zip(blocks.columns, blocks.scored.tolist(), strict=True):
        scored[:, c] *= a
    return np.asarray(scored)


def _solve_dual(
    design: RowBlocks, T: Array, w: Array, penalty: float, leave_out: bool, blocks: Blocks
) -> RidgeSolution | None:
    """Solve (JJᵀ + λI) α = U for θ = Jᵀα, J and U stacked; None where that is singular.

    With R the inverse, the rows of a sample left out are missed by R_ii⁻¹ α_i.
    """
    J, U = stacked(design.whole(), T, w, blocks)
    K = J @ J.T
    require_finite(K)
    add_to_diagonal(K, penalty)
    factor = factor_spd(K)
    if factor is None:
        return None
    alpha = factor.solve(U)
    for _ in range(REFINEMENTS if factor.rcond < REFINE_BELOW else 0):
        alpha = alpha + factor.solve(U - J @ (J.T @ alpha) - penalty * alpha)
    theta, loo = J.T @ alpha, None
    if leave_out:
        scored, F = _scored(design, blocks), factor.inverse_lower
        each = F.reshape(len(F), len(T), -1)  # columns of F by sample
        missed = np.linalg.solve(
            np.einsum("pia,pib->iab", each, each), alpha.reshape(len(T), -1, T.shape[1])
        )
        toward = np.einsum("pi,pia->ia", F @ (J @ scored.T), each)
        loo = scored @ theta - np.einsum("ia,iak->ik", toward, missed)
    return RidgeSolution(theta, "dual", loo)


def _solve_svd(
    design: RowBlocks, T: Array, w: Array, penalty: float, leave_out: bool, blocks: Blocks
) -> RidgeSolution:
    """Solve over the singular values that the stacked rows have numerically."""
    J, targets = stacked(design.whole(), T, w, blocks)
    left, s, right = np.linalg.svd(J, full_matrices=False)
    kept = s > max(J.shape) * EPS * s[0]
    left, s, right = left[:, kept], s[kept], right[kept]
    shrink = (s / (np.square(s) + penalty))[:, None]
    theta, loo = right.T @ (shrink * (left.T @ targets)), None
    if leave_out:
        each = left.reshape(len(T), -1, len(s))
        scored = _scored(design, blocks)
        toward = each @ ((scored @ right.T) * shrink.T)[:, :, None]
        missed = _missed_left_out(left, s, targets, penalty, len(T))
        loo = scored @ theta - np.einsum("iao,iak->ik", toward, missed)
    return RidgeSolution(theta, "svd", loo)


def _missed_left_out(left: Array, s: Array, targets: Array, penalty: float, n: int) -> Array:
    """Return by what the rows of a sample left out are missed, (n, rows, K).

    (I - H) ε = residual, I - H = O + λD, with O = I - UUᵀ outside of the span of the singular
    vectors U and D = U(s² + λ)⁻¹Uᵀ. Directions in which a sample stands alone have O = 0; there
    the equation is divided by λ, which may be 0.
    """
    coordinates, inverse = left.T @ targets, 1.0 / (np.square(s) + penalty)
    U = left.reshape(n, -1, len(s))
    Ut, unit = np.swapaxes(U, 1, 2), np.eye(U.shape[1])
    own, Q = np.linalg.eigh(unit - U @ Ut)
    Qt, alone = np.swapaxes(Q, 1, 2), (own <= max(left.shape) * EPS)[..., None]
    D = Qt @ (U * inverse) @ Ut @ Q
    system = np.where(alone, D, own[..., None] * unit + penalty * D)
    dual = Qt @ (left @ (inverse[:, None] * coordinates)).reshape(n, len(unit), -1)
    outside = Qt @ (targets - left @ coordinates).reshape(n, len(unit), -1)
    right = np.where(alone, dual, outside + penalty * dual)
    scale = np.abs(system).max(axis=2, keepdims=True)
    scale = np.where(scale > 0.0, scale, 1.0)
    return np.asarray(Q @ (np.linalg.pinv(system / scale) @ (right / scale)))
