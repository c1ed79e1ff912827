"""Half the width of prediction intervals, from leave-one-out residuals."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

ROUNDING = 1e-9  # of a sum of weights, relative


def half_widths(residuals: Array, weight: Array, coverage: Any) -> Array:
    """Return, for each column, the ⌈coverage (n + 1)⌉-th smallest absolute residual of n rows.

    Rows count as often as their weight says, and n is the sum of the weights.
    """
    if not (isinstance(coverage, Real) and 0.0 < float(coverage) < 1.0):
        raise ValueError(f"coverage must be a number between 0 and 1; got {coverage!r}")
    n = float(weight.sum())
    wanted = float(coverage) * (n + 1.0) * (1.0 - ROUNDING)
    if wanted > n:
        raise ValueError(
            f"coverage={coverage:g} needs more rows: {n:g} training rows allow for "
            f"{n / (n + 1.0):.4g} at most"
        )
    half = np.empty(residuals.shape[1])
    for k, column in enumerate(residuals.T):
        order = np.argsort(column)
        half[k] = column[order[np.searchsorted(np.cumsum(weight[order]), wanted)]]
    return half
