"""What a review in progress expects among the next rows, their odds corrected by what was found."""

import numpy as np
import pytest

from robell.labels.reviewed import PRIOR_ROWS, odds_factor, with_odds


def test_what_is_left_among_the_next_rows():
    rng = np.random.default_rng(1)
    expected, actual = [], []
    for _ in range(100):
        truth = rng.random(200) < 0.1
        log_odds = 2.0 * rng.normal(2.0 * truth, 1.0) - 2.0 + np.log(0.1 / 0.9)
        doubt = 1.0 / (1.0 + np.exp(-log_odds))
        listed = np.argsort(-doubt)
        seen, following = listed[:15], listed[15:35]
        factor = odds_factor(doubt[seen], int(truth[seen].sum()), PRIOR_ROWS)
        expected.append(with_odds(doubt[following], factor).sum())
        actual.append(truth[following].sum())
    assert np.mean(expected) == pytest.approx(np.mean(actual), rel=0.1)


def test_the_odds_follow_what_was_found():
    doubt = np.full(30, 0.6)
    fewer, as_many, more = (odds_factor(doubt, n, 5.0) for n in (3, 18, 30))
    assert fewer < as_many < more
    assert as_many == pytest.approx(1.0)
    for factor, n in ((fewer, 3), (more, 30)):
        assert n - with_odds(doubt, factor).sum() == pytest.approx(5.0 * (factor - 1.0))
    assert odds_factor(doubt[:0], 0, 5.0) == pytest.approx(1.0)  # before the first decision
