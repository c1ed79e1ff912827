"""Columns brought to mean 0 and deviation 1 inside a fit, for models that do it themselves."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

EPS = float(np.finfo(np.float64).eps)


def column_scales(X: Array, multiplicity: Array) -> tuple[Array, Array]:
    """Return mean and population deviation of every column, rows counted with multiplicity.

    A column that is constant up to rounding says nothing, and gets a scale that keeps it near 0.
    """
    # Divided by the largest value first: squares of 1e200 would overflow.
    largest = np.maximum(np.abs(X).max(axis=0), np.finfo(np.float64).tiny)
    total = multiplicity.sum()
    mean = multiplicity @ (X / largest) / total
    deviation = np.sqrt(multiplicity @ np.square(X / largest - mean) / total)
    constant = deviation <= 10 * EPS * np.abs(mean)
    means = mean * largest
    # Of a constant such as 1e200 the rounding of its mean alone would be a large number.
    rounding = np.sqrt(EPS) * np.abs(means)
    return means, np.where(constant, np.maximum(1.0, rounding), deviation * largest)
