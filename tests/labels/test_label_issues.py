"""The ranked table of suspect rows."""

import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.model_selection import cross_val_score

from robell import (
    LabelIssues,
    NoiseRobustClassifier,
    NoiseRobustRegressor,
    NoiseRobustRVFLClassifier,
    RVFLRegressor,
    find_consensus,
    find_label_issues,
    find_target_issues,
)
from robell.labels.issues import SHOWN
from robell.noise import flip_uniformly


def wrong_labels(n_rows=300, n_classes=2, rate=0.15, seed=0, separation=6.0):
    """Return clusters far apart, labels of which some are wrong, and which are."""
    rng = np.random.default_rng(seed)
    y = np.r_[np.arange(n_classes), rng.integers(0, n_classes, n_rows - n_classes)]
    X = separation * np.eye(n_classes, 4)[y] + rng.normal(size=(n_rows, 4))
    return X, *flip_uniformly(y, rate, seed)


@pytest.fixture(scope="module")
def table():
    return wrong_labels()


@settings(max_examples=20)
@given(st.integers(0, 1000), st.integers(2, 4), st.floats(0, 0.4), st.sampled_from([0.0, 2.0, 6.0]))
def test_suspects_are_the_rows_another_class_suits_better(seed, n_classes, rate, separation):
    X, y, _ = wrong_labels(80, n_classes, rate, seed, separation)
    issues = find_label_issues(X, y, random_state=seed)
    model = NoiseRobustRVFLClassifier(random_state=seed).fit(X, y)
    likeliest = model.classes_[model.label_probability_.argmax(axis=1)]
    assert len(issues) == len(issues.index) == model.n_suspects_
    assert set(issues.index) == set(np.flatnonzero(likeliest != y))
    np.testing.assert_array_equal(issues.given_label, y[issues.index])
    np.testing.assert_array_equal(issues.suggested_label, likeliest[issues.index])
    assert (issues.given_label != issues.suggested_label).all()
    assert (np.diff(issues.quality) >= 0).all()
    np.testing.assert_array_equal(issues.quality, issues.sample_quality[issues.index])
    np.testing.assert_array_equal(issues.sample_quality, model.sample_quality_)
    assert issues.sample_quality.shape == (80,)
    assert (issues.quality <= 0.5 + 1e-12).all()
    np.testing.assert_array_equal(issues.noise_matrix, model.noise_matrix_)
    np.testing.assert_array_equal(issues.classes, np.unique(y))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_wrong_labels_are_found_and_set_right(n_classes):
    X, y, flipped = wrong_labels(1000, n_classes, 0.2, seed=4, separation=8.0)
    true = wrong_labels(1000, n_classes, 0.0, seed=4)[1]
    issues = find_label_issues(X, y, random_state=0)
    assert flipped[issues.index].mean() > 0.95
    assert flipped[issues.index].sum() > 0.9 * flipped.sum()
    found = flipped[issues.index]
    assert (issues.suggested_label[found] == true[issues.index][found]).mean() > 0.98
    assert average_precision_score(flipped, -issues.sample_quality) > 0.98


def test_clean_rows_are_left_alone():
    X, y, _ = wrong_labels(rate=0.0, separation=8.0)
    issues = find_label_issues(X, y, random_state=0)
    assert len(issues) == 0
    assert str(issues) == "0 of 300 rows are suspect"
    assert issues.to_frame().shape == (0, 4)


def test_rows_of_weight_zero_are_nobodys_suspects(table):
    X, y, flipped = table
    weight = np.ones(len(X))
    weight[flipped.nonzero()[0][::2]] = 0
    issues = find_label_issues(X, y, sample_weight=weight, random_state=0)
    assert len(issues) > 0
    assert (weight[issues.index] > 0).all()
    assert issues.sample_quality.shape == (len(X),)
    present = weight > 0
    without = find_label_issues(X[present], y[present], random_state=0)
    np.testing.assert_array_equal(np.flatnonzero(present)[without.index], issues.index)
    np.testing.assert_allclose(without.quality, issues.quality, atol=1e-9)


def test_weight_zero_hides_a_label_of_its_own(table):
    X, y, _ = table
    labels = np.array(["no", "yes", "unclear"])[np.r_[2, y[1:]]]
    weight = np.r_[0.0, np.ones(len(X) - 1)]
    issues = find_label_issues(X, labels, sample_weight=weight, random_state=0)
    np.testing.assert_array_equal(issues.classes, ["no", "yes"])
    assert 0 not in issues.index
    assert issues.sample_quality[0] == 0


def test_one_weight_for_all_rows_is_accepted(table):
    X, y, _ = table
    one, two = (find_label_issues(X, y, sample_weight=w, random_state=0) for w in (None, 1.0))
    np.testing.assert_array_equal(one.index, two.index)


def test_quality_serves_as_sample_weight():
    """Wrong labels flatten logistic regression; weighted rows give it back what they took."""
    rng = np.random.default_rng(0)
    true = np.repeat([0, 1], 300)
    X = 2.0 * true[:, None] + rng.normal(size=(600, 3))
    y = flip_uniformly(true, 0.35, 0)[0]
    issues = find_label_issues(X, y, random_state=0)
    assert ((issues.sample_quality >= 0) & (issues.sample_quality <= 1)).all()
    plain = LogisticRegression(C=1e6).fit(X, y)
    weighted = LogisticRegression(C=1e6).fit(X, y, sample_weight=issues.sample_quality)
    clean = LogisticRegression(C=1e6).fit(X, true)
    distance = [
        np.abs(m.predict_proba(X) - clean.predict_proba(X)).mean() for m in (plain, weighted)
    ]
    assert distance[1] < distance[0] / 2


# -- frames, labels, text ------------------------------------------------------------


@pytest.mark.parametrize("frame", ["pandas", "polars"])
def test_frames_are_counted_by_place(table, frame):
    """Whatever the index of a pandas frame says: ``index`` is for iloc."""
    X, y, _ = table
    names = list("abcd")
    if frame == "pandas":
        order = np.arange(len(X))[::-1]
        rows, labels = pd.DataFrame(X, order, names), pd.Series(y, order)
    else:
        rows, labels = pl.DataFrame(dict(zip(names, X.T))), pl.Series(y)
    issues = find_label_issues(rows, labels, random_state=0)
    reference = find_label_issues(X, y, random_state=0)
    np.testing.assert_array_equal(issues.index, reference.index)
    np.testing.assert_array_equal(issues.given_label, y[issues.index])


def test_labels_of_any_kind(table):
    X, y, _ = table
    reference = find_label_issues(X, y, random_state=0)
    for labels in (["fraud", "fine"], [True, False], np.array(["x", "y"], object)):
        names = np.sort(np.asarray(labels))
        issues = find_label_issues(X, names[y], random_state=0)
        np.testing.assert_array_equal(issues.index, reference.index)
        np.testing.assert_array_equal(issues.suggested_label, names[reference.suggested_label])


def test_to_frame_holds_the_four_columns(table):
    X, y, _ = table
    issues = find_label_issues(X, np.array(["no", "yes"])[y], random_state=0)
    frame = issues.to_frame()
    assert list(frame.columns) == ["index", "given_label", "suggested_label", "quality"]
    for name in frame:
        np.testing.assert_array_equal(frame[name], getattr(issues, name))


def test_missing_pandas_says_what_to_install(table, monkeypatch):
    X, y, _ = table
    issues = find_label_issues(X, y, random_state=0)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"robell\[files\]") as error:
        issues.to_frame()
    assert "\n" not in str(error.value)


def test_text_shows_the_worst_and_counts_the_rest(table):
    X, y, _ = table
    issues = find_label_issues(X, np.array(["no", "yes"])[y], random_state=0)
    lines = str(issues).splitlines()
    assert len(issues) > SHOWN
    assert lines[0] == f"{len(issues)} of 300 rows are suspect"
    assert len(lines) == SHOWN + 2
    assert lines[-1] == f"... and {len(issues) - SHOWN} more"
    first = issues.index[0], issues.given_label[0], issues.suggested_label[0]
    assert lines[1].startswith("row {}: labelled {}, rather {} (".format(*first))


@pytest.mark.parametrize("n_suspects", [1, SHOWN, SHOWN + 1])
def test_text_of_few_suspects_counts_no_rest(n_suspects):
    places = np.arange(n_suspects)
    quality = np.linspace(0.01, 0.4, n_suspects)
    issues = LabelIssues(
        places, places * 0, places * 0 + 1, quality, np.ones(50), np.eye(2), np.arange(2)
    )
    lines = str(issues).splitlines()
    assert lines[1] == "row 0: labelled 0, rather 1 (1% right)"
    assert len(lines) == 1 + min(n_suspects, SHOWN) + (n_suspects > SHOWN)


def test_bad_input_is_refused(table):
    X, y, _ = table
    with pytest.raises(ValueError, match="one class"):
        find_label_issues(X, np.zeros(len(X)))
    with pytest.raises(ValueError, match="NaN"):
        find_label_issues(np.where(X > 3, np.nan, X), y)
    with pytest.raises(ValueError, match="negative"):
        find_label_issues(X, y, sample_weight=-np.ones(len(X)))
    with pytest.raises(TypeError):
        find_label_issues(X, y, np.ones(len(X)))


@pytest.mark.parametrize(
    "value", [None, np.nan, np.float32("nan"), np.datetime64("NaT"), pd.NA, pd.NaT], ids=repr
)
def test_a_missing_label_is_missing_of_whatever_type(value):
    labels = np.array(["a", "b", value, "a"], dtype=object)
    with pytest.raises(ValueError, match=r"y has no label in row 2"):
        find_label_issues(y=labels, pred_proba=np.full((4, 2), 0.5))


def test_a_label_that_is_nan_in_a_column_of_numbers_is_missing():
    labels = np.array([0.0, 1.0, np.nan, 1.0])
    with pytest.raises(ValueError, match=r"y has no label in row 2 \(nan\)"):
        find_label_issues(y=labels, pred_proba=np.full((4, 3), 1 / 3))
    with pytest.raises(ValueError, match=r"y has no label in row 2 \(nan\)"):
        flip_uniformly(labels, 0.5, random_state=0)


@pytest.mark.parametrize("library", [pd, pl])
def test_columns_named_by_class_in_another_order_are_refused(library):
    y = np.array(["no", "yes"] * 20)
    P = np.where((y == "yes")[:, None], [0.1, 0.9], [0.9, 0.1])
    y[3] = "no"
    named = library.DataFrame({"yes": P[:, 1], "no": P[:, 0]})
    with pytest.raises(ValueError, match="columns of pred_proba are named yes, no"):
        find_label_issues(y=y, pred_proba=named)
    said = find_label_issues(y=y, pred_proba=named, classes=["yes", "no"])
    plain = find_label_issues(y=y, pred_proba=library.DataFrame({"no": P[:, 0], "yes": P[:, 1]}))
    np.testing.assert_allclose(said.sample_quality, plain.sample_quality)


def test_columns_without_names_are_taken_by_place():
    y = np.array([2, 1, 0] * 20)
    P = np.full((60, 3), 0.1)
    P[np.arange(60), [0, 1, 2] * 20] = 0.8
    P[0] = 0.1, 0.8, 0.1
    said = find_label_issues(y=y, pred_proba=pd.DataFrame(P), classes=[2, 1, 0])
    assert said.index.tolist() == [0]


NOISE = np.random.default_rng(0).normal(size=(200, 5))
COIN = np.random.default_rng(1).integers(0, 2, 200)


@pytest.mark.parametrize(
    "cause",
    [
        lambda: find_label_issues(NOISE, COIN, random_state=0),
        lambda: find_label_issues(y=COIN, pred_proba=np.eye(2)[COIN]),
        lambda: find_target_issues(y=NOISE[:, 0], predictions=NOISE[:, 0]),
        lambda: find_consensus(["a", "b", "a"], row=[0, 1, 2], annotator=[0, 1, 0]),
        lambda: NoiseRobustClassifier(LogisticRegression(), random_state=0).fit(NOISE, COIN),
        lambda: NoiseRobustRegressor(LinearRegression()).fit(NOISE[:9], NOISE[:9, 0]),
        lambda: RVFLRegressor(3).fit(NOISE, NOISE[:, :1]),
        lambda: cross_val_score(RVFLRegressor(3), NOISE, NOISE[:, :1], cv=2),
    ],
)
def test_warnings_name_the_line_that_called(cause):
    """Not a line of ours, of scikit-learn's or of joblib's, where a filter would hide the next."""
    with pytest.warns(UserWarning, match=r"\w") as seen:
        cause()
    assert {warning.filename for warning in seen} == {__file__}
