import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robell.noise import flip_labels


@given(
    counts=st.lists(st.integers(1, 60), min_size=2, max_size=4),
    fraction=st.floats(0, 1),
    seed=st.integers(0, 2**32 - 1),
)
def test_every_class_loses_its_share_and_nothing_else_changes(counts, fraction, seed):
    y = np.repeat(np.arange(len(counts)), counts)
    noisy, flipped = flip_labels(y, fraction, seed)
    np.testing.assert_array_equal(noisy != y, flipped)
    total = int(round(fraction * len(y), 9))
    for c, count in enumerate(counts):
        assert flipped[y == c].sum() == total * count // len(y)
    again, _ = flip_labels(y, fraction, seed)
    np.testing.assert_array_equal(noisy, again)


def test_products_just_below_an_integer_are_not_cut_to_the_one_before():
    y = np.repeat([0, 1], [50, 50])
    assert 0.29 * 100 < 29
    assert flip_labels(y, 0.29, 0)[1].sum() == 28  # 14 of each class
    assert flip_labels(np.repeat([0, 1], [100, 100]), 0.29, 0)[1].sum() == 58


def test_which_rows_depends_on_the_seed():
    y = np.repeat([0, 1], [50, 50])
    assert (flip_labels(y, 0.2, 0)[0] != flip_labels(y, 0.2, 1)[0]).any()


@pytest.mark.parametrize("fraction", [-0.1, 1.1, "a", None, True, float("nan")])
def test_fractions_that_are_none(fraction):
    with pytest.raises(ValueError, match="fraction must be"):
        flip_labels([0, 1], fraction)


def test_one_class():
    with pytest.raises(ValueError, match="one class"):
        flip_labels([1, 1, 1], 0.5)
