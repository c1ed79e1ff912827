"""A robust focal loss for boosted trees, from its formula (arXiv 2310.05067).

With p the probability that a model gives to the label of a row, and parameters r, q >= 0,

    L(p) = (1 - p)^r (1 - p^q) / q,    -(1 - p)^r log p where q = 0.

r turns to rows that are hard, as in the focal loss; q bounds the loss of a single row, as in the
generalised cross entropy, so that a wrong label cannot pull without limit. r = q = 0 is log loss.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, softmax

EXTRA = "peers"
# The middle of the values the paper searches over: r of 0, 0.5, 1 and q of 0, 0.1, 0.3, 0.5.
R, Q = 0.5, 0.3
# The loss is not convex everywhere; trees need a positive curvature.
LEAST_CURVATURE = 1e-16


@dataclass(frozen=True)
class RobustFocalLoss:
    """Gradient and curvature of the loss by the raw score, as XGBoost asks for them."""

    r: float = R
    q: float = Q

    def value(self, p):
        """Return the loss of rows whose label has probability p."""
        return (1 - p) ** self.r * self._bounded(p)

    def __call__(self, labels, scores):
        """Return gradient and curvature: of one score a row (two classes) or of one a class."""
        # In single precision, as XGBoost has them, 1 - p would be 0 too soon.
        labels, scores = np.asarray(labels), np.asarray(scores, dtype=np.float64)
        if np.ndim(scores) == 1:
            sign = 2.0 * labels - 1.0
            p = _inside(expit(sign * scores))
            slope, bend = sign * p * (1 - p), p * (1 - p) * (1 - 2 * p)
        else:
            P = softmax(scores, axis=1)
            own = labels.astype(int)[:, None] == np.arange(P.shape[1])
            p = _inside(P[own][:, None])
            slope = p * (own - P)  # of the label's probability, by each score
            bend = p * ((own - P) ** 2 - P * (1 - P))
        first, second = self._by_probability(p)
        return first * slope, np.maximum(second * slope**2 + first * bend, LEAST_CURVATURE)

    def _by_probability(self, p):
        """Return the first and second derivative of the loss by p."""
        r, q, rest, bounded = self.r, self.q, 1 - p, self._bounded(p)
        first = -r * rest ** (r - 1) * bounded - rest**r * p ** (q - 1)
        second = (
            r * (r - 1) * rest ** (r - 2) * bounded
            + 2 * r * rest ** (r - 1) * p ** (q - 1)
            + (1 - q) * rest**r * p ** (q - 2)
        )
        return first, second

    def _bounded(self, p):
        return -np.expm1(self.q * np.log(p)) / self.q if self.q else -np.log(p)


def _inside(p):
    """Return probabilities that are neither 0 nor 1, where derivatives have poles."""
    return np.clip(p, 1e-14, 1 - 1e-14)
