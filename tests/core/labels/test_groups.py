"""Noise by group: known rates are recovered, chance is not called a difference."""

from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import hypergeom, norm

from robell._core.labels.groups import (
    INTERVAL,
    Table,
    _shrink,
    count_disagreements,
    excess_of,
    factors_of,
    fit_groups,
    holm,
    p_value_of,
    posterior_by_row,
)
from robell._core.labels.link import posterior

N = np.array([[0.9, 0.1], [0.1, 0.9]])


def draw(rng, rates, rows_a_group):
    """Rows of known P(z | s), their labels wrong at the rates of their groups."""
    group = np.repeat(np.arange(len(rates)), rows_a_group)
    p1 = rng.beta(0.3, 0.5, len(group))
    z = (rng.random(len(group)) < p1).astype(int)
    y = np.where(rng.random(len(group)) < np.asarray(rates)[group], 1 - z, z)
    return np.stack([1 - p1, p1], axis=1), y, N, group


def test_known_rates_are_recovered():
    found = fit_groups(*draw(np.random.default_rng(1), [0.1] * 8 + [0.3, 0.0], 600))
    rate = 0.11 + found.change  # of all rows 11 % are wrong
    assert rate[8] == pytest.approx(0.3, abs=0.05)
    assert rate[9] == pytest.approx(0.0, abs=0.05)
    assert rate[:8] == pytest.approx(0.1, abs=0.06)
    assert (holm(found.p_value) < 0.05).tolist() == [False] * 8 + [True, True]


@pytest.mark.parametrize("n_classes", [2, 4])
def test_changes_are_the_excess_over_what_a_wrong_label_adds_row_by_row(rng, n_classes):
    P = rng.dirichlet(np.full(n_classes, 0.3), 120)
    noise = np.full((n_classes, n_classes), 0.1 / (n_classes - 1))
    np.fill_diagonal(noise, 0.9)
    y, group = rng.integers(0, n_classes, 120), rng.integers(0, 3, 120)
    best = P.argmax(axis=1)
    hardness = np.array([1.0 - P[i] @ noise[:, best[i]] for i in range(120)])
    excess, variance = excess_of(count_disagreements(best != y, hardness, group, 3))
    found = fit_groups(P, y, noise, group)
    for g in range(3):
        mine = np.flatnonzero(group == g)
        slope = sum(P[i].max() - (1.0 - P[i].max()) / (n_classes - 1) for i in mine)
        slope = max(slope, 0.1 * len(mine))
        assert found.seen[g] == pytest.approx(excess[g] / slope)
        assert found.seen_error[g] == pytest.approx(np.sqrt(variance[g]) / slope)


def test_equal_groups_differ_in_at_most_one_table_of_twenty_and_are_drawn_together():
    rng = np.random.default_rng(2)
    alarms, moved = 0, []
    for _ in range(100):
        found = fit_groups(*draw(rng, [0.1] * int(rng.integers(2, 12)), int(rng.integers(5, 200))))
        alarms += holm(found.p_value).min() < 0.05
        moved.append(np.abs(found.change).mean())
    assert np.mean(moved) < 0.01
    assert alarms / 100 < 0.05 + 2.5 * np.sqrt(0.05 * 0.95 / 100)


def test_intervals_hold_the_rate():
    rng, inside = np.random.default_rng(4), []
    for _ in range(40):
        rates = np.clip(rng.normal(0.15, 0.08, 10), 0, 0.5)
        found = fit_groups(*draw(rng, rates, 150))
        off = found.change - (rates - rates.mean())
        inside.append(np.abs(off) <= 1.645 * found.error)
    assert 0.84 < np.mean(inside) < 0.97


def test_a_group_of_one_row_stays_with_the_whole():
    P, y, _, group = draw(np.random.default_rng(3), [0.1, 0.1, 0.1], 400)
    P, y, group = P[:801], y[:801], group[:801]
    P[800], y[800] = [0.99, 0.01], 1  # plainly wrong
    found = fit_groups(P, y, N, group)
    assert 0.0 <= found.change[2] < 0.05
    assert found.p_value[2] > 0.02


def test_hard_rows_are_not_taken_for_wrong_ones():
    rng = np.random.default_rng(5)
    group = np.repeat([0, 1], 1000)
    p1 = np.where(group == 0, rng.choice([0.02, 0.98], 2000), rng.uniform(0.2, 0.8, 2000))
    z = (rng.random(2000) < p1).astype(int)
    y = np.where(rng.random(2000) < 0.1, 1 - z, z)
    found = fit_groups(np.stack([1 - p1, p1], axis=1), y, N, group)
    assert found.p_value.min() > 0.05
    assert np.abs(found.change).max() < 0.05


@given(st.lists(st.tuples(*[st.integers(0, 6)] * 4), min_size=1, max_size=3))
def test_the_exact_p_value_counts_all_tables(strata):
    # each stratum: disagreements and others of the group, then of the rest
    odd = np.array([[s[0] for s in strata], [s[2] for s in strata]], float)
    rows = odd + np.array([[s[1] for s in strata], [s[3] for s in strata]])
    table = Table(rows, odd)
    excess, variance = excess_of(table)
    assert excess.sum() == pytest.approx(0.0, abs=1e-9)
    chances = {0: 1.0}
    for k in range(len(strata)):
        n, D, m = int(rows[:, k].sum()), int(odd[:, k].sum()), int(rows[0, k])
        now = {}
        for j in range(min(D, m) + 1):
            if m - j <= n - D:
                chance = comb(D, j) * comb(n - D, m - j) / comb(n, m)
                for before, p in chances.items():
                    now[before + j] = now.get(before + j, 0.0) + p * chance
        chances = now
    found = int(odd[0].sum())
    low = sum(p for j, p in chances.items() if j <= found)
    high = sum(p for j, p in chances.items() if j >= found)
    mean = sum(j * p for j, p in chances.items())
    assert excess[0] == pytest.approx(found - mean, abs=1e-9)
    assert variance[0] == pytest.approx(
        sum((j - mean) ** 2 * p for j, p in chances.items()), abs=1e-9
    )
    expected = min(1.0, 2 * min(low, high)) if variance[0] > 0 else 1.0
    assert p_value_of(table, 0, excess[0], variance[0]) == pytest.approx(expected)


def test_the_p_value_of_a_large_group_is_two_sided():
    table = Table(np.array([[400.0]]), np.array([[120.0]]))
    for excess in (-15.0, 15.0):
        assert p_value_of(table, 0, excess, 100.0) == pytest.approx(
            0.13361440253771614
        )  # 2 Φ(-1.5)


def test_strata_hold_rows_that_are_as_hard():
    rng = np.random.default_rng(6)
    hardness, group = rng.random(500), rng.integers(3, size=500)
    odd = rng.random(500) < hardness
    table = count_disagreements(odd, hardness, group, 3)
    assert table.rows.sum() == 500
    assert table.odd.sum() == odd.sum()
    assert (table.rows.sum(axis=0) == 50).all()
    np.testing.assert_array_equal(table.rows.sum(axis=1), np.bincount(group))


def noise_at(N, factor):
    """The noise matrix in which wrong labels are so many times as frequent."""
    scaled = np.array([[factor * N[z, y] for y in range(len(N))] for z in range(len(N))])
    for z in range(len(N)):
        scaled[z, z] = 1 - sum(scaled[z, y] for y in range(len(N)) if y != z)
    return scaled


def test_rows_are_judged_by_the_noise_of_their_group():
    rng = np.random.default_rng(8)
    N = np.array([[0.9, 0.06, 0.04], [0.1, 0.8, 0.1], [0.0, 0.1, 0.9]])
    shares = np.array([0.5, 0.2, 0.3])
    change = np.array([-0.1, 0.0, 0.2, 5.0, -5.0])
    factors = factors_of(N, shares, change)
    rates = [shares @ (1 - np.diag(noise_at(N, factor))) for factor in factors]
    assert rates[:3] == pytest.approx(shares @ (1 - np.diag(N)) + change[:3])
    assert np.diag(noise_at(N, factors[3])).min() == pytest.approx(0.1)
    assert factors[4] > 0
    P, y = rng.dirichlet(np.ones(3), 20), rng.integers(3, size=20)
    factor = factors[rng.integers(5, size=20)]
    found = posterior_by_row(P, y, N, factor)
    for i in range(20):
        expected = posterior(P[[i]], y[[i]], noise_at(N, factor[i]))[0]
        np.testing.assert_allclose(found[i], expected, rtol=1e-12)


def test_large_differences_stay_and_small_ones_vanish():
    mean, deviation = _shrink(np.array([0.3, -0.1, -0.1, -0.1]), np.full(4, 0.01))
    assert mean == pytest.approx([0.3, -0.1, -0.1, -0.1], rel=0.05)
    assert deviation == pytest.approx(0.01, rel=0.1)
    mean, _ = _shrink(np.array([0.01, -0.01, 0.0, 0.0]), np.full(4, 0.02))
    assert np.abs(mean).max() < 0.002


def test_holm_is_its_literal_twin():
    rng = np.random.default_rng(7)
    p = rng.random(9) ** 3
    expected = np.empty(9)
    worst = 0.0
    for rank, k in enumerate(np.argsort(p)):
        worst = max(worst, (9 - rank) * p[k])
        expected[k] = min(1.0, worst)
    np.testing.assert_allclose(holm(p), expected)


def test_shrinkage_is_the_posterior_mean_over_all_spreads_written_out():
    """Even odds that groups do not differ at all, else by .01 to .5: 15 spreads, each as likely."""
    difference, error = np.array([0.12, -0.02, -0.05, 0.03]), np.array([0.04, 0.02, 0.05, 0.03])
    spreads = [0.0] + [0.01 * 50.0 ** (k / 14) for k in range(15)]
    odds, means = [], []
    for tau in spreads:
        scale = [np.sqrt(tau**2 + e**2) for e in error]
        fit = np.mean([norm.logpdf(d, scale=s) for d, s in zip(difference, scale, strict=True)])
        odds.append(np.exp(3 * fit) * (0.5 if tau == 0 else 0.5 / 15))  # 4 groups, 3 observations
        means.append([d * tau**2 / s**2 for d, s in zip(difference, scale, strict=True)])
    expected = np.array(odds) @ np.array(means) / np.sum(odds)
    np.testing.assert_allclose(_shrink(difference, error)[0], expected)


def test_intervals_are_of_90_percent():
    assert norm.cdf(INTERVAL) - norm.cdf(-INTERVAL) == pytest.approx(0.9)


@pytest.mark.parametrize(("n", "is_exact"), [(190, True), (220, False)])
def test_p_values_are_exact_up_to_a_variance_of_25_and_normal_beyond(n, is_exact):
    table = Table(np.array([[n, n]]).T.astype(float), np.array([[n / 2 + 9, n / 2 - 9]]).T)
    excess, variance = excess_of(table)
    assert (variance[0] <= 25.0) == is_exact
    drawn = hypergeom(2 * n, n, n)
    exact = 2.0 * drawn.sf(n / 2 + 8)
    expected = exact if is_exact else 2.0 * norm.sf(9.0 / np.sqrt(variance[0]))
    assert abs(exact / (2.0 * norm.sf(9.0 / np.sqrt(variance[0]))) - 1.0) > 0.01
    assert p_value_of(table, 0, excess[0], variance[0]) == pytest.approx(expected)
