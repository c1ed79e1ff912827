"""Noise that differs by group: suppliers, months or sites that label worse or better than others.

All labels go wrong by N_zy = P(y | z); in group g wrong labels are c_g times as frequent:

    N_zy(c) = c N_zy   (y ≠ z),      N_zz(c) = 1 - c Σ_{y≠z} N_zy.

With P_iz = P(z | s_i) the likelihood of a label, L_i(c) = Σ_z P_iz N_zy_i(c) = u_i + c v_i, is
linear in c, so that the sum of its logarithms is concave and has one maximum. log c has a normal
prior of mean 0, whose spread τ is estimated from all groups together: groups of few rows, and all
groups where they hardly differ, are drawn to the whole.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp
from scipy.stats import chi2

Array = NDArray[np.float64]
Places = NDArray[np.intp]

LOG_FACTORS = np.linspace(np.log(1 / 50), np.log(50.0), 161)  # of c: one step is a twentieth
SPREADS = np.array([0.05, 0.1, 0.2, 0.4, 0.7, 1.0, 1.5, 2.0])  # of log c, between groups
LARGEST_GROUP_RATE = 0.9


class GroupNoise(NamedTuple):
    """How many times as frequent wrong labels are in each group."""

    factor: Array  # the posterior mean of c, (G,)
    low: Array
    high: Array  # of its interval of 90 %
    p_value: Array  # of c = 1
    spread: float  # τ


def noise_of_group(N: Array, factor: float) -> Array:
    """Return N(c), with no class wrong in more than nine of ten rows."""
    wrong = 1.0 - np.diag(N)
    factor = min(factor, LARGEST_GROUP_RATE / max(float(wrong.max()), 1e-12))
    scaled = factor * N
    np.fill_diagonal(scaled, 1.0 - factor * wrong)
    return np.asarray(scaled)


def fit_groups(P: Array, labels: Places, N: Array, group: Places, weight: Array) -> GroupNoise:
    """Estimate the factor of every group from P(z | s), the labels and the common noise matrix."""
    n_groups = int(group.max()) + 1
    logs = _group_likelihoods(P, labels, N, group, weight, n_groups)
    at_one = logs[:, len(LOG_FACTORS) // 2]
    # Hard rows come in groups too, and look like wrong ones: where most groups differ from the
    # whole by more than chance, all differences count for less.
    statistic = 2.0 * (logs.max(axis=1) - at_one)
    inflation = max(1.0, float(np.median(statistic)) / float(chi2.median(1)))
    p_value = chi2.sf(statistic / inflation, 1)
    spread, posterior = _shrink(logs / inflation)
    cumulative = posterior.cumsum(axis=1)
    quantile = [
        np.exp(LOG_FACTORS[(cumulative < share).sum(axis=1).clip(max=len(LOG_FACTORS) - 1)])
        for share in (0.05, 0.95)
    ]
    return GroupNoise(
        np.exp(posterior @ LOG_FACTORS), quantile[0], quantile[1], np.asarray(p_value), spread
    )


def _group_likelihoods(
    P: Array, labels: Places, N: Array, group: Places, weight: Array, n_groups: int
) -> Array:
    """Return Σ_i w_i log L_i(c) of every group on the grid of c, (G, factors)."""
    rows = np.arange(len(labels))
    own = P[rows, labels]
    wrong = 1.0 - np.diag(N)
    slope = (P * N.T[labels]).sum(axis=1) - own * np.diag(N)[labels] - own * wrong[labels]
    largest = LARGEST_GROUP_RATE / max(float(wrong.max()), 1e-12)
    columns = [
        np.bincount(
            group,
            weight * np.log(np.maximum(own + min(np.exp(log_c), largest) * slope, 1e-12)),
            n_groups,
        )
        for log_c in LOG_FACTORS
    ]
    return np.stack(columns, axis=1)


def _shrink(logs: Array) -> tuple[float, Array]:
    """Return the spread between groups of the largest likelihood, and each group's posterior."""
    best, kept = (-np.inf, 0.0), logs
    for spread in SPREADS:
        log_prior = -0.5 * np.square(LOG_FACTORS / spread)
        log_prior -= logsumexp(log_prior)
        total = float(logsumexp(logs + log_prior, axis=1).sum())
        if total > best[0]:
            best, kept = (total, float(spread)), logs + log_prior
    return best[1], np.exp(kept - logsumexp(kept, axis=1, keepdims=True))
