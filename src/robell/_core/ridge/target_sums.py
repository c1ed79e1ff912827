"""What a regressor has to remember of rows it will not see again.

With the constant first in the design, its normal equations need of all rows only

    G = Σ_i w_i m_iᵀm_i,    R = Σ_i w_i m_iᵀt_i,    n = Σ_i w_i,

sums that do not care for order or partition, in the :class:`~robell._core.ridge.state.State` of
a single class. Its reservoir holds rows [x_i t_i], drawn by the key of x_i: copies of a row of
whatever targets are kept together, and so can be left out together.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from robell._core.array import add_to_diagonal, to_host
from robell._core.layers.features import RowBlocks
from robell._core.membership.reservoir import Keys, Reservoir, add_rows, row_keys
from robell._core.ridge.constant import (
    columns_behind_constant,
    spread_of_targets,
    without_constant,
)
from robell._core.ridge.loo import left_out_residuals
from robell._core.ridge.solve import normal_equations
from robell._core.ridge.state import (
    Features,
    GramSolution,
    State,
    empty,
    factor_or_eigen,
    sample_design,
)

Array = NDArray[np.float64]


def empty_targets(n_targets: int, n_columns: int, reservoir: Reservoir | None) -> State:
    """Return the state before any row; an empty reservoir where a sample is to be kept."""
    return replace(empty(1, n_columns, reservoir), right=np.zeros((n_targets, n_columns)))


def update_targets(
    state: State, X: Array, T: Array, weight: Array, features: Features, keys: Keys | None = None
) -> State:
    """Return the state after more rows of positive weight; arguments as those of ``update``."""
    if not len(X):
        return state
    reservoir = state.reservoir
    if reservoir is not None:
        keys = row_keys(X, reservoir.seed) if keys is None else keys
        labels = np.zeros(len(X), np.intp)
        reservoir = add_rows(reservoir, np.hstack([X, T]), labels, weight, keys)
    design = RowBlocks(lambda rows: features(X[rows]), len(X), state.right.shape[1])
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        G, R = normal_equations(design, T, None if (weight == 1.0).all() else weight)
    return replace(
        state,
        sizes=state.sizes + weight.sum(),
        gram=state.gram + G,
        right=state.right + R.T,
        reservoir=reservoir,
    )


def solve_targets(state: State, C: float) -> GramSolution:
    """Solve the ridge regression of all rows seen from its sums, the constant free."""
    G, R = state.gram[0], state.right.T
    mean = R[0] / G[0, 0]
    factor_of_weights = min(C, 1.0)  # for C < 1 the system is multiplied by C: 1/C may overflow
    penalty = np.full((len(G), 1), 1.0 / C if C >= 1.0 else 1.0)
    penalty[0] = 0.0
    G, R = G * factor_of_weights, (R - G[:, :1] * mean) * factor_of_weights
    add_to_diagonal(G[1:, 1:], float(penalty[-1, 0]))
    factor, method = factor_or_eigen(G)
    beta = np.asarray(factor.solve(R))
    beta[0] += mean
    return GramSolution(beta, method, factor, factor_of_weights, penalty)


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
    centre, spectrum = without_constant(state.gram[0], state.right.T)
    spread = spread_of_targets(T, counted)
    rows = columns_behind_constant(sample_design(features, X, len(state.gram[0])))
    errors = np.zeros(len(candidates))
    with np.errstate(over="ignore"):
        penalties = 1.0 / candidates
    for block, residual in left_out_residuals(rows, T, weight, spectrum, penalties, centre):
        errors += to_host(counted[block] @ np.square(residual / spread).sum(axis=2))
    return errors
