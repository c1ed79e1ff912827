"""Probabilities mended under wrong labels: the maximum is one, and known distortions are undone."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import softmax

from robell._core.labels.link import OFFSET_PRECISION, fit_recalibration
from robell._core.labels.noise import even_noise


def drawn(rng, n, slope, offsets, rates):
    """Scores of which the true class has softmax(slope s + offsets), and noisy labels."""
    scores = np.log(rng.dirichlet(np.full(len(offsets), 0.7), n) + 1e-6)
    P = softmax(slope * scores + offsets, axis=1)
    z = (P.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1)
    N = even_noise(np.asarray(rates))
    y = (N[z].cumsum(axis=1) < rng.random((n, 1))).sum(axis=1)
    return scores, y, N


def literal_loss(theta, scores, y, N):
    total = 0.5 * theta[0] ** 2 + 0.5 * OFFSET_PRECISION * sum(b**2 for b in theta[1:])
    for s, label in zip(scores, y, strict=True):
        e = [np.exp(np.exp(theta[0]) * s[k] + theta[1 + k]) for k in range(len(s))]
        total -= np.log(sum(e[k] / sum(e) * N[k, label] for k in range(len(s))))
    return total


def test_the_literal_loss_is_smallest_there():
    rng = np.random.default_rng(0)
    scores, y, N = drawn(rng, 60, 0.6, [0.0, 0.5, -0.5], [0.1, 0.2, 0.1])
    link = fit_recalibration(scores, y, N)
    theta = np.append(np.log(link.matrix[0, 0]), link.offsets)
    best = literal_loss(theta, scores, y, N)
    for k in range(4):
        for step in (-0.05, 0.05):
            moved = theta.copy()
            moved[k] += step
            assert literal_loss(moved, scores, y, N) > best


@pytest.mark.parametrize("rates", [[0.0, 0.0], [0.2, 0.2], [0.05, 0.3]])
def test_known_distortions_are_undone(rates):
    scores, y, N = drawn(np.random.default_rng(1), 20_000, 0.5, [0.7, -0.7], rates)
    link = fit_recalibration(scores, y, N)
    assert link.matrix[0, 0] == pytest.approx(0.5, abs=0.05)
    assert link.offsets[0] - link.offsets[1] == pytest.approx(1.4, abs=0.15)
    P = link.probability(scores)
    assert link.shares == pytest.approx(P.mean(axis=0), abs=0.02)


def test_without_rows_to_speak_of_probabilities_stay_as_they_are():
    scores, y, N = drawn(np.random.default_rng(2), 4, 1.0, [0.0, 0.0], [0.1, 0.1])
    link = fit_recalibration(scores, y, N)
    assert np.abs(link.offsets).max() < 0.4
    assert 0.3 < link.matrix[0, 0] < 3.0


@pytest.mark.parametrize("slope", [0.3, 4.0])
def test_of_few_rows_it_is_the_minimum_that_an_optimiser_without_derivatives_finds(slope):
    scores, y, N = drawn(np.random.default_rng(4), 12, slope, [0.0, 0.0], [0.05, 0.05])
    link = fit_recalibration(scores, y, N)
    theta = np.append(np.log(link.matrix[0, 0]), link.offsets)
    best = minimize(literal_loss, np.zeros(3), (scores, y, N), "Nelder-Mead",
                    options={"xatol": 1e-8, "fatol": 1e-12})  # fmt: skip
    assert abs(best.x[0]) > 0.1  # the prior of the slope has a say
    np.testing.assert_allclose(theta, best.x, atol=1e-3)
