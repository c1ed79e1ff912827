"""How probable it is that a number is wrong, from predictions that were made without its row.

The residual e of a row is its number less the prediction, s its scale beside that of other rows:

    right   e ~ σ s t_ν     σ, ν estimated: right numbers have tails as heavy as the table shows
    wrong   e ~ W t_2       W the spread of all numbers: a wrong number may stand anywhere

    P(wrong | e) = ε t_2(e/W)/W / [ε t_2(e/W)/W + (1 - ε) t_ν(e/σs)/σs]

σ and the share ε of wrong numbers are found by expectation and maximisation, ν is the one of few
with the largest likelihood. ν > 2: what lies far enough out is wrong, whatever the tails.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import expit
from scipy.stats import t as student

from robell._core.array import Array
from robell._core.membership.equations import weighted_median

TAILS = (3.0, 5.0, 10.0, 30.0)  # ν
WRONG_TAILS = 2.0
STEPS = 60
NORMAL_MEDIAN = 0.6745  # of |e|/σ under a normal distribution
PRIOR_WRONG, PRIOR_ROWS = 1.0, 20.0  # before a look at any row: one in twenty is wrong
MOST_WRONG = 0.45
SMALLEST_SIGMA = 1e-9  # of the spread


class NumberNoise(NamedTuple):
    """The noise of right numbers, and how many are wrong."""

    sigma: float
    tails: float  # ν
    rate: float  # ε
    spread: float  # W

    def right(self, residual: Array, scale: Array) -> Array:
        """Return the probability that each number is right, small ones with all their digits."""
        log_odds = self._log_right(residual, scale) - self._log_wrong(residual)
        return np.asarray(expit(log_odds))

    def log_likelihood(self, residual: Array, scale: Array) -> Array:
        """Return the logarithm of the density of each residual."""
        return np.asarray(np.logaddexp(self._log_wrong(residual), self._log_right(residual, scale)))

    def _log_wrong(self, residual: Array) -> Array:
        density = student.logpdf(residual / self.spread, WRONG_TAILS)
        return np.asarray(density - np.log(self.spread) + np.log(self.rate))

    def _log_right(self, residual: Array, scale: Array) -> Array:
        sigma = self.sigma * scale
        density = student.logpdf(residual / sigma, self.tails) - np.log(sigma)
        return np.asarray(density + np.log1p(-self.rate))


def fit_number_noise(residual: Array, scale: Array, spread: float, weight: Array) -> NumberNoise:
    """Estimate the noise from residuals, each counted ``weight`` times."""
    found = [_fit_with(tails, residual, scale, spread, weight) for tails in TAILS]
    likelihoods = [float(weight @ noise.log_likelihood(residual, scale)) for noise in found]
    return found[int(np.argmax(likelihoods))]


def _fit_with(
    tails: float, residual: Array, scale: Array, spread: float, weight: Array
) -> NumberNoise:
    """Estimate σ and ε by expectation and maximisation, for tails that are known."""
    relative, total = residual / scale, float(weight.sum())
    least = SMALLEST_SIGMA * spread
    start = float(weighted_median(np.abs(relative)[:, None], weight)[0]) / NORMAL_MEDIAN
    noise = NumberNoise(max(start, least), tails, PRIOR_WRONG / PRIOR_ROWS, spread)
    for _ in range(STEPS):
        right = weight * noise.right(residual, scale)
        # A t distribution is a normal one whose variance differs by row: what is known of it.
        precision = (tails + 1.0) / (tails + np.square(relative / noise.sigma))
        variance = float(right @ (precision * np.square(relative))) / max(right.sum(), 1e-300)
        rate = (total - float(right.sum()) + PRIOR_WRONG) / (total + PRIOR_ROWS)
        noise = noise._replace(
            sigma=max(float(np.sqrt(variance)), least), rate=min(rate, MOST_WRONG)
        )
    return noise


def spread_of(values: Array, weight: Array) -> tuple[float, float]:
    """Return the median, and 1.4826 times the median distance from it: few wrong numbers or many.

    Where more than half of the numbers are equal, the mean distance stands in.
    """
    middle = float(weighted_median(values[:, None], weight)[0])
    off = np.abs(values - middle)
    spread = float(weighted_median(off[:, None], weight)[0]) / NORMAL_MEDIAN
    if not spread:
        spread = float(weight @ off / weight.sum())
    return middle, spread
