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

from robell._core.array import EPS
from robell._core.layers.features import RowBlocks
from robell._core.ridge.loo import Spectrum
from robell._core.ridge.solve import Rows, SPDFactor, System

Array = NDArray[np.float64]


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
    """A ridge problem on several blocks of columns.

    With a further penalty no sample can be left out.
    """

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
            scores[rows], least = found[:, 0], min(least, own)
        return scores, least

    def errors(self, spectrum: Spectrum, w: Any, counted: Any, penalties: Array) -> Array:
        """Return the squared leave-one-out error under each penalty, samples counted so often."""
        values, Q, coordinates = spectrum
        inverse = 1.0 / (values[:, None] + penalties)  # (P, L)
        theta = np.einsum("pr,rl,rk->plk", Q, inverse, coordinates, optimize=True)
        errors = np.zeros(len(penalties))
        for rows, scores, _ in self._left_out(w, Q, inverse, theta):
            errors += counted[rows] @ np.square(self.T[rows, None, :] - scores).sum(axis=2)
        return errors

    def _left_out(
        self, w: Array, basis: Array, inverse: Array, theta: Array
    ) -> Iterator[tuple[slice, Array, float]]:
        """Yield blocks of the scores of samples left out, (n, L, K), of L systems.

        System l has G⁻¹ = basis diag(inverse_l) basisᵀ and the solution theta_l, of (P, L, K). The
        number beside is the least eigenvalue of I - E½BE½, which is 0 where a sample stands alone.
        """
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
            yield rows, scores, float(complement.min())

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
