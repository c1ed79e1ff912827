"""The neuro-fuzzy layer of NF-RVFL: rule centres, firing strengths, first-order rules.

For centres c_1..c_J and rule weights α_j:

    ω_ij = exp(-|x_i - c_j|²) / Σ_k exp(-|x_i - c_k|²)      firing strength, normalised
    F_ij = ω_ij (x_i · α_j)                                 output of rule j, without a constant
    H    = φ(F W + b),  W ~ Uniform[0, 1]                   hidden layer on the fuzzy block
    M    = [F X H]

The authors' code appends a column 0.1 to F and draws its weights too: b = 0.1 Uniform[0, 1].
"""

from __future__ import annotations

import numpy as np

from robell._core.array import Array, softmax_of_rows
from robell._core.layers.features import random_stream
from robell._core.membership.pairs import squared_distances

FUZZIFIER = 2.0  # exponent of fuzzy c-means
FCM_STEPS = 100
FCM_TOLERANCE = 1e-5


def draw_rule_weights(n_features: int, n_rules: int, seed: int) -> Array:
    """Draw α ~ Uniform[0, 1] of shape (B, J); rule j's do not depend on the number of rules."""
    return random_stream(seed, "rules").uniform(0.0, 1.0, size=(n_rules, n_features)).T


def firing_strengths(X: Array, centers: Array) -> Array:
    """Return ω, each row of which sums to one also for points far from every centre.

    A softmax of -|x - c|²: the plain product of the rules' memberships is 0/0 for many features.
    |x|² is common to a row and cancels; the centres' mean is taken off, for rounding's sake.
    """
    origin = centers.mean(axis=0)
    C = centers - origin
    logits = (X - origin) @ (2.0 * C.T)
    logits -= np.einsum("ij,ij->i", C, C)
    return np.asarray(softmax_of_rows(logits))


def fuzzy_block(X: Array, centers: Array, rule_weights: Array) -> Array:
    """Return F, the outputs of the rules weighted by their firing strengths."""
    return np.asarray(firing_strengths(X, centers) * (X @ rule_weights))


def choose_rows(X: Array, weight: Array, n_rows: int, seed: int) -> Array:
    """Draw distinct rows by weight: the largest of u^(1/weight) win (Efraimidis and Spirakis)."""
    keys = np.log(random_stream(seed, "centers").uniform(size=len(X))) / weight
    return X[np.sort(np.argsort(-keys, kind="stable")[:n_rows])]


def fuzzy_c_means(X: Array, weight: Array, centers: Array) -> Array:
    """Improve centres by fuzzy c-means with fuzzifier 2 until they stand still.

    u_ij = (|x_i - c_j|²)⁻¹ / Σ_k (|x_i - c_k|²)⁻¹,  c_j = Σ_i w_i u_ij² x_i / Σ_i w_i u_ij²
    """
    spread = float(np.ptp(X)) or 1.0
    for _ in range(FCM_STEPS):
        D2 = np.maximum(squared_distances(X, centers), np.finfo(np.float64).tiny)
        # Relative to the nearest centre, so that a row on a centre gives 1 and 0, not inf.
        U = np.power(D2.min(axis=1, keepdims=True) / D2, 1.0 / (FUZZIFIER - 1.0))
        U /= U.sum(axis=1, keepdims=True)
        share = weight[:, None] * np.power(U, FUZZIFIER)
        moved = (share.T @ X) / share.sum(axis=0)[:, None]
        step = float(np.abs(moved - centers).max())
        centers = moved
        if step <= FCM_TOLERANCE * spread:
            break
    return centers
