"""P(z | s): the true class of a row from its scores, although labels may be wrong.

Each row has a given label y; its true class z is not known. The label depends on the true class
alone, by the matrix N_zy = P(y | z), and the true class on the scores s of the row:

    P(z | s) = softmax(s A + b)_z,       P(z | s, y) ∝ P(z | s) N_zy.

N is held fixed (``noise.py``), because a likelihood that may choose N as well takes hard rows for
wrong ones. For two classes A is one slope, and slope and offsets are fitted by expectation
maximisation. For more it is a full matrix: regression on indicators hides a class that lies
between two others, and no offset can bring it back. A and b are then a logistic regression of the
probabilities P(z | s, y) on the scores, classes balanced, with a small ridge.

Probabilities of any model mended under wrong labels: one slope, and an offset for each class.

With s = log p of a model that has not seen the row, P(z | s) = softmax(a s + b)_z; a = 1 and b = 0
leave the probabilities as they are. Given N_zy = P(y | z), what is maximised is

    Σ_i log Σ_z P(z | s_i) N_zy_i  -  ½ λ Σ_k b_k²  -  ½ (log a)²

with the derivatives Σ_i (Z_ik - P_ik) - λ b_k in b_k, where Z_iz = P(z | s_i, y_i). Offsets are
drawn to 0: those of classes with few rows would otherwise follow chance, and rank labels worse than
the model's own probabilities do.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize

from robell._core.array import Array, Labels, beside, softmax_of_rows
from robell._core.ridge.calibrate import SlopePrior, newton_step

PRIOR = SlopePrior(log_slope=1.5, precision=1.0)
LOG_SLOPES = -3.0, 5.0  # the least and the largest
EM_STEPS = 25
LAST_EM_STEPS = 12  # few steps from the prior: later ones find fewer wrong labels
EM_TOLERANCE = 1e-3
MOST_FULL = 50  # classes: a matrix of more has more entries than its table can tell, and takes long
FULL_ROUNDS = 2  # of label probabilities and the full link in turn
FULL_RIDGE = 1.0  # for scores of unit spread
FULL_STEPS = 60
FULL_TOLERANCE = 1e-3


class Link(NamedTuple):
    """P(z | s) = softmax(s A + b), where the classes have these shares."""

    matrix: Array  # (K, K)
    offsets: Array  # (K,)
    shares: Array  # (K,)

    def logits(self, scores: Any) -> Any:
        """Return s A + b for every row, arrays or tensors."""
        return scores @ beside(self.matrix, scores) + beside(self.offsets, scores)

    def probability(self, scores: Any) -> Any:
        """Return P(z | s) for every row, arrays or tensors."""
        return softmax_of_rows(self.logits(scores))


def posterior(prior: Any, labels: Any, N: Array) -> Any:
    """Return P(z | s, y) from P(z | s) and the given labels, arrays or tensors."""
    return _posterior(prior.T, beside(N, prior)[:, labels]).T


def _posterior(prior: Any, likelihood: Any) -> Any:
    joint = prior * likelihood
    total = joint.sum(0)
    total[total < 1e-300] = 1e-300
    joint /= total
    return joint


def class_shares(Z: Array, weight: Array) -> Array:
    """Return the shares of the true classes, half a row each at least."""
    total = weight.sum()
    return np.asarray(np.maximum(weight @ Z / total, 0.5 / total))


def fit_link(scores: Array, labels: Labels, weight: Array, N: Array) -> Link:
    """Fit the link under the noise N: a full matrix for 3 to MOST_FULL classes, else one slope."""
    link = fit_slope(scores, labels, weight, N, LAST_EM_STEPS)
    if scores.shape[1] == 2 or scores.shape[1] > MOST_FULL:
        return link
    slope = float(link.matrix[0, 0])
    for _ in range(FULL_ROUNDS):
        Z = posterior(link.probability(scores), labels, N)
        link = fit_full(scores, Z, weight, slope)
    return link


def fit_slope(
    scores: Array, labels: Labels, weight: Array, N: Array, n_steps: int = EM_STEPS
) -> Link:
    """Fit one slope, and offsets, under the noise N."""
    return fit_slope_to(scores, N[:, labels], weight, n_steps)


def fit_slope_to(scores: Array, likelihood: Array, weight: Array, n_steps: int = EM_STEPS) -> Link:
    """Fit one slope, and offsets, by expectation maximisation, one Newton step in each round.

    Maximises Σ_i w_i log Σ_z P(z | s_i) L_zi, with a prior on log a that keeps a positive; L is the
    likelihood of what is known of row i, its label or labels, if its class were z.
    """
    # Sums over a few classes are sums of long vectors in this order, which is fast.
    contrast = np.ascontiguousarray((scores[:, 1:] - scores[:, :1]).T)
    theta = np.concatenate([[PRIOR.log_slope], np.zeros(len(contrast))])
    # Where one row weighs more than 1e16 others the rounding of their sum is more than 1e-6.
    ridge, P = max(1e-6, 1e-12 * float(weight.sum())), np.empty(scores.T.shape)
    for _ in range(n_steps):
        S = float(np.exp(theta[0])) * contrast
        np.add(S, theta[1:, None], out=P[1:])
        P[0] = 0.0
        P -= P.max(0)
        np.exp(P, out=P)
        P /= P.sum(0)
        target = _posterior(P, likelihood)
        step, _ = newton_step(theta, S, P[1:], target[1:], weight, PRIOR, ridge)
        step = np.maximum(np.minimum(step, 1.0), -1.0)
        theta = theta - step
        theta[0] = min(max(theta[0], LOG_SLOPES[0]), LOG_SLOPES[1])
        if abs(step).max() < EM_TOLERANCE:
            break
    return Link(
        np.exp(theta[0]) * np.eye(len(theta)),
        np.concatenate([[0.0], theta[1:]]),
        class_shares(target.T, weight),
    )


def fit_full(scores: Array, Z: Array, weight: Array, slope: float) -> Link:
    """Fit A and b to label probabilities Z, classes balanced; return the link at their shares.

    Minimises Σ_i w_i Σ_k Z_ik/(K p_k) log 1/P_k(s_i) + ½ ridge |A - aI|², p the class shares and a
    the one slope, by Newton's method with the bound ½ MᵀWM of the Hessian (Böhning), which never
    overshoots. The slope keeps A from turning the scores of pure noise round.
    """
    n_classes, share = scores.shape[1], class_shares(Z, weight)
    # Classes by rows, as in the fit of one slope.
    counts = np.ascontiguousarray(Z.T) * weight / (n_classes * share)[:, None]
    of_row = counts.sum(axis=0)
    mean = weight @ scores / weight.sum()
    spread = np.sqrt(weight @ np.square(scores - mean).mean(axis=1) / weight.sum())
    spread = float(spread) if spread > 1e-12 else 1.0
    M = np.vstack([(scores - mean).T / spread, np.ones(len(scores))])
    penalty = np.append(np.full(n_classes, FULL_RIDGE), 1e-6 * weight.sum())
    inverse = np.linalg.inv(0.5 * (M * of_row) @ M.T + np.diag(penalty))
    centre = np.vstack([slope * spread * np.eye(n_classes), np.zeros(n_classes)])
    theta = centre.copy()
    for _ in range(FULL_STEPS):
        P = theta.T @ M
        P = np.exp(P - P.max(axis=0))
        error = P * (of_row / P.sum(axis=0)) - counts
        step = inverse @ (M @ error.T + penalty[:, None] * (theta - centre))
        theta -= step
        if np.abs(step).max() < FULL_TOLERANCE:
            break
    A = theta[:-1] / spread
    return Link(A, theta[-1] - mean @ A + np.log(share), share)


# -- probabilities of any model ---------------------------------------------------------------

OFFSET_PRECISION = 5.0
STEPS = 30


def fit_recalibration(scores: Array, labels: Labels, N: Array) -> Link:
    """Fit slope and offsets to logarithms of probabilities, under the noise N."""
    likelihood, n_classes = N.T[labels], scores.shape[1]

    def loss(theta: Array) -> tuple[float, Array]:
        slope, offsets = np.exp(theta[0]), theta[1:]
        P = softmax_of_rows(slope * scores + offsets)
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
    Z = posterior(softmax_of_rows(scores @ matrix + offsets), labels, N)
    return Link(matrix, offsets, class_shares(Z, np.ones(len(Z))))
