"""Wrong labels by a stratified sample: intervals against exact ones, and how rows are drawn."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import hypergeom

from robell._core.labels.sampling import (
    _Hypergeometric,
    _Test,
    cut_strata,
    domain_strata,
    draw_rows,
    interval_of_share,
    interval_of_total,
)


def _exact(size, checked, wrong):
    """Try every number of wrong rows of one stratum, by the mid-p of both tails."""
    held = []
    for total in range(wrong, size - checked + wrong + 1):
        x = hypergeom(size, total, checked)
        equal = 0.5 * x.pmf(wrong)
        if min(x.cdf(wrong) - equal, x.sf(wrong - 1) - equal) > 0.025:
            held.append(total)
    return held[0], held[-1]


@given(st.integers(1, 300), st.data())
@settings(max_examples=25, deadline=None)
def test_one_stratum_has_the_exact_interval(size, data):
    checked = data.draw(st.integers(1, size))
    wrong = data.draw(st.integers(0, checked))
    found = interval_of_total(*(np.array([float(v)]) for v in (size, checked, wrong)))
    low, high = _exact(size, checked, wrong)
    assert found.about == pytest.approx(size * wrong / checked)
    # The estimate belongs to the interval, and probabilities on a grid are a little off.
    assert found.low == pytest.approx(min(low, found.about), abs=1)
    assert found.high == pytest.approx(max(high, found.about), abs=1)


def _sampled(rng, sizes, checked, totals):
    drawn = [
        rng.hypergeometric(w, n - w, m) for n, m, w in zip(sizes, checked, totals, strict=True)
    ]
    return np.array(drawn, float)


@pytest.mark.parametrize(
    ("sizes", "checked", "totals"),
    [
        ([900, 60, 40], [60, 20, 20], [4, 20, 33]),  # a good classifier
        ([900, 60, 40], [60, 20, 20], [80, 5, 4]),  # a bad one
        ([500, 200, 200, 100], [30, 20, 20, 30], [200, 80, 80, 40]),
    ],
)
def test_intervals_hold_the_truth(sizes, checked, totals):
    rng = np.random.default_rng(0)
    sizes, checked, held, n = np.array(sizes, float), np.array(checked, float), 0, 120
    shares, share = 0, totals[-1] / sum(totals)
    on_list = np.arange(len(sizes)) == len(sizes) - 1
    for k in range(n):
        wrong = _sampled(rng, sizes.astype(int), checked.astype(int), totals)
        found = interval_of_total(sizes, checked, wrong)
        held += found.low <= sum(totals) <= found.high
        if k < 40:
            of_list = interval_of_share(sizes, checked, wrong, on_list)
            shares += of_list.low - 1e-3 <= share <= of_list.high + 1e-3
    assert held >= 0.9 * n
    assert shares >= 34


def test_what_is_checked_in_whole_is_known():
    sizes, wrong = np.array([30.0, 20.0]), np.array([3.0, 1.0])
    assert interval_of_total(sizes, sizes, wrong) == (4.0, 4.0, 4.0)
    found = interval_of_share(sizes, sizes, wrong, np.array([True, False]))
    assert found == pytest.approx((0.75, 0.75, 0.75), abs=3e-3)


def test_without_a_wrong_row_any_share_is_possible():
    sizes = np.array([90.0, 10.0])
    assert interval_of_total(sizes, np.array([30.0, 5.0]), np.zeros(2)).low == 0
    found = interval_of_share(sizes, np.array([30.0, 5.0]), np.zeros(2), np.array([True, False]))
    assert np.isnan(found.about)
    assert found[1:] == (0.0, 1.0)


@given(st.integers(0, 2**32 - 1), st.integers(30, 400), st.integers(20, 200), st.floats(0, 1))
@settings(max_examples=60, deadline=None)
def test_rows_drawn_are_those_asked_for(seed, n, n_rows, evenness):
    rng = np.random.default_rng(seed)
    doubt, block = rng.beta(0.3, 2.0, n).round(2), rng.integers(0, 3, n)
    stratum, counts = cut_strata(doubt, doubt > 0.5, n_rows, evenness)
    sizes = np.bincount(stratum)
    assert (counts >= np.minimum(sizes, 3)).all()
    assert (counts <= sizes).all()
    assert counts.sum() == max(min(n_rows, n), np.minimum(sizes, 3).sum())
    drawn = draw_rows(stratum, counts, block, rng)
    assert len(np.unique(drawn)) == len(drawn)
    np.testing.assert_array_equal(np.bincount(stratum[drawn]), counts)
    for h, size in enumerate(sizes):  # each block has its share of every stratum, up to a row
        share = np.bincount(block[stratum == h], minlength=3) * counts[h] / size
        own = np.bincount(block[drawn[stratum[drawn] == h]], minlength=3)
        assert (np.abs(own - share) < 1 + 1e-9).all()
    for h in range(len(counts)):  # the list is made of whole strata
        assert len(np.unique(doubt[stratum == h] > 0.5)) == 1


@pytest.mark.parametrize("n_rows", [20, 35, 60])
def test_few_rows_are_not_spread_over_many_strata(rng, n_rows):
    """Of two or three rows each, 95 % intervals held 90 % of the totals."""
    doubt = rng.beta(0.3, 5.0, 1000)
    counts = cut_strata(doubt, np.zeros(1000, bool), n_rows, 0.1)[1]
    assert counts.sum() == n_rows
    assert counts.min() >= 9


def test_every_row_of_a_stratum_is_drawn_equally_often():
    stratum, block = np.repeat([0, 1], [20, 30]), np.arange(50) % 3
    times, rng = np.zeros(50), np.random.default_rng(0)
    for _ in range(3000):
        times[draw_rows(stratum, np.array([4, 15]), block, rng)] += 1
    np.testing.assert_allclose(times / 3000, np.repeat([0.2, 0.5], [20, 30]), atol=0.04)


def test_a_part_of_the_table_has_its_own_strata():
    stratum = np.repeat([0, 1], [100, 50])
    inside = np.arange(150) % 2 == 0
    checked = np.array([0, 1, 2, 3, 100, 101, 102])
    wrong = np.array([True, True, False, False, True, False, False])
    sizes, n, x = domain_strata(stratum, checked, wrong, inside)
    np.testing.assert_array_equal(sizes, [50, 25])
    np.testing.assert_array_equal(n, [2, 2])
    np.testing.assert_array_equal(x, [1, 1])
    # A part of one row, which need not be among those drawn: counted among all of its stratum.
    only = np.arange(150) == 7
    assert [v.tolist() for v in domain_strata(stratum, checked, wrong, only)] == [[100], [4], [0]]


def test_strata_have_equal_sums_of_s_and_are_checked_in_proportion(rng):
    doubt, n = rng.beta(0.5, 1.5, 900), 120
    listed = doubt > 0.6
    stratum, counts = cut_strata(doubt, listed, n, 0.2)
    p = (n * doubt + 1.5) / (n + 3.0)
    s = np.sqrt(p * (1.0 - p))
    s = 0.8 * s + 0.2 * s.mean()
    part, total = np.empty(900, int), 0.0
    for row in np.argsort(doubt, kind="stable"):
        total += s[row]
        part[row] = min(int(8.0 * total / s.sum() - 1e-9), 7)
    pairs = set(zip(part.tolist(), listed.tolist(), stratum.tolist(), strict=True))
    assert len(pairs) == len(counts) == stratum.max() + 1
    expected = n * np.bincount(stratum, s) / s.sum()
    assert (expected > 3.0).all()  # no stratum at its bounds
    assert (abs(counts - expected) < 1.0).all()
    assert counts.sum() == n


def test_ends_at_what_was_found_and_at_what_may_be_wrong_are_whole_rows():
    """Two rows are unchecked: none of them may be wrong, or both."""
    found = interval_of_total(np.array([12.0]), np.array([10.0]), np.array([3.0]))
    assert found == (pytest.approx(3.6), 3.0, 5.0)


@pytest.mark.parametrize("wrong", [12, 40])
def test_a_share_beside_a_stratum_known_in_whole_has_the_exact_interval(wrong):
    """All 300 wrong rows of one stratum are known: the other's 2,000 rows decide the share."""
    sizes, checked = np.array([2000.0, 600.0]), np.array([200.0, 600.0])
    found = np.array([float(wrong), 300.0])
    share = interval_of_share(sizes, checked, found, np.array([True, False]))
    low, high = _exact(2000, 200, wrong)
    assert share.low * 300.0 / (1.0 - share.low) == pytest.approx(low, abs=3)
    assert share.high * 300.0 / (1.0 - share.high) == pytest.approx(high, abs=3)


def test_the_likeliest_rows_under_a_contrast_satisfy_it():
    sizes, checked = np.array([500.0, 200.0, 100.0]), np.array([50.0, 40.0, 30.0])
    weights = np.array([0.3, -0.7, 0.3])
    rows = _Test(sizes, checked, np.array([5.0, 9.0, 4.0]), weights).where_zero()
    assert weights @ rows == pytest.approx(0.0, abs=0.01)


@pytest.mark.parametrize("size", [60, 5000])
def test_both_tails_have_all_the_probability(size):
    """Half of P(T = t) counts in each, wherever t stands on the grid."""
    for checked in range(2, 50, 3):
        for wrong in (0, checked // 2, checked):
            test = _Test(*np.array([[size], [checked], [wrong]], float), np.ones(1))
            tails = test.tails(np.array([0.4 * size]))
            assert sum(tails) == pytest.approx(1.0, abs=1e-9)


def test_both_tails_have_all_the_probability_where_a_total_is_between_two_places():
    test = _Test(np.array([5000.0]), np.array([1000.0]), np.array([500.0]), np.ones(1))
    assert sum(test.tails(np.array([2500.0]))) == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("wrong", [0.0, 3.0, 3.25, 7.9, 20.0])
def test_a_sample_has_its_part_of_the_wrong_rows_in_the_mean(wrong):
    probability = _Hypergeometric(20.0, 8.0).probabilities(wrong)
    assert probability.sum() == pytest.approx(1.0)
    assert probability @ np.arange(9.0) == pytest.approx(8.0 * wrong / 20.0)
