"""Labels judged by the probabilities of other classifiers."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from robell import find_label_issues
from robell.noise import flip_labels, flip_uniformly

LOGISTIC = make_pipeline(StandardScaler(), LogisticRegression(max_iter=500))


@pytest.fixture(scope="module")
def noisy_cancer():
    X, y = load_breast_cancer(return_X_y=True)
    noisy, flipped = flip_uniformly(y, 0.2, random_state=0)
    return X, noisy, flipped, cross_val_predict(LOGISTIC, X, noisy, method="predict_proba")


def precision(issues, flipped):
    return average_precision_score(flipped, 1.0 - issues.sample_quality)


def test_wrong_labels_are_found_as_well_as_by_the_label_s_own_probability(noisy_cancer):
    _, noisy, flipped, P = noisy_cancer
    issues = find_label_issues(y=noisy, pred_proba=P)
    plain = average_precision_score(flipped, 1.0 - P[np.arange(len(P)), noisy])
    assert precision(issues, flipped) >= plain - 0.005
    assert flipped[issues.index].mean() > 0.8
    assert abs(len(issues) - flipped.sum()) < 0.3 * flipped.sum()


def test_labels_missed_on_one_side_are_found_better_than_by_the_label_s_own_probability():
    X, y = load_breast_cancer(return_X_y=True)
    X, y = X[np.r_[:120, 200:569]], y[np.r_[:120, 200:569]]
    noisy = y.copy()
    hit = np.random.default_rng(0).choice(np.flatnonzero(y == 0), 30, replace=False)
    noisy[hit] = 1
    P = cross_val_predict(LOGISTIC, X, noisy, method="predict_proba")
    found = precision(find_label_issues(y=noisy, pred_proba=P), noisy != y)
    plain = average_precision_score(noisy != y, 1.0 - P[np.arange(len(P)), noisy])
    assert found >= plain


def test_probabilities_that_are_tilted_and_too_sure_give_the_same_suspects(noisy_cancer):
    _, noisy, _, P = noisy_cancer
    odds = np.log(np.maximum(P, 1e-9))
    bent = np.exp(3.0 * odds + [0.0, 2.0])
    bent /= bent.sum(axis=1, keepdims=True)
    issues, again = (find_label_issues(y=noisy, pred_proba=p) for p in (P, bent))
    assert len(np.intersect1d(issues.index, again.index)) > 0.9 * len(issues)


def test_one_column_other_orders_and_names_are_taken(noisy_cancer):
    _, noisy, _, P = noisy_cancer
    issues = find_label_issues(y=noisy, pred_proba=P)
    column = find_label_issues(y=noisy, pred_proba=P[:, 1])
    named = np.array(["sick", "well"])[noisy]
    turned = find_label_issues(y=named, pred_proba=P[:, ::-1], classes=["well", "sick"])
    for other in (column, turned):
        np.testing.assert_array_equal(other.index, issues.index)
        np.testing.assert_allclose(other.sample_quality, issues.sample_quality, atol=1e-6)
    assert set(turned.suggested_label) <= {"sick", "well"}


def test_an_estimator_makes_them_itself(noisy_cancer):
    X, noisy, flipped, _ = noisy_cancer
    issues = find_label_issues(X, noisy, estimator=LOGISTIC, random_state=0)
    assert precision(issues, flipped) > 0.85
    framed = find_label_issues(pd.DataFrame(X), noisy, estimator=LOGISTIC, random_state=0)
    np.testing.assert_array_equal(framed.index, issues.index)


def test_copies_are_hidden_together():
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(100, 3)), 2, axis=0)
    y = np.repeat(rng.integers(0, 2, 100), 2)  # nothing to learn, except from the copy
    from sklearn.neighbors import KNeighborsClassifier

    issues = find_label_issues(X, y, estimator=KNeighborsClassifier(1), random_state=0)
    assert issues.sample_quality.mean() < 0.95


def test_several_classes():
    X, y = load_digits(return_X_y=True)
    X, y = X[:600], y[:600]
    noisy, flipped = flip_labels(y, 0.1, random_state=0)
    P = cross_val_predict(LOGISTIC, X, noisy, method="predict_proba", cv=3)
    plain = average_precision_score(flipped, 1.0 - P[np.arange(len(P)), noisy])
    assert precision(find_label_issues(y=noisy, pred_proba=P), flipped) >= plain - 0.01


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "needs the labels"),
        ({"y": [0, 1]}, "needs the rows X, or pred_proba"),
        ({"y": [0, 0], "pred_proba": [[1, 0], [1, 0]]}, "two classes"),
        ({"y": [0, 1], "pred_proba": [[0.5, 0.6], [0.5, 0.5]]}, "row 0 adds up to 1.1"),
        ({"y": [0, 1], "pred_proba": [[0.5, 0.5]]}, "2 rows and a column for each of the 2"),
        ({"y": [0, 1], "pred_proba": [[0.5, np.nan], [0.5, 0.5]]}, "finite"),
        ({"y": [0, 1], "pred_proba": [[1, 0], [0, 1]], "classes": [0, 2]}, "lacks 1"),
        ({"y": [0, 1], "pred_proba": [[1, 0], [0, 1]], "sample_weight": [1, 1]}, "sample_weight"),
        ({"X": [[0.0]] * 2, "y": [0, 1], "estimator": LOGISTIC}, "two rows"),
        ({"X": [[0.0]] * 2, "y": [0, 1], "estimator": StandardScaler()}, "no predict_proba"),
    ],
)
def test_what_is_refused(arguments, said):
    with pytest.raises(ValueError, match=said):
        find_label_issues(**arguments)


def test_probabilities_made_in_sample_or_in_another_order_are_warned_of(noisy_cancer):
    X, noisy, _, P = noisy_cancer
    from sklearn.tree import DecisionTreeClassifier

    seen = DecisionTreeClassifier(random_state=0).fit(X, noisy).predict_proba(X)
    with pytest.warns(UserWarning, match="in the training set"):
        find_label_issues(y=noisy, pred_proba=seen)
    with pytest.warns(UserWarning, match="in the order 1, 0; they are taken in the order 0, 1"):
        find_label_issues(y=noisy, pred_proba=P[:, ::-1])


def test_two_columns_that_have_changed_places_are_noticed():
    rng = np.random.default_rng(0)
    labels = rng.choice(["a", "b", "c", "d"], 200)
    P = 0.1 + 0.6 * (labels[:, None] == ["a", "b", "c", "d"])
    wrong = rng.random(200) < 0.3
    P[wrong] = 0.25 + 0.0 * P[wrong]
    P[wrong, rng.integers(4, size=wrong.sum())] += 0.4
    P /= P.sum(axis=1, keepdims=True)
    find_label_issues(y=labels, pred_proba=P)  # in order: no word
    with pytest.warns(UserWarning, match=r"in the order a, c, b, d; .* say otherwise with classes"):
        find_label_issues(y=labels, pred_proba=P[:, [0, 2, 1, 3]])


def test_a_class_that_no_row_is_labelled_as_hides_no_wrong_label(noisy_cancer):
    """A model may know more classes than these rows are labelled as."""
    _, noisy, flipped, P = noisy_cancer
    more = np.column_stack([0.999 * P, np.full(len(P), 0.001)])
    issues = find_label_issues(y=noisy, pred_proba=more, classes=[0, 1, 2])
    known = find_label_issues(y=noisy, pred_proba=P)
    assert flipped[issues.index].sum() >= 0.9 * flipped[known.index].sum()
    assert abs(len(issues) - len(known)) <= 0.1 * len(known)
