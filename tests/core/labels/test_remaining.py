"""What a review in progress has left: the expectation, and bounds that hold at any time."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robell._core.labels.remaining import odds_factor, review_progress, with_odds, wrong_in_table


def _review(rng, n_rows, rate, *, is_good, n_decisions, every):
    """Return doubts, and a review down the list with a row at random after so many."""
    truth = rng.random(n_rows) < rate
    shift = 2.0 if is_good else 0.0
    score = rng.normal(shift * truth, 1.0)
    log_odds = shift * score - shift**2 / 2 + np.log(max(rate, 1e-3) / (1.0 - rate))
    doubt = 1.0 / (1.0 + np.exp(-log_odds)) if is_good else rng.beta(0.3, 2.0, n_rows)
    listed, shuffled = list(np.argsort(-doubt)), list(rng.permutation(n_rows))
    decided, at_random = [], []
    for k in range(n_decisions):
        at_random.append(k % every == every - 1)
        order = shuffled if at_random[-1] else listed
        decided.append(next(row for row in order if row not in decided))
    decided = np.array(decided, int)
    return doubt, truth, decided, truth[decided], np.array(at_random, bool)


def _slow(doubt, decided, wrong, at_random, confidence):
    """Try every number of wrong labels, and multiply the ratios row by row."""
    n_rows, held = len(doubt), []
    for m in range(int(wrong.sum()), n_rows - int((~wrong).sum()) + 1):
        product, largest, x, k, found, left = 1.0, 1.0, 0, 0, 0, float(doubt.sum())
        for t, row in enumerate(decided):
            undecided = n_rows - t
            if at_random[t]:
                prior = max(left / undecided, 0.005)
                q = min(max((4 * prior + x) / (4 + k), 0.005), 0.995)
                mu = (m - found) / undecided
                mu, q = (mu, q) if wrong[t] else (1 - mu, 1 - q)
                product = product * q / mu if mu > 0 else np.inf
                largest, x, k = max(largest, product), x + wrong[t], k + 1
            found, left = found + wrong[t], left - doubt[row]
        if largest < 1 / (1 - confidence):
            held.append(m)
    return held


@given(st.integers(0, 2**32 - 1), st.integers(5, 60), st.floats(0, 0.5), st.booleans())
@settings(max_examples=40, deadline=None)
def test_bounds_are_those_of_trying_every_number(seed, n_rows, rate, is_good):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(0, n_rows + 1))
    doubt, _, *review = _review(rng, n_rows, rate, is_good=is_good, n_decisions=n, every=3)
    held = _slow(doubt, *review, 0.9)
    if held:
        assert wrong_in_table(doubt, *review, 0.9) == (held[0], held[-1])
        assert held == list(range(held[0], held[-1] + 1))


@pytest.mark.parametrize(("rate", "is_good"), [(0.02, True), (0.3, True), (0.1, False)])
def test_bounds_hold_at_all_times_at_once(rate, is_good):
    """A number that was excluded once is excluded for good: the last interval says it of all."""
    rng, missed, n_tables = np.random.default_rng(0), 0, 200
    for _ in range(n_tables):
        made = _review(rng, 120, rate, is_good=is_good, n_decisions=80, every=2)
        doubt, truth, *review = made
        low, high = wrong_in_table(doubt, *review)
        missed += not low <= truth.sum() <= high
    assert missed <= 18  # of 200, of which at most 10 are expected: a chance of less than .01


def test_what_is_left_among_the_next_rows():
    rng = np.random.default_rng(1)
    expected, actual = [], []
    for _ in range(100):
        doubt, truth, *review = _review(rng, 200, 0.1, is_good=True, n_decisions=15, every=5)
        progress = review_progress(doubt, *review, 20)
        left = np.setdiff1d(np.argsort(-doubt), review[0], assume_unique=True)
        next_rows = left[np.argsort(-doubt[left])][:20]
        expected.append(progress.expected)
        actual.append(truth[next_rows].sum())
    assert np.mean(expected) == pytest.approx(np.mean(actual), rel=0.1)


def test_the_odds_follow_what_was_found():
    doubt = np.full(30, 0.6)
    fewer, as_many, more = (odds_factor(doubt, n, 5.0) for n in (3, 18, 30))
    assert fewer < as_many < more
    assert as_many == pytest.approx(1.0)
    for factor, n in ((fewer, 3), (more, 30)):
        assert n - with_odds(doubt, factor).sum() == pytest.approx(5.0 * (factor - 1.0))


def test_before_the_first_decision_and_after_the_last():
    doubt = np.linspace(0.9, 0.0, 50)
    nothing = np.array([], int), np.array([], bool), np.array([], bool)
    start = review_progress(doubt, *nothing, 10)
    assert (start.ahead, start.low, start.high, start.done) == (10, 0, 50, False)
    assert start.expected == pytest.approx(doubt[:10].sum())
    wrong = np.arange(50) < 7
    end = review_progress(doubt, np.arange(50), wrong, np.zeros(50, bool))
    assert end == (0, 0.0, 0, 0, True)
