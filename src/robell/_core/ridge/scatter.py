"""Ridge regression with a penalty on the scatter of the scores, and its rows left out exactly.

    ½|β|² + (λ/2) tr(βᵀSβ) + (C/2) Σ_i w_i |m_i β - t_i|²,   S = Σ_g (1/n_g) Σ_{i∈g} ω_i d_iᵀd_i

with d_i = m_i - m̄_g the deviation of row i from the mean of its group g (a class, or all rows), ω_i
its multiplicity and n_g = Σω_i. With (I + λS)⁻¹ = RRᵀ this is plain ridge regression of the rows
m_i R, whose solution is R⁻¹β.

S has seen the row that is left out. Leaving out the copies of row i, ω_ig of them in group g, takes
λω_ig/(n_g - ω_ig) d_igᵀd_ig off λS (n_g as a divisor stays). With G = I + λS + CMᵀWM and
U = [√(Cw_i) m_iᵀ, √(λω_ig/(n_g - ω_ig)) d_igᵀ for every g],

    f_-i = m_i v + (m_i G⁻¹U)(I - UᵀG⁻¹U)⁻¹ Uᵀv,   v = β - C w_i G⁻¹m_iᵀt_i.

All products with G⁻¹ are those of rows and means in the basis of the eigenvectors of RᵀMᵀWMR, so
one decomposition serves every C for which it keeps enough digits; other C have a factor each.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from robell._core.array import EPS, Array, Labels
from robell._core.layers.features import RowBlocks
from robell._core.ridge.loo import Spectrum, decompose, keeps_digits, place_of_smallest
from robell._core.ridge.solve import factor_spd, normal_equations, require_finite


class Scatter(NamedTuple):
    """The scatter of a design matrix about the means of its groups."""

    matrix: Array  # S, (P, P)
    means: Array  # m̄_g, (groups, P)
    sizes: Array  # n_g


class Penalty(NamedTuple):
    """λS, and what is known of the rows it was made of."""

    weight: float  # λ
    scatter: Scatter
    counts: Array  # ω_ig, (rows to be left out, groups)


def scatter_of(design: RowBlocks, group: Labels, n_groups: int, multiplicity: Array) -> Scatter:
    """Return S, the means and the sizes of the groups; every group must have rows."""
    share = np.zeros((design.n_rows, n_groups))
    sizes = np.bincount(group, multiplicity, n_groups).astype(np.float64)
    share[np.arange(design.n_rows), group] = multiplicity / sizes[group]
    means = np.zeros((n_groups, design.n_columns))
    for rows, M in design:
        means += share[rows].T @ M
    require_finite(means)
    matrix = np.zeros((design.n_columns, design.n_columns))
    root = np.sqrt(share.sum(axis=1))[:, None]
    for rows, M in design:
        deviation = (M - means[group[rows]]) * root[rows]
        matrix += deviation.T @ deviation
    require_finite(matrix)
    return Scatter(matrix, means, sizes)


def whitening(penalty: Penalty) -> Array:
    """Return R with RRᵀ = (I + λS)⁻¹: by Cholesky, which columns of other scales cost no digits."""
    with np.errstate(over="ignore", invalid="ignore"):
        system = penalty.weight * penalty.scatter.matrix
        if np.isfinite(system).all() and (factor := factor_spd(system + np.eye(len(system)))):
            return np.asarray(factor.inverse_lower.T)
        values, Q = np.linalg.eigh(penalty.scatter.matrix)
        return np.asarray(Q / np.sqrt(1.0 + penalty.weight * np.clip(values, 0.0, None)))


def scatter_of_moments(sizes: Array, means: Array, scatter: Array, total: bool) -> Scatter:
    """Return the scatter of classes, or of all rows, from size, mean and scatter of each class."""
    if total:
        mean = sizes @ means / sizes.sum()
        apart = means - mean
        scatter = (scatter.sum(axis=0) + (apart.T * sizes) @ apart)[None]
        means, sizes = mean[None], sizes.sum()[None]
    share = 1.0 / np.where(sizes > 0.0, sizes, 1.0)
    return Scatter(np.tensordot(share, scatter, axes=1), means, sizes)


class LeftOut:
    """Scores of left-out rows under every C, from one decomposition."""

    def __init__(
        self,
        design: RowBlocks,
        T: Array,
        w: Array | None,
        penalty: Penalty,
        R: Array,
        equations: tuple[Array, Array] | None = None,
    ):
        self.T, self.w = T, np.ones(design.n_rows) if w is None else w
        self.equations = equations or normal_equations(design, T, self.w)
        self.spectrum: Spectrum = decompose(*self.equations)
        self.design = design
        self.means = penalty.scatter.means @ R
        sizes = penalty.scatter.sizes
        counts = penalty.counts.clip(0.0)  # estimated for parts, a little below zero at times
        rest = sizes - counts
        # A group that leaves with the row had no scatter.
        self.taken = penalty.weight * np.divide(
            counts, rest, out=np.zeros_like(counts), where=rest > 1e-9 * sizes
        )

    def basis(self, C: float) -> tuple[bool, Spectrum]:
        """Return d, Q and QᵀMᵀWT with (I + CG)⁻¹ = Q diag(d) Qᵀ: the whitened inverse."""
        values, Q, coordinates, _ = self.spectrum
        if not (sure := bool(keeps_digits(self.spectrum, np.array([1.0 / C]))[0])):
            G, R = self.equations
            factor = factor_spd(G + np.eye(len(G)) / C)
            if factor is not None:
                F = factor.inverse_lower
                return True, Spectrum(np.full(len(G), 1.0 / C), F.T, F @ R)
        inverse = 1.0 / (1.0 + C * values) if C <= 1.0 else (1.0 / C) / (1.0 / C + values)
        return sure, Spectrum(inverse, Q, coordinates)

    def scores(self, C: float) -> Array:
        """Return f_-i of every row."""
        inverse, Q, coordinates, _ = self.basis(C)[1]
        beta, means = C * inverse[:, None] * coordinates, self.means @ Q
        n_groups, unit = len(means), (1.0 + 4.0 * EPS) * np.eye(len(means) + 1)
        found = np.empty_like(self.T)
        for rows, M in self.design:
            Z, T, weight = M @ Q, self.T[rows], C * self.w[rows]
            own = (Z * Z) @ inverse  # m G⁻¹ mᵀ
            off = own[:, None] - (Z * inverse) @ means.T  # m G⁻¹ d_gᵀ
            # Products of [m, d_1, ..., d_G] with one another, and with v
            products = np.empty((len(Z), n_groups + 1, n_groups + 1))
            products[:, 0, 0] = own
            products[:, 0, 1:] = products[:, 1:, 0] = off
            products[:, 1:, 1:] = off[:, :, None] + (off - own[:, None])[:, None, :]
            products[:, 1:, 1:] += (means * inverse) @ means.T
            of_v = np.repeat((Z @ beta)[:, None, :], n_groups + 1, axis=1)
            of_v[:, 1:] -= means @ beta
            of_v -= products[:, 0, :, None] * (weight[:, None] * T)[:, None, :]
            roots = np.sqrt(np.column_stack([weight, self.taken[rows]]))
            system = unit - roots[:, :, None] * products * roots[:, None, :]
            try:
                inner = np.linalg.solve(system, roots[:, :, None] * of_v)
            except np.linalg.LinAlgError:  # a row that alone decides its score: 0 without it
                inner = np.linalg.pinv(system) @ (roots[:, :, None] * of_v)
            found[rows] = of_v[:, 0] + np.einsum("ng,ngk->nk", products[:, 0] * roots, inner)
        return found


def choose_scatter_C(left_out: LeftOut, candidates: Array, counted: Array | None = None) -> int:
    """Return the place of the C of smallest left-out error; rows count by weight, or so often."""
    counted = left_out.w if counted is None else counted
    errors = np.empty(len(candidates))
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        for k, C in enumerate(candidates.tolist()):
            residual: Any = left_out.T - left_out.scores(C)
            errors[k] = counted @ np.square(residual).sum(axis=1)
    return place_of_smallest(errors, 1.0 / candidates)
