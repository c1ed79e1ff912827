"""The noise of numbers, some of which are wrong: against the formulas written out."""

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import t as student

from robell._core.labels.noise import NumberNoise, fit_number_noise, spread_of


def densities(noise, residual, scale):
    """Return the densities of a right and of a wrong number, each times its share."""
    right = student.pdf(residual / (noise.sigma * scale), noise.tails) / (noise.sigma * scale)
    wrong = student.pdf(residual / noise.spread, 2.0) / noise.spread
    return (1.0 - noise.rate) * right, noise.rate * wrong


def fit_by_hand(residual, scale, spread, weight, tails):
    """Estimate σ and ε for known tails by the formulas; return the likelihood as well."""
    each = np.repeat(abs(residual / scale), weight.astype(int))  # a copy of a row for its weight
    noise = NumberNoise(max(np.median(each) / 0.6745, 1e-9 * spread), tails, 0.05, spread)
    for _ in range(60):
        right, wrong = densities(noise, residual, scale)
        p = weight * right / (right + wrong)
        precision = (tails + 1) / (tails + (residual / scale / noise.sigma) ** 2)
        variance = sum(p * precision * (residual / scale) ** 2) / sum(p)
        rate = (sum(weight) - sum(p) + 1) / (sum(weight) + 20)
        sigma = max(math.sqrt(variance), 1e-9 * spread)
        noise = NumberNoise(sigma, tails, min(rate, 0.45), spread)
    return sum(weight * np.log(sum(densities(noise, residual, scale)))), noise


@pytest.mark.parametrize(("share", "tails"), [(0.0, 3.0), (0.1, 30.0), (0.2, 5.0), (0.7, 30.0)])
def test_the_noise_is_that_of_the_formulas(rng, share, tails):
    n = 60
    scale, weight = rng.uniform(0.5, 2.0, n), rng.integers(1, 4, n).astype(float)
    residual = scale * rng.standard_t(tails, n)
    wrong = rng.random(n) < share
    residual[wrong] = 40.0 * rng.standard_t(2.0, wrong.sum())
    found = fit_number_noise(residual, scale, 40.0, weight)
    slow = [fit_by_hand(residual, scale, 40.0, weight, nu) for nu in (3.0, 5.0, 10.0, 30.0)]
    _, expected = max(slow, key=lambda one: one[0])
    np.testing.assert_allclose(found, expected, rtol=1e-8)
    right, wrong = densities(found, residual, scale)
    np.testing.assert_allclose(found.right(residual, scale), right / (right + wrong), rtol=1e-9)
    density = np.exp(found.log_likelihood(residual, scale))
    np.testing.assert_allclose(density, right + wrong, rtol=1e-9)


def test_the_density_of_a_residual_integrates_to_one():
    noise = NumberNoise(0.7, 5.0, 0.2, 3.0)
    for scale in (0.5, 2.0):
        total, _ = quad(lambda e, s=scale: float(np.exp(noise.log_likelihood(e, s))), -1e4, 1e4,
                        points=[-10.0, 0.0, 10.0], limit=500)  # fmt: skip
        assert total == pytest.approx(1.0, abs=1e-5)


def test_residuals_of_zero_leave_a_spread_and_at_most_45_percent_are_wrong():
    found = fit_number_noise(np.zeros(9), np.ones(9), 2.0, np.ones(9))
    assert found.sigma == 2e-9
    half = np.append(np.zeros(20), np.full(80, 1e3))
    found = fit_number_noise(half + np.tile([0.1, -0.1], 50), np.ones(100), 500.0, np.ones(100))
    assert found.rate <= 0.45


def test_the_spread_is_the_median_distance_or_the_mean_one_where_most_are_equal(rng):
    values = rng.normal(3.0, 2.0, 20_001)
    middle, spread = spread_of(values, np.ones(len(values)))
    assert middle == np.median(values)
    assert spread == pytest.approx(np.median(abs(values - middle)) / 0.6745)
    assert spread == pytest.approx(2.0, rel=0.03)
    weighted = spread_of(values[:9], np.arange(1.0, 10.0))
    assert weighted == spread_of(np.repeat(values[:9], np.arange(1, 10)), np.ones(45))
    equal = np.array([5.0, 5.0, 5.0, 6.0, 9.0])
    assert spread_of(equal, np.array([2.0, 1.0, 1.0, 1.0, 2.0])) == (5.0, pytest.approx(9.0 / 7.0))
