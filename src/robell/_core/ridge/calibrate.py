"""Probabilities and intervals from leave-one-out scores.

Scores become probabilities by one slope and one offset a class:

    P(class k | scores s) = exp(a s_k + t b_k) / Σ_l exp(a s_l + t b_l),    a > 0

For two classes this is Platt's sigmoid of the difference of the two scores, with Platt's smoothed
targets, which keep the slope finite when the scores separate the classes; a broad prior on log a
keeps it positive when they say nothing. The offsets are fitted with t = 1; where they would make
another class likelier than the predicted one, t shrinks to just below the tie.
"""

from __future__ import annotations

from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from scipy.special import softmax

from robell._core.array import Array, beside, is_tensor, namespace, to_host


class SlopePrior(NamedTuple):
    """A normal prior on log a, which keeps the slope a positive and finite."""

    log_slope: float
    precision: float


# A score difference d between targets 0 and 1 that is itself a probability difference has
# log-odds log((1+d)/(1-d)) ≈ 2d: the slope to believe in before seeing any data. One standard
# deviation is a factor of e² either way.
PRIOR = SlopePrior(float(np.log(2.0)), 0.25)

MAX_STEPS = 100
# Newton's method squares its error: a step that the rounding of the loss no longer shows still
# doubles the digits of the slope, and is the last.
LAST_DECREASE = 1e-15
BEFORE_TIE = 0.999  # how near to a tie an offset may bring the predicted class
ROUNDING = 1e-9  # of a sum of weights, relative


def calibrated_probability(scores: Array, slope: float, offsets: Array) -> Array:
    """Return the class probabilities of each row of ``scores``; the largest score's is largest."""
    best = scores.argmax(axis=1)[:, None]
    # Class k overtakes the best where t (b_k - b_best) = a (s_best - s_k).
    lead = slope * (np.take_along_axis(scores, best, axis=1) - scores)
    push = offsets[None, :] - offsets[best]
    tie = np.divide(lead, push, out=np.full_like(lead, np.inf), where=push > 0)
    t = np.minimum(1.0, BEFORE_TIE * tie.min(axis=1, keepdims=True))
    return np.asarray(softmax(slope * scores + t * offsets, axis=1))


def even_within_classes(total: Any, T: Any, multiplicity: Any) -> Any:
    """Return weights under which rows of a class count alike, and classes as in ``total``."""
    #     v_i = m_i Σ_{j in c} w_j / Σ_{j in c} m_j,    scaled to Σ_i v_i = Σ_i m_i
    #
    # The threshold of predict is where the weights put it, so the classes' totals must stay.
    # Weights within a class know the label: they are small just where the scores are wrong, and a
    # slope fitted under them is too steep for new rows, which come without a weight.
    sums, counts = total @ T, multiplicity @ T
    share = sums / namespace(T).where(counts > 0, counts, 1.0)  # a class may have no row
    weight = multiplicity * (T @ share)
    return weight * (multiplicity.sum() / weight.sum())


def fit_calibration(scores: Any, T: Any, weight: Any) -> tuple[float, Array]:
    """Fit the slope, and offsets of mean zero, to scores of rows that the model has not seen."""
    # Platt's targets: (n_k + 1)/(n_k + 2) for the class of a row, the rest shared equally
    other = 1.0 / (T @ (weight @ T) + 2.0)[:, None]
    targets = (T * (1.0 - other) + (1.0 - T) * (other / (T.shape[1] - 1)))[:, 1:].T
    xp, contrast = namespace(scores), (scores[:, 1:] - scores[:, :1]).T
    theta = candidate = np.concatenate([[PRIOR.log_slope], np.zeros(T.shape[1] - 1)])
    ridge, least = 1e-12 * float(weight.sum()), np.inf
    n_steps, size = 0, 1.0
    while True:
        S = float(np.exp(candidate[0])) * contrast
        Z = S + beside(candidate[1:, None], contrast)  # log(p_k/p_1) = a (s_k - s_1) + b_k - b_1
        top = xp.clip(xp.amax(Z, axis=0), 0.0, None)
        P = xp.exp(Z - top)
        total = xp.exp(-top) + P.sum(axis=0)
        surprise = top + xp.log(total) - xp.einsum("ki,ki->i", targets, Z)
        prior = 0.5 * PRIOR.precision * (candidate[0] - PRIOR.log_slope) ** 2
        value = float(weight @ surprise) + float(prior)
        if np.isnan(value):
            raise ValueError(
                "C times the weight of a row is too small or too large for rows to be left out: "
                "choose a C nearer to 1, or calibrate=False"
            )
        if value <= least:
            theta, least = candidate, value
            if n_steps == MAX_STEPS:
                break
            step, decrease = newton_step(theta, S, P / total, targets, weight, PRIOR, ridge)
            if decrease <= LAST_DECREASE * value:
                theta = theta - step
                break
            step *= min(1.0, 4.0 / max(np.abs(step[0]), 1e-300))  # a slope moves by e⁴ at the most
            n_steps, size = n_steps + 1, 1.0
        else:
            size *= 0.5
            if size <= 1e-10:  # no descent left except for rounding
                break
        candidate = theta - size * step
    offsets = np.concatenate([[0.0], theta[1:]])
    return float(np.exp(theta[0])), offsets - offsets.mean()


# -- one Newton for slope and offsets ---------------------------------------------------
# theta = (log a, b_2 - b_1, ..., b_K - b_1); arrays are of the classes after the first, by rows.


def newton_step(
    theta: Array, S: Any, P: Any, targets: Any, weight: Any, prior: SlopePrior, ridge: float
) -> tuple[Array, float]:
    """Return the Newton step of -Σ_i w_i Σ_k t_ki log p_ki + prior, and what it should gain."""
    if len(S) == 1 and not is_tensor(S):  # of two classes: two equations, the first one eliminated
        error, spread = weight * (P[0] - targets[0]), weight * P[0] * (1.0 - P[0])
        spread_S, by_slope, by_offset = spread * S[0], float(error @ S[0]), float(error.sum())
        curvature = float(spread_S @ S[0]) + max(by_slope, 0.0) + prior.precision
        by_slope += prior.precision * (theta[0] - prior.log_slope)
        ratio = float(spread_S.sum()) / curvature
        left = float(spread.sum()) + ridge - ratio * ratio * curvature
        offset = (by_offset - ratio * by_slope) / left
        slope = by_slope / curvature - ratio * offset
        return np.array([slope, offset]), 0.5 * (by_slope * slope + by_offset * offset)
    xp = namespace(S)  # a (s_k - s_1), the derivative of the log-odds in log a
    error, of_S, rooted = P - targets, P * S, xp.sqrt(weight) * P
    mean_S = of_S.sum(0)
    sums = (
        ((error * S) @ weight).sum()[None],
        (((of_S * S) @ weight).sum() - weight @ mean_S**2)[None],
        error @ weight,
        of_S @ weight - P @ (weight * mean_S),
        P @ weight,
        (rooted @ rooted.T).reshape(-1),  # a product with itself: half of the work
    )
    on_host = to_host(xp.concatenate(sums))  # a device is waited for once
    K = len(theta) - 1
    slope_gradient, curvature = on_host[:2]
    of_error, cross, of_weighted = on_host[2 : 2 + 3 * K].reshape(3, K)
    pull = prior.precision * (theta[0] - prior.log_slope)
    gradient = np.concatenate([[slope_gradient + pull], of_error])
    hessian = np.empty((K + 1, K + 1))
    # The loss is convex in a, not in log a: the second-order term may only add curvature.
    hessian[0, 0] = curvature + max(slope_gradient, 0.0) + prior.precision
    hessian[0, 1:] = hessian[1:, 0] = cross
    hessian[1:, 1:] = np.diag(of_weighted + ridge) - on_host[2 + 3 * K :].reshape(K, K)
    step = np.linalg.solve(hessian, gradient)
    return step, float(gradient @ step) / 2.0


# -- intervals -------------------------------------------------------------------------


def half_widths(residuals: Array, weight: Array, coverage: Any) -> Array:
    """Return half the width of prediction intervals, for each column of absolute residuals."""
    # The ⌈coverage (n + 1)⌉-th smallest residual of n rows, which count as often as their weight
    # says.
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
