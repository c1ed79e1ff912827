"""A layer of radial functions around some of the rows, whitened: the Nystrom approximation.

With landmarks l_1..l_m and B columns that vary,

    k(x, l) = exp(-|x - l|²/B),      K = [k(l_a, l_b)] = QΛQᵀ,      h(x) = k(x, l) QΛ^(-½),

so that h(x)·h(x') is the best approximation of k(x, x') by the landmarks, and a ridge regression
on h is a kernel ridge regression.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

SMALLEST_RANGE = 1e-3  # of a standardised column that is not constant up to rounding
SMALLEST_EIGENVALUE = 1e-6  # of the largest: directions below it are rounding


class KernelLayer(NamedTuple):
    """Landmarks (m, B), their whitening QΛ^(-½) (m, r), and the width."""

    landmarks: Array
    whitening: Array
    width: float


def fit_kernel_layer(X: Array, n_landmarks: int, seed: int) -> KernelLayer:
    """Make the layer from rows X, all different, in an order of their own; columns standardised."""
    drawn = np.random.default_rng(seed).permutation(len(X))[:n_landmarks]
    landmarks = X[np.sort(drawn)]
    width = max(1.0, float((np.ptp(X, axis=0) > SMALLEST_RANGE).sum()))
    values, Q = np.linalg.eigh(radial(landmarks, landmarks, width))
    kept = values > SMALLEST_EIGENVALUE * values[-1]
    return KernelLayer(landmarks, Q[:, kept] / np.sqrt(values[kept]), width)


def radial(X: Array, landmarks: Array, width: float) -> Array:
    """Return exp(-|x - l|²/width), (n, m)."""
    squares = np.square(X).sum(axis=1)[:, None] + np.square(landmarks).sum(axis=1)
    squares -= 2.0 * (X @ landmarks.T)
    np.maximum(squares, 0.0, out=squares)
    squares /= -width
    return np.asarray(np.exp(squares, out=squares))
