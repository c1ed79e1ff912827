"""What a regressor has to remember of rows it will not see again.

Its constant is free, so its equations need of all rows only the weight W, the means μ and t̄, and
the scatter about them:

    (S + I/C) β = S_t,   S = Σ_i w_i (m_i - μ)ᵀ(m_i - μ),   S_t = Σ_i w_i (m_i - μ)ᵀ(t_i - t̄),

and b = t̄ - μβ: the :class:`~robell._core.ridge.state.State` of a single class of rows [m_i t_i].
Its reservoir holds rows [x_i t_i], drawn by the key of x_i: copies of a row of whatever targets are
kept together, and so can be left out together.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from robell._core.array import add_to_diagonal, to_host
from robell._core.membership.reservoir import Keys, Reservoir, row_keys
from robell._core.ridge.constant import columns_behind_constant, spread_of_targets
from robell._core.ridge.loo import Centre, Spectrum, left_out_residuals
from robell._core.ridge.solve import SPDFactor, factor_spd
from robell._core.ridge.state import (
    Features,
    GramSolution,
    State,
    empty,
    root_of,
    sample_design,
    solve_rows,
    update,
)

Array = NDArray[np.float64]


def empty_targets(n_targets: int, n_columns: int, reservoir: Reservoir | None) -> State:
    """Return the state before any row; an empty reservoir where a sample is to be kept.

    The constant is the first of the columns of the design, and is not remembered.
    """
    return empty(1, n_columns - 1 + n_targets, reservoir)


def update_targets(
    state: State, X: Array, T: Array, weight: Array, features: Features, keys: Keys | None = None
) -> State:
    """Return the state after more rows of positive weight; arguments as those of ``update``."""
    if keys is None and state.reservoir is not None:
        keys = row_keys(X, state.reservoir.seed)
    n = X.shape[1]

    def with_targets(rows: Array) -> Array:
        return np.hstack([features(rows[:, :n])[:, 1:], rows[:, n:]])

    return update(state, np.hstack([X, T]), np.zeros(len(X), np.intp), weight, with_targets, keys)


def solve_targets(state: State, n_targets: int, C: float) -> GramSolution:
    """Solve the ridge regression of all rows seen from what is remembered, about their means."""
    factor_of_weights = min(C, 1.0)  # for C < 1 the system is multiplied by C: 1/C may overflow
    scatter, mean = state.scatter[0] * factor_of_weights, state.mean[0]
    P = len(mean) - n_targets
    S, penalty = scatter[:P, :P], 1.0 / C if C >= 1.0 else 1.0
    G = S.copy()
    add_to_diagonal(G, penalty)
    factor, method = factor_spd(G), "gram"
    if factor is None:

        def rows(floor: bool) -> tuple[Array, Array]:
            A = root_of(scatter, floor)
            return A[:, :P], A[:, P:]

        beta, method, factor, worst = solve_rows(rows, penalty, S, float(state.sizes[0]))
    else:
        beta = np.asarray(factor.solve(scatter[:P, P:]))
        worst = int((np.diagonal(S) * factor.inverse_diagonal()).argmax())
    F = np.zeros((len(factor.inverse_lower) + 1, P + 1))
    F[0, 0] = 1.0 / np.sqrt(state.weight[0] * factor_of_weights)
    F[1:, 1:] = factor.inverse_lower
    return GramSolution(
        np.vstack([mean[P:], beta]),
        method,
        SPDFactor(F, factor.rcond),
        factor_of_weights,
        np.append(0.0, np.full(P, penalty))[:, None],
        worst + 1,
        shift=np.append(0.0, mean[:P]),
    )


def left_out_errors_of_targets(
    state: State,
    candidates: Array,
    features: Features,
    sample: tuple[Array, Array, Array, Array],
) -> Array:
    """Return the squared leave-one-out error of a sample of rows under each candidate C.

    Every target counts in units of its spread in the sample, which holds X, T, weights and how
    often each row counts.
    """
    X, T, weight, counted = sample
    P = len(state.mean[0]) - T.shape[1]
    mean, S = state.mean[0], state.scatter[0]
    # From rows that stand for S rather than from S: singular values keep more digits.
    rows = root_of(S)
    left, s, right = np.linalg.svd(rows[:, :P], full_matrices=False)
    spectrum = Spectrum(np.square(s), right.T, s[:, None] * (left.T @ rows[:, P:]))
    centre = Centre(np.zeros(P), mean[P:], state.weight[0])
    spread = spread_of_targets(T, counted)
    design = columns_behind_constant(
        sample_design(features, X, P + 1, shift=np.append(0.0, mean[:P]))
    )
    errors = np.zeros(len(candidates))
    with np.errstate(over="ignore"):
        penalties = 1.0 / candidates
    for block, residual in left_out_residuals(design, T, weight, spectrum, penalties, centre):
        errors += to_host(counted[block] @ np.square(residual / spread).sum(axis=2))
    return errors
