"""Columns brought to mean 0 and deviation 1 inside a fit, for models that do it themselves."""

from __future__ import annotations

from typing import Any

import numpy as np

from robell._core.array import namespace

EPS = float(np.finfo(np.float64).eps)


def column_scales(X: Any, multiplicity: Any) -> tuple[Any, Any]:
    """Return mean and population deviation of every column, rows counted with multiplicity.

    A column that is constant up to rounding says nothing, and gets a scale that keeps it near 0.
    """
    # Divided by the largest value first: squares of 1e200 would overflow.
    xp = namespace(X)
    largest = xp.clip(xp.amax(abs(X), 0), float(np.finfo(np.float64).tiny), None)
    total = multiplicity.sum()
    shares = X / largest
    mean = multiplicity @ shares / total
    shares -= mean
    deviation = xp.sqrt(multiplicity @ xp.square(shares, out=shares) / total)
    constant = deviation <= 10 * EPS * abs(mean)
    means = mean * largest
    # Of a constant such as 1e200 the rounding of its mean alone would be a large number.
    rounding = EPS**0.5 * abs(means)
    return means, xp.where(constant, xp.clip(rounding, 1.0, None), deviation * largest)
