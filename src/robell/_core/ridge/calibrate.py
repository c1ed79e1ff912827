"""Scores to probabilities: one slope and one offset a class, fitted to leave-one-out scores.

    P(class k | scores s) = exp(a s_k + t b_k) / Σ_l exp(a s_l + t b_l),    a > 0

For two classes this is Platt's sigmoid of the difference of the two scores. The likelihood is
taken with Platt's smoothed targets, which keep the slope finite when the scores separate the
classes; a broad prior on log a keeps it positive when they say nothing (leave-one-out scores of
pure noise are ranked the wrong way round), so probabilities never reverse the order of scores.

The offsets are fitted with t = 1. They could make another class likelier than the one with the
largest score, which predict returns; in such a row t shrinks to just below the tie, so that the
predicted class is always the likeliest one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

Array = NDArray[np.float64]

# A score difference d between targets 0 and 1 that is itself a probability difference has
# log-odds log((1+d)/(1-d)) ≈ 2d: the slope to believe in before seeing any data.
PRIOR_LOG_SLOPE = float(np.log(2.0))
PRIOR_PRECISION = 0.25  # one standard deviation is a factor of e² either way

MAX_STEPS = 100
BEFORE_TIE = 0.999  # how near to a tie an offset may bring the predicted class


def calibrated_probability(scores: Array, slope: float, offsets: Array) -> Array:
    """Return the class probabilities of each row of ``scores``; the largest score's is largest."""
    best = scores.argmax(axis=1)[:, None]
    # Class k overtakes the best where t (b_k - b_best) = a (s_best - s_k).
    lead = slope * (np.take_along_axis(scores, best, axis=1) - scores)
    push = offsets[None, :] - offsets[best]
    tie = np.divide(lead, push, out=np.full_like(lead, np.inf), where=push > 0)
    t = np.minimum(1.0, BEFORE_TIE * tie.min(axis=1, keepdims=True))
    return np.asarray(softmax(slope * scores + t * offsets, axis=1))


def smoothed_targets(T: Array, weight: Array) -> Array:
    """Return Platt's targets: (n_k + 1)/(n_k + 2) for class k of a row, the rest shared equally."""
    other = 1.0 / (T @ (weight @ T) + 2.0)[:, None]
    return np.asarray(T * (1.0 - other) + (1.0 - T) * (other / (T.shape[1] - 1)))


def fit_calibration(scores: Array, T: Array, weight: Array) -> tuple[float, Array]:
    """Fit slope and offsets by Newton's method on the penalised likelihood.

    Parameters
    ----------
    scores : array of shape (A, K)
        Scores of rows the model has not seen.
    T : array of shape (A, K), one-hot
    weight : array of shape (A,)
        Multiplicity of each row.

    Returns
    -------
    slope : float, positive
    offsets : array of shape (K,), with mean zero
    """
    targets = smoothed_targets(T, weight)[:, 1:]
    contrast = scores[:, 1:] - scores[:, :1]
    # theta = (log a, b_2 - b_1, ..., b_K - b_1)
    theta = np.concatenate([[PRIOR_LOG_SLOPE], np.zeros(T.shape[1] - 1)])
    value = _loss(theta, contrast, targets, weight)
    for _ in range(MAX_STEPS):
        gradient, hessian = _derivatives(theta, contrast, targets, weight)
        step = np.linalg.solve(hessian, gradient)
        step *= min(1.0, 4.0 / max(np.abs(step[0]), 1e-300))  # a slope moves by e⁴ at the most
        size = 1.0
        while size > 1e-10:
            candidate = theta - size * step
            candidate_value = _loss(candidate, contrast, targets, weight)
            if candidate_value <= value:
                break
            size *= 0.5
        else:  # no descent left but rounding
            break
        theta, value = candidate, candidate_value
        if np.abs(size * step).max() <= 1e-12 * (1.0 + np.abs(theta).max()):
            break
    offsets = np.concatenate([[0.0], theta[1:]])
    return float(np.exp(theta[0])), offsets - offsets.mean()


def _log_odds(theta: Array, contrast: Array) -> tuple[Array, Array]:
    """Return the log-odds Z_k = log(p_k/p_1) of the classes after the first, and log(1/p_1)."""
    Z = np.exp(theta[0]) * contrast + theta[1:]
    top = np.maximum(Z.max(axis=1), 0.0)
    return Z, top + np.log(np.exp(-top) + np.exp(Z - top[:, None]).sum(axis=1))


def _loss(theta: Array, contrast: Array, targets: Array, weight: Array) -> float:
    Z, log_sum = _log_odds(theta, contrast)
    surprise = log_sum - np.einsum("ij,ij->i", targets, Z)
    prior = 0.5 * PRIOR_PRECISION * (theta[0] - PRIOR_LOG_SLOPE) ** 2
    return float(weight @ surprise + prior)


def _derivatives(
    theta: Array, contrast: Array, targets: Array, weight: Array
) -> tuple[Array, Array]:
    """Gradient of the loss, and a Hessian that is positive definite."""
    Z, log_sum = _log_odds(theta, contrast)
    P = np.exp(Z - log_sum[:, None])
    S = np.exp(theta[0]) * contrast  # derivative of Z in log a
    error = weight[:, None] * (P - targets)
    slope_gradient = np.einsum("ij,ij->", error, S)
    prior_gradient = PRIOR_PRECISION * (theta[0] - PRIOR_LOG_SLOPE)
    gradient = np.concatenate([[slope_gradient + prior_gradient], error.sum(axis=0)])

    weighted_P = weight[:, None] * P
    mean_S = np.einsum("ij,ij->i", P, S)
    hessian = np.empty((len(theta), len(theta)))
    # The loss is convex in a, not in log a: the second-order term may only add curvature.
    hessian[0, 0] = weight @ (np.einsum("ij,ij->i", P, S * S) - mean_S**2)
    hessian[0, 0] += max(slope_gradient, 0.0) + PRIOR_PRECISION
    hessian[0, 1:] = (weighted_P * (S - mean_S[:, None])).sum(axis=0)
    hessian[1:, 0] = hessian[0, 1:]
    hessian[1:, 1:] = np.diag(weighted_P.sum(axis=0)) - weighted_P.T @ P
    hessian[1:, 1:] += 1e-12 * weight.sum() * np.eye(len(theta) - 1)
    return gradient, hessian
