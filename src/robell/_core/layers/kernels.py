"""A layer of radial functions around some of the rows, whitened: the Nystrom approximation.

With landmarks l_1..l_m and B columns that vary,

    k(x, l) = exp(-|x - l|²/B),      K = [k(l_a, l_b)] = QΛQᵀ,      h(x) = k(x, l) QΛ^(-½),

so that h(x)·h(x') is the best approximation of k(x, x') by the landmarks, and a ridge regression
on h is a kernel ridge regression.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from robell._core.array import beside, namespace, row_squares, to_host

SMALLEST_RANGE = 1e-3  # of a standardised column that is not constant up to rounding
SMALLEST_EIGENVALUE = 1e-6  # of the largest: directions below it are rounding


class KernelLayer(NamedTuple):
    """Landmarks (m, B), their whitening QΛ^(-½) (m, r), and the width."""

    landmarks: Any
    whitening: Any
    width: float


def fit_kernel_layer(X: Any, n_landmarks: int, seed: int) -> KernelLayer:
    """Make the layer from rows X, all different, in an order of their own; columns standardised."""
    xp, drawn = namespace(X), np.random.default_rng(seed).permutation(len(X))[:n_landmarks]
    landmarks = X[beside(np.sort(drawn), X)]
    width = max(1.0, float((xp.amax(X, 0) - xp.amin(X, 0) > SMALLEST_RANGE).sum()))
    values, Q = np.linalg.eigh(to_host(radial(landmarks, landmarks, width)))
    kept = values > SMALLEST_EIGENVALUE * values[-1]
    return KernelLayer(landmarks, beside(Q[:, kept] / np.sqrt(values[kept]), X), width)


def radial(X: Any, landmarks: Any, width: float) -> Any:
    """Return exp(-|x - l|²/width), (n, m).

    One product gives the exponents: 2 x·l - |x|² - |l|² = [x |x|² 1]·[2l -1 -|l|²].
    """
    xp = namespace(X)
    of_rows = xp.hstack([X, row_squares(X)[:, None], xp.ones_like(X[:, :1])])
    of_landmarks = [
        2.0 * landmarks,
        -xp.ones_like(landmarks[:, :1]),
        -row_squares(landmarks)[:, None],
    ]
    exponent = of_rows @ (xp.hstack(of_landmarks).T / width)
    xp.clip(exponent, None, 0.0, out=exponent)
    return xp.exp(exponent, out=exponent)
