"""Noise by group: known factors are recovered, chance is not called a difference."""

import numpy as np
import pytest

from robell._core.labels.groups import LOG_FACTORS, _group_likelihoods, fit_groups, noise_of_group

N = np.array([[0.9, 0.1], [0.2, 0.8]])


def draw(rng, factors, rows_a_group):
    """Rows with scores, labels wrong `factors` times as often as by N."""
    group = np.repeat(np.arange(len(factors)), rows_a_group)
    p1 = rng.beta(0.3, 0.5, len(group))
    z = (rng.random(len(group)) < p1).astype(int)
    wrong = np.where(z == 0, 0.1, 0.2) * np.asarray(factors)[group]
    y = np.where(rng.random(len(group)) < wrong, 1 - z, z)
    return np.stack([1 - p1, p1], axis=1), y, group


def test_the_likelihood_is_that_of_the_scaled_matrix():
    rng = np.random.default_rng(0)
    P, y, group = draw(rng, [1, 2], 20)
    weight = rng.integers(1, 3, len(y)) * 1.0
    found = _group_likelihoods(P, y, N, group, weight, 2)
    for place in (0, 40, 80, 100):
        scaled = noise_of_group(N, float(np.exp(LOG_FACTORS[place])))
        np.testing.assert_allclose(scaled.sum(axis=1), 1.0)
        expected = np.zeros(2)
        for i in range(len(y)):
            expected[group[i]] += weight[i] * np.log((P[i] * scaled[:, y[i]]).sum())
        np.testing.assert_allclose(found[:, place], expected, rtol=1e-10)


def test_known_factors_are_recovered():
    rng = np.random.default_rng(1)
    factors = [1.0] * 8 + [3.0, 0.2]
    found = fit_groups(*draw_ordered(rng, factors, 600))
    assert found.factor[8] == pytest.approx(3.0, rel=0.25)
    assert found.factor[9] < 0.5
    assert found.p_value[8] < 1e-4
    # odd ones are drawn to the others; those like the whole lie within their intervals
    assert ((found.low <= 1.0) & (found.high >= 1.0 - 1e-9))[:8].mean() >= 0.8
    assert found.factor[:8] == pytest.approx(1.0, abs=0.4)


def draw_ordered(rng, factors, rows_a_group):
    P, y, group = draw(rng, factors, rows_a_group)
    return P, y, N, group, np.ones(len(y))


def test_equal_groups_are_drawn_together_and_p_values_are_even():
    rng = np.random.default_rng(2)
    small = []
    for _ in range(30):
        found = fit_groups(*draw_ordered(rng, [1.0] * 12, 150))
        assert np.abs(np.log(found.factor)).max() < 1.0
        small.append((found.p_value < 0.05).mean())
    assert np.mean(small) < 0.06


def test_a_group_of_one_row_stays_with_the_whole():
    rng = np.random.default_rng(3)
    P, y, group = draw(rng, [1.0, 1.0, 2.0], 400)
    P, y, group = P[: 800 + 1], y[: 800 + 1], group[: 800 + 1]
    P[800], y[800] = [0.99, 0.01], 1  # plainly wrong
    found = fit_groups(P, y, N, group, np.ones(len(y)))
    assert 0.8 < found.factor[2] < 2.0
    assert found.p_value[2] > 0.01
