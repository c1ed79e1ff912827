"""Whether labels are given differently in two tables, given the columns.

d_i is 1 in the new table. Were labels given in the same way, y and d would be independent given
the columns x. With what models say that have not seen row i,

    R_ik = [y_i = k] - P(y = k | x_i),        S_i = d_i - P(d = 1 | x_i),

sums over rows, all or those of a region g of the columns, are standard normal once standardised:

    T_gk = Σ_{i∈g} R_ik S_i / sqrt(Σ_{i∈g} (R_ik S_i - mean)²).

This is the generalised covariance measure (Shah and Peters, 2020; with weights Scheidegger,
Hörrmann and Bühlmann, 2022). The errors of the two models multiply, so that neither needs to be
exact: other rows in the new table (another mix of x) are not taken for other labels. By how much
class k is more frequent in the new table among rows of the same values is, in the mean of rows that
both tables have,

    θ_gk = Σ_{i∈g} R_ik S_i / Σ_{i∈g} S_i².

p-values are corrected for being many by the distribution of the largest |T| of a family, normal
numbers with the correlations of the products.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.stats import norm

from robell._core.array import Array, Mask

DRAWS = 20_000  # of the largest of correlated normal numbers


class Changes(NamedTuple):
    """Estimated changes θ of some sums, their standard errors, T, and corrected p-values."""

    change: Array
    error: Array
    statistic: Array
    p_value: Array


def products(R: Array, S: Array, regions: Mask) -> tuple[Array, Array]:
    """Return R_ik S_i within each region, (A, G K), and Σ S² of each of these columns."""
    RS = R * S[:, None]
    columns = np.concatenate([RS * region[:, None] for region in regions], axis=1)
    sizes = np.array([float(np.square(S[region]).sum()) for region in regions])
    return columns, np.repeat(sizes, R.shape[1])


def judge_changes(columns: Array, sizes: Array, rng: np.random.Generator) -> Changes:
    """Test all sums of products as one family."""
    n = len(columns)
    total = columns.sum(axis=0)
    centred = columns - total / n
    spread = np.sqrt(np.maximum(np.square(centred).sum(axis=0), 1e-300))
    statistic = np.where(spread > 1e-9, total / spread, 0.0)
    correlation = (centred / spread).T @ (centred / spread)
    p_value = _of_largest(np.abs(statistic), correlation, rng)
    size = np.maximum(sizes, 1e-12)
    return Changes(total / size, spread / size, statistic, p_value)


def _of_largest(statistic: Array, correlation: Array, rng: np.random.Generator) -> Array:
    """Return P(max |T| ≥ t) for every t: drawn, and bounded by Bonferroni's far out."""
    values, vectors = np.linalg.eigh(correlation)
    half = vectors * np.sqrt(np.maximum(values, 0.0))
    largest = np.abs(rng.standard_normal((DRAWS, len(half))) @ half.T).max(axis=1)
    drawn = (1.0 + (largest[:, None] >= statistic).sum(axis=0)) / (1.0 + DRAWS)
    single = 2.0 * norm.sf(statistic)
    return np.asarray(np.clip(np.minimum(drawn, len(statistic) * single), single, 1.0))
