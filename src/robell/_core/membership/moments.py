"""Size, mean and scatter of groups of rows, which can be pooled in any order."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def mean_and_scatter(X: Array, weight: Array) -> tuple[Array, Array]:
    """Return the weighted mean μ of some rows and Σ_i w_i (x_i - μ)², column by column."""
    with np.errstate(over="ignore", invalid="ignore"):  # whoever squares such rows will refuse them
        differences = X - X[0]  # so that a constant column has no scatter at all
        shift = weight @ differences / weight.sum()
        mean = X[0] + shift
        differences -= shift
        return mean, np.einsum("i,ij,ij->j", weight, differences, differences)


def pool_moments(sizes: Array, mean: Array, scatter: Array) -> tuple[Array, Array]:
    """Return mean and scatter of groups put together, from theirs; groups along the first axis.

    The mean is Σ n_g μ_g / n and the scatter Σ (S_g + n_g (μ_g - μ)²).
    """
    total = sizes.sum(axis=0)
    share = np.divide(sizes, total, out=np.zeros_like(sizes), where=total > 0)[..., None]
    with np.errstate(over="ignore", invalid="ignore"):
        pooled = (share * mean).sum(axis=0)
        spread = np.square(mean - pooled) * sizes[..., None]
        return pooled, (scatter + spread).sum(axis=0)
