"""The test of changed labels: statistic, estimate and p-values against their definitions."""

import numpy as np
import pytest
from scipy.stats import norm

from robell._core.labels.groups import judge_changes, products


def test_statistics_estimates_and_errors_are_the_sums_written_out(rng):
    R, S = rng.normal(size=(60, 2)), rng.normal(0.3, 1.0, 60)
    regions = np.array([np.ones(60, bool), rng.random(60) < 0.5])
    columns, sizes = products(R, S, regions)
    found = judge_changes(columns, sizes, np.random.default_rng(0))
    for place, (g, k) in enumerate((g, k) for g in range(2) for k in range(2)):
        inside = [i for i in range(60) if regions[g, i]]
        terms = np.array([R[i, k] * S[i] if i in inside else 0.0 for i in range(60)])
        size = sum(S[i] ** 2 for i in inside)
        spread = np.sqrt(((terms - terms.mean()) ** 2).sum())
        assert found.statistic[place] == pytest.approx(terms.sum() / spread)
        assert found.change[place] == pytest.approx(terms.sum() / size)
        assert found.error[place] == pytest.approx(spread / size)


def columns_of(statistics, rng, correlated):
    """Return columns of which these are the statistics T."""
    noise = rng.normal(size=(4000, 1 if correlated else len(statistics)))
    noise = np.linalg.qr(noise - noise.mean(axis=0))[0]  # of spread one, uncorrelated
    return noise + np.asarray(statistics) / 4000


@pytest.mark.parametrize("t", [0.5, 1.5, 2.5])
def test_p_values_are_those_of_the_largest_of_a_family(rng, t):
    single = 2.0 * norm.sf(t)
    alone = judge_changes(columns_of([t], rng, False), np.ones(1), rng)
    assert alone.p_value[0] == pytest.approx(single, rel=1e-6)
    alike = judge_changes(columns_of([t, -t, t], rng, True), np.ones(3), rng)
    np.testing.assert_allclose(alike.p_value, single, atol=0.015)
    apart = judge_changes(columns_of([t, -t, t], rng, False), np.ones(3), rng)
    np.testing.assert_allclose(apart.p_value, 1.0 - (1.0 - single) ** 3, atol=0.015)


def test_far_out_p_values_are_bonferronis_not_the_draws(rng):
    found = judge_changes(columns_of([7.0, 0.0], rng, False), np.ones(2), rng)
    assert found.p_value[0] == pytest.approx(4.0 * norm.sf(7.0), rel=1e-6)
    assert found.p_value[1] == pytest.approx(1.0, abs=1e-6)


def test_a_column_of_zeros_has_not_changed(rng):
    columns = np.column_stack([np.zeros(50), rng.normal(size=50)])
    found = judge_changes(columns, np.array([0.0, 1.0]), rng)
    assert found.statistic[0] == 0.0
    assert found.p_value[0] == 1.0
    assert np.isfinite(found.change).all()
