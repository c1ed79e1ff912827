"""R2VFL against a literal loop, and its limits."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles_relatives import huber_loop, penalised
from searches import assert_same as assert_same_search
from searches import both
from sklearn.base import clone

from robell import HuberRVFLClassifier, RoBellRVFLClassifier, RVFLClassifier
from robell._core.membership.equations import weighted_median


def clouds(rng, sizes=(30, 12)):
    y = np.repeat(np.arange(len(sizes)), sizes)
    X = rng.normal(size=(len(y), 3))
    X[:, 0] += 1.5 * y
    order = rng.permutation(len(y))
    return X[order], y[order]


@pytest.mark.parametrize("sizes", [(30, 12), (20, 11, 8)], ids=str)
@pytest.mark.parametrize("center", ["mean", "median"])
@pytest.mark.parametrize("threshold", ["median", 0.4])
def test_weights_are_those_of_the_loop(rng, sizes, center, threshold):
    X, y = clouds(rng, sizes)
    model = HuberRVFLClassifier(
        7, C=3.0, kernel_width=1.5, threshold=threshold, center=center, random_state=0
    ).fit(X, y)
    weight, distance = huber_loop(X, y, 1.5, threshold, center)
    np.testing.assert_allclose(model.membership_, weight, atol=1e-9)
    np.testing.assert_allclose(model.distance_, distance, atol=1e-9)
    T = np.eye(len(sizes))[y]
    np.testing.assert_allclose(
        model.coef_, penalised(model._features(X), T, weight, 3.0, 0), atol=1e-9
    )


def test_the_mean_is_robells_and_half_of_every_class_keeps_its_weight(rng):
    X, y = clouds(rng, (31, 12, 7))
    model = HuberRVFLClassifier(5, kernel_width=2.0).fit(X, y)
    relative = RoBellRVFLClassifier(5, kernel_width=2.0).fit(X, y)
    np.testing.assert_array_equal(model.distance_, relative.radius_)
    np.testing.assert_array_equal(model.class_probability_, relative.class_probability_)
    whole = np.isclose(model.membership_, model.class_probability_, rtol=1e-12)
    for c in range(3):
        assert whole[y == c].mean() >= 0.5
    assert model.membership_.min() > 0


def test_without_threshold_the_weight_is_the_class_probability_and_then_rvfl(rng):
    X, y = clouds(rng)
    model = HuberRVFLClassifier(5, threshold=2.0).fit(X, y)
    np.testing.assert_array_equal(model.membership_, model.class_probability_)
    narrow = HuberRVFLClassifier(9, threshold=2.0, kernel_width=1e-6, random_state=0).fit(X, y)
    plain = RVFLClassifier(9, random_state=0).fit(X, y)
    np.testing.assert_allclose(narrow.coef_, plain.coef_, atol=1e-9)


def test_a_class_of_mostly_one_row_keeps_its_weight():
    X = np.array([[0.0]] * 5 + [[1.0], [2.0]] + [[3.0], [3.1], [3.3]])
    y = np.array([0] * 7 + [1] * 3)
    model = HuberRVFLClassifier(3, center="median", kernel_width=1.0).fit(X, y)
    assert model.threshold_[0] == 0
    np.testing.assert_allclose(model.membership_[:7], model.class_probability_[:7])


@given(
    values=st.lists(st.integers(-5, 5), min_size=1, max_size=12),
    data=st.data(),
)
def test_the_weighted_median_is_that_of_repeated_rows(values, data):
    weight = data.draw(st.lists(st.integers(1, 4), min_size=len(values), max_size=len(values)))
    values, weight = np.array(values, float)[:, None], np.array(weight)
    expected = np.median(np.repeat(values, weight, axis=0), axis=0)
    np.testing.assert_array_equal(weighted_median(values, weight.astype(float)), expected)
    # Counts that no float holds exactly
    np.testing.assert_array_equal(weighted_median(values, weight * 0.1), expected)


@pytest.mark.parametrize("center", ["mean", "median"])
def test_weights_are_copies(rng, center):
    X, y = clouds(rng)
    count = rng.integers(0, 4, len(y))
    model = HuberRVFLClassifier(9, center=center, class_weight="balanced", random_state=0)
    weighted = clone(model).fit(X, y, sample_weight=count)
    repeated = clone(model).fit(np.repeat(X, count, axis=0), np.repeat(y, count))
    np.testing.assert_allclose(np.repeat(weighted.membership_, count), repeated.membership_)
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-9)
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-7)


def test_the_search_shares(rng):
    X, y = clouds(rng, (40, 20))
    grid = {
        "C": [0.1, 10.0],
        "n_hidden": [4, 60],
        "kernel_width": [0.7, "scale"],
        "threshold": ["median", 0.5],
        "center": ["mean", "median"],
    }
    model = HuberRVFLClassifier(random_state=0)
    theirs, ours = both(model, grid, X, y, cv=3, scoring="accuracy")
    assert_same_search(theirs, ours)
    assert ours.n_shared_ > 0.8 * 32 * 3


@pytest.mark.parametrize(
    ("parameter", "value"),
    [("threshold", 0.0), ("threshold", "mean"), ("center", "mode"), ("kernel_width", -1)],
)
def test_bad_parameters(rng, parameter, value):
    with pytest.raises(ValueError, match=f"'{parameter}' parameter"):
        HuberRVFLClassifier(**{parameter: value}).fit(*clouds(rng))
