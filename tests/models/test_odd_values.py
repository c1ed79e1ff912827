"""Values at the edges: each gets a finite answer or one line that says what is wrong."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from robell import (
    NoiseRobustClassifier,
    NoiseRobustRVFLClassifier,
    RoBellRVFLClassifier,
    RVFLClassifier,
    RVFLGridSearchCV,
    find_label_issues,
    pw_gbell_membership,
)
from robell.metrics import g_mean_score
from robell.noise import flip_labels

MODELS = [RVFLClassifier, RoBellRVFLClassifier, NoiseRobustRVFLClassifier]
each_model = pytest.mark.parametrize("model", MODELS)


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    return rng.normal(size=(40, 3)) + 2.0 * y[:, None], y


def refused(call, match):
    with pytest.raises((ValueError, TypeError), match=match) as error:
        call()
    assert "\n" not in str(error.value)


@each_model
@pytest.mark.parametrize("size", [5e-324, 1e-200, 1e200, 1e308])
def test_weights_too_small_or_large_for_sums_are_refused(rows, model, size):
    X, y = rows
    for weight in (np.full(40, size), np.r_[size, np.ones(39)]):
        refused(lambda w=weight: model().fit(X, y, w), "sample_weight must be 0 or from 1e-100")
        refused(lambda w=weight: find_label_issues(X, y, sample_weight=w), "sample_weight must")
        refused(lambda w=weight: pw_gbell_membership(X, y, sample_weight=w), "sample_weight must")


@each_model
@pytest.mark.parametrize("size", [1e-100, 1e100])
def test_weights_at_the_edge_give_finite_answers(rows, model, size):
    X, y = rows
    fitted = model(random_state=0).fit(X, y, np.r_[size, np.ones(39)])
    assert np.isfinite(fitted.predict_proba(X)).all()


@each_model
@pytest.mark.parametrize(
    "y",
    [
        np.array(["2020-01-01", "NaT"] * 20, dtype="datetime64[D]"),
        np.array(["a", pd.NaT] * 20, dtype=object),
        np.array(["a", pd.NA] * 20, dtype=object),
        np.array(["a", "b", None, "a"] * 10, dtype=object),
    ],
)
def test_labels_that_are_missing_are_refused(rows, model, y):
    refused(lambda: model().fit(rows[0], y), r"y has no label in row [12] \(")
    refused(lambda: flip_labels(y, 0.1), "y has no label in row")


@each_model
@pytest.mark.parametrize("kinds", [(1, "b"), (1, 2), (False, True), (1, 2.5)], ids=str)
def test_labels_that_are_objects_but_no_texts_are_named(rows, model, kinds):
    y = np.array(kinds, dtype=object)[rows[1]]
    for fit in (model().fit, NoiseRobustClassifier(model()).fit):
        refused(lambda f=fit: f(rows[0], y), "all texts, whole numbers or truth values; y holds")
    if model is not NoiseRobustRVFLClassifier:
        refused(lambda: model().partial_fit(*rows, classes=y), "all texts, whole numbers or truth")


@pytest.mark.parametrize("name", ["C", "bias_scale", "n_hidden"])
def test_a_parameter_too_large_for_a_float_is_refused(rows, name):
    refused(
        lambda: RVFLClassifier(**{name: 10**400}).fit(*rows),
        f"{name} must be a number that a float",
    )
    refused(lambda: NoiseRobustRVFLClassifier(n_rounds=10**400).fit(*rows), "n_rounds must be")
    refused(lambda: pw_gbell_membership(*rows, rho=10**400), "rho must be")


def test_class_weight_may_name_a_class_that_a_fold_lacks(rows):
    model = RVFLClassifier(class_weight={0: 1.0, 1: 2.0, 2: 9.0}, random_state=0).fit(*rows)
    alone = clone(model).set_params(class_weight={0: 1.0, 1: 2.0}).fit(*rows)
    np.testing.assert_array_equal(model.coef_, alone.coef_)


@pytest.mark.parametrize("value", ["x", None, 10**400, 1e308])
def test_class_weight_must_be_an_ordinary_number(rows, value):
    refused(lambda: RVFLClassifier(class_weight={0: value}).fit(*rows), "finite positive numbers")


def test_messages_of_several_lines_become_one(rows):
    X, y = rows
    for model in (RVFLClassifier(), NoiseRobustRVFLClassifier()):
        refused(lambda m=model: m.fit(3.0, y), "Expected 2D array")
        refused(lambda m=model: m.fit(X[:, 0], y), "Expected 2D array")


def test_streams_take_no_empty_list_of_classes(rows):
    refused(lambda: RVFLClassifier().partial_fit(*rows, classes=[]), "classes has none")


def test_a_stream_refuses_rows_its_memberships_could_not_use(rows):
    X, y = rows
    model = RoBellRVFLClassifier(random_state=0).partial_fit(X, y, classes=[0, 1])
    refused(lambda: model.partial_fit(X * 1e200, y), "X is too large")
    assert np.isfinite(model.predict_proba(X)).all()


@pytest.mark.parametrize("n_jobs", [2**31, 10**5])
def test_more_threads_than_work(rows, n_jobs):
    few = pw_gbell_membership(*rows, n_jobs=1)
    np.testing.assert_array_equal(pw_gbell_membership(*rows, n_jobs=n_jobs), few)


def test_no_thread_is_refused(rows):
    refused(lambda: pw_gbell_membership(*rows, n_jobs=0), "n_jobs")


def test_g_mean_without_a_class_whose_rows_have_no_weight():
    given, predicted, weight = [0, 0, 1, 1, 2], [0, 1, 1, 1, 0], [1.0, 1.0, 2.0, 0.0, 0.0]
    expected = g_mean_score(given[:3], predicted[:3], sample_weight=weight[:3])
    assert g_mean_score(given, predicted, sample_weight=weight) == expected > 0.7
    names = np.array(["a", "b", "c"])
    assert g_mean_score(names[given], names[predicted], sample_weight=weight) == expected


def test_g_mean_of_weights_whose_sum_overflows():
    assert g_mean_score([0, 1], [0, 1], sample_weight=[1e308, 1e308]) == 1.0
    refused(lambda: g_mean_score(["a", None], ["a", "a"]), "y_true must hold labels")


def test_weights_given_as_texts_are_numbers_everywhere(rows):
    X, y = rows
    found = find_label_issues(X, y, sample_weight=["1"] * 40, random_state=0)
    plain = find_label_issues(X, y, random_state=0)
    np.testing.assert_array_equal(found.index, plain.index)


def test_complex_labels_are_refused_in_one_line(rows):
    X, y = rows
    for model in (RVFLClassifier(), NoiseRobustClassifier(RVFLClassifier())):
        refused(lambda m=model: m.fit(X, y + 1j), "Complex data not supported")
    refused(lambda: flip_labels(y + 1j, 0.1), "Complex data not supported")
    refused(lambda: RVFLClassifier().partial_fit(X, (y + 1j).tolist(), [0, 1]), "Complex data")
    refused(lambda: RVFLGridSearchCV(RVFLClassifier(), {"C": [1.0]}).fit(X, y + 1j), "Complex data")


def test_a_search_needs_labels(rows):
    refused(lambda: RVFLGridSearchCV(RVFLClassifier(), {"C": [1.0]}).fit(rows[0]), "needs y")


@pytest.mark.filterwarnings("ignore:column 1 reaches 1e.30")  # beside which others are lost
def test_a_search_of_systems_that_are_all_singular(rows):
    X = np.array([[2.0**63 + k, 1e30, k] for k in range(40)])
    search = RVFLGridSearchCV(RVFLClassifier(15, random_state=0), {"C": [0.1, 10.0]}, cv=2)
    assert np.isfinite(search.fit(X, rows[1]).cv_results_["mean_test_score"]).all()


@pytest.mark.parametrize(
    ("model", "size"),
    [
        (RVFLClassifier(60, C=1e-250, random_state=0), 1e-100),
        (RoBellRVFLClassifier(60, C=5e-324, random_state=0), 1.0),
    ],
    ids=["small C, small weights", "smallest C"],
)
def test_penalties_beyond_what_doubles_hold_are_refused(rows, model, size):
    weight = np.full(40, size)
    refused(lambda: model.fit(*rows, weight), "C times the weight of a row is too")
    assert np.isfinite(
        clone(model).set_params(C=1.0).fit(*rows, weight).predict_proba(rows[0])
    ).all()
