"""Probabilities of any model mended under wrong labels: one slope, and an offset for each class.

With s = log p of a model that has not seen the row, P(z | s) = softmax(a s + b)_z; a = 1 and b = 0
leave the probabilities as they are. Given N_zy = P(y | z), what is maximised is

    Σ_i log Σ_z P(z | s_i) N_zy_i  -  ½ λ Σ_k b_k²  -  ½ (log a)²

with the derivatives Σ_i (Z_ik - P_ik) - λ b_k in b_k, where Z_iz = P(z | s_i, y_i). Offsets are
drawn to 0: those of classes with few rows would otherwise follow chance, and rank labels worse than
the model's own probabilities do.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import softmax

from robell._core.labels.link import LOG_SLOPES, Link, class_shares

Array = NDArray[np.float64]
Labels = NDArray[np.intp]

# Chosen on 53 tables of two and more classes (benchmarks/beyond_one_label.py): 3 and 10 are alike.
OFFSET_PRECISION = 5.0
STEPS = 30


def fit_recalibration(scores: Array, labels: Labels, N: Array) -> Link:
    """Fit slope and offsets to logarithms of probabilities, under the noise N."""
    likelihood, n_classes = N.T[labels], scores.shape[1]

    def loss(theta: Array) -> tuple[float, Array]:
        slope, offsets = np.exp(theta[0]), theta[1:]
        P = softmax(slope * scores + offsets, axis=1)
        joint = P * likelihood
        total = np.maximum(joint.sum(axis=1), 1e-300)
        error = P - joint / total[:, None]
        value = -np.log(total).sum() + 0.5 * (OFFSET_PRECISION * offsets @ offsets + theta[0] ** 2)
        by_slope = slope * np.einsum("ik,ik->", error, scores) + theta[0]
        return float(value), np.append(by_slope, error.sum(axis=0) + OFFSET_PRECISION * offsets)

    bounds = [LOG_SLOPES] + [(None, None)] * n_classes
    start = np.zeros(n_classes + 1)
    found = minimize(
        loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": STEPS}
    )
    matrix, offsets = np.exp(found.x[0]) * np.eye(n_classes), found.x[1:]
    P = softmax(scores @ matrix + offsets, axis=1)
    joint = P * likelihood
    Z = joint / np.maximum(joint.sum(axis=1, keepdims=True), 1e-300)
    return Link(matrix, offsets, class_shares(Z, np.ones(len(Z))))
