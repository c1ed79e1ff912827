"""The expected calibration error: counted bin by bin, known values, clear errors."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robell.metrics import expected_calibration_error


@given(st.integers(0, 2**32 - 1), st.integers(1, 80), st.integers(2, 4), st.integers(1, 15))
def test_it_is_counted_bin_by_bin(seed, n_rows, n_classes, n_bins):
    rng = np.random.default_rng(seed)
    P = rng.dirichlet(np.ones(n_classes), n_rows)
    y, weight = rng.integers(0, n_classes, n_rows), rng.integers(1, 4, n_rows)
    total = 0.0
    for k in range(n_bins):
        p, hit = (P[:, 1], y == 1) if n_classes == 2 else (P.max(axis=1), y == P.argmax(axis=1))
        inside = (p >= k / n_bins) & ((p < (k + 1) / n_bins) | (k == n_bins - 1))
        if inside.any():
            w = weight[inside]
            gap = np.average(p[inside], weights=w) - np.average(hit[inside], weights=w)
            total += w.sum() / weight.sum() * abs(gap)
    options = {"labels": range(n_classes), "n_bins": n_bins}
    found = expected_calibration_error(y, P, sample_weight=weight, **options)
    assert found == pytest.approx(total, abs=1e-9)
    repeated = expected_calibration_error(y.repeat(weight), P.repeat(weight, axis=0), **options)
    assert found == pytest.approx(repeated, abs=1e-9)


def test_known_values():
    y = np.array(["a", "a", "b", "b"])
    assert expected_calibration_error(y, [0.0, 0.0, 1.0, 1.0]) == 0
    assert expected_calibration_error(y, [1.0, 1.0, 0.0, 0.0]) == 1
    assert expected_calibration_error(y, np.full(4, 0.5)) == 0
    assert expected_calibration_error(y, np.full((4, 2), 0.5)) == 0


def test_columns_stand_in_the_order_of_the_labels_that_are_given(rng):
    P, y = rng.dirichlet(np.ones(3), 90), rng.choice(["a", "b", "c"], 90)
    found = expected_calibration_error(y, P)
    order = [2, 0, 1]
    turned = expected_calibration_error(y, P[:, order], labels=np.array(["c", "a", "b"]))
    assert turned == found
    two = np.where(y == "a", "yes", "no")
    p = P[:, 0]
    first = expected_calibration_error(two, p)
    assert expected_calibration_error(two, 1 - p, labels=["yes", "no"]) != first
    both = np.column_stack([p, 1 - p])
    assert expected_calibration_error(two, both[:, ::-1], labels=["no", "yes"]) == first
    assert expected_calibration_error(two, both, labels=["yes", "no"]) == pytest.approx(first)


@pytest.mark.parametrize(
    ("y", "P", "options", "message"),
    [
        ([0, 1], [0.5, 1.5], {}, "from 0 to 1"),
        ([0, 1], [0.5, np.nan], {}, "from 0 to 1"),
        ([0, 1], [[0.5, 0.2, 0.3]] * 2, {}, "does not fit 2 classes"),
        ([0, 1, 2], [0.5, 0.5, 0.5], {}, "one column a class"),
        ([0, 1], [0.5, 0.5], {"n_bins": 0}, "n_bins must be at least 1"),
        ([0, 3], [0.5, 0.5], {"labels": [0, 1]}, "not among those given"),
        ([1, 1], [0.5, 0.5], {}, "does not fit 1 classes"),
    ],
)
def test_bad_input_is_refused_in_one_line(y, P, options, message):
    with pytest.raises(ValueError, match=message) as error:
        expected_calibration_error(y, P, **options)
    assert "\n" not in str(error.value)
